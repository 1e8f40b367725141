package conform

import (
	"math"
	"testing"
)

// made is an outcome of jobs a, b, ... with the given ends, all submitted at 0, and masters in the order of the ends.
func made(ends ...int64) *outcome {
	o := &outcome{submit: map[string]int64{}, end: map[string]int64{}, start: map[string]int64{}}
	for i, e := range ends {
		id := string(rune('a' + i))
		o.submit[id], o.end[id], o.start[id] = 0, e, e/2
		o.placed = append(o.placed, placement{job: id, node: int32(i), at: e / 2})
	}
	o.settle()
	return o
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestMeasureSame(t *testing.T) {
	d := measure(made(10_000, 20_000, 30_000), made(10_000, 20_000, 30_000))
	if d.Median != 0 || d.P95 != 0 || d.Within5 != 1 || d.MeanAbs != 0 || d.Order != 3 || d.Tau != 1 || d.Placed != 1 || d.First != -1 || !d.passes() {
		t.Errorf("%+v", d)
	}
}

func TestMeasure(t *testing.T) {
	// b takes 10 % longer and starts after c; d never ends in ours.
	d := measure(made(10_000, 20_000, 21_000, 5000), made(10_000, 22_000, 21_000, -1))
	if d.Jobs != 3 || d.Missing != 1 || !near(d.Median, 0.05) || !near(d.Within5, 2./3) || !near(d.MeanAbs, 0.1/3) {
		t.Errorf("%+v", d)
	}
	if d.Order != 2 || !near(d.Tau, 2./3) {
		t.Errorf("order %d, tau %v", d.Order, d.Tau)
	}
	if d.passes() {
		t.Error("passes")
	}
	d = measure(made(10_000, 20_000), made(10_000, 23_000))
	if d.Placed != 0.5 || d.First != -1 {
		t.Errorf("a container 1.5 s late: %+v", d)
	}
}

func TestFirst(t *testing.T) {
	a := []placement{{job: "a", node: 1, priority: 20, at: 1000}, {job: "b", node: 1, priority: 20, at: 2000}, {job: "c", node: 2, priority: 20, at: 3000}}
	b := []placement{{job: "a", node: 1, priority: 20, at: 1000}, {job: "b", node: 2, priority: 20, at: 2000}, {job: "c", node: 2, priority: 20, at: 3000}}
	if n, at := first(a, b); n != 1 || at != 2 {
		t.Errorf("%d at %v", n, at)
	}
	if n, _ := first(a, a[:2]); n != 2 {
		t.Errorf("one is missing: %d", n)
	}
	if n, at := first(a[:2], a); n != 2 || at != 3 {
		t.Errorf("one too many: %d at %v", n, at)
	}
}

// The order of containers that one pass gives on one node is not known on both sides and does not count.
func TestSettle(t *testing.T) {
	x := &outcome{placed: []placement{{job: "b", node: 1, priority: 20, at: 1002}, {job: "a", node: 1, priority: 20, at: 1001}, {job: "c", node: 2, priority: 20, at: 1003}, {job: "a", node: 1, priority: 20, at: 2001}}}
	x.settle()
	for i, want := range []string{"a", "b", "c", "a"} {
		if x.placed[i].job != want {
			t.Fatalf("%+v", x.placed)
		}
	}
}

func TestJudge(t *testing.T) {
	good := Distance{Within5: 1}
	bad := Distance{Median: 0.03, P95: 0.005, Within5: 0.9, MeanAbs: 0.02}
	for name, c := range map[string]struct {
		row Row
		met bool
		why string
	}{
		"bar":           {Row{Runs: []RunResult{{Phases: good}, {Phases: good}}}, true, "by the bar"},
		"one run not":   {Row{Runs: []RunResult{{Phases: good}, {Phases: bad}}, Twice: true, Spread: good}, false, "median"},
		"own spread":    {Row{Runs: []RunResult{{Phases: bad}}, Twice: true, Spread: Distance{Median: 0.04, Within5: 0.8, MeanAbs: 0.03}}, true, "within SLS's own spread"},
		"mean":          {Row{Runs: []RunResult{{Phases: bad}}, Twice: true, Spread: Distance{Median: 0.04, Within5: 0.8, MeanAbs: 0.01}}, false, "mean error"},
		"within":        {Row{Runs: []RunResult{{Phases: bad}}, Twice: true, Spread: Distance{Median: 0.04, Within5: 0.92, MeanAbs: 0.1}}, false, "jobs within 5 %"},
		"no second run": {Row{Runs: []RunResult{{Phases: bad}}}, false, "no second run to compare with"},
		"missing": {
			Row{Runs: []RunResult{{Phases: Distance{Within5: 1, Missing: 2}}}, Twice: true, Spread: bad}, false, "2 jobs did not end in both",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.row.judge()
			if c.row.Met != c.met || c.row.Why != c.why {
				t.Errorf("%v: %s", c.row.Met, c.row.Why)
			}
		})
	}
}
