package capacity

import (
	"math"

	"github.com/yardmaster/yardmaster/policy/capacity/arith"
	"github.com/yardmaster/yardmaster/unit"
)

// An application holds no container until it is activated, and activation charges the size of its AM at once. This
// file is LeafQueue.activateApplications. Hadoop walks all waiting applications each time; here the next one that fits is
// found in O(log n), as is the fact that there is none.

// amLimits are what the AMs of all activated applications of q may hold together, and those of one user.
func (o *Order) amLimits(q *queue) (all, one unit.Resources) {
	all = o.LeafAMLimit(&q.Queue)
	return all, o.UserAMLimit(&q.Queue, all)
}

// activate activates as many waiting applications as the AM limits allow.
func (o *Order) activate(q *queue) {
	if q.pending == 0 {
		return
	}
	limit, userLimit := o.amLimits(q) // once a call, as in Hadoop
	for q.pending != 0 {
		var id int32
		if o.FirstAM(&q.Queue) {
			id = o.firstWaiting(q)
		} else {
			id = o.firstFitting(q, limit.Sub(q.AMUsed), userLimit)
		}
		if id == none {
			return
		}
		o.activateApp(id)
	}
}

func (o *Order) firstWaiting(q *queue) int32 {
	u := o.waitingUsers.first(q.pending, &anything)
	return o.waitingApps.first(o.users[u].waiting, &anything)
}

// firstFitting is the first waiting application whose AM fits into the queue's room and its user's.
func (o *Order) firstFitting(q *queue, room, userLimit unit.Resources) int32 {
	bound := values{room.Mem, userLimit.Mem, math.MaxInt64, math.MaxInt64}
	if o.Calc == arith.Dominant {
		bound[2], bound[3] = room.Cores, userLimit.Cores
	}
	best := none
	// Users are ordered by their first application. That one may be too large and a later one fit, so the search
	// continues until no user's first application comes before the best found.
	for id := o.waitingUsers.first(q.pending, &bound); id != none; id = o.waitingUsers.next(id, &bound) {
		if best != none && before(&o.waitingApps.nodes[best], &o.waitingUsers.nodes[id]) {
			break
		}
		u := &o.users[id]
		mine := values{min(room.Mem, userLimit.Mem-u.AM.Mem), math.MaxInt64, math.MaxInt64, math.MaxInt64}
		if o.Calc == arith.Dominant {
			mine[1] = min(room.Cores, userLimit.Cores-u.AM.Cores)
		}
		app := o.waitingApps.first(u.waiting, &mine)
		if app != none && (best == none || o.waitingApps.less(app, best)) {
			best = app
		}
	}
	return best
}

// activateApp activates one application.
func (o *Order) activateApp(id int32) {
	a := &o.apps[id]
	u := &o.users[a.user]
	o.waitingApps.drop(&u.waiting, id)
	a.state = active
	a.am = a.job.AM
	u.AM = u.AM.Add(a.am)
	u.q.AMUsed = u.q.AMUsed.Add(a.am)
	o.count(a.user, 1, -1)
	o.rankPending(a.user)
	if !a.wants {
		return
	}
	o.rankApp(id)
	if a.job.AM.IsZero() && !a.asking {
		// A job without an AM files its first request on activation.
		a.asking = true
		o.ask(a.user, 1)
	}
}

// park adds an application to those waiting for activation.
func (o *Order) park(id int32) {
	a := &o.apps[id]
	u := &o.users[a.user]
	a.state = waiting
	v := values{a.job.AM.Mem, a.job.AM.Cores}
	o.waitingApps.put(&u.waiting, id, float64(-a.priority), a.job.Seq, v)
	o.count(a.user, 0, 1)
	o.rankPending(a.user)
}

// releaseAM releases the AM's share of the AM limits.
func (o *Order) releaseAM(a *app) {
	u := &o.users[a.user]
	u.AM = u.AM.Sub(a.am)
	u.q.AMUsed = u.q.AMUsed.Sub(a.am)
	a.am = unit.Resources{}
	o.rankPending(a.user)
}
