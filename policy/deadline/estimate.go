package deadline

import (
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/unit"
)

// State is the state of a job with a goal.
type State uint8

// States, in the order in which they are served.
const (
	Missed State = iota // the goal has passed
	NoData              // no task has finished: there is no estimate
	Adjust              // the estimate says what it needs
	states
)

func (s State) String() string { return [...]string{"missed", "no data", "adjust"}[s] }

// StateOf is the state of a job; estimated: enough of its tasks have finished.
func StateOf(now, goal unit.Time, estimated bool) State {
	switch {
	case now >= goal:
		return Missed
	case !estimated:
		return NoData
	}
	return Adjust
}

// Work is what a job, or one of its stages, has left to do.
type Work struct {
	Left      float64 // container-time, in microseconds
	Running   int64   // tasks
	Unstarted int64
}

// Need is how many further containers it needs now to finish by its goal; negative: it has more than it needs. A goal that cannot be met needs
// everything.
func (w Work) Need(now, goal unit.Time) float64 {
	switch {
	case goal == unit.Never:
		return -float64(w.Running)
	case goal <= now:
		return float64(w.Unstarted)
	}
	return w.Left/float64(goal-now) - float64(w.Running)
}

// End is when it is done with that many containers.
func (w Work) End(now unit.Time, containers int64) float64 {
	return float64(now) + w.Left/float64(containers)
}

// Lateness is how far a job is going to end before its goal, relative to the time it was given: negative if after. A job that holds nothing, or of
// which nothing is known, is infinitely late.
func (w Work) Lateness(now, submitted, goal unit.Time, estimated bool) float64 {
	if w.Running == 0 || !estimated {
		return math.Inf(-1)
	}
	return (float64(goal) - w.End(now, w.Running)) / float64(goal-submitted)
}

// Running are the start times of running tasks.
//
// Invariants: starts is ascending; sum is that of all starts, young that of starts[overdue:].
type Running struct {
	starts     []unit.Time
	overdue    int // so many have run for longer than the mean that Left was last asked with
	sum, young unit.Time
}

// Len is how many there are.
func (r *Running) Len() int { return len(r.starts) }

// Add adds a task.
func (r *Running) Add(start unit.Time) {
	at, _ := slices.BinarySearch(r.starts, start+1) // most often the end
	r.starts = slices.Insert(r.starts, at, start)
	r.sum += start
	if at < r.overdue {
		r.overdue++
	} else {
		r.young += start
	}
}

// Remove removes a task that started then; no-op if there is none.
func (r *Running) Remove(start unit.Time) {
	at, ok := slices.BinarySearch(r.starts, start)
	if !ok {
		return
	}
	r.starts = slices.Delete(r.starts, at, at+1)
	r.sum -= start
	if at < r.overdue {
		r.overdue--
	} else {
		r.young -= start
	}
}

// Restart makes all of them start at one instant.
func (r *Running) Restart(at unit.Time) {
	for i := range r.starts {
		r.starts[i] = at
	}
	r.sum = unit.Time(len(r.starts)) * at
	r.overdue, r.young = 0, r.sum
}

// Left is the work left if each task takes the mean. A task that has run for longer counts 0 if clamp is set, else less than that. The cost grows
// with the number of tasks that have become overdue since the last call.
func (r *Running) Left(now unit.Time, mean float64, clamp bool) float64 {
	if !clamp {
		return float64(len(r.starts))*mean - float64(unit.Time(len(r.starts))*now-r.sum)
	}
	for ; r.overdue < len(r.starts) && float64(now-r.starts[r.overdue]) > mean; r.overdue++ {
		r.young -= r.starts[r.overdue]
	}
	for ; r.overdue > 0 && float64(now-r.starts[r.overdue-1]) <= mean; r.overdue-- {
		r.young += r.starts[r.overdue-1]
	}
	n := len(r.starts) - r.overdue
	return float64(n)*mean - float64(unit.Time(n)*now-r.young)
}
