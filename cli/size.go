package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/build"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/hybrid"
	"github.com/yardmaster/yardmaster/report"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif/sizing"
)

// sizeFlags are the flags of size beside those of a scenario.
type sizeFlags struct {
	output
	budget float64
	racks  int
	by     string
	model  string
}

func newSize(known *scenario.Catalogue) *cobra.Command {
	var (
		flags = scenarioFlags{known: known}
		own   sizeFlags
	)
	cmd := &cobra.Command{
		Use:   "size [SCENARIO.yaml | DIR]",
		Short: "How many racks of scale-up machines to buy for a workload and a budget",
		Args:  flags.oneScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := flags.scenario(args)
			if err != nil {
				return err
			}
			return size(cmd, s, &own)
		},
	}
	flags.add(cmd, func(t *scenario.Setting) bool {
		return t.Name != "clock" && t.In != "yarn" && t.In != "kubernetes" && t.In != "steering" && t.Name != "variant" && t.Name != "place"
	})
	fs := cmd.Flags()
	fs.Float64Var(&own.budget, "budget", 0, "what all machines may cost, in the currency of the cluster file; 0: as much as its machines")
	fs.IntVar(&own.racks, "max-racks", 0, "try up to `N` racks of scale-up machines; 0: as many as a third of the budget buys")
	fs.StringVar(&own.by, "by", sizing.Metrics[0].Name, "`METRIC` to minimise: mean, median or p95 (elapsed times), makespan, small or large (mean elapsed time of such jobs)")
	fs.StringVar(&own.model, "model", "", "tell small jobs from large ones by a classifier that is trained on the workload, and write it to `FILE`, for --scheduler hybrid:model=FILE")
	setGroup(fs, inScenario, "budget", "max-racks", "by")
	setGroup(fs, inOutput, "model")
	own.add(cmd)
	complete(cmd, "by", sizing.Names, cobra.ShellCompDirectiveNoFileComp)
	return cmd
}

func size(cmd *cobra.Command, s scenario.Scenario, own *sizeFlags) error {
	watch := startWatch()
	by, err := sizing.FindMetric(own.by)
	if err != nil {
		return misuse("", "--by: %v", err)
	}
	if !(own.budget >= 0) || math.IsInf(own.budget, 0) || own.racks < 0 {
		return misuse("", "--budget %v, --max-racks %d: neither may be negative", own.budget, own.racks)
	}
	if len(s.Schedulers) == 0 {
		s.Schedulers = []string{hybrid.Entry.Name}
	}
	spec, err := policy.ParseSpec(s.Schedulers[0])
	if err != nil || len(s.Schedulers) > 1 || spec.Name != hybrid.Entry.Name {
		return misuse("Leave --scheduler out, or give the hybrid scheduler's parameters: --scheduler hybrid:base=delay.", "size simulates the hybrid scheduler")
	}
	setup, err := resolve(s)
	if err != nil {
		return err
	}
	p := sizing.Plan{Spec: setup.Spec, Network: setup.Cluster.Network, Budget: own.budget, Max: own.racks, By: by, Placed: slices.Contains(s.Given, "placement")}
	if p.Up, p.Out, err = sizing.Racks(setup.Cluster); err != nil {
		return &usageError{err: fmt.Errorf("cluster %s: %w", s.Cluster, err), next: "See docs/buy-big-machines.md."}
	}
	if p.Options, err = hybrid.Read(spec.Params); err != nil {
		return misuse("", "%v", err)
	}
	if p.Options.Mixed {
		return misuse("Leave it out.", "size compares mixes of machines under the hybrid scheduler: classify=no would use none of it")
	}
	if own.model != "" && p.Options.Classifier != nil {
		return misuse("Leave out one of them.", "--model writes the classifier that is trained, and --scheduler names one")
	}
	p.Train = own.model != ""
	if p.Budget == 0 {
		p.Budget = setup.Cluster.Cost()
	}
	for i := range max(1, s.Seeds) {
		p.Seeds = append(p.Seeds, s.Seed+uint64(i))
	}
	files, err := own.prepare(cmd.Context(), [2]string{"model", own.model})
	if err != nil {
		return err
	}
	defer files.discard()
	a, err := answer(cmd.Context(), p)
	if err != nil {
		return err
	}
	a.Assumed = append(a.Assumed, setup.Assumptions...)
	w := cmd.OutOrStdout()
	if own.json {
		err = writeJSON(w, a)
	} else {
		say(w, fmt.Sprintf("%s for a budget of %s, %s", setup.Workload.Title, money(p.Budget), seedsTitle(a.Seeds)))
		fmt.Fprintln(w)
		showAnswer(w, a, by)
	}
	for _, e := range []error{writeModel(files["model"], a), writeAnswer(files["report"], a, by, setup, s.Command("size")+own.typed(&p)), watch.write(files["timing"], 0)} {
		if err == nil {
			err = e
		}
	}
	switch {
	case err != nil:
		return err
	case a.Partial:
		return errPartial
	case !own.json:
		showFiles(w, "", own.report)
	}
	return nil
}

// typed are the flags of size as typed again.
func (f *sizeFlags) typed(p *sizing.Plan) string {
	text := " --budget " + strconv.FormatFloat(p.Budget, 'f', -1, 64) + " --by " + f.by
	if f.racks > 0 {
		text += " --max-racks " + strconv.Itoa(f.racks)
	}
	return text
}

// answer runs the plan, with a progress line.
func answer(ctx context.Context, p sizing.Plan) (*sizing.Answer, error) {
	line := term.NewProgress(os.Stderr, "sizing")
	defer line.End()
	if line.Active() {
		p.Progress = func(done float64) { line.Set(done, "") }
	}
	return sizing.Run(ctx, p)
}

func money(v float64) string { return unit.Number(int64(v)) }

// table is the answer as a table: what is bought, what it gains, and what the scale-up machines store.
func table(a *sizing.Answer, by sizing.Metric) (head []string, rows [][]string) {
	metrics := sizing.Names()
	head = slices.Concat([]string{"scale-up racks", "machines", "scale-out racks", "machines", "cost"}, metrics, []string{"change", "stolen", "stored"})
	write := make([]func(float64) string, len(metrics))
	for k, m := range metrics {
		var values []float64
		for i := range a.Rows {
			values = append(values, a.Rows[i].Value(m))
		}
		write[k] = unit.ColumnOf(values).Format
	}
	for i := range a.Rows {
		r := &a.Rows[i]
		cells := []string{strconv.Itoa(r.UpRacks), count(int64(r.UpMachines)), strconv.Itoa(r.OutRacks), count(int64(r.OutMachines)), money(r.Cost)}
		for k, m := range metrics {
			cells = append(cells, write[k](r.Value(m)))
		}
		change, stored := "", ""
		if i > 0 && a.Rows[0].Finished && r.Finished {
			change = changeText(r.Changes[by.Name])
		}
		if r.Stored > 0 {
			if stored = r.Stored.String(); !r.Fits {
				stored += " (too much)"
			}
		}
		if !r.Finished {
			change = "some jobs do not finish"
		}
		rows = append(rows, append(cells, change, count(int64(r.Stolen+0.5)), stored))
	}
	return head, rows
}

// changeText is a change in percent, with its interval.
func changeText(d result.Difference) string {
	if d.Ratio.N == 0 {
		return "" // there are no such jobs
	}
	return verdict.Percent(100*(d.Ratio.Mean-1), 100*(d.Ratio.Low-1), 100*(d.Ratio.High-1), d.Ratio.Known)
}

// Notes below the table.
func tableNotes(a *sizing.Answer, by sizing.Metric) []string {
	notes := []string{
		fmt.Sprintf("%s, of which %s run faster on scale-up machines (small); times are elapsed times, small and large their means; the change is of the %s.", unit.Count(a.Jobs, "job"), count(a.SmallJobs), by.Title),
		"Stolen jobs were meant for scale-up machines and moved to idle scale-out machines. Stored is what a scale-up machine holds if every job has its own input.",
	}
	if q := a.Classifier; q != nil {
		of := "the jobs"
		if q.HeldOut {
			of = unit.Count(q.Known.Jobs(), "job") + " that it was not trained on"
		}
		notes = append(notes, fmt.Sprintf("The classifier is right for %.1f %% of %s if their shuffle is known, and for %.1f %% if not; of the large jobs' work %.2f and %.2f %% go to scale-up machines.",
			100*q.Known.Accuracy(), of, 100*q.Unknown.Accuracy(), 100*q.Known.MisplacedWork(), 100*q.Unknown.MisplacedWork()))
	}
	return notes
}

func showAnswer(w io.Writer, a *sizing.Answer, by sizing.Metric) {
	ink := term.InkFor(os.Stdout)
	if a.Partial {
		fmt.Fprintln(w, ink.Warn("PARTIAL: stopped before the end; some mixes are missing"))
	}
	showHeadline(w, a.Sentence, ink)
	t := term.Table{Ink: ink}
	t.Head, t.Rows = table(a, by)
	fmt.Fprintln(w, draw(t))
	for _, n := range tableNotes(a, by) {
		say(w, n)
	}
	fmt.Fprintln(w)
	showGround(w, a.Assumed, nil, ink)
}

// writeModel writes the trained classifier, if requested.
func writeModel(to *outFile, a *sizing.Answer) error {
	err := to.write(func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		return e.Encode(a.Classifier.SVM)
	})
	if err != nil {
		return fmt.Errorf("model: %w", err)
	}
	return nil
}

// writeAnswer writes the HTML report, if requested.
func writeAnswer(to *outFile, a *sizing.Answer, by sizing.Metric, setup *scenario.Setup, command string) error {
	sheet := report.Sheet{
		Title: "How many scale-up racks to buy", Subtitle: baseNames(setup.Scenario.Workload, setup.Workload.Title) + " for a budget of " + money(a.Budget),
		Size: unit.Count(a.Jobs, "job") + ", " + unit.Count(int64(len(a.Seeds)), "seed"), Partial: a.Partial, Headline: a.Sentence,
		Commands: []string{command}, Version: build.Version(), Seeds: a.Seeds, Lists: []report.SheetList{{Label: "assumed", Items: a.Assumed}},
	}
	var racks []string
	for i := range a.Rows {
		racks = append(racks, strconv.Itoa(a.Rows[i].UpRacks))
	}
	chart := func(title string, metrics ...string) report.SheetChart {
		c := report.SheetChart{Title: title, Kind: "lines", Unit: "s", Categories: racks}
		for _, m := range sizing.Metrics {
			if !slices.Contains(metrics, m.Name) {
				continue
			}
			s := report.SheetSeries{Name: m.Title}
			for i := range a.Rows {
				e := result.Mean(a.Rows[i].Values[m.Name])
				s.Points = append(s.Points, report.SheetPoint{e.Mean, e.Low, e.High})
			}
			c.Series = append(c.Series, s)
		}
		return c
	}
	head, rows := table(a, by)
	t := report.NewTable("Racks for the same budget; times are elapsed times, the change is of the "+by.Title, head, rows...)
	t.Columns[0].Figures = true
	for i := range t.Rows[a.Best] {
		t.Rows[a.Best][i].Mark = report.Strong
	}
	sheet.Parts = []report.SheetPart{
		{Title: "Elapsed times by number of scale-up racks", Charts: []report.SheetChart{
			chart("All jobs", "mean", "p95"), chart("Small and large jobs", "small", "large"), chart("Makespan", "makespan"),
		}},
		{Title: "All mixes", Tables: []report.SheetTable{t}, Text: tableNotes(a, by)},
	}
	if err := to.write(func(w io.Writer) error { return report.WriteSheet(w, sheet) }); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
