package deadline

import (
	"cmp"
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

// Need is how many further containers it needs now to finish by its goal; negative: it has more than it needs. If the goal has passed, it needs
// one for every unstarted task.
func (w Work) Need(now, goal unit.Time) float64 {
	switch {
	case goal == unit.Never:
		return -float64(w.Running)
	case goal <= now:
		return float64(w.Unstarted)
	}
	return w.Left/float64(goal-now) - float64(w.Running)
}

// End is when it ends on that many containers.
func (w Work) End(now unit.Time, containers int64) float64 {
	return float64(now) + w.Left/float64(containers)
}

// Lateness is the time from a job's predicted end to its goal, relative to the time it was given; negative if it will end late. It is minus
// infinity for a job that holds nothing or has no estimate.
func (w Work) Lateness(now, submitted, goal unit.Time, estimated bool) float64 {
	if w.Running == 0 || !estimated {
		return math.Inf(-1)
	}
	return (float64(goal) - w.End(now, w.Running)) / float64(goal-submitted)
}

// Claim is a job's claim on containers.
type Claim struct {
	Work
	Submitted, Goal unit.Time // Goal is Never if it has none
	Aim             unit.Time // when the present work should be done: the goal, or earlier
	Estimated       bool
}

// Rank is a job's position in the order of serving: by state, then the smallest key first. A job without a goal is ranked by what it holds.
func (c *Claim) Rank(now unit.Time) (s State, key float64) {
	switch s = StateOf(now, c.Goal, c.Estimated); {
	case c.Goal == unit.Never:
		return Adjust, float64(c.Running)
	case s == Missed:
		return s, c.Lateness(now, c.Submitted, c.Goal, c.Estimated)
	case s == NoData:
		return s, float64(c.Submitted)
	}
	return s, -c.Need(now, c.Aim)
}

// Compare is the order of serving. Ties go to the earlier goal, then to the earlier submission.
func (c *Claim) Compare(d *Claim, now unit.Time) int {
	s, x := c.Rank(now)
	t, y := d.Rank(now)
	return cmp.Or(cmp.Compare(s, t), cmp.Compare(x, y), cmp.Compare(c.Goal, d.Goal), cmp.Compare(c.Submitted, d.Submitted))
}

// wants reports whether a need is worth another container, by the rounding of min mode.
func (s *Settings) wants(need float64) bool { return need > 0 && need >= s.Threshold }

// Cap is how many further containers a job gets in one pass of min mode.
func (s *Settings) Cap(now unit.Time, c *Claim) int64 {
	if StateOf(now, c.Goal, c.Estimated) != Adjust {
		return c.Unstarted
	}
	need := c.Need(now, c.Aim)
	n := math.Floor(need)
	if s.wants(need - n) {
		n++
	}
	return int64(min(max(n, 0), float64(c.Unstarted)))
}

// Share gives containers to claims: give takes one for claim i, if it fits. In max mode claims are compared anew after each container; in min mode
// each is served once, up to its cap. The claims' counts follow what they got.
func (s *Settings) Share(now unit.Time, claims []Claim, give func(i int) bool) (got []int64) {
	got = make([]int64, len(claims))
	done := make([]bool, len(claims))
	for n := len(claims); n > 0; {
		best := -1
		for i := range claims {
			if !done[i] && (best < 0 || claims[i].Compare(&claims[best], now) < 0) {
				best = i
			}
		}
		c := &claims[best]
		left := min(1, c.Unstarted)
		if s.Min {
			left = s.Cap(now, c)
		}
		for ; left > 0 && give(best); left-- {
			c.Running, c.Unstarted = c.Running+1, c.Unstarted-1
			got[best]++
		}
		if s.Min || left > 0 || c.Unstarted == 0 {
			done[best] = true
			n--
		}
	}
	return got
}

// Running are the start times of running tasks.
//
// Invariants: starts is ascending; sum is that of all starts, young that of starts[overdue:].
type Running struct {
	starts     []unit.Time
	overdue    int // how many had run for longer than the mean at the last call of Left
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

// Drop removes the n oldest.
func (r *Running) Drop(n int) {
	for i, start := range r.starts[:n] {
		if r.sum -= start; i >= r.overdue {
			r.young -= start
		}
	}
	r.starts = slices.Delete(r.starts, 0, n)
	r.overdue = max(r.overdue-n, 0)
}

// Restart makes all of them start at one instant.
func (r *Running) Restart(at unit.Time) {
	for i := range r.starts {
		r.starts[i] = at
	}
	r.sum = unit.Time(len(r.starts)) * at
	r.overdue, r.young = 0, r.sum
}

// Left is the work left if each task takes the mean. A task that has run for longer counts 0 if clamp is set, otherwise it counts negative. The cost grows
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
