package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/whatif/timeline"
)

func newSparkTimeline(known *scenario.Catalogue) *cobra.Command {
	var history, output string
	cmd := &cobra.Command{
		Use:   "timeline LOG",
		Short: "Show executors and tasks of one application over time, observed and simulated",
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return misuse("See \""+cmd.CommandPath()+" --help\".", "spark timeline: name one event log")
			case output != "" && !strings.EqualFold(filepath.Ext(output), ".svg"):
				return misuse("Name a file that ends in .svg.", "-o %s: the picture is an SVG", output)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return labelled("spark timeline", sparkTimeline(cmd, known, args[0], history, output))
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&history, "history", "", "simulate the application among all others of an imported history, `DIR`, by the scenario in it")
	fs.StringVarP(&output, "output", "o", "", "draw the picture: `FILE`.svg")
	setGroup(fs, inSource, "history")
	setGroup(fs, inOutput, "output")
	return cmd
}

func sparkTimeline(cmd *cobra.Command, known *scenario.Catalogue, path, history, output string) error {
	ctx := cmd.Context()
	var setup *scenario.Setup
	if history != "" {
		if noScenario(known, history) != nil {
			return misuse("Name the folder of import yarn, or a scenario file.", "%s is no scenario", history)
		}
		s, err := known.Load(history)
		if err != nil {
			return err
		}
		if n := len(s.Schedulers); n > 1 {
			return misuse("Leave one of them in the scenario.", "%s has %d schedulers, and a picture is of one", history, n)
		}
		if setup, err = resolve(s); err != nil {
			return err
		}
	}
	out, err := prepare(ctx, output)
	if err != nil {
		return err
	}
	defer out.discard()
	from, err := oneLog(ctx, path)
	if err != nil {
		return err
	}
	log, err := timeline.Read(ctx, from)
	if err != nil {
		return err
	}
	var c *timeline.Comparison
	if setup == nil {
		c, err = timeline.Alone(ctx, log)
	} else {
		line := term.NewProgress(os.Stderr, "simulating")
		setup.Progress = func(p sim.Progress) {
			line.Set(float64(p.Finished)/float64(max(setup.Workload.Jobs, p.Submitted, 1)), count(p.Finished)+" jobs")
		}
		c, err = timeline.InHistory(ctx, log, setup)
		line.End()
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("stopped before the end")
	case err != nil:
		return err
	}
	columns, _ := term.Columns(os.Stdout)
	c.Text(cmd.OutOrStdout(), columns, term.InkFor(os.Stdout))
	return out.write(c.SVG)
}
