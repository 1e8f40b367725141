package flow_test

import (
	"math"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/sim/flow"
)

// durations runs so many flows at once between random nodes of 30 racks, then 70 new ones a second, which is about what the
// network carries, and gives how long each took.
func durations(eps float64, atOnce, later int) []float64 {
	r := newRacks(7, eps)
	start := make([]float64, atOnce+later+1)
	took := make([]float64, len(start))
	done := func(_ flow.ID, data uint64) { took[data] = r.n.Now() - start[data] }
	for range atOnce {
		r.one(600)
	}
	for range later {
		at := r.n.Now() - math.Log(1-r.rnd.Float64())/70
		r.n.Advance(at, done)
		start[r.started+1] = at
		r.one(600)
	}
	for at, ok := r.n.Next(); ok; at, ok = r.n.Next() {
		r.n.Advance(at, done)
	}
	return took[1:]
}

// How far the times flows take are from exact ones with a tolerance. The package comment quotes what this prints for 5,000 flows
// at once (with -v). Where a flow meets another that, exactly, is just gone, it may take any time: hence the shares beside the most.
func TestToleranceAgainstExact(t *testing.T) {
	atOnce, later := 1000, 1000
	if testing.Verbose() && !testing.Short() {
		atOnce, later = 5000, 7000
	}
	exact := durations(0, atOnce, later)
	for _, eps := range []float64{1e-4, 1e-3, 1e-2} {
		off := durations(eps, atOnce, later)
		mean := 0.0
		for i, took := range off {
			off[i] = math.Abs(took-exact[i]) / exact[i]
			mean += off[i] / float64(len(off))
		}
		slices.Sort(off)
		at := func(share float64) float64 { return off[int(share*float64(len(off)-1))] }
		t.Logf("tolerance %g: off by %.2g on average, 99 of 100 by at most %.2g, 999 of 1,000 by %.2g, all by %.2g",
			eps, mean, at(0.99), at(0.999), at(1))
		if mean > eps || at(0.99) > 2*eps {
			t.Errorf("tolerance %g: off by %.2g on average, 99 of 100 by at most %.2g", eps, mean, at(0.99))
		}
	}
}
