package yarn

import (
	"github.com/yardmaster/yardmaster/policy"
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
		e.doneAt(c, c.started+a.length(t))
	default:
		a.held = append(a.held, c)
	}
}

func (e *engine) doneAt(c *cont, instant unit.Time) {
	c.due = instant
	e.horizon = max(e.horizon, instant)
	e.push(instant, firstEnds, evDone|uint64(c.slot), c.serial)
}

// workDone counts a finished task, resumes those that waited for it, and ends the job after the last.
func (e *engine) workDone(a *app, c *cont) {
	c.worked, c.rc.Done, c.ended = true, true, e.now
	c.rc.Worked = a.length(c.task)
	e.taskDone(a, c.task)
	e.endAt(c, e.now+e.timing.ContainerExit)
	if a.complete(c.task.stage) {
		e.release(a)
	}
	if a.left == 0 {
		e.horizon = max(e.horizon, e.now+e.timing.Commit)
		e.push(e.now+e.timing.Commit, thenLives, evOver|uint64(a.rm.Index), a.serial)
	}
}

// release begins the work of tasks that held a container and waited for other stages.
func (e *engine) release(a *app) {
	kept := a.held[:0]
	for _, c := range a.held {
		switch {
		case c.gone || c.killed:
		case a.released(c.task.stage):
			e.doneAt(c, max(e.now, c.started)+a.length(c.task))
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
	return s.done == s.src.Tasks && a.released(i)
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
