package yarn

import (
	"slices"

	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// keptAM runs the tasks of its job inside containers that it keeps, as a Spark driver with a fixed number of executors does. It requests them
// with its first call, and lost or preempted ones again. Tasks start in their slots at once, in the order of the stages, each when all that it
// needs is done. The containers exit with the last task.
//
// A task in a kept container is a cont too, with its own slot for events and the worker. Only its outer one is known to the scheduler.
type keptAM struct {
	e       *engine
	asked   bool
	changed bool  // its request is sent with the next call
	lack    int64 // containers requested, or to be
	waiting []pile
	low     int     // no task of an earlier stage waits
	free    []*cont // by free slot: its container, which is up or gone
	surplus []*cont
}

// keptPriority is that of requests for kept containers.
const keptPriority int32 = workload.MaxStages + 1

func newKeptAM(e *engine, a *app) *keptAM {
	m := &keptAM{e: e}
	for i := range a.stages {
		m.waiting = append(m.waiting, newPile(a, []int32{int32(i)}))
	}
	return m
}

func (m *keptAM) call(a *app) {
	e, keep := m.e, a.src.Keep
	if a.src.Tasks() == 0 {
		e.over(a, sim.Finished, "")
		return
	}
	if !m.asked {
		m.asked, m.changed = true, true
		m.lack = max(0, min(keep.Max, max(1, (a.left+keep.Slots-1)/keep.Slots))-m.held(a))
		e.want(a, m.lack)
	}
	var asks []rm.Ask
	if m.changed {
		asks = []rm.Ask{{Priority: keptPriority, Place: rm.Anywhere, Count: m.lack, Size: keep.Ask}}
		m.changed = false
	}
	release := m.surplus
	m.surplus = nil
	got, exited, ok := e.allocate(a, asks, release)
	if !ok {
		return
	}
	for _, c := range exited {
		m.ended(a, c)
	}
	for _, c := range got {
		if m.lack == 0 {
			m.surplus = append(m.surplus, c)
			continue
		}
		m.lack--
		e.want(a, -1)
		m.keep(c)
		e.launch(c)
		c.started = e.now + e.timing.ContainerStart
		e.beginAt(c, c.started)
	}
}

func (*keptAM) keep(c *cont) {
	c.task, c.near = task{stage: policy.KeptStage, num: -1}, policy.NoPreference
}

// held is the number of containers that the job keeps.
func (*keptAM) held(a *app) (n int64) {
	for _, c := range a.conts {
		if c.task.stage == policy.KeptStage {
			n++
		}
	}
	return n
}

// up makes the slots of a started container free.
func (m *keptAM) up(a *app, c *cont) {
	for range a.src.Keep.Slots {
		m.free = append(m.free, c)
	}
	m.fill(a)
}

// fill starts tasks in free slots.
func (m *keptAM) fill(a *app) {
	for m.low < len(m.waiting) && m.waiting[m.low].n == 0 {
		m.low++
	}
	for i := m.low; i < len(m.waiting) && len(m.free) > 0; i++ {
		for p := &m.waiting[i]; p.n > 0 && len(m.free) > 0 && a.released(int32(i)); {
			outer := m.free[len(m.free)-1]
			if m.free = m.free[:len(m.free)-1]; !outer.gone {
				m.start(a, outer, p.take())
			}
		}
	}
}

func (m *keptAM) start(a *app, outer *cont, t task) {
	e := m.e
	e.serial++
	c := e.conts.New()
	*c = cont{rc: &rm.Container{}, app: a, node: outer.node, outer: outer, serial: e.serial, task: t, started: e.now, ended: -1, end: unit.Never}
	c.slot = e.slotNumbers.Take()
	*dense.At(&e.slots, c.slot) = c
	outer.inner = append(outer.inner, c)
	a.rec.Near[policy.NoPreference]++
	if e.tasks != nil {
		e.tasks.TaskStarted(outer.rc, plainPriority(int(t.stage)), e.now)
	}
	if e.cfg.Worker != nil {
		e.beginAt(c, e.now)
		return
	}
	e.doneAt(c, e.now+e.works(c))
}

// worked counts a finished task and uses its slot for another; after the last one, the containers exit.
func (m *keptAM) worked(a *app, c *cont) {
	e := m.e
	m.vacate(c)
	e.taskEnded(c, policy.Done)
	e.taskDone(a, c.task)
	if a.left > 0 {
		m.fill(a)
		return
	}
	for _, o := range a.conts {
		if o.task.stage == policy.KeptStage && !o.killed {
			o.worked, o.rc.End, o.ended = true, policy.Done, e.now
			e.endAt(o, e.now+e.timing.ContainerExit)
		}
	}
	e.commit(a)
}

// failed makes a failed task wait again.
func (m *keptAM) failed(a *app, c *cont) {
	m.vacate(c)
	m.e.taskEnded(c, policy.Failed)
	m.again(c.task)
	m.fill(a)
}

func (m *keptAM) vacate(c *cont) {
	remove(&c.outer.inner, c)
	m.e.vacate(c)
	m.free = append(m.free, c.outer)
}

func (m *keptAM) again(t task) {
	m.waiting[t.stage].put(t)
	m.low = min(m.low, int(t.stage))
}

// ended handles the end of a container: it is requested again, and its tasks wait for other slots.
func (m *keptAM) ended(a *app, c *cont) {
	if c.task.stage != policy.KeptStage || c.worked {
		return
	}
	m.free = slices.DeleteFunc(m.free, func(x *cont) bool { return x == c })
	for _, inner := range c.inner {
		m.again(inner.task)
	}
	c.inner = nil
	m.lack++
	m.changed = true
	m.e.want(a, 1)
	m.fill(a)
}

func (*keptAM) priority(*app, int) int32 { return keptPriority }

// adopt keeps a container; the task in it starts again.
func (m *keptAM) adopt(_ *app, c *cont) {
	m.again(c.task)
	m.keep(c)
	m.e.beginAt(c, max(m.e.now, c.started))
}

// vacate frees the number of a task in a kept container.
func (e *engine) vacate(c *cont) {
	e.slots[c.slot] = nil
	e.slotNumbers.Give(c.slot)
}

// loseInner ends the tasks in a kept container that is gone. Its AM does not know yet.
func (e *engine) loseInner(c *cont) {
	for _, inner := range c.inner {
		e.kill(inner)
		e.stop(inner)
		e.vacate(inner)
		e.taskEnded(inner, c.rc.End)
	}
}

// taskEnded tells the scheduler, if it follows tasks in kept containers, that one has ended.
func (e *engine) taskEnded(c *cont, why policy.End) {
	if e.tasks != nil {
		e.tasks.TaskEnded(c.outer.rc, plainPriority(int(c.task.stage)), c.started, e.now, why)
	}
}
