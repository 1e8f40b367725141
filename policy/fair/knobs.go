package fair

import (
	"fmt"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/unit"
)

// SetPriority is a no-op: FairScheduler gives every job the same priority.
func (t *Tree) SetPriority(*policy.Job, int) {}

// Move moves a job and what it holds to another leaf: see queues.Tree.Target.
func (t *Tree) Move(j *policy.Job, name string) error {
	a := &t.apps[j.Index]
	from := a.queue
	target, err := t.Target(name, from, j.Used, !a.parked)
	if err != nil {
		return fmt.Errorf("move job %s to queue %s: %w", j.ID, name, err)
	}
	if from == target {
		return nil
	}
	t.leave(a)
	t.shift(from, unit.Resources{}.Sub(j.Used), unit.Resources{}.Sub(a.am))
	t.shift(target, j.Used, a.am)
	t.enter(a, target)
	t.climb(from)
	t.release()
	return nil
}

func (t *Tree) shift(q *queue, used, ams unit.Resources) {
	q.AMs = q.AMs.Add(ams)
	for ; q != nil; q = q.Parent {
		q.Used = q.Used.Add(used)
	}
}

// SetQueue sets a queue's property: see queues.Tree.Set.
func (t *Tree) SetQueue(name, property string, value float64) (float64, error) {
	q, old, err := t.Set(name, property, value)
	if err != nil {
		return 0, err
	}
	if q.Parent != nil {
		q.Parent.classify()
	}
	t.release()
	t.changed()
	t.climb(q)
	return old, nil
}

// AMLimit implements amlimit.Limited.
func (*Tree) AMLimit() amlimit.Limit { return amlimit.Fair }
