package yardstick

import (
	"math"
	"math/big"
	"slices"
)

// precision is in bits: enough for what rounding does to be far below what a float64 can show.
const precision = 200

func number(v float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(v) }
func zero() *big.Float            { return new(big.Float).SetPrec(precision) }

// Reference plays a list in the plainest way: at each event the rates of all flows are filled up from nothing, in numbers of 200
// bits. It is slow, and it is the judge where two others differ. It does not know Alive.
func Reference(l List) []float64 {
	r := reference{List: l, capacity: make([]*big.Float, len(l.Links)), now: zero(), ends: slices.Repeat([]float64{-1}, len(l.Flows))}
	for i, c := range l.Links {
		r.capacity[i] = number(c)
	}
	for r.step() {
	}
	return r.ends
}

type reference struct {
	List
	capacity      []*big.Float
	now           *big.Float
	begun, change int // flows that have started, changes that are made
	running       []*running
	ends          []float64
}

type running struct {
	flow       int
	left, rate *big.Float
	fixed      bool
}

// step goes to the next event; false when there is none.
func (r *reference) step() bool {
	r.fill()
	var next *big.Float
	sooner := func(at *big.Float) {
		if next == nil || at.Cmp(next) < 0 {
			next = at
		}
	}
	if r.begun < len(r.Flows) {
		sooner(number(r.Flows[r.begun].Start))
	}
	if r.change < len(r.Changes) {
		sooner(number(r.Changes[r.change].At))
	}
	for _, f := range r.running {
		sooner(zero().Add(r.now, zero().Quo(f.left, f.rate)))
	}
	if next == nil {
		return false
	}
	took := zero().Sub(next, r.now)
	r.now = next
	still := r.running[:0]
	for _, f := range r.running {
		f.left.Sub(f.left, zero().Mul(f.rate, took))
		if f.left.Cmp(number(float64(r.Flows[f.flow].Bytes)*math.Exp2(-precision/2))) <= 0 {
			r.ends[f.flow], _ = r.now.Float64()
			continue
		}
		still = append(still, f)
	}
	r.running = still
	for ; r.begun < len(r.Flows) && number(r.Flows[r.begun].Start).Cmp(r.now) <= 0; r.begun++ {
		r.running = append(r.running, &running{flow: r.begun, left: number(float64(r.Flows[r.begun].Bytes)), rate: zero()})
	}
	for ; r.change < len(r.Changes) && number(r.Changes[r.change].At).Cmp(r.now) <= 0; r.change++ {
		r.capacity[r.Changes[r.change].Link] = number(r.Changes[r.change].Capacity)
	}
	return true
}

// fill is progressive filling: all rates rise together until a link is full or a flow has its cap; those that are held stay,
// the others rise on.
func (r *reference) fill() {
	count, left := make([]int, len(r.Links)), make([]*big.Float, len(r.Links))
	for i, c := range r.capacity {
		left[i] = zero().Set(c)
	}
	path := func(f *running) []int32 { return r.Paths[r.Flows[f.flow].Path] }
	for _, f := range r.running {
		f.fixed = false
		for _, k := range path(f) {
			count[k]++
		}
	}
	for open := len(r.running); open > 0; {
		var level *big.Float // at which the next flow is held
		at := -1             // the link that holds it; -1: a cap
		for i, n := range count {
			if n == 0 {
				continue
			}
			if share := zero().Quo(left[i], number(float64(n))); level == nil || share.Cmp(level) < 0 {
				level, at = share, i
			}
		}
		for _, f := range r.running {
			if c := r.Flows[f.flow].Cap; !f.fixed && c > 0 && number(c).Cmp(level) < 0 {
				level, at = number(c), -1
			}
		}
		for _, f := range r.running {
			held := slices.Contains(path(f), int32(at))
			if c := r.Flows[f.flow].Cap; at < 0 {
				held = c > 0 && number(c).Cmp(level) == 0
			}
			if f.fixed || !held {
				continue
			}
			f.fixed, f.rate = true, level
			open--
			for _, k := range path(f) {
				count[k]--
				left[k].Sub(left[k], level)
			}
		}
	}
}
