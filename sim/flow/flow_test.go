package flow_test

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/sim/flow"
)

func near(a, b, tol float64) bool { return math.Abs(a-b) <= tol*max(1, math.Abs(a), math.Abs(b)) }

// The vector: links A 10 and B 4; one flow on each alone and one on both.
func TestThreeFlowsTwoLinks(t *testing.T) {
	n := flow.New()
	a, b := n.AddLink("A", 10), n.AddLink("B", 4)
	f1 := n.Start([]flow.Link{a}, 80, flow.Options{Data: 1})
	f2 := n.Start([]flow.Link{a, b}, 80, flow.Options{Data: 2})
	f3 := n.Start([]flow.Link{b}, 10, flow.Options{Data: 3})
	for i, want := range []float64{8, 2, 2} {
		if got := n.Rate([]flow.ID{f1, f2, f3}[i]); got != want {
			t.Errorf("flow %d goes at %v, want %v", i+1, got, want)
		}
	}
	// At 5 the third ends; then 6 and 4. The first has 40 left and ends at 5+40/6; the second has 70 left.
	type end struct{ at, data float64 }
	var got []end
	n.Advance(1000, func(_ flow.ID, data uint64) { got = append(got, end{n.Now(), float64(data)}) })
	first := 5 + 40/6.0
	want := []end{{5, 3}, {first, 1}, {first + (70-4*40/6.0)/4, 2}}
	for i := range want {
		if len(got) != 3 || got[i].data != want[i].data || !near(got[i].at, want[i].at, 1e-12) {
			t.Fatalf("ends %v, want %v", got, want)
		}
	}
	if n.Carried(a) != 160 || !near(n.Carried(b), 90, 1e-12) {
		t.Errorf("A carried %v, B %v", n.Carried(a), n.Carried(b))
	}
}

type finish struct {
	at   float64
	data uint64
}

func runOut(n *flow.Network) (got []finish) {
	n.Advance(1e9, func(_ flow.ID, data uint64) { got = append(got, finish{n.Now(), data}) })
	return got
}

func sameFinishes(t *testing.T, got, want []finish) {
	t.Helper()
	ok := len(got) == len(want)
	for i := range got {
		ok = ok && got[i].data == want[i].data && near(got[i].at, want[i].at, 1e-9)
	}
	if !ok {
		t.Fatalf("finishes %v, want %v", got, want)
	}
}

func TestFinishes(t *testing.T) {
	for name, c := range map[string]struct {
		start func(n *flow.Network, a, b flow.Link) // A carries 10 bytes/s, B 4
		want  []finish
	}{
		"alone": {func(n *flow.Network, a, _ flow.Link) { n.Start([]flow.Link{a}, 30, flow.Options{Data: 1}) }, []finish{{3, 1}}},
		"weights": {func(n *flow.Network, a, _ flow.Link) {
			n.Start([]flow.Link{a}, 60, flow.Options{Weight: 4, Data: 1})
			n.Start([]flow.Link{a}, 16, flow.Options{Data: 2})
		}, []finish{{7.5, 1}, {7.6, 2}}},
		"a limit of its own": {func(n *flow.Network, a, _ flow.Link) {
			n.Start([]flow.Link{a}, 2, flow.Options{Cap: 0.5, Data: 1})
			n.Start([]flow.Link{a}, 39, flow.Options{Data: 2})
		}, []finish{{4, 1}, {4.1, 2}}},
		"ties go by start": {func(n *flow.Network, a, b flow.Link) {
			n.Start([]flow.Link{b}, 8, flow.Options{Data: 1})
			n.Start([]flow.Link{a}, 20, flow.Options{Data: 2})
			n.Start(nil, 6, flow.Options{Cap: 3, Data: 3})
		}, []finish{{2, 1}, {2, 2}, {2, 3}}},
		"ties on a link, too": {func(n *flow.Network, a, _ flow.Link) {
			for i := range 4 {
				n.Start([]flow.Link{a}, 5, flow.Options{Data: uint64(i)})
			}
		}, []finish{{2, 0}, {2, 1}, {2, 2}, {2, 3}}},
		"a link that was never full becomes the narrowest": {func(n *flow.Network, a, b flow.Link) {
			n.Start([]flow.Link{a, b}, 12, flow.Options{Data: 1})
			n.Advance(1, nil)
			n.SetCapacity(a, 2)
		}, []finish{{5, 1}}},
		"no path": {func(n *flow.Network, _, _ flow.Link) {
			n.Start(nil, 1e12, flow.Options{Data: 1})
			n.Start(nil, 6, flow.Options{Cap: 3, Data: 2})
		}, []finish{{0, 1}, {2, 2}}},
		"nothing to carry": {func(n *flow.Network, a, _ flow.Link) {
			n.SetCapacity(a, 0)
			n.Start([]flow.Link{a}, 0, flow.Options{Data: 1})
		}, []finish{{0, 1}}},
		"more to carry": {func(n *flow.Network, a, _ flow.Link) {
			id := n.Start([]flow.Link{a}, 0, flow.Options{Data: 1})
			n.Add(id, 10)
			n.Start([]flow.Link{a}, 10, flow.Options{Data: 2})
			n.Advance(1, nil)
			n.Add(id, 15)
		}, []finish{{2, 2}, {3.5, 1}}},
		"a cable pulled and put back": {func(n *flow.Network, a, _ flow.Link) {
			n.Start([]flow.Link{a}, 30, flow.Options{Data: 1})
			n.Advance(1, nil)
			n.SetCapacity(a, 0)
			if at, ok := n.Next(); ok {
				t.Errorf("a flow over a dead link finishes at %v", at)
			}
			n.Advance(5, nil)
			n.SetCapacity(a, 5)
		}, []finish{{9, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			n := flow.New()
			a, b := n.AddLink("A", 10), n.AddLink("B", 4)
			c.start(n, a, b)
			sameFinishes(t, runOut(n), c.want)
			if n.Flows() != 0 {
				t.Errorf("%d flows under way", n.Flows())
			}
		})
	}
}

// What flows leave behind is used again: memory grows with the paths in use, not with those ever used.
func TestNumbersAreReused(t *testing.T) {
	n := flow.New()
	for range 100 {
		n.Start([]flow.Link{n.AddLink("", 10)}, 10, flow.Options{})
		n.Advance(n.Now()+2, nil)
	}
	if n.Classes() > 2 || n.Bundles() > 2 {
		t.Errorf("%d classes and %d bundles for one flow at a time", n.Classes(), n.Bundles())
	}
}

// What hears of a finish may start, stop and lengthen flows, those that finish at the same instant included.
func TestChangesDuringFinish(t *testing.T) {
	n := flow.New()
	a := n.AddLink("A", 12)
	path := []flow.Link{a}
	var ids [5]flow.ID
	for i := range ids[:4] {
		ids[i] = n.Start(path, 6, flow.Options{Data: uint64(i)})
	}
	var got []finish
	n.Advance(100, func(_ flow.ID, data uint64) {
		got = append(got, finish{n.Now(), data})
		if data != 0 {
			return
		}
		if left := n.Stop(ids[1]); left != 0 {
			t.Errorf("a flow that has just finished has %v left", left)
		}
		n.Add(ids[2], 12)
		ids[4] = n.Start(path, 6, flow.Options{Data: 4})
		if r := n.Rate(ids[4]); r != 6 {
			t.Errorf("the new flow goes at %v beside the one that was lengthened", r)
		}
		if at, ok := n.Next(); !ok || at != 2 {
			t.Errorf("next finish at %v, %v: one more is due now", at, ok)
		}
	})
	sameFinishes(t, got, []finish{{2, 0}, {2, 3}, {3, 4}, {3.5, 2}})
}

func TestCounters(t *testing.T) {
	n := flow.New()
	n.Threshold(0.9)
	a, b := n.AddLink("A", 10), n.AddLink("B", 100)
	ab := []flow.Link{a, b}
	n.Start(ab, 50, flow.Options{})           // A full from 0 to 5
	n.Start(ab[1:], 40, flow.Options{Cap: 2}) // B at 2 from 0 to 20
	n.Advance(8, nil)
	if n.Carried(a) != 50 || n.Carried(b) != 66 || n.Load(a) != 0 || n.Load(b) != 2 {
		t.Errorf("A carried %v and carries %v, B %v and %v", n.Carried(a), n.Load(a), n.Carried(b), n.Load(b))
	}
	n.Advance(13, nil)
	n.Start(ab, 100, flow.Options{Cap: 9.5}) // above the threshold again, until capacity doubles
	n.Advance(15, nil)
	n.SetCapacity(a, 20)
	n.Advance(16, nil)
	n.SetCapacity(a, 10)
	n.Advance(35, nil)
	if n.Crossings(a) != 3 || n.Crossings(b) != 0 {
		t.Errorf("A was congested %d times, B %d", n.Crossings(a), n.Crossings(b))
	}
	n.Advance(95, nil)
	if !near(n.Carried(a), 150, 1e-12) || !near(n.Carried(b), 190, 1e-12) {
		t.Errorf("A carried %v, B %v", n.Carried(a), n.Carried(b))
	}
}

func TestRefuses(t *testing.T) {
	for name, f := range map[string]func(n *flow.Network, a flow.Link){
		"a path twice over a link": func(n *flow.Network, a flow.Link) { n.Start([]flow.Link{a, a}, 1, flow.Options{}) },
		"bytes below 0":            func(n *flow.Network, a flow.Link) { n.Start([]flow.Link{a}, -1, flow.Options{}) },
		"bytes that are no number": func(n *flow.Network, a flow.Link) { n.Start([]flow.Link{a}, math.NaN(), flow.Options{}) },
		"a weight below 0":         func(n *flow.Network, a flow.Link) { n.Start([]flow.Link{a}, 1, flow.Options{Weight: -1}) },
		"an endless capacity":      func(n *flow.Network, a flow.Link) { n.SetCapacity(a, math.Inf(1)) },
		"going back":               func(n *flow.Network, _ flow.Link) { n.Advance(2, nil); n.Advance(1, nil) },
		"a flow that is gone":      func(n *flow.Network, a flow.Link) { n.Stop(n.Start([]flow.Link{a}, 1, flow.Options{})); n.Left(0) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("taken")
				}
			}()
			n := flow.New()
			f(n, n.AddLink("A", 1))
		})
	}
}
