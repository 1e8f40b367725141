package capacity

import (
	"fmt"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/amlimit"
)

// SetPriority changes a job's priority. As in Hadoop it does not trigger activation.
func (o *Order) SetPriority(j *policy.Job, _ int) {
	a := &o.apps[j.Index]
	u := &o.users[a.user]
	a.priority = o.capped(u.q, j.Priority)
	if a.state == waiting {
		n := &o.waitingApps.nodes[j.Index]
		o.waitingApps.put(&u.waiting, j.Index, float64(-a.priority), j.Seq, n.val)
		o.rankPending(a.user)
	} else if o.readyApps.has(j.Index) {
		o.rankApp(j.Index)
	}
}

// Move moves a job, with all it holds, to another leaf, where it waits for activation like a new one. As in Hadoop, what it holds may exceed the
// leaf's maximum.
func (o *Order) Move(j *policy.Job, name string) error {
	to, err := o.resolve(name)
	if err != nil {
		return err
	}
	from := o.users[o.apps[j.Index].user].q
	if to == from {
		return nil
	}
	if err := o.AdmitMoved(to, j.User, o.appsOf(j.User, to)); err != nil {
		return err
	}
	o.leave(j.Index)
	o.activate(from)
	o.enter(to, j.Index)
	return nil
}

// SetQueue sets a property of a queue: see queues.Queue.Set.
func (o *Order) SetQueue(name, property string, value float64) (float64, error) {
	q, err := o.Find(name)
	if err != nil {
		return 0, err
	}
	old, why := q.Set(property, value)
	if why != "" {
		return 0, fmt.Errorf("queue %s: %s cannot be set to %v: %s", q.Path, property, value, why)
	}
	o.recompute()
	return old, nil
}

// Property reads what SetQueue sets.
func (o *Order) Property(name, property string) (float64, error) {
	q, err := o.Find(name)
	if err != nil {
		return 0, err
	}
	value, why := q.Property(property)
	if why != "" {
		return 0, fmt.Errorf("queue %s: %s: %s", q.Path, property, why)
	}
	return value, nil
}

// AMLimit implements amlimit.Limited.
func (*Order) AMLimit() amlimit.Limit { return amlimit.Capacity }
