// Package heap is container/heap for values of one type.
package heap

import "container/heap"

// Heap holds values; Items[0] is the one that comes before all others.
type Heap[T any] struct {
	Items  []T
	Before func(a, b T) bool
}

// Push adds a value.
func (h *Heap[T]) Push(v T) { heap.Push((*inner[T])(h), v) }

// Pop takes the first value out.
func (h *Heap[T]) Pop() T { return heap.Pop((*inner[T])(h)).(T) }

// Fix brings the heap in order after its first value has changed.
func (h *Heap[T]) Fix() { heap.Fix((*inner[T])(h), 0) }

type inner[T any] Heap[T]

func (h *inner[T]) Len() int           { return len(h.Items) }
func (h *inner[T]) Less(a, b int) bool { return h.Before(h.Items[a], h.Items[b]) }
func (h *inner[T]) Swap(a, b int)      { h.Items[a], h.Items[b] = h.Items[b], h.Items[a] }
func (h *inner[T]) Push(x any)         { h.Items = append(h.Items, x.(T)) }
func (h *inner[T]) Pop() any {
	var none T
	last := len(h.Items) - 1
	v := h.Items[last]
	h.Items[last], h.Items = none, h.Items[:last]
	return v
}
