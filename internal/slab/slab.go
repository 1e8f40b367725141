// Package slab allocates small values of one type in chunks. A chunk is freed when nothing points into it any more.
package slab

// Slab is ready for use.
type Slab[T any] struct{ left []T }

// New is a zero value.
func (s *Slab[T]) New() *T {
	if len(s.left) == 0 {
		s.left = make([]T, 64)
	}
	v := &s.left[0]
	s.left = s.left[1:]
	return v
}
