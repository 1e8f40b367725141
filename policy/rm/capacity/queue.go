package capacity

import (
	"slices"

	"github.com/yardmaster/yardmaster/policy/capacity/arith"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// queue is a node of the tree: first settings, then what is derived from them and the cluster, then state.
type queue struct {
	path, name string
	parent     *queue
	children   []*queue

	arith.Share
	stopped    bool
	byPriority bool // parents: priority-utilization
	priority   int
	noPreempt  bool // disable_preemption, here or above

	arith.Bounds
	base unit.Resources // what the used ratio is measured against
	tie  int            // position among siblings with equal ratios

	used     unit.Resources // containers and reservations
	reserved unit.Resources // reservations alone
	pending  unit.Resources // requested below, by activated and waiting applications alike

	sorted []*queue // children in walk order; kept from walk to walk
	limits limits   // of the present walk
	*leaf
}

// charge adds r to the usage of q and all queues above it.
func (q *queue) charge(r unit.Resources) {
	for ; q != nil; q = q.parent {
		q.used = q.used.Add(r)
	}
}

func (q *queue) reserve(r unit.Resources) {
	for ; q != nil; q = q.parent {
		q.reserved = q.reserved.Add(r)
	}
}

// want adds r to the pending requests of q and all queues above it.
func (q *queue) want(r unit.Resources) {
	for ; q != nil; q = q.parent {
		q.pending = q.pending.Add(r)
	}
}

// wants says whether anything is pending in q or below.
func (s *Scheduler) wants(q *queue) bool {
	return s.calc.Compare(s.cluster, q.pending, unit.Resources{}) > 0
}

func (s *Scheduler) build(c *conf.Queue, parent *queue) *queue {
	q := &queue{
		path: c.Path, name: c.Name, parent: parent, Share: arith.Share{Capacity: c.Capacity, Maximum: c.MaxCapacity},
		stopped: c.Stopped, priority: c.Priority, byPriority: c.Ordering == "priority-utilization",
		noPreempt: c.DisablePreemption,
	}
	if c.Leaf() {
		q.leaf = &leaf{Leaf: arith.LeafOf(c), users: map[string]*user{}}
		s.leaves = append(s.leaves, q)
	}
	for _, k := range c.Children {
		q.children = append(q.children, s.build(k, q))
	}
	q.sorted = slices.Clone(q.children)
	return q
}

// recompute derives every queue's part of the cluster, and activates waiting applications, as Hadoop does whenever a node
// joins or leaves or the configuration changes.
func (s *Scheduler) recompute() {
	r := s.root
	r.Bounds = arith.Whole(s.cluster)
	r.base = s.calc.Max(s.cluster, r.EffMin, s.minA)
	s.below(r, s.cluster)
}

func (s *Scheduler) below(q *queue, lim unit.Resources) {
	if q.leaf != nil {
		s.resetLeaf(q, lim)
		return
	}
	var sib arith.Siblings
	for _, k := range q.children {
		sib.Add(k.Share)
	}
	shares, bounds := make([]arith.Share, len(q.children)), make([]arith.Bounds, len(q.children))
	for i, k := range q.children {
		k.Bounds = s.calc.Below(s.cluster, q.Bounds, k.Share, &sib)
		k.base = s.calc.Max(s.cluster, k.EffMin, s.minA)
		shares[i], bounds[i] = k.Share, k.Bounds
	}
	for place, i := range arith.TieOrder(shares, bounds) {
		q.children[i].tie = place
	}
	lim = s.calc.Min(s.cluster, lim, q.EffMax)
	for _, k := range q.children {
		s.below(k, s.calc.Down(lim.Sub(q.used).Add(k.used), s.minA))
	}
}

// sort sorts the children of q into walk order. Few change positions from one walk to the next, so
// insertion sort is fastest.
func (s *Scheduler) sort(q *queue) []*queue {
	list := q.sorted
	for i := 1; i < len(list); i++ {
		for j := i; j > 0 && s.before(q, list[j], list[j-1]); j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
	return list
}

// before says whether a is asked before b: queues with a guarantee first, then the smaller used ratio. Under
// priority-utilization, of two queues on the same side of their guarantees the more urgent goes first.
func (s *Scheduler) before(parent, a, b *queue) bool {
	if (a.AbsCap > 0) != (b.AbsCap > 0) {
		return a.AbsCap > 0
	}
	ua, ub := s.ratio(a, b)
	if parent.byPriority && a.priority != b.priority && (ua < 1) == (ub < 1) {
		return a.priority > b.priority
	}
	if ua != ub {
		return ua < ub
	}
	return a.tie < b.tie
}

// ratio is how much of their guarantees a and b use, or of the cluster when they have none.
func (s *Scheduler) ratio(a, b *queue) (ua, ub float32) {
	if a.AbsCap > 0 {
		return s.calc.Divide(s.cluster, a.used, a.base), s.calc.Divide(s.cluster, b.used, b.base)
	}
	return s.calc.Divide(s.cluster, a.used, s.cluster), s.calc.Divide(s.cluster, b.used, s.cluster)
}
