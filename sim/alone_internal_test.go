package sim

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// The time of a MapReduce job whose AM requests reduces while maps wait is computed as the engine plays it, and mostly it is computed.
func TestAloneIsComputedAsPlayed(t *testing.T) {
	drawn, computed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, low, high int64) int64 { return rapid.Int64Range(low, high).Draw(t, name) }
		c := cluster.Uniform(int(draw("nodes", 1, 8)), 1, unit.Resources{Mem: 512*draw("mem", 2, 12) + 100, Cores: draw("cores", 1, 6)})
		ask := unit.Resources{Mem: 512 * draw("ask", 1, 2), Cores: draw("vcores", 1, 2)}
		if c.Nodes[0].Room.Count(ask) == 0 {
			return
		}
		length := func(name string) workload.Lengths {
			return workload.Lengths{Kind: workload.Constant, A: unit.Time(draw(name, 0, 200)) * unit.Second}
		}
		job := &workload.Job{ID: "j", User: "u", Stages: []workload.Stage{
			{Kind: workload.Map, Tasks: draw("maps", 1, 400), Ask: ask, Length: length("map")},
			{Kind: workload.Reduce, Tasks: draw("reduces", 1, 100), Ask: ask, Length: length("reduce"), After: []workload.Edge{{SlowStart: float64(draw("slow-start", 1, 20)) / 20}}},
		}}
		if draw("AM", 0, 1) == 1 {
			job.AM = ask
		}
		a := NewAlone(c, Model{Application: rapid.SampledFrom(am.Names()).Draw(t, "model"), StartUp: unit.Time(draw("start-up", 0, 1)) * unit.Second}, 1)
		drawn++
		if got, ok := a.byWaves(job); ok {
			computed++
			if want := a.playAlone(job, 0); got != want {
				t.Fatalf("computed %v, played %v", got, want)
			}
		}
	})
	if 2*computed < drawn {
		t.Errorf("%d of %d jobs computed", computed, drawn)
	}
}
