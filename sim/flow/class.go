package flow

import (
	"slices"

	"github.com/yardmaster/yardmaster/sim/internal/due"
)

// class is the flows on one path with one weight and one limit: they have the same rate at all times. What each of them
// has been served since the class began is therefore one number, and a flow is finished when that number reaches the one
// it was at when the flow joined plus the flow's bytes.
type class struct {
	hash    uint64
	weight  float64 // of one flow
	limit   float64 // of one flow
	hop     int32   // where its path begins in Network.paths
	length  int32
	users   int32 // flows that hold it, including those that finish at this instant
	place   int32 // index in active; -1: absent
	bundle  int32
	changed bool

	all  float64 // weight of all its flows, as its bundle knows it
	sum  float64 // total bytes its flows had carried when each had been served last
	last float64

	base  float64 // what each flow was served when the bundle's clock showed start
	start float64

	members due.Heap // its flows, by what each must have been served, then by start
}

func (n *Network) path(c *class) []int32 { return n.paths[c.hop : c.hop+c.length] }

// classOf finds or makes the class of a path.
func (n *Network) classOf(path []Link, weight, limit float64) int32 {
	sought := n.sought[:0]
	for i, l := range path {
		if slices.Contains(path[:i], l) {
			panic("flow: a path that crosses " + n.Name(l) + " twice")
		}
		sought = append(sought, int32(l)+1)
	}
	n.sought = sought
	h := hash(sought, weight, limit)
	if ci := n.classes.index.find(h, func(ci int32) bool {
		c := &n.class[ci]
		return c.weight == weight && c.limit == limit && slices.Equal(n.path(c), sought)
	}); ci >= 0 {
		return ci
	}
	ci, fresh := n.classes.take(len(path))
	if fresh {
		n.spot = append(n.spot, -1)
		n.class = append(n.class, class{hop: int32(len(n.paths)), length: int32(len(path))})
		n.paths = append(n.paths, sought...)
		n.classPos = append(n.classPos, sought...)
	}
	c := &n.class[ci]
	*c = class{hash: h, weight: weight, limit: limit, hop: c.hop, length: c.length, place: -1, bundle: -1,
		members: c.members[:0]}
	copy(n.path(c), sought)
	n.classes.index.add(h, ci)
	return ci
}

// numbers allocates the numbers of classes or of bundles. A freed one is reused for a path of the same length.
type numbers struct {
	index index
	idle  [][]int32
	next  int32
}

func (x *numbers) take(length int) (item int32, fresh bool) {
	for len(x.idle) <= length {
		x.idle = append(x.idle, nil)
	}
	if free := x.idle[length]; len(free) > 0 {
		x.idle[length] = free[:len(free)-1]
		return free[len(free)-1], false
	}
	x.next++
	return x.next - 1, true
}

func (x *numbers) giveBack(h uint64, item, length int32) {
	x.index.remove(h, item)
	x.idle[length] = append(x.idle[length], item)
}

func (n *Network) touch(ci int32) {
	if c := &n.class[ci]; !c.changed {
		c.changed = true
		n.changed = append(n.changed, ci)
		n.unsettled = true
	}
}

// served is what each flow of a class has been served up to now.
func (n *Network) served(c *class) float64 {
	if c.bundle < 0 {
		return 0
	}
	return c.base + c.weight*(n.bundleClock(c.bundle)-c.start)
}

// tally sums what a class's flows have carried, before their number changes, and returns what each has been served.
func (n *Network) tally(c *class) float64 {
	served := n.served(c)
	c.sum += float64(len(c.members)) * (served - c.last)
	c.last = served
	return served
}

// join adds a flow to its class.
func (n *Network) join(id ID, bytes float64) {
	f := &n.flows[id]
	c := &n.class[f.class]
	served := n.tally(c)
	c.members.Push(n.pos, due.Item{At: served + bytes, Tie: f.start, ID: int32(id)})
	n.touch(f.class)
	if n.pos[id] == 0 {
		n.reorder(f.class)
	}
}

// lengthen adds bytes to a flow.
func (n *Network) lengthen(id ID, bytes float64) {
	ci, i := n.flows[id].class, n.pos[id]
	members := n.class[ci].members
	members.Set(n.pos, i, members[i].At+bytes)
	if i == 0 {
		n.reorder(ci)
	}
}

// leave removes a flow from its class before its end.
func (n *Network) leave(id ID) {
	f := &n.flows[id]
	c := &n.class[f.class]
	first := n.pos[id] == 0
	n.tally(c)
	c.members.Remove(n.pos, n.pos[id])
	n.touch(f.class)
	if first {
		n.reorder(f.class)
	}
}

// enter adds a class to its links and its bundle.
func (n *Network) enter(ci int32, weight float64) {
	c := &n.class[ci]
	c.all = weight
	c.place = int32(len(n.active))
	n.active = append(n.active, ci)
	for i, l := range n.path(c) {
		p := &n.ports[l]
		n.classPos[c.hop+int32(i)] = int32(len(p.crossed))
		p.crossed = append(p.crossed, entry{ci, c.hop + int32(i)})
	}
	n.watchOne(c)
	bi := n.bundleOf(c)
	if bi < 0 {
		bi = n.newBundle(c)
		n.arrive(bi, weight)
	} else {
		n.resize(bi, weight)
	}
	n.fit(ci, bi, 0)
	n.bound(c, weight*n.bundlesCold[bi].guard)
}

// recount updates a class's bundle and its loose links after a change of its flows' weight.
func (n *Network) recount(ci int32, weight float64) {
	c := &n.class[ci]
	more := weight - c.all
	c.all = weight
	n.resize(c.bundle, more)
	n.bound(c, more*n.bundlesCold[c.bundle].guard)
}

// exit removes an empty class from its links and its bundle.
func (n *Network) exit(ci int32) {
	c := &n.class[ci]
	last := n.active[len(n.active)-1]
	n.active[c.place] = last
	n.class[last].place = c.place
	n.active = n.active[:len(n.active)-1]
	c.place = -1
	n.bound(c, -c.all*n.bundlesCold[c.bundle].guard)
	for i, l := range n.path(c) {
		p := &n.ports[l]
		pos, end := n.classPos[c.hop+int32(i)], len(p.crossed)-1
		e := p.crossed[end]
		p.crossed[pos] = e
		n.classPos[e.hop] = pos
		p.crossed = p.crossed[:end]
		p.gone += c.sum
		if end == 0 {
			p.maxLoad = 0
		}
	}
	n.unfit(ci)
	c.all, c.sum, c.last = 0, 0, 0
}
