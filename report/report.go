// Package report writes a run, or a comparison of runs, as one self-contained HTML file: it opens from disk, without a
// network, in light and dark mode, and prints.
//
// The page follows a reader's questions: the verdict, who loses and who gains, the figures, who waits how long, what the cluster does
// meanwhile, and the assumptions.
//
// Everything a reader needs as figures is plain HTML, written here and readable without script. The charts are drawn in the browser
// from one JSON element by a bundle of Apache ECharts (folder chart) and the page's own scripts (folder page).
//
// Invariants: the same Data gives the same bytes; no part of Data can inject markup or script (html/template
// escapes text, encoding/json escapes <, > and & in the data, and a content security policy forbids the page to load anything); the
// file stays small however large the run, because jobs, intervals, points and table rows are downsampled to fixed limits, and the page
// says so.
package report

import (
	"bufio"
	"embed"
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/unit"
)

// Data is what a report shows. Only Title and Runs are required; empty parts are omitted from the page.
type Data struct {
	Title    string
	Subtitle string
	// Size says how much was run, such as "24,442 jobs in 8 queues, 5 seeds"; it follows the subtitle.
	Size string
	// Answers are the verdict: what is to be said of each variant, or of a single run.
	Answers []string
	// Partial says that the work was stopped early; the page opens with it.
	Partial bool
	// Notices are what a reader must know before any figure, such as jobs that are not in it. When there are none, they are made
	// from the counts of the runs' results.
	Notices []string

	// Runs has one entry a scheduler. The first is the one that the others are compared with.
	Runs       []Run
	Comparison []verdict.Row   // the table of differences; needs several runs
	Levels     []verdict.Row   // service levels, in a table of their own
	Others     []verdict.Row   // further metrics, on demand
	Groups     []verdict.Group // of each kind, in the order in which they are shown

	// Facts are further lines of "what this rests on", such as workload and cluster, shown first and in this order.
	Facts       []Fact
	Assumptions []string
	NotModelled []string
	// Notes are about the comparison; Read is what the reader of the workload dropped or mended.
	Notes, Read []string
	// Commands make this report again. One of yardmaster without --report is shown with it.
	Commands []string
	Version  string
	// Seeds are all that were run. With several, the table of differences is over all of them; everything else is of the first.
	Seeds []uint64
	// Ground says what the intervals of differences cover, or why there are none.
	Ground string
}

// Fact is a labelled line.
type Fact struct{ Label, Value string }

// Run is what one scheduler did.
type Run struct {
	// Name is the scheduler as typed, or the variant. Label is how it is shown; "": of a path, the last part.
	Name, Label string
	// Result is needed for the tables; of several seeds, that of the first.
	Result *result.Run

	Picture
}

// Picture is what a report shows of a run beyond its figures.
type Picture struct {
	Timeline result.Timeline
	ByJob    result.Timeline // of a run with few jobs: a job in place of each queue
	Jobs     []result.JobRow // the finished and unfinished jobs of a small run, in order of submission
	Curves   result.Curves
	Ceiling  []Level // how many containers the cluster has, over time; nil when that has no meaning
}

// Level is how many containers a cluster has from a time on.
type Level struct {
	From       float64 // seconds
	Containers float64
}

//go:embed page
var pageFiles embed.FS

//go:embed chart/dist/charts.js
var chartBundle string

// Scripts of the page, in the order in which they must run. They share one scope.
var scripts = []string{"format.js", "frame.js", "curves.js", "cluster.js", "waiting.js", "jobs.js", "tables.js", "start.js"}

var page = parse("page.html")

func parse(name string) *template.Template {
	return template.Must(template.New(name).Funcs(template.FuncMap{"keep": unit.NoBreak}).ParseFS(pageFiles, "page/"+name, "page/shell.html"))
}

// Write writes the report.
func Write(w io.Writer, d Data) error {
	if len(d.Runs) == 0 {
		return fmt.Errorf("writing the report %q: there is no run to show", d.Title)
	}
	for i, r := range d.Runs {
		if err := r.check(); err != nil {
			return fmt.Errorf("writing the report %q: run %d (%s): %w", d.Title, i+1, r.Name, err)
		}
	}
	rows := slices.Concat(d.Comparison, d.Levels, d.Others)
	for _, g := range d.Groups {
		rows = append(rows, g.Rows...)
	}
	for _, row := range rows {
		if len(row.Cells) != len(d.Runs) {
			return fmt.Errorf("writing the report %q: %q has %d figures for %d runs", d.Title, row.Metric, len(row.Cells), len(d.Runs))
		}
	}
	return execute(page, w, d.Title, newView(d))
}

func execute(t *template.Template, w io.Writer, title string, view any) error {
	out := bufio.NewWriterSize(w, 1<<16)
	err := t.Execute(out, view)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("writing the report %q: %w", title, err)
	}
	return nil
}

func (r Run) check() error {
	for _, t := range []result.Timeline{r.Timeline, r.ByJob} {
		if len(t.Queues) != len(t.Containers) {
			return fmt.Errorf("its timeline names %d queues and has figures for %d", len(t.Queues), len(t.Containers))
		}
		for q, row := range t.Containers {
			if len(row) != max(0, len(t.Edges)-1) {
				return fmt.Errorf("its timeline has %d edges, but %d intervals for queue %s", len(t.Edges), len(row), t.Queues[q])
			}
		}
		if n := len(t.Waiting); n > 0 && n != len(t.Edges)-1 {
			return fmt.Errorf("its timeline has %d edges, but %d intervals of waiting jobs", len(t.Edges), n)
		}
	}
	for _, c := range []result.Curve{r.Curves.Wait, r.Curves.Elapsed, r.Curves.Slowdown} {
		if len(c.X) != len(c.Y) {
			return fmt.Errorf("a curve has %d values and %d shares", len(c.X), len(c.Y))
		}
	}
	return nil
}
