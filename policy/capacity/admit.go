package capacity

import (
	"cmp"
	"strings"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// resolve finds the leaf that a job names. Without a file, it is made on first use.
func (o *Order) resolve(name string) (*queue, error) {
	q, err := o.Resolve(name)
	if err != nil && o.plain != nil {
		q, err = o.addLeaf(strings.TrimPrefix(cmp.Or(name, "default"), "root."), conf.QueueShare{Kind: conf.Weight, Value: 1}), nil
		o.recompute()
	}
	return q, err
}

// MissingQueue says why no job can be submitted to a queue; nil: one can.
func (o *Order) MissingQueue(name string) error {
	_, err := o.resolve(name)
	return err
}

// appsOf is how many applications a user has in a leaf.
func (o *Order) appsOf(user string, q *queue) int {
	if slot, ok := q.users[user]; ok {
		return o.users[slot].apps
	}
	return 0
}

// QueueOf is the leaf that a job is in.
func (o *Order) QueueOf(j *policy.Job) string { return o.users[o.apps[j.Index].user].q.Path }
