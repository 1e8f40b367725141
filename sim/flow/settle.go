package flow

// settle works in all that changed since it was last called.
func (n *Network) settle() {
	if !n.unsettled {
		return
	}
	n.unsettled = false
	for _, ci := range n.changed {
		c := &n.classes[ci]
		c.changed = false
		weight := float64(len(c.members)) * c.weight
		switch {
		case weight == 0:
			if c.place >= 0 {
				n.exit(ci)
			}
			if c.users == 0 {
				n.forget(ci)
			}
		case c.place < 0:
			n.enter(ci, weight)
		case weight != n.shares[ci].weight:
			n.resize(ci, weight)
		}
	}
	n.changed = n.changed[:0]
	n.iterate()
	for _, ci := range n.moved {
		n.classes[ci].moved = false
		if n.shares[ci].at != unplaced {
			n.attach(ci)
		}
	}
	n.moved = n.moved[:0]
	for _, l := range n.stale {
		n.redue(l)
	}
	n.stale = n.stale[:0]
}

// iterate relaxes links until none is off. Lowest first, a link is seldom relaxed twice. Should rounding ever make two links
// pass the same sliver to and fro, what counts as off grows until they stop.
func (n *Network) iterate() {
	slack := n.slack
	patience := 1000 + 50*len(n.links)
	for turn := 1; len(n.work.key) > 0; turn++ {
		l := n.work.pop()
		n.links[l].queued = false
		n.relax(l)
		if turn%patience == 0 {
			n.slack *= 4
		}
	}
	n.slack = slack
}
