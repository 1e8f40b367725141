package capacity1

import (
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

var (
	_ policy.Explainer = (*state)(nil)
	_ policy.Refuser   = placement{}
)

// Why says which limits hold a job back: those of the poller until it is initialised, then the queue's maximum and the user's limit, in slots; then which jobs
// of its queue come first.
func (s *state) Why(_ unit.Time, v *policy.Job, to []policy.Reason) []policy.Reason {
	j := &s.jobs[v.Index]
	q, u := j.queue, &j.queue.users[j.user]
	first := q.waiting
	limit := func(name, user string, count, most int64) {
		to = append(to, policy.Reason{Limit: name, Queue: q.set.Name, User: user, Count: count, MaxCount: most})
	}
	kind := mapSlots
	if v.Waiting[kind] == 0 {
		kind = reduceSlots
	}
	use, need := &q.use[kind], slotsOf(v.Front, v.Ask)
	switch {
	case j.initialised:
		first = nil
		for i := range q.users {
			first = append(first, q.users[i].ready[kind]...)
		}
		slices.SortFunc(first, position.compare)
		slots := s.parts[kind].slots // a limit that is no smaller is none: the cluster is full
		if most := use.maximum + s.parts[kind].idle; use.maximum >= 0 && most < slots && use.occupied > 0 && use.occupied+need > most {
			limit("maximum-capacity", "", use.occupied, most)
		}
		bound := func(factor float64) int64 {
			return UserLimit(use.capacity, use.occupied, need, s.parts[kind].activeUsers(q), q.set.MinimumUserLimitPercent, factor)
		}
		if most := bound(q.set.UserLimitFactor); most < slots && u.held[kind]+need > most {
			name := "minimum-user-limit-percent"
			if bound(1e6) > most {
				name = "user-limit-factor"
			}
			limit(name, u.name, u.held[kind], most)
		}
	case q.initialised >= q.limits.InitJobs:
		limit("maximum-system-jobs", "", q.initialised, q.limits.InitJobs)
	case q.activeTasks+j.tasks > int64(q.set.MaxActiveTasks):
		limit("maximum-initialized-active-tasks", "", q.activeTasks, int64(q.set.MaxActiveTasks))
	case u.initialised >= q.limits.InitJobsPerUser:
		limit("maximum-system-jobs", u.name, u.initialised, q.limits.InitJobsPerUser)
	case u.activeTasks+j.tasks > int64(q.set.MaxActiveTasksPerUser):
		limit("maximum-initialized-active-tasks-per-user", u.name, u.activeTasks, int64(q.set.MaxActiveTasksPerUser))
	default:
		to = append(to, policy.Reason{Limit: "init-poll-interval", MaxWait: s.cfg.PollInterval})
	}
	r := policy.Reason{Queue: q.set.Name}
	for _, p := range first {
		if p.id == v.Index {
			break
		}
		r.Precede(s.jobs[p.id].view.ID)
	}
	if r.Ahead > 0 {
		to = append(to, r)
	}
	return to
}

// Refusal says why a task does not start on a node: a map waits for its input, a reduce avoids a node that runs one.
func (t placement) Refusal(now unit.Time, v *policy.Job, s int, n *policy.Node, near policy.Near) (r policy.Reason) {
	switch {
	case t.Score(now, v, s, n, near) >= 0:
	case isReduce(v, s):
		r.Limit = "avoid-busy-nodes"
	case near == policy.RackLocal:
		r = policy.Reason{Limit: "node-delay", MaxCount: t.maps.nodeDelay()}
	case t.maps.p.cfg.RackDelay > 0:
		r = policy.Reason{Limit: "rack-delay", MaxCount: min(int64(t.maps.p.cfg.RackDelay), t.maps.nodeDelay()+t.maps.p.nodes)}
	case t.maps.p.cfg.OffSwitch == PastMissed:
		r = policy.Reason{Limit: "off-switch", MaxCount: int64(float64(min(v.Waiting[mapSlots], t.maps.p.nodes)) * t.maps.p.cfg.LocalityWaitFactor)}
	default:
		r = policy.Reason{Limit: "off-switch", MaxCount: t.maps.p.nodes}
	}
	if r.MaxCount > 0 {
		r.Count = t.maps.p.jobs[v.Index].opportunities
	}
	return r
}
