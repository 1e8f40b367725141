package capacity

import "github.com/yardmaster/yardmaster/policy"

var _ policy.Gauges = (*Order)(nil)

// QueueOf is the leaf that a job is in.
func (o *Order) QueueOf(j *policy.Job) string { return o.users[o.apps[j.Index].user].q.path }

// Gauges tells what the leaves' AM limits are measured against, and what the masters of activated applications are charged.
func (o *Order) Gauges(to []policy.Gauge) []policy.Gauge {
	for _, q := range o.leaves {
		usable := q.curLimit
		if !o.calc.Fits(q.EffMin, usable) {
			usable = q.EffMin
		}
		to = append(to, policy.Gauge{Queue: q.path, Capacity: usable, Masters: q.amUsed, MasterShare: float64(q.amPercent)})
	}
	return to
}
