package deadline

import (
	"cmp"
	"math"
	"math/rand/v2"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// slots is the number of nodes, each with a map and a reduce slot.
const slots = 60

// names are the jobs, in order of submission.
var names = []string{"J1", "J2", "J3", "J4"}

// applications are the names in figures of the jobs that DL-1 runs alone.
var applications = map[string]string{"J1": "simulator", "J2": "wordcount", "J3": "join"}

// Times in seconds. The source shows submissions in figures only.
var (
	submits = map[string]float64{"J1": 0, "J2": 1000, "J3": 2000, "J4": 3000}
	goals   = map[string]float64{"J1": 6000, "J2": 3000}
)

// four are the jobs of a seed; J3 and J4 have the join goal, in seconds. Queues are pools of the Fair Scheduler.
func four(seed uint64, joinGoal float64, pools map[string]string) workload.Slice {
	r := rand.New(rand.NewPCG(seed, 60))
	lognormal := func(mean, sigma float64) float64 { return mean * math.Exp(sigma*r.NormFloat64()-sigma*sigma/2) }
	var all workload.Slice
	add := func(name string, maps, reduces int, tail float64, length func(i int) float64) {
		lengths := make([]unit.Time, maps)
		for i := range lengths {
			lengths[i] = unit.FromSeconds(length(i))
		}
		all = append(all, &workload.Job{
			ID: name, Queue: pools[name], Submit: unit.FromSeconds(submits[name]), Deadline: unit.FromSeconds(submits[name] + cmp.Or(goals[name], joinGoal)),
			Stages: []workload.Stage{
				{Kind: workload.Map, Tasks: int64(maps), Ask: cluster.Unit, Length: workload.Lengths{Kind: workload.List, Values: lengths}},
				{Kind: workload.Reduce, Tasks: int64(reduces), Ask: cluster.Unit, Length: workload.Fixed(unit.FromSeconds(tail)), After: []workload.Edge{{SlowStart: 0.05}}},
			},
		})
	}
	phases := []float64{18.5, 25, 33, 54}
	add("J1", 6400, 1, 10, func(i int) float64 {
		mean := phases[i/1600]
		return min(4*mean, lognormal(mean, 0.5))
	})
	add("J2", 738, 1, 30, func(i int) float64 {
		if i < slots { // the first wave is slower
			return 110 + 20*r.Float64()
		}
		return 80 + 22*r.Float64()
	})
	for _, name := range names[2:] {
		add(name, 1000, 4, 3, func(int) float64 { return min(25, lognormal(5.45, 0.8)) })
	}
	return all
}
