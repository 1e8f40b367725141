package yarn

import (
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/internal/sensors"
	"github.com/yardmaster/yardmaster/unit"
)

// finish ends the run: it emits the last, shorter sample and the records of jobs that did not end.
func (e *engine) finish() {
	e.line.Rest(e.now, e.sampled)
	e.sum.BusyNamed = e.line.BusyNamed(e.now)
	if e.present > 0 {
		e.sum.Present += e.now
	}
	for _, a := range e.byArrival() {
		if a.life != ended {
			e.sum.Unfinished(&a.rec, func() string { return e.whyStuck(a) })
		}
		a.rec.Service = a.attained(e.now)
		e.handOut(a)
	}
	for _, c := range e.slots {
		if c != nil && c.outer == nil {
			e.record(c, -1)
		}
	}
	if e.steering != nil {
		e.sum.Receipts = e.steering.Finish()
	}
	e.sum.Traffic = sim.TrafficOf(e.cfg.Worker)
	e.sum.Report(e.cfg.Progress, e.now, e.next)
}

// sampled emits the interval that ends at an instant.
func (e *engine) sampled(end unit.Time) {
	e.sample.Close(&e.line, end, &e.sum, e.cfg.Sink, func(yield func(*sim.JobRecord, unit.Time) bool) {
		for _, a := range e.byArrival() {
			if !yield(&a.rec, a.attained(end)) {
				return
			}
		}
	})
}

// byArrival lists the applications present in order of arrival.
func (e *engine) byArrival() []*app {
	return sensors.ByArrival(e.apps, func(a *app) int64 { return a.rec.Seq })
}

// attained is the container-time that an application has received.
func (a *app) attained(now unit.Time) unit.Time {
	t := a.rec.Service
	for _, c := range a.conts {
		t += now - c.allocated
	}
	return t
}

// whyStuck guesses, for the user, why a job cannot proceed.
func (e *engine) whyStuck(a *app) string {
	switch {
	case a.life == accepted && a.am == nil:
		return "its AM gets no container (a limit on AMs: maximum-am-resource-percent, maxAMShare; or no node has room for it)"
	case a.gathers:
		return "its tasks start together, and it never holds enough containers at once"
	case a.pending > 0:
		return "the scheduler gives it no container (a limit of its queue or user, or no node has room)"
	}
	return "its AM waits for something that does not come"
}
