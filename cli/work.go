package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/report"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/whatif"
)

// output has the output flags that the running verbs have in common.
type output struct {
	report string
	timing string
	json   bool
	bySize bool
}

func (o *output) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&o.report, "report", "", "write an HTML report to `FILE`")
	fs.BoolVar(&o.json, "json", false, "write the result as JSON to standard output, and nothing else there")
	fs.StringVar(&o.timing, "timing", "", "write wall and processor seconds, peak memory and events as JSON to `FILE`")
	fs.BoolVar(&o.bySize, "by-size", false, "also show slowdowns by the size of jobs")
	setGroup(fs, inOutput, "report", "json", "timing", "by-size")
}

// prepare checks that the requested files, and those of more, can be written.
func (o *output) prepare(ctx context.Context, more ...[2]string) (outFiles, error) {
	return prepareAll(ctx, append([][2]string{{"report", o.report}, {"timing", o.timing}}, more...)...)
}

// errPartial says that only a part was printed.
var errPartial = fmt.Errorf("stopped before the end: the results are partial")

// compare runs a plan of a scenario with its seeds, or with as many as fit, with a progress line.
func compare(ctx context.Context, label string, setup *scenario.Setup, plan whatif.Plan) (*whatif.Comparison, error) {
	line := term.NewProgress(os.Stderr, label)
	defer line.End()
	if line.Active() {
		plan.Progress = func(done float64, jobs int64) { line.Set(done, count(jobs)+" jobs") }
	}
	n := setup.Scenario.Seeds
	if n == 0 && len(plan.Variants) > 1 {
		n, plan.Fit = whatif.MaxReplays, true
	}
	for i := range max(1, n) {
		plan.Seeds = append(plan.Seeds, setup.Scenario.Seed+uint64(i))
	}
	c, err := whatif.Compare(ctx, plan)
	if err == nil && len(c.Seeds) > 0 && !c.Partial && c.Runs[0][0].Jobs.Submitted == 0 {
		return nil, fmt.Errorf("workload %s holds no jobs: there is nothing to simulate", setup.Workload.Title)
	}
	return c, err
}

// errIdle says that no job finished.
func errIdle(under string) error {
	return fmt.Errorf("no job finished under %s: there is nothing to measure", under)
}

type stopwatch struct{ begin time.Time }

func startWatch() stopwatch { return stopwatch{time.Now()} }

// write writes the timing file, if requested.
func (w stopwatch) write(to *outFile, events int64) error {
	err := to.write(func(f io.Writer) error {
		cpu, rss := usage()
		return writeJSON(f, struct {
			Wall   float64 `json:"wall_seconds"`
			CPU    float64 `json:"cpu_seconds"`
			RSS    int64   `json:"peak_rss_bytes"`
			Events int64   `json:"events"`
		}{time.Since(w.begin).Seconds(), cpu, rss, events})
	})
	if err != nil {
		return fmt.Errorf("timing: %w", err)
	}
	return nil
}

// eventsOf sums the events of all runs.
func eventsOf(c *whatif.Comparison) int64 {
	var n int64
	for _, runs := range c.Runs {
		for _, r := range runs {
			n += r.Events
		}
	}
	return n
}

// baseNames cuts the paths of a workload's files to their base names; the full paths are among the report's facts.
func baseNames(paths []string, title string) string {
	var names []string
	for _, p := range paths {
		if p == "-" {
			return title
		}
		names = append(names, filepath.Base(p))
	}
	return strings.Join(names, " ")
}

// writeReport writes the HTML report of a comparison or of one run.
func writeReport(to *outFile, title, command string, setup *scenario.Setup, c *whatif.Comparison) error {
	if to == nil {
		return nil
	}
	d := c.Report()
	d.Title = title
	d.Subtitle = baseNames(setup.Scenario.Workload, setup.Workload.Title) + " on " + setup.Cluster.String()
	d.Facts = []report.Fact{{Label: "workload", Value: setup.Workload.Title}, {Label: "cluster", Value: setup.Scenario.Cluster + " (" + setup.Cluster.String() + ")"}}
	if setup.Workload.SHA256 != "" {
		d.Facts = append(d.Facts, report.Fact{Label: "SHA-256 of the workload", Value: setup.Workload.SHA256})
	}
	for s, runs := range c.Runs {
		if n := runs[0].Traffic; n != nil {
			d.Facts = append(d.Facts, report.Fact{Label: "network under " + c.Schedulers[s], Value: strings.Join(trafficLines(n), "; ")})
		}
	}
	for s, runs := range c.Runs {
		if st := runs[0].Steering; st != nil {
			d.Facts = append(d.Facts, report.Fact{Label: "steering under " + c.Schedulers[s], Value: strings.Join(steeringLines(st), "; ")})
		}
	}
	d.Commands = []string{command}
	if err := to.write(func(w io.Writer) error { return report.Write(w, d) }); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
