// Package rm is the policy interface in the terms of a YARN ResourceManager: applications that file requests by priority and
// location, nodes that are served when they heartbeat, containers that are allocated, reserved, released, preempted.
//
// It is finer than policy.Order and policy.Place. Those ask "who is next?" at a free container and leave the rest to the
// engine, which is fast and fits any engine; a ResourceManager's scheduler decides everything at once while it serves one
// node, and its answers (one off-switch container a heartbeat, a reservation, an application that waits for its AM)
// cannot be separated from its order. Use this interface to get the answers of the real one.
//
// The same rule holds here: a scheduler has no clock, no I/O, no goroutine and no randomness. It is notified of events,
// with their time, and answers with data. The engine (sim/yarn) has the clock: node heartbeats, the calls of the
// applications, how long a container takes to start.
//
// # Who keeps what
//
// Scheduler keeps Node.Free, its queues' and users' usage, outstanding requests, reservations. The engine keeps an
// application's life cycle and what runs in a container.
package rm

import (
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// Place is the locality a request prefers: anywhere, a node or a rack.
type Place int32

// Anywhere is the place of a request without a preference, and of the total of those that have one.
const Anywhere Place = -1

// OnNode is the place of node i.
func OnNode(i int32) Place { return Place(i) }

// OnRack is the place of rack i.
func OnRack(i int32) Place { return -2 - Place(i) }

// Node is the node that the place names, if it names one.
func (p Place) Node() (int32, bool) { return int32(p), p >= 0 }

// Rack is the rack that the place names, if it names one.
func (p Place) Rack() (int32, bool) { return int32(-2 - p), p <= -2 }

// Ask sets how many containers an application still wants at one priority and place. It replaces what stood there and
// never adds to it. A request for two containers on node 3 of rack 0 is three asks: node 3, rack 0 and Anywhere, each of
// Count 2. A smaller Priority number goes first.
type Ask struct {
	Priority int32
	Place    Place
	Count    int64
	Size     unit.Resources // before rounding; the scheduler rounds it as its configuration says
}

// AMPriority is the priority of the request for an application's AM.
const AMPriority int32 = 0

// App is one application (one attempt of it).
type App struct {
	Index     int32 // small number, unique among the applications present; taken again after Removed
	Seq       int64 // order of submission: its application id
	ID        string
	User      string
	Queue     string
	Priority  int            // larger is more urgent
	Submitted unit.Time      // its start time
	AM        unit.Resources // what its AM asks for; zero: unmanaged, charged as the minimum allocation

	// What its client declares, for policies that use it. YARN's own schedulers do not.
	Class    string     // kind of application
	Deadline unit.Time  // 0: none
	Tasks    int64      // in all stages
	Input    unit.Bytes // read from storage in all stages
	Stages   []Stage    // what it will request
	Keeps    int32      // priority at which it requests containers to keep; its tasks run inside them, and Stages are not requested. 0: it keeps none
	Shuffles []Shuffle  // between its stages
	// Racks lists the racks that hold input of a task, by its number among those requested at a priority; nil: unknown. It overwrites to.
	Racks func(priority int32, task int64, to []int32) []int32
}

// View is what a policy sees of the application when it arrives.
func (a *App) View() *policy.Job {
	return &policy.Job{
		Seq: a.Seq, Index: a.Index, ID: a.ID, User: a.User, Queue: a.Queue, Class: a.Class, Priority: a.Priority, Submitted: a.Submitted,
		Deadline: a.Deadline, AM: a.AM, Tasks: a.Tasks, Input: a.Input,
	}
}

// Stage is the number of tasks that an application will request at one priority.
type Stage struct {
	Priority int32
	Tasks    int64
	Gang     int64 // so many of them start together; 0 or 1: no gang
}

// Shuffle is the data that tasks requested at one priority pass to those requested at another.
type Shuffle struct {
	From, To int32 // priorities
	Bytes    unit.Bytes
}

// Node is one NodeManager.
type Node struct {
	Index int32
	Rack  int32
	Name  string
	Kind  string // machine kind
	Port  int32  // of its id; 0: not known. A ResourceManager keeps some lists in the order of a hash over name and port
	Total unit.Resources
	Free  unit.Resources // kept by the scheduler
}

// View is what a policy sees of the node when it joins.
func (n *Node) View() *policy.Node {
	return &policy.Node{Total: n.Total, Free: n.Free, Index: n.Index, Rack: n.Rack, Name: n.Name, Kind: n.Kind}
}

// Container is room on a node that an application holds.
type Container struct {
	App      *App
	Node     *Node
	ID       int64 // order of allocation, or of the reservation that it was given out of
	Priority int32
	Size     unit.Resources // after rounding
	Near     policy.Near
	AM       bool
	At       unit.Time // allocated
	// Launched is set by the engine when the node has reported that it runs. The resources of a launched container that is preempted
	// or released early are freed only when its node reports the end.
	Launched bool
	// Acquired is set by the engine when the application's AM knows about it. A ResourceManager re-requests, by itself, a container
	// that it preempts before that: the application does not know that it had it.
	Acquired bool
	// End is why it ends, for schedulers that set it to policy.Taken at first. The engine sets it when the work is done or has failed, or the
	// node is lost; Worked, with policy.Done, to how long the task did its own work.
	End    policy.End
	Worked unit.Time
	Claim  *policy.Claim // set by the scheduler with a Notice: what it is preempted by; valid until the next one

	Slot int32 // for the scheduler's own use
	Gone bool  // returned to the queue; kept by the scheduler
}

// Notice is what a scheduler decided outside of any node's report.
type Notice struct {
	Warned []*Container // their applications are notified that they may lose them
	Killed []*Container // preempted now; already returned to the queue
}

// NewClaim is YARN's own schedulers' claim of a container. What its application did not declare to request, as repeated maps, counts to its first stage.
func NewClaim(c *Container) *policy.Claim {
	stage := policy.AMStage
	if !c.AM {
		stage = max(0, slices.IndexFunc(c.App.Stages, func(s Stage) bool { return s.Priority == c.Priority }))
	}
	return &policy.Claim{Job: c.App.View(), Stage: stage, Count: 1, Node: c.Node.View()}
}

// Scheduler decides. The engine calls Added and then Asked with the request for the AM (unless it is unmanaged); Asked
// at every call of the application's AM; Ended as nodes report ends; Beat after them, once for each report; and Removed
// when the application is gone.
type Scheduler interface {
	// NodeAdded and NodeRemoved change the cluster. Containers on a removed node must have been Ended.
	NodeAdded(n *Node, now unit.Time)
	NodeRemoved(n *Node, now unit.Time)

	// Added submits an application. An error refuses it.
	Added(a *App, now unit.Time) error
	// Asked updates an application's requests and releases containers it does not want. An error means that it asked
	// for more than any container may have; nothing has changed then.
	Asked(a *App, asks []Ask, release []*Container, now unit.Time) error
	// Removed removes an application: all it still holds is released, its reservations are dropped. Launched containers
	// keep their resources until Ended.
	Removed(a *App, now unit.Time)

	// Ended says that a node reported the end of a container, so its resources there are free. It is returned to the queue too,
	// unless that has happened already.
	Ended(c *Container, now unit.Time)
	// Beat serves one node, after the ends that it reported. The result is valid until the next call.
	Beat(n *Node, now unit.Time) []*Container

	// Every is how often Round wants to be called: the period of the preemption monitor, or of the fair shares' update. 0: never.
	Every() unit.Time
	Round(now unit.Time) Notice

	// Headroom is what the application is told it could still get.
	Headroom(a *App) unit.Resources
	// Leaf is the full path of the queue that the application is in.
	Leaf(a *App) string
	// Why appends what holds back an application that waits for a container, as policy.Policy.Why does. It changes nothing. An application that Added refused may
	// be asked about, too.
	Why(a *App, now unit.Time, to []policy.Reason) []policy.Reason
	// Minimum is the smallest container, and the step that sizes are rounded to.
	Minimum() unit.Resources
	// NotModelled lists unsupported settings that were read.
	NotModelled() []string
}

// CheckSize refuses a container that asks for more than memory and vcores, which is all that YARN's own schedulers count here.
func CheckSize(size unit.Resources) error {
	if size.Extra == (unit.Extra{}) {
		return nil
	}
	return fmt.Errorf("it asks for a container of %v: YARN's own schedulers count memory and vcores only here; a scheduler without a file of YARN's, such as --scheduler capacity, counts other resources too", size)
}

// TaskWatcher is implemented by schedulers that follow the tasks inside containers that applications keep. A ResourceManager does not see them.
type TaskWatcher interface {
	// TaskStarted says that a task of the stage with a priority started in a kept container.
	TaskStarted(c *Container, priority int32, now unit.Time)
	// TaskEnded says that one that started at start ended there, and why. The container may have ended just before, and then the application too.
	TaskEnded(c *Container, priority int32, start, now unit.Time, why policy.End)
	// TaskRedone says that a task which had ended well waits again: what it passed on was lost with its container. The application may have ended, too.
	TaskRedone(a *App, priority int32)
}

// Recoverer is implemented by schedulers that can take over what applications hold already, as after a work-preserving restart of a
// ResourceManager.
type Recoverer interface {
	// Recover registers a container of an application that was Added before, whatever the limits say; Place and Count of the ask are ignored.
	// A managed application's first one at AMPriority is its AM. An application that holds a container is active. After the last one, Refresh.
	Recover(a *App, n *Node, ask Ask, at unit.Time) *Container
}

// Foreseer is implemented by schedulers that use what only a simulator knows.
type Foreseer interface {
	// Foresee passes the true sizes of applications, the total time that their tasks will work, before the first one is added.
	Foresee(size func(a *App) unit.Time)
}

// Networked is implemented by schedulers that may use the load of the network.
type Networked interface {
	// Watch passes the network, before the first application is added; nil: there is none. An error refuses the run.
	Watch(n policy.Network) error
}

// Knobs is implemented by schedulers that can be changed at run time.
type Knobs interface {
	SetPriority(a *App, priority int, now unit.Time)
	Move(a *App, queue string, now unit.Time) error
	// SetQueue sets a queue's named property and returns its old value.
	SetQueue(queue, property string, value float64, now unit.Time) (old float64, err error)
	// Property reads what SetQueue sets.
	Property(queue, property string) (float64, error)
}

// Gauges is implemented by schedulers that can report what a ResourceManager shows of their queues and applications.
type Gauges interface {
	// Gauges appends one for each leaf queue, in no particular order.
	Gauges(to []policy.Gauge) []policy.Gauge
	// Active says whether an application is counted as active, and not as pending.
	Active(a *App) bool
	// AMOf is the size that an application's AM has, or will have, after rounding. Zero: it is unmanaged.
	AMOf(a *App) unit.Resources
}
