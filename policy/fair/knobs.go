package fair

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// SetPriority is a no-op: FairScheduler gives every job the same priority.
func (t *Tree) SetPriority(*policy.Job, int) {}

// Move moves a job and what it holds to another leaf, which must exist or be creatable. A job that would exceed the other
// queue's limit of running jobs, or whose containers would exceed its maximum, stays where it is, as in Hadoop.
func (t *Tree) Move(j *policy.Job, name string) error {
	fail := func(why string) error { return fmt.Errorf("move job %s to queue %s: %s", j.ID, name, why) }
	to, err := t.leaf(name, true)
	if err != nil {
		return fail(err.Error())
	}
	a := &t.apps[j.Index]
	from := a.queue
	if from == to {
		return nil
	}
	above := map[*queue]bool{}
	for q := from; q != nil; q = q.parent {
		above[q] = true
	}
	for q := to; q != nil && !above[q]; q = q.parent {
		if !a.parked && q.runnable >= q.maxApps {
			return fail(fmt.Sprintf("%s has its %d running jobs already", q.name, q.maxApps))
		}
		if !q.used.Add(j.Used).Fits(q.max) {
			return fail(fmt.Sprintf("what it holds does not fit the maximum of %s", q.name))
		}
	}
	t.leave(a)
	t.shift(from, unit.Resources{}.Sub(j.Used), unit.Resources{}.Sub(a.am))
	t.shift(to, j.Used, a.am)
	t.enter(a, to)
	t.climb(from)
	t.release()
	return nil
}

func (t *Tree) shift(q *queue, used, ams unit.Resources) {
	q.ams = q.ams.Add(ams)
	for ; q != nil; q = q.parent {
		q.used = q.used.Add(used)
	}
}

// SetQueue sets a queue's property: see SetProperty.
func (t *Tree) SetQueue(name, property string, value float64) (float64, error) {
	q := t.names[FullName(name)]
	if q == nil {
		return 0, fmt.Errorf("set %s of queue %s to %v: there is no such queue", property, name, value)
	}
	old, err := SetProperty(name, property, value, &q.weight, &q.amShare, &q.maxApps)
	if err != nil {
		return 0, err
	}
	if q.parent != nil {
		q.parent.classify()
	}
	t.release()
	t.changed()
	t.climb(q)
	return old, nil
}

// Property reads what SetQueue sets.
func (t *Tree) Property(name, property string) (float64, error) {
	q := t.names[FullName(name)]
	if q == nil {
		return 0, fmt.Errorf("%s of queue %s: there is no such queue", property, name)
	}
	return ReadProperty(name, property, q.weight, q.amShare, q.maxApps)
}

// ReadProperty reads what SetProperty sets.
func ReadProperty(queue, property string, weight, amShare float64, maxApps int) (float64, error) {
	switch property {
	case "weight":
		return weight, nil
	case "maxAMShare", "maximum-am-resource-percent":
		return amShare, nil
	case "maxRunningApps":
		return float64(maxApps), nil
	}
	return 0, fmt.Errorf("%s of queue %s: FairScheduler has weight, maxAMShare and maxRunningApps", property, queue)
}

// SetProperty sets weight, maxAMShare (also as maximum-am-resource-percent, a share) or maxRunningApps of a queue and returns the
// previous value.
func SetProperty(queue, property string, value float64, weight, amShare *float64, maxApps *int) (old float64, err error) {
	var why string
	switch property {
	case "weight":
		if old = *weight; value >= 0 && !math.IsInf(value, 1) {
			*weight = Single(value)
			return old, nil
		}
		why = "it must be a number that is not negative"
	case "maxAMShare", "maximum-am-resource-percent":
		if old = *amShare; value >= 0 && !math.IsInf(value, 1) || value == -1 {
			*amShare = Single(min(value, 1))
			return old, nil
		}
		why = "it must be between 0 and 1, or -1 for no limit"
	case "maxRunningApps":
		if old = float64(*maxApps); value >= 0 && value == math.Trunc(value) && !math.IsInf(value, 1) {
			*maxApps = int(min(value, conf.Unlimited))
			return old, nil
		}
		why = "it must be a whole number that is not negative"
	default:
		return 0, fmt.Errorf("set %s of queue %s to %v: FairScheduler has weight, maxAMShare and maxRunningApps", property, queue, value)
	}
	return 0, fmt.Errorf("set %s of queue %s to %v: %s", property, queue, value, why)
}

// AMLimit implements steer.AMLimited.
func (*Tree) AMLimit() steer.AMLimit { return steer.FairAM }
