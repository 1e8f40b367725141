package sim

import (
	"context"
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// BenchmarkRun is the simulator's cost a task on a saturated cluster of 3,600 containers.
func BenchmarkRun(b *testing.B) {
	table := make([]unit.Time, 65)
	for k := range table {
		table[k] = unit.FromSeconds(-10 * math.Log(1-min(float64(k)/64, 0.999)))
	}
	for _, name := range all.Policies.Names() {
		if name == "delay" || name == "nas" || name == "shufflewatcher" { // they need heartbeats, and the latter two a network
			continue
		}
		b.Run(name, func(b *testing.B) {
			const jobs = 200
			var w workload.Slice
			for range jobs {
				w = append(w, &workload.Job{ID: "j", User: "u", Stages: []workload.Stage{{
					Tasks: int64(b.N/jobs + 1), Ask: cluster.Unit, Length: workload.Lengths{Kind: workload.Quantiles, Values: table},
				}}})
			}
			b.ResetTimer()
			_, err := Run(context.Background(), Config{
				Cluster: cluster.Uniform(600, 30, cluster.Unit.Times(6)), Source: w.Source(), Seed: 1, Sink: nowhere{}, NoAlone: true,
				NewPolicy: func() (policy.Policy, error) { return all.Policies.New(policy.Spec{Name: name}) },
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
