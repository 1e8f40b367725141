// Package yarn plays a workload on a YARN cluster in virtual time: nodes that report at intervals of their own, masters that
// call the ResourceManager at theirs, containers that take time to start and to go away. What is given to whom is decided by
// a policy/rm.Scheduler and by nobody else.
//
// It is the slow and exact sister of package sim, with the same results (sim.Sink): sim asks who is next at every free
// container; here nothing happens until a node or a master speaks, as on a real cluster.
//
// # What happens at a node's report
//
//	the node tells which containers have started since its last report and which have ended:    Scheduler.Ended
//	it is handed the orders to kill that have come up since:                                    they end KillDelay later
//	the scheduler serves the node:                                                              Scheduler.Beat
//	applications whose master's end was told leave; one that takes their place waits for a later report:  Scheduler.Removed
//
// # Order of events
//
// Events are taken in the order of (instant, class, sequence). At one instant: ends of work and of processes; arrivals; what
// happens to applications (added, registered, over); calls of masters; the scheduler's rounds; reports of nodes; looks and changes
// of a steering policy. So a call does not see what a report at the same instant brings, and a report serves the requests that a
// call at the same instant made. What an event causes at its own instant comes after it. Instants of a Script have the class of calls and keep their own order.
//
// A run is one goroutine; every random number is a function of the seed and of what it is for; nothing iterates over a map.
package yarn

import (
	"context"
	"errors"
	"fmt"

	"github.com/yardmaster/yardmaster/internal/slab"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/internal/radix"
	"github.com/yardmaster/yardmaster/sim/internal/timeline"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// What an event means. The argument in the lower bits is a container's slot, an application's index or a node; the event's third
// word is a serial number, so that an event whose object is gone, or was overtaken, is told from a live one.
const (
	evDone   uint64 = iota << 56 // a task's work has ended, and its master hears of it from the task
	evEnd                        // a container's process has ended on its node
	evArrive                     // a client submits
	evAdded                      // the scheduler hears of an application
	evUp                         // a master has registered
	evOver                       // a job has committed: its master unregisters
	evTick
	evScript
	evRound
	evBeat
	evSense  // a steering policy's sensors are read
	evSteer  // it is shown what they read
	evAction // what it did takes effect

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
	thenLooks

	classBits = 3
)

// engine is the state of one run.
type engine struct {
	cfg    Config
	timing Timing
	sched  rm.Scheduler
	now    unit.Time
	key    unit.Time // of the event at hand: instant and class
	q      radix.Queue

	nodes  []node
	places places
	apps   []*app // by index; nil: free
	spare  []int32

	conts     slab.Slab[cont]
	slots     []*cont // containers whose room is not free yet
	freeSlots []int32
	serial    int64 // of containers and of events that may be overtaken

	leaving []*app // whose master's end was told in this report
	script  script
	round   roundState

	line   timeline.Timeline
	sample sim.Sample

	next     *workload.Job // the next arrival, read ahead
	nextSeq  int64
	present  int64     // applications submitted and not gone
	live     int64     // containers whose room is not free yet
	progress unit.Time // when something last went on
	horizon  unit.Time // latest end of work that is known
	restless bool      // play idle times too: for tests
	alone    *sim.Alone
	steering *steering // nil: nobody steers
	sum      sim.Summary
	err      error

	wishes   wishes // scratch
	giveBack []*rm.Container
}

func run(ctx context.Context, c Config) (sim.Summary, error) {
	e, err := newEngine(c)
	if err != nil {
		return sim.Summary{}, err
	}
	return e.loop(ctx)
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
	e := &engine{cfg: c, timing: c.Timing, alone: c.Alone, line: timeline.New(c.Sample), places: newPlaces(c.Cluster)}
	if e.alone == nil && !c.NoAlone {
		e.alone = sim.NewAlone(c.Cluster, sim.Model{}, c.Seed)
	}
	var err error
	if e.sched, err = c.NewScheduler(); err != nil {
		return nil, err
	}
	e.sum.NotModelled = e.sched.NotModelled()
	if f, ok := e.sched.(rm.Foreseer); ok {
		f.Foresee(func(a *rm.App) unit.Time { return sim.SizeOf(e.apps[a.Index].src, c.Seed, a.Seq) })
	}
	e.layOut()
	e.round.every = e.sched.Every()
	e.round.asleep = true
	if err := e.startScript(); err != nil {
		return nil, err
	}
	if err := e.steer(); err != nil {
		return nil, err
	}
	return e, e.readAhead()
}

// readAhead fetches the next job and puts its arrival on the queue.
func (e *engine) readAhead() (err error) {
	if e.next, err = workload.Next(e.cfg.Source, e.now); err == nil && e.next != nil {
		e.push(e.next.Submit, thenArrivals, evArrive, 0)
	}
	return err
}

// push puts an event on the queue. One that belongs to a class that has passed at this instant comes next.
func (e *engine) push(at unit.Time, class unit.Time, what uint64, serial int64) {
	e.q.Push(max(at<<classBits|class, e.key), what, unit.Time(serial))
}

// checkEvery is how many events pass between looks at the outside world.
const checkEvery = 1 << 14

func (e *engine) loop(ctx context.Context) (sim.Summary, error) {
	e.sum.FirstSubmit = -1
	quiet := checkEvery
	for !e.stuck() {
		ev, ok := e.q.Pop()
		if !ok {
			break
		}
		e.sum.Events++
		if quiet--; quiet == 0 {
			quiet = checkEvery
			e.report()
			if ctx.Err() != nil {
				e.sum.Partial = true
				break
			}
		}
		at := ev.At >> classBits
		if at >= e.line.To {
			e.line.Pass(at, e.sampled)
		}
		e.now, e.key = at, ev.At
		e.take(ev.What&kindMask, ev.What&^kindMask, int64(ev.Start))
		if e.err != nil {
			return e.sum, e.err
		}
	}
	e.finish()
	return e.sum, e.err
}

func (e *engine) take(kind, arg uint64, serial int64) {
	switch kind {
	case evDone:
		if c := e.slots[arg]; c != nil && c.serial == serial && !c.gone && !c.killed {
			c.app.m.worked(c.app, c)
		}
	case evEnd:
		if c := e.slots[arg]; c != nil && c.serial == serial {
			e.outOfBand(c.node)
		}
	case evArrive:
		e.arrive()
	case evAdded:
		if a := e.alive(arg, serial); a != nil && a.life == submitted {
			e.added(a)
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
	case evScript:
		e.scripted()
	case evRound:
		e.rounds()
	case evBeat:
		if n := &e.nodes[arg]; n.serial == serial {
			e.beat(n, true)
		}
	default:
		e.steering.take(kind, arg)
	}
}

// patience is how long nodes may report in vain, with nothing running and nothing to come, until a run is given up. Every delay that a
// scheduler or a master knows is far shorter.
const patience = unit.Hour

func (e *engine) stuck() bool {
	return e.present > 0 && e.next == nil && e.now > max(e.progress, e.horizon)+patience
}

func (e *engine) report() {
	if e.cfg.Progress == nil {
		return
	}
	p := sim.Progress{Now: e.now, Submitted: e.sum.Submitted, Finished: e.sum.Finished, Tasks: e.sum.Tasks}
	if e.next != nil {
		p.LastSubmission = e.next.Submit
	}
	e.cfg.Progress(p)
}
