// Package sim is the engine in virtual time: one event loop that plays a workload on a cluster and asks a policy at every
// free container.
//
// A run is one goroutine and deterministic: events are taken in the order (time, sequence), every random number is a
// function of the seed and of what it is for, and nothing iterates over a map. Pending tasks are counters and a running
// task is an event, so memory grows with the cluster and with the jobs present, not with the tasks.
//
// What a task does: it takes a container on a node with room, needs Model.StartUp to begin, waits (holding the container)
// until all stages that its stage needs are complete, works for its length, and gives the container back. A stage may take
// containers when the share of its predecessors' tasks that its slow-start names are done and all of them have at least
// been started; so the tasks that a waiting task waits for are always running, and no mix of slow-starts can hang a
// cluster. (Reduces with slots of their own may start before all maps have. After failures, waiting tasks give way: see
// unblock.) docs/design/0007-one-loop.md says more.
package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
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

	kindMask = uint64(0xff) << 56
)

// engine is the state of one run.
type engine struct {
	cfg   Config
	model Model
	now   unit.Time
	q     queue

	pools []*pool // one; or one a kind of slot
	jobs  []*job  // by index; nil: free
	spare []int32 // free indices
	old   []*job  // finished job records to use again

	tasks     []task
	freeTask  int32 // head of the list of unused records; -1: none
	careful   bool  // tasks can fail or be killed: each is a record
	unblocked int64 // tasks done, plus one, when waiting tasks last gave way

	queues  []queueState
	queueOf map[string]int32
	samples sampler

	next    *workload.Job // the next arrival, read ahead
	nextSeq int64
	present int64 // jobs admitted and not gone

	phase     []unit.Time      // of the nodes' heartbeats; nil: free room is known at once
	hosts     map[string]int32 // nodes by name and by rack/name, made when a trace names hosts
	nodeRack  []int32
	rackNodes [][]int32
	lossOf    []int32 // losses that a node is under, by count
	shapes    []unit.Resources

	alone    *Alone
	steering *steering
	sum      Summary
	err      error
}

// pool is a set of containers of one kind with the policy that hands them out.
type pool struct {
	id      uint64
	e       *engine
	order   policy.Order
	place   policy.Place
	nodes   []policy.Node
	rooms   *rooms
	cursor  int32            // where the next search for a node starts: work is spread round
	waiting int64            // jobs that want a container here
	asks    asks             // of the jobs that wait
	failed  []unit.Resources // asks that found no node in the present look at the pool
	offer   policy.Offer
	refused int // jobs refused during the present offer
	onNode  func(*policy.Job) policy.Verdict
	anyNode func(*policy.Job) policy.Verdict
	beats   *beats
	empty   bool // it has no container at all
	due     bool // something changed that makes a look at the whole pool worth while
}

// task is the record of a container that is held: a master, a kept container, a task that waits for other stages or runs
// in a kept container; and, in a run in which tasks can fail or be killed, every running task.
type task struct {
	job     int32
	node    int32
	stage   int16 // or policy.MasterStage, policy.KeptStage
	attempt uint16
	flags   uint8
	next    int32 // in a list of waiting tasks, or of unused records
	in      int32 // the kept container that it runs in
	number  int64 // of the task in its stage
	start   unit.Time
}

const (
	taskDead  uint8 = 1 << iota // killed; its record is used again when its event comes up
	taskInner                   // runs inside a kept container: holds no room of its own
	taskWaits                   // holds its container and waits for other stages; it has no event yet
	taskUp                      // a master or kept container that has started up: it has no event any more
	taskUnset                   // record is not in use
)

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
	e := &engine{cfg: c, model: c.Model, freeTask: -1, alone: c.Alone, queueOf: map[string]int32{}}
	if e.alone == nil {
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
	if e.model.StartUp < 0 || e.model.StartUp > unit.Day || c.Delays.Sense < 0 || c.Delays.Job < 0 || c.Delays.Queue < 0 {
		return nil, fmt.Errorf("start-up of %v, delays of %+v: none may be negative, and a start-up is at most a day", e.model.StartUp, c.Delays)
	}
	if e.model.FailTask < 0 || e.model.FailTask >= 1 {
		return nil, fmt.Errorf("the probability that a task fails is %v: it must be at least 0 and less than 1", e.model.FailTask)
	}
	e.careful = e.model.FailTask > 0 || len(e.model.Losses) > 0 || c.Steerer != nil
	kinds := 1
	if c.Cluster.Slots {
		kinds = 2
	}
	for k := range kinds {
		p, err := c.NewPolicy()
		if err != nil {
			return nil, err
		}
		if k == 0 {
			e.sum.NotModelled = p.NotModelled
			if err := e.setBeats(p.Place != nil); err != nil {
				return nil, err
			}
		}
		e.pools = append(e.pools, e.newPool(k, p))
	}
	e.layOut(e.cfg.Cluster)
	e.samples.init(e.model.Sample)
	if err := e.planLosses(); err != nil {
		return nil, err
	}
	if c.Steerer != nil {
		e.steering = newSteering(e, c.Steerer, c.Delays)
		e.steering.plan(0)
	}
	return e, e.readAhead()
}

// setBeats draws the nodes' heartbeats, if the model has them.
func (e *engine) setBeats(placed bool) error {
	if placed && e.model.Heartbeat == 0 {
		e.model.Heartbeat = unit.Second // a placement that waits counts the offers it lets pass
	}
	if h := e.model.Heartbeat; h < 0 || h > 0 && h < unit.Time(2*len(e.cfg.Cluster.Nodes)) {
		return fmt.Errorf("a heartbeat of %v is too short for %d nodes", h, len(e.cfg.Cluster.Nodes))
	}
	if e.model.Heartbeat == 0 && (e.model.EndOnBeat || e.model.PerBeat != 0) {
		return fmt.Errorf("what happens on a heartbeat is set and there are no heartbeats")
	}
	if e.model.PerBeat < 0 {
		return fmt.Errorf("%d containers a heartbeat", e.model.PerBeat)
	}
	if e.model.Heartbeat > 0 {
		e.cfg.Cluster, e.phase = inPhase(e.cfg.Cluster, e.model.Heartbeat, workload.Seed(e.cfg.Seed, seedBeats))
	}
	return nil
}

// roomOf is what node i offers to pool k.
func (e *engine) roomOf(k, i int) unit.Resources {
	n := &e.cfg.Cluster.Nodes[i]
	switch {
	case !e.cfg.Cluster.Slots:
		return n.Room
	case k == 0:
		return cluster.Unit.Times(n.MapSlots)
	}
	return cluster.Unit.Times(n.ReduceSlots)
}

func (e *engine) newPool(k int, p policy.Policy) *pool {
	c := e.cfg.Cluster
	pl := &pool{id: uint64(k), e: e, order: p.Order, place: p.Place, nodes: make([]policy.Node, len(c.Nodes)), asks: newAsks()}
	pl.empty = true
	for i := range c.Nodes {
		n, room := &c.Nodes[i], e.roomOf(k, i)
		pl.nodes[i] = policy.Node{Index: int32(i), Rack: int32(n.Rack), Name: n.Name, Kind: n.Kind, Total: room, Free: room}
		pl.empty = pl.empty && room.IsZero()
	}
	pl.rooms = newRooms(pl.nodes)
	pl.onNode = pl.tryOnNode
	pl.anyNode = pl.tryAnyNode
	if e.phase != nil {
		pl.beats = newBeats(e.model.Heartbeat, e.phase, p.Place != nil)
	}
	pl.resized()
	return pl
}

// Seeds of the parts of a run. Each part draws from a stream of its own, so that switching one on leaves the others alone.
const (
	seedBeats = iota
	seedJobs
	seedBlocks
	seedFailures
)

func (p *pool) resized() {
	var c policy.Cluster
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.Total.IsZero() {
			continue
		}
		c.Nodes++
		c.Total = c.Total.Add(n.Total)
		c.Max = larger(c.Max, n.Total)
	}
	p.order.Resized(c)
}

func (e *engine) layOut(c *cluster.Cluster) {
	e.nodeRack = make([]int32, len(c.Nodes))
	e.rackNodes = make([][]int32, len(c.Racks))
	for i := range c.Nodes {
		r := c.Nodes[i].Rack
		e.nodeRack[i] = int32(r)
		e.rackNodes[r] = append(e.rackNodes[r], int32(i))
	}
	seen := map[unit.Resources]bool{}
	for i := range c.Nodes {
		if r := c.Nodes[i].Room; !c.Slots && !seen[r] {
			seen[r] = true
			e.shapes = append(e.shapes, r)
		}
	}
}

// readAhead fetches the next job and puts its arrival on the queue.
func (e *engine) readAhead() error {
	j, err := e.cfg.Source.Next()
	if errors.Is(err, io.EOF) {
		e.next = nil
		return nil
	}
	if err != nil {
		return err
	}
	if j.Submit < e.now {
		return fmt.Errorf("job %s is submitted at %v, before a job that came earlier (%v): the workload must be sorted by submit time",
			j.ID, j.Submit, e.now)
	}
	if err := j.Validate(); err != nil {
		return err
	}
	e.next = j
	e.q.push(j.Submit, evArrival, 0)
	return nil
}

// checkEvery is how many events pass between looks at the outside world.
const checkEvery = 1 << 16

func (e *engine) loop(ctx context.Context) (Summary, error) {
	e.sum.FirstSubmit = -1
	quiet, first := checkEvery, e.pools[0]
	for {
		ev, ok := e.q.pop()
		if !ok {
			if !e.unblock() {
				break
			}
			e.dispatch()
			continue
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
		if ev.at >= e.samples.to {
			e.sample(ev.at)
		}
		e.now = ev.at
		arg := ev.what &^ kindMask
		switch ev.what & kindMask {
		case evPlainEnd:
			e.plainEnd(arg, ev.start)
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
			e.steering.sense()
		case evSteer:
			e.steering.step()
		case evAction:
			e.steering.act(int(arg))
		}
		if first.due || len(e.pools) > 1 {
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

// finish closes the books: the last, shorter sample, and the jobs that did not end.
func (e *engine) finish() {
	e.sampleRest()
	masters, room := e.mastersHold()
	for _, j := range e.byArrival() {
		j.rec.Outcome = Unfinished
		if !e.sum.Partial {
			e.sum.Stuck++
			j.rec.Reason = "can never finish: nothing runs any more, and " + e.whyStuck(j, masters, room)
		}
		e.cfg.Sink.Job(&j.rec)
	}
	if e.steering != nil {
		e.sum.Receipts = e.steering.receipts
	}
	e.report()
}

// mastersHold is what masters hold at the end, and what there is.
func (e *engine) mastersHold() (held, total unit.Resources) {
	for _, j := range e.jobs {
		if j != nil && j.master >= 0 {
			held = held.Add(j.src.Master)
		}
	}
	for i := range e.pools[0].nodes {
		total = total.Add(e.pools[0].nodes[i].Total)
	}
	return held, total
}

// whyStuck guesses, for a person, what keeps a job from going on.
func (e *engine) whyStuck(j *job, masters, total unit.Resources) string {
	for k, p := range e.pools {
		v := &j.views[k]
		switch {
		case v.Pending == 0:
			continue
		case 2*masters.Mem > total.Mem:
			return fmt.Sprintf("the masters of jobs hold %d of %d MiB: limit them (maximum-am-resource-percent, maxAMShare), make them smaller, or add nodes",
				masters.Mem, total.Mem)
		case p.rooms.find(v.Ask, 0) < 0:
			return fmt.Sprintf("no node has room for a container of %v", v.Ask)
		}
		return fmt.Sprintf("the scheduler gives it none of the free containers of %v (a limit of its queue or user, most likely)", v.Ask)
	}
	return "it waits for tasks that cannot run"
}
