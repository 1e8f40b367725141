// Package policy holds the dispatch seam: the events a scheduling policy is notified of, the questions it is asked and the
// answers it may give.
//
// A policy decides; an engine acts. A policy has no clock, no I/O, no goroutine, no global state and no randomness of
// its own. It is notified of events (Arrived, Changed, Started, Ended, Left), each with its time; it sees a read-only view
// (Job, Stage, Node); and it answers with a decision. Whoever drives it (the simulator, a Kubernetes scheduler, a replayed
// log) gets the same decisions for the same events.
//
// It has two parts, so that an engine that is offered nodes (a YARN heartbeat) and one that is offered pods
// (Kubernetes) can both use it. Order says which job is next. Place says how good a node is for that job's next task.
//
// Nothing in the view tells the future: task lengths are learned from Ended, never read ahead.
package policy

import (
	"math"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Stage numbers of containers that are not a task of a stage.
const (
	MasterStage = -1 // the job's master
	KeptStage   = -2 // a container that the job keeps and runs tasks in
)

// Job is what a scheduler may know of a job. The engine keeps it up to date and always updates it before it notifies the
// policy of the change; a policy only reads it.
type Job struct {
	Seq       int64 // order of arrival, from 0; the last tie-break
	Index     int32 // small number, unique among the jobs present; reused after Left
	ID        string
	User      string
	Queue     string
	Class     string // kind of application, where it is known
	Priority  int    // larger is more urgent
	Submitted unit.Time
	Deadline  unit.Time // 0: none
	Master    unit.Resources
	Tasks     int64      // in all stages
	Input     unit.Bytes // read from storage in all stages
	Stages    []Stage

	Pending int64        // tasks (or the master) that could start now
	Waiting [Slots]int64 // the same by the kind of slot they take
	// Front is the stage whose task would start next, or MasterStage for the master; Ask is what that task asks for, or the gang that it
	// starts with. Where it does not fit, the engine may start a task of another open stage that asks for no more. Valid while Pending > 0.
	Front   int
	Ask     unit.Resources
	Running int64          // containers held
	Used    unit.Resources // their room
	Done    int64          // tasks finished

	held   unit.Time // by containers that were given back
	starts unit.Time // sum over those that are held
}

// Kinds of slots, on a cluster that has a fixed number of each (Hadoop 1). Any other cluster has one kind of room, the first.
const (
	MapSlot = iota
	ReduceSlot
	Slots
)

// Stage is what a scheduler may know of a stage of a job.
type Stage struct {
	Tasks, Pending, Running, Done int64 // Pending: not started, whether or not they may start yet
	Later                         int64 // pending tasks that may not start yet, or that the job does not ask for yet

	Ask    unit.Resources
	Slot   uint8           // kind of slot that its tasks take
	Gang   int64           // so many of its tasks start together or not at all; 0 or 1: each by itself
	After  []workload.Edge // the stages it needs, and what passes from them to it
	Worked unit.Time       // by its finished tasks, in sum
}

// Open is how many of its tasks could start now. A job may have several such stages, each with its own Ask.
func (s *Stage) Open() int64 { return s.Pending - s.Later }

// Attained is the container-time that the job has received up to an instant, containers it still holds included.
func (j *Job) Attained(now unit.Time) unit.Time { return j.held + unit.Time(j.Running)*now - j.starts }

// Want is for engines: n more tasks that take a kind of slot could start; a negative number: as many fewer.
func (j *Job) Want(slot uint8, n int64) {
	j.Pending += n
	j.Waiting[slot] += n
}

// Hold is for engines: the job holds a container of the given size from now on.
func (j *Job) Hold(now unit.Time, size unit.Resources) {
	j.Running++
	j.Used = j.Used.Add(size)
	j.starts += now
}

// Yield is for engines: the job gives back a container that it has held since start.
func (j *Job) Yield(now, start unit.Time, size unit.Resources) {
	j.Running--
	j.Used = j.Used.Sub(size)
	j.starts -= start
	j.held += now - start
}

// Event is the start or the end of a container, or of a task in a container that its job keeps. It is valid only during
// the call.
type Event struct {
	Now   unit.Time
	Job   *Job
	Stage int // or MasterStage, KeptStage
	Node  *Node
	Size  unit.Resources // of the container; zero for a task in a kept one, which holds no room of its own

	// Of an end: how long the container was held (the task was in it, if it is kept), and how long the task did its own work:
	// start-up and waiting for other stages left out. Worked is 0 for a master and for a kept container.
	Held, Worked unit.Time
	Why          End
}

// Node is what a scheduler may know of a node.
type Node struct {
	Total unit.Resources
	Free  unit.Resources
	Index int32
	Rack  int32
	Name  string
	Kind  string
}

// Cluster is what a scheduler may know of the whole.
type Cluster struct {
	Total unit.Resources // of both kinds of slots, if it has slots
	Max   unit.Resources // the largest node, by component
	Nodes int
	Slots [Slots]int64 // by kind; none: it has no fixed slots
	// Room is what a node has, by its Index, for tasks that take a kind of slot; nil: not known.
	Room func(node int32, slot uint8) unit.Resources
}

// Offer is a chance to start one container. Offers of the same node at the same instant belong to the same heartbeat.
type Offer struct {
	Now  unit.Time
	Slot uint8 // kind of slot that is offered: tasks that take another kind are passed over
	Node *Node // nil when the engine looks for a job first and for a node afterwards
	// Next is for the order to set, if it has nothing for Node: nor has it for the nodes up to the one with this Index.
	Next int32
}

// Verdict is the engine's answer to one job that Ranked proposes.
type Verdict uint8

// What may become of a proposed job.
const (
	Pass   Verdict = iota // not here, not now (no room, or it waits for a better place): propose the next one
	Took                  // one of its tasks was started; Started has been called already
	Enough                // stop proposing
)

// End says why a container was given back.
type End uint8

// Why a container was given back. A task whose container ended for another reason than Done will want one again, unless
// its job leaves or another attempt of it is or was running.
const (
	Done   End = iota // its work is done, so its length says something about the job's tasks
	Failed            // the task failed
	Lost              // its node is gone
	Taken             // it was taken away: to make room, or because the job was killed
	Undone            // it never began: an engine that reserves first, then binds, could not bind it
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
	// Changed says that what the job asks for has changed other than by a start: Pending rose from 0 or fell, or Ask changed.
	Changed(now unit.Time, j *Job)
	// Started says that a container was given to a task of the job, or that a task started in a container that the job keeps.
	Started(e *Event)
	// Ended says that it was given back, or that the task in the kept container ended, and why.
	Ended(e *Event)
	// Left says that the job is gone.
	Left(now unit.Time, j *Job)
	// Ranked proposes jobs with Pending > 0, best first, until one is taken or try answers Enough. It returns whether
	// one was taken. It must cost O(log n) in waiting jobs to the first proposal, and must not allocate.
	Ranked(o *Offer, try func(*Job) Verdict) bool
}

// Timer is the part of a policy that acts at intervals rather than on events: a poller, an ageing of levels.
type Timer interface {
	// Tick is called at instant 0 and then whenever it asked to be. It says when it wants to be called again (unit.Never: no
	// more) and whether jobs may start now that could not before. When nothing else happens and it changes nothing many times
	// in a row, an engine may stop calling it.
	Tick(now unit.Time) (again unit.Time, changed bool)
}

// Near says how close a node is to a task's input.
type Near uint8

// Closeness, from far to near.
const (
	NoPreference Near = iota // the task has no input that lies anywhere in particular
	OffRack
	RackLocal
	NodeLocal
)

func (n Near) String() string { return [...]string{"any", "off-rack", "rack-local", "node-local"}[n] }

// Score says how good a node is. Larger is better; negative means: not now.
type Score int8

// Answers of Place.Score. A policy may answer with any positive value to rank nodes.
const (
	Never Score = -2 // not on this node; it says nothing of others
	Wait  Score = -1 // a nearer node is worth waiting for: no node as far or farther will do before the instant that Skipped names
	Any   Score = 0
	Best  Score = math.MaxInt8 // no node can be better: the engine need not ask about others
)

// Place decides whether, and how well, a node suits the next task of a job. The engine has found already that there is
// room, and says how near the best waiting task of stage s is to the node.
type Place interface {
	// Score is pure and safe for concurrent use between two events: an engine may ask about many nodes for one task, at once, and
	// what the answer would be if the node were nearer. It takes the best it hears of.
	Score(now unit.Time, j *Job, s int, n *Node, near Near) Score
	// Skipped says that the job let a chance go: it was its turn, and what it was offered did not fit. It returns the instant from
	// which the job may take what it refuses now; unit.Never: that does not depend on time. An engine asks again then, and before that
	// when the job changes or a nearer node has room.
	Skipped(now unit.Time, j *Job, s int) (again unit.Time)
	// Placed says that a task was started on n. An engine that reserves first calls it when the task is bound.
	Placed(j *Job, s int, n *Node, near Near)
	// Left says that the job is gone.
	Left(now unit.Time, j *Job)
}

// Network is what an engine that plays one shows of it.
type Network interface {
	// Uplink is the load of the links into a rack and out of it, as a share of their capacity.
	Uplink(rack int32) (in, out float64)
}

// Networked is implemented by places that look at the network. An engine without one refuses them.
type Networked interface {
	// Watch hands the network over, before the first job.
	Watch(n Network)
}

// Preemptor is implemented by orders that take containers from running jobs to make room for others.
type Preemptor interface {
	// Victims is asked after every Tick, and when Policy.Shifted says so, and appends what is to be taken away. The tasks wait for a
	// container again.
	Victims(now unit.Time, to []Claim) []Claim
}

// Claim is a number of containers of a stage that are taken from a job, those that started last first.
type Claim struct {
	Job   *Job
	Stage int
	Count int64
	// Restart takes all that the job runs instead and undoes what it has done: its tasks run again, and its counts start from 0. The
	// engine calls Changed then.
	Restart bool
}

// Explainer is implemented by orders that can say why a job waits. It is asked on demand and may take its time.
type Explainer interface {
	// Why appends what holds back a job that has Pending > 0, the tightest first.
	Why(now unit.Time, j *Job, to []Reason) []Reason
}

// Reason is what holds a job back: a limit, or others that come first.
type Reason struct {
	Limit       string         // the setting that limits it, by its name in the scheduler's configuration; "": others come first
	Queue, User string         // whose limit it is; both empty: the cluster's
	Held, Max   unit.Resources // what counts against the limit, and the limit
	Ahead       int64          // waiting jobs that come first
	Next        string         // the first of them
}

// Append appends the reason, unless it says nothing.
func (r Reason) Append(to []Reason) []Reason {
	if r == (Reason{}) {
		return to
	}
	return append(to, r)
}

// Counter is implemented by places that know whether they count the chances that a job lets go. If so, nodes have to report again
// and again, and an engine without heartbeats draws some; if not, nodes are not offered again in vain.
type Counter interface {
	// Counts says whether it does so for tasks that take a kind of slot.
	Counts(slot uint8) bool
}

// Knobs is implemented by orders that can be changed while they run, by a steering policy. Each returns the value that
// stood before.
type Knobs interface {
	// SetPriority changes a job's priority. The engine has written the new value into j; old is the one before.
	SetPriority(j *Job, old int)
	// Move takes a job to another queue. On error the job stays where it was.
	Move(j *Job, queue string) error
	// SetQueue sets a queue's named property ("capacity", "maximum-am-resource-percent", "weight") and returns its old value. NaN changes nothing.
	SetQueue(queue, property string, value float64) (old float64, err error)
}

// Gauges is implemented by orders that can tell about their queues what a ResourceManager shows of them.
type Gauges interface {
	// Gauges appends one for each leaf queue that there is, in no particular order.
	Gauges(to []Gauge) []Gauge
	// QueueOf is the full name of the leaf that a job is in.
	QueueOf(j *Job) string
}

// Gauge is what is seen of a leaf queue from outside.
type Gauge struct {
	Queue    string         // full name, from the root down
	Capacity unit.Resources // what it may use now: its fair share, or the greater of its guarantee and its limit
	// Ceiling is the most that it could hold now: its maximum and those above it, less what others hold of them; at least 1 in each
	// component. Zero: the scheduler does not limit by that component.
	Ceiling unit.Resources
	Masters unit.Resources // held by application masters, or set aside for them
	// MasterShare is the share of Capacity that masters may take, 0 to 1; negative: no limit.
	MasterShare float64
}
