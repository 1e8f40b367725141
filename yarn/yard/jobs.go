package yard

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// roll caches the waiting applications, so that a long queue is not listed at every sample.
type roll struct {
	waiting map[string]*listed
	newest  int64                     // start of the latest one known, ms since the epoch
	ams     map[string]unit.Resources // of running ones, once seen
	asked   map[string]*listed        // by queue, a waiting one that was queried for its AM's size
	hidden  map[string]bool           // held back by max-parallel-apps, at the last sample
	shown   map[string]bool           // waiting, and not hidden
	listed  time.Time                 // time of the last complete list
	differs bool                      // at the last sample, from a queue's own count
	narrow  bool                      // only steered queues are listed
	ends    ends
}

// ends are the finished applications.
type ends struct {
	counted  int64           // the ResourceManager's count when they were last listed
	newest   int64           // ms since the epoch
	reported map[string]bool // recently reported; nil: none listed yet
}

const (
	shortList = 200              // this many are listed at every sample
	relist    = 30 * time.Second // min time between two complete lists of more
	few       = 100              // one in this many may be missing or surplus
	settled   = 30 * time.Second // a finished application is listed by then
)

// listed is an application as it was last listed.
type listed struct {
	steer.Job
	mapReduce bool // its AM can be queried
	bare      bool // it runs, and holds only its AM's container
	asks      bool // it is to be queried for what it waits for
}

// forget makes the next sample list all.
func (r *roll) forget() { *r = roll{ends: r.ends} }

// list lists the applications in order of arrival, and returns what each steered queue still counts of ended ones:
// an AM stays some seconds after its application. Two requests, whatever their number, and a third while some end.
func (r *roll) list(ctx context.Context, y *Yard, at *leafMap, counted map[string]int) (jobs []*listed, gone map[string]ending, err error) {
	now := time.Now()
	whole := len(r.waiting) <= shortList || r.differs && now.Sub(r.listed) >= relist
	f := rest.AppFilter{States: []string{"ACCEPTED"}}
	waiting := r.waiting
	if whole {
		waiting = map[string]*listed{}
	} else {
		f.StartedFrom = time.UnixMilli(r.newest)
	}
	var fresh []*listed
	newest := r.newest
	for a, err := range y.apps(ctx, f) {
		if err = anonymous(&a, err); err != nil {
			return nil, gone, err
		}
		if newest = max(newest, a.StartedTime); a.Queue != "" {
			fresh = append(fresh, newListed(&a, at))
		}
	}
	var all []*listed
	f.States, f.StartedFrom = []string{"RUNNING"}, time.Time{} // after the waiting ones: one that starts meanwhile is seen twice, not never
	for a, err := range y.apps(ctx, f) {
		if err = anonymous(&a, err); err != nil {
			return nil, gone, err
		}
		if a.Queue != "" {
			all = append(all, newListed(&a, at))
		}
	}
	ams := map[string]unit.Resources{}
	for _, a := range all {
		if a.AM.IsZero() {
			a.AM = r.ams[a.ID]
		}
		if !a.AM.IsZero() {
			ams[a.ID] = a.AM
		}
	}
	for _, a := range fresh {
		waiting[a.ID] = a
	}
	for _, a := range all {
		delete(waiting, a.ID)
	}
	all = slices.AppendSeq(all, maps.Values(waiting))
	r.waiting, r.ams, r.newest = waiting, ams, newest
	if whole {
		r.listed = now
	}
	// In a long list a few differences do not matter, and resolving them would cost more than all the rest.
	have := map[string]int{}
	for _, a := range all {
		have[a.Queue]++
	}
	if slices.ContainsFunc(y.paths, func(q string) bool { return counted[q]-have[q] > have[q]/few }) {
		if gone, err = y.ending(ctx, at, now); err != nil {
			return nil, gone, err
		}
	}
	r.differs = false
	for q, n := range counted {
		if r.narrow && !y.may(q) {
			continue
		}
		missed := n - gone[q].n - have[q]
		r.differs = r.differs || max(missed, -missed) > have[q]/few
	}
	slices.SortFunc(all, func(a, b *listed) int {
		return cmp.Or(cmp.Compare(a.Submitted, b.Submitted), cmp.Compare(a.ID, b.ID))
	})
	return all, gone, nil
}

// hide leaves out applications that wait because of max-parallel-apps: no AM share admits them. Only their number is reported, not which they are.
// They are admitted by age, so the youngest are assumed; one that was shown stays shown, or it would seem to have ended.
func (r *roll) hide(jobs []*listed, parked map[string]int) []*listed {
	hidden, shown, n := map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, may := range []func(id string) bool{func(id string) bool { return r.hidden[id] }, func(id string) bool { return !r.shown[id] }} {
		for _, j := range slices.Backward(jobs) {
			if n[j.Queue] < parked[j.Queue] && !j.Started && !hidden[j.ID] && may(j.ID) {
				hidden[j.ID] = true
				n[j.Queue]++
			}
		}
	}
	jobs = slices.DeleteFunc(jobs, func(j *listed) bool { return hidden[j.ID] })
	for _, j := range jobs {
		if parked[j.Queue] > 0 {
			shown[j.ID] = !j.Started
		}
	}
	r.hidden, r.shown = hidden, shown
	return jobs
}

// size determines the AM size that a waiting application needs. If nothing runs there is no other source. It takes one more request,
// and none while the same application waits.
func (y *Yard) size(ctx context.Context, jobs []*listed) {
	for _, j := range jobs {
		if !j.AM.IsZero() {
			return
		}
		if a := y.roll.asked[j.Queue]; a != nil && a.ID == j.ID {
			j.AM = a.AM
			return
		}
	}
	asked := 0
	for _, j := range jobs {
		if j.Started {
			continue
		}
		a, err := y.c.App(ctx, j.ID)
		if err != nil {
			return // known otherwise, or the policy reports what it lacks
		}
		for _, r := range a.Requests {
			if r.Containers > 0 && r.Size.Memory > j.AM.Mem {
				j.AM = unit.Resources{Mem: r.Size.Memory, Cores: max(r.Size.VCores, 1)}
			}
		}
		if !j.AM.IsZero() {
			if y.roll.asked == nil {
				y.roll.asked = map[string]*listed{}
			}
			y.roll.asked[j.Queue] = j
			return
		}
		if asked++; asked >= maxAsked { // they may not have requested it yet
			return
		}
	}
}

// maxAsked is the max number of applications queried per sample.
const maxAsked = 3

// apps lists applications of all queues. If their list cannot be read, an application of any user may be the reason: from then on only those of the
// steered queues are listed, queue by queue.
func (y *Yard) apps(ctx context.Context, f rest.AppFilter) iter.Seq2[rest.App, error] {
	return func(yield func(rest.App, error) bool) {
		if y.roll.narrow {
			y.appsOfQueues(ctx, f, yield)
			return
		}
		for a, err := range y.c.Apps(ctx, f) {
			if y.roll.narrow = errors.Is(err, rest.ErrFormat); !yield(a, err) {
				return
			}
		}
	}
}

// appsOfQueues lists the applications of the steered queues. Older versions know a queue by the last part of its name, newer ones by all of it; a
// ResourceManager rejects the other.
func (y *Yard) appsOfQueues(ctx context.Context, f rest.AppFilter, yield func(rest.App, error) bool) {
	listed := map[string]bool{}
	for _, path := range y.paths {
		var unknown []error
		for _, f.Queue = range []string{path, lastPart(path)} {
			for a, err := range y.c.Apps(ctx, f) {
				var status *rest.StatusError
				switch {
				case errors.As(err, &status) && status.Status == http.StatusBadRequest:
					unknown = append(unknown, err)
				case err == nil && listed[a.ID]:
				case !yield(a, err):
					return
				default:
					listed[a.ID] = true
				}
			}
		}
		if len(unknown) == 2 && !yield(rest.App{}, unknown[0]) {
			return
		}
	}
}

// anonymous adds the error of an application without identity or state. One without a queue is skipped: a user who submits to no queue gets it
// rejected and listed.
func anonymous(a *rest.App, err error) error {
	if err == nil && (a.ID == "" || a.State == "") {
		return errors.New("the ResourceManager lists an application without id or state")
	}
	return err
}

// stays is how long after its end an application's AM may still hold a container.
const stays = 5 * time.Minute

// ending is the applications of a queue that have ended and still hold their AM's container.
type ending struct {
	n    int
	held unit.Resources
}

var endStates = []string{"FINISHED", "FAILED", "KILLED"}

func (y *Yard) ending(ctx context.Context, at *leafMap, now time.Time) (map[string]ending, error) {
	gone := map[string]ending{}
	for a, err := range y.apps(ctx, rest.AppFilter{States: endStates, FinishedFrom: now.Add(-stays)}) {
		if err != nil {
			return nil, err
		}
		if a.AllocatedMB > 0 || a.RunningContainers > 0 {
			e := gone[at.path(a.Queue)]
			e.n++
			e.held = e.held.Add(heldBy(&a))
			gone[at.path(a.Queue)] = e
		}
	}
	return gone, nil
}

// finished lists the applications that have ended since the last sample: one request, and only if the ResourceManager's count has changed.
func (r *roll) finished(ctx context.Context, y *Yard, at *leafMap, counted int64) (out []steer.Finished, err error) {
	e := &r.ends
	first := e.reported == nil
	if !first && counted == e.counted {
		return nil, nil
	}
	if first {
		e.newest = time.Now().UnixMilli()
	}
	from, newest, told := e.newest-settled.Milliseconds(), e.newest, map[string]bool{}
	var apps []rest.App
	for a, err := range y.apps(ctx, rest.AppFilter{States: endStates, FinishedFrom: time.UnixMilli(from)}) {
		if err = anonymous(&a, err); err != nil {
			return nil, err
		}
		newest = max(newest, a.FinishedTime)
		if told[a.ID] = true; first || e.reported[a.ID] || a.Queue == "" {
			continue
		}
		apps = append(apps, a)
	}
	slices.SortFunc(apps, func(a, b rest.App) int {
		return cmp.Or(cmp.Compare(a.FinishedTime, b.FinishedTime), cmp.Compare(a.ID, b.ID))
	})
	for i := range apps {
		a := &apps[i]
		out = append(out, steer.Finished{
			ID: a.ID, User: a.User, Queue: at.path(a.Queue), Status: a.FinalStatus,
			Elapsed: unit.Time(max(a.FinishedTime-a.StartedTime, 0)) * unit.Millisecond, Service: serviceOf(a),
		})
	}
	r.ends = ends{counted: counted, newest: newest, reported: told}
	return out, nil
}

func serviceOf(a *rest.App) steer.Service {
	return steer.Service{MemSeconds: max(a.MemorySeconds, 0), CoreSeconds: max(a.VCoreSeconds, 0)}
}

func heldBy(a *rest.App) unit.Resources {
	return unit.Resources{Mem: max(a.AllocatedMB, 0), Cores: max(a.AllocatedVCores, 0)}
}

func newListed(a *rest.App, at *leafMap) *listed {
	running := a.State == "RUNNING"
	x := &listed{mapReduce: running && a.Type == "MAPREDUCE", Job: steer.Job{
		ID: a.ID, User: a.User, Queue: at.path(a.Queue), Priority: int(a.Priority), Submitted: unit.Time(a.StartedTime) * unit.Millisecond,
		Started: running || a.RunningContainers > 0 || a.AllocatedMB > 0, Progress: a.Progress,
		Held: heldBy(a), Service: serviceOf(a), Tags: a.Tags,
	}}
	if a.RunningContainers != -1 { // -1: no current attempt
		x.Running = a.RunningContainers
	}
	if a.RunningContainers == 1 && a.AllocatedMB > 0 && a.AllocatedVCores > 0 && !a.Unmanaged { // the first is the AM's, and so is the last
		x.AM = unit.Resources{Mem: a.AllocatedMB, Cores: a.AllocatedVCores}
	}
	x.bare = running && a.RunningContainers == 1 && !a.Unmanaged
	if a.Type == "MAPREDUCE" {
		x.Maps = mapsOf(a.Progress)
	}
	return x
}

// mapsOf derives map progress from a MapReduce job's progress: 5 % for the set-up, then 45 % for the maps, some of which the copying of early
// reduces may have added.
func mapsOf(progress float64) float64 {
	if math.IsNaN(progress) {
		return progress
	}
	return min(max((progress-5)/45, 0), 1)
}

// AMs queries the AMs of MapReduce jobs in turn.
type ams struct {
	told map[string]rest.Job
	next int
}

const (
	amsALook  = 8
	amAnswers = 2 * time.Second
)

// ask queries some of the running ones concurrently: one that hangs does not block the others. One that does not respond, or reports something
// impossible, keeps its old value: its progress is known all the same.
func (m *ams) ask(ctx context.Context, c *rest.Client, jobs []*listed) {
	var ids []string
	present := map[string]rest.Job{}
	for _, a := range jobs {
		if a.mapReduce {
			ids = append(ids, a.ID)
			if j, ok := m.told[a.ID]; ok {
				present[a.ID] = j
			}
		}
	}
	m.told = present
	ctx, cancel := context.WithTimeout(ctx, amAnswers)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range min(amsALook, len(ids)) {
		id := ids[m.next%len(ids)]
		m.next++
		wg.Go(func() {
			a := rest.App{ID: id}
			if j, err := c.AM(id).Job(ctx, a.JobID()); err == nil && possible(&j) {
				mu.Lock()
				m.told[id] = j
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// possible reports whether an AM's report is plausible. The job's owner controls that AM.
func possible(j *rest.Job) bool {
	for _, n := range []int64{j.MapsTotal, j.MapsCompleted, j.MapsPending, j.ReducesTotal, j.ReducesCompleted, j.ReducesPending} {
		if n < 0 || n > maxTasks {
			return false
		}
	}
	return j.MapProgress >= 0 && j.MapProgress <= 100.5
}

// maxTasks is more than any job has.
const maxTasks = 1 << 40

// tell applies an AM's report to its job.
func (m *ams) tell(j *steer.Job) {
	t, ok := m.told[j.ID]
	if !ok {
		return
	}
	j.Tasks, j.Done = t.MapsTotal+t.ReducesTotal, t.MapsCompleted+t.ReducesCompleted
	j.Pending = t.MapsPending + t.ReducesPending
	j.Maps = t.MapProgress / 100
}

// asks caches what running applications wait for, from the ResourceManager: an AM is not trusted about itself. Without Options.Pending these are
// only those that hold nothing but their AM.
type asks struct {
	told map[string]answer
	next int
}

// answer is what the ResourceManager says of an application.
type answer struct {
	asked, running int64
	held           unit.Resources
	service        steer.Service
}

// asksPerSample is the max number of applications queried per sample.
const asksPerSample = 8

// ask queries some of them in turn.
func (a *asks) ask(ctx context.Context, c *rest.Client, jobs []*listed) {
	var ids []string
	present := map[string]answer{}
	for _, j := range jobs {
		if j.asks {
			ids = append(ids, j.ID)
			if x, ok := a.told[j.ID]; ok {
				present[j.ID] = x
			}
		}
	}
	a.told = present
	for range min(asksPerSample, len(ids)) {
		id := ids[a.next%len(ids)]
		a.next++
		if x, err := c.App(ctx, id); err == nil { // otherwise it has ended, or is queried again
			a.told[id] = answer{x.Asked(), x.RunningContainers, heldBy(&x), serviceOf(&x)} // its requests, which may be many, are not kept
		}
	}
}

// tell sets how many containers an application waits for, unless its AM reports its tasks; and what it holds, as of the same instant.
func (a *asks) tell(from *listed, j *steer.Job) {
	x, ok := a.told[j.ID]
	switch {
	case from.bare:
		j.Pending = x.asked
	case ok && j.Tasks == 0:
		j.Pending = x.asked
		if x.running >= 0 {
			j.Running, j.Held, j.Service = x.running, x.held, x.service
		}
	}
}
