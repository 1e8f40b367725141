package capacity

import (
	"cmp"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/policy/capacity/queues"
	"github.com/yardmaster/yardmaster/policy/rank"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// queue is a node of the queue tree.
type queue struct {
	queues.Queue[*queue]
	urgency uint64    // dense rank of the priority among siblings, most urgent 0
	wants   int       // applications below that wait for a container, not yet activated ones included
	next    rank.Heap // parents: children with wants > 0, by index
	room    unit.Resources

	// Leaves.
	users   map[string]int32 // name -> slot in Order.users
	slots   []int32          // the same in order of first appearance
	ready   tree             // users with activated applications that wait for a container, by the best of them
	pending tree             // users with applications that wait for activation, by the first of them
}

func newQueue(common queues.Queue[*queue], _ *conf.Queue) *queue {
	return &queue{Queue: common, users: map[string]int32{}}
}

// recompute derives the shares of the whole tree, then what depends on them.
func (o *Order) recompute() { o.Recompute(o.rankSiblings, o.reset) }

// rankSiblings ranks the priorities of q's children, and updates their positions.
func (o *Order) rankSiblings(q *queue) {
	sorted := slices.Clone(q.Children)
	slices.SortStableFunc(sorted, func(x, y *queue) int { return -cmp.Compare(x.Priority, y.Priority) })
	for i, k := range sorted {
		k.urgency = 0
		if i > 0 {
			k.urgency = sorted[i-1].urgency
			if k.Priority != sorted[i-1].Priority {
				k.urgency++
			}
		}
	}
	for _, k := range q.Children {
		if k.wants > 0 {
			q.next.Set(k.Index, o.sortKey(k), k.Tie)
		}
	}
}

// sortKey encodes the order of queues in one number. Most significant first: queues with a guarantee before those
// without; under priority-utilization, those below their guarantee before those above it, then by priority; then by
// used ratio. A float64 holds the 51 bits exactly.
func (o *Order) sortKey(q *queue) float64 {
	var key uint64
	u := o.Calc.Divide(o.Cluster, q.Used, q.Base)
	if q.AbsCap <= 0 {
		key = 1 << 50
		u = o.Calc.Divide(o.Cluster, q.Used, o.Cluster)
	}
	if q.Parent.ByPriority {
		if u >= 1 {
			key |= 1 << 49
		}
		key |= q.urgency << 32
	}
	return float64(key | uint64(math.Float32bits(max(u, 0))))
}

// charge adds r (which may be negative) to the usage of q and everything above it.
func (o *Order) charge(q *queue, r unit.Resources) {
	for ; q != nil; q = q.Parent {
		q.Used = q.Used.Add(r)
		if q.wants > 0 && q.Parent != nil {
			q.Parent.next.Set(q.Index, o.sortKey(q), q.Tie)
		}
	}
}

// want counts one more (or one less) waiting application in q and everything above it.
func (o *Order) want(q *queue, n int) {
	for ; q != nil; q = q.Parent {
		was := q.wants > 0
		q.wants += n
		if is := q.wants > 0; is != was && q.Parent != nil {
			if is {
				q.Parent.next.Set(q.Index, o.sortKey(q), q.Tie)
			} else {
				q.Parent.next.Remove(q.Index)
			}
		}
	}
}
