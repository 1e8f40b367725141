package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
)

// body is the page without its data and scripts.
func body(t *testing.T, d Data) string {
	t.Helper()
	html := write(t, d)
	return html[strings.Index(html, "<body>"):strings.Index(html, `<script type="application/json"`)]
}

func has(t *testing.T, html string, wanted ...string) {
	t.Helper()
	for _, w := range wanted {
		if !strings.Contains(html, w) {
			t.Errorf("the page lacks %q", w)
		}
	}
}

func TestOneSeedOfSeveralIsSaid(t *testing.T) {
	d := sample(100, eightQueues, "fifo", "fair")
	html := body(t, d)
	if n := strings.Count(html, "<small>seed 1 of 5"); n != 2 {
		t.Errorf("%d headings name the seed, want 2", n)
	}
	has(t, html, "All curves are of seed 1 of 5; the table above is over all seeds, so its percentiles are others.")
	d.Seeds = []uint64{7, 8}
	has(t, body(t, d), "<small>seed 7, the first of 2</small>")
	d.Seeds = []uint64{7}
	if html := body(t, d); strings.Contains(html, "<small>seed") {
		t.Error("one seed is told apart from others that are not there")
	}
}

func TestWhatTheIntervalsCover(t *testing.T) {
	d := sample(100, eightQueues, "fifo", "fair")
	d.Ground = "95 % intervals over 5 seeds"
	has(t, body(t, d), "no clear difference</span>; 95\u00a0% intervals over 5 seeds.")
}

func TestSizeNotesAndCommand(t *testing.T) {
	d := sample(100, eightQueues, "fifo", "fair")
	d.Subtitle, d.Size = "FB-2010 day.tsv on 1545 nodes in 41 racks", "1,204 jobs in 8 queues, 5 seeds"
	d.Notes, d.Read = []string{"one thing"}, []string{"read 24442 jobs and 0123 more"}
	d.Commands = []string{"yardmaster compare --seeds 5", "yardmaster compare --report a.html", "yardmaster demo", "make report"}
	html := body(t, d)
	has(t, html, `<p class="sub">FB-2010 day.tsv on 1,545 nodes in 41 racks · 1,204 jobs in 8 queues, 5 seeds</p>`,
		"<dt>notes</dt><dd>one thing</dd>", "<dt>noted on reading</dt><dd>read 24,442 jobs and 0123 more</dd>",
		"<span>5</span> <span>--report</span> <span>report.html</span>", "<span>a.html</span></code>", "<span>demo</span></code>", "<span>report</span></code>")
	if strings.Index(html, "<dt>notes</dt>") > strings.Index(html, "<dt>assumed</dt>") {
		t.Error("notes come after assumptions")
	}
}

func TestFairnessIsExplainedOnceWhereItIsShown(t *testing.T) {
	d := sample(100, eightQueues, "fifo", "fair")
	d.Comparison = append(d.Comparison, verdict.Row{Metric: "fairness between users", Unit: verdict.Ratio, Cells: make([]verdict.Cell, 2)})
	if n := strings.Count(body(t, d), `<p class="legend">* Fairness between users is`); n != 1 {
		t.Errorf("explained %d times", n)
	}
	has(t, body(t, sample(100, eightQueues, "fifo")), `<p class="legend">Fairness between users is`)
}

func TestLocalityAndObserved(t *testing.T) {
	d := sample(100, eightQueues, "fifo", "fair")
	if html := body(t, d); strings.Contains(html, `id="locality"`) || strings.Contains(html, `id="observed"`) {
		t.Error("sections about what is not known")
	}
	d.Runs[1].Result.Locality = result.Locality{Node: 1500, Rack: 300, Off: 200, None: 7}
	d.Runs[1].Result.Observed = &result.Observed{
		Jobs: 1234, MedianError: 0.041, P95Error: 0.5, MeanSigned: -0.02, Worst: []result.ObservedJob{{ID: "job_7", Observed: 100, Simulated: 50, Error: -0.5}},
	}
	html := body(t, d)
	keep(t, "observed", write(t, d))
	has(t, html, `id="locality"`, "75.0\u00a0%", "2,000", `id="observed"`, "1,234", "4.1\u00a0%", "−2.0\u00a0%", "Largest errors under fair", "job_7", "−50.0\u00a0%")
	d.Runs, d.Comparison, d.Levels, d.Others, d.Groups = d.Runs[1:], nil, nil, nil, nil
	has(t, body(t, d), "75.0\u00a0% on the node, 15.0\u00a0% in the rack, 10.0\u00a0% elsewhere", "Largest errors</summary>")
}

// TestASchedulerThatFinishedNothing leaves no empty frame and no judgement.
func TestASchedulerThatFinishedNothing(t *testing.T) {
	d := sample(100, eightQueues, "fifo", "fair", "capacity")
	d.Runs[1] = Run{Name: "fair", Result: &result.Run{Jobs: result.JobCounts{Submitted: 1, Refused: 1}, Refusals: []result.Refusal{{Reason: "no such queue", Jobs: 1}}}}
	d.Comparison = compareResults(d.Runs)
	html := body(t, d)
	keep(t, "refused", write(t, d))
	has(t, html, "fair: of 1 job: 1 refused (most often: no such queue)", "No job finished under fair, so there is no curve of it.", "(not judged)", "not judged, see above")
	if n := strings.Count(html, `<p class="nothing" hidden>`); n != 2 {
		t.Errorf("%d charts can say that they are empty", n)
	}
	if strings.Contains(html, "−100\u00a0%") {
		t.Error("nothing is compared with something")
	}
	d.Notices = []string{"under fair nothing ran"}
	has(t, body(t, d), `<p class="notice">Under fair nothing ran.</p>`)
}

func TestACurveUnderAnotherIsSaid(t *testing.T) {
	d := sample(100, eightQueues, "fifo", "fair", "capacity")
	d.Runs[2].Curves.Wait = result.Curve{X: slices.Clone(d.Runs[0].Curves.Wait.X), Y: slices.Clone(d.Runs[0].Curves.Wait.Y)}
	html := write(t, d)
	keep(t, "alike", html)
	runs := pageData(t, html)["runs"].([]any)
	for i, want := range []any{nil, nil, "fifo"} {
		r := runs[i].(map[string]any)
		if r["waitAs"] != want || r["elapsedAs"] != nil {
			t.Errorf("run %d: %v and %v", i, r["waitAs"], r["elapsedAs"])
		}
	}
}

func TestClassesThatAreTheQueuesAreLeftOut(t *testing.T) {
	d := sample(100, eightQueues[:3], "fifo")
	has(t, body(t, d), `id="by-queue"`, `id="by-class"`)
	for i := range d.Runs {
		d.Runs[i].Result.ByClass = d.Runs[i].Result.ByQueue
	}
	if html := body(t, d); strings.Contains(html, `id="by-class"`) || !strings.Contains(html, `id="by-queue"`) {
		t.Error("the same table twice")
	}
}
