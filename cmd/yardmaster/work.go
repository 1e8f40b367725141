package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/build"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/report"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/whatif"
)

// output is what the verbs that run something have in common.
type output struct {
	report string
	timing string
	json   bool
}

func (o *output) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&o.report, "report", "", "write an HTML report to `FILE`")
	fs.BoolVar(&o.json, "json", false, "write the result as JSON to standard output, and nothing else there")
	fs.StringVar(&o.timing, "timing", "", "write wall and processor seconds, peak memory and events as JSON to `FILE`")
	for _, name := range []string{"report", "json", "timing"} {
		setGroup(fs, name, headings[3])
	}
}

// errPartial says that what was printed is only a part.
var errPartial = fmt.Errorf("stopped before the end: the results are partial")

// compare runs a scenario under its schedulers and seeds, with a progress line.
func compare(ctx context.Context, label string, setup *scenario.Setup, inMemory int, pictures bool, watch func(scheduler, seed int) sim.Sink) (*whatif.Comparison, error) {
	line := term.NewProgress(os.Stderr, label)
	defer line.End()
	s := &setup.Scenario
	plan := whatif.Plan{
		Cluster: setup.Cluster, Model: s.Model, Version: build.Version(), Assumptions: setup.Assumptions(), Scenario: setup.Echo,
		Pictures: pictures, Watch: watch,
		Workload: whatif.Workload{Open: setup.Work.Open, Same: !setup.Work.Drawn, Jobs: setup.Work.Jobs, InMemory: inMemory},
	}
	if setup.Work.Once {
		plan.Workload.InMemory = math.MaxInt // all runs share what was read
	}
	if s.ScaleLoad != 1 || s.ScaleLength != 1 {
		plan.Workload.InMemory = -1 // copies are cheaper to make again than to keep
	}
	if line.Active() {
		plan.Progress = func(done float64, jobs int64) { line.Set(done, count(jobs)+" jobs") }
	}
	for _, p := range setup.Policies {
		plan.Schedulers = append(plan.Schedulers, whatif.Scheduler{Name: p.Name, New: p.New})
	}
	for i := range s.Seeds {
		plan.Seeds = append(plan.Seeds, s.Seed+uint64(i))
	}
	return whatif.Compare(ctx, plan)
}

// stopwatch measures what a run cost.
type stopwatch struct{ begin time.Time }

func startWatch() stopwatch { return stopwatch{time.Now()} }

// write writes the timing file, if one is asked for.
func (w stopwatch) write(path string, events int64) error {
	if path == "" {
		return nil
	}
	cpu, rss := usage()
	data, err := json.MarshalIndent(struct {
		Wall   float64 `json:"wall_seconds"`
		CPU    float64 `json:"cpu_seconds"`
		RSS    int64   `json:"peak_rss_bytes"`
		Events int64   `json:"events"`
	}{time.Since(w.begin).Seconds(), cpu, rss, events}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
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

// writeFile writes a file as a whole or not at all.
func writeFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.Create(path + ".tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriterSize(f, 1<<16)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// baseNames cuts the paths of a workload's files to their last part; the whole paths are among the report's facts.
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
func writeReport(path, title, command string, setup *scenario.Setup, c *whatif.Comparison) error {
	d := c.Report(setup.Cluster)
	d.Title = title
	d.Subtitle = baseNames(setup.Scenario.Workload, setup.Work.Title) + " on " + setup.Cluster.String()
	d.Facts = []report.Fact{{Label: "workload", Value: setup.Work.Title}, {Label: "cluster", Value: setup.Scenario.Cluster + " (" + setup.Cluster.String() + ")"}}
	if setup.Work.SHA256 != "" {
		d.Facts = append(d.Facts, report.Fact{Label: "SHA-256 of the workload", Value: setup.Work.SHA256})
	}
	d.Commands = []string{command}
	if err := writeFile(path, func(w io.Writer) error { return report.Write(w, d) }); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
