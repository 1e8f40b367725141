package capacity

import (
	"cmp"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/policy/capacity/arith"
	"github.com/yardmaster/yardmaster/policy/rank"
	"github.com/yardmaster/yardmaster/unit"
)

// queue is a node of the queue tree: first settings, then what is derived from them and the cluster, then state.
type queue struct {
	path, name string
	parent     *queue
	children   []*queue
	index      int32 // in parent.children

	arith.Share // as configured
	stopped     bool
	byPriority  bool // parents: priority-utilization
	priority    int

	arith.Bounds
	base    unit.Resources // what the used ratio is measured against: max(effMin, minimum allocation)
	tie     int64          // position among siblings when used ratios are equal
	urgency uint64         // dense rank of the priority among siblings, most urgent 0

	used  unit.Resources
	wants int       // applications below that wait for a container, not yet activated ones included
	next  rank.Heap // parents: children with wants > 0, by index
	room  unit.Resources

	*leaf // nil for parents
}

// recompute derives absolute capacities, effective minima and maxima of the whole tree, then what depends on them. It runs
// when the cluster, a capacity or the set of queues changes, and activates applications in every leaf, as Hadoop does.
func (o *Order) recompute() {
	r := o.root
	r.Bounds = arith.Whole(o.cluster)
	r.base = o.calc.Max(o.cluster, r.EffMin, o.minA)
	o.recomputeBelow(r, o.cluster)
}

func (o *Order) recomputeBelow(q *queue, lim unit.Resources) {
	if q.leaf != nil {
		o.resetLeaf(q, lim)
		return
	}
	var s arith.Siblings
	for _, k := range q.children {
		s.Add(k.Share)
	}
	for _, k := range q.children {
		k.Bounds = o.calc.Below(o.cluster, q.Bounds, k.Share, &s)
		k.base = o.calc.Max(o.cluster, k.EffMin, o.minA)
	}
	o.rankSiblings(q)
	lim = o.calc.Min(o.cluster, lim, q.EffMax)
	for _, k := range q.children {
		o.recomputeBelow(k, o.calc.Down(lim.Sub(q.used).Add(k.used), o.minA))
	}
}

// rankSiblings computes the part of the order of q's children that does not depend on usage: the tie-break (larger configured
// amount, else larger absolute capacity, else the order of the file) and the rank of their priorities.
func (o *Order) rankSiblings(q *queue) {
	shares, bounds := make([]arith.Share, len(q.children)), make([]arith.Bounds, len(q.children))
	for i, k := range q.children {
		shares[i], bounds[i] = k.Share, k.Bounds
	}
	sorted := make([]*queue, len(q.children))
	for i, at := range arith.TieOrder(shares, bounds) {
		sorted[i] = q.children[at]
		sorted[i].tie = int64(i)
	}
	slices.SortStableFunc(sorted, func(x, y *queue) int { return -cmp.Compare(x.priority, y.priority) })
	for i, k := range sorted {
		k.urgency = 0
		if i > 0 {
			k.urgency = sorted[i-1].urgency
			if k.priority != sorted[i-1].priority {
				k.urgency++
			}
		}
	}
	for _, k := range q.children {
		if k.wants > 0 {
			q.next.Set(k.index, o.sortKey(k), k.tie)
		}
	}
}

// sortKey encodes the order of queues in one number. Most significant first: queues with a guarantee before those
// without; under priority-utilization, those below their guarantee before those above it, then by priority; then by
// used ratio. A float64 holds the 51 bits exactly.
func (o *Order) sortKey(q *queue) float64 {
	var key uint64
	u := o.calc.Divide(o.cluster, q.used, q.base)
	if q.AbsCap <= 0 {
		key = 1 << 50
		u = o.calc.Divide(o.cluster, q.used, o.cluster)
	}
	if q.parent.byPriority {
		if u >= 1 {
			key |= 1 << 49
		}
		key |= q.urgency << 32
	}
	return float64(key | uint64(math.Float32bits(max(u, 0))))
}

// charge adds r (which may be negative) to the usage of q and everything above it.
func (o *Order) charge(q *queue, r unit.Resources) {
	for ; q != nil; q = q.parent {
		q.used = q.used.Add(r)
		if q.wants > 0 && q.parent != nil {
			q.parent.next.Set(q.index, o.sortKey(q), q.tie)
		}
	}
}

// want counts one more (or one less) waiting application in q and everything above it.
func (o *Order) want(q *queue, n int) {
	for ; q != nil; q = q.parent {
		was := q.wants > 0
		q.wants += n
		if is := q.wants > 0; is != was && q.parent != nil {
			if is {
				q.parent.next.Set(q.index, o.sortKey(q), q.tie)
			} else {
				q.parent.next.Remove(q.index)
			}
		}
	}
}
