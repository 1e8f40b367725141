package fair

import (
	"fmt"
	"math"
	"strings"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// SetPriority is taken and has no effect: FairScheduler gives every job the same priority.
func (t *Tree) SetPriority(*policy.Job, int) {}

// Move takes a job and what it holds to another leaf, which must exist or may be made. A job that is over the other
// queue's limit of running jobs, or whose containers are over its maximum, stays where it is, as in Hadoop.
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
	t.shift(from, unit.Resources{}.Sub(j.Used), unit.Resources{}.Sub(a.master))
	t.shift(to, j.Used, a.master)
	t.enter(a, to)
	t.climb(from)
	t.release()
	return nil
}

func (t *Tree) shift(q *queue, used, masters unit.Resources) {
	q.masters = q.masters.Add(masters)
	for ; q != nil; q = q.parent {
		q.used = q.used.Add(used)
	}
}

// SetQueue sets weight, maxAMShare (also as maximum-am-resource-percent, a share) or maxRunningApps of a queue.
func (t *Tree) SetQueue(name, property string, value float64) (old float64, err error) {
	fail := func(why string) (float64, error) {
		return 0, fmt.Errorf("set %s of queue %s to %v: %s", property, name, value, why)
	}
	q := t.names[FullName(name)]
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
		if q.parent != nil {
			q.parent.classify()
		}
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
		t.release()
	default:
		return fail("fair has " + strings.Join([]string{"weight", "maxAMShare", "maxRunningApps"}, ", "))
	}
	t.changed()
	t.climb(q)
	return old, nil
}
