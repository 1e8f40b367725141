// Package yarn plays a workload on a YARN cluster in virtual time: nodes and AMs that call the ResourceManager at their own
// heartbeat intervals, containers that take time to start and to exit. All allocations are made by a policy/rm.Scheduler.
//
// It is the slow and detailed counterpart of package sim, with the same results (sim.Sink): sim consults the policy for every
// free container; here nothing happens until a node or an AM calls, as on a real cluster. A task works for its length, or does what a
// sim.Worker plays, from the start of its container on.
//
// # What happens at a node's report
//
//	the node reports which containers have started since its last report and which have ended:  Scheduler.Ended
//	it receives the pending kill orders:                                                        they end KillDelay later
//	the scheduler serves the node:                                                              Scheduler.Beat
//	applications whose AM has ended leave; one that takes their place waits for a later report: Scheduler.Removed
//
// # Order of events
//
// Events are handled in the order (instant, class, sequence). At one instant: ends of work and of processes; arrivals; state
// changes of applications (added, registered, over); calls of AMs; the scheduler's rounds; reports of nodes; samples and writes
// of a steering policy. So a call does not see what a report at the same instant brings, and a report serves the requests that a
// call at the same instant made. What an event causes at its own instant comes after it. Instants of a Script have the class of calls and keep their own order.
//
// A run is single-threaded; every random number is a function of the seed and its purpose; nothing iterates over a map.
package yarn

import (
	"context"
	"errors"
	"fmt"

	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/internal/slab"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/hdfs"
	"github.com/yardmaster/yardmaster/sim/internal/radix"
	"github.com/yardmaster/yardmaster/sim/internal/timeline"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Event kinds. The argument in the lower bits is a container's slot, an application's index or a node; the event's third word is a
// serial number, which distinguishes live events from those that are superseded or whose object is gone.
const (
	evDone   uint64 = iota << 56 // a task's work has ended, and the task notifies its AM
	evBegin                      // a task begins, and the worker plays it
	evWake                       // the worker requested it
	evEnd                        // a container's process has ended on its node
	evArrive                     // a client submits
	evAdded                      // an application is added to the scheduler
	evUp                         // an AM has registered
	evOver                       // a job has committed: its AM unregisters
	evTick
	evDrive // a driver's own instant
	evScript
	evRound
	evBeat
	evSteer // a step of a steering policy's driver
	evLost  // a node is lost; this kind and the next come last, see loop
	evBack  // it returns

	kindMask = uint64(0xff) << 56
)

// Classes of events at one instant, first to last.
const (
	firstEnds = iota
	thenArrivals
	thenLives
	thenCalls
	thenRounds
	thenBeats
	thenSteering

	classBits = 3
)

// engine is the state of one run.
type engine struct {
	cfg    Config
	timing Timing
	sched  rm.Scheduler
	tasks  rm.TaskWatcher // nil: the scheduler does not follow tasks in kept containers
	sink   sim.TaskSink   // nil: Config.Sink wants no records of containers
	now    unit.Time
	ask    unit.Time // when to answer Config.Why
	key    unit.Time // of the current event: instant and class
	q      radix.Queue

	nodes   []node
	places  places
	apps    []*app        // by index; nil: free
	indices dense.Numbers // of applications

	conts       slab.Slab[cont]
	slots       []*cont // containers whose room is not free yet
	slotNumbers dense.Numbers
	serial      int64 // of containers and of events that may be superseded

	speeds *sim.Speeds // nil: all machines are equally fast
	model  sim.Model   // what happens to attempts of tasks
	files  *hdfs.Files // input that the workload does not locate; nil: it has no location
	handed sim.Task    // the one being passed to the worker
	ended  []*cont     // whose tasks the worker finished in this event

	leaving []*app // whose AM's end was in this report
	script  script
	round   roundState

	line   timeline.Timeline
	sample sim.Sample

	next     *workload.Job // the next arrival, read ahead
	nextSeq  int64
	present  int64     // applications submitted and not ended
	live     int64     // containers whose room is not free yet
	progress unit.Time // when something last changed
	horizon  unit.Time // latest known end of work
	restless bool      // simulate idle periods too: for tests
	alone    *sim.Alone
	steering *steering // nil: no steering
	sum      sim.Summary
	err      error

	wishes    wishes // scratch
	holderBuf []int32
	giveBack  []*rm.Container
}

func newEngine(c Config) (*engine, error) {
	if err := c.Cluster.Validate(); err != nil {
		return nil, err
	}
	if c.Cluster.Slots {
		return nil, errors.New("a YARN cluster has no fixed slots: give its nodes memory and cores")
	}
	if err := c.Timing.Validate(); err != nil {
		return nil, err
	}
	if c.Phases != nil && len(c.Phases) != len(c.Cluster.Nodes) {
		return nil, fmt.Errorf("%d phases of heartbeats for %d nodes", len(c.Phases), len(c.Cluster.Nodes))
	}
	e := &engine{cfg: c, timing: c.Timing, ask: c.Why.Due(), alone: c.Alone, line: timeline.New(c.Sample), places: newPlaces(c.Cluster)}
	if e.alone == nil && !c.NoAlone {
		e.alone = sim.NewAlone(c.Cluster, sim.Model{}, c.Seed)
	}
	e.speeds, e.model = sim.NewSpeeds(c.Cluster), sim.Model{FailTask: c.FailTask, Attempts: c.Attempts, Stragglers: c.Stragglers}
	err := e.model.CheckAttempts()
	if err != nil {
		return nil, err
	}
	if e.sched, err = c.NewScheduler(); err != nil {
		return nil, err
	}
	e.tasks, _ = e.sched.(rm.TaskWatcher)
	e.sink, _ = c.Sink.(sim.TaskSink)
	e.sum.FirstSubmit = -1
	e.sum.NotModelled = e.sched.NotModelled()
	if f, ok := e.sched.(rm.Foreseer); ok {
		f.Foresee(func(a *rm.App) unit.Time { return sim.SizeOf(e.apps[a.Index].src, c.Seed, a.Seq) })
	}
	if e.files, err = hdfs.NewFiles(c.Cluster, nil, c.Replicas, c.Placement, c.Seed); err != nil {
		return nil, err
	}
	e.layOut()
	if err := e.planLosses(); err != nil {
		return nil, err
	}
	if err := e.bindWorker(); err != nil {
		return nil, err
	}
	e.round.every = e.sched.Every()
	e.round.asleep = true
	if err := e.startScript(); err != nil {
		return nil, err
	}
	if err := e.steer(); err != nil {
		return nil, err
	}
	if err := e.begin(); err != nil {
		return nil, err
	}
	return e, e.readAhead()
}

// readAhead reads the next job and queues its arrival.
func (e *engine) readAhead() (err error) {
	if e.next, err = workload.Next(e.cfg.Source, e.now); err == nil && e.next != nil {
		e.push(e.next.Submit, thenArrivals, evArrive, 0)
	}
	return err
}

// push queues an event. If its class has already passed at this instant, it comes next.
func (e *engine) push(at unit.Time, class unit.Time, what uint64, serial int64) {
	e.q.Push(max(at<<classBits|class, e.key), what, unit.Time(serial))
}

// reportEvery and checkEvery are the numbers of events between reports of progress and checks for cancellation: a prediction stops a simulation after a few
// thousand events.
const (
	reportEvery = 1 << 14
	checkEvery  = 1 << 9
)

func (e *engine) loop(ctx context.Context) (sim.Summary, error) {
	quiet := reportEvery
	for !e.stuck() {
		ev, ok := e.q.Pop()
		if !ok {
			break
		}
		if ev.What >= evLost && e.next == nil && e.present == 0 && e.live == 0 {
			continue // the run is over
		}
		e.sum.Events++
		if quiet--; quiet == 0 {
			quiet = reportEvery
			e.sum.Report(e.cfg.Progress, e.now, e.next)
		}
		if quiet%checkEvery == 0 && ctx.Err() != nil {
			e.sum.Partial = true
			break
		}
		now := ev.At >> classBits
		if now >= e.line.To {
			e.line.Pass(now, e.sampled)
		}
		if now > e.ask {
			e.explain()
		}
		e.now, e.key = now, ev.At
		e.take(ev.What&kindMask, ev.What&^kindMask, int64(ev.Start))
		for next := 0; next < len(e.ended); { // it may grow
			c := e.ended[next]
			next++
			c.app.m.worked(c.app, c)
		}
		e.ended = e.ended[:0]
		if e.err != nil {
			return e.sum, e.err
		}
	}
	if e.ask != unit.Never {
		e.explain()
	}
	e.finish()
	return e.sum, e.err
}

func (e *engine) take(kind, arg uint64, serial int64) {
	switch kind {
	case evDone:
		if c := e.slots[arg]; c == nil || c.serial != serial || c.gone || c.killed {
		} else if m, keeps := c.app.m.(*keptAM); c.fails && keeps {
			if e.fail(c); c.app.life == running {
				m.failed(c.app, c)
			}
		} else if c.fails {
			e.endAt(c, e.now+e.timing.ContainerExit)
			e.fail(c)
		} else {
			c.app.m.worked(c.app, c)
		}
	case evBegin:
		if c := e.slots[arg]; c == nil || c.serial != serial || c.gone || c.killed || c.worked {
		} else if m, keeps := c.app.m.(*keptAM); keeps && c.outer == nil {
			m.up(c.app, c)
		} else {
			e.hand(c)
		}
	case evWake:
		e.cfg.Worker.Wake(arg)
	case evEnd:
		if c := e.slots[arg]; c != nil && c.serial == serial {
			e.outOfBand(c.node)
		}
	case evArrive:
		e.arrive()
	case evAdded:
		if a := e.alive(arg, serial); a != nil && a.life == submitted {
			e.added(a, e.now, true)
		}
	case evUp:
		if a := e.alive(arg, serial); a != nil {
			e.registered(a)
		}
	case evOver:
		if a := e.alive(arg, serial); a != nil {
			e.over(a, sim.Finished, "")
		}
	case evTick:
		if a := e.alive(arg, serial); a != nil {
			e.tick(a, true)
		}
	case evDrive:
		if a := e.alive(arg, serial); a != nil {
			a.m.(*keptAM).driven(a)
		}
	case evScript:
		e.scripted()
	case evRound:
		e.rounds()
	case evBeat:
		if n := &e.nodes[arg]; n.serial == serial {
			e.beat(n, true)
		}
	case evLost:
		e.lose(&e.nodes[arg], unit.Time(serial))
	case evBack:
		e.back(&e.nodes[arg])
	case evSteer:
		e.steering.Step(arg)
	}
}

// stuckAfter is how long a run may continue without progress, with nothing running and nothing to arrive, before it ends as stuck. All
// delays of schedulers and AMs are far shorter.
const stuckAfter = unit.Hour

func (e *engine) stuck() bool {
	return e.present > 0 && e.next == nil && e.now > max(e.progress, e.horizon)+stuckAfter
}
