// Package steertest has a steering policy for testing engines.
package steertest

import (
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// Looks records the first sample and those at given times, and acts at those times.
type Looks struct {
	At   []unit.Time
	Do   map[unit.Time][]steer.Action
	Seen []steer.Snapshot
}

// Step implements [steer.Steerer].
func (l *Looks) Step(s *steer.Snapshot) ([]steer.Action, unit.Time) {
	l.Seen = append(l.Seen, *s)
	for _, t := range l.At {
		if t > s.Now {
			return l.Do[s.Now], t - s.Now
		}
	}
	return l.Do[s.Now], 0
}
