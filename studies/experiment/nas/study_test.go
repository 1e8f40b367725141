package nas

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/sim/am"
	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/experiment/experimenttest"
	"github.com/yardmaster/yardmaster/studies/experiment/facebook"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/swim"
)

// Everything from end to end on small jobs: every figure that a check or a section needs exists, and every experiment is run.
func TestStudy(t *testing.T) {
	s := study(small(), small(), small())
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	for i := range s.Experiments {
		if e := &s.Experiments[i]; e.Seeds > 0 && e.ID != "NAS-X2" {
			e.Seeds = 1
		}
	}
	f := experimenttest.Whole(t, s, []uint64{1, 2}, 7, "-")
	for _, e := range f.Studies[0].Experiments {
		want := 2
		if strings.HasPrefix(e.ID, "NAS-S") { // long runs
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
		"until": func(s *setting) { s.until, s.resample.Jobs = 30*unit.Minute, 0 }, "cap": func(s *setting) { s.capped = ofCluster }, "lengths": func(s *setting) { s.short = false },
		"application": func(s *setting) { s.am = am.Hadoop }, "sample": func(s *setting) { s.strata = 80 }, "largest": func(s *setting) { s.most, s.resample.Jobs = unit.GiB, 0 },
	} {
		if maps.Equal(base, run(change)) {
			t.Errorf("%s: the same figures", name)
		}
	}
	m, err := runners(small(), small(), small())["NAS-P"](context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fair", "delay", "sw", "mts", "ca", "nott", "noss", "neither", "nas/soft", "nas/nogate", "nas/text", "nas/maps", "bounds"} {
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

// The one sample is the middle of each class, whatever the seed; users and places are the seed's.
func TestOneSample(t *testing.T) {
	s := small()
	s.strata, s.resample.Jobs = 40, 0
	ids := func(seed uint64) (text string, users string) {
		jobs, err := s.jobs(seed)
		if err != nil || len(jobs) != 40 {
			t.Fatal(len(jobs), err)
		}
		for _, j := range jobs {
			text, users = text+j.ID+j.Submit.String()+" ", users+j.User+" "
		}
		return text, users
	}
	one, who := ids(1)
	other, others := ids(2)
	if one != other || who == others {
		t.Errorf("%s\n%s\n%s\n%s", one, other, who, others)
	}
	var jobs workload.Slice
	for i := range 9 {
		jobs = append(jobs, &workload.Job{ID: string(rune('a' + i)), Stages: []workload.Stage{{}, {After: []workload.Edge{{Shuffle: unit.Bytes(9 - i)}}}}})
	}
	if got := middles(jobs, 3); got[0].ID+got[1].ID+got[2].ID != "heb" {
		t.Errorf("%s%s%s", got[0].ID, got[1].ID, got[2].ID)
	}
}

// The bounds of the trace: 437.9 TB need 31.4 hours of thirty uplinks.
func TestDay(t *testing.T) {
	if os.Getenv(facebook.Folder) == "" {
		t.Skip(facebook.Folder + " is not set")
	}
	s := fiveHours(facebook.File(facebook.FB2010))
	s.until = 0
	jobs, err := s.jobs(1)
	if err != nil || len(jobs) != 24442 {
		t.Fatal(len(jobs), err)
	}
	m := x.Metrics{"hours": 1}
	s.bound(jobs, 30, m, "")
	if m["shuffle"] < 437.8 || m["shuffle"] > 438 || m["network"] < 31.3 || m["network"] > 31.4 || m["containers"] < 50 || m["containers"] > 70 {
		t.Error(m)
	}
}
