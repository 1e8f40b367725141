package yardstick

import (
	"math"

	"github.com/yardmaster/yardmaster/workload"
)

// dice are random numbers that are the same for ever: a list is known by its seed.
type dice struct{ seed, thrown uint64 }

func (d *dice) unit() float64 {
	d.thrown++
	return workload.Uniform01(d.seed, d.thrown)
}

func (d *dice) below(n int) int               { return int(d.unit() * float64(n)) }
func (d *dice) between(lo, hi int) int        { return lo + d.below(hi-lo+1) }
func (d *dice) chance(p float64) bool         { return d.unit() < p }
func (d *dice) exponential(m float64) float64 { return -m * math.Log1p(-d.unit()) }

// micro rounds a time to microseconds, which is what the simulator's clock knows.
func micro(s float64) float64 { return math.Round(s*1e6) / 1e6 }
