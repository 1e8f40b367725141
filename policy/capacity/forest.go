package capacity

import "math"

// forest holds many ordered trees over one set of small ids, each id in at most one tree: the applications of every user,
// the users of every leaf. A tree is ordered by (a, b), and every node knows the minimum value of each kind below it, so
// that "the first in order whose values are all within a bound" is found in O(log n): the next application of a user who
// is within the user limit; the next one whose AM fits. Nothing allocates once the nodes have grown to their number.
//
// It is a treap: a search tree by key that is a heap by a hash of the id, hence balanced whatever the order of insertion.
type forest struct{ nodes []node }

type node struct {
	a               float64
	b               int64
	val, min        [kinds]int64
	left, right, up int32 // ids + 1; 0: none
	hash            uint32
	in              bool
}

const kinds = 4

// values are what a node is searched by. Unused kinds stay 0.
type values = [kinds]int64

// anything is no bound.
var anything = values{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64}

// tree is the root of one tree: an id + 1, or 0 when it is empty.
type tree int32

const none int32 = -1

func (f *forest) has(id int32) bool { return int(id) < len(f.nodes) && f.nodes[id].in }

func (f *forest) at(ref int32) *node { return &f.nodes[ref-1] }

func before(x, y *node) bool { return x.a < y.a || x.a == y.a && x.b < y.b }

// less compares two ids that are in trees.
func (f *forest) less(x, y int32) bool { return before(&f.nodes[x], &f.nodes[y]) }

// put inserts id, or moves it within its tree.
func (f *forest) put(t *tree, id int32, a float64, b int64, v values) {
	for int(id) >= len(f.nodes) {
		f.nodes = append(f.nodes, node{})
	}
	n := &f.nodes[id]
	if n.in {
		if n.a == a && n.b == b {
			f.set(id, v)
			return
		}
		f.drop(t, id)
	}
	h := uint32(id)*2654435769 + 0x7f4a7c15
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	*n = node{a: a, b: b, val: v, min: v, hash: h ^ h>>16, in: true}
	ref := id + 1
	if *t == 0 {
		*t = tree(ref)
		return
	}
	for p := int32(*t); ; {
		up := f.at(p)
		lower(&up.min, &v)
		next := &up.right
		if before(n, up) {
			next = &up.left
		}
		if *next == 0 {
			*next = ref
			n.up = p
			break
		}
		p = *next
	}
	for n.up != 0 && n.hash < f.at(n.up).hash {
		f.rotate(t, ref)
	}
}

// drop removes id from its tree; no-op if absent.
func (f *forest) drop(t *tree, id int32) {
	if !f.has(id) {
		return
	}
	ref := id + 1
	n := f.at(ref)
	for n.left != 0 || n.right != 0 {
		c := n.left
		if c == 0 || n.right != 0 && f.at(n.right).hash < f.at(c).hash {
			c = n.right
		}
		f.rotate(t, c)
	}
	up := n.up
	if up == 0 {
		*t = 0
	} else if u := f.at(up); u.left == ref {
		u.left = 0
	} else {
		u.right = 0
	}
	n.up, n.in = 0, false
	f.refresh(up)
}

// set changes the values of id, which is in a tree.
func (f *forest) set(id int32, v values) {
	n := &f.nodes[id]
	if n.val == v {
		return
	}
	n.val = v
	f.refresh(id + 1)
}

// refresh recomputes the minimum values from ref upward, as far as they change.
func (f *forest) refresh(ref int32) {
	for ref != 0 {
		n := f.at(ref)
		old := n.min
		f.gather(n)
		if n.min == old {
			return
		}
		ref = n.up
	}
}

func (f *forest) gather(n *node) {
	n.min = n.val
	if n.left != 0 {
		lower(&n.min, &f.at(n.left).min)
	}
	if n.right != 0 {
		lower(&n.min, &f.at(n.right).min)
	}
}

func lower(v, o *values) {
	for k := range v {
		v[k] = min(v[k], o[k])
	}
}

// rotate lifts c above its parent.
func (f *forest) rotate(t *tree, c int32) {
	n := f.at(c)
	p := n.up
	u := f.at(p)
	if u.left == c {
		u.left = n.right
		if n.right != 0 {
			f.at(n.right).up = p
		}
		n.right = p
	} else {
		u.right = n.left
		if n.left != 0 {
			f.at(n.left).up = p
		}
		n.left = p
	}
	n.up, u.up = u.up, c
	switch {
	case n.up == 0:
		*t = tree(c)
	case f.at(n.up).left == p:
		f.at(n.up).left = c
	default:
		f.at(n.up).right = c
	}
	n.min = u.min
	f.gather(u)
}

func within(v, bound *values) bool {
	return v[0] <= bound[0] && v[1] <= bound[1] && v[2] <= bound[2] && v[3] <= bound[3]
}

// first is the first id of t whose values are within bound, or none.
func (f *forest) first(t tree, bound *values) int32 { return f.search(int32(t), bound) - 1 }

func (f *forest) search(ref int32, bound *values) int32 {
	for ref != 0 {
		n := f.at(ref)
		if !within(&n.min, bound) {
			return 0
		}
		if found := f.search(n.left, bound); found != 0 {
			return found
		}
		if within(&n.val, bound) {
			return ref
		}
		ref = n.right
	}
	return 0
}

// next is the first id after id whose values are within bound, or none.
func (f *forest) next(id int32, bound *values) int32 {
	ref := id + 1
	n := f.at(ref)
	if found := f.search(n.right, bound); found != 0 {
		return found - 1
	}
	for n.up != 0 {
		up := n.up
		u := f.at(up)
		if u.left == ref {
			if within(&u.val, bound) {
				return up - 1
			}
			if found := f.search(u.right, bound); found != 0 {
				return found - 1
			}
		}
		ref, n = up, u
	}
	return none
}
