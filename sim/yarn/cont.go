package yarn

import (
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

// cont is one container, from its allocation until its room on the node is free.
//
// It is released twice: from the queue (gone) and from the node (freed). A container that its node has reported as running
// and that is killed or released is gone at once and freed when the node reports its end; otherwise both coincide.
type cont struct {
	rc     *rm.Container
	app    *app
	node   *node
	slot   int32
	serial int64
	index  int // in app.conts

	task     task
	near     policy.Near
	size     unit.Resources
	priority int32

	allocated unit.Time

	acquired, started, ended unit.Time
	due                      unit.Time // end of its task's work, if its process exits later; 0: unknown
	end                      unit.Time // of its process; Never: unknown
	onNode                   bool      // its process was started
	worked                   bool      // its task's work is done
	fails                    bool      // its task will fail, or has failed
	handed                   bool      // the worker plays its task
	gone, killed             bool
	lost                     bool      // with its node
	outer                    *cont     // of a task in a kept container
	inner                    []*cont   // of a kept container: the tasks in it
	number                   int32     // the kept container's, at its driver; of a task in one likewise; -1: not up yet
	warm                     unit.Time // by how much its task takes longer in a fresh slot
}

// task is one task of a job.
type task struct {
	stage int32 // NoStage: none
	num   int64
}

var noTask = task{stage: NoStage, num: -1}

// allocated handles a container allocated by the scheduler.
func (e *engine) allocated(rc *rm.Container) {
	c := e.newCont(rc, e.now)
	a := c.app
	if !a.gathers {
		e.progress = e.now
	}
	e.sum.Decisions++
	if rc.AM {
		e.amAllocated(a, c)
		return
	}
	a.got = append(a.got, c)
}

// launch starts a process in a container.
func (e *engine) launch(c *cont) {
	c.started = e.now
	if c.gone { // its AM does not know yet
		return
	}
	c.onNode = true
	c.node.running = append(c.node.running, c)
	c.node.fresh = append(c.node.fresh, c)
}

// reported handles a node's report that a container has ended.
func (e *engine) reported(c *cont) {
	e.progress = e.now
	if c.fails && !c.killed && !c.gone { // an AM of SLS
		e.fail(c)
	}
	if !c.killed {
		if c.rc.End = policy.Done; c.task.stage >= 0 {
			c.rc.Worked = e.length(c)
		}
	}
	e.sched.Ended(c.rc, e.now)
	a := c.app
	if !c.gone {
		e.leave(c)
		if c == a.am {
			e.leaving = append(e.leaving, a)
		} else {
			a.exited = append(a.exited, c)
		}
	}
	e.freed(c)
}

// giveUp handles a container that the scheduler took back: killed, released, or left by an application that has ended.
func (e *engine) giveUp(c *cont) {
	e.stop(c)
	if c.ended < 0 {
		c.ended = e.now
	}
	e.leave(c)
	switch {
	case !c.rc.Launched:
		if c.onNode {
			remove(&c.node.running, c)
			remove(&c.node.fresh, c)
		}
		e.freed(c)
	case c.end > e.now:
		c.node.orders = append(c.node.orders, c)
	}
}

// leave removes a container from its application and its queue.
func (e *engine) leave(c *cont) {
	c.gone = true
	a := c.app
	e.loseInner(c)
	last := len(a.conts) - 1
	a.conts[last].index = c.index
	a.conts[c.index] = a.conts[last]
	a.conts[last] = nil
	a.conts = a.conts[:last]
	e.line.Queues[a.queue].Yield(e.now-e.line.From, c.size.Mem)
	e.line.Named(-1, c.size.Extra, e.now)
	a.rec.Service += e.now - c.allocated
	if c.task.stage == policy.KeptStage {
		a.rec.Kept += e.now - c.allocated
	}
	a.booked, a.counted = a.booked.Add(c.service(e.now)), 0
}

// freed ends a container: its room on the node is free.
func (e *engine) freed(c *cont) {
	e.live--
	e.vacate(c)
	e.record(c, e.now)
}

func (e *engine) record(c *cont, freed unit.Time) {
	if c.ended < 0 && c.end <= e.now {
		c.ended = c.end
	}
	if e.sink != nil && freed >= 0 {
		e.notify(c, nil, c.ended, c.rc.End)
	}
	if e.cfg.Containers == nil {
		return
	}
	e.cfg.Containers(&ContainerRecord{
		Job: c.app.src, Seq: c.app.rec.Seq, Stage: int(c.task.stage), Task: c.task.num, Node: c.node.rm.Index, Near: c.near,
		Allocated: c.allocated, Acquired: c.acquired, Started: c.started, Ended: c.ended, Freed: freed, Killed: c.killed,
		Priority: c.priority, Size: c.size,
	})
}

// notify passes the record of a container to the sink, or of a task in an outer one.
func (e *engine) notify(c, outer *cont, end unit.Time, why policy.End) {
	r := sim.TaskRecord{
		Job: c.app.src, Seq: c.app.rec.Seq, Stage: int(c.task.stage), Number: c.task.num, Node: e.cfg.Cluster.Nodes[c.node.rm.Index].Name, Near: c.near,
		Start: c.allocated, End: end, Why: why, Kept: -1, Up: -1, Submitted: -1,
	}
	switch {
	case c.killed && why == policy.Done:
		r.Why = policy.Taken
	case c.number == released && !c.killed:
		r.Why = policy.Done
	}
	switch up := c.started >= 0 && c.started <= end; {
	case outer != nil:
		r.Start, r.Kept, r.Submitted = c.started, outer.serial, c.app.stages[c.task.stage].submitted
	case c.task.stage == policy.KeptStage:
		if r.Kept = c.serial; up {
			r.Up = c.started
		}
	case c.task.stage == policy.AMStage && up:
		r.Up = c.started
	}
	e.sink.Task(&r)
}

// kill counts a container as killed, unless its task is done and only its process remains.
func (e *engine) kill(c *cont) {
	if !c.worked && !c.killed {
		c.killed = true
		c.app.rec.Lost++
		e.sum.Lost++
	}
}

// abort kills a container for its AM.
func (e *engine) abort(c *cont) {
	e.kill(c)
	e.stop(c)
	c.ended = e.now
	e.endAt(c, e.now+e.timing.KillDelay)
}

// taken handles what the scheduler killed in a round.
func (e *engine) taken(killed []*rm.Container) {
	for _, rc := range killed {
		a := e.apps[rc.App.Index]
		if a == nil { // its AM was killed just before
			continue
		}
		i := slices.IndexFunc(a.conts, func(c *cont) bool { return c.rc == rc })
		if i < 0 {
			continue
		}
		c := a.conts[i]
		e.progress = e.now
		e.kill(c)
		e.cfg.Why.Claimed(e.now, rc.Claim, 1)
		if c == a.am {
			e.amLost(a)
			continue
		}
		if !remove(&a.got, c) || c.acquired >= 0 {
			a.exited = append(a.exited, c)
		}
		e.giveUp(c)
	}
}

// remove removes an element from a list and keeps the order of the others.
func remove[T comparable](list *[]T, x T) bool {
	i := slices.Index(*list, x)
	if i < 0 {
		return false
	}
	*list = slices.Delete(*list, i, i+1)
	return true
}
