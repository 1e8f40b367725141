package hybrid

import (
	"context"
	"maps"
	"math"
	"os"
	"strings"
	"testing"

	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/experiment/experimenttest"
	"github.com/yardmaster/yardmaster/studies/experiment/facebook"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload/synth"
)

// standIn is a world of generated jobs.
func standIn(jobs int, online synth.Respread) *world {
	return &world{
		racks: 3, machines: 4, ups: 1, jobs: jobs, examples: 60, online: online,
		day: facebook.StandIn(60, 64*unit.GiB), train: facebook.StandIn(200, 128*unit.GiB),
	}
}

// Everything from end to end with generated jobs, which need no traces: every figure that a check or a section needs exists.
func TestStudy(t *testing.T) {
	s := study(standIn(30, synth.Respread{How: "uniform", Time: unit.Minute}), standIn(0, synth.Respread{}), standIn(20, synth.Respread{How: "uniform", Time: unit.Minute}))
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	experimenttest.Whole(t, s, []uint64{1, 2}, 8, "NaN")
	if got := sections(x.NewRuns([]uint64{1}, nil)); len(got) != 0 {
		t.Errorf("%d sections of nothing", len(got))
	}
}

// Without the traces, only what does not need them runs; the others say what is missing.
func TestWithoutTraces(t *testing.T) {
	t.Setenv(facebook.Folder, "")
	for _, e := range Study().Experiments {
		_, err := e.Run(context.Background(), 1)
		if needs := e.ID != "HY-M1" && e.ID != "HY-P"; needs != (err != nil && strings.Contains(err.Error(), facebook.Folder)) {
			t.Errorf("%s: %v", e.ID, err)
		}
	}
}

// The parts of Hybrid show in the probe, and the same seed gives the same.
func TestProbe(t *testing.T) {
	probe := runners(newWorld(standIn(1, synth.Respread{})), nil, nil)["HY-P"]
	m, err := probe(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	again, err := runners(newWorld(standIn(1, synth.Respread{})), nil, nil)["HY-P"](context.Background(), 1)
	if err != nil || !maps.Equal(m, again) {
		t.Errorf("the same seed gave other figures (%v)", err)
	}
	seen := map[float64]string{}
	for _, name := range []string{"/fs", "/ds", "/fs-with", "/ds-with", "/fs-without", "/ds-without", "/no-p", "/no-js", "/no-dps", "/idle", "/idle-no-dps", "5:1/fs", "5:1/fs-with", "5:1/ds"} {
		v := m["false/"+name+"/mean"]
		if other, is := seen[v]; is {
			t.Errorf("%s and %s have the same mean, %v", name, other, v)
		}
		seen[v] = name
	}
	// The bound holds: large jobs run on scale-out machines only.
	if got, bound := m["true//no-js/last/large"], m["true//jobs/bound"]; !(bound > 0 && got >= bound) {
		t.Errorf("the last large job ends at %v s, and the work takes %v s", got, bound)
	}
}

// One seed on the real traces: the classifier on jobs that it has not seen.
func TestClassifierOnTraces(t *testing.T) {
	if os.Getenv(facebook.Folder) == "" || testing.Short() {
		t.Skip("no traces")
	}
	for _, e := range Study().Experiments {
		if e.ID == "HY-C1" {
			m, err := e.Run(context.Background(), 1)
			if err != nil || m["even/other/known/accuracy"] < 0.95 || math.IsNaN(m["even/held-out/new/large-as-small"]) {
				t.Error(m, err)
			}
		}
	}
}
