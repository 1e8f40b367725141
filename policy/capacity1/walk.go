package capacity1

import (
	"github.com/yardmaster/yardmaster/internal/heap"
	"github.com/yardmaster/yardmaster/policy/rank"
)

// walk iterates over a queue's ready jobs in order, skipping users at their limit, all jobs of one at once. It takes
// the first job of every user from the queue's heap of users, and further jobs of a user only after the earlier ones were
// skipped; so its cost depends on what is proposed and on the number of users at their limit, who are few: each holds slots.
type walk struct {
	p     *part
	q     *queue
	users rank.Cursor
	heads heap.Heap[head] // the next job of every user whose first one was proposed

	need, limit int64 // the user limit for starts that need need slots
	room        int64 // slots that the queue may still take; -1: no limit
}

type head struct {
	position
	user, at int32 // number of the user, index in its ready list
}

func (w *walk) start(p *part, q *queue) {
	use := &q.use[p.kind]
	w.p, w.q, w.heads.Items, w.need, w.room = p, q, w.heads.Items[:0], -1, -1
	if use.maximum >= 0 {
		w.room = max(use.maximum+p.idle-use.occupied, 0)
	}
	w.users.Start(&use.ready)
	w.admitUsers()
}

// within says whether a start that needs need slots keeps the queue and the user within their limits.
func (w *walk) within(user int32, need int64) bool {
	use := &w.q.use[w.p.kind]
	if w.room >= 0 && need > w.room && use.occupied > 0 { // alone, a task may exceed a maximum that is smaller than it
		return false
	}
	if need != w.need {
		w.need = need
		w.limit = UserLimit(use.capacity, use.occupied, need, w.p.activeUsers(w.q), w.q.set.MinimumUserLimitPercent, w.q.set.UserLimitFactor)
	}
	return w.q.users[user].held[w.p.kind]+need <= w.limit
}

// activeUsers is how many users share a queue.
func (p *part) activeUsers(q *queue) int {
	if p.cfg.ActiveUsers == UsersWithJobs {
		return len(q.byUser)
	}
	return q.use[p.kind].ready.Len()
}

// job is the current job; none at the end.
func (w *walk) job() int32 {
	if len(w.heads.Items) == 0 {
		return none
	}
	return w.heads.Items[0].id
}

// next advances to the next job.
func (w *walk) next() {
	h := &w.heads.Items[0]
	h.at++
	if list := w.q.users[h.user].ready[w.p.kind]; int(h.at) < len(list) {
		h.position = list[h.at]
		w.heads.Fix()
	} else {
		w.heads.Pop()
	}
	w.admitUsers()
}

// admitUsers adds the users within their limit whose first job comes before all current heads.
func (w *walk) admitUsers() {
	for {
		user, level, seq, ok := w.users.Peek()
		if !ok {
			return
		}
		if first := (position{level: int64(level), seq: seq}); len(w.heads.Items) > 0 && w.heads.Items[0].compare(first) < 0 {
			return
		}
		w.users.Next()
		p := w.q.users[user].ready[w.p.kind][0]
		if v := w.p.jobs[p.id].view; v.Waiting[w.p.kind] <= 0 || w.within(user, slotsOf(v.Front, v.Ask)) {
			w.heads.Push(head{position: p, user: user})
		}
	}
}
