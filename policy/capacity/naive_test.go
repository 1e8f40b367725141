package capacity

import (
	"slices"
	"sort"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity/arith"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// naive is the same scheduler written as plainly as possible: it re-sorts queues, applications and waiting applications at
// every step and walks all of them. The effective capacities are taken from an Order, which its own tests cover.
type naive struct {
	like   *Order
	queues map[*queue]*nqueue // by the Order's queue
	apps   []*napp            // by arrival
	leaves *napp              // still asks while others are let in for it
}

type nqueue struct {
	q          *queue
	used       unit.Resources
	curLimit   unit.Resources
	users      map[string]*nuser
	ratio      float32
	stale      bool
	limit      unit.Resources
	pendCached int
}

type nuser struct {
	used  unit.Resources
	ratio float32
}

type napp struct {
	j                     *policy.Job
	q                     *nqueue
	active, wants, asking bool
	used, am              unit.Resources
}

func (n *naive) Resized(unit.Time, policy.Cluster) { // the Order has been told before
	o := n.like
	old := n.queues
	n.queues = map[*queue]*nqueue{}
	var walk func(q *queue, lim unit.Resources)
	walk = func(q *queue, lim unit.Resources) {
		x := old[q]
		if x == nil {
			x = &nqueue{q: q, users: map[string]*nuser{}}
		}
		n.queues[q] = x
		x.ratio, x.stale = 0, true
		if q.Leaf != nil {
			for _, slot := range q.slots { // in order of first appearance, which the float32 sum hangs on
				for name, s := range q.users {
					if s == slot && x.users[name] != nil {
						u := x.users[name]
						u.ratio = o.Calc.Ratio(u.used, o.Cluster)
						x.ratio += u.ratio
					}
				}
			}
			x.curLimit = o.Calc.Min(o.Cluster, o.Calc.Down(q.EffMax, o.MinA), lim)
			n.activate(x)
			x.stale = true
			if slices.ContainsFunc(n.apps, func(a *napp) bool { return a.q == x && a.active }) {
				n.userLimit(x)
			}
		}
		lim = o.Calc.Min(o.Cluster, lim, q.EffMax)
		for _, k := range q.Children {
			ku := unit.Resources{}
			if kx := old[k]; kx != nil {
				ku = kx.used
			}
			walk(k, o.Calc.Down(lim.Sub(x.used).Add(ku), o.MinA))
		}
	}
	walk(o.Root, o.Cluster)
}

func (n *naive) find(j *policy.Job) *napp {
	for _, a := range n.apps {
		if a.j == j {
			return a
		}
	}
	return nil
}

func (n *naive) Arrived(_ unit.Time, j *policy.Job) error {
	q, err := n.like.resolve(j.Queue)
	if err != nil {
		return err
	}
	x := n.queues[q]
	if x.users[j.User] == nil {
		x.users[j.User] = &nuser{}
	}
	a := &napp{j: j, q: x}
	n.apps = append(n.apps, a)
	n.activate(x)
	n.heard(a)
	return nil
}

func (n *naive) Changed(_ unit.Time, j *policy.Job) {
	a := n.find(j)
	n.heard(a)
	if j.Pending > 0 && j.Front != policy.AMStage {
		n.userLimit(a.q)
	}
}

func (n *naive) heard(a *napp) {
	wants := a.j.Pending > 0
	if wants && !a.wants {
		for _, b := range n.apps {
			if b.q == a.q && b.j.User == a.j.User && b.active {
				n.setAsking(a, true)
			}
		}
	}
	if !wants {
		n.setAsking(a, false)
	}
	a.wants = wants
}

func (n *naive) setAsking(a *napp, to bool) {
	before := n.activeUser(a.q, a.j.User)
	a.asking = to
	if n.activeUser(a.q, a.j.User) != before {
		a.q.stale = true
	}
}

func (n *naive) activeUser(x *nqueue, user string) bool {
	return slices.ContainsFunc(append(n.apps, n.leaves), func(a *napp) bool { return a != nil && a.q == x && a.j.User == user && a.asking })
}

func (n *naive) hold(a *napp, r unit.Resources) {
	a.used = a.used.Add(r)
	for q := a.q.q; q != nil; q = q.Parent {
		n.queues[q].used = n.queues[q].used.Add(r)
	}
	u := a.q.users[a.j.User]
	u.used = u.used.Add(r)
	ratio := n.like.Calc.Ratio(u.used, n.like.Cluster)
	a.q.ratio += ratio - u.ratio
	u.ratio = ratio
	a.q.stale = true
}

func (n *naive) Started(e *policy.Event) {
	a := n.find(e.Job)
	n.hold(a, e.Size)
	n.heard(a)
}

func (n *naive) Ended(e *policy.Event) {
	a := n.find(e.Job)
	n.hold(a, unit.Resources{}.Sub(e.Size))
	if e.Stage == policy.AMStage && a.active {
		a.am = unit.Resources{}
		if e.Why != policy.Done {
			n.setAsking(a, false)
			a.active, a.wants = false, false
		}
		n.activate(a.q)
	}
	n.heard(a)
}

func (n *naive) Left(_ unit.Time, j *policy.Job) {
	a := n.find(j)
	n.apps = slices.DeleteFunc(n.apps, func(b *napp) bool { return b == a })
	n.leaves = a
	n.activate(a.q)
	n.setAsking(a, false)
	n.leaves = nil
}

func (n *naive) userLimit(x *nqueue) unit.Resources {
	if !x.stale {
		return x.limit
	}
	x.stale = false
	o := n.like
	in := arith.UserLimitInput{
		Cluster: o.Cluster, EffMin: x.q.EffMin, EffMax: x.q.EffMax, MinA: o.MinA, Ratio: x.ratio, Percent: x.q.UserPercent, Factor: x.q.UserFactor,
	}
	x.pendCached = 0
	for name, u := range x.users {
		if n.activeUser(x, name) {
			in.Active++
			in.ActiveUsed = in.ActiveUsed.Add(u.used)
		}
		var active, pending bool
		for _, a := range n.apps {
			if a.q == x && a.j.User == name {
				active = active || a.active
				pending = pending || !a.active
			}
		}
		if pending && !active {
			x.pendCached++
		}
	}
	x.limit = o.Calc.UserLimit(&in)
	return x.limit
}

func (n *naive) activate(x *nqueue) {
	o := n.like
	usable := x.curLimit
	if !o.Calc.Fits(x.q.EffMin, usable) {
		usable = x.q.EffMin
	}
	amLimit := o.Calc.MulUp(usable, float64(x.q.AMPercent), o.MinA)
	users := x.pendCached
	for name := range x.users {
		if n.activeUser(x, name) {
			users++
		}
	}
	uLim := o.Calc.MulUp(x.q.EffMin, float64(x.q.AMPercent), o.MinA)
	if x.q.UserFactor != -1 {
		e := min(max(x.q.UserPercent/100, 1/float32(max(users, 1))), 1)
		uLim = o.Calc.MulUp(x.q.EffMin, float64(float32(float32(x.q.AMPercent*e)*x.q.UserFactor)), o.MinA)
	}
	uLim = o.Calc.Min(o.Cluster, uLim, amLimit)
	var pending []*napp
	for _, a := range n.apps {
		if a.q == x && !a.active {
			pending = append(pending, a)
		}
	}
	n.sortFIFO(pending)
	for _, a := range pending {
		var am, userAM unit.Resources
		active := 0
		for _, b := range n.apps {
			if b.q == x && b.active {
				active++
				am = am.Add(b.am)
				if b.j.User == a.j.User {
					userAM = userAM.Add(b.am)
				}
			}
		}
		free := active < 1 || o.Calc.Compare(o.Cluster, am, unit.Resources{}) <= 0
		if !free && !o.Calc.Fits(am.Add(a.j.AM), amLimit) {
			continue
		}
		if !free && !o.Calc.Fits(userAM.Add(a.j.AM), uLim) {
			continue
		}
		a.active = true
		a.am = a.j.AM
		if a.wants && a.j.AM.IsZero() {
			n.setAsking(a, true)
		}
	}
}

func (n *naive) priority(a *napp) int { return n.like.capped(a.q.q, a.j.Priority) }

func (n *naive) sortFIFO(list []*napp) {
	sort.SliceStable(list, func(i, k int) bool {
		if p, q := n.priority(list[i]), n.priority(list[k]); p != q {
			return p > q
		}
		return list[i].j.Seq < list[k].j.Seq
	})
}

func (n *naive) Ranked(_ *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	out, _ := n.visit(n.like.Root, n.like.Cluster, try)
	return out == took
}

func (n *naive) wants(q *queue) bool {
	for _, a := range n.apps {
		for p := a.q.q; p != nil && a.wants; p = p.Parent {
			if p == q {
				return true
			}
		}
	}
	return false
}

func (n *naive) visit(q *queue, lim unit.Resources, try func(*policy.Job) policy.Verdict) (outcome, unit.Resources) {
	o, x := n.like, n.queues[q]
	if !n.wants(q) {
		return nothing, unit.Resources{}
	}
	if q.Leaf != nil {
		return n.visitLeaf(x, lim, try)
	}
	lim = o.Calc.Min(o.Cluster, lim, q.EffMax)
	if o.Calc.Compare(o.Cluster, x.used, lim) >= 0 {
		return nothing, unit.Resources{}
	}
	kids := slices.Clone(q.Children)
	sort.SliceStable(kids, func(i, k int) bool { return n.queueLess(q, kids[i], kids[k]) })
	var blocked unit.Resources
	result := nothing
	for _, k := range kids {
		childLim := o.Calc.Down(lim.Sub(o.Calc.Max(o.Cluster, blocked, unit.Resources{})).Sub(x.used).Add(n.queues[k].used), o.MinA)
		out, room := n.visit(k, childLim, try)
		switch out {
		case took, enough:
			return out, room
		case limited:
			result = limited
			blocked = blocked.Add(room.Max(unit.Resources{}))
		}
	}
	return result, blocked
}

func (n *naive) queueLess(parent, a, b *queue) bool {
	o := n.like
	if (a.AbsCap > 0) != (b.AbsCap > 0) {
		return a.AbsCap > 0
	}
	use := func(q *queue) float32 {
		if q.AbsCap > 0 {
			return o.Calc.Divide(o.Cluster, n.queues[q].used, o.Calc.Max(o.Cluster, q.EffMin, o.MinA))
		}
		return o.Calc.Divide(o.Cluster, n.queues[q].used, o.Cluster)
	}
	ua, ub := use(a), use(b)
	if parent.ByPriority && a.Priority != b.Priority && (ua < 1) == (ub < 1) {
		return a.Priority > b.Priority
	}
	if ua != ub {
		return ua < ub
	}
	if a.Capacity.Kind == conf.Absolute && b.Capacity.Kind == conf.Absolute {
		if a.Capacity.Room.Mem != b.Capacity.Room.Mem {
			return a.Capacity.Room.Mem > b.Capacity.Room.Mem
		}
		return a.Capacity.Room.Cores > b.Capacity.Room.Cores
	}
	return a.AbsCap > b.AbsCap
}

func (n *naive) visitLeaf(x *nqueue, lim unit.Resources, try func(*policy.Job) policy.Verdict) (outcome, unit.Resources) {
	o, q := n.like, x.q
	var list []*napp
	for _, a := range n.apps {
		if a.q == x && a.active {
			list = append(list, a)
		}
	}
	n.sortFIFO(list)
	if q.Fair {
		sort.SliceStable(list, func(i, k int) bool {
			if list[i].used.Mem != list[k].used.Mem {
				return list[i].used.Mem < list[k].used.Mem
			}
			return list[i].j.Seq < list[k].j.Seq
		})
	}
	limit := o.Calc.Min(o.Cluster, q.EffMax, lim)
	room := limit.Sub(x.used)
	for _, a := range list {
		if o.Calc.Compare(o.Cluster, x.used, limit) >= 0 {
			return nothing, unit.Resources{}
		}
		x.curLimit = o.Calc.Min(o.Cluster, o.Calc.Down(q.EffMax, o.MinA), lim)
		if o.Calc.Compare(o.Cluster, x.users[a.j.User].used, n.userLimit(x)) > 0 || a.j.Pending == 0 {
			continue
		}
		ok := o.Calc.Fits(a.j.Ask, room)
		for p := q; p != nil; p = p.Parent {
			ok = ok && o.Calc.Fits(n.queues[p].used.Add(a.j.Ask), p.EffMax)
		}
		if !ok {
			return limited, room
		}
		switch try(a.j) {
		case policy.Took:
			return took, room
		case policy.Enough:
			return enough, room
		}
	}
	return nothing, unit.Resources{}
}
