package queues

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Target finds the leaf that an application moves to, which must exist or be creatable. One that would exceed the other queue's limit of running
// applications, or whose containers would exceed its maximum, stays where it is, as in Hadoop.
func (t *Tree[Q]) Target(name string, from Q, used unit.Resources, runs bool) (target Q, err error) {
	target, err = t.Find(name, true)
	if err != nil || target == from {
		return target, err
	}
	var none Q
	above := map[Q]bool{}
	for q := from; q != none; q = q.Common().Parent {
		above[q] = true
	}
	for p := target; p != none && !above[p]; p = p.Common().Parent {
		q := p.Common()
		if runs && q.Runnable >= q.MaxApps {
			return target, fmt.Errorf("%s has its %d running %s already", q.Name, q.MaxApps, t.members)
		}
		if !q.Used.Add(used).Fits(q.Max) {
			return target, fmt.Errorf("what it holds does not fit the maximum of %s", q.Name)
		}
	}
	return target, nil
}

// Property reads what Set sets.
func (t *Tree[Q]) Property(name, property string) (float64, error) {
	node, there := t.names[FullName(name)]
	if !there {
		return 0, fmt.Errorf("%s of queue %s: there is no such queue", property, name)
	}
	q := node.Common()
	switch property {
	case "weight":
		return q.Weight, nil
	case "maxAMShare", "maximum-am-resource-percent":
		return q.AMShare, nil
	case "maxRunningApps":
		return float64(q.MaxApps), nil
	}
	return 0, fmt.Errorf("%s of queue %s: FairScheduler has weight, maxAMShare and maxRunningApps", property, name)
}

// Set sets weight, maxAMShare (also as maximum-am-resource-percent, a share) or maxRunningApps of a queue and returns the previous value.
func (t *Tree[Q]) Set(name, property string, value float64) (queue Q, old float64, err error) {
	fail := func(why string) (Q, float64, error) {
		return queue, 0, fmt.Errorf("set %s of queue %s to %v: %s", property, name, value, why)
	}
	queue, there := t.names[FullName(name)]
	if !there {
		return fail("there is no such queue")
	}
	q := queue.Common()
	finite := !math.IsInf(value, 1)
	switch property {
	case "weight":
		if old = q.Weight; !(value >= 0 && finite) {
			return fail("it must be a number that is not negative")
		}
		q.Weight = Single(value)
	case "maxAMShare", "maximum-am-resource-percent":
		if old = q.AMShare; !(value >= 0 && finite || value == -1) {
			return fail("it must be between 0 and 1, or -1 for no limit")
		}
		q.AMShare = Single(min(value, 1))
	case "maxRunningApps":
		if old = float64(q.MaxApps); !(value >= 0 && finite && value == math.Trunc(value)) {
			return fail("it must be a whole number that is not negative")
		}
		q.MaxApps = int(min(value, conf.Unlimited))
	default:
		return fail("FairScheduler has weight, maxAMShare and maxRunningApps")
	}
	return queue, old, nil
}
