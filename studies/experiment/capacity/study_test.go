package capacity

import (
	"context"
	"maps"
	"math"
	"slices"
	"testing"

	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/experiment/experimenttest"
)

func TestStudy(t *testing.T) {
	s := Study()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	known := map[string]*x.Experiment{}
	for i := range s.Experiments {
		known[s.Experiments[i].ID] = &s.Experiments[i]
	}
	for _, id := range []string{"S01", "S16", "V1-Q1", "V2-MSJ", "E01", "E32", "E09e", "E32m"} {
		if known[id] == nil {
			t.Errorf("there is no %s", id)
		}
	}
	if n := len(s.Experiments); n != 16+10+32+6+2*16+32+4 {
		t.Errorf("%d experiments", n)
	}
	// Every cell of the source's tables is listed with its experiment: 2 makespans, 7 ratios and 7 shares, more where it prints more queues.
	for id, want := range map[string]int{"E01": 2 + 7 + 7, "E12": 2 + 14 + 14, "E25": 4 + 7 + 7, "S03": 3, "S07": 1} {
		if got := len(known[id].Reported); got != want {
			t.Errorf("%s: %d reported figures, want %d", id, got, want)
		}
	}
}

// One seed of everything, from end to end: every figure that a check or a section needs exists.
func TestAllOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("plays every experiment")
	}
	experimenttest.Whole(t, Study(), []uint64{1}, 10, "")
}

// A few experiments from end to end: every figure that a check or a table needs exists, and the same seed gives the same figures.
func TestMini(t *testing.T) {
	if testing.Short() {
		t.Skip("runs four experiments")
	}
	s := Study()
	for _, id := range []string{"S07", "V2-MSJ", "S12", "E26"} {
		e := s.Experiments[slices.IndexFunc(s.Experiments, func(e x.Experiment) bool { return e.ID == id })]
		m, err := e.Run(context.Background(), 1)
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		for _, r := range e.Reported {
			if _, ok := m[r.Metric]; !ok {
				t.Errorf("%s has no %s", id, r.Metric)
			}
		}
		for name, v := range m {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				t.Errorf("%s: %s = %v", id, name, v)
			}
		}
		again, err := e.Run(context.Background(), 1)
		if err != nil || !maps.Equal(m, again) {
			t.Errorf("%s: the same seed gave other figures (%v)", id, err)
		}
		switch id {
		case "V2-MSJ":
			if m["at-once/q1"] != 1 || m["at-once/q2"] != 1 {
				t.Errorf("V2-MSJ runs %v and %v jobs of a queue at once", m["at-once/q1"], m["at-once/q2"])
			}
		case "S12":
			if !(m["wait/q1/WordCount"] < m["wait/q1/TeraSort"] && m["wait/q1/TeraSort"] < m["wait/q1/Sort"]) {
				t.Error("S12 does not go by priority")
			}
		case "E26":
			if m["ratio/short"] > 1.65 || m["makespan/q1"] > m["makespan/q3"]/2 {
				t.Errorf("E26: ratio %v, makespans %v and %v", m["ratio/short"], m["makespan/q1"], m["makespan/q3"])
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := blocks[0].setup(0).run(ctx, 1); err == nil {
		t.Error("a run that was stopped gave figures")
	}
}

// invented are runs with made-up figures: enough for every check and every section.
func invented(s *x.Study, seeds int) *x.Runs {
	all := map[string][]x.Metrics{}
	list := make([]uint64, seeds)
	for i := range s.Experiments {
		id := s.Experiments[i].ID
		jobs := mix(longFirst)
		for seed := range seeds {
			list[seed] = uint64(seed + 1)
			m := x.Metrics{"makespan": 1, "occupancy": 1, "delayed": 0, "paired": 50, "stragglers": 1, "reduce-alone": 1, "reduce-paired": 2}
			for _, q := range []string{"q1", "q2", "q3", "q4"} {
				m["makespan/"+q], m["at-once/"+q] = 1, 1
				for _, name := range []string{"wait", "exec", "elapsed", "map", "reduce", "ratio", "rack-local", "delayed"} {
					for _, class := range []string{"1", "2", "3", "4", "5", "6", "7", "short", "long"} {
						m[name+"/"+class], m[name+"/"+class+"/"+q] = 1, float64(seed+2)
					}
					for _, job := range []string{"Sort", "TeraSort", "WordCount", "TeraSort1", "TeraSort2", "TeraSort3", "TeraSort4"} {
						m[name+"/"+q+"/"+job] = 1
					}
					for _, job := range validationJobs {
						m[name+"/"+job], m["paired/"+job] = 1, 100
					}
				}
			}
			for _, j := range jobs {
				m["exec/"+j.ID] = float64(seed + 1)
			}
			all[id] = append(all[id], m)
		}
	}
	return x.NewRuns(list, all)
}

func TestChecksAskForWhatRunsHave(t *testing.T) {
	s := Study()
	runs := invented(s, 3)
	seen := map[string]bool{}
	for _, c := range s.Checks {
		if seen[c.ID] {
			t.Errorf("two checks are named %s", c.ID)
		}
		seen[c.ID] = true
		var look func(j x.Judgement)
		look = func(j x.Judgement) {
			if j.Note == "no seed has this figure" {
				t.Errorf("%s asks for a figure that no run has: %s", c.ID, j.Label)
			}
			for _, p := range j.Parts {
				look(p)
			}
		}
		look(c.Judge.Of(runs))
	}
	titles := map[string]bool{}
	for _, sec := range s.Sections(runs) {
		titles[sec.Title] = true
		for _, table := range sec.Tables {
			for _, row := range table.Rows {
				if len(row) != len(table.Columns) {
					t.Errorf("%s, %s: a row of %d cells under %d columns", sec.Title, table.Caption, len(row), len(table.Columns))
				}
			}
		}
		for _, c := range sec.Charts {
			for _, series := range c.Series {
				if len(series.Points) != len(c.Categories) {
					t.Errorf("%s, %s: %d points for %d categories", sec.Title, c.Title, len(series.Points), len(c.Categories))
				}
			}
		}
	}
	if len(titles) != 11 {
		t.Errorf("%d sections: %v", len(titles), titles)
	}
	if got := s.Sections(x.NewRuns([]uint64{1}, nil)); len(got) != 0 {
		t.Errorf("%d sections of nothing", len(got))
	}
}

// The order of a design's cells: bit 0 is a maximum-capacity, bit 1 the factor, bit 2 the percentage.
func TestDesign(t *testing.T) {
	want := []string{"E01", "E02", "E03", "E05", "E04", "E06", "E07", "E08"}
	if got := blocks[0].design().Cells; !slices.Equal(got, want) {
		t.Errorf("cells are %v, want %v", got, want)
	}
}

// With queues sorted once per heartbeat jobs meet delayed map execution; a maximum-capacity prevents it, and the rule as written
// has none of it.
func TestSortedOnce(t *testing.T) {
	count := func(id string) (jobs float64) {
		s := Study()
		e := s.Experiments[slices.IndexFunc(s.Experiments, func(e x.Experiment) bool { return e.ID == id })]
		for seed := range uint64(10) {
			m, err := e.Run(context.Background(), seed+1)
			if err != nil {
				t.Fatal(err)
			}
			jobs += m["delayed/TSort2"] + m["delayed/TSort4"]
		}
		return jobs / 100
	}
	if n := count("V1-Q2s"); n == 0 {
		t.Error("sorted once a heartbeat: nobody met it")
	}
	if a, b := count("V1-MAXCAPs"), count("V1-Q2"); a != 0 || b != 0 {
		t.Errorf("capped %v, as written %v", a, b)
	}
}

func BenchmarkE01(b *testing.B) {
	p := blocks[0].setup(0)
	for b.Loop() {
		if _, err := p.run(context.Background(), 1); err != nil {
			b.Fatal(err)
		}
	}
}

// The two figures on which the disk was calibrated: a model change that moves them needs a new factor.
func TestCalibration(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the whole mix")
	}
	m, err := blocks[0].setup(0).run(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if v := m["makespan"]; math.Abs(v/1230-1) > 0.03 {
		t.Errorf("E01 ends after %.0f s, the source's after 1230 s", v)
	}
	var sum, runs float64
	for seed := range uint64(10) {
		m, err := sensitivitySetup(6).run(context.Background(), seed+1)
		if err != nil {
			t.Fatal(err)
		}
		if alone, ok := m["reduce-alone"]; ok {
			sum, runs = sum+alone, runs+1
		}
	}
	if alone := sum / runs; math.Abs(alone/840-1) > 0.03 {
		t.Errorf("in S07 a reduce alone takes %.0f s, the source's 840 s", alone)
	}
}
