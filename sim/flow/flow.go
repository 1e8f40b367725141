package flow

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/sim/internal/due"
)

// Link is one direction of a cable or of a port, by its number of creation.
type Link int32

// ID identifies a flow from its start until it finishes or is stopped; it is reused afterwards.
type ID int32

// Options are a flow's settings beyond path and bytes.
type Options struct {
	Weight float64 // its share is proportional to it; 0: 1
	Cap    float64 // max rate (bytes/s); 0: none
	Data   uint64  // handed back when it finishes
}

// Network is a set of links and the flows on them at one instant.
type Network struct {
	now       float64
	slack     float64 // allowed distance of a link from its capacity, relative to what it holds back
	threshold float64

	links []link // 0 stands for the flows' own limits, with a level of 1; Link l is l+1
	ports []port // parallel to links

	class    []class
	spot     []int32 // by class: its position in the bundle's heap
	classes  numbers
	paths    []int32 // the links of all classes, concatenated
	classPos []int32 // parallel to paths: the class's position in the link's list
	active   []int32 // classes on their links

	bundle      []bundle
	bundlesCold []bundleCold // parallel to bundle
	heapPos     []int32      // parallel to bundle: its position in the heap of the link whose clock it follows
	bundles     numbers
	legs        []int32 // the watched links of all bundles
	bundlePos   []int32 // parallel to legs: the bundle's position in the link's list

	sought     []int32 // the links of the class or bundle searched for
	soughtHash uint64

	flows    []flow
	pos      []int32 // by flow: its position in its class's heap; or one of the states below
	free     []ID
	starts   int64 // flows started so far, to break ties
	ready    []ID  // finished flows, to be reported at the current instant, in order of start
	notified int   // how many of ready were reported

	unsettled bool
	changed   []int32  // classes whose number of flows changed since rates were settled
	work      due.Heap // links whose level must be recomputed, lowest first
	workPos   []int32
	wanted    []int32  // links to be watched
	risen     []int32  // bundles over their guard
	moved     []int32  // bundles now held back by another link
	taken     []int32  // bundles a link takes
	stale     []int32  // links whose first finish changed
	due       due.Heap // links, by the instant of the first finish among the flows they hold back
	duePos    []int32
	idlers    []int32 // watched links that may hold nothing back
	spare     []int32 // memory for the next list of them

	settled     int // how often rates were settled
	loosenAfter int
	tightenAt   int
	manyIdlers  int // beyond this number, links are unwatched at once
}

type flow struct {
	class int32
	start int64
	left  float64 // while it has no class
	data  uint64
}

const (
	unused int32 = -1 - iota
	readied
)

// New returns an empty network at instant 0.
func New() *Network {
	n := &Network{loosenAfter: 64}
	n.Threshold(1)
	n.Tolerance(0)
	n.links = append(n.links, link{capacity: math.Inf(1), level: 1})
	n.ports, n.duePos, n.workPos = append(n.ports, port{}), append(n.duePos, -1), append(n.workPos, -1)
	return n
}

// AddLink adds a link with its capacity in bytes per second.
func (n *Network) AddLink(name string, bytesPerSecond float64) Link {
	checkCapacity(bytesPerSecond)
	n.links = append(n.links, link{capacity: bytesPerSecond, level: math.Inf(1), accrued: n.now})
	n.ports, n.duePos, n.workPos = append(n.ports, port{name: name, since: n.now}), append(n.duePos, -1), append(n.workPos, -1)
	return Link(len(n.links) - 2)
}

// Links is the number of links.
func (n *Network) Links() int { return len(n.links) - 1 }

// Name is a link's name.
func (n *Network) Name(l Link) string { return n.ports[l+1].name }

// Capacity is a link's current capacity.
func (n *Network) Capacity(l Link) float64 { return n.links[l+1].capacity }

// SetCapacity changes a link's capacity from now on. At 0 the flows that cross it stall.
func (n *Network) SetCapacity(l Link, bytesPerSecond float64) {
	checkCapacity(bytesPerSecond)
	k, p := &n.links[l+1], &n.ports[l+1]
	if k.capacity == bytesPerSecond {
		return
	}
	n.settle()
	n.unsettled = true
	if !k.watched {
		k.capacity = bytesPerSecond
		if len(p.crossed) > 0 && p.maxLoad >= n.bar(int32(l)+1) {
			n.want(int32(l) + 1)
		}
		return
	}
	n.accrue(int32(l)+1, k)
	k.capacity = bytesPerSecond
	n.check(int32(l)+1, k)
}

func checkCapacity(capacity float64) {
	if !(capacity >= 0) || math.IsInf(capacity, 1) {
		panic(fmt.Sprintf("flow: a capacity of %v bytes/s", capacity))
	}
}

// Tolerance sets how far a level may be from its exact value before the change is propagated. 0, the default: every rate is exact.
func (n *Network) Tolerance(eps float64) {
	if !(eps >= 0 && eps < 1) {
		panic(fmt.Sprintf("flow: a tolerance of %v", eps))
	}
	n.slack = max(eps, 1e-12)
}

// Now is the network's current time, in seconds.
func (n *Network) Now() float64 { return n.now }

// Flows is the number of active flows.
func (n *Network) Flows() int { return len(n.flows) - len(n.free) }

// Start adds a flow over a path that names no link twice. A flow of 0 bytes, or with neither path nor limit, finishes at
// this instant: at the next Advance.
func (n *Network) Start(path []Link, bytes float64, o Options) ID {
	if !(bytes >= 0) || !(o.Weight >= 0) || !(o.Cap >= 0) || math.IsInf(bytes, 1) || math.IsInf(o.Weight, 1) {
		panic(fmt.Sprintf("flow: a flow of %v bytes, weight %v, at most %v bytes/s", bytes, o.Weight, o.Cap))
	}
	if o.Weight == 0 {
		o.Weight = 1
	}
	if o.Cap == 0 {
		o.Cap = math.Inf(1)
	}
	n.starts++
	var id ID
	if k := len(n.free); k > 0 {
		id, n.free = n.free[k-1], n.free[:k-1]
	} else {
		id = ID(len(n.flows))
		n.flows, n.pos = append(n.flows, flow{}), append(n.pos, unused)
	}
	f := &n.flows[id]
	*f = flow{class: -1, start: n.starts, data: o.Data}
	if len(path) > 0 || !math.IsInf(o.Cap, 1) {
		f.class = n.classOf(path, o.Weight, o.Cap)
		n.class[f.class].users++
	}
	if bytes == 0 || f.class < 0 {
		f.left = bytes
		n.readyUp(id)
		return id
	}
	n.join(id, bytes)
	return id
}

// Add adds bytes to a flow.
func (n *Network) Add(id ID, bytes float64) {
	if !(bytes >= 0) || math.IsInf(bytes, 1) {
		panic(fmt.Sprintf("flow: %v more bytes", bytes))
	}
	f := n.flow(id)
	switch {
	case bytes == 0:
	case n.pos[id] != readied:
		n.lengthen(id, bytes)
	case f.class < 0:
		f.left += bytes
	default:
		n.unready(id)
		n.join(id, bytes)
	}
}

// Stop ends a flow before it finishes and returns the bytes it had left.
func (n *Network) Stop(id ID) (left float64) {
	f := n.flow(id)
	if n.pos[id] == readied {
		left = f.left
		n.unready(id)
	} else {
		left = n.Left(id)
		n.leave(id)
	}
	n.release(id)
	return left
}

// Left is the number of bytes a flow has left.
func (n *Network) Left(id ID) float64 {
	f := n.flow(id)
	if n.pos[id] == readied {
		return f.left
	}
	c := &n.class[f.class]
	return max(0, c.members[n.pos[id]].At-n.served(c))
}

// Rate is a flow's current rate in bytes per second.
func (n *Network) Rate(id ID) float64 {
	f := n.flow(id)
	if f.class < 0 {
		return math.Inf(1)
	}
	if n.pos[id] == readied {
		return 0
	}
	n.settle()
	c := &n.class[f.class]
	b := &n.bundle[c.bundle]
	if b.bottleneck == 0 {
		return c.limit
	}
	return c.weight * b.level
}

func (n *Network) flow(id ID) *flow {
	if n.pos[id] == unused {
		panic(fmt.Sprintf("flow: flow %d is not active", id))
	}
	return &n.flows[id]
}
