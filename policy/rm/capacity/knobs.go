package capacity

import (
	"errors"
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

var (
	_ rm.Knobs  = (*Scheduler)(nil)
	_ rm.Gauges = (*Scheduler)(nil)
)

// SetPriority changes an application's priority. As in Hadoop it does not trigger activation.
func (s *Scheduler) SetPriority(r *rm.App, priority int, _ unit.Time) {
	a := s.apps[r.Index]
	a.priority = min(max(priority, 0), s.site.MaxApplicationPriority)
	if a.active {
		s.rank(a)
	} else {
		a.q.wait(a)
	}
}

// Move moves an application, with all it holds, to another leaf, where it waits for activation like a new one. As in Hadoop
// (CapacityScheduler.moveApplication), what it holds may exceed the leaf's maximum.
func (s *Scheduler) Move(r *rm.App, queue string, _ unit.Time) error {
	to, err := s.resolve(queue)
	a := s.apps[r.Index]
	if err == nil && to != a.q {
		s.total-- // it is already counted
		err = s.admit(to, r)
		s.total++
	}
	if err != nil {
		return fmt.Errorf("move application %s to queue %s: %w", r.ID, queue, err)
	}
	if to == a.q {
		return nil
	}
	from, user, asked := a.q, a.u, a.asking
	held := a.reserved
	for _, c := range a.live {
		held = held.Add(c.Size)
	}
	s.hold(user, unit.Resources{}.Sub(held))
	from.charge(unit.Resources{}.Sub(held))
	from.reserve(unit.Resources{}.Sub(a.reserved))
	s.leave(a)
	s.activate(from)

	a.q, a.u, a.active, a.asking, a.moved = to, to.userOf(r.User), false, false, false
	s.hold(a.u, held)
	to.charge(held)
	to.reserve(a.reserved)
	a.u.count(0, 1)
	to.Apps++
	to.wait(a)
	s.activate(to)

	from.want(unit.Resources{}.Sub(a.table.Pending())) // only now: its requests move last
	to.want(a.table.Pending())
	if asked {
		from.Ask(&user.User, -1)
	}
	if a.table.Len() > 0 {
		s.asks(a)
	}
	s.moved(a)
	return nil
}

// SetQueue sets capacity, weight, maximum-capacity, maximum-am-resource-percent (0 to 1), user-limit-factor or minimum-user-limit-percent of a leaf, and
// recomputes the limits, as Hadoop does when its configuration changes: applications that fit now are activated.
func (s *Scheduler) SetQueue(name, property string, value float64, _ unit.Time) (old float64, err error) {
	fail := func(why string) (float64, error) {
		return 0, fmt.Errorf("set %s of queue %s to %v: %s", property, name, value, why)
	}
	q, at, err := s.knob(name, property)
	switch {
	case err != nil:
		return fail(err.Error())
	case math.IsNaN(value) || math.IsInf(value, 0):
		return fail("it is not a number")
	case property == "maximum-am-resource-percent" && (value < 0 || value > 1):
		return fail("it must be between 0 and 1")
	case property == "user-limit-factor" && value < 0 && value != -1:
		return fail("it must not be negative, or -1 for no limit")
	case property == "minimum-user-limit-percent" && (value < 0 || value > 100):
		return fail("it must be between 0 and 100")
	}
	old = float64(*at)
	if _, _, ok := q.Share.Property(property); !ok {
		*at = float32(value)
	} else if why := q.SetProperty(property, float32(value)); why != "" {
		return fail(why)
	}
	s.recompute()
	return old, nil
}

// Property reads what SetQueue sets.
func (s *Scheduler) Property(name, property string) (float64, error) {
	_, at, err := s.knob(name, property)
	if err != nil {
		return 0, fmt.Errorf("%s of queue %s: %w", property, name, err)
	}
	return float64(*at), nil
}

// knob points to a property's value; of a queue's share it is a copy.
func (s *Scheduler) knob(name, property string) (*queue, *float32, error) {
	q, err := s.resolve(name)
	if err != nil {
		return nil, nil, err
	}
	switch property {
	case "maximum-am-resource-percent":
		return q, &q.AMPercent, nil
	case "user-limit-factor":
		return q, &q.UserFactor, nil
	case "minimum-user-limit-percent":
		return q, &q.UserPercent, nil
	}
	v, why, ok := q.Share.Property(property)
	if !ok {
		why = "unsupported: want capacity, weight, maximum-capacity, maximum-am-resource-percent, user-limit-factor or minimum-user-limit-percent"
	}
	if why != "" {
		err = errors.New(why)
	}
	return q, &v, err
}

// Gauges reports what the leaves' AM limits are measured against, and what the AMs of activated applications are charged.
func (s *Scheduler) Gauges(to []policy.Gauge) []policy.Gauge {
	for _, q := range s.leaves {
		usable := q.CurLimit
		if !s.calc.Fits(q.EffMin, usable) {
			usable = q.EffMin
		}
		if !s.CountsCores() { // limits are of memory alone
			usable.Cores = max(q.EffMin.Cores, q.EffMax.Cores)
		}
		ceiling := s.ceiling(q)
		if !s.CountsCores() {
			ceiling.Cores = 0
		}
		to = append(to, policy.Gauge{Queue: q.path, Capacity: usable, Ceiling: ceiling, AMs: q.AMUsed, AMShare: float64(q.AMPercent)})
	}
	return to
}

// ceiling is the maximum a queue could hold now. CurLimit dates from the queue's last visit: others may have grown since.
func (s *Scheduler) ceiling(q *queue) unit.Resources {
	if q.parent == nil {
		return s.cluster
	}
	return q.EffMax.Min(s.ceiling(q.parent).Sub(q.parent.used).Add(q.used)).Max(unit.Resources{Mem: 1, Cores: 1})
}

// Active applications are those that are activated, whether they have a container or not.
func (s *Scheduler) Active(r *rm.App) bool { return s.apps[r.Index].active }

// AMOf implements rm.Gauges.
func (s *Scheduler) AMOf(r *rm.App) unit.Resources {
	if r.AM.IsZero() {
		return unit.Resources{}
	}
	return s.apps[r.Index].am
}

// AMLimit implements steer.AMLimited.
func (*Scheduler) AMLimit() steer.AMLimit { return steer.CapacityAM }
