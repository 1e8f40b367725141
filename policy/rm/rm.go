// Package rm is the dispatch seam in the terms of a YARN ResourceManager: applications that file requests by priority and
// place, nodes that are served when they report, containers that are allocated, reserved, released, taken away.
//
// It is finer than policy.Order and policy.Place. Those ask "who is next?" at a free container and leave the rest to the
// engine, which is fast and fits any engine; a ResourceManager's scheduler decides everything at once while it looks at one
// node, and its answers (one off-switch container a heartbeat, a reservation, an application that waits for its master)
// cannot be told apart from its order. Whoever wants the answers of the real one drives this.
//
// The one rule holds here too: a scheduler has no clock, no I/O, no goroutine and no randomness. It is told what happened,
// with the time, and answers with data. The engine (sim/yarn) has the clock: the beats of the nodes, the calls of the
// applications, how long a container takes to start.
//
// # Who keeps what
//
// Scheduler keeps Node.Free, its queues' and users' use, outstanding requests, reservations. The engine keeps where an
// application is in its life and what runs in a container.
package rm

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// Place is where a request would like its containers: anywhere, a node or a rack.
type Place int32

// Anywhere is the place of a request without a wish, and of the total of those that have one.
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

// MasterPriority is the priority of the request for an application's master.
const MasterPriority int32 = 0

// App is one application (one attempt of it).
type App struct {
	Index     int32 // small number, unique among the applications present; taken again after Removed
	Seq       int64 // order of submission: its application id
	ID        string
	User      string
	Queue     string
	Priority  int            // larger is more urgent
	Submitted unit.Time      // its start time
	Master    unit.Resources // what its master asks for; zero: unmanaged, charged as the minimum allocation

	// What its client says of it, for policies that go by it. YARN's own schedulers do not.
	Class    string     // kind of application
	Deadline unit.Time  // 0: none
	Tasks    int64      // in all stages
	Input    unit.Bytes // read from storage in all stages
}

// Node is one NodeManager.
type Node struct {
	Index int32
	Rack  int32
	Name  string
	Port  int32 // of its id; 0: not known. A ResourceManager keeps some lists in the order of a hash over name and port
	Total unit.Resources
	Free  unit.Resources // kept by the scheduler
}

// Container is room on a node that an application holds.
type Container struct {
	App      *App
	Node     *Node
	ID       int64 // order of allocation, or of the reservation that it was given out of
	Priority int32
	Size     unit.Resources // after rounding
	Near     policy.Near
	Master   bool
	At       unit.Time // allocated
	// Launched is set by the engine when the node has told that it runs. The room of a launched container that is taken away
	// or given back early returns only when its node reports the end.
	Launched bool
	// Acquired is set by the engine when the application's master has heard of it. A ResourceManager asks anew, by itself, for a container
	// that it takes away before that: the application does not know that it had it.
	Acquired bool
	Done     bool      // set by the engine when its work is done: it did not fail, and was not taken away
	Worked   unit.Time // set with it: how long the task did its own work

	Slot int32 // for the scheduler's own use
	Gone bool  // given back to the queue; kept by the scheduler
}

// Notice is what a scheduler decided outside of any node's report.
type Notice struct {
	Warned []*Container // their applications are told that they may lose them
	Killed []*Container // taken away now; already given back to the queue
}

// Scheduler decides. The engine calls Added and then Asked with the request for the master (unless it is unmanaged); Asked
// at every call of the application's master; Ended as nodes report ends; Beat after them, once for each report; and Removed
// when the application is gone.
type Scheduler interface {
	// NodeAdded and NodeRemoved change the cluster. Containers on a removed node must have been Ended.
	NodeAdded(n *Node, now unit.Time)
	NodeRemoved(n *Node, now unit.Time)

	// Added submits an application. An error refuses it.
	Added(a *App, now unit.Time) error
	// Asked changes what an application wants, and gives back containers that it does not want. An error means that it asked
	// for more than any container may have: nothing has changed then.
	Asked(a *App, asks []Ask, release []*Container, now unit.Time) error
	// Removed takes an application away: all it still holds is given back, its reservations are dropped. Containers that
	// were launched keep their room until Ended.
	Removed(a *App, now unit.Time)

	// Ended says that a container's room on its node is free: its node reported its end. It is given back to the queue too,
	// unless that has happened already.
	Ended(c *Container, now unit.Time)
	// Beat serves one node, after the ends that it reported. The answer is valid until the next call.
	Beat(n *Node, now unit.Time) []*Container

	// Every is how often Round wants to be called: the period of the preemption monitor, or of the fair shares' update. 0: never.
	Every() unit.Time
	Round(now unit.Time) Notice

	// Headroom is what the application is told that it could still get.
	Headroom(a *App) unit.Resources
	// Used is what the application holds.
	Used(a *App) unit.Resources
	// Leaf is the full path of the queue that the application is in.
	Leaf(a *App) string
	// Minimum is the smallest container, and the step that sizes are rounded to; Maximum the largest that may be asked for.
	Minimum() unit.Resources
	Maximum() unit.Resources
	// NotModelled lists settings that were read and have no effect.
	NotModelled() []string
}

// Foreseer is implemented by schedulers that go by what only a simulator knows.
type Foreseer interface {
	// Foresee hands over the sizes of applications, the time that all their tasks will work, before the first one.
	Foresee(size func(a *App) unit.Time)
}

// Knobs is implemented by schedulers that can be changed while they run.
type Knobs interface {
	SetPriority(a *App, priority int, now unit.Time)
	Move(a *App, queue string, now unit.Time) error
	// SetQueue sets a queue's named property and returns its old value. NaN changes nothing.
	SetQueue(queue, property string, value float64, now unit.Time) (old float64, err error)
}

// Gauges is implemented by schedulers that can tell what a ResourceManager shows of their queues and applications.
type Gauges interface {
	// Gauges appends one for each leaf queue that there is, in no particular order.
	Gauges(to []policy.Gauge) []policy.Gauge
	// Active says whether an application is counted as active, and not as pending.
	Active(a *App) bool
	// MasterOf is the size that an application's master has, or will have, after rounding. Zero: it is unmanaged.
	MasterOf(a *App) unit.Resources
}
