// Package rank is an indexed four-way heap over small integers with changing keys, the
// structure under every order of this project. Finding the best is O(1), changing a key O(log n), walking the k best
// O(k log k), and none of them allocates once the heap has grown to its size.
package rank

import (
	"math"
	"math/bits"
)

// Heap orders ids (small, dense, such as policy.Job.Index) by (a, b), smallest first. No two ids may share both keys if
// the order is to be unique; b is usually an arrival number. The zero value is an empty heap.
type Heap struct {
	items []item
	pos   []int32 // id -> position + 1; 0: absent
	walk  Cursor
}

// item has its keys as unsigned integers of the same order, so that two items are compared by one subtraction of 128
// bits, without a branch: which of two jobs comes first is effectively random, and a branch on it is mispredicted half
// the time.
type item struct {
	a, b uint64
	id   int32
}

const sign = 1 << 63

// rising maps a number to an integer of the same order. (-0 and 0 are the same number, and must map alike.)
func rising(a float64) uint64 {
	u := math.Float64bits(a + 0)
	if u&sign != 0 {
		return ^u
	}
	return u | sign
}

func number(u uint64) float64 {
	if u&sign != 0 {
		return math.Float64frombits(u &^ sign)
	}
	return math.Float64frombits(^u)
}

// borrow is 1 if x comes before y, else 0.
func borrow(x, y *item) uint64 {
	_, c := bits.Sub64(x.b, y.b, 0)
	_, c = bits.Sub64(x.a, y.a, c)
	return c
}

func less(x, y *item) bool { return borrow(x, y) != 0 }

// first is whichever of two positions holds the item that comes first.
func (h *Heap) first(p, q int) int {
	if borrow(&h.items[q], &h.items[p]) != 0 {
		p = q
	}
	return p
}

// Len is the number of ids in the heap.
func (h *Heap) Len() int { return len(h.items) }

// Has says whether id is in the heap.
func (h *Heap) Has(id int32) bool { return int(id) < len(h.pos) && h.pos[id] != 0 }

// Min is the best id; ok is false when the heap is empty.
func (h *Heap) Min() (id int32, ok bool) {
	if len(h.items) == 0 {
		return 0, false
	}
	return h.items[0].id, true
}

// MinKey is the best id's first key. The heap must not be empty.
func (h *Heap) MinKey() float64 { return number(h.items[0].a) }

// Set inserts id, or updates its keys.
func (h *Heap) Set(id int32, a float64, b int64) {
	if int(id) >= len(h.pos) {
		h.pos = append(h.pos, make([]int32, int(id)+1-len(h.pos))...)
	}
	it := item{rising(a), uint64(b) ^ sign, id}
	if p := int(h.pos[id]) - 1; p >= 0 {
		switch at := &h.items[p]; {
		case it == *at:
		case less(&it, at):
			h.up(p, it)
		default:
			h.down(p, it)
		}
		return
	}
	h.items = append(h.items, it)
	h.up(len(h.items)-1, it)
}

// Remove removes id; no-op if absent.
func (h *Heap) Remove(id int32) {
	if !h.Has(id) {
		return
	}
	p := int(h.pos[id]) - 1
	h.pos[id] = 0
	last := len(h.items) - 1
	it := h.items[last]
	h.items = h.items[:last]
	if p == last {
		return
	}
	if less(&it, &h.items[p]) {
		h.up(p, it)
	} else {
		h.down(p, it)
	}
}

func (h *Heap) up(p int, it item) {
	for p > 0 {
		parent := (p - 1) / 4
		if !less(&it, &h.items[parent]) {
			break
		}
		h.items[p] = h.items[parent]
		h.pos[h.items[p].id] = int32(p + 1)
		p = parent
	}
	h.items[p] = it
	h.pos[it.id] = int32(p + 1)
}

func (h *Heap) down(p int, it item) {
	items := h.items
	for {
		first := 4*p + 1
		if first >= len(items) {
			break
		}
		best := first
		if first+3 < len(items) {
			best = h.first(h.first(first, first+1), h.first(first+2, first+3))
		} else {
			for c := first + 1; c < len(items); c++ {
				best = h.first(best, c)
			}
		}
		if !less(&items[best], &it) {
			break
		}
		items[p] = items[best]
		h.pos[items[p].id] = int32(p + 1)
		p = best
	}
	items[p] = it
	h.pos[it.id] = int32(p + 1)
}

// Walk yields ids best first until yield returns false. The heap must not change before that: after a yield that changed
// it, return false. Walk does not nest on one heap.
func (h *Heap) Walk(yield func(id int32) bool) {
	for h.walk.Start(h); ; h.walk.Next() {
		id, _, _, ok := h.walk.Peek()
		if !ok || !yield(id) {
			return
		}
	}
}
