package run_test

import (
	"context"
	"fmt"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// One run: a cluster, jobs and a scheduler in, figures out.
func Example() {
	fair, _, err := all.Load(all.Policies, "fair")
	if err != nil {
		fmt.Println(err)
		return
	}
	var jobs workload.Slice
	for i, tasks := range []int64{40, 4, 4, 4} {
		jobs = append(jobs, &workload.Job{
			ID: fmt.Sprint("job", i), User: fmt.Sprint("user", i), Submit: unit.Time(i) * unit.Minute,
			Stages: []workload.Stage{{Tasks: tasks, Ask: cluster.Unit, Length: workload.Fixed(30 * unit.Second)}},
		})
	}
	r, err := run.Result(context.Background(), run.Spec{
		Cluster:   cluster.Uniform(2, 1, cluster.Unit.Times(2)), // two nodes of two containers
		Workload:  run.Jobs(jobs),
		Scheduler: run.Scheduler{Name: "fair", New: fair},
		Seed:      1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d jobs, makespan %v s, utilisation %.0f %%\n", r.Jobs.Finished, r.Makespan, 100*r.Utilisation)
	fmt.Printf("elapsed: mean %v s, max %v s\n", r.Metrics.Elapsed.Mean, r.Metrics.Elapsed.Max)
	// Output:
	// 4 jobs, makespan 390 s, utilisation 100 %
	// elapsed: mean 142.5 s, max 390 s
}
