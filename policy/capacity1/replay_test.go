package capacity1

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// note is one call of an engine, or one proposal of the policy. It holds copies of what was shown.
type note struct {
	what    string
	job     policy.Job
	stage   int
	event   policy.Event
	cluster policy.Cluster
	near    policy.Near
	node    *policy.Node
	now     unit.Time
	slot    uint8
	verdict policy.Verdict
	yes     bool
	views   []policy.Job
}

// recorder writes down all that the policy is told.
type recorder struct {
	log     []note
	present map[int64]*policy.Job
}

func (r *recorder) add(n note) { r.log = append(r.log, n) }

type recorded struct {
	*recorder
	order    policy.Order
	position policy.Place
}

func (r recorded) Resized(now unit.Time, c policy.Cluster) {
	r.add(note{what: "resized", cluster: c, now: now})
	r.order.Resized(now, c)
}

func (r recorded) Arrived(now unit.Time, j *policy.Job) error {
	r.add(note{what: "arrived", job: *j, now: now})
	err := r.order.Arrived(now, j)
	if err == nil {
		r.present[j.Seq] = j
	}
	return err
}

func (r recorded) Changed(now unit.Time, j *policy.Job) {
	r.add(note{what: "changed", job: *j, now: now})
	r.order.Changed(now, j)
}

func (r recorded) Started(e *policy.Event) {
	r.add(note{what: "started", job: *e.Job, event: *e})
	r.order.Started(e)
}

func (r recorded) Ended(e *policy.Event) {
	r.add(note{what: "ended", job: *e.Job, event: *e})
	r.order.Ended(e)
}

func (r recorded) Left(now unit.Time, j *policy.Job) {
	if r.present[j.Seq] == nil {
		return
	}
	r.add(note{what: "left", job: *j, now: now})
	delete(r.present, j.Seq)
	r.order.Left(now, j)
}

func (r recorded) Ranked(o *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	n := note{what: "ranked", now: o.Now, slot: o.Slot}
	if o.Node != nil {
		c := *o.Node
		n.node = &c
	}
	for _, j := range r.present {
		n.views = append(n.views, *j)
	}
	r.add(n)
	took := r.order.Ranked(o, func(j *policy.Job) policy.Verdict {
		r.add(note{what: "proposed", job: *j})
		v := try(j)
		r.add(note{what: "answered", verdict: v})
		return v
	})
	r.add(note{what: "over", yes: took})
	return took
}

// seat records a place; it is a type of its own because both halves of the seam have a Left.
type seat struct{ recorded }

func (r seat) Score(now unit.Time, j *policy.Job, s int, n *policy.Node, near policy.Near) policy.Score {
	f := r.position.Score(now, j, s, n, near)
	c := *n
	r.add(note{what: "fit", job: *j, stage: s, node: &c, near: near, yes: f >= 0, now: now})
	return f
}

func (r seat) Skipped(now unit.Time, j *policy.Job, s int) unit.Time {
	r.add(note{what: "skipped", job: *j, stage: s, now: now})
	return r.position.Skipped(now, j, s)
}

func (r seat) Counts(uint8) bool { return true }

func (r seat) Placed(j *policy.Job, s int, n *policy.Node, near policy.Near) {
	c := *n
	r.add(note{what: "placed", job: *j, stage: s, node: &c, near: near})
	r.position.Placed(j, s, n, near)
}

func (r seat) Unplaced(j *policy.Job, s int, n *policy.Node, near policy.Near) {
	r.position.Unplaced(j, s, n, near)
}

type clock struct {
	*recorder
	timer policy.Timer
}

func (c clock) Tick(now unit.Time) (unit.Time, bool) {
	c.add(note{what: "tick", now: now})
	return c.timer.Tick(now)
}

func record(c Config) (*recorder, func() (policy.Policy, error)) {
	r := &recorder{present: map[int64]*policy.Job{}}
	return r, func() (policy.Policy, error) {
		p, err := New(c)
		rec := recorded{r, p.Order, p.Place}
		p.Order, p.Place, p.Timer = rec, seat{rec}, clock{r, p.Timer}
		return p, err
	}
}

// replay tells a fresh copy what a book says, and compares what it proposes.
type replay struct {
	t *rapid.T
	policy.Policy
	jobs map[int64]*policy.Job
	log  []note
}

func (r *replay) step() {
	n := r.log[0]
	r.log = r.log[1:]
	p, jobs := &r.Policy, r.jobs
	j := jobs[n.job.Seq]
	if n.what == "arrived" {
		j = &policy.Job{}
		jobs[n.job.Seq] = j
	}
	if n.job.ID != "" {
		*j = n.job
	}
	switch n.what {
	case "resized":
		p.Order.Resized(n.now, n.cluster)
	case "tick":
		r.Timer.Tick(n.now)
	case "arrived":
		_ = p.Order.Arrived(n.now, j)
	case "changed":
		p.Order.Changed(n.now, j)
	case "started", "ended":
		n.event.Job = j
		if n.what == "started" {
			p.Order.Started(&n.event)
		} else {
			p.Order.Ended(&n.event)
		}
	case "left":
		p.Order.Left(n.now, j)
		delete(jobs, n.job.Seq)
	case "fit":
		if got := p.Place.Score(n.now, j, n.stage, n.node, n.near) >= 0; got != n.yes {
			r.t.Fatalf("job %s on %s, %v: fits %v, the book says %v", j.ID, n.node.Name, n.near, got, n.yes)
		}
	case "skipped":
		p.Place.Skipped(n.now, j, n.stage)
	case "placed":
		p.Place.Placed(j, n.stage, n.node, n.near)
	case "ranked":
		for _, v := range n.views {
			*jobs[v.Seq] = v
		}
		r.ranked(p, &policy.Offer{Now: n.now, Slot: n.slot, Node: n.node})
	default:
		r.t.Fatalf("the book has %q for %s where the policy proposes nothing", n.what, n.job.ID)
	}
}

func (r *replay) ranked(p *policy.Policy, o *policy.Offer) {
	took := p.Order.Ranked(o, func(j *policy.Job) policy.Verdict {
		n := r.log[0]
		if n.what != "proposed" || n.job.Seq != j.Seq {
			r.t.Fatalf("job %s is proposed; the book has %s %s", j.ID, n.what, n.job.ID)
		}
		r.log = r.log[1:]
		for r.log[0].what != "answered" {
			r.step()
		}
		v := r.log[0].verdict
		r.log = r.log[1:]
		return v
	})
	if n := r.log[0]; n.what != "over" || n.yes != took {
		r.t.Fatalf("took %v; the book has %s, %v", took, n.what, n.yes)
	}
	r.log = r.log[1:]
}

// Decisions follow from what was told alone: a run's calls, replayed to a fresh copy without an engine, bring the same proposals.
func TestPropertyDecisionsCanBeReplayed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genConfig(t)
		c.AvoidBusyNodes = rapid.Bool().Draw(t, "avoid")
		var jobs workload.Slice
		for i := range rapid.IntRange(1, 10).Draw(t, "jobs") {
			jobs = append(jobs, mapReduce(fmt.Sprint("j", i), rapid.SampledFrom([]string{"ann", "bob", "eve"}).Draw(t, "user"),
				c.Queues[rapid.IntRange(0, len(c.Queues)-1).Draw(t, "queue")].Name, unit.Time(i)*3*unit.Second,
				rapid.Int64Range(1, 15).Draw(t, "maps"), rapid.Int64Range(0, 5).Draw(t, "reduces"), 9*unit.Second, 10*unit.Second))
		}
		book, fresh := record(c)
		_, err := sim.Run(context.Background(), sim.Config{
			Cluster: slots(5, 2, 2, 2), Source: jobs.Source(), Model: sim.Model{Heartbeat: unit.Second, Replicas: 2}, Seed: 1,
			Sink: &ledger{}, NoAlone: true, NewPolicy: fresh,
		})
		if err != nil {
			t.Fatal(err)
		}
		p, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		r := &replay{t: t, Policy: p, jobs: map[int64]*policy.Job{}, log: book.log}
		for len(r.log) > 0 {
			r.step()
		}
	})
}
