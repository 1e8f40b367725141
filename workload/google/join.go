package google

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

const (
	listUpTo   = 32   // tasks whose lengths are kept one by one
	quantiles  = 64   // entries of a table
	sampleUpTo = 8192 // lengths kept of an open job; beyond, a uniform sample
	// settle is the grace period after a job's end for the ends of its tasks: the two tables were written
	// independently, and a task's last event may come slightly after its job's.
	settle = int64(unit.Second)

	unknown = -1
)

// job is the state of a job that has not ended.
type job struct {
	id                int64
	user, name        string
	class             int
	priority          int
	submit            int64 // unknown until seen
	scheduled         int64
	ended             int64
	end               kind
	cpu, mem          float64
	tasks             map[int64]task // open ones, by number
	ran               []ran          // ended ones, possibly a sample
	runs              int64          // how many ended
	hasEvents         bool           // job events were seen, not only task events
	lastTask          int64          // time of the last task event
	shortest, longest unit.Time
}

// task is one that may still run.
type task struct {
	since   int64     // when it was scheduled; unknown: it waits
	attempt unit.Time // length of its last unsuccessful attempt; unknown: there was none
}

type ran struct {
	task   int64
	length unit.Time
}

type counts struct {
	kept, unsuccessful, noTasks, early, unfinished, dropped, neverRan int64
	tasks, taskCut, retried, missing, tooLarge, late                  int64
}

type join struct {
	opt    Options
	open   map[int64]*job
	gone   map[int64]struct{} // jobs that ended and were emitted
	ending []*job             // in the order of their ends
	tasks  int                // open ones
	start  int64              // time of the first event inside the trace
	done   []*workload.Job
	text   map[string]string
	counts counts
}

func newJoin(opt Options) *join {
	return &join{opt: opt, open: map[int64]*job{}, gone: map[int64]struct{}{}, start: unknown, text: map[string]string{}}
}

func (n *join) take(e *event) error {
	if e.time > 0 && e.time < math.MaxInt64 {
		if n.start == unknown {
			n.start = e.time
		}
		for len(n.ending) > 0 && n.ending[0].ended+settle < e.time {
			n.put(n.ending[0])
			n.ending = n.ending[1:]
		}
	}
	if e.missing {
		n.counts.missing++
	}
	j := n.open[e.job]
	if j == nil {
		if _, gone := n.gone[e.job]; gone {
			n.counts.late++
			return nil
		}
		if len(n.open)+n.tasks >= n.opt.MaxOpen {
			return n.tooMany()
		}
		if len(n.open)+len(n.gone) >= n.opt.MaxJobs {
			return fmt.Errorf("more than %d jobs: raise the limit or read fewer parts", n.opt.MaxJobs)
		}
		j = &job{id: e.job, submit: unknown, scheduled: unknown, ended: unknown, lastTask: unknown, class: e.class, user: n.intern(e.user)}
		n.open[e.job] = j
	}
	if e.table == jobTable {
		n.jobEvent(j, e)
		return nil
	}
	return n.taskEvent(j, e)
}

func (n *join) jobEvent(j *job, e *event) {
	if !j.hasEvents {
		j.hasEvents = true
		j.name, j.class = n.intern(e.name), e.class
	}
	// A part from the middle of the trace may show a job only from a later event on.
	if j.submit == unknown {
		j.submit = e.time
	}
	switch e.kind {
	case schedule:
		if j.scheduled == unknown {
			j.scheduled = e.time
		}
	case evict, fail, finish, kill, lost:
		if j.ended == unknown && e.time < math.MaxInt64 {
			j.ended, j.end = e.time, e.kind
			n.ending = append(n.ending, j)
		}
	}
}

func (n *join) taskEvent(j *job, e *event) error {
	if !j.hasEvents && j.submit == unknown {
		j.submit = e.time
	}
	if e.cpu > 1 || e.mem > 1 {
		n.counts.tooLarge++
	}
	j.cpu, j.mem = max(j.cpu, min(e.cpu, 1)), max(j.mem, min(e.mem, 1))
	j.priority = max(j.priority, e.priority)
	if e.time < math.MaxInt64 {
		j.lastTask = e.time
	}
	t, known := j.tasks[e.task]
	if !known {
		t = task{since: unknown, attempt: unknown}
	}
	switch e.kind {
	case schedule:
		if t.attempt != unknown {
			n.counts.retried++
		}
		t = task{since: e.time, attempt: unknown}
	case evict, fail, lost:
		// It will be submitted again, or its job ends without it.
		if t.since != unknown {
			t = task{since: unknown, attempt: n.between(t.since, e.time)}
		}
	case finish, kill:
		if e.time == math.MaxInt64 {
			break
		}
		if known {
			delete(j.tasks, e.task)
			n.tasks--
		}
		switch {
		case t.since != unknown:
			j.add(e.task, n.between(t.since, e.time))
		case t.attempt != unknown:
			j.add(e.task, t.attempt)
		case e.kind == finish:
			j.add(e.task, n.between(n.start, e.time)) // it was running when the parts start
		}
		return nil
	}
	if !known {
		if len(n.open)+n.tasks >= n.opt.MaxOpen {
			return n.tooMany()
		}
		n.tasks++
		if j.tasks == nil {
			j.tasks = map[int64]task{}
		}
	}
	j.tasks[e.task] = t
	return nil
}

func (n *join) tooMany() error {
	return fmt.Errorf("more than %d jobs and tasks are open at once: raise the limit or read fewer parts", n.opt.MaxOpen)
}

// sinceStart converts a time of the trace to the workload's clock.
func (n *join) sinceStart(t int64) unit.Time {
	if t <= n.start || n.start == unknown {
		return 0
	}
	return unit.Time(t - n.start)
}

func (n *join) between(from, to int64) unit.Time { return max(0, n.sinceStart(to)-n.sinceStart(from)) }

// add records the length of a task. Beyond sampleUpTo, a uniform sample and the extremes are kept.
func (j *job) add(task int64, length unit.Time) {
	if j.runs == 0 {
		j.shortest, j.longest = length, length
	}
	j.shortest, j.longest = min(j.shortest, length), max(j.longest, length)
	if len(j.ran) < sampleUpTo {
		j.ran = append(j.ran, ran{task, length})
	} else if at := workload.Seed(uint64(j.id), uint64(j.runs)) % uint64(j.runs+1); at < sampleUpTo {
		j.ran[at] = ran{task, length}
	}
	j.runs++
}

func (n *join) intern(text []byte) string {
	if s, ok := n.text[string(text)]; ok {
		return s
	}
	s := string(text)
	n.text[s] = s
	return s
}
