package marp

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/studies/live"
)

// The cycles are those of the records in docs/studies.
func TestCyclesAreMeasured(t *testing.T) {
	_, all, err := live.ReadCycles("../../../docs/studies/cycles")
	if err != nil {
		t.Fatal(err)
	}
	costs, err := all.Costs()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range benches() {
		m, c := costs[b.Name], &b.cycles
		for what, v := range map[string][2]float64{
			"process": {c.process, m.MapStart}, "map": {c.mapByte, m.Map}, "reduce": {c.reduceByte, m.Reduce}, "reduce's start": {c.reduceStart, max(0, m.ReduceStart-m.MapStart)},
		} {
			if math.Abs(v[0]-v[1]) > 0.005*v[1] {
				t.Errorf("%s, %s: %v cycles, measured were %v", b.Name, what, v[0], v[1])
			}
		}
	}
	wc := costs["WordCount"]
	if math.Abs(wordCountPasses/wc.Passed-1) > 0.005 || math.Abs(wordCountWrites/wc.Written-1) > 0.005 {
		t.Errorf("WordCount grows by %v and %v, measured were %v and %v", wordCountPasses, wordCountWrites, wc.Passed, wc.Written)
	}
}
