package flow

import "github.com/yardmaster/yardmaster/sim/internal/due"

// link is the hot part of a link, for settling rates: one cache line, since touching these takes most of the time.
//
// A link is watched or loose (see watch). Of the bundles that cross a watched one, it holds some back and the others pass it,
// held back elsewhere. Between two events
//
//	level  is the rate over weight of every bundle it holds back, and no bundle that passes has a higher one;
//	weight is the sum of the former's weights, passing the sum of the latter's rates.
type link struct {
	capacity  float64
	level     float64 // +Inf: it holds nothing back
	weight    float64
	passing   float64
	top       float64 // no bundle that passes has a higher level than this
	accrued   float64 // the instant up to which carried counts
	carried   float64 // bytes, if it is watched
	held      int32   // how many bundles it holds back: the first of port.bundles
	watched   bool
	queued    bool
	congested bool // its load was at the threshold when last checked
}

// port is the cold part of a link.
type port struct {
	name    string
	bundles []entry // the bundles that cross it, if it is watched; those it holds back come first
	crossed []entry // the classes that cross it

	clock float64 // integral of the level, up to since
	since float64
	heap  due.Heap // bundles it holds back, by the clock's reading when the first flow of each finishes
	stale bool     // its first finish must be recomputed
	age   int32    // updates of its sums since they were last recomputed

	wanted  bool    // it is to be watched
	idle    bool    // it may hold nothing back though it is watched
	maxLoad float64 // if it is loose: upper bound of its load while no bundle rises above its guard
	gone    float64 // if it is loose: bytes carried besides those of the classes that cross it

	crossings int64 // see Crossings
}

// entry is a bundle or a class on a link, and where it records its position in the link's list.
type entry struct {
	item int32
	hop  int32
}

// load is the current load of a watched link.
func (k *link) load() float64 {
	if k.held == 0 {
		return k.passing
	}
	return k.passing + k.weight*k.level
}

// swap swaps two bundles.
func (n *Network) swap(p *port, i, j int32) {
	if i == j {
		return
	}
	a, b := p.bundles[i], p.bundles[j]
	p.bundles[i], p.bundles[j] = b, a
	n.bundlePos[b.hop], n.bundlePos[a.hop] = i, j
}

// hold moves the bundle at pos to those the link holds back.
func (n *Network) hold(l, pos int32) {
	k := &n.links[l]
	n.swap(&n.ports[l], pos, k.held)
	k.held++
}

// pass moves the bundle at pos to those that pass.
func (n *Network) pass(l, pos int32) {
	k := &n.links[l]
	k.held--
	n.swap(&n.ports[l], pos, k.held)
}
