package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/securefile"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif"
	"github.com/yardmaster/yardmaster/whatif/reason"
)

func newSimulate(known *scenario.Catalogue) *cobra.Command {
	var (
		flags = scenarioFlags{known: known}
		out   output
		dir   string
		log   string
		why   string
	)
	cmd := &cobra.Command{
		Use:   "simulate [SCENARIO.yaml | DIR]",
		Short: "Run a workload on a cluster under one scheduler",
		Args:  flags.oneScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := flags.scenario(args)
			if err != nil {
				return err
			}
			if n := len(s.Schedulers); n > 1 {
				return misuse("Choose one with --scheduler, or use \"yardmaster compare\".", "simulate runs one scheduler, not %d", n)
			}
			if s.Seeds > 1 {
				fmt.Fprintf(cmd.ErrOrStderr(), "note: simulate runs one seed (%d); \"yardmaster compare\" runs all %d\n", s.Seed, s.Seeds)
				s.Seeds = 0
			}
			switch n := len(s.Steering.Policies); {
			case n > 1:
				return misuse("Choose one with --steer, or use \"yardmaster compare\".", "simulate runs under one steering policy, not %d", n)
			case log != "" && (n == 0 || s.Steering.Policies[0] == scenario.NoSteering):
				return misuse("Add --steer, or leave it out.", "--steer-log writes the decisions of a steering policy, and there is none")
			}
			var ask *sim.Why
			if why != "" {
				at := strings.LastIndex(why, "@")
				t, err := unit.ParseTime(why[at+1:])
				if at < 1 || err != nil || t < 0 {
					return misuse("Write it as JOB@TIME, such as job-17@90s.", "--why %q names no job and time", why)
				}
				if out.json {
					return misuse("Leave one of them out.", "--why answers in sentences, not in JSON")
				}
				ask = &sim.Why{ID: why[:at], At: t}
			}
			return simulate(cmd, s, out, dir, log, ask)
		},
	}
	flags.add(cmd, func(t *scenario.Setting) bool { return t.Name != "seeds" && t.Name != "variant" })
	cmd.Flags().StringVar(&dir, "out", "", "write jobs.parquet, timeline.parquet and result.json into folder `DIR`")
	cmd.Flags().StringVar(&log, "steer-log", "", "write the decisions of the steering policy to `FILE`, a line each")
	cmd.Flags().StringVar(&why, "why", "", "say what holds a job back at a time of the run (`JOB@TIME`, such as job-17@90s)")
	setGroup(cmd.Flags(), inOutput, "out", "steer-log", "why")
	out.add(cmd)
	return cmd
}

// oneRun is the number of jobs that a single run reads ahead, so that it can show its progress.
const oneRun = 100_000

func simulate(cmd *cobra.Command, s scenario.Scenario, out output, dir, log string, why *sim.Why) error {
	watch := startWatch()
	ctx, w := cmd.Context(), cmd.OutOrStdout()
	setup, err := resolve(s)
	if err != nil {
		return err
	}
	if err := setup.CheckQueues(); err != nil {
		return asUsage(err)
	}
	var folder *result.Folder
	if dir != "" {
		if folder, err = newFolder(ctx, dir); err != nil {
			return err
		}
		defer folder.Discard()
	}
	files, err := out.prepare(ctx, [2]string{"steer-log", log})
	if err != nil {
		return err
	}
	defer files.discard()
	setup.Workload.InMemory = cmp.Or(setup.Workload.InMemory, oneRun)
	plan := whatif.Plan{Variants: setup.Runs(), Pictures: out.report != ""}
	var decisions *bufio.Writer
	if log != "" {
		decisions = bufio.NewWriterSize(files["steer-log"].f, 1<<16)
		plan.Variants[0].SteerLog = lenient{decisions}
	}
	plan.Variants[0].Why = why
	if folder != nil {
		plan.Variants[0].Sink = folder
	}
	c, err := compare(ctx, "simulating", setup, plan)
	if err != nil {
		return err
	}
	if len(c.Seeds) == 0 {
		return errors.New("stopped before anything was simulated")
	}
	// Show the results first: a file that cannot be written must not lose them.
	run := c.Runs[0][0]
	defer noteNoEffect(cmd.ErrOrStderr(), run)
	if out.json {
		err = run.WriteJSON(w)
	} else {
		showRun(w, run, c.Answers[0].Text, out.bySize)
		if why != nil && (why.Present || !c.Partial) {
			fmt.Fprintln(w)
			columns, _ := term.Columns(os.Stdout)
			err = reason.Text(w, columns, why)
		}
	}
	err = errors.Join(err, writeFolder(folder, dir, run),
		writeReport(files["report"], "One run under "+run.Scenario.Scheduler, run.Scenario.Command, setup, c),
		watch.write(files["timing"], run.Events), writeSteerLog(files["steer-log"], decisions))
	switch {
	case err != nil:
		return err
	case !out.json:
		showFiles(w, dir, out.report)
	}
	switch {
	case c.Partial:
		return errPartial
	case run.Jobs.Finished == 0:
		return whyIdle(run)
	}
	return nil
}

// whyIdle says that no job finished, with the most frequent reason and, last, what to do about it.
func whyIdle(r *result.Run) error {
	err := errIdle(r.Scenario.Scheduler)
	if len(r.Refusals) > 0 {
		err = fmt.Errorf("%w\n%s: %s", err, unit.Count(r.Refusals[0].Jobs, "job"), term.Line(r.Refusals[0].Reason))
	}
	if r.Jobs.Refused > 0 {
		err = fmt.Errorf("%w\n%s", err, dealHint)
	}
	return err
}

// noteNoEffect repeats, at the end of the output, which settings have no effect.
func noteNoEffect(w io.Writer, r *result.Run) {
	for _, text := range r.Assumptions {
		if strings.HasSuffix(text, result.NoEffect) {
			fmt.Fprintln(w, "note: "+text)
		}
	}
}

// lenient takes everything: a log that cannot be written fails at its end, when the results have been shown.
type lenient struct{ *bufio.Writer }

func (l lenient) Write(b []byte) (int, error) {
	_, _ = l.Writer.Write(b) // Flush returns the error
	return len(b), nil
}

// writeSteerLog completes the decisions of a steering policy, if requested. They are written as they are made: a month has millions.
func writeSteerLog(to *outFile, decisions *bufio.Writer) error {
	if err := to.write(func(io.Writer) error { return decisions.Flush() }); err != nil {
		return fmt.Errorf("steer-log: %w", err)
	}
	return nil
}

// writeFolder completes the folder of a run, if requested.
func writeFolder(folder *result.Folder, dir string, run *result.Run) error {
	if folder == nil {
		return nil
	}
	err := folder.Close()
	if err == nil {
		err = folder.WriteResult(run)
	}
	if err != nil {
		return fmt.Errorf("out: cannot write into %s: %w", dir, securefile.Cause(err))
	}
	return nil
}

// newFolder makes the folder of a run's tables.
func newFolder(ctx context.Context, dir string) (*result.Folder, error) {
	if st, err := os.Stat(dir); err == nil && !st.IsDir() {
		return nil, fmt.Errorf("out: %s is a file: name a folder", dir)
	}
	var paths []string
	for _, name := range []string{result.JobsFile, result.TimelineFile, result.ResultFile} {
		if st, err := os.Stat(filepath.Join(dir, name)); err == nil && st.IsDir() {
			return nil, fmt.Errorf("out: %s is a folder, and a file of that name is to be written", filepath.Join(dir, name))
		}
		paths = append(paths, filepath.Join(dir, name))
	}
	folder, err := result.NewFolder(dir)
	if err != nil {
		return nil, fmt.Errorf("out: cannot write into %s: %w", dir, securefile.Cause(err))
	}
	leftoversOf(ctx).add(paths...)
	return folder, nil
}
