package yarn

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

// finish ends the run: it emits the last, shorter sample and the records of jobs that did not end.
func (e *engine) finish() {
	e.line.Rest(e.now, e.sampled)
	if e.present > 0 {
		e.sum.Present += e.now
	}
	var left []*app
	for _, a := range e.apps {
		if a != nil {
			left = append(left, a)
		}
	}
	slices.SortFunc(left, func(a, b *app) int { return cmp.Compare(a.rec.Seq, b.rec.Seq) })
	for _, a := range left {
		if a.life != ended {
			a.rec.Outcome = sim.Unfinished
			if !e.sum.Partial {
				e.sum.Stuck++
				a.rec.Reason = "can never finish: nothing runs any more, and " + e.whyStuck(a)
			}
		}
		for _, c := range a.conts {
			a.rec.Service += e.now - c.allocated
		}
		e.handOut(a)
	}
	for _, c := range e.slots {
		if c != nil {
			e.record(c, -1)
		}
	}
	if e.steering != nil {
		e.sum.Receipts = e.steering.driver.Finish()
	}
	e.report()
}

// sampled emits the interval that ends at an instant.
func (e *engine) sampled(to unit.Time) { e.sample.Close(&e.line, to, &e.sum, e.cfg.Sink) }

// whyStuck guesses, for the user, why a job cannot proceed.
func (e *engine) whyStuck(a *app) string {
	switch {
	case a.life == accepted && a.am == nil:
		return "its AM gets no container (a limit on AMs: maximum-am-resource-percent, maxAMShare; or no node has room for it)"
	case a.pending > 0:
		return "the scheduler gives it no container (a limit of its queue or user, or no node has room)"
	}
	return "its AM waits for something that does not come"
}
