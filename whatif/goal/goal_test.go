package goal

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"

	"github.com/yardmaster/yardmaster/result"
)

func TestParse(t *testing.T) {
	for _, text := range []string{"p95 elapsed of root.adhoc", "mean wait of all", "median slowdown of etl jobs"} {
		if g, err := Parse(text); err != nil || g.String() != text {
			t.Errorf("%q: %v, %v", text, g, err)
		}
	}
	for text, want := range map[string]string{
		"":                     "is not a goal",
		"p95 elapsed root.a":   "is not a goal",
		"p59 elapsed of all":   `did you mean "p95"`,
		"p95 elapsd of root.a": `did you mean "elapsed"`,
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]float64{"p95 elapsed of root.prod <= +2 %": 0.02, "mean wait of all <=-5%": -0.05} {
		if b, err := ParseBound(text); err != nil || b.Limit != want {
			t.Errorf("%q: %v, %v", text, b, err)
		}
	}
	for _, text := range []string{"p95 elapsed of a", "p95 elapsed of a <= 2", "p95 elapsed of a <= 2 %", "p95 elapsed of a <= +2", "p95 elapsed of a <= %", "p95 elapsed of a <= +NaN %"} {
		if b, err := ParseBound(text); err == nil {
			t.Errorf("%q is taken as %v", text, b)
		}
	}
}

func TestBoundRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Bound{Goal{rapid.SampledFrom(statistics).Draw(t, "statistic"), rapid.SampledFrom(figures).Draw(t, "figure"), "root.q"}, float64(rapid.IntRange(-99, 1000).Draw(t, "percent")) / 100}
		again, err := ParseBound(b.String())
		if err != nil || again.Goal != b.Goal || math.Abs(again.Limit-b.Limit) > 1e-12 {
			t.Fatalf("%v became %v, %v", b, again, err)
		}
	})
}

func TestMeasure(t *testing.T) {
	r := &result.Run{ByQueue: []result.Group{
		{Name: "prod", Elapsed: result.Stats{Count: 50, Mean: 10, Median: 8, P95: 30}},
		{Name: "root.etl.adhoc", Elapsed: result.Stats{Count: 3, Mean: 7, P95: 9}},
		{Name: "idle"},
	}}
	r.Metrics.Slowdown = result.Stats{Count: 53, Mean: 2}
	for text, want := range map[string]float64{
		"p95 elapsed of root.prod": 30, "median elapsed of prod": 8, "mean elapsed of adhoc": 7, "mean slowdown of all": 2,
		"mean elapsed of idle": math.NaN(), "mean elapsed of od": math.NaN(), "mean wait of prod": math.NaN(),
	} {
		g, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if v, _ := g.Measure(r); v != want && !(math.IsNaN(v) && math.IsNaN(want)) {
			t.Errorf("%s: %v, want %v", text, v, want)
		}
	}
	g := Goal{P95, Elapsed, "adhoc"}
	if _, jobs := g.Measure(r); g.For(jobs).Statistic != Mean || g.For(MinJobs) != g {
		t.Error("few jobs have a mean, many a 95th percentile")
	}
	if v := g.Of([]float64{1, 2, 3}); v < 2.8 || v > 3 {
		t.Errorf("p95 %v", v)
	}
}

func TestKept(t *testing.T) {
	b := Bound{Limit: 0.02}
	nan := math.NaN()
	for _, c := range []struct {
		before, after float64
		kept          bool
	}{{100, 102, true}, {100, 102.1, false}, {100, 50, true}, {0, 0, true}, {0, 1, false}, {nan, 5, true}, {5, nan, false}} {
		if got := b.Kept(c.before, c.after); got != c.kept {
			t.Errorf("%v to %v: kept %v", c.before, c.after, got)
		}
	}
}
