package whatif

import (
	"cmp"
	"context"
	"slices"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/sim"
)

// A variant that moves a user's jobs changes who is in a queue, and a queue with other jobs has another 95th percentile, whatever becomes of
// those who were there before. So queues are judged by the jobs that no variant moves; those that move are judged by their user or class.

// findMoves compares the queues of jobs between variants. It records which jobs move, and that a variant touches the queue that they leave.
func (c *pool) findMoves(ctx context.Context) {
	p := &c.plan
	base := c.cache.read(ctx, p.Variants[0].Workload, 0).kept
	for v := 1; v < len(p.Variants); v++ {
		w := p.Variants[v].Workload
		if w == p.Variants[0].Workload || w.Drawn || base == nil {
			continue
		}
		for i, j := range c.cache.read(ctx, w, 0).kept {
			if i >= len(base) || base[i].ID != j.ID || base[i].Queue == j.Queue {
				continue
			}
			if c.moved == nil {
				c.moved = map[string]bool{}
			}
			c.moved[j.ID] = true
			left := verdict.Subject{Kind: "queue", Name: cmp.Or(base[i].Queue, result.DefaultQueue)}
			if v < len(p.Touched) && !slices.ContainsFunc(p.Touched[v], func(t verdict.Subject) bool { return t.Covers(left) }) {
				p.Touched[v] = append(slices.Clip(p.Touched[v]), left)
			}
		}
	}
}

// staying collects the figures of jobs that do not move.
type staying struct {
	*result.Collector
	moved map[string]bool
}

func (s *staying) Job(r *sim.JobRecord) {
	if !s.moved[r.Job.ID] {
		s.Collector.Job(r)
	}
}

func (s *staying) queues() []result.Group {
	return s.Finish(sim.Summary{}, result.Scenario{}, nil).ByQueue
}
