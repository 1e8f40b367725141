// Package fifo serves jobs one after another: the job with the larger priority first, and among equals the one that
// arrived first. A later job gets containers only while every earlier one has nothing to start, or cannot start it on
// the offered node.
//
// Order: (priority descending, arrival ascending).
//
// It is the order of Hadoop 1's JobQueueTaskScheduler and of YARN's FifoScheduler (FifoPolicy: priority, then start
// time). Neither stops at a job that does not fit on the offered node, so this one does not either: the engine passes
// and gets the next job.
//
// Its key is the priority, negated; see policy/keyed.
package fifo

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/keyed"
	"github.com/yardmaster/yardmaster/unit"
)

// Entry registers the policy.
var Entry = policy.Entry{
	Name:  "fifo",
	Title: "first in, first out; larger priorities first",
	New: func(policy.Params) (policy.Policy, error) {
		return policy.Policy{Order: New()}, nil
	},
}

// FIFO is the order. It serves one run.
type FIFO struct{ *keyed.Order }

var (
	_ policy.Order = FIFO{}
	_ policy.Knobs = FIFO{}
)

// New returns an empty order.
func New() FIFO {
	return FIFO{keyed.New(func(j *policy.Job, _ unit.Time) float64 { return -float64(j.Priority) })}
}

// Started removes a job that no longer waits: the order does not depend on usage.
func (f FIFO) Started(e *policy.Event) {
	if e.Job.Pending == 0 {
		f.Rank(e.Now, e.Job)
	}
}

// Ended is ignored.
func (FIFO) Ended(*policy.Event) {}

// SetPriority reranks a waiting job.
func (f FIFO) SetPriority(j *policy.Job, _ int) { f.Rank(0, j) }

// Move is a no-op: all queues share one order.
func (FIFO) Move(*policy.Job, string) error { return nil }

// SetQueue is unsupported: there are no queues.
func (FIFO) SetQueue(queue, property string, _ float64) (float64, error) {
	return 0, &NoQueuesError{Queue: queue, Property: property}
}

// Property is unsupported: there are no queues.
func (FIFO) Property(queue, property string) (float64, error) {
	return 0, &NoQueuesError{Queue: queue, Property: property}
}

// NoQueuesError is returned for a queue's property when there are no queues.
type NoQueuesError struct{ Queue, Property string }

func (e *NoQueuesError) Error() string {
	return "set " + e.Property + " of queue " + e.Queue + ": fifo has no queues; use fair:by=pool or a scheduler file"
}
