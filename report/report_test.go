package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
)

func write(t testing.TB, d Data) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// keep writes a report into the folder that YARDMASTER_REPORTS names, for looking at and for scripts/screenshot/check.mjs.
func keep(t testing.TB, name, html string) {
	t.Helper()
	if dir := os.Getenv("YARDMASTER_REPORTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".html"), []byte(html), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// pageData reads the JSON of a page back.
func pageData(t testing.TB, html string) map[string]any {
	t.Helper()
	m := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindStringSubmatch(html)
	if m == nil {
		t.Fatal("the page has no data")
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(m[1]), &out); err != nil {
		t.Fatalf("the page's data: %v", err)
	}
	return out
}

func TestADayOfThreeSchedulersIsUnder3MB(t *testing.T) {
	d := sample(24442, eightQueues, "fifo", "fair", "conf/capacity-scheduler.xml")
	html := write(t, d)
	keep(t, "day", html)
	t.Logf("%d bytes", len(html))
	if len(html) >= 3_000_000 {
		t.Errorf("%d bytes, want under 3 MB", len(html))
	}
	data := pageData(t, html)
	if n := len(data["jobs"].(map[string]any)["id"].([]any)); n > 0 || strings.Contains(html, `id="chart-jobs"`) {
		t.Errorf("%d jobs are drawn, though they cannot be told apart", n)
	}
	if w := data["waiting"].([]any); len(w) != 3 || len(w[2].([]any)) != waitingPoints {
		t.Errorf("%d runs have waiting jobs", len(w))
	}
	if again := write(t, d); again != html {
		t.Error("the same data gave other bytes")
	}
}

func TestOrderOfThePage(t *testing.T) {
	html := write(t, sample(maxJobs, eightQueues[:3], "fifo", "fair"))
	keep(t, "two", html)
	at := 0
	for _, want := range []string{
		"<h1>", `class="verdict"`, "<b>fair</b>: better for", `class="forest"`, "no change", `id="by-queue"`, `class="touched"`, "comes first", "All jobs", `class="compare"`, "against fifo",
		"Service levels", "jobs over 30 min", "All metrics", "fairness", "Who waits how long", `id="chart-wait"`, `id="chart-elapsed"`,
		`id="chart-slowdown"`, "What the cluster does meanwhile", `id="chart-waiting"`, `id="chart-difference"`, "the dashed line is all that the cluster has", `id="chart-containers"`, `id="chart-jobs"`, `id="by-user"`,
		"What this rests on", "assumed", "no network model", "not modelled", "user-limit-factor", "run it again", "<span>yardmaster</span> <span>compare</span>", "1–5",
	} {
		i := strings.Index(html[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing, or comes too early", want)
		}
		at += i
	}
}

func TestOneRun(t *testing.T) {
	d := sample(500, eightQueues, "fifo")
	d.Title = "fifo on one busy day"
	d.Answers = []string{"Half of the jobs wait less than 5 s; one in twenty waits longer than 20 min."}
	html := write(t, d)
	keep(t, "one", html)
	for _, want := range []string{`id="figures"`, "makespan", "71.3\u00a0%", "response ratio", "p99"} {
		if !strings.Contains(html, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(html, `class="compare"`) || strings.Contains(html, "against") && strings.Contains(html, `class="n against"`) {
		t.Error("one run is compared with itself")
	}
}

func TestNothingLeavesItsPlace(t *testing.T) {
	const evil = `</script><script>alert(1)</script><!--"'&` + "\u2028" + `{{.}}`
	d := sample(60, []string{evil, "b"}, "fifo", evil)
	d.Title, d.Subtitle, d.Version = evil, evil, evil
	d.Answers = []string{evil, evil}
	d.Facts = []Fact{{evil, evil}}
	d.Assumptions, d.NotModelled, d.Commands = []string{evil}, []string{evil, evil}, []string{evil}
	d.Comparison[0].Metric, d.Groups[0].Name, d.Groups[0].Rows[0].Metric = evil, evil, evil
	for r := range d.Runs {
		d.Runs[r].Result.Jobs.Refused = 1
		d.Runs[r].Result.Refusals = []result.Refusal{{Reason: evil, Jobs: 1}}
		d.Runs[r].Result.ByUser[0].Name = evil
		for i := range d.Runs[r].Jobs {
			d.Runs[r].Jobs[i].ID, d.Runs[r].Jobs[i].User = evil, evil
		}
	}
	html := write(t, d)
	keep(t, "evil", html)
	if strings.Contains(html, "<script>alert") || strings.Contains(html, "</script><script>alert") {
		t.Error("a name broke out of its place")
	}
	if n := strings.Count(html, "</script"); n != 3 {
		t.Errorf("%d script elements end, want the page's own 3", n)
	}
	names := pageData(t, html)["queues"].([]any)
	if names[0] != evil && names[1] != evil {
		t.Errorf("queue names came back as %q", names)
	}
}

func TestNoOutsideResource(t *testing.T) {
	html := write(t, sample(50, eightQueues, "fifo", "fair"))
	for _, bad := range []*regexp.Regexp{
		regexp.MustCompile(`<link\b`), regexp.MustCompile(`<(script|img|iframe)[^>]*\bsrc=`), regexp.MustCompile(`@import`), regexp.MustCompile(`url\(\s*['"]?https?:`),
		regexp.MustCompile(`\bfetch\(`), regexp.MustCompile(`XMLHttpRequest`), regexp.MustCompile(`\bimport\(`),
	} {
		if m := bad.FindString(html); m != "" {
			t.Errorf("the page has %q", m)
		}
	}
	if !strings.Contains(html, "default-src &#39;none&#39;") && !strings.Contains(html, "default-src 'none'") {
		t.Error("the page lacks its content security policy")
	}
}

func TestEmptyCases(t *testing.T) {
	nan := math.NaN()
	none := &result.Run{Jobs: result.JobCounts{Submitted: 12, Unfinished: 12}}
	for name, d := range map[string]Data{
		"nothing at all":   {Title: "empty", Runs: []Run{{Name: "fifo"}}},
		"nothing finished": {Title: "unfinished", Partial: true, Runs: []Run{{Name: "fifo", Result: none, Picture: Picture{Jobs: []result.JobRow{{ID: "a", Submit: 1, Start: -1, Finish: -1}}}}}},
		"not numbers": {Title: "nan", Runs: []Run{
			{Name: "a", Picture: Picture{Curves: result.Curves{Wait: result.Curve{X: []float64{nan, 1}, Y: []float64{0.5, 1}}}, Timeline: result.Timeline{Edges: []float64{0, 1}, Queues: []string{"q"}, Containers: [][]float64{{nan}}}}},
			{Name: "b", Result: &result.Run{Makespan: nan}},
		}},
		"zero waits": zeroWaits(),
		"an instant": {Title: "instant", Runs: []Run{{Name: "fifo", Picture: Picture{Jobs: []result.JobRow{{ID: "x"}}, Timeline: result.Timeline{Edges: []float64{0, 0}, Queues: []string{"q"}, Containers: [][]float64{{1}}}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			html := write(t, d)
			keep(t, strings.ReplaceAll(name, " ", "-"), html)
			pageData(t, html)
			for _, bad := range []string{"NaN", "+Inf", "ZgotmplZ"} {
				if page := html[:strings.Index(html, `<script type="application/json"`)]; strings.Contains(page, bad) {
					t.Errorf("the page shows %q", bad)
				}
			}
		})
	}
}

func zeroWaits() Data {
	d := sample(200, []string{"default"}, "fifo", "fair")
	for r := range d.Runs {
		for i := range d.Runs[r].Curves.Wait.X {
			d.Runs[r].Curves.Wait.X[i] = 0
		}
		d.Runs[r].Result.Metrics.Wait = result.Stats{Count: 200}
	}
	d.Comparison = compareResults(d.Runs)
	return d
}

func TestManySchedulers(t *testing.T) {
	var names []string
	for _, dir := range []string{"a", "b", "c", "d"} {
		for range 75 {
			names = append(names, "/etc/hadoop/very/long/path/"+dir+strings.Repeat("x", len(names)%40)+"/capacity-scheduler-with-a-rather-long-name.xml")
		}
	}
	d := sample(20, []string{"q"}, names...)
	html := write(t, d)
	keep(t, "many", html)
	if len(html) > 3_000_000 {
		t.Errorf("%d bytes", len(html))
	}
	if n := len(pageData(t, html)["runs"].([]any)); n != maxChartRuns {
		t.Errorf("%d runs in the charts, want %d", n, maxChartRuns)
	}
}

func TestManyQueuesAndUsers(t *testing.T) {
	var queues []string
	for i := range 40 {
		queues = append(queues, "root.department."+strings.Repeat("deep.", i%9)+"queue"+string(rune('a'+i%26))+strings.Repeat("z", i))
	}
	d := sample(3000, queues, "fifo", "fair", "capacity")
	html := write(t, d)
	keep(t, "queues", html)
	got := pageData(t, html)["queues"].([]any)
	if len(got) != maxQueues || got[maxQueues-1] != "others (33 queues)" {
		t.Errorf("queues are %q", got)
	}
}

func TestWrongData(t *testing.T) {
	for name, d := range map[string]Data{
		"no run":             {Title: "x"},
		"edges":              {Runs: []Run{{Picture: Picture{Timeline: result.Timeline{Edges: []float64{0, 1}, Queues: []string{"q"}, Containers: [][]float64{{1, 2}}}}}}},
		"queues":             {Runs: []Run{{Picture: Picture{Timeline: result.Timeline{Edges: []float64{0, 1}, Queues: []string{"q"}}}}}},
		"curve":              {Runs: []Run{{Picture: Picture{Curves: result.Curves{Wait: result.Curve{X: []float64{1}}}}}}},
		"waiting":            {Runs: []Run{{Picture: Picture{Timeline: result.Timeline{Edges: []float64{0, 1}, Waiting: []float64{1, 2}}}}}},
		"cells of a group":   {Runs: []Run{{}, {}}, Groups: []verdict.Group{{Rows: []verdict.Row{{Cells: []verdict.Cell{{}}}}}}},
		"cells of the table": {Runs: []Run{{}, {}}, Comparison: []verdict.Row{{Metric: "m", Cells: []verdict.Cell{{}}}}},
	} {
		if err := Write(&bytes.Buffer{}, d); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// The bundle is built by hand and committed: it must be the one whose hash was written down with it, and fit into a script element.
func TestBundle(t *testing.T) {
	want, err := os.ReadFile("chart/dist/charts.js.sha256")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(chartBundle))
	if got := hex.EncodeToString(sum[:]) + "  charts.js\n"; got != string(want) {
		t.Errorf("chart/dist/charts.js has hash %s, but %s is written beside it: build both with npm run build", got, want)
	}
	for _, text := range append(scripts, "page.css") {
		for _, bad := range []string{"</script", "<!--", "</style"} {
			if strings.Contains(strings.ToLower(read(text)), bad) {
				t.Errorf("%s has %q", text, bad)
			}
		}
	}
	if strings.Contains(strings.ToLower(chartBundle), "</script") || strings.Contains(chartBundle, "<!--") {
		t.Error("the bundle would end its script element")
	}
	for _, name := range []string{"LICENSE-echarts", "NOTICE-echarts", "LICENSE-zrender", "LICENSE-d3", "LICENSE-tslib"} {
		if _, err := os.Stat("chart/dist/" + name); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	d := sample(24442, eightQueues, "fifo", "fair", "capacity")
	b.ResetTimer()
	for range b.N {
		write(b, d)
	}
}
