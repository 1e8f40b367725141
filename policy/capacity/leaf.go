package capacity

import (
	"math"

	"github.com/yardmaster/yardmaster/policy/capacity/arith"
	"github.com/yardmaster/yardmaster/unit"
)

// user is one user of one leaf.
type user struct {
	arith.User
	q       *queue
	apps    int
	ready   tree // activated applications that wait for a container
	waiting tree // applications that wait for activation, by priority and arrival
}

// reset recomputes what depends on the limits of a leaf.
func (o *Order) reset(q *queue) {
	q.Ratio = 0
	for _, id := range q.slots {
		u := &o.users[id]
		u.Ratio = o.Calc.Ratio(u.Used, o.Cluster)
		q.Ratio += u.Ratio
		o.rankReady(id)
		o.rankPending(id)
	}
	o.activate(q)
	if q.Stale = true; q.ActiveApps > 0 { // Hadoop visits all applications
		o.UserLimit(&q.Queue)
	}
}

// measure maps a user's usage to one monotonic number, the search key of the tree of ready users. Under the
// Dominant calculator two usages with the same measure may still differ in their smaller share.
func (o *Order) measure(used unit.Resources) int64 {
	if o.Calc == arith.Default {
		return used.Mem
	}
	s, _ := arith.Shares(used, o.Cluster)
	return int64(math.Float64bits(max(s, 0)))
}

// hold adds r (which may be negative) to the usage of a user and of the queues above.
func (o *Order) hold(id int32, r unit.Resources) {
	u := &o.users[id]
	u.q.Hold(o.Calc, o.Cluster, &u.User, r)
	if o.readyUsers.has(id) {
		o.readyUsers.set(id, values{o.measure(u.Used)})
	}
	o.charge(u.q, r)
}

// ask counts one more (or one less) asking application of a user.
func (o *Order) ask(id int32, n int) { o.users[id].q.Ask(&o.users[id].User, n) }

// count changes how many activated and waiting applications a user has.
func (o *Order) count(id int32, active, pending int) {
	o.users[id].q.Count(&o.users[id].User, active, pending)
}

// rankReady ranks a user by its best ready application.
func (o *Order) rankReady(id int32) {
	u := &o.users[id]
	best := o.readyApps.first(u.ready, &anything)
	if best == none {
		o.readyUsers.drop(&u.q.ready, id)
		return
	}
	n := &o.readyApps.nodes[best]
	o.readyUsers.put(&u.q.ready, id, n.a, n.b, values{o.measure(u.Used)})
}

// rankPending ranks a user by its first waiting application.
func (o *Order) rankPending(id int32) {
	u := &o.users[id]
	first := o.waitingApps.first(u.waiting, &anything)
	if first == none {
		o.waitingUsers.drop(&u.q.pending, id)
		return
	}
	n := &o.waitingApps.nodes[first]
	least := o.waitingApps.at(int32(u.waiting)).min
	v := values{least[0], u.AM.Mem + least[0], least[1], u.AM.Cores + least[1]}
	o.waitingUsers.put(&u.q.pending, id, n.a, n.b, v)
}
