package capacity1

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
)

// naive is the scheduler written down as it is described, without any structure that would make it fast.
type naive struct {
	cfg    Config
	slots  [kinds]int64
	nodes  int64
	jobs   []*naiveJob
	queues [kinds][]*naiveQueue // each kind's own order
}

type naiveQueue struct{ set Queue }

type naiveJob struct {
	name, user    string
	queue         *naiveQueue
	priority      int
	seq           int64
	tasks         int64
	pending       [kinds]int64
	running       [kinds]int64
	initialised   bool
	opportunities int64
}

func newNaive(c Config, nodes int, perMap, perReduce int64) *naive {
	c, _ = c.Complete()
	n := &naive{cfg: c, nodes: int64(nodes), slots: [kinds]int64{perMap * int64(nodes), perReduce * int64(nodes)}}
	for _, q := range c.Queues {
		nq := &naiveQueue{q}
		for k := range n.queues {
			n.queues[k] = append(n.queues[k], nq)
		}
	}
	return n
}

// in lists a queue's jobs in its order.
func (n *naive) in(q *naiveQueue) (jobs []*naiveJob) {
	for _, j := range n.jobs {
		if j.queue == q {
			jobs = append(jobs, j)
		}
	}
	level := func(j *naiveJob) int {
		if !q.set.SupportsPriority {
			return 0
		}
		if j.priority == 0 {
			return 3
		}
		return min(max(j.priority, 1), 5)
	}
	slices.SortFunc(jobs, func(a, b *naiveJob) int { return cmp.Or(cmp.Compare(level(b), level(a)), cmp.Compare(a.seq, b.seq)) })
	return jobs
}

func (n *naive) accepts(q *naiveQueue, user string, tasks int64) bool {
	all, own := 0.0, 0.0
	for _, j := range n.in(q) {
		all++
		if j.user == user {
			own++
		}
	}
	perQueue := math.Ceil(float64(n.cfg.MaxSystemJobs)*q.set.Capacity/100 - 1e-9)
	perUser := math.Ceil(float64(n.cfg.MaxSystemJobs)*q.set.Capacity/100*q.set.MinimumUserLimitPercent/100 - 1e-9)
	f := float64(q.set.AcceptFactor)
	return tasks <= int64(q.set.MaxActiveTasksPerUser) && all < perQueue*f && own < perUser*f
}

func (n *naive) poll() (changed bool) {
	for _, q := range n.queues[0] {
		over := map[string]bool{}
		perQueue := math.Ceil(float64(n.cfg.MaxSystemJobs)*q.set.Capacity/100 - 1e-9)
		perUser := math.Ceil(float64(n.cfg.MaxSystemJobs)*q.set.Capacity/100*q.set.MinimumUserLimitPercent/100 - 1e-9)
		for _, j := range n.in(q) {
			if j.initialised {
				continue
			}
			jobs, tasks, userJobs, userTasks := 0.0, int64(0), 0.0, int64(0)
			for _, i := range n.in(q) {
				if !i.initialised {
					continue
				}
				jobs++
				tasks += i.tasks
				if i.user == j.user {
					userJobs++
					userTasks += i.tasks
				}
			}
			if jobs >= perQueue || tasks+j.tasks > int64(q.set.MaxActiveTasks) {
				break
			}
			if over[j.user] {
				continue
			}
			if userJobs >= perUser || userTasks+j.tasks > int64(q.set.MaxActiveTasksPerUser) {
				over[j.user] = true
				continue
			}
			j.initialised = true
			changed = true
		}
	}
	return changed
}

func (n *naive) occupied(q *naiveQueue, kind int) (slots int64) {
	for _, j := range n.in(q) {
		slots += j.running[kind]
	}
	return slots
}

func (n *naive) capSlots(q *naiveQueue, kind int) int64 {
	return int64(math.Floor(q.set.Capacity*float64(n.slots[kind])/100 + 1e-9))
}

// within is the pseudo-code of the limits.
func (n *naive) within(q *naiveQueue, user string, kind int) bool {
	occ, capacity := n.occupied(q, kind), n.capSlots(q, kind)
	if q.set.MaxCapacity != -1 {
		most := int64(math.Floor(q.set.MaxCapacity*float64(n.slots[kind])/100 + 1e-9))
		if n.cfg.Borrow {
			for _, o := range n.queues[0] {
				if len(n.in(o)) == 0 {
					most += n.capSlots(o, kind)
				}
			}
		}
		if occ+1 > max(most, 1) {
			return false
		}
	}
	c := max(capacity, 1)
	current := c
	if occ >= c {
		current = occ + 1
	}
	active := map[string]bool{}
	held := int64(0)
	for _, j := range n.in(q) {
		if j.initialised && j.pending[kind] > 0 || n.cfg.ActiveUsers == UsersWithJobs {
			active[j.user] = true
		}
		if j.user == user {
			held += j.running[kind]
		}
	}
	limit := min(max(math.Ceil(float64(current)/float64(max(len(active), 1))), math.Ceil(q.set.MinimumUserLimitPercent*float64(current)/100-1e-9)),
		math.Floor(float64(c)*q.set.UserLimitFactor+1e-9))
	return float64(held+1) <= max(limit, 1)
}

// beat is a node's heartbeat, with so many free slots.
func (n *naive) beat(kind, node int, free int64) (got []string) {
	most := n.cfg.TasksPerHeartbeat
	if kind == reduceSlots {
		if most = n.cfg.ReducesPerHeartbeat; most < 0 {
			most = math.MaxInt
		}
	}
	offAllowed, after := true, n.cfg.TasksAfterOffSwitch
	for free > 0 {
		j, far := n.pick(kind, node, offAllowed)
		if j == nil {
			return got
		}
		j.pending[kind]--
		j.running[kind]++
		free--
		got = append(got, j.name)
		if len(got) >= most {
			return got
		}
		if far {
			offAllowed = false
		}
		if !offAllowed {
			if after == 0 {
				return got
			}
			after--
		}
	}
	return got
}

func (n *naive) pick(kind, node int, offAllowed bool) (*naiveJob, bool) {
	if !slices.ContainsFunc(n.jobs, func(j *naiveJob) bool { return j.initialised && j.pending[kind] > 0 }) {
		return nil, false // engines do not ask then
	}
	slices.SortStableFunc(n.queues[kind], func(a, b *naiveQueue) int {
		key := func(q *naiveQueue) float64 {
			occ := n.occupied(q, kind)
			return n.cfg.QueueOrder(Use{Capacity: n.capSlots(q, kind), Occupied: occ, Running: occ})
		}
		return cmp.Compare(key(a), key(b))
	})
	for _, q := range n.queues[kind] {
		for _, j := range n.in(q) {
			if !j.initialised || j.pending[kind] == 0 || !n.within(q, j.user, kind) {
				continue
			}
			if kind == reduceSlots {
				return j, false
			}
			j.opportunities++
			switch nearOf(j.seq, node) {
			case policy.NoPreference:
				j.opportunities-- // it does not count opportunities
				return j, false
			case policy.NodeLocal:
				j.opportunities = 0
				return j, false
			case policy.RackLocal:
				if j.opportunities > min(int64(n.cfg.NodeDelay), n.nodes) {
					j.opportunities = 0
					return j, false
				}
			default:
				enough := j.opportunities > n.nodes
				if n.cfg.OffSwitch == PastMissed {
					enough = float64(min(j.pending[kind], n.nodes))*n.cfg.LocalityWaitFactor < float64(j.opportunities)
				}
				if d := min(int64(n.cfg.NodeDelay), n.nodes); n.cfg.RackDelay > 0 {
					enough = j.opportunities > min(int64(n.cfg.RackDelay), d+n.nodes)
				} else if j.opportunities <= d {
					enough = false
				}
				if offAllowed && enough {
					return j, true
				}
			}
		}
	}
	return nil, false
}

// nearOf is where a job's input lies, made up.
func nearOf(seq int64, node int) policy.Near {
	if seq%7 == 3 {
		return policy.NoPreference
	}
	return policy.Near(1 + (uint64(seq)*2654435761+uint64(node)*40503)>>4%3)
}

func genConfig(t *rapid.T) Config {
	c := Config{
		MaxSystemJobs:       rapid.SampledFrom([]int{1, 2, 3, 5, 10, 0}).Draw(t, "system"),
		TasksPerHeartbeat:   rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "perbeat"),
		TasksAfterOffSwitch: rapid.IntRange(0, 2).Draw(t, "after"),
		ActiveUsers:         rapid.SampledFrom([]ActiveUsers{UsersWithTasks, UsersWithJobs}).Draw(t, "active"),
		OffSwitch:           rapid.SampledFrom([]OffSwitchRule{PastNodes, PastMissed}).Draw(t, "off"),
		QueueOrder:          rapid.SampledFrom([]QueueOrder{nil, EqualRunning, MostLoaded}).Draw(t, "order"),
		NodeDelay:           rapid.SampledFrom([]int{0, 0, 2, 50}).Draw(t, "node"),
		ReducesPerHeartbeat: rapid.SampledFrom([]int{0, -1, 2}).Draw(t, "reduces"),
		Borrow:              rapid.Bool().Draw(t, "borrow"),
	}
	if rapid.Bool().Draw(t, "rackdelay") {
		c.RackDelay = c.NodeDelay + rapid.IntRange(0, 9).Draw(t, "rack")
	}
	left := 100.0
	for i := range rapid.IntRange(1, 4).Draw(t, "queues") {
		q := Queue{
			Name: string(rune('a' + i)), Capacity: float64(rapid.IntRange(1, 25).Draw(t, "capacity")),
			MinimumUserLimitPercent: rapid.SampledFrom([]float64{0, 1, 25, 33.3, 100}).Draw(t, "mulp"),
			UserLimitFactor:         rapid.SampledFrom([]float64{0, 0.01, 0.5, 2, 10}).Draw(t, "ulf"),
			SupportsPriority:        rapid.Bool().Draw(t, "pri"),
			MaxActiveTasks:          rapid.SampledFrom([]int{0, 10, 25}).Draw(t, "tasks"),
			MaxActiveTasksPerUser:   rapid.SampledFrom([]int{0, 0, 10}).Draw(t, "usertasks"),
			AcceptFactor:            rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "accept"),
		}
		if i == 0 {
			q.Capacity = float64(rapid.IntRange(1, 25).Draw(t, "first")) * rapid.SampledFrom([]float64{1, 0.77 + 0.23}).Draw(t, "odd")
		}
		if rapid.Bool().Draw(t, "capped") {
			q.MaxCapacity = min(100, q.Capacity*rapid.SampledFrom([]float64{1, 1.5, 3}).Draw(t, "max"))
		}
		left -= q.Capacity
		c.Queues = append(c.Queues, q)
	}
	if rapid.Bool().Draw(t, "whole") { // give the rest to the first, so that the cluster can be full
		c.Queues[0].Capacity += left
		if c.Queues[0].MaxCapacity > 0 {
			c.Queues[0].MaxCapacity = max(c.Queues[0].MaxCapacity, c.Queues[0].Capacity)
		}
	}
	return c
}

// The fast scheduler decides as the written one does, whatever the settings and the events, settings turned meanwhile included.
func TestPropertyAgreesWithNaive(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := genConfig(rt)
		nodes := rapid.IntRange(1, 6).Draw(rt, "nodes")
		perMap, perReduce := rapid.Int64Range(1, 4).Draw(rt, "maps"), rapid.Int64Range(1, 3).Draw(rt, "reduces")
		w := newWorld(t, c, nodes, perMap, perReduce)
		n := newNaive(c, nodes, perMap, perReduce)
		w.near = func(j *played, node int) policy.Near { return nearOf(j.view.Seq, node) }
		d := &duel{rt: rt, w: w, n: n}
		for i := range rapid.IntRange(1, 120).Draw(rt, "steps") {
			d.step(i)
		}
	})
}

// duel tells both the same.
type duel struct {
	rt *rapid.T
	w  *world
	n  *naive
}

func (d *duel) step(i int) {
	rt, w, n := d.rt, d.w, d.n
	some := func() *naiveJob {
		if len(n.jobs) == 0 {
			return nil
		}
		return n.jobs[rapid.IntRange(0, len(n.jobs)-1).Draw(rt, "job")]
	}
	q := func() *naiveQueue { return n.queues[0][rapid.IntRange(0, len(n.queues[0])-1).Draw(rt, "queue")] }
	switch what := rapid.SampledFrom([]string{"arrive", "arrive", "tick", "beat", "beat", "beat", "end", "end", "release", "leave", "move", "priority", "set"}).Draw(rt, "what"); what {
	case "arrive":
		j := &naiveJob{name: fmt.Sprint("j", i), user: rapid.SampledFrom([]string{"ann", "bob", "eve"}).Draw(rt, "user"), queue: q(), seq: w.seq}
		nm, nr := rapid.Int64Range(0, 12).Draw(rt, "nm"), rapid.Int64Range(0, 4).Draw(rt, "nr")
		j.tasks, j.pending[mapSlots] = nm+nr, nm
		_, err := w.arrive(j.name, j.user, j.queue.set.Name, nm, nr)
		if (err == nil) != n.accepts(j.queue, j.user, j.tasks) {
			rt.Fatalf("job of %s in %s with %d tasks: %v", j.user, j.queue.set.Name, j.tasks, err)
		}
		if err == nil {
			n.jobs = append(n.jobs, j)
		}
	case "tick":
		if a, b := w.tick(), n.poll(); a != b {
			rt.Fatalf("poller: changed %v, want %v", a, b)
		}
	case "beat":
		k, node := rapid.IntRange(0, 1).Draw(rt, "kind"), rapid.IntRange(0, len(w.nodes[0])-1).Draw(rt, "node")
		want := n.beat(k, node, w.nodes[k][node].Free.Cores)
		if got := w.beat(k, node); !slices.Equal(got, want) {
			rt.Fatalf("node %d is given %v, want %v", node, got, want)
		}
	case "end", "release", "leave", "move", "priority":
		if j := some(); j != nil {
			d.change(what, j, q)
		}
	case "set":
		d.set(q())
	}
}

func (d *duel) change(what string, j *naiveJob, q func() *naiveQueue) {
	rt, w, n := d.rt, d.w, d.n
	switch what {
	case "end":
		for k := range kinds {
			if j.running[k] > 0 {
				j.running[k]--
				w.end(j.name, k)
			}
		}
	case "release":
		if p := w.jobs[j.name]; j.pending[reduceSlots] == 0 && p.tasks[reduceSlots] > 0 && len(p.running[reduceSlots]) == 0 {
			j.pending[reduceSlots] = p.tasks[reduceSlots]
			w.release(j.name)
		}
	case "leave":
		n.jobs = slices.DeleteFunc(n.jobs, func(o *naiveJob) bool { return o == j })
		w.leave(j.name)
	case "priority":
		j.priority = rapid.IntRange(-1, 6).Draw(rt, "to")
		v := &w.jobs[j.name].view
		old := v.Priority
		v.Priority = j.priority
		w.state.SetPriority(v, old)
	case "move":
		to := q()
		v := &w.jobs[j.name].view
		if err := w.state.Move(v, to.set.Name); err == nil {
			v.Queue, j.queue = to.set.Name, to
		} else if to == j.queue {
			rt.Fatal(err)
		}
	}
}

func (d *duel) set(q *naiveQueue) {
	rt, w := d.rt, d.w
	set := q.set
	property := rapid.SampledFrom([]string{"capacity", "maximum-capacity", "minimum-user-limit-percent", "user-limit-factor"}).Draw(rt, "property")
	value := rapid.SampledFrom([]float64{-1, 1, 5, 10, 20, 50, 100}).Draw(rt, "value")
	old := 0.0
	switch property {
	case "capacity":
		old, set.Capacity = set.Capacity, value
	case "maximum-capacity":
		old, set.MaxCapacity = set.MaxCapacity, value
	case "minimum-user-limit-percent":
		old, set.MinimumUserLimitPercent = set.MinimumUserLimitPercent, value
	case "user-limit-factor":
		old, set.UserLimitFactor = set.UserLimitFactor, value
	}
	good := set.check() == nil
	if was, err := w.state.SetQueue(set.Name, property, value); (err == nil) != good || good && was != old {
		rt.Fatalf("%s %s = %v: was %v, want %v, %v", set.Name, property, value, was, old, err)
	}
	if good {
		q.set = set
	}
}
