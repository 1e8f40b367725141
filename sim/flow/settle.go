package flow

// settle applies all changes since the last call.
func (n *Network) settle() {
	if !n.unsettled {
		return
	}
	n.unsettled = false
	n.settled++
	many := len(n.idlers) > n.manyIdlers
	if many || n.settled > n.tightenAt {
		n.tightenAt = n.settled + 4*n.loosenAfter + len(n.active)/2
		n.tighten()
	}
	if many || n.settled%n.loosenAfter == 0 {
		n.loosen()
		n.manyIdlers = 64 + 2*len(n.idlers)
	}
	for _, ci := range n.changed {
		c := &n.class[ci]
		c.changed = false
		weight := float64(len(c.members)) * c.weight
		switch {
		case weight == 0:
			if c.place >= 0 {
				n.exit(ci)
			}
			if c.users == 0 {
				n.classes.giveBack(c.hash, ci, c.length)
			}
		case c.place < 0:
			n.enter(ci, weight)
		case weight != c.all:
			n.recount(ci, weight)
		}
	}
	n.changed = n.changed[:0]
	n.iterate()
	for _, bi := range n.moved {
		if w := &n.bundlesCold[bi]; len(w.classes) > 0 {
			w.moved = false
			n.attach(bi)
		}
	}
	n.moved = n.moved[:0]
	for _, l := range n.stale {
		n.redue(l)
	}
	n.stale = n.stale[:0]
}

// iterate relaxes links until none is inconsistent and every loose link certainly is one. Lowest first, a link is seldom relaxed
// twice. Should rounding ever make two links exchange the same sliver forever, the tolerance grows until they stop.
func (n *Network) iterate() {
	slack := n.slack
	maxTurns := 1000 + 50*len(n.links)
	for turn := 1; ; turn++ {
		switch {
		case len(n.wanted) > 0:
			last := len(n.wanted) - 1
			l := n.wanted[last]
			n.wanted = n.wanted[:last]
			n.watch(l)
		case len(n.work) > 0:
			l := n.work[0].ID
			n.work.Remove(n.workPos, 0)
			k := &n.links[l]
			k.queued = false
			if n.off(k) || k.top > k.level {
				n.relax(l)
			}
		case len(n.risen) > 0:
			last := len(n.risen) - 1
			bi := n.risen[last]
			n.risen = n.risen[:last]
			n.guard(bi)
		default:
			n.slack = slack
			return
		}
		if turn%maxTurns == 0 {
			n.slack *= 4
		}
	}
}
