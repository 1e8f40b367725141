package capacity

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity/arith"
	"github.com/yardmaster/yardmaster/unit"
)

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
		ceiling := o.ceiling(q)
		if o.calc != arith.Dominant { // limits are of memory alone
			ceiling.Cores = 0
		}
		to = append(to, policy.Gauge{Queue: q.path, Capacity: usable, Ceiling: ceiling, Masters: q.amUsed, MasterShare: float64(q.amPercent)})
	}
	return to
}

// ceiling is the most that a queue could hold now. curLimit is of the last look at the queue: others may have grown since.
func (o *Order) ceiling(q *queue) unit.Resources {
	if q.parent == nil {
		return o.cluster
	}
	return q.EffMax.Min(o.ceiling(q.parent).Sub(q.parent.used).Add(q.used)).Max(unit.Resources{Mem: 1, Cores: 1})
}
