// Package dense has slices indexed by small integers, and allocates such integers.
package dense

// At is the element of a slice at index i. The slice grows if it is too short.
func At[T any](s *[]T, i int32) *T {
	if int(i) >= len(*s) {
		*s = append(*s, make([]T, int(i)+1-len(*s))...)
	}
	return &(*s)[i]
}

// Numbers allocates integers from 0. A freed one is reused first.
type Numbers struct {
	free []int32
	next int32
}

// Take allocates a number.
func (n *Numbers) Take() int32 {
	if last := len(n.free) - 1; last >= 0 {
		i := n.free[last]
		n.free = n.free[:last]
		return i
	}
	n.next++
	return n.next - 1
}

// Give frees a number.
func (n *Numbers) Give(i int32) { n.free = append(n.free, i) }
