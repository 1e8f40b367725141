package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/experiment"
	"github.com/yardmaster/yardmaster/experiment/all"
	"github.com/yardmaster/yardmaster/internal/build"
	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/internal/term"
)

// reproduction holds the verb's flags.
type reproduction struct {
	seeds                        int
	first                        uint64
	from, report, json, markdown string
	rejudge                      bool // judge what is read again, by the checks of this build
}

func newReproduce() *cobra.Command {
	var r reproduction
	cmd := &cobra.Command{
		Use:   "reproduce ID...",
		Short: "Rerun the experiments of a published study and check its claims",
		Args:  cobra.ArbitraryArgs,
		ValidArgsFunction: func(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return reproducible(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd, args) },
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.IntVar(&r.seeds, "seeds", experiment.EnoughSeeds, "run every experiment with `N` seeds")
	fs.Uint64Var(&r.first, "seed", 1, "the first seed `N`")
	fs.StringVar(&r.from, "from", "", "show what an earlier command wrote with --json to `FILE` and run nothing")
	fs.BoolVar(&r.rejudge, "rejudge", false, "with --from: judge its figures again, by the checks of this build")
	fs.StringVar(&r.report, "report", "", "write an HTML report to `FILE`")
	fs.StringVar(&r.json, "json", "", "write all figures and verdicts as JSON to `FILE`; - is standard output, and nothing else is written there")
	fs.StringVar(&r.markdown, "markdown", "", "write a page of Markdown to `FILE`")
	setGroup(fs, headings[3], "report", "json", "markdown")
	cmd.AddCommand(newReproduceList())
	return cmd
}

func (r *reproduction) run(cmd *cobra.Command, args []string) error {
	see := "See \"yardmaster reproduce list\"."
	switch {
	case r.from != "" && len(args) > 0:
		return misuse("Leave out "+strings.Join(args, " ")+", or --from.", "--from shows what was run before: it takes no experiments")
	case r.from == "" && r.rejudge:
		return misuse(see, "--rejudge is about figures that were kept: name them with --from")
	case r.from == "" && len(args) == 0:
		return misuse(see, "reproduce: name experiments, groups or a study")
	case r.seeds < 1:
		return misuse("", "--seeds: %d is not a number of seeds", r.seeds)
	case r.first+uint64(r.seeds) < r.first:
		return misuse("", "--seed: %d leaves no room for %d seeds", r.first, r.seeds)
	}
	var selected []experiment.Selection
	if r.from == "" {
		var err error
		if selected, err = experiment.Select(all.Studies(), args); err != nil {
			return misuse(see, "%v", err)
		}
	}
	json := r.json
	if json == "-" {
		json = ""
	}
	files, err := prepareAll(cmd.Context(), [2]string{"report", r.report}, [2]string{"json", json}, [2]string{"markdown", r.markdown})
	if err != nil {
		return err
	}
	defer files.discard()
	f, err := r.findings(cmd.Context(), selected, args)
	if err != nil {
		return err
	}
	// Show the results first: a file that cannot be written must not lose them.
	w := cmd.OutOrStdout()
	if r.json == "-" {
		err = f.WriteJSON(w)
	} else {
		width, _ := term.Columns(os.Stdout)
		experiment.Console{Width: width, Ink: term.InkFor(os.Stdout)}.Write(w, f)
		show(w)
	}
	if f.Elapsed > 0 {
		fmt.Fprintln(os.Stderr, pace(f))
	}
	err = errors.Join(err,
		files["json"].write(f.WriteJSON),
		files["markdown"].write(func(to io.Writer) error { return f.WriteMarkdown(to, f.Command) }),
		files["report"].write(func(to io.Writer) error { return f.WriteReport(to, f.Command) }))
	switch {
	case err != nil:
		return err
	case r.json != "-":
		for _, f := range []struct{ what, path string }{{"Report", r.report}, {"Page", r.markdown}, {"Figures", r.json}} {
			if f.path != "" {
				fmt.Fprintf(w, "%s: %s\n", f.what, f.path)
			}
		}
	}
	return verdictOf(f)
}

// findings runs what is selected, or reads an earlier run.
func (r *reproduction) findings(ctx context.Context, selected []experiment.Selection, args []string) (*experiment.Findings, error) {
	if r.from != "" {
		file, err := os.Open(r.from)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", r.from, reason(err))
		}
		defer func() { _ = file.Close() }() // read-only
		f, err := experiment.ReadJSON(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.from, err)
		}
		if r.rejudge {
			return experiment.Rejudge(f, all.Studies())
		}
		return f, nil
	}
	line := term.NewProgress(os.Stderr, "reproducing")
	defer line.End()
	plan := experiment.Plan{Selected: selected, Seeds: experiment.Seeds(r.first, r.seeds), Version: build.Version(), Command: r.command(args)}
	if line.Active() {
		plan.Progress = func(done, total int) {
			line.Set(float64(done)/float64(total), count(int64(done))+" of "+count(int64(total))+" runs")
		}
	}
	return experiment.Run(ctx, plan)
}

// verdictOf is the command's error, if any.
func verdictOf(f *experiment.Findings) error {
	switch {
	case len(f.Failures) > 0:
		fail := f.Failures[0]
		more := ""
		if n := len(f.Failures) - 1; n > 0 {
			more = fmt.Sprintf(" (and %d other runs)", n)
		}
		what, _, _ := strings.Cut(fail.Error, "\n")
		return fmt.Errorf("%s failed with seed %d: %s%s", fail.Experiment, fail.Seed, what, more)
	case f.Partial:
		return errPartial
	case !f.OK():
		return errors.New("checks that must hold do not: see MISS with strength A")
	}
	return nil
}

func pace(f *experiment.Findings) string {
	return fmt.Sprintf("%s runs in %s, %.3g runs/s", count(int64(f.Done)), f.Elapsed.Round(100*time.Millisecond), float64(f.Done)/f.Elapsed.Seconds())
}

// command is how to run the same again.
func (r *reproduction) command(args []string) string {
	words := append([]string{"yardmaster", "reproduce"}, args...)
	for i, w := range words {
		if strings.ContainsAny(w, " *?[]") {
			words[i] = "'" + w + "'"
		}
	}
	words = append(words, "--seeds", fmt.Sprint(r.seeds))
	if r.first != 1 {
		words = append(words, "--seed", fmt.Sprint(r.first))
	}
	return strings.Join(words, " ")
}

// reproducible are the ids for shell completion.
func reproducible() []string {
	var names []string
	for _, s := range all.Studies() {
		names = append(names, s.Name+"\t"+s.Title)
		for _, e := range s.Experiments {
			names = append(names, s.Name+"/"+e.ID+"\t"+e.Title)
		}
	}
	return names
}

func newReproduceList() *cobra.Command {
	var checks bool
	cmd := &cobra.Command{
		Use:   "list [STUDY]",
		Short: "List studies, their experiments and their checks",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			studies := all.Studies()
			if len(args) == 1 {
				one, err := studyNamed(studies, args[0])
				if err != nil {
					return err
				}
				studies = []*experiment.Study{one}
			}
			w := cmd.OutOrStdout()
			for i, s := range studies {
				if i > 0 {
					fmt.Fprintln(w)
				}
				say(w, s.Name+": "+s.Title+". "+s.Source)
				fmt.Fprintln(w)
				if checks {
					fmt.Fprint(w, draw(checkTable(s)))
				} else {
					fmt.Fprint(w, draw(experimentTable(s)))
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&checks, "checks", false, "list the checks")
	return cmd
}

func studyNamed(studies []*experiment.Study, name string) (*experiment.Study, error) {
	var names []string
	for _, s := range studies {
		if strings.EqualFold(s.Name, name) {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return nil, misuse("The studies are "+strings.Join(names, ", ")+".", "there is no study %q%s", name, suggest.Hint(name, names))
}

func experimentTable(s *experiment.Study) term.Table {
	t := term.Table{Head: []string{"id", "group", "checks", "what"}, Left: 4}
	strengths := s.Strengths()
	for _, e := range s.Experiments {
		n := strengths[e.ID]
		var counts []string
		for _, strength := range []experiment.Strength{experiment.A, experiment.B, experiment.R} {
			if n[strength] > 0 {
				counts = append(counts, fmt.Sprintf("%d %s", n[strength], strength))
			}
		}
		t.Add(e.ID, e.Group, strings.Join(counts, ", "), e.Title)
	}
	return t
}

func checkTable(s *experiment.Study) term.Table {
	t := term.Table{Head: []string{"check", "", "source", "what it says"}, Left: 4}
	for i := range s.Checks {
		c := &s.Checks[i]
		t.Add(c.ID, string(c.Strength), c.Paper, c.Text)
	}
	return t
}
