package slowdown

import (
	"context"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/experiment/experimenttest"
)

func TestStudy(t *testing.T) {
	s := Study()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"SV-0a", "SV-0b", "SV-0c", "SV-W", "SV-1", "SV-2a", "SV-2b", "SV-2c", "SV-2d", "SV-2e", "SV-3", "SV-4", "SV-5", "SV-6", "SV-X1", "SV-X2", "SV-X3", "SV-X4",
	}
	var ids []string
	for _, e := range s.Experiments {
		ids = append(ids, e.ID)
	}
	if !slices.Equal(ids, want) {
		t.Errorf("%v", ids)
	}
	fitted := map[string]bool{"SV-0a-times": true, "SV-W-hours": true, "SV-W-runtimes": true, "SV-W-sizes": true, "SV-W-top": true, "SV-1-median": true, "SV-1-p95": true, "SV-1-v": true, "SV-4-fbq-v": true}
	for _, c := range s.Checks {
		if c.ByConstruction != fitted[c.ID] {
			t.Errorf("%s: by construction %v", c.ID, c.ByConstruction)
		}
	}
}

// The workload has the statistics by which it is accepted, whatever the seed, and equal seeds give equal workloads.
func TestW1121(t *testing.T) {
	for seed := range uint64(3) {
		w := newW1121(seed)
		m := w.statistics()
		for name, band := range map[string][2]float64{
			"jobs": {1121, 1121}, "reference/hours": {54, 68}, "reference/scv": {12, 21}, "size/scv": {2.9, 4}, "size/top8": {0.45, 0.53}, "maps": {0.84, 0.88},
			"size/mean": {24_000, 26_000}, "size/median": {5_000, 6_000}, "tasks/min": {1, 20}, "tasks/max": {10_000, 60_000}, "gap/total": {44, 45}, "gap/bottleneck": {50.5, 51.7},
		} {
			if v := m[name]; !(v >= band[0] && v <= band[1]) {
				t.Errorf("seed %d: %s is %v, want %v", seed, name, v, band)
			}
		}
		jobs := w.at(0.7, total)
		work := jobs[len(jobs)-1].Submit.Seconds() * 0.7 * nodes * (mapSlots + reduceSlots)
		if off := work/w.allWork - 1; math.Abs(off) > 0.1 { // exponential gaps: 3 % in a standard deviation
			t.Errorf("seed %d: arrivals make a load of %v", seed, 0.7/(1+off))
		}
		if seed == 0 && !maps.Equal(newW1121(0).statistics(), m) {
			t.Error("the same seed gives another workload")
		}
	}
	w := &w1121{allWork: 24_900 * jobs}
	if gap := w.gap(0.7, total); math.Abs(gap-44.46) > 0.005 {
		t.Errorf("a mean size of 24,900 s at 0.7 makes a gap of %v s", gap)
	}
}

// One seed of everything, from end to end: every figure that a check or a section needs exists.
func TestAllOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("plays every experiment")
	}
	whole := gridLimits
	t.Cleanup(func() { gridLimits = whole })
	gridLimits = []int{14_000, 18_000} // those that checks name
	experimenttest.Whole(t, Study(), []uint64{1}, 7, "-, -, -")
	if got := sections(x.NewRuns([]uint64{1}, nil)); len(got) != 0 {
		t.Errorf("%d sections of nothing", len(got))
	}
}

// Every setting of the policies and of the workload has an effect that the probes see.
func TestProbesFeelEverySetting(t *testing.T) {
	if testing.Short() {
		t.Skip("plays some runs")
	}
	ctx := context.Background()
	c := newCache()
	figures := func(definition string, load float64, of scheduler) x.Metrics {
		m, err := c.Get(ctx, 1, map[string]playing{"": {load, definition, of.spec}})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for name, pair := range map[string][2]scheduler{
		"limit of FBQ": {fbq(12_000), fbq(11_000)}, "completed": {fbq(12_000), fbq(12_000).with("", "count=completed")}, "levels": {fbq(12_000), fbq4()},
		"defer": {fbq(12_000), fbq(12_000).with("", "reduces=defer")}, "release": {bestTAGS(), bestTAGS().with("", "reduces=release")},
		"limit of TAGS": {bestTAGS(), tags(0.5, 13_000)}, "share of TAGS": {bestTAGS(), tags(0.49, 14_000)},
		"limit of SITA": {bestSITA(1), sita(0.3, 17_000, noise, 1)}, "share of SITA": {bestSITA(1), sita(0.29, 18_000, noise, 1)}, "noise": {bestSITA(1), sita(0.3, 18_000, 0.31, 1)},
		"queues of COMP": {comp(2, noise, 1), comp(3, noise, 1)}, "seed of the noise": {comp(2, noise, 1), comp(2, noise, 2)},
	} {
		if maps.Equal(figures(bottleneck, 0.7, pair[0]), figures(bottleneck, 0.7, pair[1])) {
			t.Errorf("%s: the figures would be the same if it did something else", name)
		}
	}
	if maps.Equal(figures(bottleneck, 0.7, fifo()), figures(total, 0.7, fifo())) || maps.Equal(figures(bottleneck, 0.7, fifo()), figures(bottleneck, 0.71, fifo())) {
		t.Error("the load has no effect")
	}
	for _, list := range plans { // and every scheduler of the plans is one that exists
		for _, p := range list(1) {
			if _, _, err := all.Load(all.Policies, p.spec); err != nil {
				t.Error(err)
			}
			if spec, err := policy.ParseSpec(p.spec); err != nil || spec.Name == "" {
				t.Error(p.spec, err)
			}
		}
	}
}

// A check that cannot fail shows nothing: policies that do not do what they should are noticed.
func TestChecksCanFail(t *testing.T) {
	if testing.Short() {
		t.Skip("plays some runs")
	}
	s := Study()
	figures := map[string][]x.Metrics{}
	c := newCache()
	for _, seed := range []uint64{1, 2} {
		// Every policy is FIFO.
		broken := []setting{}
		for _, p := range slices.Concat(plans["SV-4"](seed), plans["SV-6"](seed), plans["SV-X4"](seed)) {
			p.spec, p.share = "fifo", 0
			broken = append(broken, p)
		}
		m, err := playAll(context.Background(), c, seed, broken)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"SV-1", "SV-4", "SV-5", "SV-6", "SV-X4"} {
			figures[id] = append(figures[id], m)
		}
	}
	r := x.NewRuns([]uint64{1, 2}, figures)
	for _, c := range s.Checks {
		switch c.ID {
		case "SV-4-fbq", "SV-4-p95", "SV-4-tags-median", "SV-4-tags-p95", "SV-4-sita-median", "SV-4-sita-p99", "SV-4-fbq-v", "SV-4-comp-p95", "SV-5-fbq", "SV-5-classes", "SV-5-comp-99", "SV-6-comp", "SV-6-comp-queues", "SV-X4-tags", "SV-X4-defer":
			if j := c.Judge.Of(r); j.Holds {
				t.Errorf("%s holds although every policy is FIFO: %s", c.ID, j.Ours)
			}
		}
	}
}
