package fair

import (
	"cmp"
	"math"

	"github.com/yardmaster/yardmaster/policy/fair/queues"
	"github.com/yardmaster/yardmaster/unit"
)

// compare says which of two goes first, as the policy's comparator does: negative means a.
func compare(k queues.Kind, a, b *queues.Standing, total unit.Resources) int {
	res := 0
	switch k {
	case queues.Fair:
		res = compareFair(a, b)
	case queues.DRF:
		res = compareDominant(a, b, total)
	case queues.FIFO: // all have the same priority
	}
	if res == 0 {
		res = cmp.Compare(a.Start, b.Start)
	}
	if res == 0 {
		res = cmp.Compare(a.Name, b.Name)
	}
	return res
}

// compareFair looks at memory alone: without demand last; below min(minimum share, demand) first, by usage/that; then by
// usage/weight.
func compareFair(a, b *queues.Standing) int {
	if a.Demand.Mem == 0 && b.Demand.Mem > 0 {
		return 1
	}
	if b.Demand.Mem == 0 && a.Demand.Mem > 0 {
		return -1
	}
	minA, minB := min(a.Min.Mem, a.Demand.Mem), min(b.Min.Mem, b.Demand.Mem)
	needyA, needyB := a.Used.Mem < minA, b.Used.Mem < minB
	switch {
	case needyA && !needyB:
		return -1
	case needyB && !needyA:
		return 1
	case needyA && needyB:
		if res := sign(float64(a.Used.Mem)/float64(minA) - float64(b.Used.Mem)/float64(minB)); res != 0 {
			return res
		}
	}
	switch {
	case a.Weight > 0 && b.Weight > 0:
		return sign(float64(a.Used.Mem)/a.Weight - float64(b.Used.Mem)/b.Weight)
	case a.Weight == b.Weight:
		return cmp.Compare(a.Used.Mem, b.Used.Mem)
	}
	return sign(b.Weight - a.Weight)
}

// compareDominant looks at the larger of the shares of the cluster: below the minimum of that resource first, by
// usage/minimum; then by share/weight; then the same of the other resource.
func compareDominant(a, b *queues.Standing, total unit.Resources) int {
	x, y := dominantOf(a, total), dominantOf(b, total)
	switch {
	case x.needy && !y.needy:
		return -1
	case y.needy && !x.needy:
		return 1
	case x.needy && y.needy:
		if res := sign(x.first/x.minFirst - y.first/y.minFirst); res != 0 {
			return res
		}
		return sign(x.second/x.minSecond - y.second/y.minSecond)
	}
	if res := sign(x.share/a.Weight - y.share/b.Weight); res != 0 {
		return res
	}
	return sign(x.other/a.Weight - y.other/b.Weight)
}

type dominant struct {
	needy               bool
	share, other        float64 // of the cluster
	first, second       float64 // usage, dominant resource first
	minFirst, minSecond float64
}

func dominantOf(s *queues.Standing, total unit.Resources) dominant {
	mem, cores := float64(s.Used.Mem)/float64(total.Mem), float64(s.Used.Cores)/float64(total.Cores)
	if cores > mem {
		return dominant{s.Used.Cores < s.Min.Cores, cores, mem, float64(s.Used.Cores), float64(s.Used.Mem),
			float64(s.Min.Cores), float64(s.Min.Mem)}
	}
	return dominant{s.Used.Mem < s.Min.Mem, mem, cores, float64(s.Used.Mem), float64(s.Used.Cores),
		float64(s.Min.Mem), float64(s.Min.Cores)}
}

// sign is 0 for what is not a number, as a cast from signum is in Java: 0/0 equals everything.
func sign(v float64) int {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

// below says whether x is less than y by the policy's measure: memory, or the dominant share alone.
func below(k queues.Kind, x, y, total unit.Resources) bool {
	if k != queues.DRF {
		return x.Mem < y.Mem
	}
	return largest(x, total) < largest(y, total)
}

// atLeast says whether x is not less than y: memory, or the dominant share and then the other.
func atLeast(k queues.Kind, x, y, total unit.Resources) bool {
	if k != queues.DRF {
		return x.Mem >= y.Mem
	}
	if x == y {
		return true
	}
	a, b := largest(x, total), largest(y, total)
	return a > b || a == b && smallest(x, total) >= smallest(y, total)
}

func largest(r, total unit.Resources) float64 {
	return max(part(r.Mem, total.Mem), part(r.Cores, total.Cores))
}

func smallest(r, total unit.Resources) float64 {
	return min(part(r.Mem, total.Mem), part(r.Cores, total.Cores))
}

func part(v, total int64) float64 {
	if total == 0 {
		return 0
	}
	return float64(v) / float64(total)
}

// less is a minus b, clamped at 0.
func less(a, b unit.Resources) unit.Resources { return a.Sub(b).Max(unit.Resources{}) }

// times multiplies and truncates; up rounds up.
func times(r unit.Resources, by float64) unit.Resources {
	return unit.Resources{Mem: int64(float64(r.Mem) * by), Cores: int64(float64(r.Cores) * by)}
}

func up(r unit.Resources, by float64) unit.Resources {
	return unit.Resources{Mem: int64(math.Ceil(float64(r.Mem) * by)), Cores: int64(math.Ceil(float64(r.Cores) * by))}
}
