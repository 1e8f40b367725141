package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/build"
	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/report"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif/executors"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/spark"
	"github.com/yardmaster/yardmaster/workload/trace"
)

// sparkSizeFlags are the flags of spark size.
type sparkSizeFlags struct {
	history, report string
	json, running   bool
}

func newSparkSize(known *scenario.Catalogue) *cobra.Command {
	var f sparkSizeFlags
	cmd := &cobra.Command{
		Use:   "size LOG | size --history DIR APPLICATION",
		Short: "How many executors, and of which size, from one run",
		Args: func(cmd *cobra.Command, args []string) error {
			see := "See \"" + cmd.CommandPath() + " --help\"."
			if what := "event log"; len(args) != 1 {
				if f.history != "" {
					what = "application of " + f.history
				}
				return misuse(see, "spark size: name one %s", what)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return labelled("spark size", sparkSize(cmd, known, &f, args[0]))
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.history, "history", "", "take the application, by ID or name, from an imported history: `DIR`, or a Parquet file of import")
	fs.BoolVar(&f.running, "running", false, "take a log without an end, as of its last event")
	fs.StringVar(&f.report, "report", "", "write an HTML report to `FILE`")
	fs.BoolVar(&f.json, "json", false, "write the answer as JSON to standard output, and nothing else there")
	setGroup(fs, inSource, "history", "running")
	setGroup(fs, inOutput, "report", "json")
	return cmd
}

func sparkSize(cmd *cobra.Command, known *scenario.Catalogue, f *sparkSizeFlags, name string) error {
	ctx := cmd.Context()
	var p executors.Plan
	var notes workload.Notes
	var err error
	if f.history != "" {
		p, err = fromHistory(known, f.history, name)
	} else {
		p, notes, err = fromLog(ctx, name, f.running)
	}
	if err != nil {
		return err
	}
	page, err := prepare(ctx, f.report)
	if err != nil {
		return err
	}
	defer page.discard()
	line := term.NewProgress(os.Stderr, "simulating")
	p.Progress = func(done float64) { line.Set(done, "") }
	a, err := executors.Run(ctx, p)
	line.End()
	if err != nil {
		return err
	}
	a.Assumed = append(a.Assumed, noteLines(notes)...)
	w := cmd.OutOrStdout()
	if f.json {
		err = writeJSON(w, a)
	} else {
		showSparkSize(w, a)
	}
	command := "yardmaster spark size" + typedAgain(cmd, "history") + " " + scenario.Quote(name)
	if f.running {
		command += " --running"
	}
	return errors.Join(err, page.write(func(w io.Writer) error { return report.WriteSheet(w, sparkSizeSheet(a, command)) }))
}

// fromLog plans the question about the application of an event log. The notes say what the log does not give.
func fromLog(ctx context.Context, path string, running bool) (p executors.Plan, notes workload.Notes, err error) {
	log, err := oneLog(ctx, path)
	if err != nil {
		return p, nil, err
	}
	a, err := log.Read(ctx, nil)
	if err != nil {
		return p, nil, err
	}
	p.Job, notes, err = a.Job(spark.Options{Base: a.Submitted(), Running: running})
	if errors.Is(err, spark.ErrRunning) {
		return p, nil, fmt.Errorf("%s: %w: --running takes it as of its last event", path, err)
	} else if err != nil {
		return p, nil, fmt.Errorf("%s: %w", path, err)
	}
	p.Before = unit.Time(a.Requested()-a.Start) * unit.Millisecond
	return p, notes, nil
}

// fromHistory plans the question about a job of an imported history.
func fromHistory(known *scenario.Catalogue, path, name string) (p executors.Plan, err error) {
	var src workload.Source
	if noScenario(known, path) != nil {
		src, err = trace.Open([]string{path}, trace.Options{})
	} else {
		var s scenario.Scenario
		if s, err = known.Load(path); err != nil {
			return p, err
		}
		var setup *scenario.Setup
		if setup, err = resolve(s); err != nil {
			return p, err
		}
		p.Cluster, p.Timing, p.Model = setup.Cluster, setup.Timing, setup.Model
		src, err = setup.Workload.Open(s.Seed)
	}
	if err != nil {
		return p, err
	}
	if c, ok := src.(io.Closer); ok {
		defer c.Close()
	}
	var names []string
	for {
		j, err := src.Next()
		switch {
		case errors.Is(err, io.EOF) && p.Job != nil:
			return p, nil
		case errors.Is(err, io.EOF):
			return p, fmt.Errorf("%s has no application %q%s", path, name, cmp.Or(suggest.Hint(name, names), listed(names)))
		case err != nil:
			return p, err
		case j.ID == name:
			p.Job = j
			return p, nil
		case j.Name == name:
			p.Job = j // the latest of that name
		case len(names) < 2000:
			names = append(names, j.ID, j.Name)
		}
	}
}

// listed ends a sentence with some of the applications that there are, by name.
func listed(idsAndNames []string) string {
	var list []string
	for i := 1; i < len(idsAndNames) && len(list) < 5; i += 2 {
		if name := strconv.Quote(cmp.Or(idsAndNames[i], idsAndNames[i-1])); !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "; it has " + strings.Join(list, ", ") + ", for example"
}

// sparkRows are the tables of an answer.
func sparkRows(a *executors.Answer, rows []executors.Row, sizes bool) (head []string, cells [][]string) {
	head = []string{"executors", "elapsed", "change", "executor-hours", "GiB-hours", "vcore-hours", "busy"}
	if a.Dynamic {
		head[0] = "max executors"
	}
	if sizes {
		head = slices.Insert(head, 1, "each")
	}
	ran := a.Rows[a.AsItRan].Elapsed
	var elapsed []float64
	for i := range rows {
		elapsed = append(elapsed, rows[i].Elapsed)
	}
	column := unit.ColumnOf(elapsed)
	for i := range rows {
		r := &rows[i]
		line := []string{r.Count(), column.Format(r.Elapsed), percentChange(r.Elapsed/ran - 1), fmt.Sprintf("%.3f", r.Hours), fmt.Sprintf("%.3f", r.GiBHours),
			fmt.Sprintf("%.3f", r.CoreHours), fmt.Sprintf("%.0f %%", 100*r.Busy)}
		if sizes {
			line = slices.Insert(line, 1, unit.Resources{Mem: r.Memory, Cores: r.Cores}.String())
		}
		mark := ""
		if !sizes && i == a.Enough {
			mark = "enough"
		}
		if r.AsItRan {
			line[slices.Index(head, "change")] = ""
			mark = strings.Trim(mark+", as it ran", ", ")
		}
		cells = append(cells, append(line, mark))
	}
	return append(head, ""), cells
}

// percentChange is a change in whole percents.
func percentChange(v float64) string { return fmt.Sprintf("%+d %%", int(math.Round(100*v))) }

func showSparkSize(w io.Writer, a *executors.Answer) {
	ink := term.InkFor(os.Stdout)
	say(w, strings.TrimSpace(a.ID+" "+a.Name))
	fmt.Fprintln(w)
	showHeadline(w, a.Sentence, ink)
	for _, text := range a.Why {
		say(w, text)
	}
	show := func(rows []executors.Row, sizes bool) {
		t := term.Table{Ink: ink}
		t.Head, t.Rows = sparkRows(a, rows, sizes)
		fmt.Fprintln(w)
		fmt.Fprint(w, draw(t))
	}
	show(a.Rows, false)
	if len(a.Sizes) > 0 {
		show(a.Sizes, true)
	}
	if a.Setting != "" {
		fmt.Fprintf(w, "\n%s\n", a.Setting)
	}
	fmt.Fprintln(w)
	showGround(w, a.Assumed, nil, ink)
}

// sparkSizeSheet is the answer as a page.
func sparkSizeSheet(a *executors.Answer, command string) report.Sheet {
	rows := a.Rows
	var categories []string
	elapsed, bound := report.SheetSeries{Name: "simulated"}, report.SheetSeries{Name: "no number of executors is faster"}
	observed := report.SheetSeries{Name: "observed", Paper: true}
	memory := report.SheetSeries{Name: "GiB-hours held"}
	at := func(v float64) report.SheetPoint { return report.SheetPoint{v, v, v} }
	for i := range rows {
		categories = append(categories, rows[i].Count())
		elapsed.Points, bound.Points = append(elapsed.Points, at(rows[i].Elapsed)), append(bound.Points, at(a.Bound.Elapsed))
		memory.Points = append(memory.Points, at(rows[i].GiBHours))
		seen := math.NaN()
		if i == a.AsItRan && a.Observed > 0 {
			seen = a.Observed
		}
		observed.Points = append(observed.Points, at(seen))
	}
	table := func(caption string, rows []executors.Row, sizes bool) report.SheetTable {
		head, cells := sparkRows(a, rows, sizes)
		t := report.NewTable(caption, head, cells...)
		t.Columns[0].Figures, t.Columns[len(head)-1].Figures = true, false
		return t
	}
	counts := table("Numbers of executors; the change is against the simulation as it ran", rows, false)
	for i := range counts.Rows[a.Enough] {
		counts.Rows[a.Enough][i].Mark = report.Strong
	}
	parts := []report.SheetPart{
		{Title: "Elapsed time and cost by number of executors", Text: a.Why, Charts: []report.SheetChart{
			{Title: "Elapsed time", Kind: "lines", Unit: "s", Categories: categories, Series: []report.SheetSeries{elapsed, bound, observed}},
			{Title: "Memory held by executors", Kind: "lines", Unit: "GiB-hours", Categories: categories, Series: []report.SheetSeries{memory}},
		}},
		{Title: "All numbers", Tables: []report.SheetTable{counts}},
	}
	if len(a.Sizes) > 0 {
		parts = append(parts, report.SheetPart{Title: "Other sizes with as many slots", Tables: []report.SheetTable{table("Sizes of executors", a.Sizes, true)}})
	}
	var links [][]string
	for _, l := range a.Bound.Chain {
		links = append(links, []string{l.Stage, unit.FormatSeconds(l.Delay), unit.FormatSeconds(l.Longest)})
	}
	path := report.NewTable("What each stage of the longest chain adds, at least", []string{"stage", "driver before it", "longest task"}, links...)
	parts = append(parts, report.SheetPart{Title: "Critical path", Folded: true, Tables: []report.SheetTable{path}})
	lists := []report.SheetList{{Label: "assumed", Items: a.Assumed}}
	if a.Setting != "" {
		lists = append(lists, report.SheetList{Label: "setting", Items: []string{a.Setting}})
	}
	return report.Sheet{
		Title: "How many executors", Subtitle: strings.TrimSpace(a.ID + " " + a.Name), Headline: a.Sentence, Parts: parts, Commands: []string{command},
		Version: build.Version(), Seeds: []uint64{1}, Lists: lists,
	}
}
