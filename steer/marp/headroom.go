package marp

import (
	"fmt"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// A controller that acts on the cluster's idle processors does harm in a queue with a ceiling: at the ceiling every further AM
// displaces a task, fewer tasks mean more idle processors, and the share goes up again. So, for every controller:
//
//	idle = min(idle processors, (ceiling - used) / ceiling in memory, the same in vcores)
//
// nothing is raised without room for an AM and one of its tasks, or while a running job gets nothing for its tasks; and the share of starving jobs is
// given back, down to the value found.

// starved is how long a running job waits for the first container of its tasks until it counts as starving: several heartbeats, and longer than
// a scheduler waits for better locality.
const starved = 10 * unit.Second

// breath is how long room that becomes free in a full queue may take to reach waiting tasks: a heartbeat of a node and one of an AM.
const breath = 2 * unit.Second

// felt is the max time from a raise until the job it admits requests containers: a polled file, and the AM's start. Controllers that
// count jobs wait by themselves.
const felt = 30 * unit.Second

// bind replaces the idle share by the queue's headroom where that is smaller.
func (v *view) bind() {
	top, used := v.queue.Ceiling, v.queue.Used
	free := 1.0
	for _, r := range [...]struct {
		top, used int64
		total     *int64
	}{{top.Mem, used.Mem, &v.total.Mem}, {top.Cores, used.Cores, &v.total.Cores}} {
		if r.top > 0 {
			free = min(free, float64(max(r.top-r.used, 0))/float64(r.top))
			*r.total = r.top
		}
	}
	if top.IsZero() {
		return
	}
	if v.idleShare < 0 || free < v.idleShare {
		v.idleShare, v.used = free, used
	}
}

// fits reports whether the queue has room for one more AM and one of its tasks.
func (v *view) fits(minimum unit.Resources) bool {
	q := v.queue
	task := minimum
	if n := q.Containers - int64(v.running); n > 0 { // the mean of the running ones
		held := q.Used.Sub(q.AMs)
		task = task.Max(unit.Resources{Mem: held.Mem / n, Cores: held.Cores / n})
	}
	need, room := v.am.Add(task), q.Ceiling.Sub(q.Used)
	return (q.Ceiling.Mem == 0 || need.Mem <= room.Mem) && (q.Ceiling.Cores == 0 || need.Cores <= room.Cores)
}

// unfed reports whether a running job requests containers and has none but its AM's. One whose AM runs elsewhere may have to wait for its share.
func unfed(j *steer.Job) bool {
	return j.Started && j.Pending > 0 && j.Running == 1 && !j.AM.IsZero()
}

// spare vetoes or replaces a controller's move that would do harm. A static value, which a person has chosen, is left alone.
func (c *loop) spare(v *view, m move) move {
	if _, fixed := c.controller.(static); fixed || !c.set.Headroom {
		return m
	}
	hungry := c.hungry(v)
	_, plain := c.controller.(sizeless)
	fits := v.fits(c.set.Minimum)
	if !fits {
		c.full, c.wasFull = v.now, true
	}
	var bar string
	switch n := len(hungry); {
	case n > 0:
		bar = fmt.Sprintf("%d running %s no container for tasks", n, plural(n, "job gets", "jobs get"))
	case !fits:
		bar = fmt.Sprintf("the queue's headroom (%v of %v) holds no further job", v.queue.Ceiling.Sub(v.queue.Used).Max(unit.Resources{}), v.queue.Ceiling)
	case c.wasFull && v.now-c.full < breath:
		bar = fmt.Sprintf("the queue was full %v ago", v.now-c.full)
	case plain && c.did == Raise && v.now-c.written < felt:
		bar = "the last raise has yet to be felt"
	default:
		return m
	}
	if m.up > 0 || m.value > c.value {
		m.up, m.value = 0, 0
		m.why += "; not raised: " + bar
		if l, ok := c.controller.(corrected); ok {
			l.notMade()
		}
	}
	if len(hungry) == 0 || m.down > 0 || m.value > 0 || c.hasFound && c.value <= c.found {
		return m
	}
	lower := move{keep: true, why: bar + ": given back"}
	if plain { // it does not count jobs
		lower.value = max(c.found, c.minShare)
		return lower
	}
	for _, j := range hungry { // once per job: at its end there is nothing left to give back
		if k := c.jobs[j.ID]; k != nil && k.share {
			k.share = false
			lower.down++
		}
	}
	if lower.down == 0 {
		return m
	}
	return lower
}

// hungry lists the starving jobs.
func (c *loop) hungry(v *view) (jobs []*steer.Job) {
	since := map[string]unit.Time{}
	for _, j := range v.jobs {
		if !unfed(j) {
			continue
		}
		at, known := c.unfed[j.ID]
		if !known {
			at = v.now
		}
		if since[j.ID] = at; v.now-at >= starved {
			jobs = append(jobs, j)
		}
	}
	c.unfed = since
	return jobs
}
