package yarn

import (
	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/driver"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// keptAM runs the tasks of its job inside containers that it keeps, as its driver decides. It calls the ResourceManager as Spark's does: soon after
// the driver wants more or fewer containers, then at longer and longer intervals while some are outstanding.
//
// A task in a kept container is a cont too, with its own slot for events and the worker. Only its outer one is known to the scheduler.
type keptAM struct {
	e       *engine
	d       *driver.Driver
	held    int64 // containers that it has and has not decided to release
	lack    int64 // containers requested and not given, as far as it knows
	changed bool  // lack is sent with the next call
	release []*cont
	conts   []*cont // by their number at the driver
	exits   bool    // the job is over, and may have to commit

	last     unit.Time // call
	next     unit.Time // call; another one that is queued is stale
	interval unit.Time // until the call after the next
	wake     unit.Time // of the driver's queued event; Never: none
}

// Intervals of the calls of Spark's AM: spark.yarn.scheduler.initial-allocation.interval and spark.yarn.scheduler.heartbeat.interval-ms.
const (
	firstInterval = 200 * unit.Millisecond
	lastInterval  = 3 * unit.Second
)

// keptPriority is that of requests for kept containers.
const keptPriority int32 = workload.MaxStages + 1

// Numbers of kept containers that the driver does not have.
const (
	starting int32 = -1
	released int32 = -2
)

func newKeptAM(e *engine, a *app) *keptAM {
	return &keptAM{e: e, d: driver.New(a.src), next: -1, interval: firstInterval, wake: unit.Never}
}

func (m *keptAM) call(a *app) {
	e := m.e
	m.last = e.now
	m.d.Begin(e.now)
	if m.drive(a); a.life != running {
		return
	}
	var asks []rm.Ask
	if m.changed {
		asks = []rm.Ask{{Priority: keptPriority, Place: rm.Anywhere, Count: m.lack, Size: a.src.Keep.Ask}}
		m.changed = false
	}
	release := m.release
	m.release = nil
	got, _, ok := e.allocate(a, asks, release)
	if !ok {
		return
	}
	for _, c := range got {
		if m.lack == 0 {
			m.release = append(m.release, c)
			continue
		}
		m.lack--
		if e.want(a, -1); c.gone {
			continue // it is requested again
		}
		c.task, c.near, c.number = task{stage: policy.KeptStage, num: -1}, policy.NoPreference, starting
		m.held++
		e.launch(c)
		c.started = e.now + e.timing.ContainerStart
		if start := a.src.Keep.Start; start > 0 {
			c.started = e.now + start
		}
		e.beginAt(c, c.started)
	}
	m.drive(a)
}

// pace is when the next call is, after one.
func (m *keptAM) pace() unit.Time {
	e := m.e
	switch {
	case e.timing.AMs == SLSAMs:
		return e.now + e.timing.AMHeartbeat
	case m.lack == 0 && !m.changed:
		m.interval = firstInterval
		return e.now + lastInterval
	}
	in := min(m.interval, lastInterval)
	m.interval = 2 * in
	return e.now + in
}

// drive lets the driver act.
func (m *keptAM) drive(a *app) {
	e := m.e
	if m.d.Step(e.now); a.life != running {
		return
	}
	for t, ok := m.d.Next(e.now); ok; t, ok = m.d.Next(e.now) {
		m.start(a, &t)
		m.d.Step(e.now)
	}
	for _, i := range m.d.Submitted() {
		a.stages[i].submitted = e.now
	}
	if m.d.Over(e.now) {
		if !m.exits {
			m.over(a)
		}
		return
	}
	for x, ok := m.d.Release(e.now); ok; x, ok = m.d.Release(e.now) {
		m.held--
		m.conts[x].number = released
		m.release = append(m.release, m.conts[x])
	}
	if lack := max(m.d.Target()-m.held, 0); lack != m.lack {
		e.want(a, lack-m.lack)
		m.lack, m.changed, m.interval = lack, true, firstInterval
		if soon := max(m.last+firstInterval, e.now); soon < m.next && e.timing.AMs != SLSAMs {
			e.nextTick(a, soon)
		}
	}
	m.wakeAt(a, max(m.d.Wake(), e.now))
}

func (m *keptAM) wakeAt(a *app, at unit.Time) {
	if at < m.wake {
		m.wake = at
		m.e.horizon = max(m.e.horizon, at)
		m.e.push(at, thenLives, evDrive|uint64(a.rm.Index), a.serial)
	}
}

// driven handles the instant that the driver waited for.
func (m *keptAM) driven(a *app) {
	if a.life != running || m.wake != m.e.now {
		return
	}
	m.wake = unit.Never
	m.drive(a)
}

// over ends the job: the containers exit, and the AM unregisters.
func (m *keptAM) over(a *app) {
	e := m.e
	m.exits = true
	for _, o := range a.conts {
		if o.task.stage == policy.KeptStage && !o.killed {
			o.worked, o.rc.End, o.ended = true, policy.Done, e.now
			e.endAt(o, e.now+e.timing.ContainerExit)
		}
	}
	if a.src.Keep.Tail > 0 {
		e.over(a, sim.Finished, "")
		return
	}
	e.commit(a)
}

// up makes the slots of a started container free.
func (m *keptAM) up(a *app, c *cont) {
	c.number = m.d.Up(m.e.now)
	m.conts = append(m.conts, c)
	m.drive(a)
}

func (m *keptAM) start(a *app, t *driver.Task) {
	e, outer := m.e, m.conts[t.In]
	e.serial++
	c := e.conts.New()
	*c = cont{
		rc: &rm.Container{}, app: a, node: outer.node, outer: outer, serial: e.serial, task: task{int32(t.Stage), t.Number},
		started: e.now, ended: -1, end: unit.Never, number: t.In,
	}
	if t.Cold {
		c.warm = a.src.Keep.Warm
	}
	c.slot = e.slotNumbers.Take()
	*dense.At(&e.slots, c.slot) = c
	outer.inner = append(outer.inner, c)
	a.rec.Near[policy.NoPreference]++
	if e.tasks != nil {
		e.tasks.TaskStarted(outer.rc, plainPriority(t.Stage), e.now)
	}
	if e.cfg.Worker != nil {
		e.beginAt(c, e.now)
		return
	}
	e.doneAt(c, e.now+e.works(c))
}

// inner is a task in a kept container as the driver knows it.
func inner(c *cont) *driver.Task {
	return &driver.Task{Stage: int(c.task.stage), Number: c.task.num, In: c.number}
}

func (m *keptAM) worked(a *app, c *cont) { m.ended(a, c, policy.Done) }
func (m *keptAM) failed(a *app, c *cont) { m.ended(a, c, policy.Failed) }

// ended handles the end of a task's attempt, which counts it or makes it wait again.
func (m *keptAM) ended(a *app, c *cont, why policy.End) {
	remove(&c.outer.inner, c)
	m.e.vacate(c)
	m.e.taskEnded(c, why)
	m.d.Ended(m.e.now, inner(c), why == policy.Failed)
	if why == policy.Done {
		m.e.taskDone(a, c.task)
	}
	m.drive(a)
}

// lost handles the loss of a container, which a driver notices at once: its tasks wait for other slots, and what they left there is lost. The AM
// learns of it with its next call, and requests another one.
func (m *keptAM) lost(a *app, c *cont) {
	e := m.e
	for _, x := range c.inner {
		m.d.Killed(e.now, inner(x))
	}
	c.inner = nil
	m.held--
	m.wakeAt(a, e.now)
	if c.number == starting {
		return
	}
	m.d.Lost(e.now, c.number, func(stage int) {
		a.stages[stage].done--
		a.stages[stage].over = false
		a.left++
		e.sum.Tasks--
		if e.tasks != nil {
			e.tasks.TaskRedone(&a.rm, plainPriority(stage))
		}
	})
}

func (*keptAM) priority(*app, int) int32 { return keptPriority }

func (*keptAM) adopt(*app, *cont) {} // see State.validate

// vacate frees the number of a container, or of a task in a kept one.
func (e *engine) vacate(c *cont) {
	e.slots[c.slot] = nil
	e.slotNumbers.Give(c.slot)
}

// loseInner ends the tasks in a kept container that is gone, and notifies its driver.
func (e *engine) loseInner(c *cont) {
	for _, inner := range c.inner {
		e.kill(inner)
		e.stop(inner)
		e.vacate(inner)
		e.taskEnded(inner, c.rc.End)
	}
	if m, keeps := c.app.m.(*keptAM); keeps && c.task.stage == policy.KeptStage && c.app.life == running && !c.worked && c.number != released {
		m.lost(c.app, c)
	}
}

// taskEnded tells those who follow tasks in kept containers that one has ended.
func (e *engine) taskEnded(c *cont, why policy.End) {
	if e.sink != nil {
		e.notify(c, c.outer, e.now, why)
	}
	if e.tasks != nil {
		e.tasks.TaskEnded(c.outer.rc, plainPriority(int(c.task.stage)), c.started, e.now, why)
	}
}
