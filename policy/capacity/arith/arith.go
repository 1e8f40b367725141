// Package arith is the arithmetic of YARN's CapacityScheduler: how resources are compared, scaled and rounded, a queue's
// share of the cluster, the limits of a user and of a leaf's AMs. The formulas are pure; Leaf and User hold their inputs.
package arith

import (
	"math"

	"github.com/yardmaster/yardmaster/unit"
)

// Calculator is the arithmetic that resources are compared and scaled with: yarn.scheduler.capacity.resource-calculator.
// All functions in this file are pure. Ratios are float32 and resources int64, as in Hadoop, because the last bit of a
// Ratio decides ties between queues and whether a limit is rounded up by one minimum allocation.
type Calculator uint8

const (
	// Default compares memory only (DefaultResourceCalculator). Its results have 1 vcore, or 0 without memory.
	Default Calculator = iota
	// Dominant compares the larger share of the cluster (DominantResourceCalculator).
	Dominant
)

func roundUp(v, step int64) int64 {
	if step <= 1 || v <= 0 {
		return v
	}
	return (v + step - 1) / step * step
}

func roundDown(v, step int64) int64 {
	if step <= 1 || v <= 0 {
		return v
	}
	return v / step * step
}

// memory is a result of the Default calculator.
func memory(mem int64) unit.Resources {
	if mem == 0 {
		return unit.Resources{}
	}
	return unit.Resources{Mem: mem, Cores: 1}
}

func share(v, total int64) float64 {
	if total <= 0 {
		return 0
	}
	return float64(v) / float64(total)
}

// Shares returns the larger and the smaller share of the cluster's memory and vcores; a larger share of a named resource takes the place of the first.
func Shares(r, cluster unit.Resources) (larger, smaller float64) {
	m, c := share(r.Mem, cluster.Mem), share(r.Cores, cluster.Cores)
	if m < c {
		m, c = c, m
	}
	if r.Extra != (unit.Extra{}) {
		m = max(m, r.Extra.DominantShare(cluster.Extra))
	}
	return m, c
}

// Compare is negative, zero or positive as a is less than, equal to or greater than b.
func (c Calculator) Compare(cluster, a, b unit.Resources) int {
	if c == Default {
		return order(a.Mem, b.Mem)
	}
	if a == b {
		return 0
	}
	a1, a2 := Shares(a, cluster)
	b1, b2 := Shares(b, cluster)
	if a1 != b1 {
		return order(a1, b1)
	}
	return order(a2, b2)
}

func order[T int64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (c Calculator) Max(cluster, a, b unit.Resources) unit.Resources {
	if c.Compare(cluster, a, b) >= 0 {
		return a
	}
	return b
}

func (c Calculator) Min(cluster, a, b unit.Resources) unit.Resources {
	if c.Compare(cluster, a, b) <= 0 {
		return a
	}
	return b
}

// Fits says whether a fits into room. Named resources have no limit but the nodes' own, which engines check.
func (c Calculator) Fits(a, room unit.Resources) bool {
	return a.Mem <= room.Mem && (c == Default || a.Cores <= room.Cores)
}

// Divide is a/b as a number: the used ratio of a queue, for example.
func (c Calculator) Divide(cluster, a, b unit.Resources) float32 {
	if c == Default {
		return Quotient(a.Mem, b.Mem)
	}
	a1, _ := Shares(a, cluster)
	b1, _ := Shares(b, cluster)
	if b1 == 0 {
		return 0
	}
	return float32(a1 / b1)
}

// Ratio is the largest ratio of a's components to b's.
func (c Calculator) Ratio(a, b unit.Resources) float32 {
	m := Quotient(a.Mem, b.Mem)
	if c == Default {
		return m
	}
	return max(m, Quotient(a.Cores, b.Cores))
}

func Quotient(a, b int64) float32 {
	if b == 0 {
		return 0
	}
	return float32(a) / float32(b)
}

// MulUp is r*x, rounded up to whole steps.
func (c Calculator) MulUp(r unit.Resources, x float64, step unit.Resources) unit.Resources {
	if c == Default {
		return memory(roundUp(int64(float64(r.Mem)*x+0.5), step.Mem))
	}
	up := func(v, s int64) int64 { return roundUp(int64(math.Ceil(float64(float32(float64(v)*x)))), s) }
	return unit.Resources{Mem: up(r.Mem, step.Mem), Cores: up(r.Cores, step.Cores)}
}

// MulDown is r*x, rounded down to whole steps.
func (c Calculator) MulDown(r unit.Resources, x float64, step unit.Resources) unit.Resources {
	if c == Default {
		return memory(roundDown(int64(float64(r.Mem)*x), step.Mem))
	}
	return unit.Resources{Mem: roundDown(int64(float64(r.Mem)*x), step.Mem), Cores: roundDown(int64(float64(r.Cores)*x), step.Cores)}
}

// MulFloor is r*x by component, truncated: the same for both calculators.
func MulFloor(r unit.Resources, x float64) unit.Resources {
	return unit.Resources{Mem: int64(float64(r.Mem) * x), Cores: int64(float64(r.Cores) * x)}
}

// DivCeil is r/n, rounded up; nothing when n is 0.
func (c Calculator) DivCeil(r unit.Resources, n float32) unit.Resources {
	if n == 0 {
		return unit.Resources{}
	}
	mem := int64(math.Ceil(float64(float32(r.Mem) / n)))
	if c == Default {
		return memory(mem)
	}
	return unit.Resources{Mem: mem, Cores: int64(math.Ceil(float64(float32(r.Cores) / n)))}
}

// PercentCeil is n hundredths, rounded up.
func (c Calculator) PercentCeil(n unit.Resources) unit.Resources {
	mem := (n.Mem + 99) / 100
	if c == Default {
		return memory(mem)
	}
	return unit.Resources{Mem: mem, Cores: (n.Cores + 99) / 100}
}

// Down rounds r down to whole steps, and clamps at 0.
func (c Calculator) Down(r, step unit.Resources) unit.Resources {
	mem := roundDown(max(r.Mem, 0), step.Mem)
	if c == Default {
		return memory(mem)
	}
	return unit.Resources{Mem: mem, Cores: roundDown(max(r.Cores, 0), step.Cores)}
}

// Up rounds r up to whole steps.
func (c Calculator) Up(r, step unit.Resources) unit.Resources {
	if c == Default {
		return memory(roundUp(r.Mem, step.Mem))
	}
	return unit.Resources{Mem: roundUp(r.Mem, step.Mem), Cores: roundUp(r.Cores, step.Cores)}
}

// Normalise rounds an ask as YARN does when it arrives: at least the minimum allocation, in whole steps of it, at most
// the maximum. Orders use asks as given; an engine that models YARN's rounding calls this first.
func (c Calculator) Normalise(ask, least, most unit.Resources) unit.Resources {
	if c == Default {
		return memory(min(roundUp(max(ask.Mem, least.Mem), least.Mem), most.Mem))
	}
	return unit.Resources{
		Mem:   min(roundUp(max(ask.Mem, least.Mem), least.Mem), most.Mem),
		Cores: min(roundUp(max(ask.Cores, least.Cores), least.Cores), most.Cores),
	}
}
