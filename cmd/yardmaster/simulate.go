package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/sim"
)

func newSimulate() *cobra.Command {
	var (
		flags scenarioFlags
		out   output
		dir   string
	)
	cmd := &cobra.Command{
		Use:   "simulate [SCENARIO.yaml]",
		Short: "Play a workload on a cluster under one scheduler",
		Long: `Play a workload on a cluster under one scheduler, and print who waited how long.

What to run is said by flags, by a scenario file, or by both: a flag overrides the file. The same scenario and seed give the
same result, byte for byte.`,
		Example: `  yardmaster simulate --workload jobs.parquet --cluster 600x6/30 --scheduler fair
  yardmaster simulate --workload FB-2010_samples_24_times_1hr_0.tsv --cluster 600x6/30 --scheduler ./capacity-scheduler.xml --out run1 --report run1.html
  yardmaster simulate scenario.yaml --seed 7 --json`,
		Args: oneScenario,
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
				s.Seeds = 1
			}
			return simulate(cmd.Context(), s, out, dir)
		},
	}
	flags.add(cmd, func(t *scenario.Setting) bool { return t.Name != "seeds" })
	cmd.Flags().StringVar(&dir, "out", "", "write jobs.parquet, timeline.parquet and result.json into folder `DIR`")
	setGroup(cmd.Flags(), "out", headings[3])
	out.add(cmd)
	return cmd
}

// oneRun is the number of jobs that a single run reads ahead, so that it knows how far it is.
const oneRun = 100_000

func simulate(ctx context.Context, s scenario.Scenario, out output, dir string) (err error) {
	watch := startWatch()
	setup, err := resolve(s)
	if err != nil {
		return err
	}
	var folder *result.Folder
	if dir != "" {
		if folder, err = result.NewFolder(dir); err != nil {
			return err
		}
		defer folder.Discard()
	}
	c, err := compare(ctx, "simulating", setup, oneRun, out.report != "", func(int, int) sim.Sink {
		if folder == nil {
			return nil
		}
		return folder
	})
	if err != nil {
		return err
	}
	if len(c.Seeds) == 0 {
		return errors.New("stopped before anything was simulated")
	}
	run := c.Runs[0][0]
	if folder != nil {
		if err := folder.Close(); err != nil {
			return err
		}
		if err := folder.WriteResult(run); err != nil {
			return err
		}
	}
	if out.report != "" {
		title := "One run under " + run.Scenario.Scheduler
		if err := writeReport(out.report, title, run.Scenario.Command, setup, c); err != nil {
			return err
		}
	}
	if err := watch.write(out.timing, run.Events); err != nil {
		return err
	}
	if out.json {
		if err := run.WriteJSON(os.Stdout); err != nil {
			return err
		}
	} else {
		showRun(os.Stdout, run, c.Headline)
		showFiles(os.Stdout, dir, out.report)
	}
	if c.Partial {
		return errPartial
	}
	return nil
}
