package flow

import (
	"math"

	"github.com/yardmaster/yardmaster/sim/internal/due"
)

// Finishes are found through nested heaps: the flows of a class by what each must have been served, the classes of a bundle by the
// bundle's clock, the bundles that a link holds back by the link's clock, and the links by time. A change of a rate moves one link in
// the last of them, however many flows have that rate.

// clock is the current reading of a link's clock.
func (n *Network) clock(l int32) float64 {
	p := &n.ports[l]
	if len(p.heap) == 0 || n.now == p.since {
		return p.clock
	}
	return p.clock + n.links[l].level*(n.now-p.since)
}

// wind brings a link's clock up to now, before its level changes.
func (n *Network) wind(l int32) {
	p := &n.ports[l]
	if p.since != n.now {
		p.clock = n.clock(l)
		p.since = n.now
	}
}

// setLevel changes a link's level.
func (n *Network) setLevel(l int32, level float64) {
	n.wind(l)
	n.links[l].level = level
	n.overdue(l)
}

// overdue notes that the first finish at a link must be recomputed.
func (n *Network) overdue(l int32) {
	if p := &n.ports[l]; !p.stale {
		p.stale = true
		n.stale = append(n.stale, l)
	}
}

// bundleClock is the current reading of a bundle's clock.
func (n *Network) bundleClock(bi int32) float64 {
	w := &n.bundlesCold[bi]
	if w.follows == unplaced {
		return w.clock
	}
	return w.clock + w.times*(n.clock(w.follows)-w.start)
}

// attach makes a bundle follow the clock of the link that holds it back.
func (n *Network) attach(bi int32) {
	w, l := &n.bundlesCold[bi], n.bundle[bi].bottleneck
	if w.follows == l {
		return
	}
	w.clock = n.bundleClock(bi)
	n.detach(bi)
	p := &n.ports[l]
	if len(p.heap) == 0 && l != 0 {
		p.clock = 0 // a small reading is more precise
	}
	n.wind(l)
	w.follows, w.start, w.times = l, p.clock, 1
	if l == 0 {
		w.times = n.bundle[bi].limit
	}
	p.heap.Push(n.heapPos, due.Item{At: n.dueOf(w), ID: bi})
	n.overdue(l)
}

// detach removes a bundle from the clock it follows.
func (n *Network) detach(bi int32) {
	w := &n.bundlesCold[bi]
	if w.follows == unplaced {
		return
	}
	n.wind(w.follows)
	n.ports[w.follows].heap.Remove(n.heapPos, n.heapPos[bi])
	n.overdue(w.follows)
	w.follows = unplaced
}

func (c *class) dueOf() float64 {
	if len(c.members) == 0 {
		return math.Inf(1)
	}
	return c.start + (c.members[0].At-c.base)/c.weight
}

func (n *Network) dueOf(w *bundleCold) float64 {
	return w.start + (w.classes[0].At-w.clock)/w.times
}

// reorder restores a class's heap position after its first flow changed.
func (n *Network) reorder(ci int32) {
	c := &n.class[ci]
	if c.bundle < 0 {
		return
	}
	n.bundlesCold[c.bundle].classes.Set(n.spot, n.spot[ci], c.dueOf())
	n.reorderBundle(c.bundle)
}

// reorderBundle restores a bundle's heap position after one of its classes changed.
func (n *Network) reorderBundle(bi int32) {
	w := &n.bundlesCold[bi]
	if w.follows == unplaced {
		return
	}
	heap, i, due := n.ports[w.follows].heap, n.heapPos[bi], n.dueOf(w)
	if heap[i].At == due {
		return
	}
	heap.Set(n.heapPos, i, due)
	n.overdue(w.follows)
	n.unsettled = true
}

// redue recomputes when the first flow held back by a link finishes.
func (n *Network) redue(l int32) {
	p := &n.ports[l]
	p.stale = false
	instant := math.Inf(1)
	if len(p.heap) > 0 {
		if left := p.heap[0].At - p.clock; left <= 0 {
			instant = p.since
		} else if level := n.links[l].level; level > 0 {
			instant = p.since + left/level
		}
	}
	if i := n.duePos[l]; i >= 0 {
		n.due.Set(n.duePos, i, instant)
	} else if !math.IsInf(instant, 1) {
		n.due.Push(n.duePos, due.Item{At: instant, ID: l})
	}
}

// firstDue is the instant of the first finish; +Inf: none.
func (n *Network) firstDue() float64 {
	if len(n.due) == 0 {
		return math.Inf(1)
	}
	return n.due[0].At
}
