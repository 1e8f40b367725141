package flow

import (
	"fmt"
	"math"
	"slices"
)

// Link is one direction of a cable or of a port, by its number of creation.
type Link int32

// ID names a flow from its start until it is finished or stopped; it is in use again afterwards.
type ID int32

// Options are what a flow may have beyond a path and bytes.
type Options struct {
	Weight float64 // its share beside others is proportional to it; 0: 1
	Cap    float64 // it never goes faster (bytes/s); 0: no limit of its own
	Data   uint64  // handed back when it finishes
}

// Network is a set of links and the flows on them at one instant.
type Network struct {
	now       float64
	slack     float64 // how far a link may be from its capacity, relative to what it holds back
	window    float64
	threshold float64

	links   []link // 0 stands for the flows' own limits, with a level of 1; Link l is l+1
	ports   []port
	classes []class
	shares  []share // by class
	long    []int32 // the links of all classes, each class's one after the other
	pos     []int32 // beside long: the class's place on that link
	index   index
	idle    [][]int32 // classes not in use, by length of path
	active  []int32   // classes that have a place on their links
	sought  []int32   // the path whose class is looked for

	flows  []flow
	free   []ID
	starts int64 // flows started so far: the order of ties
	ready  []ID  // flows that carry nothing more, to be told at the present instant, in order of start
	told   int   // how many of ready were told

	unsettled bool
	changed   []int32 // classes whose number of flows changed since rates were settled
	work      work
	moved     []int32 // classes that another link holds back now
	over      []int32 // classes a link takes
	stale     []int32 // links whose first finish changed
	due       dues
}

type flow struct {
	class int32
	pos   int32 // in its class's heap; or one of the states below
	start int64
	left  float64 // while it has no class
	data  uint64
}

const (
	unused int32 = -1 - iota
	readied
)

// New gives an empty network at instant 0.
func New() *Network {
	n := &Network{}
	n.Threshold(1)
	n.Tolerance(0)
	n.links = append(n.links, link{capacity: math.Inf(1), level: 1})
	n.ports = append(n.ports, port{due: -1})
	return n
}

// AddLink adds a link with its capacity in bytes a second.
func (n *Network) AddLink(name string, bytesPerSecond float64) Link {
	checkCapacity(bytesPerSecond)
	n.links = append(n.links, link{capacity: bytesPerSecond, level: math.Inf(1), seen: n.now})
	n.ports = append(n.ports, port{name: name, since: n.now, resized: n.now, due: -1})
	return Link(len(n.links) - 2)
}

// Links is the number of links.
func (n *Network) Links() int { return len(n.links) - 1 }

// Name is the name a link was given.
func (n *Network) Name(l Link) string { return n.ports[l+1].name }

// Capacity is a link's present capacity.
func (n *Network) Capacity(l Link) float64 { return n.links[l+1].capacity }

// SetCapacity changes a link's capacity from now on. At 0 the flows that cross it stand still.
func (n *Network) SetCapacity(l Link, bytesPerSecond float64) {
	checkCapacity(bytesPerSecond)
	k, p := &n.links[l+1], &n.ports[l+1]
	if k.capacity == bytesPerSecond {
		return
	}
	n.settle()
	n.see(int32(l)+1, k)
	p.offered += k.capacity * (n.now - p.resized)
	p.resized = n.now
	k.capacity = bytesPerSecond
	n.check(int32(l)+1, k)
	n.unsettled = true
}

func checkCapacity(capacity float64) {
	if !(capacity >= 0) || math.IsInf(capacity, 1) {
		panic(fmt.Sprintf("flow: a capacity of %v bytes/s", capacity))
	}
}

// Tolerance sets how far a level may be from its exact value before the change is passed on. 0, the default: every rate is exact.
func (n *Network) Tolerance(eps float64) {
	if !(eps >= 0 && eps < 1) {
		panic(fmt.Sprintf("flow: a tolerance of %v", eps))
	}
	n.slack = max(eps, 1e-12)
}

// Now is the instant the network is at, in seconds.
func (n *Network) Now() float64 { return n.now }

// Flows is the number of flows under way.
func (n *Network) Flows() int { return len(n.flows) - len(n.free) }

// Start adds a flow of so many bytes over a path that names no link twice. A flow with nothing to carry, or with neither
// path nor limit, finishes at this instant: at the next Advance.
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
		n.flows = append(n.flows, flow{})
	}
	f := &n.flows[id]
	*f = flow{class: -1, start: n.starts, data: o.Data}
	if len(path) > 0 || !math.IsInf(o.Cap, 1) {
		f.class = n.classOf(path, o.Weight, o.Cap)
		n.classes[f.class].users++
	}
	if bytes == 0 || f.class < 0 {
		f.left = bytes
		n.readyUp(id)
		return id
	}
	n.join(id, bytes)
	return id
}

// Add gives a flow more to carry.
func (n *Network) Add(id ID, bytes float64) {
	if !(bytes >= 0) || math.IsInf(bytes, 1) {
		panic(fmt.Sprintf("flow: %v more bytes", bytes))
	}
	f := n.flow(id)
	switch {
	case bytes == 0:
	case f.pos != readied:
		n.lengthen(id, bytes)
	case f.class < 0:
		f.left += bytes
	default:
		n.unready(id)
		n.join(id, bytes)
	}
}

// Stop ends a flow before it is finished and says what it had left to carry.
func (n *Network) Stop(id ID) (left float64) {
	f := n.flow(id)
	if f.pos == readied {
		left = f.left
		n.unready(id)
	} else {
		left = n.Left(id)
		n.leave(id)
	}
	n.release(id)
	return left
}

// Left is what a flow has left to carry now.
func (n *Network) Left(id ID) float64 {
	f := n.flow(id)
	if f.pos == readied {
		return f.left
	}
	c := &n.classes[f.class]
	return max(0, c.members[f.pos].upTo-n.served(c))
}

// Rate is a flow's present rate in bytes a second.
func (n *Network) Rate(id ID) float64 {
	f := n.flow(id)
	if f.class < 0 {
		return math.Inf(1)
	}
	if f.pos == readied {
		return 0
	}
	n.settle()
	c := &n.classes[f.class]
	return c.times * n.links[c.at].level
}

// Data is what the flow was started with.
func (n *Network) Data(id ID) uint64 { return n.flow(id).data }

func (n *Network) flow(id ID) *flow {
	f := &n.flows[id]
	if f.pos == unused {
		panic(fmt.Sprintf("flow: flow %d is not under way", id))
	}
	return f
}

// release gives a flow's number back.
func (n *Network) release(id ID) {
	f := &n.flows[id]
	if f.class >= 0 {
		n.classes[f.class].users--
		n.touch(f.class)
	}
	f.pos = unused
	n.free = append(n.free, id)
}

// readyUp puts a flow among those that finish at the present instant.
func (n *Network) readyUp(id ID) {
	f := &n.flows[id]
	f.pos = readied
	i := len(n.ready)
	for i > n.told && n.flows[n.ready[i-1]].start > f.start {
		i--
	}
	n.ready = slices.Insert(n.ready, i, id)
}

func (n *Network) unready(id ID) {
	i := n.told + slices.Index(n.ready[n.told:], id)
	n.ready = slices.Delete(n.ready, i, i+1)
}

// Next is the earliest finish as things stand; not ok: no flow will finish unless something changes.
func (n *Network) Next() (at float64, ok bool) {
	if n.told < len(n.ready) {
		return n.now, true
	}
	n.settle()
	at = n.due.first()
	return max(at, n.now), !math.IsInf(at, 1)
}

// Advance moves to an instant and calls done for each flow that finishes up to then, in order of their finish and, at one
// instant, of their start. In done, flows may be started, stopped and lengthened; a flow's ID is free before done hears of it.
func (n *Network) Advance(to float64, done func(id ID, data uint64)) {
	if to < n.now {
		panic(fmt.Sprintf("flow: from instant %v back to %v", n.now, to))
	}
	for {
		at, ok := n.Next()
		if !ok || at > to {
			break
		}
		n.now = at
		if n.told == len(n.ready) {
			n.collect()
		}
		for n.told < len(n.ready) {
			id := n.ready[n.told]
			n.told++
			data := n.flows[id].data
			n.release(id)
			if done != nil {
				done(id, data)
			}
		}
		n.ready, n.told = n.ready[:0], 0
	}
	n.now = to
}

// sameInstant is the relative distance at which two finishes count as one: what rounding can do to equal ones. Without it
// flows that finish together would be settled one by one.
const sameInstant = 1e-14

// collect moves every flow that finishes now from its class to ready.
func (n *Network) collect() {
	until := n.now + n.now*sameInstant
	for n.due.first() <= until {
		l := n.due.link[0]
		p, level := &n.ports[l], n.links[l].level
		limit := n.classes[p.heap[0]].due // rounding must not keep the first one waiting
		if level > 0 {
			limit = max(limit, p.clock+level*(until-p.since))
		}
		for len(p.heap) > 0 {
			ci := p.heap[0]
			c := &n.classes[ci]
			if c.due > limit {
				break
			}
			served := c.base + c.times*(limit-c.from)
			for first := true; len(c.members) > 0 && (first || c.members[0].upTo <= served); first = false {
				id := c.members[0].id
				n.remove(c, 0)
				n.flows[id].left = 0
				n.flows[id].pos = readied
				n.ready = append(n.ready, id)
			}
			n.touch(ci)
			n.reorder(ci)
		}
		n.redue(l)
	}
	slices.SortFunc(n.ready, func(a, b ID) int { return int(n.flows[a].start - n.flows[b].start) })
}
