package sim_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/rumen"
)

// Mumak's trace has the observed times of 19 real jobs on 1,545 nodes (Hadoop 0.20, 2009). Replayed with its own task
// lengths and topology, jobs must take about as long as they did.
func TestMumakObservedTimes(t *testing.T) {
	dir := os.Getenv("YARDMASTER_TRACES")
	if dir == "" {
		t.Skip("YARDMASTER_TRACES is not set")
	}
	open := func(name string) *input.File {
		f, err := input.Open(filepath.Join(dir, "mumak", name))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	top := open("19-jobs.topology.json.gz")
	c, err := rumen.ReadTopology(top, top.Name, unit.Resources{Mem: 4096, Cores: 4})
	if err != nil {
		t.Fatal(err)
	}
	c.Slots = true
	for i := range c.Nodes {
		c.Nodes[i].MapSlots, c.Nodes[i].ReduceSlots = 2, 2 // the most that ran on one node at once, of either kind
	}
	f := open("19-jobs.trace.json.gz")
	jobs, err := workload.ReadAll(rumen.NewReader(f, f.Name, rumen.Options{Others: true, Retried: true, Missing: rumen.Observed}))
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(jobs, func(a, b *workload.Job) int { return int(a.Submit - b.Submit) })
	sink := &policytest.Ledger{}
	_, err = sim.Run(context.Background(), sim.Config{
		Cluster: c, Source: jobs.Source(), Seed: 1, Sink: sink,
		// A tracker of Hadoop 0.20 beats once a second for each hundred nodes: every 16 s here. It reports ends and
		// takes one task of a kind then.
		Model:     sim.Model{Heartbeat: 16 * unit.Second, EndOnBeat: true, PerBeat: 1, StartUp: unit.Second},
		NewPolicy: func() (policy.Policy, error) { return all.Policies.New(policy.Spec{Name: "fifo"}) },
	})
	if err != nil {
		t.Fatal(err)
	}
	var errs []float64
	for _, r := range sink.Records {
		o := r.Job.Observed
		if o.Outcome != "SUCCESS" {
			continue
		}
		was, is := (o.Finish - o.Launch).Seconds(), (r.Finish - r.Job.Submit).Seconds()
		errs = append(errs, math.Abs(is/was-1))
		t.Logf("%s observed %7.1f s, simulated %7.1f s, %+6.1f %%", r.Job.ID, was, is, 100*(is/was-1))
	}
	slices.Sort(errs)
	median := (errs[len(errs)/2] + errs[(len(errs)-1)/2]) / 2
	t.Logf("median error %.1f %%", 100*median)
	if len(errs) != 14 || median > 0.05 {
		t.Errorf("%d jobs, median error %.1f %%", len(errs), 100*median)
	}
}
