package marp

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// view is a plausible snapshot, reduced to one queue.
type view struct {
	now              unit.Time
	idle             int     // percent of processor time, whole
	idleShare        float64 // the same, unrounded; negative: no sensor
	pending, running int
	jobs             []*steer.Job // of the queue, in order of arrival
	present          float64      // share in force; 0: unknown, negative: no limit
	queue            *steer.Queue
	capacity         unit.Resources // of the queue; the cluster's where unknown
	share            float64        // of one AM; 0: unknown
	am               unit.Resources
	guessed          bool           // AM is a mean over the queue: no job reports its own
	total, used      unit.Resources // of the cluster; of the queue where its headroom binds
}

const (
	maxJobs   = 1_000_000 // more than any engine can hold in one queue
	maxAmount = 1 << 50   // MiB, vcores or containers: more than there are, and safe to add up
)

func sane(r unit.Resources) bool {
	return min(r.Mem, r.Cores) >= 0 && max(r.Mem, r.Cores) <= maxAmount
}

// read reduces a snapshot, or says why it cannot be acted on.
func (s *Settings) read(seen *steer.Snapshot, needCPU bool) (v view, why string) {
	switch {
	case seen == nil:
		return v, "there is no snapshot"
	case seen.Now < 0 || seen.Now > unit.Never/4:
		return v, "the snapshot's time is impossible"
	}
	v = view{now: seen.Now, idleShare: seen.CPUIdle, total: seen.Total, used: seen.Used}
	switch {
	case seen.Age < 0:
		return v, "the snapshot's age is negative"
	case seen.Age > s.MaxAge:
		return v, fmt.Sprintf("the snapshot is stale: %v old, at most %v will do", seen.Age, s.MaxAge)
	case seen.Nodes <= 0 || seen.Total.Mem <= 0 || seen.Total.Cores <= 0:
		return v, "no nodes are up"
	case !sane(seen.Total) || !sane(seen.Used):
		return v, fmt.Sprintf("%v in use of %v is impossible", seen.Used, seen.Total)
	case math.IsNaN(seen.CPUIdle) || seen.CPUIdle > 1 || seen.CPUIdle < -1:
		return v, fmt.Sprintf("idle processors: %v is no share", seen.CPUIdle)
	case seen.CPUIdle < 0 && needCPU:
		return v, "idle processors are not known"
	}
	for i := range seen.Queues {
		if seen.Queues[i].Name == s.Queue {
			v.queue = &seen.Queues[i]
		}
	}
	if v.queue == nil {
		return v, fmt.Sprintf("queue %s is not there", s.Queue)
	}
	if why := v.readQueue(); why != "" {
		return v, why
	}
	for i := range seen.Jobs {
		j := &seen.Jobs[i]
		if j.Queue != s.Queue {
			continue
		}
		switch {
		case !(j.Progress >= 0 && j.Progress <= 100.5) || !(j.Maps >= 0 && j.Maps <= 1.005):
			return v, fmt.Sprintf("job %s: progress of %v %% (maps %v) is impossible", j.ID, j.Progress, j.Maps)
		case min(j.Running, j.Pending) < 0 || max(j.Running, j.Pending) > maxAmount || !sane(j.AM):
			return v, fmt.Sprintf("job %s: a count or size is impossible", j.ID)
		}
		v.jobs = append(v.jobs, j)
	}
	// Counts and list are read one after the other: in a large queue they may differ slightly. A list that has lost
	// its jobs would look like a batch that has ended.
	if counted := v.pending + v.running; max(counted-len(v.jobs), len(v.jobs)-counted) > max(counted, len(v.jobs))/10 {
		return v, fmt.Sprintf("%d jobs are counted and %d listed", counted, len(v.jobs))
	}
	if s.Headroom {
		v.bind()
	}
	v.idle = int(math.Floor(100*v.idleShare + 0.5))
	v.size(s, seen)
	return v, ""
}

func (v *view) readQueue() string {
	q := v.queue
	switch {
	case q.Waiting < 0 || q.Running < 0 || q.Waiting > maxJobs || q.Running > maxJobs:
		return fmt.Sprintf("%d jobs waiting and %d running is impossible", q.Waiting, q.Running)
	case math.IsNaN(q.AMShare) || math.IsInf(q.AMShare, 0) || q.AMShare > 1:
		return fmt.Sprintf("a share of %v for AMs is impossible", q.AMShare)
	case !sane(q.Capacity) || !sane(q.Ceiling) || !sane(q.AMs) || !sane(q.Used):
		return "a size of the queue is impossible"
	}
	v.pending, v.running, v.present = q.Waiting, q.Running, q.AMShare
	return ""
}

// size determines the size of an AM and the share of the queue it takes.
func (v *view) size(s *Settings, seen *steer.Snapshot) {
	v.capacity = v.queue.Capacity
	if v.capacity.Mem == 0 {
		v.capacity = seen.Total
	}
	if v.am = s.AM; v.am.IsZero() {
		for _, j := range v.jobs {
			v.am = v.am.Max(j.AM)
		}
		if n := int64(v.running); v.am.IsZero() && n > 0 && v.queue.AMs.Mem > 0 {
			v.am = unit.Resources{Mem: (v.queue.AMs.Mem + n - 1) / n, Cores: (v.queue.AMs.Cores + n - 1) / n}
			v.guessed = true // the count may be from another moment
		}
	}
	if v.am.Mem > 0 {
		v.am.Mem, v.am.Cores = amlimit.RoundUp(v.am.Mem, s.Minimum.Mem), max(v.am.Cores, s.Minimum.Cores)
		v.share = s.Limit.Of(v.capacity, v.am)
	}
}
