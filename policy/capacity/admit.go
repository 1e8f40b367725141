package capacity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/policy"
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

// MissingQueue says why no job can be submitted to a queue; nil: one can.
func (o *Order) MissingQueue(name string) error {
	_, err := o.resolve(name)
	return err
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

// name registers a leaf under its names.
func (o *Order) name(q *queue) {
	o.leaves = append(o.leaves, q)
	for _, n := range slices.Compact([]string{q.path, strings.TrimPrefix(q.path, "root."), q.name}) {
		o.names[n] = append(o.names[n], q)
	}
}

// admit refuses a job that Hadoop would reject at submission.
func (o *Order) admit(q *queue, j *policy.Job) error {
	if q.stopped {
		return fmt.Errorf("queue %s is STOPPED and takes no applications", q.path)
	}
	var ofUser int
	if slot, ok := q.users[j.User]; ok {
		ofUser = o.users[slot].apps
	}
	return q.Admit(q.path, j.User, ofUser, o.total, o.maxApps)
}
