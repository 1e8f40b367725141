package flow

import "math"

// clock is what a link's clock shows now.
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

// overdue notes that the first finish at a link must be worked out anew.
func (n *Network) overdue(l int32) {
	if p := &n.ports[l]; !p.stale {
		p.stale = true
		n.stale = append(n.stale, l)
	}
}

// attach makes a class follow the clock of the link that holds it back.
func (n *Network) attach(ci int32) {
	c, l := &n.classes[ci], n.shares[ci].at
	if c.at == l {
		return
	}
	base := n.served(c)
	n.detach(ci)
	p := &n.ports[l]
	if len(p.heap) == 0 && l != 0 {
		p.clock = 0 // a young clock is a precise one
	}
	n.wind(l)
	c.at, c.base, c.from, c.times = l, base, p.clock, c.weight
	if l == 0 {
		c.times = c.limit
	}
	c.due = c.dueOf()
	c.heap = int32(len(p.heap))
	p.heap = append(p.heap, ci)
	n.rise(p, len(p.heap)-1)
	n.overdue(l)
}

// detach takes a class from the clock it follows.
func (n *Network) detach(ci int32) {
	c := &n.classes[ci]
	if c.at == unplaced {
		return
	}
	n.wind(c.at)
	p := &n.ports[c.at]
	i, last := int(c.heap), len(p.heap)-1
	moved := p.heap[last]
	p.heap = p.heap[:last]
	if i != last {
		p.heap[i] = moved
		n.classes[moved].heap = int32(i)
		n.rise(p, i)
		n.sink(p, int(n.classes[moved].heap))
	}
	n.overdue(c.at)
	c.at, c.heap = unplaced, -1
}

func (c *class) dueOf() float64 {
	if len(c.members) == 0 {
		return math.Inf(1)
	}
	return c.from + (c.members[0].upTo-c.base)/c.times
}

// reorder finds a class's place again after its first flow changed.
func (n *Network) reorder(ci int32) {
	c := &n.classes[ci]
	if c.at == unplaced {
		return
	}
	p := &n.ports[c.at]
	c.due = c.dueOf()
	n.rise(p, int(c.heap))
	n.sink(p, int(c.heap))
	n.overdue(c.at)
	n.unsettled = true
}

func (n *Network) rise(p *port, i int) {
	ci := p.heap[i]
	due := n.classes[ci].due
	for i > 0 {
		j := (i - 1) / 2
		o := p.heap[j]
		if n.classes[o].due <= due {
			break
		}
		p.heap[i] = o
		n.classes[o].heap = int32(i)
		i = j
	}
	p.heap[i] = ci
	n.classes[ci].heap = int32(i)
}

func (n *Network) sink(p *port, i int) {
	ci := p.heap[i]
	due := n.classes[ci].due
	for {
		j := 2*i + 1
		if j >= len(p.heap) {
			break
		}
		if j+1 < len(p.heap) && n.classes[p.heap[j+1]].due < n.classes[p.heap[j]].due {
			j++
		}
		o := p.heap[j]
		if due <= n.classes[o].due {
			break
		}
		p.heap[i] = o
		n.classes[o].heap = int32(i)
		i = j
	}
	p.heap[i] = ci
	n.classes[ci].heap = int32(i)
}

// redue works out when the first flow held back by a link is finished.
func (n *Network) redue(l int32) {
	p := &n.ports[l]
	p.stale = false
	at := math.Inf(1)
	if len(p.heap) > 0 {
		if left := n.classes[p.heap[0]].due - p.clock; left <= 0 {
			at = p.since
		} else if level := n.links[l].level; level > 0 {
			at = p.since + left/level
		}
	}
	n.due.set(n, l, at)
}

// dues is a heap of links by the instant of the first finish among the flows they hold back.
type dues struct {
	at   []float64
	link []int32
}

func (d *dues) first() float64 {
	if len(d.at) == 0 {
		return math.Inf(1)
	}
	return d.at[0]
}

func (d *dues) set(n *Network, l int32, at float64) {
	i := int(n.ports[l].due)
	if i < 0 {
		if math.IsInf(at, 1) {
			return
		}
		i = len(d.at)
		d.at = append(d.at, at)
		d.link = append(d.link, l)
	}
	for i > 0 {
		p := (i - 1) / 2
		if d.at[p] <= at {
			break
		}
		d.put(n, i, d.at[p], d.link[p])
		i = p
	}
	for {
		j := 2*i + 1
		if j >= len(d.at) {
			break
		}
		if j+1 < len(d.at) && d.at[j+1] < d.at[j] {
			j++
		}
		if at <= d.at[j] {
			break
		}
		d.put(n, i, d.at[j], d.link[j])
		i = j
	}
	d.put(n, i, at, l)
}

func (d *dues) put(n *Network, i int, at float64, l int32) {
	d.at[i], d.link[i] = at, l
	n.ports[l].due = int32(i)
}
