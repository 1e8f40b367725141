// Package policy defines the interface between scheduling policies and engines: the events a policy is notified of, the
// questions it is asked and the answers it may give.
//
// A policy decides; an engine acts. A policy has no clock, no I/O, no goroutine, no global state and no randomness of
// its own. It is notified of events (Arrived, Changed, Started, Ended, Left), each with its time; it sees a read-only view
// (Job, Stage, Node); and it answers with a decision. Whoever drives it (the simulator, a Kubernetes scheduler, a replayed
// log) gets the same decisions for the same events.
//
// It has two parts, so that an engine that is offered nodes (a YARN heartbeat) and one that is offered pods
// (Kubernetes) can both use it. Order says which job is next. Place says how good a node is for that job's next task.
//
// The view never reveals the future: task lengths are learned from Ended.
//
// Times count from a start of the engine's own, not from 1970: sums over thousands of containers must fit.
package policy

import (
	"errors"
	"math"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Stage numbers of containers that are not a task of a stage.
const (
	AMStage   = -1 // the job's AM
	KeptStage = -2 // a container that the job keeps and runs tasks in
)

// Job is what a scheduler may know about a job. The engine owns it and updates it before it notifies the policy of a change;
// to a policy it is read-only.
type Job struct {
	Seq       int64 // order of arrival, from 0; the last tie-break
	Index     int32 // small integer, unique among present jobs; reused after Left
	ID        string
	User      string
	Queue     string
	Class     string // kind of application, if known
	Priority  int    // larger is more urgent
	Submitted unit.Time
	Deadline  unit.Time // 0: none
	AM        unit.Resources
	Tasks     int64      // in all stages
	Input     unit.Bytes // read from storage in all stages
	Stages    []Stage

	Pending int64        // tasks (or the AM) that could start now
	Waiting [Slots]int64 // the same by the kind of slot they take
	// Front is the stage whose task would start next, or AMStage for the AM; Ask is the request of that task, or of its whole
	// gang. If it does not fit, the engine may start a task of another open stage: see Replaces. Valid while Pending > 0.
	Front   int
	Ask     unit.Resources
	Running int64          // containers held
	Used    unit.Resources // resources they hold
	Done    int64          // tasks finished

	held   unit.Time // container-time of released containers
	starts unit.Time // sum of the start times of held containers
}

// Kinds of slots on a cluster with a fixed number of each (Hadoop 1). Any other cluster uses only the first kind.
const (
	MapSlot = iota
	ReduceSlot
	Slots
)

// Stage is what a scheduler may know about a stage of a job.
type Stage struct {
	Tasks, Pending, Running, Done int64 // Pending: not started, including tasks that may not start yet
	Later                         int64 // pending tasks that may not start yet or are not yet requested

	Ask    unit.Resources
	Slot   uint8           // kind of slot that its tasks take
	Gang   int64           // gang size: this many tasks start together or not at all; 0 or 1: no gang
	After  []workload.Edge // upstream stages and the data they pass to it
	Worked unit.Time       // total over finished tasks
}

// GangPatience is how long engines let a gang lack room, at its turn, before they hold room for it.
const GangPatience = unit.Minute

// Open is the number of tasks that could start now. A job may have several open stages, each with its own Ask.
func (s *Stage) Open() int64 { return s.Pending - s.Later }

// Replaces reports whether a task of stage s may start where the job's next one, of stage front, does not fit: it takes a container of the same kind that is
// no larger, and is in no gang. The order has agreed to that size. Nothing replaces an AM or a kept container, without which no task runs.
func (j *Job) Replaces(s, front int) bool {
	if s == front || s < 0 || front < 0 {
		return false
	}
	t, f := &j.Stages[s], &j.Stages[front]
	return t.Open() > 0 && t.Slot == f.Slot && t.Gang <= 1 && t.Ask.Fits(f.Ask)
}

// Attained is the container-time the job has received by now, including containers it still holds.
func (j *Job) Attained(now unit.Time) unit.Time { return j.held + unit.Time(j.Running)*now - j.starts }

// Want is for engines: n more tasks of a slot kind can start; n may be negative.
func (j *Job) Want(slot uint8, n int64) {
	j.Pending += n
	j.Waiting[slot] += n
}

// Hold is for engines: the job acquires a container of the given size.
func (j *Job) Hold(now unit.Time, size unit.Resources) {
	j.Running++
	j.Used = j.Used.Add(size)
	j.starts += now
}

// Yield is for engines: the job releases a container held since start.
func (j *Job) Yield(now, start unit.Time, size unit.Resources) {
	j.Undo(start, size)
	j.held += now - start
}

// Undo is for engines that reserve before they bind: a container reserved at start was never bound. The job has received nothing.
func (j *Job) Undo(start unit.Time, size unit.Resources) {
	j.Running--
	j.Used = j.Used.Sub(size)
	j.starts -= start
}

// Credit is for engines that restart: the job received container-time before, in containers that are gone.
func (j *Job) Credit(received unit.Time) { j.held += received }

// Event is the start or the end of a container, or of a task in a container that its job keeps. It is valid only during
// the call.
type Event struct {
	Now   unit.Time
	Job   *Job
	Stage int // or AMStage, KeptStage
	// Node is nil at the start if the engine chooses the node later; only a policy that needs NodeOffers or Placement can rely on it.
	Node *Node
	Size unit.Resources // of the container; zero for a task in a kept container, which holds no resources of its own

	// End events only. Held: how long the container was held or reserved (for a kept container, how long the task ran in it): it started at Now - Held. Worked:
	// how long the task did its own work, without start-up and waiting for other stages; 0 for an AM, a kept container and what is Undone.
	Held, Worked unit.Time
	Why          End
}

// Node is what a scheduler may know about a node.
type Node struct {
	Total unit.Resources
	Free  unit.Resources
	Index int32
	Rack  int32
	Name  string
	Kind  string
}

// Cluster is what a scheduler may know about the whole cluster.
type Cluster struct {
	Total unit.Resources // of both kinds of slots, if it has slots
	Max   unit.Resources // the largest node, by component
	Nodes int
	Slots [Slots]int64 // by kind; none: it has no fixed slots
	// Room is the capacity of a node, by its Index, for tasks that take a kind of slot; nil: unknown.
	Room func(node int32, slot uint8) unit.Resources
	// Kind is the machine kind of a node, by its Index; nil: unknown.
	Kind func(node int32) string
	// Racks is the rack of each node, by its Index, lost ones included, and Working the number of nodes of each rack that are not lost; nil:
	// unknown.
	Racks   []int32
	Working []int
}

// Offer is an opportunity to start one container. Offers of the same node at the same instant belong to the same heartbeat.
type Offer struct {
	Now  unit.Time
	Slot uint8 // kind of slot offered: tasks of other kinds are skipped
	Node *Node // nil when the engine picks the job first, then the node
	// Next may be set by an order that has nothing for Node: it has nothing for the nodes before this Index either.
	Next int32
	// Stage is set by an order that chooses the stage, before it proposes a job: see Policy.Choose.
	Stage int
}

// Verdict is the engine's answer to a job that Ranked proposes.
type Verdict uint8

// Verdicts.
const (
	Pass   Verdict = iota // does not fit, or waits for a better node: propose the next one
	Took                  // one of its tasks was started; Started has been called already
	Enough                // stop proposing
)

// End says why a container was released.
type End uint8

// Why a container was released. After any reason but Done the task needs a container again, unless its job leaves or
// another attempt of it is running or has run.
const (
	Done   End = iota // its work is done: its length is a sample of the job's task lengths
	Failed            // the task failed
	Lost              // its node is gone
	Taken             // preempted, or its job was killed
	Undone            // it never started: the engine reserves before it binds, and the bind failed
)

func (e End) String() string { return [...]string{"done", "failed", "lost", "taken", "undone"}[e] }

// Order decides which job is next.
//
// The engine calls, for each job: Arrived; then any number of Changed, Started and Ended; then Left. A job may arrive with
// Pending 0.
type Order interface {
	// Resized gives the size of the cluster: once before the first job, and whenever nodes come or go.
	Resized(now unit.Time, c Cluster)
	// Arrived admits a job. An error refuses it: there are no further calls for that job.
	Arrived(now unit.Time, j *Job) error
	// Changed says that the job's requests changed other than by a start: Pending rose from 0 or fell, Ask changed, or the job has more tasks or stages
	// than before, as in engines that see tasks only when they are created.
	Changed(now unit.Time, j *Job)
	// Started says that a task of the job got a container, or started in a kept one.
	Started(e *Event)
	// Ended says that the container was released, or that the task in the kept container ended, and why.
	Ended(e *Event)
	// Left says that the job is gone.
	Left(now unit.Time, j *Job)
	// Ranked proposes jobs with Pending > 0, best first, until one is taken or try answers Enough. It returns whether
	// one was taken. It must cost O(log n) in waiting jobs to the first proposal, and must not allocate. An engine need not ask while
	// nothing that waits fits: neither the Ask of a job nor a stage that Replaces its front.
	Ranked(o *Offer, try func(*Job) Verdict) bool
}

// Timer is the part of a policy that acts periodically rather than on events: a poller, priority ageing.
type Timer interface {
	// Tick is called at time 0 and then whenever it asked to be. It returns when to call it again (unit.Never: no more) and
	// whether jobs may start now that could not before. An engine may stop calling it after many ticks in a row without a
	// change or any other event.
	Tick(now unit.Time) (again unit.Time, changed bool)
}

// Near says how close a node is to a task's input.
type Near uint8

// Locality levels, far to near.
const (
	NoPreference Near = iota // the task's input has no location
	OffRack
	RackLocal
	NodeLocal
)

func (n Near) String() string { return [...]string{"any", "off-rack", "rack-local", "node-local"}[n] }

// Score says how good a node is. Larger is better; negative means not now.
type Score int8

// Results of Place.Score. A policy may return any positive value to rank nodes.
const (
	Never Score = -2 // not on this node; other nodes may do
	Wait  Score = -1 // wait for a nearer node: no node this far or farther is accepted before the time Skipped returns
	Any   Score = 0
	Best  Score = math.MaxInt8 // no node can be better: the engine need not score others
)

// Place decides whether, and how well, a node suits the next task of a job. The engine has already checked that the task
// fits, and says how near the best waiting task of stage s is to the node.
type Place interface {
	// Score is pure and safe for concurrent use between two events: an engine may score many nodes for one task concurrently, and
	// ask what the score would be if the node were nearer. It takes the best.
	Score(now unit.Time, j *Job, s int, n *Node, near Near) Score
	// Skipped says that the job skipped a scheduling opportunity: it was its turn, and what it was offered was refused. It returns the
	// time from which the job may accept what it refuses now (unit.Never: not time-dependent). The engine asks again then, or
	// earlier if the job changes or a nearer node has room.
	Skipped(now unit.Time, j *Job, s int) (again unit.Time)
	// Placed says that a task was started on n, or that an engine that binds later reserved n for it.
	Placed(j *Job, s int, n *Node, near Near)
	// Unplaced says that what Placed reserved was not bound: the task waits again. Engines that bind asynchronously have many reservations open, also of one
	// job, and undo any of them, in any order and whatever happened since. Once all are undone, a job waits as if there had been none: it has skipped what it
	// skipped before and since. Meanwhile its starts count as alike: whichever is undone, the wait that the last one ended goes on. A policy may forget the
	// oldest of many starts; the job then waits anew. Order.Ended with Undone follows.
	Unplaced(j *Job, s int, n *Node, near Near)
	// Left says that the job is gone.
	Left(now unit.Time, j *Job)
}

// Storage is the view of the locations of input, for orders that choose among a job's stages: see Policy.Choose.
type Storage interface {
	// Near says how near the best waiting task of an open stage is to a node.
	Near(j *Job, s int, n *Node) Near
	// Local reports whether a node holds input of a waiting task of an open stage, or the stage's input has no location.
	Local(j *Job, s int, n *Node) bool
	// Racks lists the racks that hold input of a task, each once; none: unknown, or it has no location. It overwrites to.
	Racks(j *Job, s int, task int64, to []int32) []int32
}

// Network is the view of the network from an engine that models one.
type Network interface {
	// Uplink is the load of the links into and out of a rack, as a share of their capacity.
	Uplink(rack int32) (in, out float64)
	// Carried is the integral of Uplink over time, in seconds at full load: its growth over an interval, divided by the interval, is the
	// mean load.
	Carried(rack int32) (in, out float64)
}

// Networked is implemented by placements that use the network's load. An engine without a network refuses them.
type Networked interface {
	// Watch passes the network, before the first job.
	Watch(n Network)
}

// Watch is for engines: it passes the network to a placement that uses it; nil: there is none.
func Watch(p Place, n Network) error {
	by, uses := p.(Networked)
	if uses && n == nil {
		return errors.New("the policy places tasks by the load of the network, and none is played: describe one (network:)")
	}
	if uses {
		by.Watch(n)
	}
	return nil
}

// Preemptor is implemented by orders that preempt containers of running jobs.
type Preemptor interface {
	// Victims is called after every Tick, and when Policy.Shifted reports true. It appends what to preempt. The tasks go back to pending.
	Victims(now unit.Time, to []Claim) []Claim
}

// Claim is a number of containers of a stage to preempt, last started first.
type Claim struct {
	Job   *Job
	Stage int
	Count int64
	For   *Job  // the job that they make room for; nil: none in particular
	Node  *Node // only containers on this node; nil: on any
	// Queue is the queue that they make room for, in a scheduler that preempts for queues.
	Queue string
	// Restart preempts all of the job's tasks instead and discards its finished ones: all run again, and its counts start from 0. The engine
	// then calls Changed.
	Restart bool
}

// Counter is implemented by placements that know whether they count skipped scheduling opportunities. If so, nodes have to be offered
// repeatedly, and an engine without heartbeats generates some; if not, repeated offers are useless and omitted.
type Counter interface {
	// Counts says whether it counts for tasks of a slot kind.
	Counts(slot uint8) bool
}

// Knobs is implemented by orders that a steering policy can change at run time. Setters return the previous value.
type Knobs interface {
	// SetPriority changes a job's priority. The engine has already written the new value into j; old is the previous one.
	SetPriority(j *Job, old int)
	// Move moves a job to another queue. On error the job stays where it was.
	Move(j *Job, queue string) error
	// SetQueue sets a queue's named property ("capacity", "maximum-am-resource-percent", "weight") and returns its old value.
	SetQueue(queue, property string, value float64) (old float64, err error)
	// Property reads what SetQueue sets.
	Property(queue, property string) (float64, error)
}

// Gauges is implemented by orders that can report about their queues what a ResourceManager shows.
type Gauges interface {
	// Gauges appends one for each leaf queue, in no particular order.
	Gauges(to []Gauge) []Gauge
	// QueueOf is the full name of the leaf that a job is in.
	QueueOf(j *Job) string
}

// Gauge is the state of a leaf queue as visible from outside.
type Gauge struct {
	Queue    string         // full name, from the root down
	Capacity unit.Resources // what it may use now: its fair share, or the greater of its guarantee and its limit
	// Ceiling is the maximum it could hold now: its maximum and those above it, less what others hold of them; at least 1 in each
	// component. Zero: the scheduler does not limit by that component.
	Ceiling unit.Resources
	AMs     unit.Resources // held by AMs, or set aside for them
	// AMShare is the share of Capacity that AMs may take, 0 to 1; negative: no limit.
	AMShare float64
}

// Partitioned is implemented by orders that divide the nodes into partitions.
type Partitioned interface {
	// Partitions appends one for each partition; none if the nodes are not divided.
	Partitions(to []Partition) []Partition
}

// Partition is a part of the nodes, and what its ended containers have held.
type Partition struct {
	Nodes int
	Room  unit.Resources
	Busy  float64 // MiB x seconds
}

// Keeper is implemented by orders that know more than the view shows: what they learned from jobs that have left, or the levels of those present. An engine
// that restarts passes what the former run saved to the new one, so that it decides as if it had never stopped. Jobs that are present it announces again:
// Arrived, with Job.Credit before it, then Started for each container that they hold, as if it began now.
type Keeper interface {
	// Save is what the order knows at an instant, for Load.
	Save(now unit.Time) ([]byte, error)
	// Load is called before the first job. It refuses what it cannot have saved.
	Load(saved []byte) error
}

// Estimator is implemented by orders that predict when jobs end. It is called on demand and changes nothing.
type Estimator interface {
	// Estimates calls each for every present job that has an estimate, by Index: it ends at end.
	Estimates(now unit.Time, each func(j *Job, end unit.Time))
}
