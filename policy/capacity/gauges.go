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

// QueueOf is the leaf that a job is in.
func (o *Order) QueueOf(j *policy.Job) string { return o.users[o.apps[j.Index].user].q.path }

// Gauges reports what the leaves' AM limits are measured against, and what the AMs of activated applications are charged.
func (o *Order) Gauges(to []policy.Gauge) []policy.Gauge {
	for _, q := range o.leaves {
		usable := q.CurLimit
		if !o.calc.Fits(q.EffMin, usable) {
			usable = q.EffMin
		}
		ceiling := o.ceiling(q)
		if o.calc != arith.Dominant { // limits are of memory alone
			ceiling.Cores = 0
		}
		to = append(to, policy.Gauge{Queue: q.path, Capacity: usable, Ceiling: ceiling, AMs: q.AMUsed, AMShare: float64(q.AMPercent)})
	}
	return to
}

// ceiling is the maximum a queue could hold now. CurLimit dates from the last visit of the queue: others may have grown since.
func (o *Order) ceiling(q *queue) unit.Resources {
	if q.parent == nil {
		return o.cluster
	}
	return q.EffMax.Min(o.ceiling(q.parent).Sub(q.parent.used).Add(q.used)).Max(unit.Resources{Mem: 1, Cores: 1})
}

// Why says which limits hold a job back: those on AMs while it waits for activation, then its user's, its queue's and those above.
func (o *Order) Why(_ unit.Time, j *policy.Job, to []policy.Reason) []policy.Reason {
	a := &o.apps[j.Index]
	u := &o.users[a.user]
	q, first := u.q, len(to)
	if a.state == waiting {
		all, one := o.amLimits(q)
		if !o.calc.Fits(q.AMUsed.Add(j.AM), all) {
			to = append(to, policy.Reason{Limit: "maximum-am-resource-percent", Queue: q.path, Held: q.AMUsed, Max: all})
		} else if !o.calc.Fits(u.AM.Add(j.AM), one) {
			to = append(to, policy.Reason{Limit: "maximum-am-resource-percent", Queue: q.path, User: j.User, Held: u.AM, Max: one})
		}
	}
	if limit := o.userLimit(q); o.calc.Compare(o.cluster, u.Used, limit) > 0 {
		to = append(to, policy.Reason{Limit: "user-limit-factor", Queue: q.path, User: j.User, Held: u.Used, Max: limit})
	}
	for ; q != nil; q = q.parent {
		if !o.calc.Fits(q.used.Add(j.Ask), q.EffMax) {
			to = append(to, policy.Reason{Limit: "maximum-capacity", Queue: q.path, Held: q.used, Max: q.EffMax})
		}
	}
	for i := range to[first:] {
		if r := &to[first+i]; o.calc != arith.Dominant { // limits are of memory alone
			r.Held.Cores, r.Max.Cores = 0, 0
		}
	}
	return to
}
