package yardstick

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/workload"
)

// Small is a small network drawn from a seed, meant to have what large ones have seldom: flows that start at the same instant,
// equal sizes and capacities, caps, links that lose capacity, flows that share several links, flows with the network to
// themselves.
func Small(seed uint64) List {
	d := dice{seed: seed}
	n := net{List: List{Name: fmt.Sprintf("small-%d", seed)}}
	even := d.chance(0.5) // few sizes and capacities, so that much is equal
	amount := func(least, most float64) float64 {
		if even {
			return least * float64(int(1)<<d.below(4))
		}
		return math.Round(least * math.Pow(most/least, d.unit()))
	}
	for range d.between(1, 10) {
		n.link(amount(5e6, 1e8))
	}
	for range d.between(1, 12) {
		var links []int32
		for l := range n.Links {
			if d.chance(0.35) {
				links = append(links, int32(l))
			}
		}
		if len(links) == 0 {
			links = []int32{int32(d.below(len(n.Links)))}
		}
		n.path(links...)
	}
	now, caps := 0.0, d.chance(0.4)
	for range d.between(2, 40) {
		if !d.chance(0.4) {
			now = micro(now + d.exponential(0.5))
		}
		f := Flow{Start: now, Path: int32(d.below(len(n.Paths))), Bytes: uint64(amount(1e6, 2e8))}
		if caps && d.chance(0.5) {
			f.Cap = amount(1e6, 5e7)
		}
		n.Flows = append(n.Flows, f)
	}
	if d.chance(0.3) {
		left := append([]float64(nil), n.Links...)
		for range d.between(1, 5) {
			l := d.below(len(left))
			left[l] = math.Round(left[l] * (0.3 + 0.7*d.unit()))
			n.Changes = append(n.Changes, Change{At: micro(now * 1.2 * float64(len(n.Changes)+1) / 5), Link: int32(l), Capacity: left[l]})
		}
	}
	return n.sorted()
}

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

// other is below n and not the given one.
func (d *dice) other(than, n int) int {
	i := d.below(n - 1)
	if i >= than {
		i++
	}
	return i
}

// micro rounds a time to microseconds, which is what the simulator's clock knows.
func micro(s float64) float64 { return math.Round(s*1e6) / 1e6 }
