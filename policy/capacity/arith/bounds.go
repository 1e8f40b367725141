package arith

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Bounds is a queue's share of the cluster.
type Bounds struct {
	AbsCap, AbsMax float32
	EffMin, EffMax unit.Resources
	ownMax         unit.Resources // maximum-capacity as an amount; zero: not set, or not as an amount
}

// Whole is the root's share.
func Whole(cluster unit.Resources) Bounds {
	return Bounds{AbsCap: 1, AbsMax: 1, EffMin: cluster, EffMax: cluster}
}

// Share is a queue's configured share.
type Share struct{ Capacity, Maximum conf.QueueShare }

// Siblings is what the children of one queue have in common.
type Siblings struct {
	weights float32
	sum     unit.Resources
}

// Add counts one child in.
func (s *Siblings) Add(k Share) {
	if k.Capacity.Kind == conf.Weight {
		s.weights += k.Capacity.Value
	}
	s.sum = s.sum.Add(k.Capacity.Room)
}

// Below derives a child's share of the cluster from its parent's, after all children have been added to s.
func (c Calculator) Below(cluster unit.Resources, parent Bounds, k Share, s *Siblings) Bounds {
	var b Bounds
	b.AbsMax = parent.AbsMax
	if k.Maximum.Kind == conf.Percent {
		b.AbsMax = float32(k.Maximum.Value/100) * parent.AbsMax
	}
	b.EffMax = MulFloor(cluster, float64(b.AbsMax))
	switch k.Capacity.Kind {
	case conf.Percent:
		b.AbsCap = float32(k.Capacity.Value/100) * parent.AbsCap
	case conf.Weight:
		if s.weights > 0 {
			b.AbsCap = float32(k.Capacity.Value/s.weights) * parent.AbsCap
		}
	}
	if k.Capacity.Kind == conf.Absolute {
		b.EffMin = k.Capacity.Room
		if c.Compare(cluster, parent.EffMin, s.sum) < 0 {
			b.EffMin.Mem = int64(float32(b.EffMin.Mem) * Quotient(parent.EffMin.Mem, s.sum.Mem))
			b.EffMin.Cores = int64(float32(b.EffMin.Cores) * Quotient(parent.EffMin.Cores, s.sum.Cores))
		}
		b.AbsCap = c.Divide(cluster, b.EffMin, parent.EffMin) * parent.AbsCap
	} else {
		b.EffMin = MulFloor(cluster, float64(b.AbsCap))
	}
	if k.Maximum.Kind == conf.Absolute || k.Capacity.Kind == conf.Absolute {
		// The parent's amount counts as it is written, even where the cluster is smaller (AbstractCSQueue.updateEffectiveResources).
		b.EffMax = parent.EffMax
		if !parent.ownMax.IsZero() {
			b.EffMax = parent.ownMax
		}
		if k.Maximum.Kind == conf.Absolute && !k.Maximum.Room.IsZero() {
			b.ownMax = k.Maximum.Room
			b.EffMax = c.Min(cluster, b.ownMax, b.EffMax)
		}
		b.AbsMax = c.Divide(cluster, b.EffMax, parent.EffMax) * parent.AbsMax
	}
	return b
}

// TieOrder is the order of siblings whose used ratios are equal, as indices: the larger configured amount first, else the
// larger absolute capacity, else the order of the file.
func TieOrder(shares []Share, bounds []Bounds) []int {
	order := make([]int, len(shares))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		a, b := &shares[x].Capacity, &shares[y].Capacity
		if a.Kind == conf.Absolute && b.Kind == conf.Absolute {
			return -cmp.Or(cmp.Compare(a.Room.Mem, b.Room.Mem), cmp.Compare(a.Room.Cores, b.Room.Cores))
		}
		return -cmp.Compare(bounds[x].AbsCap, bounds[y].AbsCap)
	})
	return order
}
