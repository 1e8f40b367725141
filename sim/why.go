package sim

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// Why is a question to a run: what holds a job back at an instant, after all that happens then? The run fills in the answer; it is the same run with and without
// the question. As a sink it records what becomes of the job.
type Why struct {
	ID string // of the job
	At unit.Time

	Record  JobRecord // of the job, in the end; its Job is nil: there is none
	Present bool      // it has arrived by then, and has not ended
	Running int64     // containers that it holds
	Pending int64     // those that it waits for
	Reasons []policy.Reason
	// Containers preempted by then: of the job, by whom they make room for ("": nobody in particular), and of others for the job.
	Lost  map[string]int64
	Taken int64
}

// Claimed is for engines: it notes that n containers were preempted by a claim.
func (w *Why) Claimed(now unit.Time, c *policy.Claim, n int64) {
	if w == nil || c == nil || now > w.At || n == 0 {
		return
	}
	by := c.Queue
	if by != "" {
		by = "queue " + by
	}
	if c.For != nil {
		if by = c.For.ID; by == w.ID {
			w.Taken += n
		}
	}
	if c.Job.ID == w.ID {
		if w.Lost == nil {
			w.Lost = map[string]int64{}
		}
		w.Lost[by] += n
	}
}

// Due is when to ask. An engine asks before the first event after it.
func (w *Why) Due() unit.Time {
	if w == nil {
		return unit.Never
	}
	return w.At
}

// Sample is ignored.
func (w *Why) Sample(*Sample) {}

// Job records the end of the job.
func (w *Why) Job(r *JobRecord) {
	if r.Job.ID == w.ID && w.Record.Job == nil {
		job := *r.Job
		w.Record = *r
		w.Record.Job = &job
	}
}

// explain answers the question.
func (e *engine) explain() {
	w := e.cfg.Why
	e.ask = unit.Never
	for _, j := range e.jobs {
		if j == nil || j.src.ID != w.ID {
			continue
		}
		v := &j.view
		if w.Present, w.Running, w.Pending = true, v.Running, v.Pending; v.Pending > 0 {
			w.Reasons = e.whyPending(j)
		}
		return
	}
}

func (e *engine) whyPending(j *job) []policy.Reason {
	v, k := &j.view, policy.MapSlot
	if v.Waiting[k] == 0 {
		k = policy.ReduceSlot
	}
	p, s := e.pools[k], v.Front
	if e.cfg.Cluster.Slots {
		s = int(j.front[k])
	}
	nodes := func(yield func(*policy.Node, policy.Near) bool) {
		for i := range p.nodes {
			n, how := &p.nodes[i], policy.NoPreference
			if e.unfit(n.Index) {
				continue
			}
			if s >= 0 && j.stages[s].near != nil && j.stages[s].Open() > 0 {
				how, _ = j.stages[s].near.Best(n.Index, n.Rack)
			}
			if view := *n; p.holder(n.Index) != nil {
				view.Free, n = p.hold.room[n.Index], &view
			}
			if !yield(n, how) {
				return
			}
		}
	}
	whole := policy.Policy{Order: e.order, Place: e.place}
	why := whole.Why(e.cfg.Why.At, v, policy.Ask{Stage: s, Size: j.asks(s), Together: j.together(s), Held: p.holder}, nodes, nil)
	for i := range why {
		if r := &why[i]; e.cfg.Cluster.Slots && r.Limit == policy.NodeRoom { // in slots, a size says nothing
			r.Size, r.Max = unit.Resources{}, unit.Resources{}
		}
	}
	return why
}
