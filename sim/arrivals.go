package sim

import (
	"github.com/yardmaster/yardmaster/sim/internal/radix"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// arrivals are the jobs to come: those of the source, read one ahead, and those that follow finished ones.
type arrivals struct {
	source    workload.Source
	next      *workload.Job // of the source; nil: none is left
	nextSeq   int64
	followers []*workload.Job // in the order of Config.Follow; nil: submitted
	coming    int             // followers not submitted yet
}

// over reports whether no job will arrive, unless a present one has followers.
func (a *arrivals) over() bool { return a.next == nil && a.coming == 0 }

// readAhead reads the next job and queues its arrival.
func (a *arrivals) readAhead(now unit.Time, q *radix.Queue) (err error) {
	if a.next, err = workload.Next(a.source, now); err == nil && a.next != nil {
		q.Push(a.next.Submit, evArrival, 0)
	}
	return err
}

// follow queues the jobs that follow a finished one.
func (a *arrivals) follow(jobs []*workload.Job, now unit.Time, q *radix.Queue) error {
	for _, j := range jobs {
		if err := j.Validate(); err != nil {
			return err
		}
		later := *j
		later.Submit += now
		q.Push(later.Submit, evFollow|uint64(len(a.followers)), 0)
		a.followers = append(a.followers, &later)
		a.coming++
	}
	return nil
}

// follower takes a follower at its arrival.
func (a *arrivals) follower(i int) *workload.Job {
	j := a.followers[i]
	a.followers[i] = nil
	a.coming--
	return j
}
