package sim_test

import (
	"context"
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/swim"
)

// elapsed plays one job alone.
func elapsed(t *testing.T, c *cluster.Cluster, j *workload.Job, m sim.Model) float64 {
	t.Helper()
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: c, Source: workload.Slice{j}.Source(), Model: m, Seed: 1,
		NewPolicy: func() (policy.Policy, error) { return policy.Policy{Order: fifo.New()}, nil },
	})
	if err != nil || sum.Finished != 1 {
		t.Fatalf("%+v, %v", sum, err)
	}
	return sum.LastFinish.Seconds()
}

func job(tasks int64, length unit.Time) *workload.Job {
	return &workload.Job{ID: "j", User: "u", Queue: "q", Stages: []workload.Stage{{Tasks: tasks, Ask: cluster.Unit, Length: workload.Fixed(length)}}}
}

func TestSpeed(t *testing.T) {
	c := cluster.Uniform(2, 1, cluster.Unit)
	c.Nodes[1].Speed = &cluster.Speed{Small: 4}
	// 5 tasks of 8 s: the first node runs one, the second four, of 2 s each.
	if got := elapsed(t, c, job(5, 8*unit.Second), sim.Model{}); got != 8 {
		t.Errorf("plain tasks: %v", got)
	}
	for name, m := range map[string]sim.Model{
		"recorded tasks": {Losses: []sim.Loss{{At: unit.Hour, Node: "node1"}}},
		"heartbeats":     {Heartbeat: unit.Millisecond},
	} {
		if got := elapsed(t, c, job(5, 8*unit.Second), m); math.Abs(got-8) > 0.05 {
			t.Errorf("%s: %v", name, got)
		}
	}
	// All are stragglers of factor 3, on the faster machine too.
	if got := elapsed(t, c, job(5, 8*unit.Second), sim.Model{Stragglers: sim.Stragglers{Share: 1, Factor: 3}}); got != 24 {
		t.Errorf("stragglers: %v", got)
	}
	// A container's start-up does not depend on the machine.
	if got := elapsed(t, c, job(2, 8*unit.Second), sim.Model{StartUp: 3 * unit.Second}); got != 11 {
		t.Errorf("start-up: %v", got)
	}
	// The time alone is that of a run alone.
	if got := sim.NewAlone(c, sim.Model{}, 1).Of(job(5, 8*unit.Second), 0).Seconds(); got != 8 {
		t.Errorf("alone: %v", got)
	}
}

// HY-M1: one scale-up machine against five scale-out machines of the same price. Times cross at 32 GB for TeraSort and at 64 GB for WordCount;
// below, scale-up takes up to 70 % less time, above scale-out up to 35 % less.
func TestCrossPoints(t *testing.T) {
	out := cluster.Uniform(5, 1, cluster.Unit.Times(8))
	up := cluster.Uniform(1, 1, cluster.Unit.Times(24))
	up.Nodes[0].Speed = cluster.ScaleUpSpeed()
	m := swim.Default()
	for _, c := range []struct {
		name         string
		ratio, write float64
		cross        float64 // GiB
	}{{"TeraSort", 1, 1, 32}, {"WordCount", 1.6, 0.1, 64}} {
		most, least := 0.0, 0.0 // the largest gain of either
		var x, y []float64
		for gib := 0.5; gib <= 4096; gib *= math.Sqrt(math.Sqrt2) {
			input := unit.Bytes(gib * float64(unit.GiB))
			j := &workload.Job{ID: "j", User: "u", Queue: "q", Stages: m.Stages(input, unit.Bytes(c.ratio*float64(input)), unit.Bytes(c.write*float64(input)))}
			ratio := elapsed(t, up, j, sim.Model{}) / elapsed(t, out, j, sim.Model{})
			most, least = max(most, 1-ratio), max(least, 1-1/ratio)
			if gib > c.cross/5 && gib < c.cross*5 {
				x, y = append(x, math.Log2(gib)), append(y, math.Log2(ratio))
			}
		}
		cross := math.Exp2(root(x, y)) // of a line through the ratios: waves of tasks make them ragged
		t.Logf("%s: they cross at %.0f GiB; scale-up wins by up to %.0f %%, scale-out by up to %.0f %%", c.name, cross, 100*most, 100*least)
		if cross < c.cross/1.2 || cross > c.cross*1.2 || math.Abs(most-0.7) > 0.05 || math.Abs(least-0.35) > 0.05 {
			t.Errorf("%s: want %.0f GiB, 70 %% and 35 %%", c.name, c.cross)
		}
	}
}

// root is where the least-squares line through points is 0.
func root(x, y []float64) float64 {
	var n, sx, sy, sxx, sxy float64
	for i := range x {
		n, sx, sy, sxx, sxy = n+1, sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	slope := (n*sxy - sx*sy) / (n*sxx - sx*sx)
	return sx/n - sy/n/slope
}
