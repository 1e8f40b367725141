package policy_test

import (
	"context"
	"fmt"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/keyed"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// finishes prints when each job finishes.
type finishes struct{}

func (finishes) Job(r *sim.JobRecord) { fmt.Println(r.Job.ID, "finishes at", r.Finish) }
func (finishes) Sample(*sim.Sample)   {}

// A policy that is a key: the waiting job with the fewest tasks left is next. The engine notifies it of events and asks it who is next.
func Example() {
	fewest := func(j *policy.Job, _ unit.Time) float64 { return float64(j.Tasks - j.Done) }
	job := func(id string, submit unit.Time, tasks int64) *workload.Job {
		return &workload.Job{ID: id, Submit: submit, Stages: []workload.Stage{{Tasks: tasks, Ask: cluster.Unit, Length: workload.Fixed(10 * unit.Second)}}}
	}
	_, err := sim.Run(context.Background(), sim.Config{
		Cluster:   cluster.Uniform(1, 1, cluster.Unit.Times(2)), // one node that runs two tasks at once
		Source:    workload.Slice{job("long", 0, 8), job("short", 5*unit.Second, 2)}.Source(),
		NewPolicy: func() (policy.Policy, error) { return policy.Policy{Order: keyed.New(fewest)}, nil },
		Sink:      finishes{},
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// short finishes at 20 s
	// long finishes at 50 s
}
