package report

import (
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/unit"
	"pgregory.net/rapid"
)

func TestFigure(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit verdict.Unit
		want string
	}{
		{204, verdict.Seconds, "3.4\u00a0min"}, {0, verdict.Seconds, "0\u00a0s"}, {-204, verdict.Seconds, "−3.4\u00a0min"}, {math.NaN(), verdict.Seconds, "–"}, {math.Inf(1), verdict.Ratio, "–"},
		{8.814, verdict.Ratio, "8.81"}, {40.66, verdict.Ratio, "40.7"}, {1234.5, verdict.Ratio, "1,235"}, {2.5e7, verdict.Ratio, "2.5e+07"},
		{0.4312, verdict.Share, "43.1\u00a0%"}, {24442, verdict.Count, "24,442"}, {-1234567, verdict.Count, "−1,234,567"}, {999, verdict.Count, "999"},
	} {
		if got := figure(c.v, c.unit); got != c.want {
			t.Errorf("figure(%v, %d) = %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}

func TestChange(t *testing.T) {
	for name, c := range map[string]struct {
		cell verdict.Cell
		base float64
		text string
	}{
		"less":           {verdict.Cell{Mean: 57, Change: -43}, 100, "−43\u00a0%"},
		"more":           {verdict.Cell{Mean: 104.2, Change: 4.23}, 100, "+4.2\u00a0%"},
		"nothing":        {verdict.Cell{Mean: 100, Change: 0.01}, 100, "±0\u00a0%"},
		"nearly all":     {verdict.Cell{Mean: 0.02, Change: -99.98}, 100, "−99.98\u00a0%"},
		"all":            {verdict.Cell{Mean: 0, Change: -100}, 100, "−100\u00a0%"},
		"from nothing":   {verdict.Cell{Mean: 12, Change: math.Inf(1)}, 0, "+12\u00a0s"},
		"still nothing":  {verdict.Cell{Mean: 0, Change: math.NaN()}, 0, "±0"},
		"not a number":   {verdict.Cell{Mean: math.NaN(), Change: math.NaN()}, 0, "–"},
		"twenty times":   {verdict.Cell{Mean: 2000, Change: 1900}, 100, "+1,900\u00a0%"},
		"a round number": {verdict.Cell{Mean: 102, Change: 2}, 100, "+2\u00a0%"},
	} {
		if text := change(&c.cell, c.base, verdict.Seconds); text != c.text {
			t.Errorf("%s: %q, want %q", name, text, c.text)
		}
	}
}

func TestInterval(t *testing.T) {
	for want, c := range map[string]verdict.Cell{
		"−48 to −38":         {Change: -43, ChangeLow: -48, ChangeHigh: -38},
		"−99.99 to −99.96":   {Change: -99.98, ChangeLow: -99.99, ChangeHigh: -99.96},
		"−0.4 to +2":         {Change: 0.8, ChangeLow: -0.4, ChangeHigh: 2},
		"−83 to over +9,999": {Change: 120, ChangeLow: -83, ChangeHigh: 1e7},
		"":                   {Change: 5},
	} {
		if got := interval(&c, verdict.Seconds); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := interval(&verdict.Cell{Change: 5, ChangeLow: math.NaN(), ChangeHigh: math.NaN()}, verdict.Seconds); got != "" {
		t.Errorf("got %q without an interval", got)
	}
}

// Figures that are read side by side have one unit: those of a metric in the comparison, of a column in the table of queues.
func TestOneUnitPerColumn(t *testing.T) {
	d := sample(100, eightQueues, "fair", "fifo")
	d.Comparison = []verdict.Row{{Metric: "median wait", Unit: verdict.Seconds, Cells: []verdict.Cell{{Mean: 0.1}, {Mean: 1596, Change: 1e6}}}}
	for i := range eightQueues {
		cells := d.Groups[i].Rows[0].Cells
		cells[0].Mean, cells[1].Mean = 0.5, 60*float64(i+1)
	}
	html := body(t, d)
	has(t, html, "<td class=\"n\">0.1\u00a0s</td><td class=\"n\">1,596\u00a0s</td>")
	table, _, _ := strings.Cut(html[strings.Index(html, `id="by-queue"`):], "</table>")
	units := map[string]bool{}
	for _, m := range regexp.MustCompile(`data-v="[^"]*">[^<]*\x{a0}(\pL+)`).FindAllStringSubmatch(table, -1) {
		units[m[1]] = true
	}
	if len(units) != 1 {
		t.Errorf("units of p95 elapsed: %v", units)
	}
}

func TestLabels(t *testing.T) {
	for _, c := range []struct{ in, want []string }{
		{[]string{"fifo", "./conf/capacity-scheduler.xml"}, []string{"fifo", "capacity-scheduler.xml"}},
		{[]string{"a/x.xml", "b/x.xml", "x.xml"}, []string{"a/x.xml", "b/x.xml", "x.xml"}},
		{[]string{"fair", "fair", ""}, []string{"fair", "fair (2)", "unnamed"}},
		{[]string{`C:\conf\fair.xml`, "/"}, []string{"fair.xml", "unnamed"}},
		{[]string{"fifo", "a/capacity-scheduler.xml", "b/fair.xml", "c/fair.xml", "fair:by=user"}, []string{"fifo", "capacity-scheduler.xml", "b/fair.xml", "c/fair.xml", "fair:by=user"}},
		{[]string{"/etc/now/capacity-scheduler.xml", "/etc/new/capacity-scheduler.xml"}, []string{"now", "new"}},
		{[]string{"now/conf/capacity-scheduler.xml", "new/conf/capacity-scheduler.xml", "fifo"}, []string{"now", "new", "fifo"}},
		{[]string{"capacity-scheduler-before.xml", "capacity-scheduler-after.xml"}, []string{"before", "after"}},
		{[]string{"mycluster/capacity-scheduler.xml", "capacity-new.xml"}, []string{"capacity-scheduler.xml", "capacity-new.xml"}},
		{[]string{"capacity1:slots=yes,minimum-user-limit-percent=25", "capacity1:slots=yes,minimum-user-limit-percent=50", "fifo"},
			[]string{"capacity1:minimum-user-limit-percent=25", "capacity1:minimum-user-limit-percent=50", "fifo"}},
		{[]string{"fair", "fair:by=user"}, []string{"fair", "fair:by=user"}},
		{[]string{"my/capacity-scheduler.xml", "my/capacity-scheduler.xml + cbt", "my/capacity-scheduler.xml + static"}, []string{"capacity-scheduler.xml", "cbt", "static"}},
		{[]string{"my/fair-scheduler.xml", "my/fair-scheduler.xml + cbt", "fifo"}, []string{"fair-scheduler.xml", "fair-scheduler.xml + cbt", "fifo"}},
	} {
		if diff := cmp.Diff(c.want, Labels(c.in)); diff != "" {
			t.Errorf("%q: %s", c.in, diff)
		}
	}
}

// No two schedulers are called alike, whatever they were called.
func TestPropertyLabelsAreDistinct(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "b", "capacity-scheduler.xml", "capacity-scheduler-a-long-name.xml", "conf", "fair", "fair:by=user,x=1", "fair:x=1", " + cbt", "/", "C:", `\`, "-"})
	rapid.Check(t, func(t *rapid.T) {
		full := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(part, 0, 5).Draw(t, "parts"), "")
		}), 1, 6).Draw(t, "schedulers")
		seen := map[string]bool{}
		for _, l := range Labels(full) {
			if l == "" || seen[l] {
				t.Fatalf("%q: %q", full, Labels(full))
			}
			seen[l] = true
		}
	})
}

func TestEmphasise(t *testing.T) {
	got := emphasise("p95 wait: fair -43 % +- 5, unfair is not fair:by=user against fifo.", []string{"fifo", "fair", "fair:by=user"})
	want := []piece{{"p95 wait: ", false}, {"fair", true}, {" −43\u00a0% ± 5, unfair is not ", false}, {"fair:by=user", true}, {" against ", false}, {"fifo", true}, {".", false}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSeedList(t *testing.T) {
	for want, seeds := range map[string][]uint64{"": nil, "7": {7}, "1–5": {1, 2, 3, 4, 5}, "1, 3–4, 9": {1, 3, 4, 9}} {
		if got := unit.Ranges(seeds, "–", ", "); got != want {
			t.Errorf("%v: %q, want %q", seeds, got, want)
		}
	}
}

// Merging intervals and gathering queues keeps the container time.
func TestTimelineKeepsItsArea(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, queues := rapid.IntRange(1, 40).Draw(t, "n"), rapid.IntRange(1, 12).Draw(t, "queues")
		var tl result.Timeline
		at := 0.0
		for range n + 1 {
			tl.Edges = append(tl.Edges, at)
			at += float64(rapid.IntRange(1, 9).Draw(t, "width"))
		}
		want := 0.0
		for q := range queues {
			tl.Queues = append(tl.Queues, string(rune('a'+q)))
			row := make([]float64, n)
			for i := range row {
				row[i] = float64(rapid.IntRange(0, 50).Draw(t, "held"))
				want += row[i] * (tl.Edges[i+1] - tl.Edges[i])
			}
			tl.Containers = append(tl.Containers, row)
		}
		shown, index := rankQueues([]Run{{Picture: Picture{Timeline: tl}}})
		limit := rapid.IntRange(1, 50).Draw(t, "limit")
		var got struct {
			Edges []float64
			Held  [][]float64
		}
		if err := json.Unmarshal([]byte(script(newTimelineData(tl, index, len(shown), limit))), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Edges)-1 > limit || len(got.Held) > maxQueues {
			t.Fatalf("%d intervals of %d queues, limits are %d and %d", len(got.Edges)-1, len(got.Held), limit, maxQueues)
		}
		area := 0.0
		for _, row := range got.Held {
			for i, v := range row {
				area += v * (got.Edges[i+1] - got.Edges[i])
			}
		}
		if math.Abs(area-want) > 0.001*want+0.001 {
			t.Fatalf("container time %v became %v", want, area)
		}
	})
}

// Whatever the runs' jobs are, the columns have one length, and each run's times are those of its own rows.
func TestJobColumns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var runs []Run
		for range rapid.IntRange(1, 3).Draw(t, "runs") {
			var r Run
			for range rapid.IntRange(0, 12).Draw(t, "jobs") {
				j := result.JobRow{ID: rapid.SampledFrom([]string{"j1", "j2", "j3", "j10", "ж", ""}).Draw(t, "id"), Submit: float64(rapid.IntRange(0, 99).Draw(t, "submit")), Start: -1, Finish: -1}
				if rapid.Bool().Draw(t, "started") {
					j.Start = j.Submit + 3
					if rapid.Bool().Draw(t, "finished") {
						j.Finish = j.Start + 4
					}
				}
				r.Jobs = append(r.Jobs, j)
			}
			runs = append(runs, r)
		}
		var got struct {
			ID, Submit, Tasks []any
			Runs              []struct{ Wait, Run []any }
		}
		if err := json.Unmarshal([]byte(script(newJobColumns(runs, map[string]int{"": 0}))), &got); err != nil {
			t.Fatal(err)
		}
		for i, r := range got.Runs {
			if len(r.Wait) != len(got.ID) || len(r.Run) != len(got.ID) || len(got.Submit) != len(got.ID) || len(got.Tasks) != len(got.ID) {
				t.Fatal("columns of different lengths")
			}
			rows := 0
			for _, w := range r.Wait {
				if w != nil {
					rows++
				}
			}
			if rows != len(runs[i].Jobs) {
				t.Fatalf("run %d has %d rows for %d jobs", i, rows, len(runs[i].Jobs))
			}
		}
	})
}

// Resampling keeps the time that jobs wait, whatever the intervals.
func TestResampleKeepsItsArea(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tl := result.Timeline{Edges: []float64{float64(rapid.IntRange(0, 20).Draw(t, "begin"))}}
		want := 0.0
		for i := range rapid.IntRange(1, 40).Draw(t, "n") {
			width, v := float64(rapid.IntRange(1, 9).Draw(t, "width")), float64(rapid.IntRange(0, 50).Draw(t, "waiting"))
			tl.Edges, tl.Waiting, want = append(tl.Edges, tl.Edges[i]+width), append(tl.Waiting, v), want+v*width
		}
		other := result.Timeline{Edges: []float64{0, 500}, Waiting: []float64{1}}
		from, to := span([]Run{{}, {Picture: Picture{Timeline: tl}}, {Picture: Picture{Timeline: other}}})
		if from != 0 || to != 500 {
			t.Fatalf("from %v to %v", from, to)
		}
		n := rapid.IntRange(1, 700).Draw(t, "points")
		area := 0.0
		for _, v := range resample(tl, from, to, n) {
			area += v.v * (to - from) / float64(n)
		}
		if math.Abs(area-want) > 1e-6*(1+want) {
			t.Fatalf("job-seconds of waiting %v became %v", want, area)
		}
	})
}

// A long run in one queue: the page gets as many intervals as the limit allows.
func TestLongTimeline(t *testing.T) {
	d := sample(3000, []string{"default"}, "fifo")
	tl := result.Timeline{Queues: []string{"default"}, Containers: make([][]float64, 1)}
	for i := range 150_000 {
		tl.Edges = append(tl.Edges, float64(i))
		tl.Containers[0] = append(tl.Containers[0], math.Floor(50+50*math.Sin(float64(i)/5000)*math.Sin(float64(i)/7)))
	}
	tl.Edges = append(tl.Edges, 150_000)
	d.Runs[0].Timeline, d.Runs[0].Ceiling = tl, []Level{{0, 100}}
	html := write(t, d)
	keep(t, "long", html)
	held := pageData(t, html)["runs"].([]any)[0].(map[string]any)["timeline"].(map[string]any)["held"].([]any)[0].([]any)
	if len(held) != 75_000 {
		t.Errorf("%d intervals, want pairs merged", len(held))
	}
}
