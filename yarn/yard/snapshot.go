package yard

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Snapshot is the current state of all queues and their applications. Counts, list and metrics are read one after the other.
func (y *Yard) Snapshot(ctx context.Context) (steer.Snapshot, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	began := time.Now()
	s, err := y.c.Scheduler(ctx)
	if err != nil {
		return steer.Snapshot{}, err
	}
	at, there := newLeafMap(s.Root), false
	for _, path := range y.paths {
		q := at.byPath[path]
		if q != nil && !q.Counted {
			return steer.Snapshot{}, fmt.Errorf("the ResourceManager does not report how many applications of %s run and wait", path)
		}
		there = there || q != nil
	}
	if !there {
		_, err := findLeaf(s.Root, y.paths[0])
		return steer.Snapshot{}, err
	}
	m, err := y.c.Metrics(ctx)
	if err != nil {
		return steer.Snapshot{}, err
	}
	if err := y.nodes.take(&m, time.Now()); err != nil {
		y.roll.forget()
		return steer.Snapshot{}, err
	}
	seen := steer.Snapshot{
		Total: unit.Resources{Mem: m.TotalMB, Cores: m.TotalVirtualCores},
		Used:  unit.Resources{Mem: m.AllocatedMB, Cores: m.AllocatedVirtualCores},
		Nodes: int(m.ActiveNodes),
	}
	counted, parked := map[string]int{}, map[string]int{}
	for _, q := range at.leaves {
		seen.Queues = append(seen.Queues, y.queue(q, s.Root, seen.Total))
		if y.capacity() && q.NumApplications > 0 {
			parked[q.Path] = int(max(0, q.NumApplications-q.NumActive-q.NumPending))
		}
		if q.Counted {
			counted[q.Path] = int(q.NumActive+q.NumPending+q.NumActiveApps+q.NumPendingApps) + parked[q.Path]
		}
	}
	jobs, gone, err := y.roll.list(ctx, y, at, counted)
	if err != nil {
		return steer.Snapshot{}, err
	}
	if seen.Finished, err = y.roll.finished(ctx, y, at, m.AppsCompleted+m.AppsFailed+m.AppsKilled); err != nil {
		return steer.Snapshot{}, err
	}
	jobs = y.roll.hide(jobs, parked)
	ours := map[string][]*listed{}
	var asked, waiting []*listed
	for _, j := range jobs {
		if y.may(j.Queue) {
			ours[j.Queue], asked = append(ours[j.Queue], j), append(asked, j)
			j.asks = j.bare || y.o.Pending && j.Started
			if q := at.byPath[j.Queue]; q != nil && (q.AllocatedContainers <= 0 || q.PendingContainers != 0) { // otherwise the queue waits for nothing
				waiting = append(waiting, j)
			}
		}
	}
	for i := range seen.Queues {
		if q := &seen.Queues[i]; q.Running <= gone[q.Name].n && q.Waiting > 0 {
			y.size(ctx, ours[q.Name])
		}
	}
	if y.o.AMs {
		y.maps.ask(ctx, y.c, asked)
	}
	y.asks.ask(ctx, y.c, waiting)
	seen.Jobs = make([]steer.Job, len(jobs))
	for i, j := range jobs {
		seen.Jobs[i] = j.Job
		y.maps.tell(&seen.Jobs[i])
		y.asks.tell(j, &seen.Jobs[i])
	}
	idle, age, err := y.cpu.idle(ctx, &seen, &m)
	if err != nil {
		return steer.Snapshot{}, fmt.Errorf("idle processors: %w", err)
	}
	for i := range seen.Queues {
		q := &seen.Queues[i]
		if gone := gone[q.Name]; q.Running >= gone.n { // not before: the lingering ones do not compute
			q.Running -= gone.n
			q.AMs = q.AMs.Sub(gone.held).Max(unit.Resources{})
		}
	}
	now := time.Now()
	seen.CPUIdle = idle
	seen.Now = unit.Time(y.began.Add(now.Sub(y.began)).UnixMicro()) // monotonic, even if the machine's clock is set
	seen.Age = max(unit.Time(now.Sub(began).Microseconds()), unit.Time(age.Microseconds()))
	return seen, nil
}

// leafMap finds the queue of an application. Older versions report the name that it gave: the last component suffices.
type leafMap struct {
	leaves []*rest.Queue // by name
	byPath map[string]*rest.Queue
	byPart map[string]string // paths by last component; "": ambiguous
}

func newLeafMap(root *rest.Queue) *leafMap {
	m := &leafMap{leaves: leaves(root), byPath: map[string]*rest.Queue{}, byPart: map[string]string{}}
	slices.SortFunc(m.leaves, func(a, b *rest.Queue) int { return cmp.Compare(a.Path, b.Path) })
	for _, q := range m.leaves {
		path := q.Path
		if _, twice := m.byPart[lastPart(path)]; twice {
			path = ""
		}
		m.byPart[lastPart(q.Path)], m.byPath[q.Path] = path, q
	}
	return m
}

// path is the full name of a queue. One that is unknown or ambiguous stays as it is: it is not a steered one.
func (m *leafMap) path(name string) string {
	if m.byPath[name] != nil {
		return name
	}
	return cmp.Or(m.byPart[name], name)
}

func size(r rest.Resource) unit.Resources { return unit.Resources{Mem: r.Memory, Cores: r.VCores} }

// queue reads the leaf.
func (y *Yard) queue(q, root *rest.Queue, total unit.Resources) steer.Queue {
	if y.capacity() {
		return steer.Queue{
			Name: q.Path, Used: size(q.Used), Containers: q.NumContainers,
			Running: int(q.NumActive), Waiting: int(q.NumPending),
			Capacity: capacityOf(q, root, total), Ceiling: y.capacityCeiling(q, root, total), AMs: size(q.UsedAM), AMShare: y.percent(q, root, total),
		}
	}
	return steer.Queue{
		Name: q.Path, Used: size(q.UsedResources), Containers: q.AllocatedContainers,
		Running: int(q.NumActiveApps), Waiting: int(q.NumPendingApps),
		Capacity: fairOf(q, total), Ceiling: atLeastOne(fairLimit(q, root, total)), AMs: size(q.AMUsed), AMShare: y.fairShare(q),
	}
}

// capacityOf is the greater of the queue's guarantee and what it could have now, given its siblings' use.
func capacityOf(q, root *rest.Queue, total unit.Resources) unit.Resources {
	limit := capacityLimit(q, root, total)
	if limit.IsZero() {
		return limit
	}
	return effective(q.MinEffective, q.AbsoluteCapacity, total).Max(limit)
}

// effective is a capacity of a queue. Hadoop 2 reports only the percentage.
func effective(told rest.Resource, percent float64, total unit.Resources) unit.Resources {
	if told.Memory != 0 || told.VCores != 0 {
		return size(told)
	}
	return unit.Resources{Mem: int64(percent / 100 * float64(total.Mem)), Cores: int64(percent / 100 * float64(total.Cores))}
}

func capacityLimit(q, root *rest.Queue, total unit.Resources) unit.Resources {
	return limitOf(q, root, total, func(x *rest.Queue) (used, most unit.Resources) {
		return size(x.Used), effective(x.MaxEffective, x.AbsoluteMaxCapacity, total)
	})
}

func fairLimit(q, root *rest.Queue, total unit.Resources) unit.Resources {
	return limitOf(q, root, total, func(x *rest.Queue) (used, most unit.Resources) {
		if most = size(x.MaxResources); most.Mem <= 0 {
			most = total
		}
		return size(x.UsedResources), most
	})
}

// limitOf is the max that a queue could hold now: down from the root, what a queue's parent could hold less what its siblings do, and never more
// than its own maximum. Zero: it is not in the tree.
func limitOf(q, root *rest.Queue, total unit.Resources, tell func(*rest.Queue) (used, most unit.Resources)) unit.Resources {
	limit := total
	for at := root; at != nil && at != q; {
		var next *rest.Queue
		for _, c := range at.Children {
			if c == q || holds(c, q) {
				next = c
			}
		}
		if next == nil {
			return unit.Resources{}
		}
		used, _ := tell(at)
		if used.IsZero() { // the root has no such field: it uses what its children do
			for _, c := range at.Children {
				inside, _ := tell(c)
				used = used.Add(inside)
			}
		}
		own, most := tell(next)
		limit = most.Min(limit.Sub(used).Add(own))
		at = next
	}
	return limit
}

// capacityCeiling is what the CapacityScheduler lets the queue hold now. It counts only memory unless configured with another calculator, which shows
// if its settings can be read, or in an AM limit of several vcores: by memory alone that is always one.
func (y *Yard) capacityCeiling(q, root *rest.Queue, total unit.Resources) unit.Resources {
	c := atLeastOne(capacityLimit(q, root, total))
	if !y.dominant && q.AMLimit.VCores <= 1 {
		c.Cores = 0
	}
	return c
}

// atLeastOne distinguishes a queue that can hold nothing from one of which nothing is known.
func atLeastOne(r unit.Resources) unit.Resources {
	if r.IsZero() {
		return r
	}
	return r.Max(unit.Resources{Mem: 1, Cores: 1})
}

func holds(q, x *rest.Queue) bool {
	return slices.ContainsFunc(q.Children, func(c *rest.Queue) bool { return c == x || holds(c, x) })
}

// fairOf is the queue's fair share. An idle queue has none: then it is what it may grow to, as in the scheduler. Under the policy
// "fair" shares are of memory alone.
func fairOf(q *rest.Queue, total unit.Resources) unit.Resources {
	r, most := size(q.Fair), size(q.MaxResources)
	or := func(x *int64, total, most int64) {
		if *x != 0 {
			return
		}
		if *x = total; most > 0 {
			*x = min(total, most)
		}
	}
	or(&r.Mem, total.Mem, most.Mem)
	or(&r.Cores, total.Cores, most.Cores)
	return r
}

// percent is the share in force of the CapacityScheduler: as configured, if the version reports it, or derived from the limit.
func (y *Yard) percent(q, root *rest.Queue, total unit.Resources) float64 {
	if p, ok := toldPercent(q); ok {
		return p
	}
	if base := capacityOf(q, root, total); base.Mem > 0 {
		return float64(q.AMLimit.Memory) / float64(base.Mem)
	}
	return 0
}

func toldPercent(q *rest.Queue) (float64, bool) {
	if q.MaxAMPercent != 0 { // also if NaN
		return q.MaxAMPercent, true
	}
	for _, p := range q.Capacities.Partitions {
		if p.Partition == "" && p.MaxAMPercent != 0 {
			return single(p.MaxAMPercent / 100), true
		}
	}
	return 0, false
}

// single is the decimal that a single-precision number was meant as.
func single(x float64) float64 {
	f, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	if err != nil {
		return x
	}
	return f
}

// fairShare is the share in force of the FairScheduler; 0: unknown. It shows the limit in MB, recomputed whenever it considers a waiting
// application; in between the file tells, once the scheduler must have reloaded it. A limit that fits neither the file's value nor
// its former one belongs to another moment's fair share, or the scheduler reads another file: nothing is concluded from it.
func (y *Yard) fairShare(q *rest.Queue) float64 {
	now := fresh(q)
	var file fileShare
	known := y.fair != nil && y.may(q.Path)
	if known {
		var err error
		file, err = y.fair.look(y.amShare(q.Path))
		known = err == nil
	}
	switch {
	case !known && now:
		y.shown[q.Path] = float64(q.AMMax.Memory) / float64(q.Fair.Memory)
		return y.shown[q.Path]
	case !known:
		return y.shown[q.Path]
	case now && agrees(q, file.number), (!now || file.number < 0) && (file.taken || file.age >= reloadedBy): // nothing is computed where there is no limit
		y.fair.take(y.amShare(q.Path))
		return file.number
	case file.hadBefore && (!now || agrees(q, file.before)):
		return file.before
	}
	return 0
}

// fresh reports whether the limit that the FairScheduler shows is current.
func fresh(q *rest.Queue) bool {
	return q.NumPendingApps > 0 && q.AMMax.Memory > 0 && q.Fair.Memory > 0
}

// agrees reports whether the limit shown matches a share: it is rounded up, from a single-precision number.
func agrees(q *rest.Queue, share float64) bool {
	want := share * float64(q.Fair.Memory)
	return share >= 0 && math.Abs(float64(q.AMMax.Memory)-want) <= 1+1e-6*want
}
