package transfer_test

import (
	"context"
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/plan"
	"github.com/yardmaster/yardmaster/policy/planned"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/sim/transfer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// One job with its maps in one rack and its reduces in another, worked out by hand. A circuit has 1 GB/s, an uplink 1/8 GB/s, and an elephant is more
// than 1 GB. The switch is configured every second, and takes 10 ms.
func TestCircuits(t *testing.T) {
	const gb = 1_000_000_000
	for _, x := range []struct {
		name          string
		cluster       string
		maps, reduces int64
		shuffle       unit.Bytes
		slowStart     float64
		gather        bool
		want          float64 // s
		optical       float64 // bytes
	}{
		// One flow of 2 GB, from the instant at which the maps end.
		{"an elephant", "2x10/2", 10, 1, 2 * gb, 1, false, 10 + 0.01 + 2 + 5, 2 * gb},
		// Four flows of 0.5 GB share the uplink.
		{"mice", "2x10/2", 10, 4, 2 * gb, 1, false, 10 + 16 + 5, 0},
		// The same four gather. Three are enough for 1.5 GB; the rest is not.
		{"mice that gather", "2x10/2", 10, 4, 2 * gb, 1, true, 10 + 4 + 5, 1.5 * gb},
		{"too small together", "2x10/2", 10, 4, 0.8 * gb, 1, true, 10 + 6.4 + 5, 0},
		{"just the threshold", "2x10/2", 10, 4, gb, 1, true, 10 + 8 + 5, 0},
		// Two of four reduces hold all containers: after 5 s they no longer wait for the others. These find all readers there.
		{"readers that cannot start", "2x2/2", 2, 4, 0.8 * gb, 1, true, 10 + 5 + 3.2 + 5 + 3.2 + 5, 0},
		// Maps in two waves. By 10 s three readers are enough for 1.5 GB; by 20 s the fourth reader's 0.5 GB and the output of further maps, 0.4 GB each, are
		// enough for 1.3 GB, then for 1.2 GB.
		{"two waves", "2x5/2", 10, 4, 4 * gb, 0.5, true, 20 + 2.5 + 5, 4 * gb},
		// As before, but the last 0.8 GB are not enough by themselves.
		{"the rest", "2x5/2", 10, 2, 4 * gb, 0.5, true, 20 + 6.4 + 5, 3.2 * gb},
		// Without gathering, each of two readers has a flow of 1.2 GB when it starts. What it fetches later begins with the output of one map: a mouse.
		{"one elephant, then mice", "2x5/2", 10, 2, 4.8 * gb, 0.5, false, 20 + 19.2 + 5, 2.4 * gb},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := on(t, x.cluster, "racks:node=800Gbit,uplink=1Gbit,circuit=8Gbit,elephant=1000000000B")
			j := mapReduce(x.maps, x.reduces, 0, x.shuffle)
			j.Stages[1].After[0].SlowStart = x.slowStart
			p := &plan.Plan{Aggregate: x.gather, AdHoc: plan.AdHoc{HeavyInput: 1}, Jobs: []plan.Placed{{ID: "a", Heavy: true, Maps: x.maps, Reduces: x.reduces}},
				Racks: []plan.Sequence{{Run: []plan.Entry{{Job: "a", Stage: plan.MapStage, Count: x.maps}}}, {Run: []plan.Entry{{Job: "a", Stage: plan.ReduceStage, Count: x.reduces}}}}}
			sum, err := sim.Run(context.Background(), sim.Config{
				Cluster: c, Source: workload.Slice{j}.Source(), Seed: 1, NoAlone: true, Worker: transfer.New(transfer.Options{Tolerance: -1}),
				Model: sim.Model{Application: am.MapsFirst}, NewPolicy: func() (policy.Policy, error) { return planned.New(p), nil },
			})
			if err != nil || sum.Finished != 1 {
				t.Fatalf("%v, %d finished", err, sum.Finished)
			}
			tr := sum.Traffic
			if got := sum.LastFinish.Seconds(); math.Abs(got-x.want) > 2e-5 || math.Abs(tr.Optical-x.optical) > 10 {
				t.Errorf("%v s, %v bytes over circuits; want %v, %v", got, tr.Optical, x.want, x.optical)
			}
			if math.Abs(tr.CrossRack-float64(x.shuffle)) > 10 || math.Abs(tr.Shuffled-float64(x.shuffle)) > 10 {
				t.Errorf("%v bytes left their rack, %v shuffled", tr.CrossRack, tr.Shuffled)
			}
			carried := 0.0
			for _, l := range tr.Links {
				if l.Name == "circuit 0>1" {
					carried += l.Bytes
				}
			}
			if math.Abs(carried-x.optical) > 10 {
				t.Errorf("the circuit carried %v", carried)
			}
		})
	}
}

// A packet network in which readers fetch from each rack separately moves the same bytes as one with fewer, sampled connections.
func TestRackFlows(t *testing.T) {
	c := on(t, "40x4/4", "racks:node=80Mbit,uplink=80Mbit")
	var took []float64
	for _, o := range []transfer.Options{{}, {Racks: true}} {
		_, sum := play(t, c, sim.Model{}, "fair", transfer.New(o), mapReduce(120, 40, 0, 400e6))
		if tr := sum.Traffic; sum.Finished != 1 || math.Abs(tr.Shuffled-400e6) > 100 || math.Abs(tr.CrossRack-300e6) > 30e6 || tr.Optical != 0 {
			t.Errorf("%+v: %v shuffled, %v between racks", o, tr.Shuffled, tr.CrossRack)
		}
		took = append(took, sum.LastFinish.Seconds())
	}
	if math.Abs(took[0]-took[1]) > 0.15*took[0] {
		t.Errorf("it takes %v", took)
	}
}
