package flow

import (
	"fmt"
	"math"
	"slices"
)

// release frees a flow's ID.
func (n *Network) release(id ID) {
	f := &n.flows[id]
	if f.class >= 0 {
		n.class[f.class].users--
		n.touch(f.class)
	}
	n.pos[id] = unused
	n.free = append(n.free, id)
}

// readyUp adds a flow to those that finish at the current instant.
func (n *Network) readyUp(id ID) {
	n.pos[id] = readied
	i := len(n.ready)
	for i > n.notified && n.flows[n.ready[i-1]].start > n.flows[id].start {
		i--
	}
	n.ready = slices.Insert(n.ready, i, id)
}

func (n *Network) unready(id ID) {
	i := n.notified + slices.Index(n.ready[n.notified:], id)
	n.ready = slices.Delete(n.ready, i, i+1)
}

// Next is the earliest finish at current rates; not ok: no flow will finish unless something changes.
func (n *Network) Next() (instant float64, ok bool) {
	if n.notified < len(n.ready) {
		return n.now, true
	}
	n.settle()
	instant = n.firstDue()
	return max(instant, n.now), !math.IsInf(instant, 1)
}

// Advance moves to an instant and calls done for each flow that finishes by then, in order of finish and, at one instant, of
// start. done may start, stop and lengthen flows; a flow's ID is free before done is called for it.
func (n *Network) Advance(end float64, done func(id ID, data uint64)) {
	if end < n.now {
		panic(fmt.Sprintf("flow: advance from %v back to %v", n.now, end))
	}
	for {
		instant, ok := n.Next()
		if !ok || instant > end {
			break
		}
		n.now = instant
		if n.notified == len(n.ready) {
			n.collect()
		}
		for n.notified < len(n.ready) {
			id := n.ready[n.notified]
			n.notified++
			data := n.flows[id].data
			n.release(id)
			if done != nil {
				done(id, data)
			}
		}
		n.ready, n.notified = n.ready[:0], 0
	}
	n.now = end
}

// sameInstant is the relative distance within which two finishes count as simultaneous, to absorb rounding. Without it flows
// that finish together would be settled one by one.
const sameInstant = 1e-14

// collect moves every flow that finishes now from its class to ready.
func (n *Network) collect() {
	until := n.now + n.now*sameInstant
	for n.firstDue() <= until {
		l := n.due[0].ID
		p, level := &n.ports[l], n.links[l].level
		limit := p.heap[0].At // rounding must not delay the first one
		if level > 0 {
			limit = max(limit, p.clock+level*(until-p.since))
		}
		for len(p.heap) > 0 && p.heap[0].At <= limit {
			n.collectBundle(p.heap[0].ID, limit)
		}
		n.redue(l)
	}
	slices.SortFunc(n.ready, func(a, b ID) int { return int(n.flows[a].start - n.flows[b].start) })
}

// collectBundle is collect for a bundle, up to a reading of its link's clock that is reached now.
func (n *Network) collectBundle(bi int32, limit float64) {
	w := &n.bundlesCold[bi]
	limit = w.clock + w.times*(limit-w.start)
	for first := true; first || w.classes[0].At <= limit; first = false {
		ci := w.classes[0].ID
		c := &n.class[ci]
		if len(c.members) == 0 {
			break
		}
		n.tally(c)
		served := c.base + c.weight*(limit-c.start)
		for first := true; len(c.members) > 0 && (first || c.members[0].At <= served); first = false {
			id := ID(c.members[0].ID)
			c.members.Remove(n.pos, 0)
			n.flows[id].left = 0
			n.pos[id] = readied
			n.ready = append(n.ready, id)
		}
		n.touch(ci)
		n.reorder(ci)
	}
}
