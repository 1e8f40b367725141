package policytest

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// watched stands between the engine and an order and checks what the engine may and may not do. It also writes down every
// call, so that the calls can be replayed to a fresh copy of the policy.
type watched struct {
	policy.Order
	t       *rapid.T
	total   unit.Resources
	used    unit.Resources
	starts  map[string]int64 // by job/stage
	ends    map[string]int64
	present map[int32]*policy.Job
	wants   map[int32]bool // by the events so far
	log     []call
	answers answers
	sizes   map[int64]unit.Time // that a policy asked for
}

type call struct {
	what  string
	now   unit.Time
	job   policy.Job // as it was at the time of the call
	event policy.Event
	total policy.Cluster
	offer policy.Offer
	tries []verdict
	views []policy.Job // of all jobs present, when Ranked is called
	near  policy.Near  // of a task that was placed
}

type verdict struct {
	seq int64
	v   policy.Verdict
}

func (w *watched) Resized(now unit.Time, c policy.Cluster) {
	w.total = c.Total
	w.log = append(w.log, call{what: "resized", now: now, total: c})
	w.Order.Resized(now, c)
}

// seen is a copy of a view that later events do not change.
func seen(j *policy.Job) policy.Job {
	c := *j
	c.Stages = slices.Clone(j.Stages)
	return c
}

func (w *watched) Arrived(now unit.Time, j *policy.Job) error {
	if j.Pending != 0 || j.Running != 0 {
		w.t.Fatalf("job %s arrives with %d pending, %d running", j.ID, j.Pending, j.Running)
	}
	if w.present[j.Index] != nil {
		w.t.Fatalf("index %d is taken twice", j.Index)
	}
	w.log = append(w.log, call{what: "arrived", now: now, job: seen(j)})
	err := w.Order.Arrived(now, j)
	if err == nil {
		w.present[j.Index], w.wants[j.Index] = j, false
	}
	return err
}

func (w *watched) Changed(now unit.Time, j *policy.Job) {
	w.wants[j.Index] = j.Pending > 0
	w.log = append(w.log, call{what: "changed", now: now, job: seen(j)})
	w.Order.Changed(now, j)
}

// stages checks what a job's stages say of themselves.
func (w *watched) stages(e *policy.Event) {
	var tasks, done int64
	for _, s := range e.Job.Stages {
		if s.Pending < 0 || s.Running < 0 || s.Pending+s.Running+s.Done > s.Tasks || s.Worked < 0 {
			w.t.Fatalf("a stage of job %s: %+v", e.Job.ID, s)
		}
		tasks += s.Tasks
		done += s.Done
	}
	if tasks != e.Job.Tasks || e.Job.Attained(e.Now) < 0 {
		w.t.Fatalf("job %s has %d tasks, its stages %d; %v attained", e.Job.ID, e.Job.Tasks, tasks, e.Job.Attained(e.Now))
	}
}

func (w *watched) Started(e *policy.Event) {
	j := e.Job
	w.stages(e)
	w.wants[j.Index] = j.Pending > 0
	w.starts[fmt.Sprint(j.ID, "/", e.Stage)]++
	w.used = w.used.Add(e.Size)
	if j.Pending < 0 {
		w.t.Fatalf("job %s has %d pending", j.ID, j.Pending)
	}
	w.log = append(w.log, call{what: "started", job: seen(j), event: *e})
	w.Order.Started(e)
}

func (w *watched) Ended(e *policy.Event) {
	j := e.Job
	w.stages(e)
	w.used = w.used.Sub(e.Size)
	if e.Why == policy.Done {
		w.ends[fmt.Sprint(j.ID, "/", e.Stage)]++
	}
	if e.Held < 0 || e.Worked < 0 || e.Worked > e.Held {
		w.t.Fatalf("job %s, stage %d: held for %v, worked for %v", j.ID, e.Stage, e.Held, e.Worked)
	}
	if j.Running < 0 || j.Used.Mem < 0 {
		w.t.Fatalf("job %s has %d running, %v used", j.ID, j.Running, j.Used)
	}
	w.log = append(w.log, call{what: "ended", job: seen(j), event: *e})
	w.Order.Ended(e)
}

func (w *watched) Left(now unit.Time, j *policy.Job) {
	if j.Pending != 0 || j.Running != 0 || !j.Used.IsZero() {
		w.t.Fatalf("job %s leaves with %d pending, %d running, %v used", j.ID, j.Pending, j.Running, j.Used)
	}
	delete(w.present, j.Index)
	w.log = append(w.log, call{what: "left", now: now, job: seen(j)})
	w.Order.Left(now, j)
}

func (w *watched) Ranked(o *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	at := len(w.log)
	var c call
	c.what, c.offer = "ranked", *o
	if o.Node != nil {
		n := *o.Node
		c.offer.Node = &n // as it is now
	}
	for _, j := range w.present {
		if w.wants[j.Index] != (j.Pending > 0) {
			w.t.Fatalf("job %s has %d pending, and no event said so", j.ID, j.Pending)
		}
	}
	c.views = w.views()
	w.log = append(w.log, c) // before what try brings about
	var tries []verdict
	took := w.Order.Ranked(o, func(j *policy.Job) policy.Verdict {
		if j.Pending <= 0 {
			w.t.Fatalf("job %s is proposed with %d pending", j.ID, j.Pending)
		}
		seq := j.Seq
		v := try(j)
		tries = append(tries, verdict{seq, v})
		if v == policy.Took && !w.used.Fits(w.total) {
			w.t.Fatalf("%v in use of %v", w.used, w.total)
		}
		return v
	})
	w.log[at].tries = tries
	return took
}

// Books are those of watched policies: everything that an engine did, checked while it did it.
type Books []*watched

// Empty checks that nothing is in use and no job is present.
func (b Books) Empty(t *rapid.T) {
	for _, w := range b {
		if !w.used.IsZero() || len(w.present) > 0 {
			t.Fatalf("at the end %v is in use by %d jobs", w.used, len(w.present))
		}
	}
}

// Watch makes policies that are watched, and keeps their books.
func (b *Books) Watch(t *rapid.T, fresh func() (policy.Policy, error)) func() (policy.Policy, error) {
	return func() (policy.Policy, error) {
		p, err := fresh()
		if err != nil {
			return p, err
		}
		w := &watched{
			Order: p.Order, t: t, starts: map[string]int64{}, ends: map[string]int64{}, present: map[int32]*policy.Job{}, wants: map[int32]bool{},
		}
		*b = append(*b, w)
		p.Order = w
		if p.Timer != nil {
			p.Timer = &recordedTimer{p.Timer, w}
		}
		if foresee := p.Foresee; foresee != nil {
			w.sizes = map[int64]unit.Time{}
			p.Foresee = func(size func(*policy.Job) unit.Time) {
				foresee(func(j *policy.Job) unit.Time {
					w.sizes[j.Seq] = size(j)
					return w.sizes[j.Seq]
				})
			}
		}
		if choose := p.Choose; choose != nil {
			p.Choose = func(s policy.Storage) { choose(&asking{s, &w.answers}) }
		}
		if p.Place != nil {
			recorded := recordedPlace{p.Place, w}
			if _, counts := p.Place.(policy.Counter); counts {
				p.Place = &recordedCounter{recorded}
			} else {
				p.Place = &recorded
			}
		}
		return p, nil
	}
}

// views are copies of the jobs that are present.
func (w *watched) views() []policy.Job {
	var views []policy.Job
	for _, j := range w.present {
		views = append(views, seen(j))
	}
	return views
}

// recordedTimer records a policy's periodic work.
type recordedTimer struct {
	policy.Timer
	w *watched
}

func (r *recordedTimer) Tick(now unit.Time) (unit.Time, bool) {
	r.w.log = append(r.w.log, call{what: "tick", now: now, views: r.w.views()})
	return r.Timer.Tick(now)
}

// recordedPlace records the events of a placement, which may share state with the order.
type recordedPlace struct {
	policy.Place
	w *watched
}

// recordedCounter is one that counts skipped opportunities.
type recordedCounter struct{ recordedPlace }

// Counts implements [policy.Counter].
func (r *recordedCounter) Counts(slot uint8) bool { return r.Place.(policy.Counter).Counts(slot) }

func (r *recordedPlace) Placed(j *policy.Job, s int, n *policy.Node, near policy.Near) {
	r.w.log = append(r.w.log, call{what: "placed", job: *j, event: policy.Event{Stage: s, Node: n}, near: near})
	r.Place.Placed(j, s, n, near)
}

func (r *recordedPlace) Skipped(now unit.Time, j *policy.Job, s int) unit.Time {
	r.w.log = append(r.w.log, call{what: "skipped", now: now, job: *j, event: policy.Event{Stage: s}})
	return r.Place.Skipped(now, j, s)
}

// answers are the locations of input that an order asked for, in the order of its questions.
type answers struct {
	near  []policy.Near
	local []bool
	racks [][]int32
}

type asking struct {
	policy.Storage
	log *answers
}

func (r *asking) Near(j *policy.Job, s int, n *policy.Node) policy.Near {
	r.log.near = append(r.log.near, r.Storage.Near(j, s, n))
	return r.log.near[len(r.log.near)-1]
}

func (r *asking) Local(j *policy.Job, s int, n *policy.Node) bool {
	local := r.Storage.Local(j, s, n)
	if near := r.Storage.Near(j, s, n); local != (near == policy.NodeLocal) && near != policy.NoPreference {
		panic(fmt.Sprintf("local: %v, and it is %v", local, near))
	}
	r.log.local = append(r.log.local, local)
	return local
}

func (r *asking) Racks(j *policy.Job, s int, task int64, to []int32) []int32 {
	to = r.Storage.Racks(j, s, task, to)
	r.log.racks = append(r.log.racks, slices.Clone(to))
	return to
}

// player gives the recorded answers again.
type player struct{ answers }

func pop[T any](list *[]T) T {
	first := (*list)[0]
	*list = (*list)[1:]
	return first
}

func (p *player) Near(*policy.Job, int, *policy.Node) policy.Near        { return pop(&p.near) }
func (p *player) Local(*policy.Job, int, *policy.Node) bool              { return pop(&p.local) }
func (p *player) Racks(_ *policy.Job, _ int, _ int64, _ []int32) []int32 { return pop(&p.racks) }

// replay passes the events of a log to an order and compares its proposals with those of the log.
type replay struct {
	t     *rapid.T
	order policy.Order
	place policy.Place
	timer policy.Timer
	log   []call
	at    int
	jobs  map[int64]*policy.Job
}

func (r *replay) step() {
	c := r.log[r.at]
	r.at++
	if c.what == "resized" {
		r.order.Resized(c.now, c.total)
		return
	}
	for _, v := range c.views {
		*r.jobs[v.Seq] = v
	}
	if c.what == "tick" {
		r.timer.Tick(c.now)
		return
	}
	if c.what == "ranked" {
		i := 0
		r.order.Ranked(&c.offer, func(j *policy.Job) policy.Verdict {
			if i >= len(c.tries) || c.tries[i].seq != j.Seq {
				r.t.Fatalf("proposal %d is job %s; the log has %v", i, j.ID, c.tries)
			}
			v := c.tries[i].v
			i++
			if v == policy.Took { // the events inside the call, up to and with the start
				for started := false; !started || r.at < len(r.log) && (r.log[r.at].what == "changed" || r.log[r.at].what == "placed"); {
					started = started || r.log[r.at].what == "started"
					r.step()
				}
			}
			return v
		})
		if i != len(c.tries) {
			r.t.Fatalf("%d proposals; the log has %v", i, c.tries)
		}
		return
	}
	j := r.jobs[c.job.Seq]
	if j == nil {
		j = &policy.Job{}
		r.jobs[c.job.Seq] = j
	}
	*j = c.job
	switch c.what {
	case "arrived":
		if err := r.order.Arrived(c.now, j); err != nil {
			delete(r.jobs, c.job.Seq)
		}
	case "changed":
		r.order.Changed(c.now, j)
	case "placed":
		r.place.Placed(j, c.event.Stage, c.event.Node, c.near)
	case "skipped":
		r.place.Skipped(c.now, j, c.event.Stage)
	case "started":
		c.event.Job = j
		r.order.Started(&c.event)
	case "ended":
		c.event.Job = j
		r.order.Ended(&c.event)
	case "left":
		r.order.Left(c.now, j)
		delete(r.jobs, c.job.Seq)
	}
}
