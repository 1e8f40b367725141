package flow

import "math"

// rounding is what the sums of a link may be off by, relative to its capacity, through rounding alone.
const rounding = 1e-14

// work is the links whose level must be found anew, the lowest first.
type work struct {
	key  []float64
	link []int32
}

// off says whether a link is further from its capacity than it may be.
func (n *Network) off(k *link) bool {
	if k.held == 0 {
		return k.passing-k.capacity > n.slack*k.passing+rounding*k.capacity
	}
	held := k.weight * k.level
	return math.Abs(k.capacity-k.passing-held) > n.slack*held+rounding*k.capacity
}

func (n *Network) check(l int32, k *link) {
	if !k.queued && n.off(k) {
		n.push(l, k)
	}
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

// lose takes the weight of a class that was moved from among those a link holds back.
func (n *Network) lose(l int32, k *link, weight float64) {
	k.weight -= weight
	if k.held == 0 {
		k.weight = 0
		n.setLevel(l, math.Inf(1))
	}
}

// move notes that a class is held back elsewhere now.
func (n *Network) move(ci int32) {
	if c := &n.classes[ci]; !c.moved {
		c.moved = true
		n.moved = append(n.moved, ci)
	}
}

// relax gives one link its level.
func (n *Network) relax(l int32) {
	k := &n.links[l]
	n.see(l, k)
	p := &n.ports[l]
	if p.age++; p.age > 100 || k.capacity == 0 {
		n.resum(l, k)
	}
	level := 0.0
	if k.held > 0 {
		level = max(0, (k.capacity-k.passing)/k.weight)
	}
	if k.top > level {
		level = n.local(l, k, level)
	}
	switch {
	case k.held == 0:
	case level > k.level:
		n.letGo(l, k)
	default:
		n.give(l, k, level)
	}
}

// resum makes a link's sums anew, so that rounding does not pile up.
func (n *Network) resum(l int32, k *link) {
	p := &n.ports[l]
	p.age = 0
	k.weight, k.passing, k.top = 0, 0, 0
	for _, e := range p.on[:k.held] {
		k.weight += n.shares[e.class].weight
	}
	for _, e := range p.on[k.held:] {
		s := &n.shares[e.class]
		k.passing += s.weight * s.level
		k.top = max(k.top, s.level)
	}
}

// letGo raises a link's level. Classes that another link, or their limit, keeps below the new level are that one's now.
func (n *Network) letGo(l int32, k *link) {
	on, now := n.ports[l].on, n.now
	for again := true; again && k.held > 0; {
		again = false
		level := (k.capacity - k.passing) / k.weight
		n.setLevel(l, level)
		for i := int32(0); i < k.held; {
			s := &n.shares[on[i].class]
			path := n.path(s)
			lowest, at := s.limit, int32(0)
			for _, m := range path {
				if x := n.links[m].level; x < lowest {
					lowest, at = x, m
				}
			}
			if lowest < level {
				n.leaveTo(on[i].class, l, at, lowest)
				again = true
				continue
			}
			i++
			more := s.weight * (level - s.level)
			if more == 0 {
				continue
			}
			s.level = level
			for _, j := range path {
				if j == l {
					continue
				}
				m := &n.links[j]
				if m.seen != now {
					n.see(j, m)
				}
				m.passing += more
				if m.top < level {
					m.top = level
				}
				if !m.queued && n.off(m) {
					n.push(j, m)
				}
			}
		}
	}
}

// leaveTo hands a class that a link holds back to another one, or to its limit, for 0.
func (n *Network) leaveTo(ci, l, to int32, level float64) {
	s := &n.shares[ci]
	more := s.weight * (level - s.level)
	for i, j := range n.path(s) {
		m, pos := &n.links[j], n.pos[s.hop+int32(i)]
		n.see(j, m)
		switch j {
		case l:
			n.pass(l, pos)
			n.lose(l, m, s.weight)
			m.passing += s.weight * level
			m.top = max(m.top, level)
			continue
		case to:
			m.passing -= s.weight * s.level
			m.weight += s.weight
			n.hold(to, pos)
		default:
			m.passing += more
			m.top = max(m.top, level)
		}
		n.check(j, m)
	}
	s.level, s.at = level, to
	n.move(ci)
}

// local finds the level at which a link is full if every class that passes keeps what it has unless that is more, and takes
// those that have more. It starts from a level that is not above the one sought and climbs (Newton's method on a concave,
// piecewise linear function: it ends after finitely many steps).
func (n *Network) local(l int32, k *link, level float64) float64 {
	p := &n.ports[l]
	passing, weight, top := 0.0, k.weight, 0.0
	over := n.over[:0]
	for _, e := range p.on[k.held:] {
		s := &n.shares[e.class]
		if s.level > level {
			over = append(over, e.class)
			weight += s.weight
		} else {
			passing += s.weight * s.level
			top = max(top, s.level)
		}
	}
	for again := true; again && weight > 0; {
		again = false
		level = max(level, (k.capacity-passing)/weight)
		kept := over[:0]
		for _, ci := range over {
			s := &n.shares[ci]
			if s.level > level {
				kept = append(kept, ci)
				continue
			}
			weight -= s.weight
			passing += s.weight * s.level
			top = max(top, s.level)
			again = true
		}
		over = kept
		if k.held == 0 && len(over) == 0 {
			break
		}
	}
	k.passing, k.top = passing, top
	if k.held == 0 && len(over) > 0 {
		n.setLevel(l, level)
	}
	for _, ci := range over {
		n.take(ci, l, k, level)
	}
	n.over = over[:0]
	return level
}

// take makes a link hold back a class that passed it with more.
func (n *Network) take(ci, l int32, k *link, level float64) {
	s := &n.shares[ci]
	more := s.weight * (level - s.level)
	for i, j := range n.path(s) {
		m, pos := &n.links[j], n.pos[s.hop+int32(i)]
		switch j {
		case l:
			k.weight += s.weight
			n.hold(l, pos)
			continue
		case s.at:
			n.see(j, m)
			n.pass(j, pos)
			n.lose(j, m, s.weight)
			m.passing += s.weight * level
			m.top = max(m.top, level)
		default:
			n.see(j, m)
			m.passing += more
		}
		n.check(j, m)
	}
	s.level, s.at = level, l
	n.move(ci)
}

// give lowers a link's level and tells the other links of the classes it holds back.
func (n *Network) give(l int32, k *link, level float64) {
	if level == k.level {
		return
	}
	n.setLevel(l, level)
	now := n.now
	for _, e := range n.ports[l].on[:k.held] {
		s := &n.shares[e.class]
		more := s.weight * (level - s.level)
		if more == 0 {
			continue
		}
		s.level = level
		for _, j := range n.path(s) {
			if j == l {
				continue
			}
			m := &n.links[j]
			if m.seen != now {
				n.see(j, m)
			}
			m.passing += more
			if !m.queued && n.off(m) {
				n.push(j, m)
			}
		}
	}
}
