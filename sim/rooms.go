package sim

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// rooms finds a node with room for an ask: a tree of maxima with eight children per parent, over the nodes' free
// resources. A search and an update cost O(log n).
//
// On a busy cluster most nodes that free a container are filled again at once, so a change is only noted (touch) and applied
// before the next search, when it may have cancelled out. A few nodes with more room than the tree knows are kept out of it and
// searched separately.
type rooms struct {
	nodes   []policy.Node
	levels  [][]unit.Resources // levels[0][i] is what the tree knows of node i; each next level has maxima of eight
	dirty   []int32
	isDirty []bool
}

const fan = 8

func newRooms(nodes []policy.Node) *rooms {
	r := &rooms{nodes: nodes, isDirty: make([]bool, len(nodes))}
	level := make([]unit.Resources, len(nodes))
	for i := range nodes {
		level[i] = nodes[i].Free
	}
	r.levels = append(r.levels, level)
	for len(level) > 1 {
		up := make([]unit.Resources, (len(level)+fan-1)/fan)
		for i := range level {
			up[i/fan] = up[i/fan].Max(level[i])
		}
		r.levels = append(r.levels, up)
		level = up
	}
	return r
}

// touch notes that node i's free room has changed.
func (r *rooms) touch(i int32) {
	if !r.isDirty[i] {
		r.isDirty[i] = true
		r.dirty = append(r.dirty, i)
	}
}

// settle applies changes, and leaves at most a few nodes dirty: those with more room than the tree knows.
func (r *rooms) settle() {
	r.workIn(false)
	if len(r.dirty) > fan {
		r.workIn(true)
	}
}

func (r *rooms) workIn(all bool) {
	kept := 0
	for _, i := range r.dirty {
		free, known := &r.nodes[i].Free, &r.levels[0][i]
		if *free != *known {
			if !all && known.Fits(*free) {
				r.dirty[kept] = i
				kept++
				continue
			}
			*known = *free
			r.raise(int(i))
		}
		r.isDirty[i] = false
	}
	r.dirty = r.dirty[:kept]
}

// raise updates the maxima above node k.
func (r *rooms) raise(k int) {
	for l := 1; l < len(r.levels); l++ {
		k /= fan
		below := r.levels[l-1]
		var m unit.Resources
		for c := k * fan; c < min(k*fan+fan, len(below)); c++ {
			if b := &below[c]; b.Extra == m.Extra { // Max, without a call
				m.Mem, m.Cores = max(m.Mem, b.Mem), max(m.Cores, b.Cores)
			} else {
				m = m.Max(*b)
			}
		}
		if r.levels[l][k] == m {
			break
		}
		r.levels[l][k] = m
	}
}

// may reports whether a node may have room for ask: each component fits on some node. It looks at start first, where find will.
func (r *rooms) may(ask unit.Resources, start int32) bool {
	if r.nextFew(&ask, start) >= 0 {
		return true
	}
	r.settle()
	return ask.Fits(r.levels[len(r.levels)-1][0]) || r.beside(ask, 0) >= 0
}

// find returns the first node at or after start, in circular order, with room for ask; -1: none.
func (r *rooms) find(ask unit.Resources, start int32) int32 {
	if int(start) >= len(r.nodes) {
		start = 0
	}
	if node := r.nextFew(&ask, start); node >= 0 {
		return node
	}
	r.settle()
	top := len(r.levels) - 1
	node := int32(-1)
	if ask.Fits(r.levels[top][0]) {
		if node = r.search(top, 0, &ask, int(start)); node < 0 && start > 0 {
			node = r.search(top, 0, &ask, 0)
		}
	}
	if other := r.beside(ask, start); node < 0 || other >= 0 && r.ahead(other, start) < r.ahead(node, start) {
		return other
	}
	return node
}

// beside is find among the dirty nodes.
func (r *rooms) beside(ask unit.Resources, start int32) int32 {
	found := int32(-1)
	for _, i := range r.dirty {
		if ask.Fits(r.nodes[i].Free) && (found < 0 || r.ahead(i, start) < r.ahead(found, start)) {
			found = i
		}
	}
	return found
}

// ahead is the circular distance of node i from another.
func (r *rooms) ahead(i, start int32) int32 {
	if i < start {
		return i - start + int32(len(r.nodes))
	}
	return i - start
}

// nextFew is find among the first few nodes: where there is room, it is usually there, and the changes need not be applied.
func (r *rooms) nextFew(ask *unit.Resources, start int32) int32 {
	for i := int(start); i < min(int(start)+4, len(r.nodes)); i++ {
		if ask.Fits(r.nodes[i].Free) {
			return int32(i)
		}
	}
	return -1
}

// search finds a node numbered start or higher below entry k of level l, where ask fits.
func (r *rooms) search(l, k int, ask *unit.Resources, start int) int32 {
	if l == 0 {
		return int32(k)
	}
	span := 1 // nodes below one child
	for range l - 1 {
		span *= fan
	}
	below := r.levels[l-1]
	for c := max(k*fan, start/span); c < min(k*fan+fan, len(below)); c++ {
		if !ask.Fits(below[c]) {
			continue
		}
		if i := r.search(l-1, c, ask, start); i >= 0 {
			return i
		}
	}
	return -1
}
