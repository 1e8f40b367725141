package flow

import "math"

// class is the flows on one path with one weight and one limit: they have the same rate at all times. What each of them
// has been served since the class began is therefore one number, and a flow is finished when that number reaches the one
// it was at when the flow joined plus the flow's bytes.
type class struct {
	weight  float64
	limit   float64
	users   int32 // flows that hold it, those that finish at this instant included
	place   int32 // in active; -1: not there
	changed bool
	moved   bool

	at    int32   // the link whose clock it follows; 0: that of its own limit; unplaced
	heap  int32   // its place among that link's classes by due
	times float64 // its rate is times the level of that link
	base  float64 // what each flow was served when the link's clock stood at from
	from  float64
	due   float64 // what the link's clock shows when the first flow is finished

	members []member // heap by upTo, then start
}

// share is what settling rates needs of a class: one line of the cache where the path is short.
type share struct {
	weight float64 // of all its flows, as the links know it
	level  float64 // its rate over its weight
	limit  float64 // the level of its own limit
	hop    int32   // the first of its hops
	length int32   // how many
	at     int32   // the link that holds it back; 0: its own limit; unplaced
	short  [6]int32
}

// links is a class's path.
func (n *Network) path(s *share) []int32 {
	if int(s.length) <= len(s.short) {
		return s.short[:s.length]
	}
	return n.long[s.hop : s.hop+s.length]
}

const unplaced = -1

type member struct {
	upTo float64
	id   ID
}

// classOf finds or makes the class of a path.
func (n *Network) classOf(path []Link, weight, limit float64) int32 {
	n.sought = n.sought[:0]
	for i, l := range path {
		for _, m := range path[:i] {
			if m == l {
				panic("flow: a path that crosses " + n.Name(l) + " twice")
			}
		}
		n.sought = append(n.sought, int32(l)+1)
	}
	h := hash(n.sought, weight, limit)
	if ci := n.index.find(n, h, weight, limit); ci >= 0 {
		return ci
	}
	for len(n.idle) <= len(path) {
		n.idle = append(n.idle, nil)
	}
	var ci int32
	if free := n.idle[len(path)]; len(free) > 0 {
		ci = free[len(free)-1]
		n.idle[len(path)] = free[:len(free)-1]
	} else {
		ci = int32(len(n.classes))
		n.classes = append(n.classes, class{})
		n.shares = append(n.shares, share{hop: int32(len(n.long)), length: int32(len(path))})
		n.long = append(n.long, n.sought...)
		n.pos = append(n.pos, n.sought...)
	}
	c, s := &n.classes[ci], &n.shares[ci]
	*c = class{weight: weight, limit: limit, at: unplaced, heap: -1, place: -1, members: c.members[:0]}
	*s = share{limit: limit / weight, hop: s.hop, length: s.length, at: unplaced}
	copy(s.short[:], n.sought)
	copy(n.long[s.hop:], n.sought)
	n.index.add(h, ci)
	return ci
}

func (n *Network) touch(ci int32) {
	if c := &n.classes[ci]; !c.changed {
		c.changed = true
		n.changed = append(n.changed, ci)
		n.unsettled = true
	}
}

// served is what each flow of a class has been served up to now.
func (n *Network) served(c *class) float64 {
	if c.at == unplaced {
		return 0
	}
	return c.base + c.times*(n.clock(c.at)-c.from)
}

// join puts a flow into its class.
func (n *Network) join(id ID, bytes float64) {
	f := &n.flows[id]
	c := &n.classes[f.class]
	c.members = append(c.members, member{n.served(c) + bytes, id})
	n.up(c, len(c.members)-1)
	n.touch(f.class)
	if f.pos == 0 {
		n.reorder(f.class)
	}
}

// lengthen gives a flow more to carry.
func (n *Network) lengthen(id ID, bytes float64) {
	f := &n.flows[id]
	c := &n.classes[f.class]
	c.members[f.pos].upTo += bytes
	first := f.pos == 0
	n.down(c, int(f.pos))
	if first {
		n.reorder(f.class)
	}
}

// leave takes a flow out of its class before its end.
func (n *Network) leave(id ID) {
	f := &n.flows[id]
	c := &n.classes[f.class]
	first := f.pos == 0
	n.remove(c, int(f.pos))
	n.touch(f.class)
	if first {
		n.reorder(f.class)
	}
}

func (n *Network) remove(c *class, i int) {
	last := len(c.members) - 1
	m := c.members[last]
	c.members = c.members[:last]
	if i == last {
		return
	}
	c.members[i] = m
	n.up(c, i)
	n.down(c, int(n.flows[m.id].pos))
}

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

// enter puts a class on its links and lets the one with the lowest level hold it back.
func (n *Network) enter(ci int32, weight float64) {
	c, s := &n.classes[ci], &n.shares[ci]
	c.place = int32(len(n.active))
	n.active = append(n.active, ci)
	s.weight, s.level, s.at = weight, s.limit, 0
	for i, l := range n.path(s) {
		h := s.hop + int32(i)
		k, p := &n.links[l], &n.ports[l]
		n.pos[h] = int32(len(p.on))
		p.on = append(p.on, entry{ci, h})
		level := k.level
		if k.held == 0 {
			level = max(0, k.capacity-k.passing) / weight
		}
		if level < s.level {
			s.level, s.at = level, l
		}
	}
	for i, l := range n.path(s) {
		h := s.hop + int32(i)
		k := &n.links[l]
		n.see(l, k)
		if l != s.at {
			k.passing += weight * s.level
			k.top = max(k.top, s.level)
			n.check(l, k)
			continue
		}
		if k.held == 0 {
			n.setLevel(l, s.level)
			n.push(l, k) // of those that pass, some may have more
		}
		k.weight += weight
		n.hold(l, n.pos[h])
		n.check(l, k)
	}
	n.move(ci)
}

// resize tells a class's links that the weight of its flows changed.
func (n *Network) resize(ci int32, weight float64) {
	s := &n.shares[ci]
	more := weight - s.weight
	s.weight = weight
	for _, l := range n.path(s) {
		k := &n.links[l]
		n.see(l, k)
		if l == s.at {
			k.weight += more
		} else {
			k.passing += more * s.level
		}
		n.check(l, k)
	}
}

// exit takes a class without flows off its links.
func (n *Network) exit(ci int32) {
	c, s := &n.classes[ci], &n.shares[ci]
	last := n.active[len(n.active)-1]
	n.active[c.place] = last
	n.classes[last].place = c.place
	n.active = n.active[:len(n.active)-1]
	c.place = -1
	n.detach(ci)
	for i, l := range n.path(s) {
		h := s.hop + int32(i)
		k, p := &n.links[l], &n.ports[l]
		n.see(l, k)
		if l == s.at {
			n.pass(l, n.pos[h])
			n.lose(l, k, s.weight)
		} else {
			k.passing -= s.weight * s.level
		}
		end := int32(len(p.on) - 1)
		n.swap(p, n.pos[h], end)
		p.on = p.on[:end]
		if k.held == end {
			k.passing, k.top = 0, 0
		}
		n.check(l, k)
	}
	s.weight, s.level, s.at = 0, math.Inf(1), unplaced
}

// forget gives a class back that nobody holds.
func (n *Network) forget(ci int32) {
	n.index.remove(n, ci)
	length := n.shares[ci].length
	n.idle[length] = append(n.idle[length], ci)
}
