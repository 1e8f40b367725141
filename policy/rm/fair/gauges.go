package fair

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
)

var _ rm.Gauges = (*scheduler)(nil)

// Gauges reports the leaves' fair shares as of the last update, and what their AMs hold. Where there is no share (an idle leaf, or
// vcores under policy fair) it reports what the leaf may grow to.
func (s *scheduler) Gauges(to []policy.Gauge) []policy.Gauge {
	for _, q := range s.queues {
		if !q.leaf {
			continue
		}
		usable := q.share
		if usable.Mem == 0 {
			usable.Mem = min(s.total.Mem, q.max.Mem)
		}
		if usable.Cores == 0 {
			usable.Cores = min(s.total.Cores, q.max.Cores)
		}
		to = append(to, policy.Gauge{Queue: q.name, Capacity: usable, Ceiling: s.ceiling(q), AMs: q.ams, AMShare: q.amShare})
	}
	return to
}

// ceiling is the maximum a queue could hold now.
func (s *scheduler) ceiling(q *queue) unit.Resources {
	if q.parent == nil {
		return s.total
	}
	return q.max.Min(s.ceiling(q.parent).Sub(q.parent.used).Add(q.used)).Max(unit.Resources{Mem: 1, Cores: 1})
}

// Active applications are those that have been given a container: a parked one, and one that waits for its AM, is pending.
func (s *scheduler) Active(ref *rm.App) bool {
	a := s.apps[ref.Index]
	return a.runnable && (a.started || !a.managed && len(a.live) > 0)
}

// AMOf implements rm.Gauges.
func (s *scheduler) AMOf(ref *rm.App) unit.Resources {
	a := s.apps[ref.Index]
	switch {
	case !a.managed:
		return unit.Resources{}
	case a.started:
		return a.am
	}
	return s.normal(ref.AM, s.maximum())
}
