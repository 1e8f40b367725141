// Package sim is the engine in virtual time: one event loop that plays a workload on a cluster and asks a policy at every
// free container.
//
// A run is one goroutine and deterministic: events are taken in the order (time, sequence), every random number is a
// function of the seed and of what it is for, and nothing iterates over a map. Pending tasks are counters and a running
// task is an event, so memory grows with the cluster and with the jobs present, not with the tasks.
//
// What a task does: it takes a container on a node with room, needs Model.StartUp to begin, waits (holding the container)
// until all stages that its stage needs are complete, works for its length, and gives the container back.
//
// How a job asks for containers is its application model. A MapReduce job has Hadoop's AM (package am): reduces ramp up while maps
// still wait, and are killed for maps that hang. Any other stage may take containers when the share of its predecessors' tasks that
// its slow-start names are done and all of them have at least been started; so the tasks that a waiting task waits for are always
// running. (Reduces with slots of their own may start before all maps have. After failures, waiting tasks give way: see
// unblock.) docs/design/0007-one-loop.md and 0013-one-application-model.md say more.
package sim

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/sim/hdfs"
	"github.com/yardmaster/yardmaster/sim/internal/radix"
	"github.com/yardmaster/yardmaster/sim/internal/timeline"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// What an event means. The argument in the lower bits is a task record, a pool, a loss or an action.
const (
	evPlainEnd uint64 = iota << 56
	evTaskEnd
	evTaskFail
	evUp // a master or a kept container has started up
	evArrival
	evBeat
	evLost
	evBack
	evSense
	evSteer
	evAction
	evWake
	evFollow
	evTick
	evSpeculate
	evCall // an AM whose maps may hang looks again
	evAsk  // a job may take what it refused before

	kindMask = uint64(0xff) << 56
)

// engine is the state of one run.
type engine struct {
	cfg Config

	described *cluster.Cluster // as it was given; cfg.Cluster has its nodes in the order of their heartbeats
	model     Model
	now       unit.Time
	q         radix.Queue

	order policy.Order
	place policy.Place // nil: any node with room
	pools []*pool      // one; or one a kind of slot
	jobs  []*job       // by index; nil: free
	spare []int32      // free indices
	old   []*job       // finished job records to use again

	tasks     []task
	freeTask  int32 // head of the list of unused records; -1: none
	gangs     bool  // there are stages whose tasks start together
	careful   bool  // tasks can fail or be killed: each is a record
	unblocked int64 // tasks done, plus one, when waiting tasks last gave way

	line   timeline.Timeline
	sample Sample

	next    *workload.Job // the next arrival, read ahead
	nextSeq int64
	present int64 // jobs admitted and not gone

	phase     []unit.Time      // of the nodes' heartbeats; nil: free room is known at once
	hosts     map[string]int32 // nodes by name and by rack/name, made when a trace names hosts
	files     hdfs.Placement   // of input that no trace lays out; nil: it lies nowhere in particular
	nodeRack  []int32
	rackNodes [][]int32
	lossOf    []int32 // losses that a node is under, by count
	shapes    []unit.Resources

	handed    Task         // the one that is being handed to the worker
	ended     []int32      // tasks that the worker has done at this instant; each ends before any other event
	fitter    Fitter       // nil: every node may get containers
	spec      *speculation // nil: no task gets a copy
	timer     policy.Timer
	preemptor policy.Preemptor // nil: the policy takes nothing away
	shifted   func() bool      // nil: the order changes by events alone
	byNode    bool             // offers name a node
	claims    []policy.Claim
	idle      int             // ticks in a row at which nothing changed and nothing else was going to happen
	looks     int             // events on the queue by which the timer, the steerer or speculation only looks again
	coming    int             // of followers: those that are not submitted yet
	followers []*workload.Job // jobs that came after others, in the order they were named
	taskSink  TaskSink
	taskRec   TaskRecord

	event    policy.Event // the one that the policy is notified of
	alone    *Alone
	steering *steering
	sum      Summary
	err      error
}

func run(ctx context.Context, c Config) (Summary, error) {
	e, err := newEngine(c)
	if err != nil {
		return Summary{}, err
	}
	return e.loop(ctx)
}

func newEngine(c Config) (*engine, error) {
	if err := c.Cluster.Validate(); err != nil {
		return nil, err
	}
	if c.Sink == nil {
		c.Sink = nowhere{}
	}
	e := &engine{cfg: c, described: c.Cluster, model: c.Model, freeTask: -1, alone: c.Alone, line: timeline.New(c.Model.Sample)}
	if e.alone == nil && !e.cfg.NoAlone {
		e.alone = NewAlone(c.Cluster, c.Model, c.Seed)
	}
	if e.model.Lookahead <= 0 {
		e.model.Lookahead = 200
	}
	if e.model.Attempts <= 0 {
		e.model.Attempts = 4
	}
	if e.model.Attempts > math.MaxUint16 {
		return nil, fmt.Errorf("%d attempts of a task: at most %d", e.model.Attempts, math.MaxUint16)
	}
	if a := e.model.Application; a != "" && !slices.Contains(am.Names(), a) {
		return nil, fmt.Errorf("unknown application model %q: want %s", a, strings.Join(am.Names(), " or "))
	}
	d := &c.Delays
	if e.model.StartUp < 0 || e.model.StartUp > unit.Day || min(d.Sense, d.Job, d.Queue, d.Poll, d.Age) < 0 {
		return nil, fmt.Errorf("start-up of %v, delays of %+v: none may be negative, and a start-up is at most a day", e.model.StartUp, *d)
	}
	if e.model.FailTask < 0 || e.model.FailTask >= 1 {
		return nil, fmt.Errorf("the probability that a task fails is %v: it must be at least 0 and less than 1", e.model.FailTask)
	}
	e.careful = e.model.FailTask > 0 || len(e.model.Losses) > 0 || c.Steerer != nil || c.Worker != nil
	if e.taskSink, _ = c.Sink.(TaskSink); e.taskSink != nil {
		e.careful = true
	}
	if err := e.model.Stragglers.validate(); err != nil {
		return nil, err
	}
	if err := e.setSpeculation(); err != nil {
		return nil, err
	}
	p, err := c.NewPolicy()
	if err != nil {
		return nil, err
	}
	e.order, e.place, e.timer, e.byNode, e.shifted, e.sum.NotModelled = p.Order, p.Place, p.Timer, p.ByNode, p.Shifted, p.NotModelled
	if p.Foresee != nil {
		p.Foresee(func(v *policy.Job) unit.Time { return SizeOf(e.jobs[v.Index].src, c.Seed, v.Seq) })
	}
	if e.preemptor, _ = p.Order.(policy.Preemptor); e.preemptor != nil {
		e.careful = true
	}
	if err := e.setBeats(); err != nil {
		return nil, err
	}
	e.pools = append(e.pools, e.newPool(policy.MapSlot))
	if c.Cluster.Slots {
		e.pools = append(e.pools, e.newPool(policy.ReduceSlot))
	}
	e.resized()
	e.layOut(e.cfg.Cluster)
	if err := e.layFiles(c.Cluster); err != nil {
		return nil, err
	}
	if err := e.planLosses(); err != nil {
		return nil, err
	}
	if err := e.bindWorker(); err != nil {
		return nil, err
	}
	if e.timer != nil {
		e.lookAt(0, evTick)
	}
	if c.Steerer != nil {
		var err error
		if e.steering, err = newSteering(e); err != nil {
			return nil, err
		}
	}
	return e, e.readAhead()
}

// readAhead fetches the next job and puts its arrival on the queue.
func (e *engine) readAhead() (err error) {
	if e.next, err = workload.Next(e.cfg.Source, e.now); err == nil && e.next != nil {
		e.q.Push(e.next.Submit, evArrival, 0)
	}
	return err
}

// checkEvery is how many events pass between looks at the outside world.
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
		e.sum.Events++
		if quiet--; quiet == 0 {
			quiet = checkEvery
			e.report()
			if ctx.Err() != nil {
				e.sum.Partial = true
				break
			}
		}
		if ev.At >= e.line.To {
			e.line.Pass(ev.At, e.sampled)
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
			e.lose(int(arg))
		case evBack:
			e.back(int(arg))
		case evSense:
			e.looks--
			e.steering.driver.Sense()
		case evSteer:
			e.looks--
			e.steering.driver.Wake()
		case evAction:
			e.steering.driver.Act(int(arg))
		case evWake:
			e.cfg.Worker.Wake(arg)
		case evFollow:
			e.submitFollower(int(arg))
		case evTick:
			e.tick()
		case evSpeculate:
			e.spec.look()
		case evCall:
			e.called(e.jobs[arg], int64(ev.Start))
		case evAsk:
			e.askAgain(e.jobs[arg], int64(ev.Start))
		}
		if first.due || len(e.pools) > 1 {
			e.dispatch()
		}
		for e.shifted != nil && e.shifted() {
			e.preempt()
			e.lookAgain()
			e.dispatch()
		}
		if e.err != nil {
			return e.sum, e.err
		}
	}
	e.finish()
	return e.sum, e.err
}

// dispatch looks at the pools in which something changed.
func (e *engine) dispatch() {
	for i := 0; i < len(e.pools); i++ {
		if e.pools[i].due {
			e.pools[i].dispatch()
			i = -1 // what it started may have opened a stage in the other pool
		}
	}
}

func (e *engine) report() {
	if e.cfg.Progress == nil {
		return
	}
	p := Progress{Now: e.now, Submitted: e.sum.Submitted, Finished: e.sum.Finished, Tasks: e.sum.Tasks}
	if e.next != nil {
		p.LastSubmission = e.next.Submit
	}
	e.cfg.Progress(p)
}
