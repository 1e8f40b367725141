package flow

import "math"

// Finishes are found through heaps within heaps: the flows of a class by what each must have been served, the classes of a
// bundle by the bundle's clock, the bundles that a link holds back by the link's clock, and the links by time. A rate that
// changes moves one link in the last of them, however many flows have it.

func (n *Network) before(a, b member) bool {
	return a.upTo < b.upTo || a.upTo == b.upTo && n.flows[a.id].start < n.flows[b.id].start
}

func (n *Network) up(c *class, i int) {
	m := c.members[i]
	for i > 0 {
		p := (i - 1) / 2
		if !n.before(m, c.members[p]) {
			break
		}
		c.members[i] = c.members[p]
		n.flows[c.members[i].id].pos = int32(i)
		i = p
	}
	c.members[i] = m
	n.flows[m.id].pos = int32(i)
}

func (n *Network) down(c *class, i int) {
	m := c.members[i]
	for {
		k := 2*i + 1
		if k >= len(c.members) {
			break
		}
		if k+1 < len(c.members) && n.before(c.members[k+1], c.members[k]) {
			k++
		}
		if !n.before(c.members[k], m) {
			break
		}
		c.members[i] = c.members[k]
		n.flows[c.members[i].id].pos = int32(i)
		i = k
	}
	c.members[i] = m
	n.flows[m.id].pos = int32(i)
}

func (n *Network) riseClass(w *crew, i int) {
	ci := w.classes[i]
	due := n.class[ci].due
	for i > 0 {
		j := (i - 1) / 2
		o := w.classes[j]
		if n.class[o].due <= due {
			break
		}
		w.classes[i] = o
		n.class[o].spot = int32(i)
		i = j
	}
	w.classes[i] = ci
	n.class[ci].spot = int32(i)
}

func (n *Network) sinkClass(w *crew, i int) {
	ci := w.classes[i]
	due := n.class[ci].due
	for {
		j := 2*i + 1
		if j >= len(w.classes) {
			break
		}
		if j+1 < len(w.classes) && n.class[w.classes[j+1]].due < n.class[w.classes[j]].due {
			j++
		}
		o := w.classes[j]
		if due <= n.class[o].due {
			break
		}
		w.classes[i] = o
		n.class[o].spot = int32(i)
		i = j
	}
	w.classes[i] = ci
	n.class[ci].spot = int32(i)
}

func (n *Network) rise(p *port, i int) {
	bi := p.heap[i]
	due := n.crews[bi].due
	for i > 0 {
		j := (i - 1) / 2
		o := p.heap[j]
		if n.crews[o].due <= due {
			break
		}
		p.heap[i] = o
		n.crews[o].heap = int32(i)
		i = j
	}
	p.heap[i] = bi
	n.crews[bi].heap = int32(i)
}

func (n *Network) sink(p *port, i int) {
	bi := p.heap[i]
	due := n.crews[bi].due
	for {
		j := 2*i + 1
		if j >= len(p.heap) {
			break
		}
		if j+1 < len(p.heap) && n.crews[p.heap[j+1]].due < n.crews[p.heap[j]].due {
			j++
		}
		o := p.heap[j]
		if due <= n.crews[o].due {
			break
		}
		p.heap[i] = o
		n.crews[o].heap = int32(i)
		i = j
	}
	p.heap[i] = bi
	n.crews[bi].heap = int32(i)
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

// work is the links whose level must be found anew, the lowest first.
type work struct {
	key  []float64
	link []int32
}

func (n *Network) push(l int32, k *link) {
	if k.queued {
		return
	}
	k.queued = true
	key := 0.0
	if k.held > 0 {
		key = min(k.level, (k.capacity-k.passing)/k.weight)
	}
	w := &n.work
	w.key, w.link = append(w.key, key), append(w.link, l)
	i := len(w.key) - 1
	for i > 0 {
		p := (i - 1) / 2
		if w.key[p] <= key {
			break
		}
		w.key[i], w.link[i] = w.key[p], w.link[p]
		i = p
	}
	w.key[i], w.link[i] = key, l
}

func (w *work) pop() int32 {
	first, last := w.link[0], len(w.key)-1
	key, l := w.key[last], w.link[last]
	w.key, w.link = w.key[:last], w.link[:last]
	i := 0
	for {
		j := 2*i + 1
		if j >= last {
			break
		}
		if j+1 < last && w.key[j+1] < w.key[j] {
			j++
		}
		if key <= w.key[j] {
			break
		}
		w.key[i], w.link[i] = w.key[j], w.link[j]
		i = j
	}
	if last > 0 {
		w.key[i], w.link[i] = key, l
	}
	return first
}
