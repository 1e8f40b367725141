// Package asks keeps a lower bound of the container sizes that waiting jobs want: an engine proposes nothing where nothing fits.
package asks

import (
	"math"

	"github.com/yardmaster/yardmaster/unit"
)

// Set counts the container sizes that waiting jobs want next. There are few distinct sizes, so a list suffices. Its zero value is not ready: see New.
type Set struct {
	list []count
	// Min is componentwise, over all wanted sizes: a named resource is in it if all of them want some. Too large for any node when there are none.
	Min unit.Resources
}

type count struct {
	ask unit.Resources
	n   int64
}

// None is the lower bound of no sizes.
var None = unit.Resources{Mem: math.MaxInt64, Cores: math.MaxInt64}

// New returns an empty set.
func New() Set { return Set{Min: None} }

// Add counts a size.
func (s *Set) Add(r unit.Resources) {
	for i := range s.list {
		if s.list[i].ask == r {
			s.list[i].n++
			return
		}
	}
	s.list = append(s.list, count{r, 1})
	s.Min = Lower(s.Min, r)
}

// Lower is the lower bound of a bound, or None, and one more size.
func Lower(bound, size unit.Resources) unit.Resources {
	if bound == None { // it has no named resources that a size could lack
		return size
	}
	return bound.Min(size)
}

// Remove takes a size that was added out of the count.
func (s *Set) Remove(r unit.Resources) {
	for i := range s.list {
		if s.list[i].ask != r {
			continue
		}
		if s.list[i].n--; s.list[i].n > 0 {
			return
		}
		last := len(s.list) - 1
		s.list[i] = s.list[last]
		s.list = s.list[:last]
		s.Min = None
		for _, c := range s.list {
			s.Min = Lower(s.Min, c.ask)
		}
		return
	}
	panic("asks: remove of a container size that is not counted")
}
