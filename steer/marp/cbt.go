package marp

import (
	"fmt"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// cbt admits a job whenever processors idle, and gives shares back while they are busy. Shares are given back early on
// purpose: if lowered only after a job's end, the freed room would go to the next job before the lower value is in force.
type cbt struct{ *Idling }

func (cbt) begin(*loop, *view) {}

func (l cbt) decide(c *loop, v *view) (m move, again unit.Time) {
	again = c.set.Interval
	if v.idle <= l.IdleAbove {
		return c.giveBack(v, l.Idling), again
	}
	switch {
	case v.pending == 0:
		m.why = fmt.Sprintf("%d %% idle, nothing waits", v.idle)
	case l.held(v):
		m.why = fmt.Sprintf("%d %% idle, but a started job has yet to get to work", v.idle)
	default:
		m = move{up: 1, why: fmt.Sprintf("%d %% idle, %d waiting: one more", v.idle, v.pending)}
	}
	if c.set.Service {
		m = c.forget(v, m)
	}
	return m, again
}

// forget gives back the share of ended jobs while processors idle, too. A batch does not need it, as its end restores
// everything; in a service whose processors idle for days the ended jobs would add up, and be given back all at once.
func (c *loop) forget(v *view, m move) move {
	if m.down = c.almostDone(v, false, func(*steer.Job) bool { return false }); m.down > 0 {
		m.why += fmt.Sprintf("; %d %s ended", m.down, plural(m.down, "has", "have"))
	}
	return m
}

// giveBack lowers the share for jobs that are almost done, all in one step.
func (c *loop) giveBack(v *view, set *Idling) (m move) {
	m.down = c.almostDone(v, false, func(j *steer.Job) bool { return int(j.Progress) >= set.DropFrom })
	if m.down > 0 {
		m.why = fmt.Sprintf("%d %s done or almost", m.down, plural(m.down, "job is", "jobs are"))
	} else {
		m.why = fmt.Sprintf("%d %% idle, no job is almost done", v.idle)
	}
	return m
}

// held reports whether a started job is not at work yet, where StartedFirst asks for that.
func (set *Idling) held(v *view) bool {
	if !set.StartedFirst {
		return false
	}
	for _, j := range v.jobs {
		if j.Started && j.Progress < 1 {
			return true
		}
	}
	return false
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}
