package synth

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// week is a made-up week of 5,000 jobs in three queues, with days, nights and a weekend: hourly pipelines, nightly batches, queries in office hours.
func week(seed uint64) workload.Slice {
	random := rand.New(rand.NewPCG(seed, 7))
	var jobs workload.Slice
	size := unit.Resources{Mem: 1024, Cores: 1}
	add := func(class, user string, at float64, maps, reduces int64, seconds float64) {
		j := &workload.Job{User: user, Queue: "root." + class, Class: class, Name: class + "-" + user, Submit: unit.Time(at * float64(unit.Second)), AM: size}
		length := func(mean float64) workload.Lengths {
			return workload.Lengths{Kind: workload.LogNormal, A: unit.Time(mean * float64(unit.Second)), P: 0.4}
		}
		j.Stages = []workload.Stage{{Name: "map", Kind: workload.Map, Tasks: maps, Ask: size, Length: length(seconds)}}
		if reduces > 0 {
			j.Stages = append(j.Stages, workload.Stage{Name: "reduce", Kind: workload.Reduce, Tasks: reduces, Ask: size, Length: length(2 * seconds), After: []workload.Edge{{SlowStart: 0.8}}})
		}
		jobs = append(jobs, j)
	}
	people := []string{"ana", "ben", "cho", "dee", "eli", "fay"}
	tail := func(low, high float64) int64 { // bounded Pareto
		return int64(low / math.Pow(1-random.Float64()*(1-math.Pow(low/high, 1.1)), 1/1.1))
	}
	for hour := range 7 * 24 {
		at := func() float64 { return 3600 * (float64(hour) + random.Float64()) }
		day, of := hour/24, hour%24
		for i := range 8 {
			add("prod", []string{"etl", "reports"}[i%2], 3600*float64(hour)+600*random.Float64(), 150+random.Int64N(700), 15, 45)
		}
		if of < 6 {
			for range 5 {
				add("batch", []string{"train", "crawl"}[random.IntN(2)], at(), 400+tail(400, 6000), 40, 70)
			}
		}
		busy := 0
		if day < 5 && of >= 8 && of < 19 {
			busy = 45 + random.IntN(20)
		} else if random.IntN(2) == 0 {
			busy = 6
		}
		for range busy {
			add("adhoc", people[int(float64(len(people))*math.Pow(random.Float64(), 2))], at(), tail(4, 3000), 2, 20)
		}
	}
	slices.SortStableFunc(jobs, func(a, b *workload.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	for i := range jobs {
		jobs[i].ID = fmt.Sprintf("job-%04d", i)
	}
	return jobs
}
