package sim

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// rooms finds a node with room for an ask: a tree of maxima with eight children a parent, over the nodes' free
// resources. A search and a change cost O(log n).
//
// On a busy cluster most nodes that give a container back are filled again at once, so a change is only noted (touch)
// and worked in before the next search, when it may have cancelled out.
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

func (r *rooms) settle() {
	for _, i := range r.dirty {
		r.isDirty[i] = false
		free := r.nodes[i].Free
		if r.levels[0][i] == free {
			continue
		}
		r.levels[0][i] = free
		k := int(i)
		for l := 1; l < len(r.levels); l++ {
			k /= fan
			below := r.levels[l-1]
			var m unit.Resources
			for c := k * fan; c < min(k*fan+fan, len(below)); c++ {
				m = m.Max(below[c])
			}
			if r.levels[l][k] == m {
				break
			}
			r.levels[l][k] = m
		}
	}
	r.dirty = r.dirty[:0]
}

// largest is a bound on the free room of any one node.
func (r *rooms) largest() unit.Resources {
	r.settle()
	return r.levels[len(r.levels)-1][0]
}

// find returns the first node at or after from, going around, that has room for ask; -1 when none has.
func (r *rooms) find(ask unit.Resources, from int32) int32 {
	r.settle()
	top := len(r.levels) - 1
	if !ask.Fits(r.levels[top][0]) {
		return -1
	}
	if int(from) >= len(r.nodes) {
		from = 0
	}
	if i := r.search(top, 0, ask, int(from)); i >= 0 || from == 0 {
		return i
	}
	return r.search(top, 0, ask, 0)
}

// search looks below entry k of level l for a node numbered from or higher.
func (r *rooms) search(l, k int, ask unit.Resources, from int) int32 {
	if !ask.Fits(r.levels[l][k]) {
		return -1
	}
	if l == 0 {
		return int32(k)
	}
	span := 1 // nodes below one child
	for range l - 1 {
		span *= fan
	}
	for c := max(k*fan, from/span); c < min(k*fan+fan, len(r.levels[l-1])); c++ {
		if i := r.search(l-1, c, ask, from); i >= 0 {
			return i
		}
	}
	return -1
}
