package fairrm

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/policy/fair"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// SetPriority is taken and has no effect: FairScheduler gives every application the same priority.
func (s *scheduler) SetPriority(*rm.App, int, unit.Time) {}

// Move takes an application and what it holds to another leaf. It is refused where that would be over a limit of a queue that
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
		to.masters = to.masters.Add(a.master)
	}
	if ran {
		s.release(from, a.user)
	}
	return nil
}

// SetQueue sets weight, maxAMShare (also as maximum-am-resource-percent, a share) or maxRunningApps of a queue.
func (s *scheduler) SetQueue(name, property string, value float64, now unit.Time) (old float64, err error) {
	s.now = now
	fail := func(why string) (float64, error) {
		return 0, fmt.Errorf("set %s of queue %s to %v: %s", property, name, value, why)
	}
	q := s.names[fair.FullName(name)]
	if q == nil {
		return fail("there is no such queue")
	}
	if math.IsInf(value, 0) {
		return fail("it is not a number")
	}
	reads := math.IsNaN(value)
	switch property {
	case "weight":
		if reads {
			return q.weight, nil
		}
		if value < 0 {
			return fail("it must not be negative")
		}
		old, q.weight = q.weight, single(value)
	case "maxAMShare", "maximum-am-resource-percent":
		if reads {
			return q.amShare, nil
		}
		if value < 0 && value != -1 {
			return fail("it must be between 0 and 1, or -1 for no limit")
		}
		old, q.amShare = q.amShare, single(min(value, 1))
	case "maxRunningApps":
		if reads {
			return float64(q.maxApps), nil
		}
		if value < 0 || value != math.Trunc(value) {
			return fail("it must be a whole number that is not negative")
		}
		old, q.maxApps = float64(q.maxApps), int(min(value, conf.Unlimited))
		s.releaseFrom(s.root.waiting(nil), math.MaxInt)
	default:
		return fail("FairScheduler has weight, maxAMShare and maxRunningApps")
	}
	s.stale = true
	return old, nil
}
