// Package keyed turns a key into a complete order: the waiting job with the smallest key is next, and among equals the one
// that arrived first.
//
// A key is recomputed at every event of its job. One that also depends on time or on other jobs may be stale since the
// job's last event, or since the last Refresh.
//
// Invariant: the heap holds exactly the jobs that had Pending > 0 at their last event. A decision is O(log n) in waiting jobs.
package keyed

import (
	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rank"
	"github.com/yardmaster/yardmaster/unit"
)

// Key is a job's sort key: the smallest is next.
type Key func(j *policy.Job, now unit.Time) float64

// Order is the order of a key. An order that does more embeds it, and calls the methods it overrides.
type Order struct {
	key     Key
	refresh unit.Time
	heap    rank.Heap
	jobs    []*policy.Job // by Index
}

var (
	_ policy.Order = (*Order)(nil)
	_ policy.Timer = (*Order)(nil)

	_ policy.Explainer = (*Order)(nil)
)

// New makes an empty order. It serves one run.
func New(key Key) *Order { return &Order{key: key} }

// Refresh makes a policy of a key that changes with time: all keys are recomputed at every interval.
func Refresh(every unit.Time, key Key) policy.Policy {
	o := &Order{key: key, refresh: every}
	return policy.Policy{Order: o, Timer: o}
}

// Rank updates a waiting job's rank, and removes any other job.
func (o *Order) Rank(now unit.Time, j *policy.Job) {
	if j.Pending > 0 {
		o.heap.Set(j.Index, o.key(j, now), j.Seq)
	} else {
		o.heap.Remove(j.Index)
	}
}

// RankAll recomputes the keys of all waiting jobs. It costs O(n log n).
func (o *Order) RankAll(now unit.Time) {
	for _, j := range o.jobs {
		if j != nil && o.heap.Has(j.Index) {
			o.Rank(now, j)
		}
	}
}

// Resized is a no-op: a key does not depend on the cluster. Where it does, override it and call RankAll.
func (o *Order) Resized(unit.Time, policy.Cluster) {}

// Arrived admits every job.
func (o *Order) Arrived(now unit.Time, j *policy.Job) error {
	*dense.At(&o.jobs, j.Index) = j
	o.Rank(now, j)
	return nil
}

// Changed reranks the job.
func (o *Order) Changed(now unit.Time, j *policy.Job) { o.Rank(now, j) }

// Started reranks the job.
func (o *Order) Started(e *policy.Event) { o.Rank(e.Now, e.Job) }

// Ended reranks the job.
func (o *Order) Ended(e *policy.Event) { o.Rank(e.Now, e.Job) }

// Left drops the job.
func (o *Order) Left(_ unit.Time, j *policy.Job) {
	o.heap.Remove(j.Index)
	o.jobs[j.Index] = nil
}

// Ranked proposes jobs by key.
func (o *Order) Ranked(_ *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	return Propose(&o.heap, o.jobs, try) == policy.Took
}

// Propose proposes the jobs of a heap, best first, and returns the last verdict.
func Propose(heap *rank.Heap, jobs []*policy.Job, try func(*policy.Job) policy.Verdict) policy.Verdict {
	id, ok := heap.Min()
	if !ok {
		return policy.Pass
	}
	// Usually the first is taken: that needs no walk.
	v := try(jobs[id])
	if v != policy.Pass {
		return v
	}
	first := true
	heap.Walk(func(id int32) bool {
		if !first {
			v = try(jobs[id])
		}
		first = false
		return v == policy.Pass
	})
	return v
}

// Why counts the waiting jobs with smaller keys.
func (o *Order) Why(_ unit.Time, j *policy.Job, to []policy.Reason) []policy.Reason {
	var r policy.Reason
	Ahead(&r, &o.heap, j.Index, o.jobs)
	return r.Append(to)
}

// Ahead adds to a reason the jobs that come before id in a heap; all of them if id is absent.
func Ahead(r *policy.Reason, heap *rank.Heap, id int32, jobs []*policy.Job) {
	heap.Walk(func(k int32) bool {
		if k == id {
			return false
		}
		r.Precede(jobs[k].ID)
		return true
	})
}

// Tick recomputes all keys. No job becomes startable: only the order changes.
func (o *Order) Tick(now unit.Time) (again unit.Time, changed bool) {
	o.RankAll(now)
	return now + o.refresh, false
}
