package fair

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
)

// SetPriority is a no-op: FairScheduler gives every application the same priority.
func (s *scheduler) SetPriority(*rm.App, int, unit.Time) {}

// Move moves an application and what it holds to another leaf: see queues.Tree.Target.
func (s *scheduler) Move(ref *rm.App, name string, now unit.Time) error {
	s.now = now
	a := s.apps[ref.Index]
	target, err := s.Target(name, a.queue, a.Used, a.runnable)
	if err != nil {
		return fmt.Errorf("move application %s to queue %s: %w", ref.ID, name, err)
	}
	if a.queue == target {
		return nil
	}
	from, used, ran := a.queue, a.Used, a.runnable
	s.hold(a, unit.Resources{}.Sub(used))
	s.leave(a)
	a.Demand = unit.Resources{} // counted in the new leaf from the next update on
	a.queue = target
	s.enter(a)
	s.hold(a, used)
	if a.started {
		target.AMs = target.AMs.Add(a.am)
	}
	if ran {
		s.release(from, a.user)
	}
	return nil
}

// SetQueue sets a queue's property: see queues.Tree.Set.
func (s *scheduler) SetQueue(name, property string, value float64, now unit.Time) (float64, error) {
	s.now = now
	_, old, err := s.Set(name, property, value)
	if err != nil {
		return 0, err
	}
	if property == "maxRunningApps" {
		s.releaseFrom(s.Root.waiting(nil), math.MaxInt)
	}
	s.stale = true
	return old, nil
}

// AMLimit implements amlimit.Limited.
func (*scheduler) AMLimit() amlimit.Limit { return amlimit.Fair }
