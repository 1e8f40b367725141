package yarn

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

// work starts a task in a container whose process notifies its AM at once when it is done (as MapReduce, Tez and Spark do).
// It begins after the container's start, waits until all stages that it needs are complete, and works for its length.
func (e *engine) work(a *app, c *cont, t task, near policy.Near) {
	c.task, c.near = t, near
	a.rec.Near[near]++
	e.want(a, -1)
	e.launch(c)
	c.started = e.now + e.timing.ContainerStart
	switch {
	case e.cfg.Worker != nil:
		e.beginAt(c, c.started)
	case a.released(t.stage):
		e.doneAt(c, c.started+e.works(c))
	default:
		a.held = append(a.held, c)
	}
}

// length is how long the attempt of a task in a container works on its node.
func (e *engine) length(c *cont) unit.Time {
	length, _ := e.straggle(c)
	return e.speeds.Length(c.app.rates, c.node.rm.Index, length) + c.warm
}

// straggle is the length of the attempt at speed 1, and its slowdown factor.
func (e *engine) straggle(c *cont) (unit.Time, float64) {
	s := &c.app.stages[c.task.stage]
	return e.model.Straggle(s.src.Length.Draw(c.task.num, s.seed), e.cfg.Seed, c.app.rec.Seq, int(c.task.stage), c.key())
}

// key identifies the attempt: the task's failures count, other ends of its containers do not.
func (c *cont) key() uint64 { return sim.AttemptKey(c.task.num, c.app.failures[c.task]) }

// works is how long the attempt works until it is done, or fails.
func (e *engine) works(c *cont) unit.Time {
	length := e.length(c)
	if share, fails := e.model.FailsAt(e.cfg.Seed, c.app.rec.Seq, int(c.task.stage), c.key()); fails {
		c.fails, length = true, unit.Time(share*float64(length))
	}
	return length
}

// fail ends an attempt that fails. Its AM requests the task again when it learns of the container's end, unless the task has failed too often.
func (e *engine) fail(c *cont) {
	a := c.app
	e.kill(c)
	c.rc.End, c.ended = policy.Failed, e.now
	e.progress = e.now
	if a.failures == nil {
		a.failures = map[task]uint16{}
	}
	if a.failures[c.task]++; int(a.failures[c.task]) >= e.model.Attempts {
		e.over(a, sim.Failed, e.model.TooOften(int(c.task.stage)))
	}
}

func (e *engine) doneAt(c *cont, instant unit.Time) {
	c.due = instant
	e.horizon = max(e.horizon, instant)
	e.push(instant, firstEnds, evDone|uint64(c.slot), c.serial)
}

// workDone counts a finished task, resumes those that waited for it, and ends the job after the last.
func (e *engine) workDone(a *app, c *cont) {
	c.worked, c.rc.End, c.ended = true, policy.Done, e.now
	c.rc.Worked = e.length(c)
	e.taskDone(a, c.task)
	e.endAt(c, e.now+e.timing.ContainerExit)
	if a.complete(c.task.stage) {
		e.release(a)
	}
	if a.left == 0 {
		e.commit(a)
	}
}

// commit ends a job whose tasks are done, a little later.
func (e *engine) commit(a *app) {
	e.horizon = max(e.horizon, e.now+e.timing.Commit)
	e.push(e.now+e.timing.Commit, thenLives, evOver|uint64(a.rm.Index), a.serial)
}

// release begins the work of tasks that held a container and waited for other stages.
func (e *engine) release(a *app) {
	kept := a.held[:0]
	for _, c := range a.held {
		switch {
		case c.gone || c.killed:
		case a.released(c.task.stage):
			e.doneAt(c, max(e.now, c.started)+e.works(c))
		default:
			kept = append(kept, c)
		}
	}
	clear(a.held[len(kept):])
	a.held = kept
}

// complete reports whether a stage and all that it needs are done.
func (a *app) complete(i int32) bool {
	s := &a.stages[i]
	s.over = s.over || s.done == s.src.Tasks && a.released(i)
	return s.over
}

// released reports whether all that a stage needs is done.
func (a *app) released(i int32) bool {
	for _, e := range a.stages[i].src.After {
		if !a.complete(int32(e.From)) {
			return false
		}
	}
	return true
}
