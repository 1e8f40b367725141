package capacity

import (
	"slices"

	"github.com/yardmaster/yardmaster/policy/capacity/queues"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// queue is a node of the tree.
type queue struct {
	queues.Queue[*queue]                // Used: containers and reservations
	noPreempt            bool           // disable_preemption, here or above
	reserved             unit.Resources // reservations alone
	pending              unit.Resources // requested below, by activated and waiting applications alike

	sorted []*queue // children in walk order; kept from walk to walk
	limits limits   // of the present walk
	*leaf
}

func newQueue(common queues.Queue[*queue], c *conf.Queue) *queue {
	q := &queue{Queue: common, noPreempt: c.DisablePreemption}
	if common.Leaf != nil {
		q.leaf = &leaf{users: map[string]*user{}}
	}
	return q
}

// charge adds r to the usage of q and all queues above it.
func (q *queue) charge(r unit.Resources) {
	for ; q != nil; q = q.Parent {
		q.Used = q.Used.Add(r)
	}
}

func (q *queue) reserve(r unit.Resources) {
	for ; q != nil; q = q.Parent {
		q.reserved = q.reserved.Add(r)
	}
}

// want adds r to the pending requests of q and all queues above it.
func (q *queue) want(r unit.Resources) {
	for ; q != nil; q = q.Parent {
		q.pending = q.pending.Add(r)
	}
}

// wants says whether anything is pending in q or below.
func (s *Scheduler) wants(q *queue) bool {
	return s.Calc.Compare(s.Cluster, q.pending, unit.Resources{}) > 0
}

// recompute derives every queue's part of the cluster, and activates waiting applications, as Hadoop does whenever a node
// joins or leaves or the configuration changes.
func (s *Scheduler) recompute() {
	s.Recompute(func(parent *queue) {
		if len(parent.sorted) < len(parent.Children) {
			parent.sorted = slices.Clone(parent.Children)
		}
	}, s.reset)
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
	if parent.ByPriority && a.Priority != b.Priority && (ua < 1) == (ub < 1) {
		return a.Priority > b.Priority
	}
	if ua != ub {
		return ua < ub
	}
	return a.Tie < b.Tie
}

// ratio is how much of their guarantees a and b use, or of the cluster when they have none.
func (s *Scheduler) ratio(a, b *queue) (ua, ub float32) {
	if a.AbsCap > 0 {
		return s.Calc.Divide(s.Cluster, a.Used, a.Base), s.Calc.Divide(s.Cluster, b.Used, b.Base)
	}
	return s.Calc.Divide(s.Cluster, a.Used, s.Cluster), s.Calc.Divide(s.Cluster, b.Used, s.Cluster)
}
