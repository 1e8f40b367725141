package conform

import (
	"math"
	"testing"
)

// made is an outcome of jobs a, b, ... with the given ends, all submitted at 0, and AMs in the order of the ends.
func made(ends ...int64) *Outcome {
	o := NewOutcome()
	for i, e := range ends {
		id := string(rune('a' + i))
		o.Submit[id], o.End[id], o.Start[id] = 0, e, e/2
		o.Placed = append(o.Placed, Placement{Job: id, Node: int32(i), At: e / 2})
	}
	o.Settle()
	return o
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestMeasureSame(t *testing.T) {
	d := Measure(made(10_000, 20_000, 30_000), made(10_000, 20_000, 30_000))
	if d.Median != 0 || d.P95 != 0 || d.Within5 != 1 || d.MeanAbs != 0 || d.Order != 3 || d.Tau != 1 || d.Placed != 1 || d.First != -1 || !d.Passes() {
		t.Errorf("%+v", d)
	}
}

func TestMeasure(t *testing.T) {
	// b takes 10 % longer and starts after c; d never ends in ours.
	d := Measure(made(10_000, 20_000, 21_000, 5000), made(10_000, 22_000, 21_000, -1))
	if d.Jobs != 3 || d.Missing != 1 || !near(d.Median, 0.05) || !near(d.Within5, 2./3) || !near(d.MeanAbs, 0.1/3) {
		t.Errorf("%+v", d)
	}
	if d.Order != 2 || !near(d.Tau, 2./3) {
		t.Errorf("order %d, tau %v", d.Order, d.Tau)
	}
	if d.Passes() {
		t.Error("passes")
	}
	d = Measure(made(10_000, 20_000), made(10_000, 23_000))
	if d.Placed != 0.5 || d.First != -1 {
		t.Errorf("a container 1.5 s late: %+v", d)
	}
}

func TestFirst(t *testing.T) {
	a := []Placement{{Job: "a", Node: 1, Priority: 20, At: 1000}, {Job: "b", Node: 1, Priority: 20, At: 2000}, {Job: "c", Node: 2, Priority: 20, At: 3000}}
	b := []Placement{{Job: "a", Node: 1, Priority: 20, At: 1000}, {Job: "b", Node: 2, Priority: 20, At: 2000}, {Job: "c", Node: 2, Priority: 20, At: 3000}}
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

// The order of containers that one pass allocates on one node is not known on both sides and is ignored.
func TestSettle(t *testing.T) {
	x := &Outcome{Placed: []Placement{{Job: "b", Node: 1, Priority: 20, At: 1002}, {Job: "a", Node: 1, Priority: 20, At: 1001}, {Job: "c", Node: 2, Priority: 20, At: 1003}, {Job: "a", Node: 1, Priority: 20, At: 2001}}}
	x.Settle()
	for i, want := range []string{"a", "b", "c", "a"} {
		if x.Placed[i].Job != want {
			t.Fatalf("%+v", x.Placed)
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
		"bar":           {Row{Runs: []RunResult{{Phases: good}, {Phases: good}}}, true, meetsBar},
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
