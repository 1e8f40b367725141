package capacity

import (
	"errors"
	"fmt"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/policy/rm"
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
	to, err := s.Resolve(queue)
	a := s.apps[r.Index]
	if err == nil && to != a.q {
		err = s.AdmitMoved(to, r.User, to.appsOf(r.User))
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

// SetQueue sets a property of a leaf, and recomputes the limits, as Hadoop does when its configuration changes: applications that fit now are activated. See
// queues.Queue.Set.
func (s *Scheduler) SetQueue(name, property string, value float64, _ unit.Time) (old float64, err error) {
	q, err := s.Resolve(name)
	if err == nil {
		var why string
		if old, why = q.Set(property, value); why == "" {
			s.recompute()
			return old, nil
		}
		err = errors.New(why)
	}
	return 0, fmt.Errorf("set %s of queue %s to %v: %w", property, name, value, err)
}

// Property reads what SetQueue sets.
func (s *Scheduler) Property(name, property string) (value float64, err error) {
	q, err := s.Resolve(name)
	if err == nil {
		var why string
		if value, why = q.Property(property); why == "" {
			return value, nil
		}
		err = errors.New(why)
	}
	return 0, fmt.Errorf("%s of queue %s: %w", property, name, err)
}

// Gauges adds to those of the tree that the default calculator limits no vcores.
func (s *Scheduler) Gauges(list []policy.Gauge) []policy.Gauge {
	first := len(list)
	list = s.Tree.Gauges(list)
	if !s.CountsCores() {
		for i, q := range s.Leaves {
			list[first+i].Capacity.Cores = max(q.EffMin.Cores, q.EffMax.Cores)
		}
	}
	return list
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

// AMLimit implements amlimit.Limited.
func (*Scheduler) AMLimit() amlimit.Limit { return amlimit.Capacity }
