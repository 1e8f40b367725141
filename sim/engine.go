// Package sim is a discrete-event simulator: one event loop plays a workload on a cluster and consults a policy for every
// free container.
//
// A run is single-threaded and deterministic: events are handled in the order (time, sequence), every random number is a
// function of the seed and its purpose, and nothing iterates over a map. Pending tasks are counters and a running task is an
// event, so memory grows with the cluster and the jobs present, not with the tasks.
//
// A task takes a container on a node with room, needs Model.StartUp to begin, waits (holding the container) until all stages
// that its stage depends on are complete, works for its length, and releases the container.
//
// A job's application model determines how it requests containers. A MapReduce job has Hadoop's AM (package am): reduces ramp up
// while maps still wait, and are killed for maps that hang. Any other stage may take containers once its slow-start share of its
// predecessors' tasks is done and all of them have been started; so the tasks that a waiting task waits for are always running.
// (Reduces with slots of their own may start before all maps have. After failures, waiting tasks give way: see unblock.)
//
// The tasks of a gang start together or not at all, on any nodes that the placement policy accepts. A gang that has lacked room at its turn for a
// minute gets a hold: room on enough nodes is given to nobody else until the gang fits there. There is one hold at a time, in the order of the
// policy's proposals, and it lasts no longer than the longest task on its nodes. (Containers that end only when their job does, and tasks that wait for
// others, are not counted as room to come; a gang that needs their room is not held for.) If a task of a gang fails, is lost or preempted, the others
// go on, and it waits as a task that never ran does: alone, or with the next gang of its stage.
//
// See docs/design/0007-one-loop.md, 0012-dispatch-seam-second-edition.md and 0013-one-application-model.md.
package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/sim/internal/radix"
	"github.com/yardmaster/yardmaster/sim/internal/timeline"
	"github.com/yardmaster/yardmaster/unit"
)

// Event kinds. The argument in the lower bits is a task record, a pool, a node or a step of steering.
const (
	evPlainEnd uint64 = iota << 56
	evTaskEnd
	evTaskFail
	evUp // an AM or a kept container has started up
	evArrival
	evBeat
	evLost
	evBack
	evSteer
	evWake
	evFollow
	evTick
	evSpeculate
	evCall  // the next call of an AM whose maps may hang
	evAsk   // a job may take what it refused before
	evDrive // the driver of a job that keeps its containers acts by itself

	kindMask = uint64(0xff) << 56
)

// engine is the state of one run.
type engine struct {
	cfg Config

	model Model
	now   unit.Time
	ask   unit.Time // when to answer Config.Why
	q     radix.Queue

	layout // cfg.Cluster has its nodes as numbered

	policy    policy.Policy
	order     policy.Order     // of the policy, as the next three
	place     policy.Place     // nil: any node with room
	byNode    bool             // offers name a node
	chooses   bool             // the order chooses among a job's open stages
	preemptor policy.Preemptor // nil: no preemption
	claims    []policy.Claim

	pools []*pool // one; or one per kind of slot

	arrivals
	roster
	present int64 // jobs admitted and not ended

	tasks     []task
	freeTask  int32 // head of the list of unused records; -1: none
	gangs     bool  // some stages' tasks start together
	careful   bool  // tasks can fail or be killed: each is a record
	unblocked int64 // tasks done, plus one, when waiting tasks last gave way

	line   timeline.Timeline
	sample Sample

	lossOf []int32 // by node: losses in effect

	handed   Task         // the one being passed to the worker
	ended    []int32      // tasks the worker finished at this instant; each ends before any other event
	fitter   Fitter       // nil: all nodes may get containers
	spec     *speculation // nil: no speculation
	idle     int          // consecutive ticks without a change or any other pending event
	polls    int          // queued events that only poll: of the timer or speculation
	taskSink TaskSink
	taskRec  TaskRecord

	event    policy.Event // scratch for notifications of the policy
	alone    *Alone
	steering *steering
	sum      Summary
	err      error
}

func newEngine(c Config) (*engine, error) {
	if err := c.Cluster.Validate(); err != nil {
		return nil, err
	}
	if c.Sink == nil {
		c.Sink = nowhere{}
	}
	e := &engine{cfg: c, arrivals: arrivals{source: c.Source}, model: c.Model, freeTask: -1, ask: c.Why.Due(), alone: c.Alone, line: timeline.New(c.Model.Sample)}
	if e.alone == nil && !e.cfg.NoAlone {
		e.alone = NewAlone(c.Cluster, c.Model, c.Seed)
	}
	if e.model.Lookahead <= 0 {
		e.model.Lookahead = 200
	}
	if err := e.model.CheckAttempts(); err != nil {
		return nil, err
	}
	if a := e.model.Application; a != "" && !slices.Contains(am.Names(), a) {
		return nil, fmt.Errorf("unknown application model %q: want %s", a, strings.Join(am.Names(), " or "))
	}
	d := &c.Delays
	if e.model.StartUp < 0 || e.model.StartUp > unit.Day || min(d.Sense, d.Job, d.Queue, d.Poll, d.Age) < 0 {
		return nil, fmt.Errorf("start-up of %v, delays of %+v: none may be negative, and a start-up is at most a day", e.model.StartUp, *d)
	}
	e.taskSink, _ = c.Sink.(TaskSink)
	if err := e.setSpeculation(); err != nil {
		return nil, err
	}
	var err error
	if e.policy, err = c.NewPolicy(); err != nil {
		return nil, err
	}
	p := &e.policy
	if err := p.Check("ideal time", policy.Everything); err != nil {
		return nil, err
	}
	e.order, e.place, e.byNode, e.chooses, e.sum.NotModelled = p.Order, p.Place, p.ByNode, p.Choose != nil, p.NotModelled
	if _, can := c.Worker.(Gatherer); !can {
		p.Gathers = nil
	}
	if p.Foresee != nil {
		p.Foresee(func(v *policy.Job) unit.Time { return SizeOf(e.jobs[v.Index].src, c.Seed, v.Seq) })
	}
	e.preemptor, _ = p.Order.(policy.Preemptor)
	// Under overlap, reduces may take the room of the maps they wait for: see unblock.
	e.careful = e.model.FailTask > 0 || len(e.model.Losses) > 0 || c.Steerer != nil || c.Worker != nil || e.model.Application == am.Overlap ||
		e.taskSink != nil || e.preemptor != nil || e.spec != nil
	if err := e.setBeats(); err != nil {
		return nil, err
	}
	if e.layout, err = newLayout(c.Cluster, &e.model, c.Seed); err != nil {
		return nil, err
	}
	e.cfg.Cluster = e.numbered
	e.pools = append(e.pools, e.newPool(policy.MapSlot))
	if c.Cluster.Slots {
		e.pools = append(e.pools, e.newPool(policy.ReduceSlot))
	}
	e.resized()
	if e.chooses {
		p.Choose(storage{e})
	}
	if err := e.planLosses(); err != nil {
		return nil, err
	}
	if err := e.bindWorker(); err != nil {
		return nil, err
	}
	if p.Timer != nil {
		e.pollAt(0, evTick)
	}
	if c.Steerer != nil {
		if e.steering, err = newSteering(e); err != nil {
			return nil, err
		}
	}
	return e, e.readAhead(0, &e.q)
}

// checkEvery is the number of events between checks for cancellation and reports of progress.
const checkEvery = 1 << 16

func (e *engine) loop(ctx context.Context) (Summary, error) {
	e.sum.FirstSubmit = -1
	quiet, first := checkEvery, e.pools[0]
	for {
		var ev radix.Event
		if len(e.ended) > 0 {
			ev = radix.Event{At: e.now, What: evTaskEnd | uint64(e.ended[0])}
			e.ended = e.ended[:copy(e.ended, e.ended[1:])]
		} else if next, ok := e.q.Pop(); ok {
			ev = next
		} else if e.unblock() {
			e.dispatch()
			continue
		} else {
			break
		}
		if ev.What&kindMask == evDrive && !e.awaits(ev.What&^kindMask, ev) {
			if e.present > 0 {
				e.now = ev.At
			}
			continue // it must not prolong the run
		}
		e.sum.Events++
		if quiet--; quiet == 0 {
			quiet = checkEvery
			e.sum.Report(e.cfg.Progress, e.now, e.next)
			if ctx.Err() != nil {
				e.sum.Partial = true
				break
			}
		}
		if ev.At >= e.line.To {
			e.line.Pass(ev.At, e.sampled)
		}
		if ev.At > e.ask {
			e.explain()
		}
		e.now = ev.At
		arg := ev.What &^ kindMask
		switch ev.What & kindMask {
		case evPlainEnd:
			e.plainEnd(arg, ev.Start)
		case evTaskEnd:
			e.taskEnd(int32(arg), false)
		case evTaskFail:
			e.taskEnd(int32(arg), true)
		case evUp:
			e.up(int32(arg))
		case evArrival:
			e.arrive()
		case evBeat:
			e.pools[arg&1].beat(arg >> 1)
		case evLost:
			e.lose(int32(arg))
		case evBack:
			e.back(int32(arg))
		case evSteer:
			e.steering.Step(arg)
		case evWake:
			e.cfg.Worker.Wake(arg)
		case evFollow:
			e.submit(e.follower(int(arg)))
		case evTick:
			e.tick()
		case evSpeculate:
			e.spec.scan()
		case evCall:
			e.called(e.jobs[arg], int64(ev.Start))
		case evAsk:
			e.askAgain(e.jobs[arg], int64(ev.Start))
		case evDrive:
			e.jobs[arg].kept.wake = unit.Never
			e.drive(e.jobs[arg])
		}
		if first.due || len(e.pools) > 1 {
			e.dispatch()
		}
		for e.policy.Shifted != nil && e.policy.Shifted() {
			e.preempt()
			e.offerAgain()
			e.dispatch()
		}
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

// dispatch offers the pools in which something changed.
func (e *engine) dispatch() {
	for i := 0; i < len(e.pools); i++ {
		if e.pools[i].due {
			e.pools[i].dispatch()
			i = -1 // its starts may have opened a stage in the other pool
		}
	}
}

// pollAt queues an event that only polls.
func (e *engine) pollAt(at unit.Time, what uint64) {
	e.polls++
	e.q.Push(at, what, 0)
}

// ahead reports whether events other than polls are queued; polls must not keep each other going.
func (e *engine) ahead() bool {
	polls := e.polls
	if e.steering != nil {
		polls += e.steering.Polls
	}
	return e.q.Len() > polls
}

// offerAgain makes every pool offer its nodes again.
func (e *engine) offerAgain() {
	for _, p := range e.pools {
		p.changed()
		p.due = true
	}
}

// tick runs the policy's periodic step. If no other event is pending and it changes nothing many times in a row, it never will.
func (e *engine) tick() {
	e.polls--
	again, changed := e.policy.Timer.Tick(e.now)
	changed = e.preempt() || changed
	if e.idle++; changed || e.ahead() {
		e.idle = 0
	}
	if changed {
		e.offerAgain()
	}
	if again <= e.now || again == unit.Never || e.idle >= maxIdleRounds {
		return
	}
	if e.present > 0 || e.ahead() {
		e.pollAt(again, evTick)
	}
}
