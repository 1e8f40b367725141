package whatif_test

import (
	"context"
	"fmt"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif"
	"github.com/yardmaster/yardmaster/workload"
)

// Two schedulers on the same jobs, with the same five seeds: what changes, and whether chance could explain it.
func ExampleCompare() {
	jobs := workload.Slice{job("scan", 0, 400)}
	for i := range 30 {
		jobs = append(jobs, job(fmt.Sprint("query", i), unit.Time(i+1)*unit.Second, 2))
	}
	plan := whatif.Plan{Seeds: []uint64{1, 2, 3, 4, 5}}
	for _, name := range []string{"fifo", "fair"} {
		scheduler, _, err := all.Load(all.Policies, name)
		if err != nil {
			fmt.Println(err)
			return
		}
		plan.Variants = append(plan.Variants, run.Spec{
			Cluster: cluster.Uniform(5, 1, cluster.Unit.Times(4)), Workload: run.Jobs(jobs), Scheduler: run.Scheduler{Name: name, New: scheduler},
		})
	}
	c, err := whatif.Compare(context.Background(), plan)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Answers[0].Verdict)
	fmt.Println(c.Answers[0].Text)
	// Output:
	// better
	// fair: better for the cluster as a whole: p95 elapsed 3.7 min -> 42.3 s (-81 %, -84 to -77), p95 slowdown 99 -> 2.18 (-97.8 %, -98.2 to -97.3).
}

// job has tasks of 10 s on average.
func job(id string, submit unit.Time, tasks int64) *workload.Job {
	return &workload.Job{ID: id, User: id, Submit: submit, Stages: []workload.Stage{{
		Tasks: tasks, Ask: cluster.Unit, Length: workload.Lengths{Kind: workload.Exponential, A: 10 * unit.Second},
	}}}
}
