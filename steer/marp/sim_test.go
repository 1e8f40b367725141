package marp_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/policy/fair"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/marp"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

type starts []unit.Time

func (s *starts) Job(r *sim.JobRecord) { *s = append(*s, r.Start) }
func (s *starts) Sample(*sim.Sample)   {}

// The value that will steer a live cluster steers a simulated one, with a file that is read again 10 s after it was
// written: jobs are let in one after another, every write is taken, and what was found comes back at the end.
func TestInTheSimulator(t *testing.T) {
	var jobs workload.Slice
	one := unit.Resources{Mem: 1024, Cores: 1}
	for i := range 6 {
		jobs = append(jobs, &workload.Job{ID: fmt.Sprint("j", i), Queue: "default", AM: unit.Resources{Mem: 2048, Cores: 1}, Stages: []workload.Stage{
			{Tasks: 24, Ask: one, Length: workload.Fixed(40 * unit.Second)},
			{Tasks: 1, Ask: one, Length: workload.Fixed(100 * unit.Second), After: []workload.Edge{{From: 0, SlowStart: 1}}},
		}})
	}
	file, err := conf.ReadFair(strings.NewReader(
		`<allocations><queue name="default"><maxAMShare>0.05</maxAMShare></queue></allocations>`), "fair-scheduler.xml")
	if err != nil {
		t.Fatal(err)
	}
	s := marp.Defaults("ahead", "root.default")
	s.Limit = amlimit.Fair
	c, err := marp.New("ahead", s)
	if err != nil {
		t.Fatal(err)
	}
	var begun starts
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: cluster.Uniform(3, 1, unit.Resources{Mem: 17 * 1024, Cores: 17}), Source: jobs.Source(), NoAlone: true, Sink: &begun,
		Model: sim.Model{Heartbeat: unit.Second}, Steerer: c, Delays: steer.Delays{Sense: unit.Second, Queue: 10 * unit.Second},
		NewPolicy: func() (policy.Policy, error) { return fair.FromConf(file) },
	})
	if err != nil {
		t.Fatal(err)
	}
	raises := 0
	for _, r := range sum.Receipts {
		if r.Err != nil || r.InForce-r.Asked != 10*unit.Second {
			t.Errorf("%+v", r)
		}
		if r.New > r.Old {
			raises++
		}
		t.Logf("%v: %v -> %v: %s", r.Asked, r.Old, r.New, r.Action.Why)
	}
	slices.Sort(begun)
	for i := 1; i < len(begun); i++ {
		if begun[i]-begun[i-1] < 10*unit.Second {
			t.Errorf("two jobs begin at once: %v", begun)
		}
	}
	if n := len(sum.Receipts); n == 0 || sum.Receipts[n-1].New != 0.05 {
		t.Errorf("the value found is not put back: %+v", sum.Receipts)
	}
	if sum.Finished != 6 || raises == 0 {
		t.Errorf("%d finished, %d raises, %v", sum.Finished, raises, c.Last())
	}
}
