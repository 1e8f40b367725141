package fair

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
)

var _ rm.Gauges = (*scheduler)(nil)

// Gauges reports the leaves' fair shares as of the last update, and what their AMs hold. Where there is no share (an idle leaf, or
// vcores under policy fair) it reports what the leaf may grow to.
func (s *scheduler) Gauges(list []policy.Gauge) []policy.Gauge {
	return s.Tree.Gauges(list, func(q *queue) unit.Resources {
		usable := q.share
		if usable.Mem == 0 {
			usable.Mem = min(s.Total.Mem, q.Max.Mem)
		}
		if usable.Cores == 0 {
			usable.Cores = min(s.Total.Cores, q.Max.Cores)
		}
		return usable
	})
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
