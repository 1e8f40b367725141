package sim

import (
	"fmt"

	"github.com/yardmaster/yardmaster/unit"
)

// finish ends the run: it emits the last, shorter sample and the records of jobs that did not end.
func (e *engine) finish() {
	e.line.Rest(e.now, e.sampled)
	e.sum.BusyNamed = e.line.BusyNamed(e.now)
	if e.present > 0 {
		e.sum.Present += e.now
	}
	ams, room := e.amsHold()
	for _, j := range e.byArrival() {
		e.sum.Unfinished(&j.rec, func() string { return e.whyStuck(j, ams, room) })
		e.cfg.Sink.Job(&j.rec)
	}
	if e.steering != nil {
		e.sum.Receipts = e.steering.Finish()
	}
	e.sum.Traffic = TrafficOf(e.cfg.Worker)
	e.sum.Report(e.cfg.Progress, e.now, e.next)
}

// End is for engines: it ends the record of a job that has finished or failed, and counts it.
func (s *Summary) End(r *JobRecord, o Outcome, now unit.Time) {
	if r.Outcome = o; o != Finished {
		s.Failed++
		return
	}
	r.Finish, s.LastFinish = now, now
	s.Finished++
}

// Unfinished is for engines: it ends the record of a job that had not ended when the run did. why says what the job waits for.
func (s *Summary) Unfinished(r *JobRecord, why func() string) {
	r.Outcome = Unfinished
	if !s.Partial {
		s.Stuck++
		r.Reason = "can never finish: nothing runs any more, and " + why()
	}
}

// amsHold returns what AMs hold at the end, and the total.
func (e *engine) amsHold() (held, total unit.Resources) {
	for _, j := range e.jobs {
		if j != nil && j.am >= 0 {
			held = held.Add(j.src.AM)
		}
	}
	for i := range e.pools[0].nodes {
		total = total.Add(e.pools[0].nodes[i].Total)
	}
	return held, total
}

// whyStuck guesses, for the user, why a job cannot proceed.
func (e *engine) whyStuck(j *job, ams, total unit.Resources) string {
	v := &j.view
	for k, p := range e.pools {
		switch {
		case v.Waiting[k] == 0:
			continue
		case 2*ams.Mem > total.Mem:
			return fmt.Sprintf("the AMs of jobs hold %d of %d MiB: limit them (maximum-am-resource-percent, maxAMShare), make them smaller, or add nodes",
				ams.Mem, total.Mem)
		case e.allUnfit():
			return "no node may get a container: their disks hold more than they may"
		case j.together(int(j.front[k])) > 1:
			return fmt.Sprintf("%d containers of %v start together, and there is no room for all of them", j.together(int(j.front[k])), j.asks(int(j.front[k])))
		case p.rooms.find(v.Ask, 0) < 0:
			return fmt.Sprintf("no node has room for a container of %v", v.Ask)
		}
		return fmt.Sprintf("the scheduler gives it none of the free containers of %v (a limit of its queue or user, most likely)", v.Ask)
	}
	return "it waits for tasks that cannot run"
}
