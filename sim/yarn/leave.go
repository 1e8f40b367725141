package yarn

import "github.com/yardmaster/yardmaster/sim"

// over ends a job: its AM unregisters and exits after Timing.Linger.
func (e *engine) over(a *app, o sim.Outcome, why string) {
	if a.life == ended {
		return
	}
	a.life = ended
	e.progress = e.now
	a.rec.Reason = why
	e.sum.End(&a.rec, o, e.now)
	if e.steering != nil {
		a.counted = 0 // the sum of a job that has ended is exact
		e.steering.JobEnded(a.src, e.sched.Leaf(&a.rm), o == sim.Finished, e.steering.service(a))
	}
	e.want(a, -a.pending)
	if a.am == nil {
		e.remove(a)
		return
	}
	a.am.ended = e.now
	linger := e.timing.Linger // of MapReduce's AM
	if a.src.Keep != nil {
		linger = e.timing.ContainerExit
	}
	e.endAt(a.am, e.now+linger)
}

// remove removes an application, with what it still holds.
func (e *engine) remove(a *app) {
	e.detach(a)
	e.gone(a)
}

// detach ends an attempt.
func (e *engine) detach(a *app) {
	e.sched.Removed(&a.rm, e.now)
	for len(a.conts) > 0 {
		e.giveUp(a.conts[len(a.conts)-1])
	}
	a.got, a.exited, a.held, a.am = nil, nil, nil, nil
	e.workerLeft(a)
}

// gone emits an application's record and drops it.
func (e *engine) gone(a *app) {
	q := &e.line.Queues[a.queue]
	if a.rec.Start < 0 {
		q.Waiting--
	} else {
		q.Running--
	}
	e.handOut(a)
	if e.present--; e.present == 0 {
		e.sum.Present += e.now
	}
	e.apps[a.rm.Index] = nil
	e.indices.Give(a.rm.Index)
}

// handOut passes a job's record to the sink.
func (e *engine) handOut(a *app) {
	if a.rec.Outcome == sim.Finished {
		if a.rec.Start < 0 { // it had no task to wait for
			a.rec.Start = a.rec.Finish
		}
		a.rec.Size = sim.SizeOf(a.src, e.cfg.Seed, a.rec.Seq)
		if !e.cfg.NoAlone {
			a.rec.Alone = e.alone.Of(a.src, a.rec.Seq)
		}
	}
	e.cfg.Sink.Job(&a.rec)
}

// amLost begins a new attempt of an application whose AM was killed. The work of its tasks is lost: a MapReduce AM's recovery
// from the history of the previous one is not modelled.
func (e *engine) amLost(a *app) {
	if a.life == ended { // its work was done: it just ends a little earlier
		e.remove(a)
		return
	}
	e.want(a, -a.pending)
	e.detach(a)
	for i := range a.stages {
		a.left += a.stages[i].done
		e.sum.Tasks -= a.stages[i].done
		a.stages[i].done, a.stages[i].first, a.stages[i].over = 0, 0, false
	}
	a.life, a.failures, a.gathers = submitted, nil, false
	e.serial++
	a.serial = e.serial
	e.push(e.now+e.timing.SubmitToAdded, thenLives, evAdded|uint64(a.rm.Index), a.serial)
}
