package fair

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

var _ policy.Gauges = (*Tree)(nil)

// QueueOf is the leaf that the placement rules, or a move, put a job into.
func (t *Tree) QueueOf(j *policy.Job) string { return t.apps[j.Index].queue.name }

// Gauges tells the leaves' fair shares, as they stand now, and what their masters hold. A leaf without runnable jobs has no share.
func (t *Tree) Gauges(to []policy.Gauge) []policy.Gauge {
	for _, q := range t.queues {
		if q.leaf {
			to = append(to, policy.Gauge{Queue: q.name, Capacity: t.usable(q), Ceiling: t.ceiling(q), Masters: q.masters, MasterShare: q.amShare})
		}
	}
	return to
}

// ceiling is the most that a queue could hold now.
func (t *Tree) ceiling(q *queue) unit.Resources {
	if q.parent == nil {
		return t.total
	}
	return q.max.Min(t.ceiling(q.parent).Sub(q.parent.used).Add(q.used)).Max(unit.Resources{Mem: 1, Cores: 1})
}

// usable is a leaf's fair share. Policy fair shares out no vcores: the leaf may use all that its maximum allows.
func (t *Tree) usable(q *queue) unit.Resources {
	s := t.share(q)
	if s.Cores == 0 && s.Mem > 0 {
		s.Cores = min(t.total.Cores, q.max.Cores)
	}
	return s
}
