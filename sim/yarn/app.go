package yarn

import (
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/hdfs"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// life is the state of an application.
type life uint8

const (
	submitted life = iota // the scheduler does not know it yet
	accepted              // it waits for its AM, or the AM starts
	running               // the AM calls
	ended                 // the AM has unregistered; its container is still there
)

// app is an application.
type app struct {
	rm     rm.App
	src    *workload.Job
	queue  int32
	life   life
	serial int64 // of this attempt
	am     *cont // nil: none, or not yet allocated
	m      model
	stages []stage
	left   int64 // tasks not done
	conts  []*cont
	rec    sim.JobRecord

	// The response to its next call: containers allocated, and those whose end is known.
	got, exited []*cont
	held        []*cont        // whose tasks wait for other stages
	logged      int64          // remaining calls in the script
	pending     int64          // tasks that wait for a container
	booked      unit.Resources // by released containers, times milliseconds
	running     unit.Resources // by the others, at counted
	counted     unit.Time      // 0: not since a container was released
	tags        string         // see sensors.Tags
	rates       []float64      // see sim.Speeds
	failures    map[task]uint16
	gathers     bool // a gang: what it is given, and gives back, is no progress
}

// stage is an application's state of one of its stages.
type stage struct {
	src   *workload.Stage
	seed  uint64
	done  int64
	first int64       // tasks before it ran or were done when the run started: see State
	hosts []hostPlace // by name in src.Hosts, or of all nodes; nil: input lies nowhere in particular

	files    *hdfs.Files // nil: the workload names hosts, or none
	file     hdfs.Blocks
	buf      []int32 // scratch of row
	released bool    // as reported to the worker
	over     bool    // it is known to be complete

	submitted unit.Time // by the driver of a job that keeps its containers
}

// model is an AM: it decides what an application requests.
type model interface {
	// call is one call to the ResourceManager.
	call(a *app)
	// worked is called when a task reports that its work is done.
	worked(a *app, c *cont)
	// priority is that of a stage's requests.
	priority(a *app, stage int) int32
	// adopt takes over a container whose task runs when the run starts.
	adopt(a *app, c *cont)
}

func (e *engine) arrive() {
	a := e.submit(e.next)
	if a.logged = e.script.calls[a.rec.Seq]; !e.script.waitsFor(a.rec.Seq) {
		e.push(e.now+e.timing.SubmitToAdded, thenLives, evAdded|uint64(a.rm.Index), a.serial)
	}
	if err := e.readAhead(); err != nil {
		e.err = err
	}
}

// submit counts an application in.
func (e *engine) submit(src *workload.Job) *app {
	if e.sum.FirstSubmit < 0 {
		e.sum.FirstSubmit = src.Submit
	}
	e.sum.Submitted++
	e.progress = e.now
	a := e.newApp(src)
	e.present++
	e.line.Queues[a.queue].Waiting++
	if e.present == 1 {
		e.sum.Present -= e.now
		e.wake()
	}
	return a
}

func (e *engine) newApp(src *workload.Job) *app {
	a := &app{src: src, rec: sim.JobRecord{Job: src, Seq: e.nextSeq, Start: -1, Finish: -1, Gang: -1}}
	e.nextSeq++
	a.rm.Index = e.indices.Take()
	*dense.At(&e.apps, a.rm.Index) = a
	e.serial++
	a.serial = e.serial
	a.queue = e.line.Index(src.Queue)
	a.rm.Seq, a.rm.ID, a.rm.User, a.rm.Queue, a.rm.Class = a.rec.Seq, src.ID, src.User, e.line.Queues[a.queue].Name, src.Class
	a.rm.Priority, a.rm.Submitted, a.rm.AM, a.rm.Deadline = src.Priority, src.Submit, src.AM, src.Deadline
	for i := range src.Stages {
		a.left += src.Stages[i].Tasks
		a.rm.Input += src.Stages[i].Input
		s := stage{src: &src.Stages[i], seed: sim.StageSeed(e.cfg.Seed, a.rec.Seq, i)}
		if s.src.Hosts != nil {
			s.hosts = e.places.hosts(s.src.Hosts)
		} else if e.files.Places(s.src) {
			s.hosts, s.files, s.file = e.places.all(), e.files, e.files.File(s.src, a.rec.Seq, i)
		}
		a.stages = append(a.stages, s)
	}
	a.rm.Tasks = a.left
	a.rates = e.speeds.Rates(src, nil)
	return a
}

// alive returns the application at an index, if it is still the one that an event was meant for.
func (e *engine) alive(index uint64, serial int64) *app {
	if a := e.apps[index]; a != nil && a.serial == serial {
		return a
	}
	return nil
}

// added adds an application to the scheduler, as of an instant. fresh: it requests its AM's container, or its unmanaged AM starts.
func (e *engine) added(a *app, instant unit.Time, fresh bool) {
	a.life = accepted
	e.progress = e.now
	if err := e.newAM(a); err != nil {
		e.refuse(a, err)
		return
	}
	if err := e.sched.Added(&a.rm, instant); err != nil {
		e.refuse(a, err)
		return
	}
	e.workerArrived(a)
	if !fresh {
		return
	}
	if a.rm.AM.IsZero() {
		e.push(e.now+e.timing.UnmanagedStart, thenLives, evUp|uint64(a.rm.Index), a.serial)
		return
	}
	ask := [1]rm.Ask{{Priority: rm.AMPriority, Place: rm.Anywhere, Count: 1, Size: a.rm.AM}}
	if err := e.sched.Asked(&a.rm, ask[:], nil, e.now); err != nil {
		e.sched.Removed(&a.rm, e.now)
		e.workerLeft(a)
		e.refuse(a, fmt.Errorf("its AM asks for %v: %w", a.rm.AM, err))
		return
	}
	e.want(a, 1)
}

// want adds to the number of tasks (or AMs) of an application that wait for a container.
func (e *engine) want(a *app, n int64) {
	a.pending += n
	e.line.Queues[a.queue].Pending += n
}

// refuse drops an application that the scheduler refused.
func (e *engine) refuse(a *app, why error) {
	a.rec.Outcome, a.rec.Reason = sim.Refused, why.Error()
	e.sum.Refused++
	e.gone(a)
}

func (e *engine) amAllocated(a *app, c *cont) {
	e.want(a, -1)
	a.am = c
	c.task = task{stage: policy.AMStage, num: -1}
	c.near = policy.NoPreference
	c.acquired, c.rc.Acquired = e.now, true
	e.launch(c)
	start := e.timing.AMStart
	if a.src.AMStart > 0 && e.timing.AMs != SLSAMs {
		start = a.src.AMStart
	}
	c.started = e.now + start
	e.horizon = max(e.horizon, c.started)
	if start == 0 { // before anything else happens
		e.registered(a)
		return
	}
	e.push(c.started, thenLives, evUp|uint64(a.rm.Index), a.serial)
}

// registered begins an application's calls. Those of SLS's AMs lie on a grid that starts at the job's submission.
func (e *engine) registered(a *app) {
	if a.life != accepted {
		return
	}
	a.life = running
	e.progress = e.now
	if a.logged > 0 {
		return
	}
	next := e.now + e.timing.AMHeartbeat
	switch {
	case a.am == nil: // it has no need to wait
		next = e.now
	case e.timing.AMs == SLSAMs:
		next = onGrid(a.src.Submit, e.timing.AMHeartbeat, e.now+1)
	}
	e.nextTick(a, next)
}

func (e *engine) nextTick(a *app, at unit.Time) {
	if m, keeps := a.m.(*keptAM); keeps {
		if m.next == at {
			return
		}
		m.next = at
	}
	e.push(at, thenCalls, evTick|uint64(a.rm.Index), a.serial)
}

// tick is one call of an AM. again: the next one is an interval away.
func (e *engine) tick(a *app, again bool) {
	if a.life != running {
		return
	}
	m, keeps := a.m.(*keptAM)
	if keeps && again && m.next != e.now {
		return // another call took its place
	}
	serial := a.serial
	a.m.call(a)
	if again && a.life == running && a.serial == serial {
		if next := e.now + e.timing.AMHeartbeat; !keeps {
			e.nextTick(a, next)
		} else if next = m.pace(); m.next <= e.now || next < m.next {
			e.nextTick(a, next)
		}
	}
}

// allocate sends an application's requests and releases to the scheduler, and returns what was allocated and what has ended
// since its last call. ok is false if the scheduler refused the request, and the application with it.
func (e *engine) allocate(a *app, asks []rm.Ask, release []*cont) (got, exited []*cont, ok bool) {
	e.giveBack = e.giveBack[:0]
	release = slices.DeleteFunc(release, func(c *cont) bool { return c.gone }) // killed, and the AM does not know yet
	for _, c := range release {
		e.giveBack = append(e.giveBack, c.rc)
	}
	if err := e.sched.Asked(&a.rm, asks, e.giveBack, e.now); err != nil {
		e.over(a, sim.Failed, err.Error())
		return nil, nil, false
	}
	if (len(asks) > 0 || len(release) > 0) && !a.gathers {
		e.progress = e.now
	}
	for _, c := range release {
		e.giveUp(c)
	}
	got, exited = a.got, a.exited
	a.got, a.exited = nil, nil
	for _, c := range got {
		c.acquired, c.rc.Acquired = e.now, true
		if c.gone { // lost with its node: the next response says so
			a.exited = append(a.exited, c)
		}
	}
	return got, exited, true
}

// taskDone counts a task.
func (e *engine) taskDone(a *app, t task) {
	a.stages[t.stage].done++
	a.left--
	e.sum.Tasks++
	e.progress = e.now
	if e.cfg.Worker != nil && a.complete(t.stage) {
		e.unlock(a)
	}
}
