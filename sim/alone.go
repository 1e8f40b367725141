package sim

import (
	"context"
	"sync"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Alone computes a job's elapsed time on an empty cluster, the denominator of slowdown. It plays each job by itself, with
// the same task lengths as in the run, free containers known at once and no failures. The times do not depend on the
// policy, so runs of the same workload and seed share one Alone; it is safe for concurrent use. The time is 0 for a job
// that does not finish alone.
type Alone struct {
	cluster *cluster.Cluster
	total   unit.Resources
	model   Model
	seed    uint64

	mu    sync.Mutex
	slots map[unit.Resources]int64 // containers of a size on the empty cluster
	fast  *Speeds                  // nil: all machines have speed 1
	known []unit.Time              // by arrival number, plus one; 0: not yet computed
	play  *engine
}

// aloneKept limits the cache: times beyond it are computed again.
const aloneKept = 4 << 20

// NewAlone makes an empty cache for one cluster, model and seed.
func NewAlone(c *cluster.Cluster, m Model, seed uint64) *Alone {
	return &Alone{
		cluster: c, total: c.Total(), model: Model{StartUp: m.StartUp, Application: m.Application}, seed: seed, slots: map[unit.Resources]int64{}, fast: NewSpeeds(c),
	}
}

// Of returns the time for the job that arrived as number seq.
func (a *Alone) Of(src *workload.Job, seq int64) unit.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t, ok := a.byWaves(src); ok {
		return t
	}
	if seq < int64(len(a.known)) && a.known[seq] > 0 {
		return a.known[seq] - 1
	}
	t := a.playAlone(src, seq)
	if seq < aloneKept {
		for int64(len(a.known)) <= seq {
			a.known = append(a.known, 0)
		}
		a.known[seq] = t + 1
	}
	return t
}

// Once is Of without the cache, for jobs that are not all of one workload.
func (a *Alone) Once(src *workload.Job, seq int64) unit.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t, ok := a.byWaves(src); ok {
		return t
	}
	return a.playAlone(src, seq)
}

// byWaves computes the common simple case in closed form: at most one stage after the first, constant task lengths, one
// container size. ok is false if the job has to be played.
func (a *Alone) byWaves(src *workload.Job) (t unit.Time, ok bool) {
	if src.Keep != nil || len(src.Stages) > 2 || a.cluster.Slots || a.fast != nil {
		return 0, false
	}
	first := &src.Stages[0]
	l1, ok := first.Length.IsConstant()
	if !ok || len(first.After) > 0 || first.Tasks == 0 || first.Gang > 1 {
		return 0, false
	}
	slots, known := a.slots[first.Ask]
	if !known {
		slots = a.cluster.Containers(first.Ask)
		a.slots[first.Ask] = slots
	}
	if !src.AM.IsZero() {
		if src.AM != first.Ask {
			return 0, false
		}
		slots--
		t = a.model.StartUp
	}
	if slots <= 0 {
		return 0, false
	}
	wave := a.model.StartUp + l1
	waves := (first.Tasks + slots - 1) / slots
	t += unit.Time(waves) * wave
	if len(src.Stages) == 1 {
		return t, true
	}
	second := &src.Stages[1]
	l2, ok := second.Length.IsConstant()
	if !ok || second.Ask != first.Ask || second.Gang > 1 || len(second.After) != 1 || second.Tasks == 0 {
		return 0, false
	}
	// Containers unused by the last wave take tasks of the second stage early, if slow-start allows: their start-up is
	// hidden behind that wave.
	spare := waves*slots - first.Tasks
	doneBefore := (waves - 1) * slots
	if float64(doneBefore) < second.After[0].SlowStart*float64(first.Tasks) {
		spare = 0
	} else if waves > 1 && a.model.Application != am.MapsFirst { // reduces take containers while maps wait
		if waves, ok = a.mapWaves(src, slots); !ok || a.model.Application == am.Overlap || a.model.StartUp > 0 {
			return 0, false
		}
		t = unit.Time(waves) * l1
	}
	early := min(spare, second.Tasks)
	// At t, early tasks begin to work at once; the others start up first, in the containers of the first stage.
	rest := second.Tasks - early
	if early > 0 && rest > slots-early {
		if a.model.StartUp > 0 {
			return 0, false // two phases of waves: play it
		}
	}
	n := second.Tasks
	if a.model.StartUp == 0 {
		return t + unit.Time((n+slots-1)/slots)*l2, true
	}
	if rest == 0 {
		return t + l2, true
	}
	if early > 0 {
		return t + a.model.StartUp + l2, true
	}
	return t + unit.Time((n+slots-1)/slots)*(a.model.StartUp+l2), true
}

// mapWaves counts the waves of a job's maps if its AM requests reduces while maps wait, as engine.ramp does at every end of a map; tasks
// start at once, and all are of one size. ok is false if maps hang or the job has no such AM.
func (a *Alone) mapWaves(src *workload.Job, slots int64) (waves int64, ok bool) {
	first, second := &src.Stages[0], &src.Stages[1]
	s := am.State{
		Map: first.Ask, Reduce: second.Ask, Headroom: a.total.Sub(src.AM), Cores: true, Started: true,
		Maps: first.Tasks, MapsWaiting: first.Tasks, Pending: second.Tasks,
	}
	config := am.Defaults()
	l1, _ := first.Length.IsConstant()
	hangs := !am.IsMapReduce(src)
	update := func() {
		if am.Reached(second.After[0].SlowStart, s.MapsDone, s.Maps) {
			s.Waited = unit.Time(waves) * l1
			d := config.Reduces(&s)
			s.Pending, s.Asked = s.Pending-d.Ask, s.Asked+d.Ask
			hangs = hangs || s.Hanging()
		}
	}
	fill := func() {
		for s.MapsWaiting > 0 && s.MapsHeld+s.ReduceHeld < slots {
			s.Headroom = s.Headroom.Sub(s.Map)
			if s.Asked == 0 {
				s.MapsWaiting, s.MapsHeld = s.MapsWaiting-1, s.MapsHeld+1
				continue
			}
			if s.Asked, s.ReduceHeld = s.Asked-1, s.ReduceHeld+1; s.Asked == 0 {
				update()
			}
		}
	}
	update()
	fill()
	for s.MapsWaiting > 0 && !hangs {
		if waves++; s.Pending+s.Asked == 0 { // nothing changes any more
			return waves + (s.MapsWaiting+s.MapsHeld-1)/s.MapsHeld, true
		}
		for range s.MapsHeld {
			s.MapsHeld, s.MapsDone, s.Headroom = s.MapsHeld-1, s.MapsDone+1, s.Headroom.Add(s.Map)
			update()
			fill()
		}
	}
	return waves + 1, !hangs
}

// playAlone runs the job through the engine.
func (a *Alone) playAlone(src *workload.Job, seq int64) unit.Time {
	if a.play == nil {
		c := Config{
			Cluster: a.cluster, Source: workload.Slice(nil).Source(), Model: a.model, Seed: a.seed, Sink: nowhere{}, Alone: a, NoAlone: true,
			NewPolicy: func() (policy.Policy, error) { return policy.Policy{Order: &onlyOne{}}, nil },
		}
		e, err := newEngine(c)
		if err != nil {
			panic("sim: cluster that was valid for a run is not for one job: " + err.Error())
		}
		a.play = e
	}
	e := a.play
	for _, p := range e.pools {
		p.cursor = 0 // a time must not depend on the call before
	}
	begin := max(e.now, e.q.Last())
	e.next, e.nextSeq = src, seq
	e.q.Push(begin, evArrival, 0)
	before := e.sum.Finished
	if _, err := e.loop(context.Background()); err != nil || e.sum.Finished == before {
		a.play = nil // it never finishes, e.g. because its AM is on the only node large enough for its largest task
		return 0
	}
	return e.sum.LastFinish - begin
}

// nowhere is a sink that discards everything.
type nowhere struct{}

func (nowhere) Job(*JobRecord) {}
func (nowhere) Sample(*Sample) {}

// onlyOne is the order for a single job.
type onlyOne struct{ j *policy.Job }

func (o *onlyOne) Resized(unit.Time, policy.Cluster)        {}
func (o *onlyOne) Arrived(_ unit.Time, j *policy.Job) error { o.j = j; return nil }
func (o *onlyOne) Changed(unit.Time, *policy.Job)           {}
func (o *onlyOne) Started(*policy.Event)                    {}
func (o *onlyOne) Ended(*policy.Event)                      {}
func (o *onlyOne) Left(unit.Time, *policy.Job)              { o.j = nil }
func (o *onlyOne) Ranked(_ *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	return o.j != nil && o.j.Pending > 0 && try(o.j) == policy.Took
}
