// Package heap is container/heap for values of one type: values are not boxed, and ties are broken as there.
package heap

// Heap holds values; Items[0] is the one that comes before all others.
type Heap[T any] struct {
	Items  []T
	Before func(a, b T) bool
}

// Init establishes the heap order of Items.
func (h *Heap[T]) Init() {
	for i := len(h.Items)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// Push adds a value.
func (h *Heap[T]) Push(v T) {
	h.Items = append(h.Items, v)
	for i := len(h.Items) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.Before(h.Items[i], h.Items[up]) {
			return
		}
		h.Items[i], h.Items[up] = h.Items[up], h.Items[i]
		i = up
	}
}

// Pop removes the first value.
func (h *Heap[T]) Pop() T {
	var none T
	first, last := h.Items[0], len(h.Items)-1
	h.Items[0], h.Items[last] = h.Items[last], none
	h.Items = h.Items[:last]
	h.down(0)
	return first
}

// Fix restores the heap order after the first value has changed.
func (h *Heap[T]) Fix() { h.down(0) }

func (h *Heap[T]) down(i int) {
	for {
		k := 2*i + 1
		if k >= len(h.Items) {
			return
		}
		if k+1 < len(h.Items) && h.Before(h.Items[k+1], h.Items[k]) {
			k++
		}
		if !h.Before(h.Items[k], h.Items[i]) {
			return
		}
		h.Items[i], h.Items[k] = h.Items[k], h.Items[i]
		i = k
	}
}
