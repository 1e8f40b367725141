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

// roll keeps the waiting applications, so that a long queue is not listed at every look.
type roll struct {
	waiting map[string]*listed
	newest  int64                     // start of the latest one known, ms since the epoch
	masters map[string]unit.Resources // of those that run, once seen
	asked   *listed                   // one of those that wait, which was asked for its master's size
	hidden  map[string]bool           // kept out by max-parallel-apps, at the last look
	shown   map[string]bool           // waiting, and not hidden
	listed  time.Time                 // when all were listed
	differs bool                      // at the last look, from the queue's own count
}

const (
	shortList = 200              // so few are listed at every look
	relist    = 30 * time.Second // least time between two whole lists of more
	few       = 100              // one in so many may be missing, or one too many
)

// listed is an application as it was last listed.
type listed struct {
	steer.Job
	mapReduce bool // its master can be asked
	bare      bool // it runs, and its AM's is its only container
}

// forget makes the next look list all.
func (r *roll) forget() { *r = roll{} }

// look lists the applications of the queue in the order of their arrival, and tells what more the queue counts although it has
// ended: a master stays some seconds after its application. Two requests for each of the queue's names, whatever their number, and a third while some end.
func (r *roll) look(ctx context.Context, y *Yard, counted int) (jobs []*listed, gone ending, err error) {
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
		fresh = append(fresh, y.listed(&a))
		newest = max(newest, a.StartedTime)
	}
	var all []*listed
	f.States, f.StartedFrom = []string{"RUNNING"}, time.Time{} // after the waiting: one that starts meanwhile is seen twice, not never
	for a, err := range y.apps(ctx, f) {
		if err = anonymous(&a, err); err != nil {
			return nil, gone, err
		}
		all = append(all, y.listed(&a))
	}
	masters := map[string]unit.Resources{}
	for _, a := range all {
		if a.Master.IsZero() {
			a.Master = r.masters[a.ID]
		}
		if !a.Master.IsZero() {
			masters[a.ID] = a.Master
		}
	}
	for _, a := range fresh {
		waiting[a.ID] = a
	}
	for _, a := range all {
		delete(waiting, a.ID)
	}
	all = slices.AppendSeq(all, maps.Values(waiting))
	r.waiting, r.masters, r.newest = waiting, masters, newest
	if whole {
		r.listed = now
	}
	// In a long list a few that differ do not matter, and looking for them would cost more than all the rest.
	some := len(all) / few
	if counted-len(all) > some {
		if gone, err = y.ending(ctx, now); err != nil {
			return nil, gone, err
		}
	}
	missed := counted - gone.n - len(all)
	r.differs = max(missed, -missed) > some
	slices.SortFunc(all, func(a, b *listed) int {
		return cmp.Or(cmp.Compare(a.Submitted, b.Submitted), cmp.Compare(a.ID, b.ID))
	})
	return all, gone, nil
}

// hide leaves out applications that wait because of max-parallel-apps: no share of masters lets them in. Which they are is not told, only how many.
// They are let in by age, so that the youngest are taken for them; one that was shown stays so, or it would seem to have ended.
func (r *roll) hide(jobs []*listed, parked int) []*listed {
	hidden, shown := map[string]bool{}, map[string]bool{}
	for _, may := range []func(id string) bool{func(id string) bool { return r.hidden[id] }, func(id string) bool { return !r.shown[id] }} {
		for _, j := range slices.Backward(jobs) {
			if len(hidden) < parked && !j.Started && may(j.ID) {
				hidden[j.ID] = true
			}
		}
	}
	jobs = slices.DeleteFunc(jobs, func(j *listed) bool { return hidden[j.ID] })
	if parked > 0 {
		for _, j := range jobs {
			shown[j.ID] = !j.Started
		}
	}
	r.hidden, r.shown = hidden, shown
	return jobs
}

// apps lists applications of the queue under each of its names. One that the ResourceManager does not know is not asked for again.
func (y *Yard) apps(ctx context.Context, f rest.AppFilter) iter.Seq2[rest.App, error] {
	return func(yield func(rest.App, error) bool) {
		seen := map[string]bool{}
		var unknown []string
		var refused error
		names := y.names
		for _, name := range names {
			f.Queue = name
			for a, err := range y.c.Apps(ctx, f) {
				var status *rest.StatusError
				switch {
				case errors.As(err, &status) && status.Status == http.StatusBadRequest && len(names) > 1:
					unknown, refused = append(unknown, name), err
				case err == nil && len(names) > 1 && seen[a.ID]:
				default:
					if !yield(a, err) {
						return
					}
				}
				seen[a.ID] = true
			}
		}
		switch {
		case len(unknown) == len(names):
			yield(rest.App{}, refused)
		case len(unknown) > 0: // it knows another
			y.names = slices.DeleteFunc(slices.Clone(names), func(s string) bool { return slices.Contains(unknown, s) })
		}
	}
}

// size finds out how large the master is that one of the waiting applications waits for. Where nothing runs nobody else can tell. One more request,
// and none while the same one waits.
func (y *Yard) size(ctx context.Context, jobs []*listed) {
	for _, j := range jobs {
		if !j.Master.IsZero() {
			return
		}
		if a := y.roll.asked; a != nil && a.ID == j.ID {
			j.Master = a.Master
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
			return // it can be told otherwise, or the policy says what it lacks
		}
		for _, r := range a.Requests {
			if r.Containers > 0 && r.Size.Memory > j.Master.Mem {
				j.Master = unit.Resources{Mem: r.Size.Memory, Cores: max(r.Size.VCores, 1)}
			}
		}
		if !j.Master.IsZero() {
			y.roll.asked = j
			return
		}
		if asked++; asked >= mostAsked { // they may not have come so far as to ask for it
			return
		}
	}
}

// mostAsked is how many applications are asked in one look.
const mostAsked = 3

// anonymous adds the error of an application that cannot be told from others, or not what it does.
func anonymous(a *rest.App, err error) error {
	if err == nil && (a.ID == "" || a.State == "") {
		return errors.New("the ResourceManager lists an application without id or state")
	}
	return err
}

// stays is how long after its end an application's master is looked for.
const stays = 5 * time.Minute

// ending is the applications of the queue that have ended and still hold a container, which is their master's.
type ending struct {
	n    int
	held unit.Resources
}

func (y *Yard) ending(ctx context.Context, now time.Time) (e ending, err error) {
	for a, err := range y.apps(ctx, rest.AppFilter{States: []string{"FINISHED", "FAILED", "KILLED"}, FinishedFrom: now.Add(-stays)}) {
		if err != nil {
			return ending{}, err
		}
		if a.AllocatedMB > 0 || a.RunningContainers > 0 {
			e.n++
			e.held = e.held.Add(unit.Resources{Mem: max(a.AllocatedMB, 0), Cores: max(a.AllocatedVCores, 0)})
		}
	}
	return e, nil
}

func (y *Yard) listed(a *rest.App) *listed {
	running := a.State == "RUNNING"
	x := &listed{mapReduce: running && a.Type == "MAPREDUCE", Job: steer.Job{
		ID: a.ID, User: a.User, Queue: y.path, Priority: int(a.Priority), Submitted: unit.Time(a.StartedTime) * unit.Millisecond,
		Started: running || a.RunningContainers > 0 || a.AllocatedMB > 0, Progress: a.Progress,
	}}
	if a.RunningContainers != -1 { // -1: it has no attempt at this moment
		x.Running = a.RunningContainers
	}
	if a.RunningContainers == 1 && a.AllocatedMB > 0 && a.AllocatedVCores > 0 && !a.Unmanaged { // the first is the master's, and the last
		x.Master = unit.Resources{Mem: a.AllocatedMB, Cores: a.AllocatedVCores}
	}
	x.bare = running && a.RunningContainers == 1 && !a.Unmanaged
	if a.Type == "MAPREDUCE" {
		x.Maps = mapsOf(a.Progress)
	}
	return x
}

// mapsOf is how far the maps are by a MapReduce job's progress: 5 % for the set-up, then 45 % for the maps, some of which the copying of early
// reduces may have added.
func mapsOf(progress float64) float64 {
	if math.IsNaN(progress) {
		return progress
	}
	return min(max((progress-5)/45, 0), 1)
}

// masters asks the masters of MapReduce jobs in turn.
type masters struct {
	told map[string]rest.Job
	next int
}

const (
	mastersALook  = 8
	masterAnswers = 2 * time.Second
)

// ask asks some of the running ones, all at once: one that hangs keeps no other from being heard. One that does not answer, or whose answer is
// impossible, is left as it was: its progress is known all the same.
func (m *masters) ask(ctx context.Context, c *rest.Client, jobs []*listed) {
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
	ctx, cancel := context.WithTimeout(ctx, masterAnswers)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range min(mastersALook, len(ids)) {
		id := ids[m.next%len(ids)]
		m.next++
		wg.Go(func() {
			a := rest.App{ID: id}
			if j, err := c.Master(id).Job(ctx, a.JobID()); err == nil && possible(&j) {
				mu.Lock()
				m.told[id] = j
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// possible tells whether a job can be as its AM says. Whoever owns the job writes that AM.
func possible(j *rest.Job) bool {
	for _, n := range []int64{j.MapsTotal, j.MapsCompleted, j.MapsPending, j.ReducesTotal, j.ReducesCompleted, j.ReducesPending} {
		if n < 0 || n > mostTasks {
			return false
		}
	}
	return j.MapProgress >= 0 && j.MapProgress <= 100.5
}

// mostTasks is more than any job has.
const mostTasks = 1 << 40

// tell puts in what a job's master has said.
func (m *masters) tell(j *steer.Job) {
	t, ok := m.told[j.ID]
	if !ok {
		return
	}
	j.Tasks, j.Done = t.MapsTotal+t.ReducesTotal, t.MapsCompleted+t.ReducesCompleted
	j.Pending = t.MapsPending + t.ReducesPending
	j.Maps = t.MapProgress / 100
}

// asks keeps what running applications that hold nothing but their AM wait for, as the ResourceManager has it: an AM is not asked about itself.
type asks struct {
	told map[string]int64
	next int
}

// asksALook is how many applications are asked about in one look.
const asksALook = 8

// ask asks about some of them in turn; about none while the queue waits for nothing.
func (a *asks) ask(ctx context.Context, c *rest.Client, jobs []*listed, q *rest.Queue) {
	var ids []string
	present := map[string]int64{}
	for _, j := range jobs {
		if j.bare {
			ids = append(ids, j.ID)
			if n, ok := a.told[j.ID]; ok {
				present[j.ID] = n
			}
		}
	}
	if a.told = present; q.AllocatedContainers > 0 && q.PendingContainers == 0 {
		clear(a.told)
		return
	}
	for range min(asksALook, len(ids)) {
		id := ids[a.next%len(ids)]
		a.next++
		if x, err := c.App(ctx, id); err == nil { // else it has ended, or is asked about again
			a.told[id] = x.Asked()
		}
	}
}

// tell puts in how many containers an application waits for.
func (a *asks) tell(from *listed, j *steer.Job) {
	if from.bare {
		j.Pending = a.told[j.ID]
	}
}
