package capacity

import (
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity/arith"
	"github.com/yardmaster/yardmaster/unit"
)

var (
	_ policy.Gauges    = (*Order)(nil)
	_ policy.Explainer = (*Order)(nil)
)

// Why says which limits hold a job back: those on AMs while it waits for activation, then its user's, its queue's and those above; then which jobs of its leaf
// come first.
func (o *Order) Why(_ unit.Time, j *policy.Job, to []policy.Reason) []policy.Reason {
	a := &o.apps[j.Index]
	u := &o.users[a.user]
	q, first := u.q, len(to)
	defer func(l *arith.Leaf, was arith.Leaf) { *l = was }(q.Leaf, *q.Leaf) // computing limits changes when they are computed next
	if a.state == waiting {
		all, one := o.amLimits(q)
		if !o.Calc.Fits(q.AMUsed.Add(j.AM), all) {
			to = append(to, policy.Reason{Limit: "maximum-am-resource-percent", Queue: q.Path, Held: q.AMUsed, Max: all})
		} else if !o.Calc.Fits(u.AM.Add(j.AM), one) {
			to = append(to, policy.Reason{Limit: "maximum-am-resource-percent", Queue: q.Path, User: j.User, Held: u.AM, Max: one})
		}
	}
	if limit := o.UserLimit(&q.Queue); o.Calc.Compare(o.Cluster, u.Used, limit) > 0 {
		to = append(to, policy.Reason{Limit: "user-limit-factor", Queue: q.Path, User: j.User, Held: u.Used, Max: limit})
	}
	for ; q != nil; q = q.Parent {
		if !o.Calc.Fits(q.Used.Add(j.Ask), q.EffMax) && !o.Calc.Fits(o.Cluster, q.EffMax) { // else the cluster is full
			to = append(to, policy.Reason{Limit: "maximum-capacity", Queue: q.Path, Held: q.Used, Max: q.EffMax})
		}
	}
	if r := o.ahead(a); r.Ahead > 0 {
		to = append(to, r)
	}
	for i := range to[first:] {
		if r := &to[first+i]; o.Calc != arith.Dominant { // limits are of memory alone
			r.Held.Cores, r.Max.Cores = 0, 0
		}
	}
	return to
}

// ahead counts the applications of a leaf that come before one of it.
func (o *Order) ahead(a *app) policy.Reason {
	q, apps := o.users[a.user].q, &o.readyApps
	if a.state == waiting {
		apps = &o.waitingApps
	}
	var ids []int32
	for _, slot := range q.slots {
		u := &o.users[slot]
		t := u.ready
		if a.state == waiting {
			t = u.waiting
		}
		for id := apps.first(t, &anything); id != none && apps.has(a.job.Index) && apps.less(id, a.job.Index); id = apps.next(id, &anything) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(x, y int32) int {
		if apps.less(x, y) {
			return -1
		}
		return 1
	})
	r := policy.Reason{Queue: q.Path}
	for _, id := range ids {
		r.Precede(o.apps[id].job.ID)
	}
	return r
}
