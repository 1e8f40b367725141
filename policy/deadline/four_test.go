package deadline_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/deadline"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

type ends map[string]unit.Time

func (e ends) Job(r *sim.JobRecord) { e[r.Job.ID] = r.Finish }
func (ends) Sample(*sim.Sample)     {}

// fourJobs are the paper's, as lists of lengths: a long irregular one, a regular one and two short ones, on 60 map and 60 reduce slots.
func fourJobs(seed uint64, joinGoal unit.Time) workload.Slice {
	r := rand.New(rand.NewPCG(seed, 4))
	lognormal := func(mean, sigma float64) float64 { return mean * math.Exp(sigma*r.NormFloat64()-sigma*sigma/2) }
	job := func(id string, at, goal unit.Time, maps int, reduce float64, length func(i int) float64) *workload.Job {
		list := make([]unit.Time, maps)
		for i := range list {
			list[i] = unit.FromSeconds(length(i))
		}
		ask := unit.Resources{Mem: 1024, Cores: 1}
		return &workload.Job{ID: id, Submit: at, Deadline: at + goal, Stages: []workload.Stage{
			{Kind: workload.Map, Tasks: int64(maps), Ask: ask, Length: workload.Lengths{Kind: workload.List, Values: list}},
			{Kind: workload.Reduce, Tasks: 1, Ask: ask, Length: workload.Fixed(unit.FromSeconds(reduce)), After: []workload.Edge{{SlowStart: 0.05}}},
		}}
	}
	phases := []float64{18.5, 25, 33, 54}
	join := func(int) float64 { return min(25, lognormal(5.45, 0.8)) }
	return workload.Slice{
		job("J1", 0, 6000*unit.Second, 6400, 10, func(i int) float64 { m := phases[i/1600]; return min(4*m, lognormal(m, 0.5)) }),
		job("J2", 1000*unit.Second, 3000*unit.Second, 738, 30, func(i int) float64 {
			if i < 60 {
				return 110 + 20*r.Float64()
			}
			return 80 + 22*r.Float64()
		}),
		job("J3", 2000*unit.Second, joinGoal, 1000, 3, join),
		job("J4", 3000*unit.Second, joinGoal, 1000, 3, join),
	}
}

// The long job meets its goal in max mode and misses it in min mode, which believed an early estimate.
func TestFourJobs(t *testing.T) {
	c, err := cluster.Parse("60x1+1/3")
	if err != nil {
		t.Fatal(err)
	}
	run := func(seed uint64, goal unit.Time, minMode bool) ends {
		s := deadline.Defaults()
		s.Min = minMode
		e := ends{}
		sum, err := sim.Run(context.Background(), sim.Config{Cluster: c, Source: fourJobs(seed, goal).Source(), Seed: seed, Sink: e, NoAlone: true,
			NewPolicy: func() (policy.Policy, error) {
				o := deadline.New(s)
				return policy.Policy{Order: o, Timer: o}, nil
			}})
		if err != nil || sum.Finished != 4 {
			t.Fatal(sum, err)
		}
		return e
	}
	for seed := range uint64(5) {
		for _, goal := range []unit.Time{120 * unit.Second, 150 * unit.Second} {
			minimal, maximal := run(seed, goal, true), run(seed, goal, false)
			t.Logf("seed %d, goal %v: min %v, max %v", seed, goal, minimal, maximal)
			if minimal["J1"] <= 6000*unit.Second || maximal["J1"] > 6000*unit.Second {
				t.Errorf("seed %d: J1 ends at %v in min and %v in max mode", seed, minimal["J1"], maximal["J1"])
			}
			for _, e := range []ends{minimal, maximal} {
				if e["J2"] > 4000*unit.Second*102/100 {
					t.Errorf("seed %d: J2 ends at %v", seed, e["J2"])
				}
				for id, at := range map[string]unit.Time{"J3": 2000 * unit.Second, "J4": 3000 * unit.Second} {
					if r := float64(e[id]-at) / float64(goal); r > 1.35 {
						t.Errorf("seed %d: %s takes %.2f of its goal", seed, id, r)
					}
				}
			}
		}
	}
}
