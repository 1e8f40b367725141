package defaults

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/scenario"
	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/experiment/facebook"
)

// Every experiment has a scenario that can be read, and schedulers that exist; those of FB-2010 say what they need.
func TestStudy(t *testing.T) {
	t.Setenv(facebook.Folder, "")
	s := Study()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, e := range s.Experiments {
		of := trials()[e.ID]
		for name, spec := range of.Schedulers {
			if !slices.Contains(order, name) {
				t.Errorf("%s: %s is not among the names", e.ID, name)
			}
			text := strings.ReplaceAll(of.Scenario, facebook.FB2010, "synth:demo")
			text = strings.ReplaceAll(strings.ReplaceAll(text, "trace: {replay-on: 120/3000}", ""), "trace: {map-rate: 1.56MB, reduce-rate: 8.4MB}", "")
			got, err := scenario.Parse(e.ID, []byte(text))
			if got.Schedulers = []string{spec}; spec == byPlan {
				continue
			}
			if err == nil {
				_, err = got.Resolve()
			}
			if err != nil {
				t.Errorf("%s, %s: %v", e.ID, spec, err)
			}
		}
		if strings.Contains(of.Scenario, facebook.FB2010) {
			if _, err := e.Run(context.Background(), 1); err == nil || !strings.Contains(err.Error(), facebook.Folder) {
				t.Errorf("%s: %v", e.ID, err)
			}
		}
	}
	if got := sections(x.NewRuns([]uint64{1}, nil)); len(got) != 0 {
		t.Errorf("%d sections of nothing", len(got))
	}
}

// The probe runs every kind of scheduler, the same again with the same seed, and hybrid schedulers get scale-up machines.
func TestProbe(t *testing.T) {
	probe := trials()["DF-0"]
	m, err := probe.run(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	again, err := probe.run(t.Context(), 1)
	if err != nil || !maps.Equal(m, again) {
		t.Errorf("the same seed gave other figures (%v)", err)
	}
	seen := map[float64]string{}
	for name := range probe.Schedulers {
		v := m[name+"/mean"]
		if other, is := seen[v]; is || v == 0 {
			t.Errorf("%s and %s have the same mean, %v", name, other, v)
		}
		seen[v] = name
	}
	small := trial{Machines: []int{3, 4, 2}}
	if plain, both := small.machines(false), small.machines(true); len(plain.Nodes) != 12 || len(both.Nodes) != 10 || both.Nodes[9].Kind == "" || len(plain.Racks) != len(both.Racks) {
		t.Errorf("%d and %d machines", len(plain.Nodes), len(both.Nodes))
	}
}
