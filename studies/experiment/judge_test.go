package experiment

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/result"
)

// of makes runs of one figure, "v", in experiments "a", "b" and so on.
func of(columns ...[]float64) *Runs {
	metrics := map[string][]Metrics{}
	for i, column := range columns {
		for _, v := range column {
			name := string(rune('a' + i))
			metrics[name] = append(metrics[name], Metrics{"v": v})
		}
	}
	return NewRuns(Seeds(1, len(columns[0])), metrics)
}

var a, b = Of("a", "v"), Of("b", "v")

func near(x, y float64) bool { return math.Abs(x-y) < 5e-4*math.Max(1, math.Abs(y)) }

// Student's sleep data (Biometrika, 1908): the hours of sleep that ten patients gained under two drugs; R's t.test gives the mean
// difference 1.58 with the interval 0.7001 to 2.4599, and for the first drug alone the mean 0.75 with -0.5298 to 2.0298.
var (
	sleepA = []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	sleepB = []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
)

func TestIntervalsAgainstStudent(t *testing.T) {
	r := of(sleepA, sleepB)
	if e := r.Estimate("a", "v"); !near(e.Mean, 0.75) || !near(e.Low, -0.5298) || !near(e.High, 2.0298) {
		t.Errorf("drug 1: %+v", e)
	}
	j := Rises(a, b).Of(r)
	if !j.Holds || !near(j.Value, 1.58) || !near(j.Lo, 0.7001) || !near(j.Hi, 2.4599) {
		t.Errorf("paired: %+v", j)
	}
	// Unpaired, Welch's interval contains zero: pairing is what makes the difference significant.
	if j := Falls(a, b).Of(r); j.Holds || j.Note != "" {
		t.Errorf("the other way: %+v", j)
	}
}

func TestJudges(t *testing.T) {
	up := of([]float64{10, 20, 30}, []float64{15, 30, 45})
	vague := of([]float64{10, 20, 30}, []float64{9, 25, 30})
	same := of([]float64{10, 20, 30}, []float64{10, 20, 30})
	some := of([]float64{10, math.NaN(), 30}, []float64{15, 30, 45})
	one := of([]float64{10}, []float64{15})
	zero := of([]float64{0, 0, 0}, []float64{1, 2, 3})
	below := of([]float64{-3, -2, -4}, []float64{1, 2, 3})
	none := of([]float64{math.NaN(), math.NaN()}, []float64{1, 2})
	for _, c := range []struct {
		name  string
		judge Judge
		on    *Runs
		holds bool
		note  string
		ours  string
	}{
		{"rises", Rises(a, b), up, true, "", "20 → 30, +50.0 %"},
		{"falls", Falls(a, b), up, false, "", "20 → 30, +50.0 %"},
		{"less", Less(a, b), up, true, "", "30 → 20, -33.3 %"},
		{"not sure", Rises(a, b), vague, false, noteUnsure, ""},
		{"no change", Rises(a, b), same, false, "", "20 → 20, 0 %"},
		{"some seeds lack it", Rises(a, b), some, true, "", "20 → 30, +50.0 %"},
		{"one seed", Rises(a, b), one, true, noteOneSeed, "10 → 15, +50.0 %"},
		{"from nothing", Rises(a, b), zero, false, noteUnsure, "0 → 2, +2 (-0.484 to +4.48)"},
		{"to nothing", Falls(b, a), zero, false, noteUnsure, "2 → 0, -100 %"},
		{"from below nothing", Rises(a, b), below, true, "", "-3 → 2, +5 (+0.697 to +9.30)"},
		{"nothing", Rises(a, b), none, false, noteNothing, "-"},
		{"changes", Changes(a, b, 0.4, 0.6), up, true, "", ""},
		{"changes at the bound", Changes(a, b, 0.5, 0.6), up, true, "", ""},
		{"changes too much", Changes(a, b, 0, 0.4), up, false, "", ""},
		{"a share of nothing", Changes(a, b, 0, 0.4), zero, false, noteNothing, "-"},
		{"about equal", AboutEqual(a, b, 0.05), same, true, "", ""},
		{"about equal, not surely", AboutEqual(a, b, 0.1), vague, true, noteAcross, ""},
		{"within", Within(a, 15, 25), up, true, noteAcross, "20 (-4.84 to 44.8)"},
		{"within widely", Within(a, -100, 100), up, true, "", ""},
		{"without", Within(a, 21, 25), up, false, noteAcross, ""},
		{"far without", Within(a, 210, 250), up, false, "", ""},
		{"at least", AtLeast(a, 20), same, true, noteAcross, ""},
		{"at most", AtMost(a, 19.9), same, false, noteAcross, ""},
		{"always", Always(a, 10, 30), up, true, "", "10 to 30 over the seeds"},
		{"not always", Always(a, 10, 29), up, false, "in 2 of 3 seeds", ""},
		{"always the same", Always(a, 0, 0), zero, true, "", "0 in every seed"},
		{"quotient", Within(Quotient(b, a), 1.5, 1.5), up, true, "", "1.50"},
		{"quotient by nothing", Within(Quotient(b, a), 1.5, 1.5), zero, false, noteNothing, ""},
		{"difference", Always(Difference(b, a), 5, 15), up, true, "", ""},
		{"largest", Always(MaxOf(a, b), 15, 45), up, true, "", "15 to 45 over the seeds"},
		{"smallest", Always(MinOf(a, b), 10, 30), up, true, "", "10 to 30 over the seeds"},
		{"mean", Always(MeanOf(a, b), 12.5, 37.5), up, true, "", "12.5 to 37.5 over the seeds"},
	} {
		j := c.judge.Of(c.on)
		if j.Holds != c.holds || j.Note != c.note || c.ours != "" && j.Ours != c.ours {
			t.Errorf("%s (%s): holds %v, %q, %q", c.name, c.judge.Rule, j.Holds, j.Note, j.Ours)
		}
	}
}

func TestAllAnyEach(t *testing.T) {
	r := of([]float64{10, 20, 30}, []float64{15, 30, 45})
	yes, no := Rises(a, b), Falls(a, b)
	each := func(judges ...Judge) Judge {
		var each []Judge
		for i := 1; i <= 5; i++ {
			each = append(each, Labelled(fmt.Sprint(i), judges[i%len(judges)]))
		}
		return All(each...)
	}
	for _, c := range []struct {
		name  string
		judge Judge
		holds bool
		parts int
		ours  string
	}{
		{"all", All(yes, yes), true, 2, "20 → 30, +50.0 %; 20 → 30, +50.0 %"},
		{"not all", All(yes, no), false, 2, ""},
		{"any", Any(no, yes), true, 2, ""},
		{"none", Any(no, no), false, 2, ""},
		{"no parts", All(), false, 0, "-"},
		{"each", each(yes), true, 5, "all 5: 1: 20 → 30, +50.0 %"},
		{"not each", each(yes, no), false, 5, "2 of 5; not 1: 20 → 30, +50.0 %; not 3: 20 → 30, +50.0 %; not 5: 20 → 30, +50.0 %"},
		{"all in all", All(All(yes, yes), Labelled("x", All(Labelled("y", no)))), false, 3, "20 → 30, +50.0 %; 20 → 30, +50.0 %; x y: 20 → 30, +50.0 %"},
		{"any in all", All(Any(yes, no), yes), true, 2, ""},
		{"one seed is said once", All(Within(a, 0, 100), Within(b, 0, 100)), true, 2, ""},
	} {
		j := c.judge.Of(r)
		if j.Holds != c.holds || len(j.Parts) != c.parts || c.ours != "" && j.Ours != c.ours {
			t.Errorf("%s: holds %v, %d parts, %q", c.name, j.Holds, len(j.Parts), j.Ours)
		}
	}
	if j := All(yes, yes).Of(of([]float64{1}, []float64{2})); j.Note != noteOneSeed || j.Ours != "1 → 2, +100 %; 1 → 2, +100 %" {
		t.Errorf("%q, %q", j.Ours, j.Note)
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1", 1232: "1232", 1232.4: "1232", 99.96: "100", 99.94: "99.9", 12.34: "12.3", 1.234: "1.23", 0.9996: "1.00", 0.1234: "0.123", 0.00012345: "0.000123",
		-3.14159: "-3.14", math.NaN(): "-", 1e20: "100000000000000000000",
	} {
		if got := Number(v); got != want && !math.IsNaN(v) {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	for want, e := range map[string]result.Estimate{
		"+61.0 % (+58.2 to +63.9)":  {N: 3, Mean: 1.61, Low: 1.582, High: 1.639, Known: true},
		"-59.0 %":                   {N: 1, Mean: 0.41, Low: 0.41, High: 0.41},
		"0 %":                       {N: 3, Mean: 1, Low: 1, High: 1, Known: true},
		"66.5 times (64.5 to 68.7)": {N: 3, Mean: 66.53, Low: 64.45, High: 68.68, Known: true},
	} {
		if got := Change(e); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for want, p := range map[string]Point{"1190 ± 12": {1190, 1178, 1202}, "1.01": {1.0101, 1.0099, 1.0103}, "3": {3, 3, 3}, "-": {math.NaN(), 0, 0}, "15.1 ± 0.4": {15.1, 14.7, 15.5}} {
		if got := p.short(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Box, Hunter and Hunter's pilot plant (Statistics for Experimenters, table 5.3): the effects of temperature, concentration and catalyst on
// yield are 23, -5 and 1.5; those of their interactions 1.5, 10, 0 and 0.5.
func TestEffectsOfAPilotPlant(t *testing.T) {
	metrics := map[string][]Metrics{}
	var cells []string
	for i, yield := range []float64{60, 72, 54, 68, 52, 83, 45, 80} {
		id := fmt.Sprint(i)
		cells = append(cells, id)
		metrics[id] = []Metrics{{"yield": yield - 1}, {"yield": yield + 1}, {"yield": yield}}
	}
	d := Design{Factors: []string{"T", "C", "K"}, Cells: cells}
	r := NewRuns(Seeds(1, 3), metrics)
	want := map[string]float64{"T": 23, "C": -5, "K": 1.5, "T x C": 1.5, "T x K": 10, "C x K": 0, "T x C x K": 0.5}
	var shares float64
	effects := d.Effects(r, "yield")
	for _, e := range effects {
		if !near(e.Mean, want[e.Name]) || e.High-e.Low > 1e-9 { // the seeds shift all cells equally, which cancels
			t.Errorf("%s: %v (%v to %v), want %v", e.Name, e.Mean, e.Low, e.High, want[e.Name])
		}
		shares += e.Share
	}
	if len(effects) != 7 || effects[0].Name != "T" || effects[6].Name != "T x C x K" || !near(shares, 1) || !near(effects[0].Relative.Mean, 23/64.25) {
		t.Errorf("%d effects, shares %v: %+v", len(effects), shares, effects)
	}
	if d.Effects(NewRuns(Seeds(1, 1), map[string][]Metrics{"0": {{"yield": 1}}}), "yield") != nil {
		t.Error("effects of a design that was not run")
	}
}

// A direction never holds both ways, is symmetric, and does not depend on the unit; an insignificant change
// holds neither way.
func TestDirectionsAreConsistent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "seeds")
		draw := func(name string) []float64 {
			return rapid.SliceOfN(rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0.01, 1000)), n, n).Draw(t, name)
		}
		x, y := draw("a"), draw("b")
		r := of(x, y)
		up, down := Rises(a, b).Of(r), Falls(a, b).Of(r)
		if up.Holds && down.Holds {
			t.Fatal("it rises and falls")
		}
		if back := Falls(b, a).Of(r); back.Holds != up.Holds {
			t.Fatalf("from a to b: %+v; from b to a: %+v", up, back)
		}
		if (up.Note == noteUnsure || down.Note == noteUnsure) && (up.Holds || down.Holds) {
			t.Fatal("not significant, and yet it holds")
		}
		for i := range x {
			x[i], y[i] = x[i]*4, y[i]*4
		}
		if scaled := Rises(a, b).Of(of(x, y)); scaled.Holds != up.Holds || scaled.Note != up.Note {
			t.Fatalf("in another unit: %+v, was %+v", scaled, up)
		}
	})
}
