package capacity

import (
	"math"

	"github.com/yardmaster/yardmaster/policy/capacity/arith"
	"github.com/yardmaster/yardmaster/unit"
)

// leaf is what only queues with applications have.
type leaf struct {
	userPercent float32 // minimum-user-limit-percent
	userFactor  float32 // user-limit-factor
	amPercent   float32
	ownMaxApps  int // maximum-applications of the queue; -1: not set
	defaultPrio int
	fair        bool
	sizeWeight  bool

	maxApps, maxUserApps int // counts at which submissions are refused; see limitsOfCounts

	apps       int // present
	activeApps int
	amUsed     unit.Resources

	// curLimit is what the queue could reach when it was last looked at. It is old while nobody looks, as in Hadoop.
	curLimit unit.Resources

	users       map[string]int32 // name -> slot in Order.users
	slots       []int32          // the same in order of first appearance
	ratio       float32          // sum of the users' shares of the cluster, kept as it changes
	activeUsers int
	activeUsed  unit.Resources // held by active users
	onlyPending int            // users with waiting and no activated applications

	stale         bool // the user limit needs computing
	limit         unit.Resources
	pendingCached int // onlyPending when the limit was last computed

	ready   tree // users with activated applications that wait for a container, by the best of them
	pending tree // users with applications that wait for activation, by the first of them
}

// user is one user of one leaf.
type user struct {
	q       *queue
	used    unit.Resources
	am      unit.Resources // of activated applications' masters
	ratio   float32        // used as a share of the cluster
	active  int            // activated applications
	pending int            // applications that wait for activation
	asking  int            // applications that count as asking; > 0 makes the user active
	apps    int
	ready   tree // activated applications that wait for a container
	waiting tree // applications that wait for activation, by priority and arrival
}

func (o *Order) resetLeaf(q *queue, lim unit.Resources) {
	l := q.leaf
	o.limitsOfCounts(q)
	l.ratio = 0
	for _, id := range l.slots {
		u := &o.users[id]
		u.ratio = o.calc.Ratio(u.used, o.cluster)
		l.ratio += u.ratio
		o.rankReady(id)
		o.rankPending(id)
	}
	l.curLimit = o.calc.Min(o.cluster, o.calc.Down(q.EffMax, o.minA), lim)
	o.activate(q)
	if l.stale = true; l.activeApps > 0 { // Hadoop looks at all applications
		o.userLimit(q)
	}
}

// userLimit is how much a user of q may hold before it gets no more. All users have it in common (they have weight 1).
// It is computed again only after a container of the leaf started or ended or a user became active or inactive.
func (o *Order) userLimit(q *queue) unit.Resources {
	l := q.leaf
	if !l.stale {
		return l.limit
	}
	l.stale = false
	l.pendingCached = l.onlyPending
	in := arith.UserLimitInput{
		Cluster: o.cluster, EffMin: q.EffMin, EffMax: q.EffMax, MinA: o.minA,
		Ratio: l.ratio, Active: float32(l.activeUsers), ActiveUsed: l.activeUsed, Percent: l.userPercent, Factor: l.userFactor,
	}
	l.limit = o.calc.UserLimit(&in)
	return l.limit
}

// measure is a user's use as one number that grows with it: what the tree of ready users is searched by. Under the
// Dominant calculator two uses with one measure may still differ in their smaller share.
func (o *Order) measure(used unit.Resources) int64 {
	if o.calc == arith.Default {
		return used.Mem
	}
	s, _ := arith.Shares(used, o.cluster)
	return int64(math.Float64bits(max(s, 0)))
}

// hold adds r (or takes it back) to what a user holds, and to the queues above.
func (o *Order) hold(id int32, r unit.Resources) {
	u := &o.users[id]
	l := u.q.leaf
	u.used = u.used.Add(r)
	ratio := o.calc.Ratio(u.used, o.cluster)
	l.ratio += ratio - u.ratio
	u.ratio = ratio
	l.stale = true
	if u.asking > 0 {
		l.activeUsed = l.activeUsed.Add(r)
	}
	if o.readyUsers.has(id) {
		o.readyUsers.set(id, values{o.measure(u.used)})
	}
	o.charge(u.q, r)
}

// ask counts one more (or one less) asking application of a user; the first makes the user active.
func (o *Order) ask(id int32, n int) {
	u := &o.users[id]
	l := u.q.leaf
	was := u.asking > 0
	u.asking += n
	switch is := u.asking > 0; {
	case is && !was:
		l.activeUsers++
		l.activeUsed = l.activeUsed.Add(u.used)
		l.stale = true
	case was && !is:
		l.activeUsers--
		l.activeUsed = l.activeUsed.Sub(u.used)
		l.stale = true
	}
}

// count changes how many activated and waiting applications a user has.
func (o *Order) count(id int32, active, pending int) {
	u := &o.users[id]
	l := u.q.leaf
	if u.active == 0 && u.pending > 0 {
		l.onlyPending--
	}
	u.active += active
	u.pending += pending
	l.activeApps += active
	if u.active == 0 && u.pending > 0 {
		l.onlyPending++
	}
}

// rankReady puts a user where its best ready application belongs.
func (o *Order) rankReady(id int32) {
	u := &o.users[id]
	best := o.readyApps.first(u.ready, &anything)
	if best == none {
		o.readyUsers.drop(&u.q.ready, id)
		return
	}
	n := &o.readyApps.nodes[best]
	o.readyUsers.put(&u.q.ready, id, n.a, n.b, values{o.measure(u.used)})
}

// rankPending puts a user where its first waiting application belongs.
func (o *Order) rankPending(id int32) {
	u := &o.users[id]
	first := o.waitingApps.first(u.waiting, &anything)
	if first == none {
		o.waitingUsers.drop(&u.q.pending, id)
		return
	}
	n := &o.waitingApps.nodes[first]
	least := o.waitingApps.at(int32(u.waiting)).least
	v := values{least[0], u.am.Mem + least[0], least[1], u.am.Cores + least[1]}
	o.waitingUsers.put(&u.q.pending, id, n.a, n.b, v)
}
