package flow

import (
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/sim/internal/due"
)

// bundle is the classes that cross the same watched links and have the same limit on their level: they have the same level
// at all times. This is the hot part: one cache line if few links are watched.
type bundle struct {
	weight     float64 // of all its flows
	level      float64 // rate over weight
	limit      float64 // the level of the flows' own limit
	guard      float64 // the level above which its loose links must be checked; +Inf: a check is pending
	hop        int32   // where its links begin in Network.legs
	length     int32
	bottleneck int32 // the link that holds it back; 0: its own limit
	short      [5]int32
}

// bundleCold is the cold part of a bundle.
type bundleCold struct {
	hash    uint64
	guard   float64  // the level that the bounds of loose links assume
	classes due.Heap // by the clock's reading when the first flow of each finishes
	moved   bool

	follows int32   // the link whose clock it follows; 0: that of its own limit; unplaced
	times   float64 // speed of its clock relative to the link's
	clock   float64 // integral of its level, when the link's clock showed start
	start   float64
}

const unplaced = -1

// legsOf is the watched links a bundle crosses.
func (n *Network) legsOf(b *bundle) []int32 {
	if int(b.length) <= len(b.short) {
		return b.short[:b.length]
	}
	return n.legs[b.hop : b.hop+b.length]
}

// bundleOf finds the bundle of a class for the links watched now; -1: none yet. Either way it leaves the links in
// n.sought.
func (n *Network) bundleOf(c *class) int32 {
	sought := n.sought[:0]
	for _, l := range n.path(c) {
		if n.links[l].watched {
			sought = append(sought, l)
		}
	}
	n.sought = sought
	limit := c.limit / c.weight
	n.soughtHash = hash(sought, limit, 0)
	return n.bundles.index.find(n.soughtHash, func(bi int32) bool {
		b := &n.bundle[bi]
		return b.limit == limit && slices.Equal(n.legsOf(b), sought)
	})
}

// newBundle makes the bundle that bundleOf did not find, not yet on its links.
func (n *Network) newBundle(c *class) int32 {
	bi, fresh := n.bundles.take(len(n.sought))
	if fresh {
		n.bundle = append(n.bundle, bundle{hop: int32(len(n.legs)), length: int32(len(n.sought))})
		n.bundlesCold = append(n.bundlesCold, bundleCold{})
		n.heapPos = append(n.heapPos, -1)
		n.legs = append(n.legs, n.sought...)
		n.bundlePos = append(n.bundlePos, n.sought...)
	}
	b, w := &n.bundle[bi], &n.bundlesCold[bi]
	*b = bundle{limit: c.limit / c.weight, hop: b.hop, length: b.length}
	copy(b.short[:], n.sought)
	copy(n.legs[b.hop:b.hop+b.length], n.sought)
	*w = bundleCold{hash: n.soughtHash, classes: w.classes[:0], follows: unplaced}
	n.bundles.index.add(n.soughtHash, bi)
	return bi
}

// list adds a bundle to its links' lists.
func (n *Network) list(bi int32) {
	b := &n.bundle[bi]
	for i, l := range n.legsOf(b) {
		p, h := &n.ports[l], b.hop+int32(i)
		n.bundlePos[h] = int32(len(p.bundles))
		p.bundles = append(p.bundles, entry{bi, h})
	}
}

// arrive adds a new bundle to its links; the one with the lowest level becomes its bottleneck.
func (n *Network) arrive(bi int32, weight float64) {
	n.list(bi)
	b := &n.bundle[bi]
	b.weight, b.level, b.bottleneck = weight, b.limit, 0
	for _, l := range n.legsOf(b) {
		k := &n.links[l]
		level := k.level
		if k.held == 0 {
			level = max(0, k.capacity-k.passing) / weight
		}
		if level < b.level {
			b.level, b.bottleneck = level, l
		}
	}
	for i, l := range n.legsOf(b) {
		k := &n.links[l]
		n.accrue(l, k)
		if l != b.bottleneck {
			k.passing += weight * b.level
			k.top = max(k.top, b.level)
			n.check(l, k)
			continue
		}
		if k.held == 0 {
			n.setLevel(l, b.level)
			n.push(l, k) // of those that pass, some may have more
		}
		k.weight += weight
		n.hold(l, n.bundlePos[b.hop+int32(i)])
		n.check(l, k)
	}
	n.unguard(bi, b)
	n.move(bi)
}

// resize changes a bundle's weight.
func (n *Network) resize(bi int32, more float64) {
	b := &n.bundle[bi]
	b.weight += more
	for _, l := range n.legsOf(b) {
		k := &n.links[l]
		n.accrue(l, k)
		if l == b.bottleneck {
			k.weight += more
		} else {
			k.passing += more * b.level
			k.top = max(k.top, b.level)
		}
		n.check(l, k)
	}
}

// depart removes a bundle from its links and frees it.
func (n *Network) depart(bi int32) {
	b := &n.bundle[bi]
	for i, l := range n.legsOf(b) {
		k, p, pos := &n.links[l], &n.ports[l], &n.bundlePos[b.hop+int32(i)]
		n.accrue(l, k)
		if l == b.bottleneck {
			n.pass(l, *pos)
			n.lose(l, k, b.weight)
		} else {
			k.passing -= b.weight * b.level
		}
		end := int32(len(p.bundles) - 1)
		n.swap(p, *pos, end)
		p.bundles = p.bundles[:end]
		if k.held == end {
			k.passing, k.top = 0, 0
		}
		n.check(l, k)
	}
	n.detach(bi)
	b.level, b.guard = 0, math.Inf(1)
	n.bundles.giveBack(n.bundlesCold[bi].hash, bi, b.length)
}

// fit adds a class to a bundle.
func (n *Network) fit(ci, bi int32, served float64) {
	c, w := &n.class[ci], &n.bundlesCold[bi]
	c.bundle, c.base, c.start = bi, served, n.bundleClock(bi)
	w.classes.Push(n.spot, due.Item{At: c.dueOf(), ID: ci})
	n.reorderBundle(bi)
}

// unfit removes a class from its bundle.
func (n *Network) unfit(ci int32) {
	c := &n.class[ci]
	bi := c.bundle
	w := &n.bundlesCold[bi]
	w.classes.Remove(n.spot, n.spot[ci])
	c.bundle = -1
	if len(w.classes) == 0 {
		n.depart(bi)
	} else {
		n.resize(bi, -c.all)
		n.reorderBundle(bi)
	}
}

// refit moves a class to its bundle for the changed set of watched links. It has the same level.
func (n *Network) refit(ci int32) {
	c := &n.class[ci]
	old := c.bundle
	bi := n.bundleOf(c)
	if bi < 0 {
		bi = n.newBundle(c)
		b, o := &n.bundle[bi], &n.bundle[old]
		b.level, b.bottleneck, b.guard = o.level, o.bottleneck, n.bundlesCold[old].guard
		n.bundlesCold[bi].guard = b.guard
		n.list(bi)
		n.move(bi)
		for i, l := range n.legsOf(b) {
			if l == b.bottleneck {
				n.hold(l, n.bundlePos[b.hop+int32(i)])
			}
		}
		if b.level > b.guard {
			n.unguard(bi, b)
		}
	}
	if more := n.bundlesCold[bi].guard - n.bundlesCold[old].guard; more != 0 {
		n.bound(c, c.all*more)
	}
	n.resize(bi, c.all)
	served := n.served(c)
	n.unfit(ci)
	n.fit(ci, bi, served)
}
