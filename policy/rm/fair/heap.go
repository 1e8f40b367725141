package fairrm

import "github.com/yardmaster/yardmaster/unit"

// heap hands out the children of a queue, best first. Most descents need only the first of many.
type heap struct {
	kids  []*queue
	kind  kind
	total unit.Resources
}

// fill takes those children that something could be assigned to.
func (h *heap) fill(q *queue, total unit.Resources) {
	h.kids, h.kind, h.total = h.kids[:0], q.kind, total
	for _, k := range q.kids {
		if k.hungry > 0 {
			h.kids = append(h.kids, k)
		}
	}
	for i := len(h.kids)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// pop is the best that is left, or nil.
func (h *heap) pop() *queue {
	n := len(h.kids) - 1
	if n < 0 {
		return nil
	}
	best := h.kids[0]
	h.kids[0], h.kids = h.kids[n], h.kids[:n]
	h.down(0)
	return best
}

func (h *heap) down(i int) {
	for {
		k := 2*i + 1
		if k >= len(h.kids) {
			return
		}
		if k+1 < len(h.kids) && h.before(k+1, k) {
			k++
		}
		if !h.before(k, i) {
			return
		}
		h.kids[i], h.kids[k] = h.kids[k], h.kids[i]
		i = k
	}
}

func (h *heap) before(i, k int) bool {
	return h.kind.compare(&h.kids[i].standing, &h.kids[k].standing, h.total) < 0
}
