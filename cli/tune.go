package cli

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/build"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/report"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif/goal"
	"github.com/yardmaster/yardmaster/whatif/tune"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/edit"
)

// aimFlags are what tune and sweep have in common: which settings vary, and what is wanted of them.
type aimFlags struct {
	over, keep   []string
	goal, others string
	aim          tune.Aim
}

func (f *aimFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.goal, "goal", "", "what to improve: \"p95 elapsed of root.adhoc\"; mean, median or p95, of elapsed, wait or slowdown, of a `QUEUE` or all")
	fs.StringArrayVar(&f.keep, "keep", nil, "a `BOUND` that must hold: \"p95 elapsed of root.prod <= +2 %\" (repeatable)")
	fs.StringVar(&f.others, "keep-others", "+10 %", "how much worse the goal's figure may get in queues without a --keep, in `PERCENT`")
	fs.StringArrayVar(&f.over, "over", nil, "`SETTINGS` to vary: capacity,user-limit-factor (of every queue), root.prod.capacity, or with values: node-locality-delay=0,40, user-limit-factor=1..10 (repeatable)")
	setGroup(fs, inPolicy, "goal", "keep", "keep-others", "over")
}

// read parses the flags; a sweep may do without a goal.
func (f *aimFlags) read() (err error) {
	if f.aim.Others, err = goal.ParseLimit(f.others); err != nil {
		return misuse("", "--keep-others: %v", err)
	}
	for _, text := range f.keep {
		b, err := goal.ParseBound(text)
		if err != nil {
			return misuse("", "--keep: %v", err)
		}
		f.aim.Keep = append(f.aim.Keep, b)
	}
	if f.goal != "" {
		if f.aim.Goal, err = goal.Parse(f.goal); err != nil {
			return misuse("", "--goal: %v", err)
		}
	}
	return nil
}

// space reads the scheduler's file, with the edits of the scenario, and makes the space of the settings.
func (f *aimFlags) space(s *scenario.Scenario) (name string, file []byte, space *tune.Space, err error) {
	if len(s.Schedulers) != 1 || len(s.Steering.Policies) > 1 {
		return "", nil, nil, misuse("Give one --scheduler, and at most one --steer.", "the settings of one scheduler are varied")
	}
	name, _ = s.Known.Policies.Split(s.Schedulers[0])
	if file, err = os.ReadFile(name); err != nil {
		return "", nil, nil, misuse("Give --scheduler capacity-scheduler.xml or fair-scheduler.xml.", "%s is not the file of a scheduler: %v", name, err)
	}
	if file, err = edit.Apply(name, file, s.Edits); err != nil {
		return "", nil, nil, &usageError{err: err}
	}
	var over []string
	for _, text := range f.over {
		if strings.Contains(text, "=") {
			over = append(over, text)
		} else {
			over = append(over, strings.Split(text, ",")...)
		}
	}
	if len(over) == 0 {
		over = []string{"capacity", "maximum-capacity", "user-limit-factor", "minimum-user-limit-percent", "maximum-am-resource-percent"}
		if conf.Detect(file) == conf.FairFile {
			over = []string{"weight", "maxAMShare"}
		}
	}
	if space, err = tune.NewSpace(name, file, over); err != nil {
		return "", nil, nil, misuse("", "--over: %v", err)
	}
	return name, file, space, nil
}

// tuneFlags are the flags of tune beside those of a scenario.
type tuneFlags struct {
	aimFlags
	budget      string
	heldOut     []string
	out, report string
	json        bool
}

func newTune(known *scenario.Catalogue) *cobra.Command {
	var (
		flags = scenarioFlags{known: known}
		own   tuneFlags
	)
	cmd := &cobra.Command{
		Use:   "tune [SCENARIO.yaml | DIR]",
		Short: "Find settings of the scheduler that improve a goal and harm no queue",
		Args:  flags.oneScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := flags.scenario(args)
			if err != nil {
				return err
			}
			return runTune(cmd, s, &own)
		},
	}
	flags.add(cmd, func(t *scenario.Setting) bool { return t.Name != "seeds" && t.Name != "variant" })
	own.add(cmd)
	fs := cmd.Flags()
	fs.StringVar(&own.budget, "budget", "", "what the search may cost: `N`runs of the days searched, or a time such as 10m (not reproducible); default: 60 to 1000 runs, about ten seconds of a processor unless the history is long")
	fs.StringArrayVar(&own.heldOut, "hold-out", nil, "confirm the answer, once, on this workload, or on the workload and cluster of this scenario: `FILE`; default: the last third of the history (repeatable)")
	setGroup(fs, inPolicy, "budget", "hold-out")
	fs.StringVarP(&own.out, "out", "o", "", "write the scheduler's file with the new settings to `FILE.xml`")
	fs.StringVar(&own.report, "report", "", "write an HTML report to `FILE`")
	fs.BoolVar(&own.json, "json", false, "write the result as JSON to standard output, and nothing else there")
	setGroup(fs, inOutput, "out", "report", "json")
	return cmd
}

// parseBudget reads 60runs or 10m; "": the usual budget.
func parseBudget(text string) (runs float64, limit time.Duration, err error) {
	if text == "" {
		return 0, 0, nil
	}
	if n, ok := strings.CutSuffix(strings.ReplaceAll(text, " ", ""), "runs"); ok {
		runs, err = strconv.ParseFloat(n, 64)
		if err != nil || !(runs >= 1 && runs <= 1e6) {
			return 0, 0, misuse("", "--budget %s: want 1 to 1000000 runs", text)
		}
		return runs, 0, nil
	}
	if limit, err = time.ParseDuration(text); err != nil || limit <= 0 {
		return 0, 0, misuse("", "--budget %s: want a number of runs, such as 200runs, or a time, such as 10m", text)
	}
	return math.MaxInt32, limit, nil
}

// heldOutOf resolves what --hold-out names, under the scheduler and the model of the scenario.
func heldOutOf(s scenario.Scenario, names []string) (list []*scenario.Setup, err error) {
	for _, name := range names {
		other := s
		other.Workload, other.Seed = []string{name}, s.Seed+1
		if st, err := os.Stat(name); err == nil && (st.IsDir() || slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name))) {
			if other, err = s.Known.Load(name); err != nil {
				return nil, err
			}
			other.Schedulers, other.Place, other.Edits, other.Variants, other.Cluster = s.Schedulers, s.Place, s.Edits, nil, cmp.Or(other.Cluster, s.Cluster)
		}
		setup, err := resolve(other)
		if err != nil {
			return nil, fmt.Errorf("hold-out %s: %w", name, err)
		}
		list = append(list, setup)
	}
	return list, nil
}

func runTune(cmd *cobra.Command, s scenario.Scenario, own *tuneFlags) error {
	if err := own.read(); err != nil {
		return err
	}
	if own.goal == "" {
		return misuse("Say what to improve: --goal \"p95 elapsed of root.adhoc\".", "tune needs a goal")
	}
	p := tune.Plan{Aim: own.aim, Seed: s.Seed}
	var err error
	if p.Runs, p.Time, err = parseBudget(own.budget); err != nil {
		return err
	}
	name, file, space, err := own.space(&s)
	if err != nil {
		return err
	}
	setup, err := resolve(s)
	if err != nil {
		return err
	}
	others, err := heldOutOf(s, own.heldOut)
	if err != nil {
		return err
	}
	files, err := prepareAll(cmd.Context(), [2]string{"out", own.out}, [2]string{"report", own.report})
	if err != nil {
		return err
	}
	defer files.discard()
	p.Space = space
	if p.History, err = tune.Divide(setup, others); err != nil {
		return err
	}
	line := term.NewProgress(os.Stderr, "tuning")
	if line.Active() {
		p.Progress = func(done, best float64) { line.Set(done, fmt.Sprintf("best so far %+.1f %%", 100*best)) }
	}
	a, err := tune.Search(cmd.Context(), p)
	if line.End(); err != nil {
		return err
	}
	tuned, err := edit.Apply(name, file, a.Edits)
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	if own.json {
		err = writeJSON(w, a)
	} else {
		showTuned(w, a, setup)
	}
	if a.Found && err == nil {
		err = files["out"].write(func(w io.Writer) error { _, err := w.Write(tuned); return err })
	}
	if err == nil {
		err = files["report"].write(func(w io.Writer) error { return report.WriteSheet(w, tuneSheet(cmd, a, own.goal, setup)) })
	}
	switch {
	case err != nil:
		return err
	case a.Partial:
		return errPartial
	case own.json:
	case a.Found && own.out != "":
		fmt.Fprintln(w)
		say(w, "The new settings are in "+own.out)
	case own.out != "":
		fmt.Fprintln(w)
		say(w, own.out+" is not written: there is nothing to change")
	}
	if !own.json {
		showFiles(w, "", own.report)
	}
	return nil
}

var (
	expectedHead = []string{"figure", "bound", "before", "after", "change", "worst day"}
	settingsHead = []string{"setting", "now", "new", "unit"}
)

func expectedRows(a *tune.Answer) (rows [][]string) {
	for _, f := range a.Expected {
		change := f.Words()
		if f.Unclear {
			change += ", not clear"
		}
		rows = append(rows, []string{f.Name, cmp.Or(f.Bound, "goal"), number(f.Before, f.Unit), number(f.After, f.Unit), change, fmt.Sprintf("%+.1f %%", f.Percent[3])})
	}
	return rows
}

func number(v float64, of string) string {
	if of == "s" {
		return unit.FormatSeconds(v)
	}
	text := strconv.FormatFloat(v, 'g', 4, 64)
	if v >= 1e4 { // no exponent
		text = count(int64(math.Round(v)))
	}
	return strings.TrimSpace(text + " " + of)
}

func settingsRows(a *tune.Answer) (rows [][]string) {
	for _, x := range a.Settings {
		rows = append(rows, []string{x.Name, cmp.Or(x.Old, "not set"), x.New, x.Unit})
	}
	return rows
}

// notNeeded are the settings that the answer leaves as they are, with what each does alone.
func notNeeded(a *tune.Answer) (list []string) {
	for _, e := range a.Effects {
		if !e.Needed {
			list = append(list, strings.Join(e.Settings, ", ")+": "+alone(e.Alone))
		}
	}
	return list
}

// alone is what a setting does by itself.
func alone(of *tune.Alone) string {
	if of == nil {
		return "not measured alone"
	}
	text := fmt.Sprintf("%s alone: %+.1f %%", strings.Join(of.Changes, " "), 100*of.Change)
	if of.Broken != "" {
		text += ", but " + of.Broken
	}
	return text
}

const rejectedTitle, refutedTitle, notNeededTitle = "Better in the search, rejected on the validation", "The best candidate is not confirmed", "Not needed in this answer (left as they are)"

func showTuned(w io.Writer, a *tune.Answer, setup *scenario.Setup) {
	ink := term.InkFor(os.Stdout)
	say(w, fmt.Sprintf("%s on %s: %s and %.1f full runs", setup.Workload.Title, setup.Cluster, candidates(a.Trials), a.Spent))
	fmt.Fprintln(w)
	if a.Warning != "" {
		say(w, "Warning: "+a.Warning+".")
		fmt.Fprintln(w)
	}
	showHeadline(w, a.Sentence, ink)
	if a.Found {
		fmt.Fprintf(w, "%s", draw(term.Table{Head: settingsHead, Rows: settingsRows(a), Left: 1, Ink: ink}))
	}
	if len(a.Expected) > 0 {
		fmt.Fprintf(w, "\n%s\nIn the search the goal changes by %+.1f %%.\n\n", draw(term.Table{Head: expectedHead, Rows: expectedRows(a), Left: 2, Ink: ink}), 100*a.Searched)
	}
	showList(w, refutedTitle, a.Refuted, ink)
	showList(w, rejectedTitle, a.Rejected, ink)
	showList(w, notNeededTitle+"; the goal's change by each alone, in one run of "+a.CurveOf, notNeeded(a), ink)
	showList(w, "Days", daysWords(a), ink)
	showList(w, "Notes", a.Notes, ink)
	showGround(w, setup.Assumptions, nil, ink)
}

// daysWords say which days had which part.
func daysWords(a *tune.Answer) []string {
	words := func(role string, days []string) string {
		if slices.Equal(days, a.Days) {
			return role + ": other replays of the same"
		}
		return role + ": " + strings.Join(days, ", ")
	}
	return []string{"searched: " + strings.Join(a.Days, ", "), words("validation, where candidates may be rejected", a.Validation), words("confirmation, once", a.Confirmation)}
}

func candidates(n int) string { return count(int64(n)) + " candidates" }

// tuneSheet is the report.
func tuneSheet(cmd *cobra.Command, a *tune.Answer, goal string, setup *scenario.Setup) report.Sheet {
	sheet := report.Sheet{
		Title: "Settings for " + goal, Subtitle: baseNames(setup.Scenario.Workload, setup.Workload.Title) + " on " + setup.Cluster.String(),
		Size: fmt.Sprintf("%s, %.1f full runs", candidates(a.Trials), a.Spent), Partial: a.Partial, Headline: a.Sentence, Version: build.Version(),
		Commands: []string{setup.Scenario.Command("tune") + typedAgain(cmd, "goal", "keep", "keep-others", "over", "budget", "hold-out")}, Seeds: []uint64{setup.Scenario.Seed},
		Lists: []report.SheetList{{Label: "notes", Items: a.Notes}, {Label: "days", Items: daysWords(a)}, {Label: "assumed", Items: setup.Assumptions}},
	}
	if a.Warning != "" {
		sheet.Notices = append(sheet.Notices, "Warning: "+a.Warning)
	}
	if a.Found {
		sheet.Parts = append(sheet.Parts, report.SheetPart{Title: "What changes", Tables: []report.SheetTable{report.NewTable("Settings", settingsHead, settingsRows(a)...)}})
	}
	if len(a.Expected) > 0 {
		title := "What to expect"
		if !a.Found {
			title = "What the best candidate did"
		}
		sheet.Parts = append(sheet.Parts, report.SheetPart{Title: title, Note: "on days that nothing had seen",
			Tables: []report.SheetTable{report.NewTable("Confirmation", expectedHead, expectedRows(a)...)}})
	}
	for _, list := range []struct {
		title string
		text  []string
	}{{refutedTitle, a.Refuted}, {rejectedTitle, a.Rejected}} {
		if len(list.text) > 0 {
			sheet.Parts = append(sheet.Parts, report.SheetPart{Title: list.title, Text: list.text})
		}
	}
	trade := report.SheetChart{Title: "Best change of the goal, by how much worse another queue may get", Kind: "lines", Unit: "%", Series: []report.SheetSeries{{Name: goal}}}
	for _, t := range a.Curve {
		v := 100 * t.Change
		trade.Categories = append(trade.Categories, fmt.Sprintf("+%.0f %%", 100*t.Limit))
		trade.Series[0].Points = append(trade.Series[0].Points, report.SheetPoint{v, v, v})
	}
	sheet.Parts = append(sheet.Parts, report.SheetPart{Title: "Trade-off", Note: "on " + a.CurveOf, Charts: []report.SheetChart{trade}})
	if len(a.Effects) > 0 {
		rows := [][]string{{"all changes", fmt.Sprintf("%+.1f %%", 100*a.With), "", ""}}
		for _, e := range a.Effects {
			row := []string{strings.Join(e.Settings, ", "), "not needed", "", alone(e.Alone)}
			if e.Needed {
				row[1], row[2] = fmt.Sprintf("%+.1f %%", 100*e.Without), e.Broken
			}
			rows = append(rows, row)
		}
		sheet.Parts = append(sheet.Parts, report.SheetPart{Title: "What each setting contributes", Note: "without it: on the days searched, as they were; alone: on " + a.CurveOf,
			Tables: []report.SheetTable{report.NewTable("Change of the goal", []string{"settings", "without it", "bound that breaks without it", "alone, the best that was measured"}, rows...)}})
	}
	return sheet
}

// typedAgain is a command's own flags as typed.
func typedAgain(cmd *cobra.Command, names ...string) (text string) {
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		values, err := cmd.Flags().GetStringArray(name)
		if err != nil {
			values = []string{f.Value.String()}
		}
		for _, v := range values {
			if f.Changed {
				text += " --" + name + " " + scenario.Quote(v)
			}
		}
	}
	return text
}
