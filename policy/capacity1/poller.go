package capacity1

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

var _ policy.Timer = (*state)(nil)

// Tick is one round of the initialisation poller.
func (s *state) Tick(now unit.Time) (again unit.Time, changed bool) {
	s.round++
	for _, q := range s.queues {
		if q.dirty && s.poll(q) {
			changed = true
		}
	}
	return now + s.cfg.PollInterval, changed
}

// poll initialises what a queue's limits allow. Its result depends only on what makes a queue dirty, so a second poll without a
// change in between is a no-op.
func (s *state) poll(q *queue) (changed bool) {
	q.dirty = false
	at, kept := 0, 0
	for ; at < len(q.waiting); at++ {
		j := &s.jobs[q.waiting[at].id]
		u := &q.users[j.user]
		if q.initialised >= q.limits.InitJobs || q.activeTasks+j.tasks > int64(q.set.MaxActiveTasks) {
			break
		}
		if u.over == s.round || u.initialised >= q.limits.InitJobsPerUser || u.activeTasks+j.tasks > int64(q.set.MaxActiveTasksPerUser) {
			u.over = s.round
			q.waiting[kept] = q.waiting[at]
			kept++
			continue
		}
		j.initialised = true
		s.count(j, 1)
		for k := range kinds {
			s.show(j, k)
		}
		changed = true
	}
	if kept < at {
		kept += copy(q.waiting[kept:], q.waiting[at:])
		q.waiting = q.waiting[:kept]
	}
	return changed
}
