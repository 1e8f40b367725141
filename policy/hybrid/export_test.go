package hybrid

import "github.com/yardmaster/yardmaster/policy"

// SideOf is the side of a present job, and the decision value that put it there; 0: it was not classified.
func (o *Order) SideOf(j *policy.Job) (Side, float64) {
	e := &o.jobs[j.Index]
	return e.side, e.decision
}
