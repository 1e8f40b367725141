package capacity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity/arith"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// resolve finds the leaf that a job names: by its full path, with or without "root.", or by its own name when only one
// leaf has it. No name is "default".
func (o *Order) resolve(name string) (*queue, error) {
	if name == "" {
		name = "default"
	}
	found := o.names[name]
	if len(found) == 1 {
		return found[0], nil
	}
	if o.plain != nil {
		q := o.addLeaf(strings.TrimPrefix(name, "root."), conf.QueueShare{Kind: conf.Weight, Value: 1})
		o.recompute()
		return q, nil
	}
	if len(found) > 1 {
		if i := slices.IndexFunc(found, func(q *queue) bool { return q.path == name || q.path == "root."+name }); i >= 0 {
			return found[i], nil
		}
		return nil, fmt.Errorf("queue %q could be %s: give the full path", name, paths(found))
	}
	return nil, fmt.Errorf("there is no leaf queue %q: there are %s", name, paths(o.leaves))
}

func paths(queues []*queue) string {
	var list []string
	for i, q := range queues {
		if i == 12 {
			list = append(list, fmt.Sprintf("and %d more", len(queues)-i))
			break
		}
		list = append(list, q.path)
	}
	return strings.Join(list, ", ")
}

// name makes a leaf known by its names.
func (o *Order) name(q *queue) {
	o.leaves = append(o.leaves, q)
	for _, n := range slices.Compact([]string{q.path, strings.TrimPrefix(q.path, "root."), q.name}) {
		o.names[n] = append(o.names[n], q)
	}
}

// limitsOfCounts sets how many applications the leaf and each of its users may have.
func (o *Order) limitsOfCounts(q *queue) {
	q.maxApps = arith.MaxApplications(q.ownMaxApps, o.globalQueueMax, o.maxApps, q.AbsCap, q.Capacity.Kind == conf.Absolute)
	q.maxUserApps = arith.MaxUserApplications(q.maxApps, q.userPercent, q.userFactor)
}

// admit refuses a job that Hadoop would reject at submission.
func (o *Order) admit(q *queue, j *policy.Job) error {
	l := q.leaf
	var ofUser int
	if slot, ok := l.users[j.User]; ok {
		ofUser = o.users[slot].apps
	}
	switch {
	case q.stopped:
		return fmt.Errorf("queue %s is STOPPED and takes no applications", q.path)
	case o.maxApps >= 0 && o.total >= o.maxApps:
		return fmt.Errorf("there are %d applications already, the most that maximum-applications allows", o.total)
	case l.maxApps >= 0 && l.apps >= l.maxApps:
		return fmt.Errorf("queue %s has %d applications already, the most it takes", q.path, l.apps)
	case l.maxUserApps >= 0 && ofUser >= l.maxUserApps:
		return fmt.Errorf("user %s has %d applications in queue %s already, the most one user may have there", j.User, ofUser, q.path)
	}
	return nil
}
