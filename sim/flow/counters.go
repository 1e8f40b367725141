package flow

import "fmt"

// accrue brings a link's sums up to now, before its load changes. Loads are constant between two calls, so every sum is exact
// however far apart they are; transient loads while rates are being settled are never counted.
func (n *Network) accrue(l int32, k *link) {
	if k.accrued == n.now {
		return
	}
	load := k.load()
	if over := load >= n.threshold*k.capacity; over != k.congested {
		if k.congested = over; over {
			n.ports[l].crossings++
		}
	}
	k.carried += load * (n.now - k.accrued)
	k.accrued = n.now
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
