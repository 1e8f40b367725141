package whatif

import (
	"context"
	"slices"

	"github.com/yardmaster/yardmaster/workload"
)

// fixedNote is the note for a plan whose seeds make no difference.
const fixedNote = "nothing in this workload and model is random: only one seed is run, and differences have no interval"

// deterministic reports whether it is certain, before any run, that the seed makes no difference: no jobs, task lengths, heartbeats, block
// placements, failures or steering are drawn from it. What cannot be determined cheaply, such as for a workload too large to keep, counts as
// random; if its seeds then agree, the comparison says so.
func (c *pool) deterministic(ctx context.Context) bool {
	for i := range c.plan.Variants {
		v := &c.plan.Variants[i]
		m := &v.Model
		if v.Timing != nil || v.NewWorker != nil || v.Scheduler.Steer != nil || v.Workload.Drawn || m.Heartbeat > 0 || m.Replicas > 0 || m.FailTask > 0 || m.Stragglers.Share > 0 {
			return false
		}
		if made, err := v.Scheduler.New(); err != nil || made.Place != nil { // it may get heartbeats
			return false
		}
		jobs := c.cache.read(ctx, v.Workload, 0).kept // the first run reports the reader's error
		if jobs == nil || slices.ContainsFunc(jobs, func(j *workload.Job) bool {
			return slices.ContainsFunc(j.Stages, func(s workload.Stage) bool { return s.Length.Drawn() })
		}) {
			return false
		}
	}
	return true
}
