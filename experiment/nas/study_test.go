package nas

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	x "github.com/yardmaster/yardmaster/experiment"
	"github.com/yardmaster/yardmaster/experiment/experimenttest"
	"github.com/yardmaster/yardmaster/experiment/facebook"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/swim"
)

// Everything from end to end on small jobs: every figure that a check or a section needs exists, and every experiment is run.
func TestStudy(t *testing.T) {
	s := study(small(), small())
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	for i := range s.Experiments {
		if e := &s.Experiments[i]; e.Seeds > 0 {
			e.Seeds = 1
		}
	}
	f := experimenttest.Whole(t, s, []uint64{1, 2}, 6, "-")
	for _, e := range f.Studies[0].Experiments {
		want := 2
		if strings.HasPrefix(e.ID, "NAS-S") || e.ID == "NAS-X3" { // long runs
			want = 1
		}
		if len(e.Seeds) != want {
			t.Errorf("%s: %d seeds", e.ID, len(e.Seeds))
		}
	}
	if got := sections(x.NewRuns([]uint64{1}, nil)); len(got) != 0 {
		t.Errorf("%d sections of nothing", len(got))
	}
}

// The same seed gives the same figures, and every setting shows in the probe.
func TestProbeFeelsEverySetting(t *testing.T) {
	run := func(change func(*setting)) x.Metrics {
		s := small()
		change(&s)
		m, err := s.under(map[string]string{"sw/": variants["sw"], "nas/": variants["nas"]})(context.Background(), 1)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	base := run(func(*setting) {})
	if !maps.Equal(base, run(func(*setting) {})) {
		t.Error("the same seed gave other figures")
	}
	for name, change := range map[string]func(*setting){
		"cluster": func(s *setting) { s.cluster = "8x5/4" }, "network": func(s *setting) { s.network = "racks:node=200Mbit,uplink=90Mbit" }, "reduces": func(s *setting) { s.reduces = 2 },
		"users": func(s *setting) { s.users = 3 }, "wait": func(s *setting) { s.wait = "3" }, "jobs": func(s *setting) { s.resample.Jobs-- }, "arrivals": func(s *setting) { s.resample.Arrivals.Time++ },
		"until": func(s *setting) { s.until = 3 * unit.Minute }, "alone": func(s *setting) { s.alone = true },
	} {
		if maps.Equal(base, run(change)) {
			t.Errorf("%s: the same figures", name)
		}
	}
	m, err := runners(small(), small())["NAS-P"](context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fair", "delay", "sw", "mts", "ca", "nott", "noss", "neither", "nas/gate", "nas/nogate", "nas/cap", "nas/all", "bounds"} {
		same := true
		for _, figure := range []string{"jct", "crossings", "cross", "progress"} {
			same = same && m[name+"/"+figure] == m["nas/"+figure]
		}
		if same {
			t.Errorf("%s: the same figures as NAS", name)
		}
	}
}

// A job that reads nothing has as many maps as its output needs, and nothing else changes.
func TestSpread(t *testing.T) {
	m := swim.Default()
	for _, c := range []struct{ input, shuffle, maps unit.Bytes }{{0, 0, 1}, {0, block, 1}, {0, 3*block - 1, 3}, {1, 9 * block, 1}} {
		j := &workload.Job{ID: "j", Stages: m.Stages(c.input, c.shuffle, 0)}
		before := slices.Clone(j.Stages)
		got := spread(j)
		if got.Stages[0].Tasks != int64(c.maps) || j.Stages[0].Tasks != before[0].Tasks || shuffled(got) != c.shuffle {
			t.Errorf("%+v: %d maps, %v shuffled", c, got.Stages[0].Tasks, shuffled(got))
		}
	}
}

// The bounds of the trace: 437.9 TB need 31.4 hours of thirty uplinks.
func TestDay(t *testing.T) {
	if os.Getenv(facebook.Folder) == "" {
		t.Skip(facebook.Folder + " is not set")
	}
	s := wholeDay(facebook.File(facebook.FB2010))
	jobs, err := s.jobs(1)
	if err != nil || len(jobs) != 24442 {
		t.Fatal(len(jobs), err)
	}
	m := x.Metrics{"hours": 1}
	s.bound(jobs, 30, m, "")
	if m["shuffle"] < 437.8 || m["shuffle"] > 438 || m["bound"] < 31.3 || m["bound"] > 31.4 {
		t.Error(m)
	}
}
