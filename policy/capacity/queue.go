package capacity

import (
	"cmp"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/policy/rank"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// queue is a node of the queue tree. Settings stand first, then what follows from them and the cluster, then the state.
type queue struct {
	path, name string
	parent     *queue
	children   []*queue
	index      int32 // in parent.children

	capacity, maximum conf.QueueShare
	stopped           bool
	byPriority        bool // parents: priority-utilization
	priority          int

	absCap, absMax float32
	effMin, effMax unit.Resources
	base           unit.Resources // what the used ratio is measured against: max(effMin, minimum allocation)
	tie            int64          // place among siblings when used ratios are equal
	urgency        uint64         // dense rank of the priority among siblings, most urgent 0

	used  unit.Resources
	wants int       // applications below that wait for a container, not yet activated ones included
	next  rank.Heap // parents: children with wants > 0, by index
	room  unit.Resources

	*leaf // nil for parents
}

// recompute derives absolute capacities, effective minima and maxima of the whole tree, then what hangs on them. It runs
// when the cluster, a capacity or the set of queues changes, and activates applications in every leaf, as Hadoop does.
func (o *Order) recompute() {
	r := o.root
	r.absCap, r.absMax, r.effMin, r.effMax = 1, 1, o.cluster, o.cluster
	r.base = o.calc.max(o.cluster, r.effMin, o.minA)
	o.recomputeBelow(r, o.cluster)
}

func (o *Order) recomputeBelow(q *queue, lim unit.Resources) {
	if q.leaf != nil {
		o.resetLeaf(q, lim)
		return
	}
	var weights float32
	var sum unit.Resources
	for _, k := range q.children {
		if k.capacity.Kind == conf.Weight {
			weights += k.capacity.Value
		}
		sum = sum.Add(k.capacity.Room)
	}
	over := o.calc.compare(o.cluster, q.effMin, sum) < 0
	for _, k := range q.children {
		o.effective(q, k, weights, sum, over)
	}
	o.rankSiblings(q)
	lim = o.calc.min(o.cluster, lim, q.effMax)
	for _, k := range q.children {
		o.recomputeBelow(k, o.calc.down(lim.Sub(q.used).Add(k.used), o.minA))
	}
}

// effective sets a child's share of the cluster.
func (o *Order) effective(q, k *queue, weights float32, sum unit.Resources, over bool) {
	k.absMax = q.absMax
	if k.maximum.Kind == conf.Percent {
		k.absMax = float32(k.maximum.Value/100) * q.absMax
	}
	k.effMax = mulFloor(o.cluster, float64(k.absMax))
	switch k.capacity.Kind {
	case conf.Percent:
		k.absCap = float32(k.capacity.Value/100) * q.absCap
	case conf.Weight:
		k.absCap = 0
		if weights > 0 {
			k.absCap = float32(k.capacity.Value/weights) * q.absCap
		}
	}
	if k.capacity.Kind == conf.Absolute {
		k.effMin = k.capacity.Room
		if over { // siblings ask for more than there is: all shrink alike
			k.effMin.Mem = int64(float64(k.effMin.Mem) * float64(quotient(q.effMin.Mem, sum.Mem)))
			k.effMin.Cores = int64(float64(k.effMin.Cores) * float64(quotient(q.effMin.Cores, sum.Cores)))
		}
		k.absCap = o.calc.divide(o.cluster, k.effMin, o.cluster)
	} else {
		k.effMin = mulFloor(o.cluster, float64(k.absCap))
	}
	if k.maximum.Kind == conf.Absolute || k.capacity.Kind == conf.Absolute {
		k.effMax = q.effMax
		if k.maximum.Kind == conf.Absolute {
			k.effMax = unit.Resources{Mem: min(k.maximum.Room.Mem, q.effMax.Mem), Cores: min(k.maximum.Room.Cores, q.effMax.Cores)}
		}
		k.absMax = o.calc.divide(o.cluster, k.effMax, o.cluster)
	}
	k.base = o.calc.max(o.cluster, k.effMin, o.minA)
}

// rankSiblings settles what of the order of q's children does not depend on use: the tie-break (larger configured
// amount, else larger absolute capacity, else the order of the file) and the rank of their priorities.
func (o *Order) rankSiblings(q *queue) {
	sorted := slices.Clone(q.children)
	slices.SortStableFunc(sorted, func(x, y *queue) int {
		if x.capacity.Kind == conf.Absolute && y.capacity.Kind == conf.Absolute {
			return -cmp.Or(cmp.Compare(x.capacity.Room.Mem, y.capacity.Room.Mem), cmp.Compare(x.capacity.Room.Cores, y.capacity.Room.Cores))
		}
		return -cmp.Compare(x.absCap, y.absCap)
	})
	for i, k := range sorted {
		k.tie = int64(i)
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

// sortKey puts the order of queues into one number. From the most important: queues with a guarantee before those
// without; under priority-utilization, those below their guarantee before those above it, then by priority; then by
// used ratio. A float64 holds the 51 bits exactly.
func (o *Order) sortKey(q *queue) float64 {
	var key uint64
	u := o.calc.divide(o.cluster, q.used, q.base)
	if q.absCap <= 0 {
		key = 1 << 50
		u = o.calc.divide(o.cluster, q.used, o.cluster)
	}
	if q.parent.byPriority {
		if u >= 1 {
			key |= 1 << 49
		}
		key |= q.urgency << 32
	}
	return float64(key | uint64(math.Float32bits(max(u, 0))))
}

// charge adds r (or takes it back) to the use of q and everything above it.
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
