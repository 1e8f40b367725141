package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/whatif"
)

func newCompare(known *scenario.Catalogue) *cobra.Command {
	var (
		flags   = scenarioFlags{known: known}
		out     output
		rows    rowsOut
		verbose bool
	)
	cmd := &cobra.Command{
		Use:   "compare [SCENARIO.yaml | DIR]",
		Short: "Run a workload under several schedulers and compare them",
		Args:  flags.oneScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			watch := startWatch()
			s, err := flags.scenario(args)
			if err != nil {
				return err
			}
			if len(s.Variants) == 0 {
				if s.Schedulers, err = besideOwn(known, s.Schedulers, args); err != nil {
					return err
				}
			}
			if len(s.Variants) == 0 && len(s.Schedulers) == 1 && len(s.Steering.Policies) < 2 {
				return misuse("Add a --variant or another --scheduler, or use \"yardmaster simulate\".", "compare needs two schedulers, or a variant")
			}
			setup, err := resolve(s)
			if err != nil {
				return err
			}
			if err := setup.CheckQueues(); err != nil {
				return asUsage(err)
			}
			plan, err := variants(setup)
			if err != nil {
				return err
			}
			plan.Pictures, plan.BySize, plan.Doubts = out.report != "", out.bySize, doubts(setup, plan.Touched)
			files, err := out.prepare(cmd.Context(), [2]string{"csv", rows.csv})
			if err != nil {
				return err
			}
			defer files.discard()
			if err := rows.prepare(cmd.Context(), plan.Variants); err != nil {
				return err
			}
			defer rows.discard()
			c, err := compare(cmd.Context(), "comparing", setup, plan)
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
				showComparison(w, c, verbose, "--verbose")
			}
			err = errors.Join(err, writeReport(files["report"], comparisonTitle(c), s.Command("compare"), setup, c),
				watch.write(files["timing"], eventsOf(c)), rows.write(cmd.Context(), plan.Variants, setup.Scenario.Seed),
				files["csv"].write(func(w io.Writer) error { return writeCSV(w, c) }))
			switch {
			case err != nil:
				return err
			case !out.json:
				showFiles(w, rows.dir, out.report)
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
	rows.add(cmd)
	cmd.Flags().BoolVar(&verbose, "verbose", false, "show all metrics, queues, users, classes and assumptions")
	setGroup(cmd.Flags(), inOutput, "verbose")
	return cmd
}

// asItIs is the label of a scenario beside its variants.
const asItIs = "as it is"

// variants plans the runs of a scenario and of its variants. All are resolved first, so that an invalid one is refused before any work is done.
func variants(base *scenario.Setup) (whatif.Plan, error) {
	list := base.Scenario.Variants
	plan := whatif.Plan{Variants: base.Runs()}
	if len(list) == 0 {
		return plan, nil
	}
	plan.Variants[0].Name, plan.Touched = asItIs, make([][]verdict.Subject, 1+len(list))
	for i, v := range list {
		setup, err := base.Variant(v)
		if err != nil {
			return plan, asUsage(err)
		}
		if plan.Variants = append(plan.Variants, setup.Runs()...); len(plan.Variants) != i+2 {
			return plan, misuse("Name one --scheduler, and at most one --steer.", "variants are compared under one scheduler")
		}
		for kind, name := range setup.Touched() {
			plan.Touched[i+1] = append(plan.Touched[i+1], verdict.Subject{Kind: kind, Name: name})
		}
	}
	return plan, nil
}

// doubts says why the history cannot carry a conclusion about what the variants touch. A workload that can be read only once is not checked.
func doubts(base *scenario.Setup, touched [][]verdict.Subject) (none whatif.Doubts) {
	if strings.HasPrefix(base.Workload.Title, "synth:") || base.Workload.Once {
		return none // it is no history
	}
	src, err := base.Workload.Open(base.Scenario.Seed)
	if err != nil {
		return none
	}
	if c, ok := src.(io.Closer); ok {
		defer c.Close()
	}
	found, _ := whatif.Doubt(src, base.Cluster, touched)
	return found
}

// besideOwn puts a scenario's own scheduler before the only one that a flag names: one alone cannot be compared.
func besideOwn(known *scenario.Catalogue, named, args []string) ([]string, error) {
	if len(named) != 1 || len(args) != 1 {
		return named, nil
	}
	own, err := known.Load(args[0])
	if err != nil || len(own.Schedulers) != 1 || own.Schedulers[0] == named[0] {
		return named, err
	}
	return append(own.Schedulers, named...), nil
}

func comparisonTitle(c *whatif.Comparison) string {
	names := c.Labels()
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

func seedsTitle(seeds []uint64) string {
	if len(seeds) == 1 {
		return fmt.Sprintf("seed %d", seeds[0])
	}
	return fmt.Sprintf("%d replays (seeds %d to %d)", len(seeds), seeds[0], seeds[len(seeds)-1])
}
