package hdfs

import (
	"cmp"
	"slices"
)

// Layout is a set of nodes in racks. Placements number the nodes by position: rack by rack, and within a rack in the given
// order, so that a rack is a run of positions, and drawing a node inside or outside of it is one draw.
type Layout struct {
	node     []int32 // by position
	position []int32 // position of each node
	rack     []int32 // by node, as given
	runOf    []int32 // by position: the run of its rack
	runs     []run   // racks that have nodes
	scaleUp  []bool  // by position: scale-up machines; nil: none
}

// run is the positions from lo to hi-1.
type run struct{ lo, hi int32 }

// NewLayout takes the rack of each node, and the nodes in the order of the description (nil: as numbered). An engine that
// renumbers its nodes passes that order here, so that blocks are on the same machines regardless.
func NewLayout(rackOf, order []int32) *Layout {
	l := &Layout{rack: slices.Clone(rackOf), position: make([]int32, len(rackOf)), runOf: make([]int32, len(rackOf))}
	if order != nil {
		l.node = slices.Clone(order)
	} else {
		for i := range rackOf {
			l.node = append(l.node, int32(i))
		}
	}
	slices.SortStableFunc(l.node, func(a, b int32) int { return cmp.Compare(rackOf[a], rackOf[b]) })
	for p, n := range l.node {
		l.position[n] = int32(p)
		if p == 0 || rackOf[n] != rackOf[l.node[p-1]] {
			l.runs = append(l.runs, run{lo: int32(p)})
		}
		last := len(l.runs) - 1
		l.runs[last].hi = int32(p) + 1
		l.runOf[p] = int32(last)
	}
	return l
}

// MarkScaleUp marks the scale-up machines.
func (l *Layout) MarkScaleUp(is func(node int32) bool) {
	l.scaleUp = make([]bool, len(l.node))
	for p, n := range l.node {
		l.scaleUp[p] = is(n)
	}
}

// mixed reports whether a rack has scale-up and other machines.
func (l *Layout) mixed() bool {
	for _, r := range l.runs {
		for p := r.lo; p < r.hi; p++ {
			if l.kind(p) != l.kind(r.lo) {
				return true
			}
		}
	}
	return false
}

// kind is 1 for a scale-up machine, else 0.
func (l *Layout) kind(position int32) int {
	if l.scaleUp != nil && l.scaleUp[position] {
		return 1
	}
	return 0
}

// among counts the positions in taken that lie in r.
func (r run) among(taken []int32) (n int32) {
	for _, p := range taken {
		if p >= r.lo && p < r.hi {
			n++
		}
	}
	return n
}

// draw draws a random position of r that is not in taken; -1: none.
func (r run) draw(taken []int32, d *draws) int32 {
	free := r.hi - r.lo - r.among(taken)
	if free <= 0 {
		return -1
	}
	return r.nth(d.below(free), taken)
}

// nth is the x-th position of r that is not in taken: the smallest p with p = lo + x + (how many of taken are from lo to p).
func (r run) nth(x int32, taken []int32) int32 {
	p := r.lo + x
	for {
		next := r.lo + x + run{r.lo, p + 1}.among(taken)
		if next == p {
			return p
		}
		p = next
	}
}

// outside draws a position outside the rack r; -1: none.
func (l *Layout) outside(r run, d *draws) int32 {
	others := int32(len(l.node)) - (r.hi - r.lo)
	if others == 0 {
		return -1
	}
	p := d.below(others)
	if p >= r.lo {
		p += r.hi - r.lo
	}
	return p
}

// nodes turns positions into nodes, in place.
func (l *Layout) nodes(positions []int32) []int32 {
	for i, p := range positions {
		positions[i] = l.node[p]
	}
	return positions
}
