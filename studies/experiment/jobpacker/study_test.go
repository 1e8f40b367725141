package jobpacker

import (
	"context"
	"maps"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/experiment/experimenttest"
	"github.com/yardmaster/yardmaster/studies/experiment/facebook"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// One seed of everything, from end to end, on a small synthetic trace: every figure that a check or a section needs exists.
func TestAllOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("plays every experiment")
	}
	s := study(facebook.StandIn(200, 300*unit.GiB))
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	experimenttest.Whole(t, s, []uint64{1}, 6, "-")
	if got := sections(x.NewRuns([]uint64{1}, nil)); len(got) != 0 {
		t.Errorf("%d sections of nothing", len(got))
	}
}

// The probe needs no trace and feels every setting; without the trace the others say what they need.
func TestProbe(t *testing.T) {
	t.Setenv(facebook.Folder, "")
	run := runners(facebook.File(facebook.FB2010))
	m, err := run["JP-0"](context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	again, err := run["JP-0"](context.Background(), 1)
	if err != nil || !maps.Equal(m, again) {
		t.Errorf("the same seed gave other figures (%v)", err)
	}
	base, err := runners(standIn())["JP-E2"](context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for name := range changes {
		other, at := base, "jobpacker/"
		if inBatch(name) {
			other, at = m, "emulated/jobpacker/"
		}
		if m[name+"/jobpacker/mean"] == other[at+"mean"] && m[name+"/jobpacker/makespan"] == other[at+"makespan"] {
			t.Errorf("%s: the figures would be the same if it did something else", name)
		}
	}
	for _, id := range []string{"JP-S1", "JP-W"} {
		if _, err := run[id](context.Background(), 1); err == nil {
			t.Errorf("%s ran without the trace", id)
		}
	}
}

// The bounds are those of hand-made jobs.
func TestBounds(t *testing.T) {
	s := standard(emulated, "", true)
	jobs, err := facebook.StandIn(1, unit.GiB)(s.swim())
	if err != nil {
		t.Fatal(err)
	}
	one := func(input, shuffle unit.Bytes) *workload.Job {
		j, m := *jobs[0], s.swim()
		j.Stages = m.Stages(input, shuffle, 0)
		return &j
	}
	block := 128 * unit.MiB * 100
	m := s.statistics(workload.Slice{one(150*block, 0), one(block, 2e9)}) // 150 maps of 10 s on 100 containers; a map of 10 s and two reduces of 2.6 s
	reduce := 2 + 1e9/(1600*float64(unit.MiB))
	if want := max(20, 10+reduce, (151*10+2*reduce)/100); math.Abs(m["bound"]-want) > 1e-6 || math.Abs(m["alone"]-(20+10+reduce)/2) > 1e-6 || m["heavy"] != 1 {
		t.Errorf("%v, want a bound of %v", m, want)
	}
}

// A check that cannot fail shows nothing: if every scheduler is Fair, no shape holds.
func TestChecksCanFail(t *testing.T) {
	if testing.Short() {
		t.Skip("plays some runs")
	}
	s := study(standIn())
	cache := &x.Cache[sample, setting]{Make: draw(standIn()), Run: play}
	figures := map[string][]x.Metrics{}
	for id, runs := range plans() {
		for _, seed := range []uint64{1, 2} {
			fair := map[string]setting{}
			for name, of := range runs {
				fair[name] = standard(of.site, fHybrid, of.batch)
			}
			m, err := cache.Get(context.Background(), seed, fair)
			if err != nil {
				t.Fatal(err)
			}
			figures[id] = append(figures[id], m)
		}
	}
	r := x.NewRuns([]uint64{1, 2}, figures)
	shapes := 0
	for _, c := range s.Checks {
		if c.Strength != x.A || slices.Contains([]string{"JP-T3-flat", "JP-T4-flat", "JP-T5-flat", "JP-T6-flat", "JP-S2-feps", "JP-E2-feps", "JP-S3-feps", "JP-E3-feps"}, c.ID) {
			continue
		}
		shapes++
		if j := c.Judge.Of(r); j.Holds {
			t.Errorf("%s holds although every scheduler is Fair: %s", c.ID, j.Ours)
		}
	}
	if shapes < 20 {
		t.Errorf("%d shapes", shapes)
	}
}

// Planning and simulating the source's 1000 jobs takes seconds.
func TestCost(t *testing.T) {
	if os.Getenv(facebook.Folder) == "" || testing.Short() {
		t.Skip(facebook.Folder + " is not set, or -short")
	}
	began := time.Now()
	if _, err := runners(facebook.File(facebook.FB2010))["JP-S4"](context.Background(), 1); err != nil { // plans and runs twice
		t.Fatal(err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("JobPacker took %v for 1000 jobs, twice", took)
	}
}
