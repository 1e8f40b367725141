package fair

import (
	"cmp"
	"math"

	"github.com/yardmaster/yardmaster/unit"
)

// kind is a queue's scheduling policy: how its children are ordered and how resources are compared.
type kind uint8

const (
	fairKind kind = iota
	drfKind
	fifoKind
)

var kinds = map[string]kind{"fair": fairKind, "drf": drfKind, "fifo": fifoKind}

// standing is the sort key of queues in a queue, and of applications in a leaf.
type standing struct {
	name   string
	start  int64 // ms; 0 for queues
	weight float64
	min    unit.Resources // minimum share; none for applications
	demand unit.Resources // as of the last update
	used   unit.Resources
}

// compare says which of two goes first, as the policy's comparator does: negative means a.
func (k kind) compare(a, b *standing, total unit.Resources) int {
	res := 0
	switch k {
	case fairKind:
		res = compareFair(a, b)
	case drfKind:
		res = compareDominant(a, b, total)
	case fifoKind: // all have the same priority
	}
	if res == 0 {
		res = cmp.Compare(a.start, b.start)
	}
	if res == 0 {
		res = cmp.Compare(a.name, b.name)
	}
	return res
}

// compareFair looks at memory alone: without demand last; below min(minimum share, demand) first, by usage/that; then by
// usage/weight.
func compareFair(a, b *standing) int {
	if a.demand.Mem == 0 && b.demand.Mem > 0 {
		return 1
	}
	if b.demand.Mem == 0 && a.demand.Mem > 0 {
		return -1
	}
	minA, minB := min(a.min.Mem, a.demand.Mem), min(b.min.Mem, b.demand.Mem)
	needyA, needyB := a.used.Mem < minA, b.used.Mem < minB
	switch {
	case needyA && !needyB:
		return -1
	case needyB && !needyA:
		return 1
	case needyA && needyB:
		if res := sign(float64(a.used.Mem)/float64(minA) - float64(b.used.Mem)/float64(minB)); res != 0 {
			return res
		}
	}
	switch {
	case a.weight > 0 && b.weight > 0:
		return sign(float64(a.used.Mem)/a.weight - float64(b.used.Mem)/b.weight)
	case a.weight == b.weight:
		return cmp.Compare(a.used.Mem, b.used.Mem)
	}
	return sign(b.weight - a.weight)
}

// compareDominant looks at the larger of the shares of the cluster: below the minimum of that resource first, by
// usage/minimum; then by share/weight; then the same of the other resource.
func compareDominant(a, b *standing, total unit.Resources) int {
	x, y := a.dominant(total), b.dominant(total)
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
	if res := sign(x.share/a.weight - y.share/b.weight); res != 0 {
		return res
	}
	return sign(x.other/a.weight - y.other/b.weight)
}

type dominant struct {
	needy               bool
	share, other        float64 // of the cluster
	first, second       float64 // usage, dominant resource first
	minFirst, minSecond float64
}

func (s *standing) dominant(total unit.Resources) dominant {
	mem, cores := float64(s.used.Mem)/float64(total.Mem), float64(s.used.Cores)/float64(total.Cores)
	if cores > mem {
		return dominant{s.used.Cores < s.min.Cores, cores, mem, float64(s.used.Cores), float64(s.used.Mem),
			float64(s.min.Cores), float64(s.min.Mem)}
	}
	return dominant{s.used.Mem < s.min.Mem, mem, cores, float64(s.used.Mem), float64(s.used.Cores),
		float64(s.min.Mem), float64(s.min.Cores)}
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
func (k kind) below(x, y, total unit.Resources) bool {
	if k != drfKind {
		return x.Mem < y.Mem
	}
	return largest(x, total) < largest(y, total)
}

// atLeast says whether x is not less than y: memory, or the dominant share and then the other.
func (k kind) atLeast(x, y, total unit.Resources) bool {
	if k != drfKind {
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
