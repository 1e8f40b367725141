package sizing

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/cluster/clusterfile"
	"github.com/yardmaster/yardmaster/policy/hybrid"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/hdfs"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

const machines = `
groups:
  - {count: 30, racks: 3, memory: 8GB, cores: 8, cost: 1000}
  - {count: 2, racks: 1, memory: 24GB, cores: 24, kind: scale-up, cost: 5000, storage: 8TB, speed: scale-up}
`

func parse(t *testing.T, text string) *cluster.Cluster {
	t.Helper()
	c, err := clusterfile.Parse("c.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRacks(t *testing.T) {
	up, out, err := Racks(parse(t, machines))
	if err != nil || up.Machines != 2 || up.Cost() != 10_000 || out.Machines != 10 || out.Cost() != 10_000 {
		t.Fatalf("%+v, %+v, %v", up, out, err)
	}
	c := Build(up, out, 1, 2, nil)
	if err := c.Validate(); err != nil || len(c.Nodes) != 22 || len(c.Racks) != 3 || c.Nodes[21].Kind != cluster.ScaleUp || c.Nodes[21].Rack != 2 || c.Cost() != 30_000 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, x := range []struct{ text, want string }{
		{"groups: [{count: 2, memory: 8GB, cores: 8, cost: 1}]", "no scale-up machines"},
		{"groups: [{count: 2, memory: 8GB, cores: 8, cost: 1, kind: scale-up}]", "no other machines"},
		{strings.ReplaceAll(machines, "cost: 1000", "nic: 1Gbit"), "no cost"},
		{"groups:\n  - {count: 2, memory: 8GB, cores: 8, cost: 1}\n  - {count: 2, memory: 4GB, cores: 8, cost: 1}\n  - {count: 2, racks: [up], memory: 8GB, cores: 8, cost: 1, kind: scale-up}", "several kinds"},
		{"groups: [{count: 2, map-slots: 8, reduce-slots: 8, cost: 1, kind: scale-up}]", "fixed slots"},
	} {
		if _, _, err := Racks(parse(t, x.text)); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.text, err, x.want)
		}
	}
}

// plan is a day of small jobs beside a few large ones.
func plan(t *testing.T) Plan {
	t.Helper()
	up, out, err := Racks(parse(t, machines))
	if err != nil {
		t.Fatal(err)
	}
	jobs := drawn(300, 7)
	var some workload.Slice
	for _, j := range jobs {
		if j.Stages[0].Input < 100*unit.GiB {
			j.Submit = unit.Time(len(some)) * 20 * unit.Second
			some = append(some, j)
		}
	}
	return Plan{
		Spec: run.Spec{Workload: run.Jobs(some), Model: sim.Model{Heartbeat: unit.Second, Replicas: 3}}, Up: up, Out: out,
		Budget: 42_000, Max: 2, By: Metrics[0], Options: hybrid.Options{Recurring: 1}, Seeds: []uint64{1, 2}, Workers: 1, Train: true,
	}
}

func TestRun(t *testing.T) {
	p := plan(t)
	a, err := Run(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(a.Sentence)
	if len(a.Rows) != 3 || a.Partial || a.SmallJobs == 0 || a.SmallJobs == a.Jobs || a.Classifier.Known.Accuracy() < 0.9 {
		t.Fatalf("%+v, %+v", a, a.Classifier)
	}
	for i, r := range a.Rows {
		if r.UpRacks != i || r.OutRacks != 4-i || r.Cost != 40_000 || r.UpMachines != 2*i || !r.Finished {
			t.Errorf("row %d: %+v", i, r)
		}
		if (i == 0) != (r.UpJobs == 0) || r.UpJobs+r.OutJobs != float64(a.Jobs) || (i == 0) != (r.Stored == 0) {
			t.Errorf("row %d: %v and %v jobs, %v stolen, %v stored", i, r.UpJobs, r.OutJobs, r.Stolen, r.Stored)
		}
	}
	// A third of the data is on the scale-up machines, whatever their number.
	if one, two := a.Rows[1].Stored, a.Rows[2].Stored; math.Abs(float64(one)*2/float64(a.Input)-1) > 1e-6 || one/2 != two {
		t.Errorf("of %v, %v and %v a machine", a.Input, one, two)
	}
	if small := a.Rows[1].Changes["small"]; a.Best == 0 || !(small.Ratio.Mean < 1) || !strings.HasPrefix(a.Sentence, "Mixed: ") { // p95 rises
		t.Errorf("best %d, small jobs %+v: %s", a.Best, small, a.Sentence)
	}
	if _, err := json.Marshal(a); err != nil {
		t.Error(err)
	}
	for _, part := range []string{"the mean elapsed time falls from ", " The 95th-percentile elapsed time ", "shorter under hybrid than under its base scheduler", "95 % interval"} {
		if !strings.Contains(a.Sentence, part) {
			t.Errorf("%q lacks %q", a.Sentence, part)
		}
	}
	// The same question gives the same answer, on any number of processors.
	p.Workers = 3
	again, err := Run(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(a, again); d != "" {
		t.Error(d)
	}
	// Machines without room for their replicas are not recommended.
	p.Up.Machine.Storage, p.Options.Classifier = 1, again.Classifier
	full, err := Run(context.Background(), p)
	if err != nil || full.Best != 0 || !strings.Contains(full.Sentence, "too little storage") || full.Classifier != nil {
		t.Errorf("%+v, %v", full, err)
	}
}

// What is said depends on how many seeds there are and on p95, and says what hybrid does against its base scheduler.
func TestSentences(t *testing.T) {
	base, lower, higher := []float64{100, 110, 105}, []float64{80, 88, 85}, []float64{120, 133, 125}
	row := func(mean, p95 []float64) Row {
		r := Row{UpRacks: 1, Fits: true, Finished: true, Values: map[string][]float64{"mean": mean, "p95": p95}, Changes: map[string]result.Difference{}}
		for name, v := range r.Values {
			r.Changes[name] = result.Paired(base[:len(v)], v)
		}
		return r
	}
	none := Row{OutRacks: 4, Fits: true, Finished: true, Values: map[string][]float64{"mean": base, "p95": base}}
	for name, c := range map[string]struct {
		row   Row
		seeds int
		want  string
	}{
		"better":       {row(lower, lower), 3, "Buy 1 rack of 2 scale-up machines: at the same price, the mean elapsed time falls "},
		"p95 is worse": {row(lower, higher), 3, "Mixed: with 1 rack of 2 scale-up machines, at the same price, the mean elapsed time falls "},
		"one seed":     {row(lower[:1], lower[:1]), 1, "One seed is too little to buy by: give --seeds 5. With it, 1 rack of 2 scale-up machines are best. "},
		"no better":    {row(higher, higher), 3, "Buy no scale-up machines: none of the mixes has a clearly shorter mean elapsed time "},
	} {
		p := Plan{Up: Rack{Machines: 2}, By: Metrics[0]}
		a := Answer{Rows: []Row{none, c.row}, Seeds: make([]uint64, c.seeds)}
		a.choose(&p)
		if a.Best > 0 {
			a.Base = map[string]result.Difference{"mean": result.Paired(base[:c.seeds], c.row.Values["mean"])}
		}
		a.phrase(&p)
		if !strings.HasPrefix(a.Sentence, c.want) {
			t.Errorf("%s: %s", name, a.Sentence)
		}
		if a.Best > 0 && (!strings.Contains(a.Sentence, "The 95th-percentile elapsed time ") || !strings.Contains(a.Sentence, "shorter under hybrid than under its base scheduler")) {
			t.Errorf("%s: %s", name, a.Sentence)
		}
	}
}

func TestRunFails(t *testing.T) {
	p := plan(t)
	p.Budget = 5000
	if _, err := Run(context.Background(), p); err == nil || !strings.Contains(err.Error(), "does not buy a rack of each kind") {
		t.Error(err)
	}
	p = plan(t)
	p.Spec.Workload = run.Jobs(nil)
	if _, err := Run(context.Background(), p); err == nil || !strings.Contains(err.Error(), "no jobs") {
		t.Error(err)
	}
	p = plan(t)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Run(ctx, p); err == nil || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestScaleUpShare(t *testing.T) {
	up, out, err := Racks(parse(t, machines))
	if err != nil {
		t.Fatal(err)
	}
	c := Build(up, out, 1, 9, nil)
	for placement, want := range map[string]float64{hdfs.Hybrid: 1.0 / 3, "random": 2.0 / 92, "": 2.0 / 92} {
		if got, err := ScaleUpShare(c, &sim.Model{Replicas: 3, Placement: placement}); err != nil || math.Abs(got-want) > 0.02 {
			t.Errorf("%q: %v, %v, want %v", placement, got, err, want)
		}
	}
}
