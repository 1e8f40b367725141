// Package dense has slices that are indexed by small numbers, and hands such numbers out.
package dense

// At is the element of a slice at a number. A slice that is too short for it grows.
func At[T any](s *[]T, i int32) *T {
	if int(i) >= len(*s) {
		*s = append(*s, make([]T, int(i)+1-len(*s))...)
	}
	return &(*s)[i]
}

// Numbers hands out numbers, from 0 on. One that was given back is the next to be taken.
type Numbers struct {
	free []int32
	next int32
}

// Take hands out a number.
func (n *Numbers) Take() int32 {
	if last := len(n.free) - 1; last >= 0 {
		i := n.free[last]
		n.free = n.free[:last]
		return i
	}
	n.next++
	return n.next - 1
}

// Give takes a number back.
func (n *Numbers) Give(i int32) { n.free = append(n.free, i) }
