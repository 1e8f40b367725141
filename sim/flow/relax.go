package flow

import (
	"math"

	"github.com/yardmaster/yardmaster/sim/internal/due"
)

// rounding is the rounding error of a link's sums, relative to its capacity.
const rounding = 1e-14

// off reports whether a link is inconsistent: further from its capacity than allowed.
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

// push adds a link to those whose level must be recomputed.
func (n *Network) push(l int32, k *link) {
	if k.queued {
		return
	}
	k.queued = true
	key := 0.0
	if k.held > 0 {
		key = min(k.level, (k.capacity-k.passing)/k.weight)
	}
	n.work.Push(n.workPos, due.Item{At: key, ID: l})
}

// lose subtracts the weight of a moved bundle from those a link holds back.
func (n *Network) lose(l int32, k *link, weight float64) {
	k.weight -= weight
	if k.held == 0 {
		k.weight = 0
		n.setLevel(l, math.Inf(1))
		n.idle(l)
	}
}

// move notes that a bundle is now held back elsewhere.
func (n *Network) move(bi int32) {
	if w := &n.bundlesCold[bi]; !w.moved {
		w.moved = true
		n.moved = append(n.moved, bi)
	}
}

// relax gives one link its level.
func (n *Network) relax(l int32) {
	k := &n.links[l]
	n.accrue(l, k)
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

// resum recomputes a link's sums, so that rounding errors do not accumulate.
func (n *Network) resum(l int32, k *link) {
	p := &n.ports[l]
	p.age = 0
	k.weight, k.passing, k.top = 0, 0, 0
	for _, e := range p.bundles[:k.held] {
		k.weight += n.bundle[e.item].weight
	}
	for _, e := range p.bundles[k.held:] {
		b := &n.bundle[e.item]
		k.passing += b.weight * b.level
		k.top = max(k.top, b.level)
	}
}

// letGo raises a link's level. Bundles that another link, or their own limit, keeps below the new level move there.
func (n *Network) letGo(l int32, k *link) {
	bundles, now := n.ports[l].bundles, n.now
	for again := true; again && k.held > 0; {
		again = false
		level := (k.capacity - k.passing) / k.weight
		n.setLevel(l, level)
		for i := int32(0); i < k.held; {
			b := &n.bundle[bundles[i].item]
			path := n.legsOf(b)
			lowest, bottleneck := b.limit, int32(0)
			for _, m := range path {
				if x := n.links[m].level; x < lowest {
					lowest, bottleneck = x, m
				}
			}
			if lowest < level {
				n.leaveTo(bundles[i].item, l, bottleneck, lowest)
				again = true
				continue
			}
			i++
			more := b.weight * (level - b.level)
			if more == 0 {
				continue
			}
			b.level = level
			if level > b.guard {
				n.unguard(bundles[i-1].item, b)
			}
			for _, j := range path {
				if j == l {
					continue
				}
				m := &n.links[j]
				if m.accrued != now {
					n.accrue(j, m)
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

// leaveTo moves a bundle from the link that holds it back to another one, or to its own limit if to is 0.
func (n *Network) leaveTo(bi, l, target int32, level float64) {
	b := &n.bundle[bi]
	more := b.weight * (level - b.level)
	for i, j := range n.legsOf(b) {
		m, pos := &n.links[j], n.bundlePos[b.hop+int32(i)]
		n.accrue(j, m)
		switch j {
		case l:
			n.pass(l, pos)
			n.lose(l, m, b.weight)
			m.passing += b.weight * level
			m.top = max(m.top, level)
			continue
		case target:
			m.passing -= b.weight * b.level
			m.weight += b.weight
			n.hold(target, pos)
		default:
			m.passing += more
			m.top = max(m.top, level)
		}
		n.check(j, m)
	}
	b.level, b.bottleneck = level, target
	if level > b.guard {
		n.unguard(bi, b)
	}
	n.move(bi)
}

// local finds the level at which a link is full if every passing bundle keeps its level unless that is higher, and takes those
// with a higher one. It starts from a level not above the solution and climbs (Newton's method on a concave, piecewise linear
// function: it ends after finitely many steps).
func (n *Network) local(l int32, k *link, level float64) float64 {
	p := &n.ports[l]
	passing, weight, top := 0.0, k.weight, 0.0
	taken := n.taken[:0]
	for _, e := range p.bundles[k.held:] {
		b := &n.bundle[e.item]
		if b.level > level {
			taken = append(taken, e.item)
			weight += b.weight
		} else {
			passing += b.weight * b.level
			top = max(top, b.level)
		}
	}
	for again := true; again && weight > 0; {
		again = false
		level = max(level, (k.capacity-passing)/weight)
		kept := taken[:0]
		for _, bi := range taken {
			b := &n.bundle[bi]
			if b.level > level {
				kept = append(kept, bi)
				continue
			}
			weight -= b.weight
			passing += b.weight * b.level
			top = max(top, b.level)
			again = true
		}
		taken = kept
		if k.held == 0 && len(taken) == 0 {
			break
		}
	}
	k.passing, k.top = passing, top
	if k.held == 0 && len(taken) > 0 {
		n.setLevel(l, level)
	}
	for _, bi := range taken {
		n.take(bi, l, k, level)
	}
	n.taken = taken[:0]
	return level
}

// take makes a link hold back a bundle that passed it with a higher level.
func (n *Network) take(bi, l int32, k *link, level float64) {
	b := &n.bundle[bi]
	more := b.weight * (level - b.level)
	for i, j := range n.legsOf(b) {
		m, pos := &n.links[j], n.bundlePos[b.hop+int32(i)]
		switch j {
		case l:
			k.weight += b.weight
			n.hold(l, pos)
			continue
		case b.bottleneck:
			n.accrue(j, m)
			n.pass(j, pos)
			n.lose(j, m, b.weight)
			m.passing += b.weight * level
			m.top = max(m.top, level)
		default:
			n.accrue(j, m)
			m.passing += more
		}
		n.check(j, m)
	}
	b.level, b.bottleneck = level, l
	n.move(bi)
}

// give lowers a link's level and updates the other links of the bundles it holds back.
func (n *Network) give(l int32, k *link, level float64) {
	if level == k.level {
		return
	}
	n.setLevel(l, level)
	now := n.now
	for _, e := range n.ports[l].bundles[:k.held] {
		b := &n.bundle[e.item]
		more := b.weight * (level - b.level)
		if more == 0 {
			continue
		}
		b.level = level
		for _, j := range n.legsOf(b) {
			if j == l {
				continue
			}
			m := &n.links[j]
			if m.accrued != now {
				n.accrue(j, m)
			}
			m.passing += more
			if !m.queued && n.off(m) {
				n.push(j, m)
			}
		}
	}
}
