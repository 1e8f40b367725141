package planned_test

import (
	"context"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/plan"
	"github.com/yardmaster/yardmaster/policy/planned"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// What waits: a planned job for its rack, while another has room; a job outside the plan for the planned ones; an AM for half of a rack.
func TestWhy(t *testing.T) {
	p := &plan.Plan{Racks: make([]plan.Sequence, 2), AdHoc: plan.AdHoc{HeavyInput: plan.HeavyInput}}
	for _, id := range []string{"a", "b"} {
		p.Jobs = append(p.Jobs, plan.Placed{ID: id, Maps: 4, MapRacks: []int32{0}})
		p.Racks[0].Run = append(p.Racks[0].Run, plan.Entry{Job: id, Count: 4})
	}
	late := unit.Second
	with := func(id string) *workload.Job {
		j := job(id, late, 1, 0, 0)
		j.AM = one
		return j
	}
	for _, x := range []struct {
		jobs workload.Slice
		id   string
		want policy.Reason
	}{
		{workload.Slice{job("a", 0, 4, 0, 0), job("b", late, 4, 0, 0)}, "b", policy.Reason{Limit: "plan", Node: "node2", Size: one}},
		{workload.Slice{job("a", 0, 4, 0, 0), job("b", late, 4, 0, 0), job("c", late, 4, 0, 0), job("d", late, 1, 0, 0)}, "d",
			policy.Reason{Limit: policy.NodeRoom, Size: one}},
		{workload.Slice{with("d"), with("e"), with("f")}, "f",
			policy.Reason{Limit: "AMs of a rack", Node: "node1", Held: unit.Resources{Mem: 1024}, Max: unit.Resources{Mem: 1024}, Size: one}},
	} {
		why := &sim.Why{ID: x.id, At: 2 * unit.Second}
		_, err := sim.Run(context.Background(), sim.Config{
			Cluster: newCluster(t, "2x2/2", ""), Source: x.jobs.Source(), NoAlone: true, Why: why, Model: sim.Model{StartUp: 10 * unit.Second},
			NewPolicy: func() (policy.Policy, error) { return planned.New(p), nil },
		})
		if err != nil || len(why.Reasons) == 0 || why.Reasons[0] != x.want {
			t.Errorf("%s: %+v, want %+v: %v", x.id, why.Reasons, x.want, err)
		}
	}
}
