package flow_test

import (
	"math"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/sim/flow"
)

// traffic is random flows on 6 racks of 5 nodes, with all that is known of them.
type traffic struct {
	*racks
	alive map[uint64]*trip
	sums  []float64 // bytes that flows which are gone carried over each link
}

type trip struct {
	plain
	id    flow.ID
	bytes float64
}

func (w *traffic) one() {
	a, b := w.rnd.IntN(30), w.rnd.IntN(29)
	if b >= a {
		b++
	}
	w.started++
	path := slices.Clone(w.route(a, b))
	p := &trip{plain: plain{path, 1, math.Inf(1)}, bytes: 1e6 * (1 + 99*w.rnd.Float64())}
	p.id = w.n.Start(path, p.bytes, flow.Options{Data: uint64(w.started)})
	w.alive[uint64(w.started)] = p
}

// check holds rates against progressive filling and the links' bytes against those of the flows.
func (w *traffic) check(t *testing.T) {
	capacity := make([]float64, w.n.Links())
	sums := slices.Clone(w.sums)
	for l := range capacity {
		capacity[l] = w.n.Capacity(flow.Link(l))
	}
	var flows []plain
	var ids []flow.ID
	for _, p := range w.alive {
		flows, ids = append(flows, p.plain), append(ids, p.id)
		for _, l := range p.path {
			sums[l] += p.bytes - w.n.Left(p.id)
		}
	}
	for i, want := range waterFill(capacity, flows) {
		if got := w.n.Rate(ids[i]); math.Abs(got-want) > 1e-9*want {
			t.Fatalf("at %v a flow goes at %v, want %v", w.n.Now(), got, want)
		}
	}
	for l, want := range sums {
		if got := w.n.Carried(flow.Link(l)); math.Abs(got-want) > 1e-9*want {
			t.Fatalf("at %v link %d carried %v, its flows %v", w.n.Now(), l, got, want)
		}
	}
}

// Rates and bytes while thousands of flows come and go on a network most of whose links are loose most of the time.
func TestRacksAgainstReference(t *testing.T) {
	for _, alive := range []int{10, 60, 250} {
		w := &traffic{racks: racksOf(6, 5, uint64(alive), 0), alive: map[uint64]*trip{}}
		w.sums = make([]float64, w.n.Links())
		w.n.LoosenAfter(10)
		for range alive {
			w.one()
		}
		for event := range 6000 {
			if event%400 == 0 {
				w.check(t)
			}
			at, _ := w.n.Next()
			w.n.Advance(at, func(_ flow.ID, key uint64) {
				for _, l := range w.alive[key].path {
					w.sums[l] += w.alive[key].bytes
				}
				delete(w.alive, key)
				if event%100 < 50 || len(w.alive) < alive/2 { // now and then fewer than at other times
					for len(w.alive) < alive {
						w.one()
					}
				}
			})
		}
		w.check(t)
	}
}
