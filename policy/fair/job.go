package fair

import (
	"fmt"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rank"
	"github.com/yardmaster/yardmaster/unit"
)

// scale turns usage into the number that is compared: memory, or the dominant share.
type scale struct {
	drf           bool
	perMem, perVC float64
}

func (s *scale) resize(c policy.Cluster) {
	s.perMem, s.perVC = 1, 0
	if s.drf {
		s.perMem, s.perVC = inverse(c.Total.Mem), inverse(c.Total.Cores)
	}
}

func inverse(v int64) float64 {
	if v <= 0 {
		return 0
	}
	return 1 / float64(v)
}

// of is branch-free: with memory alone the second product is 0.
func (s *scale) of(u unit.Resources) float64 {
	return max(float64(u.Mem)*s.perMem, float64(u.Cores)*s.perVC)
}

// byJob serves the job with the smallest usage. The heap holds exactly the jobs that had Pending > 0 when they were last
// heard of.
type byJob struct {
	scale
	heap rank.Heap
	jobs []*policy.Job // by Index
}

var (
	_ policy.Order = (*byJob)(nil)
	_ policy.Knobs = (*byJob)(nil)
)

func (f *byJob) Resized(c policy.Cluster) {
	f.resize(c)
	for _, j := range f.jobs {
		if j != nil && f.heap.Has(j.Index) {
			f.heap.Set(j.Index, f.of(j.Used), j.Seq)
		}
	}
}

func (f *byJob) Arrived(now unit.Time, j *policy.Job) error {
	if int(j.Index) >= len(f.jobs) {
		f.jobs = append(f.jobs, make([]*policy.Job, int(j.Index)+1-len(f.jobs))...)
	}
	f.jobs[j.Index] = j
	f.Changed(now, j)
	return nil
}

func (f *byJob) Started(e *policy.Event) { f.Changed(e.Now, e.Job) }

func (f *byJob) Ended(e *policy.Event) { f.Changed(e.Now, e.Job) }

func (f *byJob) Changed(_ unit.Time, j *policy.Job) {
	if j.Pending > 0 {
		f.heap.Set(j.Index, f.of(j.Used), j.Seq)
	} else {
		f.heap.Remove(j.Index)
	}
}

func (f *byJob) Left(_ unit.Time, j *policy.Job) {
	f.heap.Remove(j.Index)
	f.jobs[j.Index] = nil
}

func (f *byJob) Ranked(_ *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	took := false
	f.heap.Walk(func(id int32) bool {
		j := f.jobs[id]
		if j.Pending <= 0 {
			return true
		}
		v := try(j)
		took = v == policy.Took
		return v == policy.Pass
	})
	return took
}

// SetPriority is taken and has no effect: shares do not depend on priorities.
func (f *byJob) SetPriority(*policy.Job, int) {}

// Move is taken and has no effect: jobs share alike whatever their queue.
func (f *byJob) Move(*policy.Job, string) error { return nil }

func (f *byJob) SetQueue(queue, property string, _ float64) (float64, error) {
	return 0, fmt.Errorf("set %s of queue %s: fair by job has no queues; use fair:by=pool", property, queue)
}
