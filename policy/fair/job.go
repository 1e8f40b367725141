package fair

import (
	"fmt"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/keyed"
	"github.com/yardmaster/yardmaster/unit"
)

// scale maps usage to the number compared: memory, or the dominant share.
type scale struct {
	drf           bool
	perMem, perVC float64
	named         unit.Extra // of the cluster, where it counts
}

func (s *scale) resize(c policy.Cluster) {
	s.perMem, s.perVC, s.named = 1, 0, unit.Extra{}
	if s.drf {
		s.perMem, s.perVC, s.named = inverse(c.Total.Mem), inverse(c.Total.Cores), c.Total.Extra
	}
}

func inverse(v int64) float64 {
	if v <= 0 {
		return 0
	}
	return 1 / float64(v)
}

// of has one branch, for named resources: with memory alone the second product is 0.
func (s *scale) of(u *unit.Resources) float64 {
	v := max(float64(u.Mem)*s.perMem, float64(u.Cores)*s.perVC)
	if u.Extra != (unit.Extra{}) {
		v = max(v, u.Extra.DominantShare(s.named))
	}
	return v
}

// byJob serves the job with the smallest usage.
type byJob struct {
	*keyed.Order
	scale
}

var (
	_ policy.Order = (*byJob)(nil)
	_ policy.Knobs = (*byJob)(nil)
)

func newByJob(s scale) *byJob {
	f := &byJob{scale: s}
	f.Order = keyed.New(func(j *policy.Job, _ unit.Time) float64 { return f.of(&j.Used) })
	return f
}

func (f *byJob) Resized(now unit.Time, c policy.Cluster) {
	f.resize(c)
	f.RankAll(now)
}

// SetPriority is a no-op: shares do not depend on priorities.
func (f *byJob) SetPriority(*policy.Job, int) {}

// Move is a no-op: jobs share equally whatever their queue.
func (f *byJob) Move(*policy.Job, string) error { return nil }

func (f *byJob) SetQueue(queue, property string, _ float64) (float64, error) {
	return f.Property(queue, property)
}

func (f *byJob) Property(queue, property string) (float64, error) {
	return 0, fmt.Errorf("set %s of queue %s: fair by job has no queues; use fair:by=pool", property, queue)
}
