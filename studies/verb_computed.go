package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/internal/build"
	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/studies/answers"
	"github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/experiment/all"
	"github.com/yardmaster/yardmaster/studies/tune"
)

// computed are the verbs that need no real cluster.
var computed = []verb{
	{"reproduce", "ID...", "rerun the experiments of a published study and check its claims",
		`Reruns the experiments of a published study, and checks whether each result that it reports holds here.

An ID is an experiment (capacity/E01, or E01 where only one study has it), a range (E01..E08), a pattern ('E*'), a group, a check, or a
whole study (capacity). "reproduce list" shows them all.

Each check gives the source's value, ours with its 95 % interval over the seeds, and a verdict:
  PASS          it holds
  MISS          it does not; a line below says why, where that is known
  UNCLEAR       these seeds do not settle it
  RECORD        the source reports it but it need not follow: "as reported" or "differs"
  SAYS NOTHING  it could not have failed
The letter before the verdict is the check's strength: A follows from the algorithm and must hold, B is a trend that the source reports, R is
only recorded. A check is judged when all experiments that it needs were run.

Exits with 1 when an A check misses, a run fails, or the work is stopped (what was done by then is judged and shown). Runs execute in
parallel, one per processor; the number of processors does not affect the result.`, reproduceVerb},
	{"reproduce list", "[STUDY]", "list studies, their experiments and their checks", "Lists studies, their experiments and, with --checks, what the source says.", listVerb},
	{"tune", "", "let `yardmaster tune` and random settings compete on histories",
		"Adds a record of each history that was not used to develop the search, and writes docs/studies/tune.md. Needs YARDMASTER_TRACES.", tuneVerb},
	{"answers", "[NAME=FOLDER...]", "ask an operator's questions twice, and count the answers that other replays overturn",
		"A folder has a scenario, as `import yarn` makes it, and a file QUESTIONS with a variant per line; studies/answers/folders.sh makes those of the study.", answersVerb},
}

// reproduction holds the flags of the verb reproduce.
type reproduction struct {
	seeds                        int
	first                        uint64
	from, report, json, markdown string
	rejudge                      bool // judge what is read again, by the checks of this build
}

func reproduceVerb(f *flag.FlagSet, out io.Writer) action {
	var r reproduction
	f.IntVar(&r.seeds, "seeds", experiment.EnoughSeeds, "number of seeds of every experiment")
	f.Uint64Var(&r.first, "seed", 1, "the first seed")
	f.StringVar(&r.from, "from", "", "show what an earlier run wrote with --json to this `file` (.gz: compressed), and run nothing")
	f.BoolVar(&r.rejudge, "rejudge", false, "with --from: judge its figures again, by the checks of this build")
	f.StringVar(&r.report, "report", "", "write an HTML report to this `file`")
	f.StringVar(&r.json, "json", "", "write all figures and verdicts as JSON to this `file`; - is standard output, and nothing else is written there")
	f.StringVar(&r.markdown, "markdown", "", "write a page of Markdown to this `file`, and its picture to the folder pictures beside it")
	return func(ctx context.Context) error { return r.run(ctx, f.Args(), out) }
}

// output is a file that a reproduction writes.
type output struct {
	name, path string
	write      func(io.Writer) error
}

func (r *reproduction) run(ctx context.Context, ids []string, out io.Writer) error {
	const see = "; see \"reproduce list\""
	switch {
	case r.from != "" && len(ids) > 0:
		return fmt.Errorf("--from shows what was run before: leave out %s", strings.Join(ids, " "))
	case r.from == "" && r.rejudge:
		return errors.New("--rejudge is about figures that were kept: name them with --from")
	case r.from == "" && len(ids) == 0:
		return errors.New("name experiments, groups or a study" + see)
	case r.seeds < 1:
		return fmt.Errorf("--seeds: %d is not a number of seeds", r.seeds)
	case r.first+uint64(r.seeds) < r.first:
		return fmt.Errorf("--seed: %d leaves no room for %d seeds", r.first, r.seeds)
	}
	var selected []experiment.Selection
	if r.from == "" {
		var err error
		if selected, err = experiment.Select(all.Studies(), ids); err != nil {
			return fmt.Errorf("%w%s", err, see)
		}
	}
	for _, file := range []string{r.report, r.json, r.markdown} { // now, not after an hour
		if st, err := os.Stat(filepath.Dir(file)); err != nil || !st.IsDir() {
			return fmt.Errorf("cannot write %s: there is no folder %s", file, filepath.Dir(file))
		}
	}
	found, err := r.findings(ctx, selected, ids)
	if err != nil {
		return err
	}
	// Show the results first: a file that cannot be written must not lose them.
	if r.json == "-" {
		err = found.WriteJSON(out)
	} else {
		width, _ := term.Columns(os.Stdout)
		experiment.Console{Width: width, Ink: term.InkFor(os.Stdout)}.Write(out, found)
	}
	if found.Elapsed > 0 {
		fmt.Fprintf(os.Stderr, "%d runs in %s, %.3g runs/s\n", found.Done, found.Elapsed.Round(100*time.Millisecond), float64(found.Done)/found.Elapsed.Seconds())
	}
	files := []output{
		{"Report", r.report, func(w io.Writer) error { return found.WriteReport(w, found.Command) }},
		{"Page", r.markdown, func(w io.Writer) error { return found.WriteMarkdown(w, found.Command) }},
		{"Figures", r.json, found.WriteJSON},
	}
	for i := range found.Studies {
		if s := &found.Studies[i]; r.markdown != "" && s.Pictured() {
			files = append(files, output{"Picture", filepath.Join(filepath.Dir(r.markdown), "pictures", s.Name+".svg"), s.WritePicture})
		}
	}
	for _, f := range files {
		if f.path == "" || f.path == "-" {
			continue
		}
		var b bytes.Buffer
		fail := f.write(&b)
		if fail == nil && f.name == "Picture" {
			fail = os.MkdirAll(filepath.Dir(f.path), 0o755)
		}
		if fail == nil {
			fail = os.WriteFile(f.path, b.Bytes(), 0o644)
		}
		if err = errors.Join(err, fail); fail == nil && r.json != "-" {
			fmt.Fprintf(out, "%s: %s\n", f.name, f.path)
		}
	}
	if err != nil {
		return err
	}
	return outcome(found)
}

// findings runs what is selected, or reads an earlier run.
func (r *reproduction) findings(ctx context.Context, selected []experiment.Selection, ids []string) (*experiment.Findings, error) {
	if r.from != "" {
		file, err := os.Open(r.from)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }() // read only
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
	plan := experiment.Plan{Selected: selected, Seeds: experiment.Seeds(r.first, r.seeds), Version: build.Version(), Command: r.command(ids)}
	if line.Active() {
		plan.Progress = func(done, total int) {
			line.Set(float64(done)/float64(total), fmt.Sprintf("%d of %d runs", done, total))
		}
	}
	return experiment.Run(ctx, plan)
}

// outcome is the command's error, if any.
func outcome(f *experiment.Findings) error {
	switch {
	case len(f.Failures) > 0:
		fail := f.Failures[0]
		more := ""
		if n := len(f.Failures) - 1; n > 0 {
			more = fmt.Sprintf(" (and %d other runs)", n)
		}
		first, _, _ := strings.Cut(fail.Error, "\n")
		return fmt.Errorf("%s failed with seed %d: %s%s", fail.Experiment, fail.Seed, first, more)
	case f.Partial:
		return errors.New("interrupted: the results are partial")
	case !f.OK():
		return errors.New("checks that must hold do not: see MISS with strength A")
	}
	return nil
}

// command is how to run the same again.
func (r *reproduction) command(ids []string) string {
	words := append([]string{"go", "run", "./studies", "reproduce"}, ids...)
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

func listVerb(f *flag.FlagSet, out io.Writer) action {
	checks := f.Bool("checks", false, "list the checks")
	return func(context.Context) error {
		studies := all.Studies()
		if f.NArg() > 0 {
			one, err := studyNamed(studies, f.Arg(0))
			if err != nil {
				return err
			}
			studies = []*experiment.Study{one}
		}
		for i, s := range studies {
			if i > 0 {
				fmt.Fprintln(out)
			}
			fmt.Fprintln(out, term.Wrap(s.Name+": "+s.Title+". "+s.Source, "", term.Width(os.Stdout)))
			table := experimentTable(s)
			if *checks {
				table = checkTable(s)
			}
			table.Width, _ = term.Columns(os.Stdout)
			fmt.Fprint(out, table.String())
		}
		return nil
	}
}

func studyNamed(studies []*experiment.Study, name string) (*experiment.Study, error) {
	var names []string
	for _, s := range studies {
		if strings.EqualFold(s.Name, name) {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return nil, fmt.Errorf("there is no study %q%s; the studies are %s", name, suggest.Hint(name, names), strings.Join(names, ", "))
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

func tuneVerb(f *flag.FlagSet, out io.Writer) action {
	s := tune.Study{Log: out}
	f.StringVar(&s.Only, "only", "", "run the history of this `name`")
	f.BoolVar(&s.Developed, "developed", false, "run the histories on which the search was developed, too")
	f.BoolVar(&s.Try, "try", false, "print the results, and record nothing")
	f.BoolVar(&s.Offline, "offline", false, "only write the page, from the stored records")
	return s.Run
}

func answersVerb(f *flag.FlagSet, _ io.Writer) action {
	offline := f.Bool("offline", false, "only write the page, from the stored records")
	return func(ctx context.Context) error { return answers.Run(ctx, *offline, f.Args()) }
}
