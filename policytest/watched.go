package policytest

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// watched stands between an engine and an order and checks what the engine may and may not do. It also records every call, so that the calls can
// be replayed to a fresh copy of the policy.
type watched struct {
	policy.Order
	t        rapid.TB
	byNode   bool
	total    unit.Resources
	used     unit.Resources
	starts   map[string]int64 // by job/stage
	ends     map[string]int64
	present  map[int32]*policy.Job
	wants    map[int32]bool        // by the events so far
	complete map[int32]bool        // it arrived with all its tasks
	last     map[int64]View        // as recorded
	now      unit.Time             // of the last start or end
	began    map[string]int64      // what runs, by job, stage and the time of its start
	jobs     map[int32]*policy.Job // as their starts and ends make them
	log      Recording
}

// call records a call, before it is made or what it brings about.
func (w *watched) call(c Call) {
	var jobs []*policy.Job
	for _, j := range w.present {
		jobs = append(jobs, j)
	}
	slices.SortFunc(jobs, func(a, b *policy.Job) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, j := range jobs {
		if v := view(j); !reflect.DeepEqual(v, w.last[j.Seq]) {
			w.last[j.Seq] = v
			c.Jobs = append(c.Jobs, v)
		}
	}
	if c.Node != nil {
		n := *c.Node
		c.Node = &n // as it is now
	}
	w.log.Calls = append(w.log.Calls, c)
}

func (w *watched) Resized(now unit.Time, c policy.Cluster) {
	if len(c.Racks) > 0 && (len(c.Racks) < c.Nodes || sum(c.Working) != c.Nodes) {
		w.t.Fatalf("%d nodes, %d with racks, %v working", c.Nodes, len(c.Racks), c.Working)
	}
	w.total = c.Total
	w.call(Call{What: "resized", Now: now, Cluster: recordCluster(&c)})
	w.Order.Resized(now, c)
}

func sum(list []int) (n int) {
	for _, v := range list {
		n += v
	}
	return n
}

func (w *watched) Arrived(now unit.Time, j *policy.Job) error {
	if j.Pending != 0 || j.Running != 0 {
		w.t.Fatalf("job %s arrives with %d pending, %d running", j.ID, j.Pending, j.Running)
	}
	if w.present[j.Index] != nil {
		w.t.Fatalf("index %d is taken twice", j.Index)
	}
	w.present[j.Index], w.wants[j.Index] = j, false
	tasks := int64(0)
	for i := range j.Stages {
		tasks += j.Stages[i].Tasks
	}
	w.complete[j.Index] = tasks == j.Tasks
	w.jobs[j.Index] = &policy.Job{}
	w.jobs[j.Index].Credit(j.Attained(now)) // before a restart
	w.call(Call{What: "arrived", Now: now, Job: j.Seq})
	at := len(w.log.Calls) - 1
	err := w.Order.Arrived(now, j)
	if err != nil {
		delete(w.present, j.Index)
		w.log.Calls[at].Answer = err.Error()
	}
	return err
}

func (w *watched) Changed(now unit.Time, j *policy.Job) {
	w.wants[j.Index] = j.Pending > 0
	w.call(Call{What: "changed", Now: now, Job: j.Seq})
	w.Order.Changed(now, j)
}

// stages checks what a job's stages say of themselves.
func (w *watched) stages(e *policy.Event) {
	j := e.Job
	if w.present[j.Index] != j {
		w.t.Fatalf("an event of job %s, which is not present", j.ID)
	}
	var tasks int64
	inner := e.Stage >= 0 && e.Size.IsZero() // in a kept container: every task is pending, running or done
	for _, s := range j.Stages {
		if inner && s.Pending+s.Running+s.Done != s.Tasks {
			w.t.Fatalf("a stage of job %s, which keeps containers: %+v", j.ID, s)
		}
		if s.Pending < 0 || s.Running < 0 || s.Pending+s.Running+s.Done > s.Tasks || s.Worked < 0 {
			w.t.Fatalf("a stage of job %s: %+v", j.ID, s)
		}
		tasks += s.Tasks
	}
	if w.complete[j.Index] && tasks != j.Tasks || j.Attained(e.Now) < 0 {
		w.t.Fatalf("job %s has %d tasks, its stages %d; %v attained", j.ID, j.Tasks, tasks, j.Attained(e.Now))
	}
	if j.Pending < 0 || j.Running < 0 || j.Used.Mem < 0 {
		w.t.Fatalf("job %s has %d pending, %d running, %v used", j.ID, j.Pending, j.Running, j.Used)
	}
}

func (w *watched) event(what string, e *policy.Event) {
	w.stages(e)
	j, own := e.Job, w.jobs[e.Job.Index]
	start, by := e.Now, int64(1)
	if what == "ended" {
		start, by = e.Now-e.Held, -1
	}
	began := fmt.Sprint(j.ID, "/", e.Stage, " at ", int64(start))
	if w.began[began] += by; w.began[began] < 0 {
		w.t.Fatalf("what ends at %v, held for %v, did not begin then: %s", e.Now, e.Held, began)
	}
	switch {
	case e.Size.IsZero(): // in a kept container
	case what == "started":
		own.Hold(e.Now, e.Size)
	case e.Why == policy.Undone:
		own.Undo(start, e.Size)
	default:
		own.Yield(e.Now, start, e.Size)
	}
	if j.Running != own.Running || j.Used != own.Used || j.Attained(e.Now) != own.Attained(e.Now) || e.Now < w.now {
		w.t.Fatalf("at %v, after %v, job %s holds %d containers, %v, and has received %v; by its starts and ends %d, %v and %v", e.Now, w.now, j.ID, j.Running, j.Used,
			j.Attained(e.Now), own.Running, own.Used, own.Attained(e.Now))
	}
	w.now = e.Now
	w.call(Call{What: what, Now: e.Now, Job: e.Job.Seq, Stage: e.Stage, Node: e.Node, Size: e.Size, Held: e.Held, Worked: e.Worked, Why: e.Why})
}

func (w *watched) Started(e *policy.Event) {
	j := e.Job
	w.wants[j.Index] = j.Pending > 0
	w.starts[fmt.Sprint(j.ID, "/", e.Stage)]++
	w.used = w.used.Add(e.Size)
	if w.byNode && e.Node == nil && !e.Size.IsZero() {
		w.t.Fatalf("a container of job %s starts, and its node is not named", j.ID)
	}
	w.event("started", e)
	w.Order.Started(e)
}

func (w *watched) Ended(e *policy.Event) {
	j := e.Job
	w.used = w.used.Sub(e.Size)
	if e.Why == policy.Done {
		w.ends[fmt.Sprint(j.ID, "/", e.Stage)]++
	}
	if e.Held < 0 || e.Worked < 0 || e.Worked > e.Held {
		w.t.Fatalf("job %s, stage %d: held for %v, worked for %v", j.ID, e.Stage, e.Held, e.Worked)
	}
	w.event("ended", e)
	w.Order.Ended(e)
}

func (w *watched) Left(now unit.Time, j *policy.Job) {
	if j.Pending != 0 || j.Running != 0 || !j.Used.IsZero() {
		w.t.Fatalf("job %s leaves with %d pending, %d running, %v used", j.ID, j.Pending, j.Running, j.Used)
	}
	w.call(Call{What: "left", Now: now, Job: j.Seq})
	delete(w.present, j.Index)
	delete(w.last, j.Seq)
	w.Order.Left(now, j)
}

func (w *watched) Ranked(o *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	if w.byNode && o.Node == nil {
		w.t.Fatalf("an offer at %v names no node", o.Now)
	}
	for _, j := range w.present {
		if w.wants[j.Index] != (j.Pending > 0) {
			w.t.Fatalf("job %s has %d pending, and no event said so", j.ID, j.Pending)
		}
	}
	w.call(Call{What: "ranked", Now: o.Now, Slot: o.Slot, Node: o.Node}) // before what try brings about
	at := len(w.log.Calls) - 1
	var tries []Try
	took := w.Order.Ranked(o, func(j *policy.Job) policy.Verdict {
		if j.Pending <= 0 {
			w.t.Fatalf("job %s is proposed with %d pending", j.ID, j.Pending)
		}
		one := Try{Job: j.Seq, Stage: o.Stage}
		one.Verdict = try(j)
		one.Until = len(w.log.Calls)
		tries = append(tries, one)
		if one.Verdict == policy.Took && !w.used.Fits(w.total) {
			w.t.Fatalf("%v in use of %v", w.used, w.total)
		}
		return one.Verdict
	})
	w.log.Calls[at].Tries = tries
	return took
}

// Why implements [policy.Explainer]: it is not recorded, because it changes nothing.
func (w *watched) Why(now unit.Time, j *policy.Job, to []policy.Reason) []policy.Reason {
	if e, ok := w.Order.(policy.Explainer); ok {
		return e.Why(now, j, to)
	}
	return to
}

// Gauges implements [policy.Gauges]; none is what engines assume of an order without.
func (w *watched) Gauges(to []policy.Gauge) []policy.Gauge {
	if g, ok := w.Order.(policy.Gauges); ok {
		return g.Gauges(to)
	}
	return to
}

// QueueOf implements [policy.Gauges].
func (w *watched) QueueOf(j *policy.Job) string {
	if g, ok := w.Order.(policy.Gauges); ok {
		return g.QueueOf(j)
	}
	return j.Queue
}

// Books are those of watched policies: everything that an engine did, checked while it did it.
type Books []*watched

// Empty checks that nothing is in use and no job is present.
func (b Books) Empty(t rapid.TB) {
	for _, w := range b {
		if !w.used.IsZero() || len(w.present) > 0 {
			t.Fatalf("at the end %v is in use by %d jobs", w.used, len(w.present))
		}
	}
}

// Recordings are what the engines did, by policy made.
func (b Books) Recordings() []*Recording {
	var list []*Recording
	for _, w := range b {
		list = append(list, &w.log)
	}
	return list
}

// Watch makes policies that are watched, and keeps their books. A watched policy works on every engine: it implements what the policy does of
// [policy.Knobs], [policy.Gauges], [policy.Preemptor], [policy.Counter] and [policy.Networked].
func (b *Books) Watch(t rapid.TB, fresh func() (policy.Policy, error)) func() (policy.Policy, error) {
	return func() (policy.Policy, error) {
		p, err := fresh()
		if err != nil {
			return p, err
		}
		w := &watched{
			Order: p.Order, t: t, byNode: p.Required()&policy.NodeOffers != 0, starts: map[string]int64{}, ends: map[string]int64{},
			present: map[int32]*policy.Job{}, wants: map[int32]bool{}, complete: map[int32]bool{}, last: map[int64]View{}, jobs: map[int32]*policy.Job{}, began: map[string]int64{},
		}
		*b = append(*b, w)
		p.Order = w.like(p.Order)
		if p.Timer != nil {
			p.Timer = &recordedTimer{p.Timer, w}
		}
		if shifted := p.Shifted; shifted != nil {
			p.Shifted = func() bool {
				now := shifted()
				w.call(Call{What: "shifted", Answer: fmt.Sprint(now)})
				return now
			}
		}
		answers := &w.log.Answers
		if foresee := p.Foresee; foresee != nil {
			answers.Sizes = map[int64]unit.Time{}
			p.Foresee = func(size func(*policy.Job) unit.Time) {
				foresee(func(j *policy.Job) unit.Time {
					answers.Sizes[j.Seq] = size(j)
					return answers.Sizes[j.Seq]
				})
			}
		}
		if choose := p.Choose; choose != nil {
			p.Choose = func(s policy.Storage) { choose(&asking{s, answers}) }
		}
		if p.Place != nil {
			p.Place = w.placement(p.Place)
		}
		return p, nil
	}
}

// claiming is a watched order that preempts.
type claiming struct{ *watched }

func (c claiming) Victims(now unit.Time, to []policy.Claim) []policy.Claim {
	c.call(Call{What: "victims", Now: now})
	at, n := len(c.log.Calls)-1, len(to)
	to = c.Order.(policy.Preemptor).Victims(now, to)
	c.log.Calls[at].Answer = claimText(to[n:])
	return to
}

// like is the watched order with the optional interfaces of o.
func (w *watched) like(o policy.Order) policy.Order {
	knobs, steerable := o.(policy.Knobs)
	_, preempts := o.(policy.Preemptor)
	switch {
	case steerable && preempts:
		return struct {
			claiming
			policy.Knobs
		}{claiming{w}, knobs}
	case steerable:
		return struct {
			*watched
			policy.Knobs
		}{w, knobs}
	case preempts:
		return claiming{w}
	}
	return w
}

// recordedTimer records a policy's periodic work.
type recordedTimer struct {
	policy.Timer
	w *watched
}

func (r *recordedTimer) Tick(now unit.Time) (unit.Time, bool) {
	r.w.call(Call{What: "tick", Now: now})
	at := len(r.w.log.Calls) - 1
	again, changed := r.Timer.Tick(now)
	r.w.log.Calls[at].Answer = tickText(again, changed)
	return again, changed
}

// recordedPlace records the calls of a placement, which may share state with the order.
type recordedPlace struct {
	policy.Place
	w *watched
}

// networked records the answers of the network.
type networked struct {
	policy.Networked
	answers *Answers
}

func (n networked) Watch(net policy.Network) { n.Networked.Watch(&measuring{net, n.answers}) }

// placement is a watched placement, with the optional interfaces of p.
func (w *watched) placement(p policy.Place) policy.Place {
	recorded := &recordedPlace{p, w}
	c, counts := p.(policy.Counter)
	n, uses := p.(policy.Networked)
	switch {
	case counts && uses:
		return struct {
			*recordedPlace
			policy.Counter
			networked
		}{recorded, c, networked{n, &w.log.Answers}}
	case counts:
		return struct {
			*recordedPlace
			policy.Counter
		}{recorded, c}
	case uses:
		return struct {
			*recordedPlace
			networked
		}{recorded, networked{n, &w.log.Answers}}
	}
	return recorded
}

func (r *recordedPlace) Score(now unit.Time, j *policy.Job, s int, n *policy.Node, near policy.Near) policy.Score {
	score := r.Place.Score(now, j, s, n, near)
	r.w.call(Call{What: "score", Now: now, Job: j.Seq, Stage: s, Node: n, Near: near, Answer: fmt.Sprint(score)})
	return score
}

func (r *recordedPlace) Placed(j *policy.Job, s int, n *policy.Node, near policy.Near) {
	r.w.call(Call{What: "placed", Job: j.Seq, Stage: s, Node: n, Near: near})
	r.Place.Placed(j, s, n, near)
}

func (r *recordedPlace) Unplaced(j *policy.Job, s int, n *policy.Node, near policy.Near) {
	r.w.call(Call{What: "unplaced", Job: j.Seq, Stage: s, Node: n, Near: near})
	r.Place.Unplaced(j, s, n, near)
}

func (r *recordedPlace) Skipped(now unit.Time, j *policy.Job, s int) unit.Time {
	again := r.Place.Skipped(now, j, s)
	r.w.call(Call{What: "skipped", Now: now, Job: j.Seq, Stage: s, Answer: fmt.Sprint(int64(again))})
	return again
}

// Left is recorded as the order's: jobs leave both.
func (r *recordedPlace) Left(now unit.Time, j *policy.Job) {
	r.w.log.Calls = append(r.w.log.Calls, Call{What: "placeleft", Now: now, Job: j.Seq})
	r.Place.Left(now, j)
}
