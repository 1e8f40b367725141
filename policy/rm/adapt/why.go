package adapt

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
)

// Why implements rm.Scheduler. An application that the policy refused waits for nothing.
func (s *scheduler) Why(r *rm.App, now unit.Time, to []policy.Reason) []policy.Reason {
	if int(r.Index) >= len(s.apps) || s.apps[r.Index] == nil || s.apps[r.Index].rm != r {
		return to
	}
	a := s.apps[r.Index]
	row := a.table.First()
	if row == nil {
		return to
	}
	nodes := func(yield func(*policy.Node, policy.Near) bool) {
		for _, n := range s.nodes {
			if n == nil {
				continue
			}
			view := n.view // as of now
			if view.Free = n.rm.Free; !yield(&view, nearness(row, n.rm)) {
				return
			}
		}
	}
	return s.Policy.Why(now, &a.job, policy.Ask{Stage: a.stage(row.Priority), Size: row.Size(), Together: a.together(row), Held: s.hold.holder}, nodes, to)
}
