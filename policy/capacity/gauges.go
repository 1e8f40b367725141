package capacity

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity/arith"
	"github.com/yardmaster/yardmaster/unit"
)

var (
	_ policy.Gauges    = (*Order)(nil)
	_ policy.Explainer = (*Order)(nil)
)

// Why says which limits hold a job back: those on AMs while it waits for activation, then its user's, its queue's and those above.
func (o *Order) Why(_ unit.Time, j *policy.Job, to []policy.Reason) []policy.Reason {
	a := &o.apps[j.Index]
	u := &o.users[a.user]
	q, first := u.q, len(to)
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
		if !o.Calc.Fits(q.Used.Add(j.Ask), q.EffMax) {
			to = append(to, policy.Reason{Limit: "maximum-capacity", Queue: q.Path, Held: q.Used, Max: q.EffMax})
		}
	}
	for i := range to[first:] {
		if r := &to[first+i]; o.Calc != arith.Dominant { // limits are of memory alone
			r.Held.Cores, r.Max.Cores = 0, 0
		}
	}
	return to
}
