// Package fifo serves jobs one after another: the job with the larger priority first, and among equals the one that
// arrived first. A later job gets containers only while every earlier one has nothing to start, or cannot start it on
// the node at hand.
//
// Order: (priority descending, arrival ascending).
//
// It is the order of Hadoop 1's JobQueueTaskScheduler and of YARN's FifoScheduler (FifoPolicy: priority, then start
// time). Neither stops at a job that does not fit on the node at hand, so this one does not either: the engine passes
// such a job and is shown the next.
//
// Invariant: the heap holds exactly the jobs that had Pending > 0 when they were last heard of. A decision is O(log n)
// in waiting jobs.
package fifo

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rank"
	"github.com/yardmaster/yardmaster/unit"
)

// Entry is the registry's line.
var Entry = policy.Entry{
	Name:  "fifo",
	Title: "first in, first out; larger priorities first",
	New: func(policy.Params) (policy.Policy, error) {
		return policy.Policy{Order: New()}, nil
	},
}

// FIFO is the order. It serves one run.
type FIFO struct {
	heap rank.Heap
	jobs []*policy.Job // by Index
}

var (
	_ policy.Order = (*FIFO)(nil)
	_ policy.Knobs = (*FIFO)(nil)
)

// New returns an empty order.
func New() *FIFO { return &FIFO{} }

// Resized is of no concern: the order does not depend on the cluster.
func (f *FIFO) Resized(policy.Cluster) {}

// Arrived admits every job.
func (f *FIFO) Arrived(now unit.Time, j *policy.Job) error {
	if int(j.Index) >= len(f.jobs) {
		f.jobs = append(f.jobs, make([]*policy.Job, int(j.Index)+1-len(f.jobs))...)
	}
	f.jobs[j.Index] = j
	f.Changed(now, j)
	return nil
}

// Changed puts a job that waits where its priority and its arrival belong.
func (f *FIFO) Changed(_ unit.Time, j *policy.Job) {
	if j.Pending > 0 {
		f.heap.Set(j.Index, -float64(j.Priority), j.Seq)
	} else {
		f.heap.Remove(j.Index)
	}
}

// Started takes the job out when it has nothing more to start.
func (f *FIFO) Started(e *policy.Event) {
	if e.Job.Pending == 0 {
		f.heap.Remove(e.Job.Index)
	}
}

// Ended is ignored: the order does not depend on usage.
func (f *FIFO) Ended(*policy.Event) {}

// Left forgets the job.
func (f *FIFO) Left(_ unit.Time, j *policy.Job) {
	f.heap.Remove(j.Index)
	f.jobs[j.Index] = nil
}

// Ranked proposes jobs by priority, then arrival.
func (f *FIFO) Ranked(_ *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	id, ok := f.heap.Min()
	if !ok {
		return false
	}
	// Most often the first is taken: that needs no walk.
	if v := try(f.jobs[id]); v != policy.Pass {
		return v == policy.Took
	}
	took, first := false, true
	f.heap.Walk(func(id int32) bool {
		if first {
			first = false
			return true
		}
		v := try(f.jobs[id])
		took = v == policy.Took
		return v == policy.Pass
	})
	return took
}

// SetPriority puts a waiting job where its new priority belongs.
func (f *FIFO) SetPriority(j *policy.Job, _ int) {
	if f.heap.Has(j.Index) {
		f.heap.Set(j.Index, -float64(j.Priority), j.Seq)
	}
}

// Move is taken and has no effect: there is one line for all queues.
func (f *FIFO) Move(*policy.Job, string) error { return nil }

// SetQueue refuses: there are no queues.
func (f *FIFO) SetQueue(queue, property string, _ float64) (float64, error) {
	return 0, &NoQueuesError{Queue: queue, Property: property}
}

// NoQueuesError says that a queue's property was to be set where there are no queues.
type NoQueuesError struct{ Queue, Property string }

func (e *NoQueuesError) Error() string {
	return "set " + e.Property + " of queue " + e.Queue + ": fifo has no queues; use fair:by=pool or a scheduler file"
}
