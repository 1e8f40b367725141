package capacity

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/steer"
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
	o.total-- // it is already counted
	err = o.admit(to, j)
	o.total++
	if err != nil {
		return err
	}
	o.leave(j.Index)
	o.activate(from)
	o.enter(to, j.Index)
	return nil
}

// SetQueue sets a property of a queue: capacity (the percentage or weight it has), maximum-capacity (percent; -1: none),
// maximum-am-resource-percent (0 to 1), user-limit-factor, minimum-user-limit-percent. The caller must ensure that the percentages of
// siblings sum to 100 in the end; in between they need not.
func (o *Order) SetQueue(name, property string, value float64) (float64, error) {
	q, err := o.find(name)
	if err != nil {
		return 0, err
	}
	bad := func(want string) (float64, error) {
		return 0, fmt.Errorf("queue %s: %s cannot be set to %v: %s", q.path, property, value, want)
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return bad("it is not a number")
	}
	at, why := q.knob(property)
	if why != "" {
		return bad(why)
	}
	v, old := float32(value), *at
	switch property {
	case "capacity", "weight", "maximum-capacity":
		if why := q.SetProperty(property, v); why != "" {
			return bad(why)
		}
		o.recompute()
		return float64(old), nil
	case "maximum-am-resource-percent":
		if v < 0 || v > 1 {
			return bad("want a number from 0 to 1")
		}
	case "user-limit-factor":
		if v < 0 && v != -1 {
			return bad("want a positive number, or -1 for no limit")
		}
	case "minimum-user-limit-percent":
		if v < 0 || v > 100 {
			return bad("want a percentage from 0 to 100")
		}
	}
	*at = v
	o.recompute()
	return float64(old), nil
}

// Property reads what SetQueue sets.
func (o *Order) Property(name, property string) (float64, error) {
	q, err := o.find(name)
	if err != nil {
		return 0, err
	}
	at, why := q.knob(property)
	if why != "" {
		return 0, fmt.Errorf("queue %s: %s: %s", q.path, property, why)
	}
	return float64(*at), nil
}

// knob points to a property's value, or says why the queue does not have it. Of its share it is a copy.
func (q *queue) knob(property string) (at *float32, why string) {
	if v, why, ok := q.Share.Property(property); ok {
		if q.parent == nil {
			why = "the root always has 100"
		}
		return &v, why
	}
	if q.leaf == nil {
		return nil, "it is a property of leaf queues"
	}
	switch property {
	case "maximum-am-resource-percent":
		return &q.AMPercent, ""
	case "user-limit-factor":
		return &q.UserFactor, ""
	case "minimum-user-limit-percent":
		return &q.UserPercent, ""
	}
	return nil, "there are capacity, weight, maximum-capacity, maximum-am-resource-percent, user-limit-factor, minimum-user-limit-percent"
}

// find is a queue by name, parents included.
func (o *Order) find(name string) (*queue, error) {
	if found := o.names[name]; len(found) == 1 {
		return found[0], nil
	}
	var walk func(q *queue) *queue
	walk = func(q *queue) *queue {
		if q.path == name || q.path == "root."+name {
			return q
		}
		for _, k := range q.children {
			if f := walk(k); f != nil {
				return f
			}
		}
		return nil
	}
	if q := walk(o.root); q != nil {
		return q, nil
	}
	return nil, fmt.Errorf("there is no queue %q: there are %s", name, paths(o.leaves))
}

// AMLimit implements steer.AMLimited.
func (*Order) AMLimit() steer.AMLimit { return steer.CapacityAM }
