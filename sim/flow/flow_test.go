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
