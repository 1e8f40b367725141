package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/bench"
	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/internal/term"
)

// measurement is one benchmark.
type measurement struct {
	name, about string
	run         func(ctx context.Context, o benchOptions) (result any, table term.Table, err error)
}

type benchOptions struct {
	rounds   int
	maxTasks int64
}

// minTasks is where growth starts.
const minTasks = 100_000

var measurements = []measurement{
	{"loop", "the simulator beside a bare event loop: the same events through the same queue", benchLoop},
	{"growth", "what a task costs as tasks, waiting jobs and nodes grow tenfold", benchGrowth},
	{"memory", "what a run keeps in memory for a task, a waiting job and a container", benchMemory},
	{"network", "error and savings of the network's shortcuts, against every pair of nodes", benchNetwork},
}

func measurementWords() words {
	return wordsOf(measurements, func(m *measurement) (string, string) { return m.name, m.about })
}

func newBench() *cobra.Command {
	var asJSON bool
	var opt benchOptions
	names := measurementWords().names()
	cmd := &cobra.Command{
		Use:       "bench " + strings.Join(names, "|"),
		Short:     "Measure the simulator on this machine",
		ValidArgs: names,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := exactly("what to measure ("+strings.Join(names, ", ")+")")(cmd, args); err != nil {
				return err
			}
			if slices.Contains(names, args[0]) {
				return nil
			}
			return misuse("There are "+strings.Join(names, ", ")+".", "bench: there is no measurement %q%s", args[0], suggest.Hint(args[0], names))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if opt.rounds < 0 {
				return misuse("", "--rounds: %d is negative; give 1 or more, or leave it out", opt.rounds)
			}
			if opt.maxTasks < minTasks {
				return misuse("", "--max-tasks: %d is less than %d, the minimum of growth", opt.maxTasks, minTasks)
			}
			m := measurements[slices.Index(names, args[0])]
			r, table, err := m.run(cmd.Context(), opt)
			if err != nil {
				return fmt.Errorf("bench %s: %w", m.name, err)
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), r)
			}
			table.Ink = term.InkFor(os.Stdout)
			fmt.Fprint(cmd.OutOrStdout(), draw(table))
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write as JSON")
	cmd.Flags().IntVar(&opt.rounds, "rounds", 0, "measure `N` times, and take the median (loop) or the minimum (growth); 0: 5 and 1")
	cmd.Flags().Int64Var(&opt.maxTasks, "max-tasks", 100_000_000, "largest number of tasks of a run of growth, `N`; with less than 10000000, costs of jobs and nodes dominate some of them")
	return cmd
}

func benchLoop(ctx context.Context, o benchOptions) (any, term.Table, error) {
	if o.rounds <= 0 {
		o.rounds = 5 // odd, for the median
	}
	t := term.Table{Head: []string{"jobs", "scheduler", "bare loop", "simulator", "ratio", "ns a task"}, Left: 2}
	r, err := bench.Loop(ctx, o.rounds)
	if err != nil {
		return nil, t, err
	}
	for _, row := range r.Rows {
		t.Add(row.Jobs, row.Scheduler, fmt.Sprintf("%.1f M events/s", row.BareEventsPerSecond/1e6), fmt.Sprintf("%.1f M events/s", row.SimEventsPerSecond/1e6),
			fmt.Sprintf("%.2f", row.Ratio), fmt.Sprintf("%.0f", row.NanosPerTask))
	}
	return r, t, nil
}

func benchGrowth(ctx context.Context, o benchOptions) (any, term.Table, error) {
	line := term.NewProgress(os.Stderr, "measuring")
	defer line.End()
	t := term.Table{Head: []string{"along", "scheduler", "size", "ns a task", "growth"}, Left: 2}
	r, err := bench.Growth(ctx, bench.GrowthOptions{
		MaxTasks: o.maxTasks, Rounds: max(o.rounds, 1),
		Progress: func(done, total int, what string) { line.Set(float64(done)/float64(total), what) },
	})
	if err != nil {
		return nil, t, err
	}
	for _, a := range r.Axes {
		for i, p := range a.Points {
			growth := ""
			if i == len(a.Points)-1 {
				growth = fmt.Sprintf("%.2f", a.Growth)
			}
			t.Add(a.Name, a.Scheduler, count(p.Size), fmt.Sprintf("%.0f", p.NanosPerTask), growth)
		}
	}
	return r, t, nil
}

func benchMemory(ctx context.Context, _ benchOptions) (any, term.Table, error) {
	t := term.Table{Head: []string{"bytes for", ""}}
	r, err := bench.Memory(ctx)
	if err != nil {
		return nil, t, err
	}
	t.Add("a task", fmt.Sprintf("%.2f", r.PerTask))
	t.Add("a waiting job", fmt.Sprintf("%.0f", r.PerWaitingJob))
	t.Add("a container", fmt.Sprintf("%.0f", r.PerContainer))
	return r, t, nil
}

// networkJobs is how many jobs bench network runs.
const networkJobs = 100

func benchNetwork(ctx context.Context, _ benchOptions) (any, term.Table, error) {
	t := term.Table{Head: []string{"played as", "CPU", "flows", "makespan", "jobs: mean off by", "median", "p95"}}
	r, err := bench.Network(ctx, networkJobs)
	if err != nil {
		return nil, t, err
	}
	for _, row := range r.Rows {
		t.Add(row.Name, fmt.Sprintf("%.2f s", row.Seconds), count(row.Flows), fmt.Sprintf("%.0f s", row.Makespan),
			fmt.Sprintf("%+.2f %%", 100*row.MeanError), fmt.Sprintf("%.2f %%", 100*row.MedianError), fmt.Sprintf("%.2f %%", 100*row.P95Error))
	}
	return r, t, nil
}
