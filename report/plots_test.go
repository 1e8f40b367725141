package report

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/result"
)

func plotted(t *testing.T, d Data) string {
	t.Helper()
	var page bytes.Buffer
	if err := Write(&page, d); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

func TestPlots(t *testing.T) {
	d := sample(50, eightQueues, "fifo", "deadline")
	if page := plotted(t, d); strings.Contains(page, "Slowdown by size") || strings.Contains(page, "Containers of each job") || strings.Contains(page, "Error of predicted ends") {
		t.Error("pictures of nothing")
	}
	const evil = `<script>alert("1")</script>`
	d.Runs[0].Result.Spread = &result.Spread{BySize: []result.SizeGroup{
		{From: 10, To: 31.622777, Jobs: 3, Slowdown: result.Stats{Count: 3, Mean: 8}}, {From: 100, To: 316.227766, Jobs: 5, Slowdown: result.Stats{Count: 5, Mean: 1}},
	}}
	d.Runs[1].Result.Spread = &result.Spread{BySize: []result.SizeGroup{{From: 31.622777, To: 100, Jobs: 1234, Slowdown: result.Stats{Count: 1234, Mean: 2}}}}
	d.Runs[1].ByJob = result.Timeline{Edges: []float64{0, 10, 20, 40}, Queues: []string{"a", evil}, Containers: [][]float64{{0, 4, 0}, {2, 0, 1}}}
	d.Runs[1].Result.Estimates = &result.Estimates{Jobs: 2, Series: []result.EstimateSeries{
		{ID: evil, Elapsed: 100, At: []float64{10, 20, 90}, Error: []float64{-0.5, 5, 0}}, {ID: "other", Elapsed: 10, At: []float64{5}, Error: []float64{0}},
	}}
	page := plotted(t, d)
	for _, want := range []string{
		`<circle class="s1" cx="198.3" cy="16.7" r="3.5"><title>fifo, 10 to 32 s: mean slowdown 8.00 of 3 jobs</title>`,
		`<circle class="s2" cx="475" cy="149.6" r="3.5"><title>deadline, 32 to 100 s: mean slowdown 2.00 of 1,234 jobs</title>`,
		`<path class="s1" d="M198.3 16.7h0L751.7 216"/>`,
		`<path class="q1" d="M267.5 216.0H267.5V12.0H475.0V216.0"/>`,                        // job a, in its interval only
		`<path class="q2" d="M60.0 216.0H60.0V114.0H267.5V216.0H475.0V165.0H890.0V216.0"/>`, // the other has the same colour in both
		`<path class="q2" d="M143 216h0L226 12M807 175.2h0"/>`,
		`Errors beyond 200` + "\u00a0" + `% are drawn at the edge.`,
		`aria-label="Mean slowdown of jobs by size."`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(page, evil) {
		t.Error("a job's name is markup")
	}
	if page != plotted(t, d) {
		t.Error("not the same bytes")
	}
	d.Runs[1].Result.Estimates = &result.Estimates{Jobs: 500, ByLife: []result.EstimateError{{Jobs: 400, Error: -0.5, Absolute: 0.5}, {From: 0.5}}}
	page = plotted(t, d)
	if !strings.Contains(page, "optimistic; 500 jobs") || !strings.Contains(page, "mean of absolute values") {
		t.Error("no means over many jobs")
	}
	if d.Runs[1].ByJob.Edges = nil; Write(&bytes.Buffer{}, d) == nil {
		t.Error("a timeline without edges is taken")
	}
}

// Twenty jobs differ in colour or dashes.
func TestJobClasses(t *testing.T) {
	css := read("page.css")
	seen := map[string]bool{}
	for i := range 20 {
		class := jobClass(i)
		hue, dash, dashed := strings.Cut(class, " ")
		if seen[class] || !regexp.MustCompile(`\.plot path\.`+hue+` \{ stroke:.*\.key\.`+hue+` \{`).MatchString(css) || dashed && !strings.Contains(css, fmt.Sprintf(".plot .%s {", dash)) {
			t.Errorf("job %d: %s", i, class)
		}
		seen[class] = true
	}
}
