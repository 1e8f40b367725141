package flow

import "math"

// Most links of a large network are never full. A link that certainly is not full does not affect rates: it is loose, and only
// the others are watched. Flows that cross the same watched links are equivalent, wherever else they go, and form one bundle.
// To be certain that a loose link is not full, every bundle has a guard, somewhat above its level; a link is loose as long as
// its flows, each at its bundle's guard, stay below its capacity (and below the congestion threshold). When a bundle rises
// above its guard, it gets a higher one, and loose links that might then be full are watched.

const (
	guarded = 1.5  // a new guard, relative to the level
	lax     = 2.25 // above this a guard is eventually lowered
	calm    = 0.8  // a link is unwatched when its bound is below this share of the limit
)

// bar is the limit of a loose link's bound, with a margin for rounding: bounds are updated incrementally.
func (n *Network) bar(l int32) float64 { return n.links[l].capacity * n.threshold * 0.999 }

// bound adds to the bounds of a class's loose links.
func (n *Network) bound(c *class, more float64) {
	for _, l := range n.path(c) {
		if n.links[l].watched {
			continue
		}
		p := &n.ports[l]
		p.maxLoad += more
		if p.maxLoad >= n.bar(l) {
			n.want(l)
		}
	}
}

// want notes that a link must be watched.
func (n *Network) want(l int32) {
	if p := &n.ports[l]; !p.wanted {
		p.wanted = true
		n.wanted = append(n.wanted, l)
	}
}

// unguard notes that a bundle is above its guard.
func (n *Network) unguard(bi int32, b *bundle) {
	b.guard = math.Inf(1)
	n.risen = append(n.risen, bi)
}

// guard gives a bundle that rose over its guard a higher one.
func (n *Network) guard(bi int32) {
	b, w := &n.bundle[bi], &n.bundlesCold[bi]
	if len(w.classes) == 0 {
		return
	}
	b.guard = w.guard
	if b.level <= w.guard {
		return
	}
	b.guard = min(b.limit, b.level*guarded)
	more := b.guard - w.guard
	w.guard = b.guard
	for _, x := range w.classes {
		c := &n.class[x.ID]
		n.bound(c, c.all*more)
	}
}

// watchOne ensures that something bounds a class's level: a limit, or a watched link.
func (n *Network) watchOne(c *class) {
	if !math.IsInf(c.limit, 1) {
		return
	}
	minShare, tightest := math.Inf(1), int32(0)
	for _, l := range n.path(c) {
		if n.links[l].watched {
			return
		}
		if x := n.links[l].capacity / float64(len(n.ports[l].crossed)); x < minShare {
			minShare, tightest = x, l
		}
	}
	n.watch(tightest)
}

// watch makes a loose link a watched one. The classes that cross it move to other bundles.
func (n *Network) watch(l int32) {
	k, p := &n.links[l], &n.ports[l]
	p.wanted = false
	if k.watched {
		return
	}
	k.carried, k.accrued = n.looseSum(p), n.now
	k.watched, k.congested = true, false
	n.idle(l)
	for _, e := range p.crossed {
		if n.class[e.item].bundle >= 0 {
			n.refit(e.item)
		}
	}
}

// unwatch makes a link loose that holds nothing back.
func (n *Network) unwatch(l int32) {
	k, p := &n.links[l], &n.ports[l]
	n.accrue(l, k)
	k.watched, k.congested = false, false
	p.gone = 0
	p.gone = k.carried - n.looseSum(p)
	for _, e := range p.crossed {
		n.refit(e.item)
	}
}

// idle notes that a watched link holds nothing back.
func (n *Network) idle(l int32) {
	if p := &n.ports[l]; !p.idle {
		p.idle = true
		n.idlers = append(n.idlers, l)
	}
}

// loosen unwatches links that hold nothing back and are far from full.
func (n *Network) loosen() {
	idlers := n.idlers
	n.idlers = n.spare[:0]
	for _, l := range idlers {
		k, p := &n.links[l], &n.ports[l]
		p.idle = false
		if !k.watched || k.held > 0 {
			continue
		}
		bound := 0.0
		for _, e := range p.crossed {
			c := &n.class[e.item]
			bound += c.all * n.bundlesCold[c.bundle].guard
		}
		if p.maxLoad = bound; bound < calm*n.bar(l) {
			n.unwatch(l)
			continue
		}
		n.idle(l)
	}
	n.spare = idlers
}

// tighten lowers needlessly high guards, and recomputes the bounds of all loose links.
func (n *Network) tighten() {
	for i := range n.ports {
		n.ports[i].maxLoad = 0
	}
	for _, ci := range n.active {
		c := &n.class[ci]
		b, w := &n.bundle[c.bundle], &n.bundlesCold[c.bundle]
		if w.guard > lax*b.level {
			w.guard = guarded * b.level
			b.guard = w.guard
		}
		for _, l := range n.path(c) {
			n.ports[l].maxLoad += c.all * w.guard
		}
	}
}
