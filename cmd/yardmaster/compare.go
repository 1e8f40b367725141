package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/report"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/whatif"
)

func newCompare() *cobra.Command {
	var (
		flags scenarioFlags
		out   output
	)
	cmd := &cobra.Command{
		Use:   "compare [SCENARIO.yaml | DIR]",
		Short: "Run a workload under several schedulers and compare them",
		Args:  oneScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			watch := startWatch()
			s, err := flags.scenario(args)
			if err != nil {
				return err
			}
			if s.Schedulers, err = besideOwn(s.Schedulers, args); err != nil {
				return err
			}
			if len(s.Schedulers) == 1 && len(s.Steering.Policies) < 2 {
				return misuse("Add another --scheduler, or use \"yardmaster simulate\".", "compare needs at least two schedulers")
			}
			setup, err := resolve(s)
			if err != nil {
				return err
			}
			files, err := out.prepare(cmd.Context())
			if err != nil {
				return err
			}
			defer files.discard()
			c, err := compare(cmd.Context(), "comparing", setup, whatif.Plan{Variants: setup.Runs(), Pictures: out.report != "", BySize: out.bySize})
			if err != nil {
				return err
			}
			if len(c.Seeds) == 0 {
				return errors.New("stopped before one seed had run under every scheduler: nothing to compare")
			}
			// Show the results first: a file that cannot be written must not lose them.
			w := cmd.OutOrStdout()
			if out.json {
				err = c.WriteJSON(w)
			} else {
				say(w, fmt.Sprintf("%s on %s, %s", setup.Workload.Title, setup.Cluster, seedsTitle(c.Seeds)))
				fmt.Fprintln(w)
				showComparison(w, c, true)
			}
			err = errors.Join(err, writeReport(files["report"], comparisonTitle(c), s.Command("compare"), setup, c),
				watch.write(files["timing"], eventsOf(c)))
			switch {
			case err != nil:
				return err
			case !out.json:
				showFiles(w, "", out.report)
			}
			switch {
			case c.Partial:
				return errPartial
			case len(c.Unfinished) > 0:
				return errIdle(strings.Join(c.Unfinished, " and "))
			}
			return nil
		},
	}
	flags.add(cmd, func(*scenario.Setting) bool { return true })
	out.add(cmd)
	return cmd
}

// besideOwn puts a scenario's own scheduler before the only one that a flag names: one alone cannot be compared.
func besideOwn(named, args []string) ([]string, error) {
	if len(named) != 1 || len(args) != 1 {
		return named, nil
	}
	own, err := scenario.Load(args[0])
	if err != nil || len(own.Schedulers) != 1 || own.Schedulers[0] == named[0] {
		return named, err
	}
	return append(own.Schedulers, named...), nil
}

func comparisonTitle(c *whatif.Comparison) string {
	names := report.Labels(c.Schedulers)
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

func seedsTitle(seeds []uint64) string {
	if len(seeds) == 1 {
		return fmt.Sprintf("seed %d", seeds[0])
	}
	return fmt.Sprintf("%d seeds (%d to %d)", len(seeds), seeds[0], seeds[len(seeds)-1])
}
