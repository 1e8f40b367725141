package fair

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/policy/fair"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// SetPriority is a no-op: FairScheduler gives every application the same priority.
func (s *scheduler) SetPriority(*rm.App, int, unit.Time) {}

// Move moves an application and what it holds to another leaf. It fails if that would exceed a limit of a queue that
// the application is not in already.
func (s *scheduler) Move(ref *rm.App, name string, now unit.Time) error {
	s.now = now
	fail := func(why string) error { return fmt.Errorf("move application %s to queue %s: %s", ref.ID, name, why) }
	to, err := s.find(fair.FullName(name), true)
	if err != nil {
		return fail(err.Error())
	}
	a := s.apps[ref.Index]
	if a.queue == to {
		return nil
	}
	above := map[*queue]bool{}
	for q := a.queue; q != nil; q = q.parent {
		above[q] = true
	}
	for q := to; q != nil && !above[q]; q = q.parent {
		if a.runnable && q.runnable >= q.maxApps {
			return fail(fmt.Sprintf("%s has its %d running applications already", q.name, q.maxApps))
		}
		if !q.used.Add(a.used).Fits(q.max) {
			return fail("what it holds does not fit the maximum of " + q.name)
		}
	}
	from, used, ran := a.queue, a.used, a.runnable
	s.hold(a, unit.Resources{}.Sub(used))
	s.leave(a)
	a.demand = unit.Resources{} // counted in the new leaf from the next update on
	a.queue = to
	s.enter(a)
	s.hold(a, used)
	if a.started {
		to.ams = to.ams.Add(a.am)
	}
	if ran {
		s.release(from, a.user)
	}
	return nil
}

// SetQueue sets a queue's property: see fair.SetProperty.
func (s *scheduler) SetQueue(name, property string, value float64, now unit.Time) (float64, error) {
	s.now = now
	q := s.names[fair.FullName(name)]
	if q == nil {
		return 0, fmt.Errorf("set %s of queue %s to %v: there is no such queue", property, name, value)
	}
	old, err := fair.SetProperty(name, property, value, &q.weight, &q.amShare, &q.maxApps)
	if err != nil {
		return 0, err
	}
	if property == "maxRunningApps" {
		s.releaseFrom(s.root.waiting(nil), math.MaxInt)
	}
	s.stale = true
	return old, nil
}

// Property reads what SetQueue sets.
func (s *scheduler) Property(name, property string) (float64, error) {
	q := s.names[fair.FullName(name)]
	if q == nil {
		return 0, fmt.Errorf("%s of queue %s: there is no such queue", property, name)
	}
	return fair.ReadProperty(name, property, q.weight, q.amShare, q.maxApps)
}

// AMLimit implements steer.AMLimited.
func (*scheduler) AMLimit() steer.AMLimit { return steer.FairAM }
