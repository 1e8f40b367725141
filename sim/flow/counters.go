package flow

import (
	"fmt"
	"math"
)

type mark struct{ carried, offered float64 }

// accrue brings a link's sums up to now, before its load changes. Loads are constant between two calls, so every sum is exact
// however far apart they are; transient loads while rates are being settled are never counted.
func (n *Network) accrue(l int32, k *link) {
	if k.accrued == n.now {
		return
	}
	load := k.load()
	if over := load >= n.threshold*k.capacity; over != k.over {
		if k.over = over; over {
			n.ports[l].crossings++
		}
	}
	if n.window > 0 {
		n.markWindows(l, k, load)
	}
	k.carried += load * (n.now - k.accrued)
	k.accrued = n.now
}

// markWindows records a link's sums at the ends of windows that have passed.
func (n *Network) markWindows(l int32, k *link, load float64) {
	p := &n.ports[l]
	w := math.Floor(n.now / n.window)
	if w <= p.marked {
		return
	}
	sums := func(at float64) mark {
		return mark{k.carried + load*(at-k.accrued), p.offered + k.capacity*(at-p.resized)}
	}
	before := p.marks[1]
	if w > p.marked+1 {
		before = sums((w - 1) * n.window)
	}
	p.marks = [2]mark{before, sums(w * n.window)}
	p.marked = w
}

// goTo moves time. The sums of loose links, whose loads are not tracked, are recorded at the ends of windows that pass.
func (n *Network) goTo(at float64) {
	if n.window > 0 {
		was, is := math.Floor(n.now/n.window), math.Floor(at/n.window)
		if is > was+1 {
			n.now = (is - 1) * n.window
			n.markLoose(is - 1)
		}
		if is > was {
			n.now = is * n.window
			n.markLoose(is)
		}
	}
	n.now = at
}

func (n *Network) markLoose(window float64) {
	for i := 1; i < len(n.links); i++ {
		if k, p := &n.links[i], &n.ports[i]; !k.watched {
			p.marks = [2]mark{p.marks[1], {n.looseSum(p), p.offered + k.capacity*(n.now-p.resized)}}
			p.marked = window
		}
	}
}

// looseSum is what a loose link has carried.
func (n *Network) looseSum(p *port) float64 {
	sum := p.gone
	for _, e := range p.crossed {
		c := &n.class[e.item]
		sum += c.sum + float64(len(c.members))*(n.served(c)-c.last)
	}
	return sum
}

// Window sets the length of the consecutive windows, from instant 0, over which utilisation is reported; 0, the default: none.
// It must be set at instant 0.
func (n *Network) Window(seconds float64) {
	if !(seconds >= 0) || math.IsInf(seconds, 1) || n.now != 0 {
		panic(fmt.Sprintf("flow: windows of %v s, set at instant %v", seconds, n.now))
	}
	n.window = seconds
}

// Threshold sets the share of its capacity at which a link counts as congested (default 1). It must be set at instant 0.
func (n *Network) Threshold(share float64) {
	if !(share > 0 && share <= 1) || n.now != 0 {
		panic(fmt.Sprintf("flow: a threshold of %v, set at instant %v", share, n.now))
	}
	n.threshold = share * (1 - 1e-9)
}

// Settled is how often rates were recomputed.
func (n *Network) Settled() int { return n.settled }

// Carried is the number of bytes that have crossed a link.
func (n *Network) Carried(l Link) float64 {
	n.settle()
	k := &n.links[l+1]
	if !k.watched {
		return n.looseSum(&n.ports[l+1])
	}
	n.accrue(int32(l)+1, k)
	return k.carried
}

// Load is a link's current load in bytes per second.
func (n *Network) Load(l Link) float64 {
	n.settle()
	if k := &n.links[l+1]; k.watched {
		return k.load()
	}
	load := 0.0
	for _, e := range n.ports[l+1].crossed {
		c := &n.class[e.item]
		load += c.all * n.bundle[c.bundle].level
	}
	return load
}

// Utilisation is a link's utilisation over the last complete window; without windows, since the start.
func (n *Network) Utilisation(l Link) float64 {
	m := mark{n.Carried(l), 0}
	k, p := &n.links[l+1], &n.ports[l+1]
	m.offered = p.offered + k.capacity*(n.now-p.resized)
	if n.window > 0 {
		m = mark{p.marks[1].carried - p.marks[0].carried, p.marks[1].offered - p.marks[0].offered}
	}
	if m.offered == 0 {
		return 0
	}
	return m.carried / m.offered
}

// Crossings is how often a link's load rose from under its threshold to it or above, and stayed there for some time.
func (n *Network) Crossings(l Link) int64 {
	n.settle()
	if k := &n.links[l+1]; k.watched {
		n.accrue(int32(l)+1, k)
	}
	return n.ports[l+1].crossings
}

// Use is the use of one link so far.
type Use struct {
	Name        string
	Bytes       float64
	Utilisation float64 // of its capacity when it works, from the start until now
	Crossings   int64   // times that its load rose above the congestion threshold
}
