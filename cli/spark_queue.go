package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/whatif/executors"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/spark"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

func newSparkQueue(known *scenario.Catalogue) *cobra.Command {
	var (
		flags  = scenarioFlags{known: known}
		queue  string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "queue [SCENARIO.yaml | DIR]",
		Short: "What the executors of queues hold, and which settings would free it",
		Args: func(cmd *cobra.Command, args []string) error {
			err := flags.oneScenario(cmd, args)
			if len(args) == 1 && holdsLogs(cmd.Context(), args[0]) {
				return misuse("Import them with the cluster's history (yardmaster import yarn --spark-logs), or alone (yardmaster import spark) and name jobs and machines: --workload JOBS.parquet --cluster 10x8/1 --scheduler fifo.",
					"%s holds event logs of Spark, not a scenario", args[0])
			}
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := flags.scenario(args)
			if err != nil {
				return err
			}
			return labelled("spark queue", sparkQueue(cmd, s, queue, asJSON))
		},
	}
	flags.add(cmd, func(t *scenario.Setting) bool {
		return (t.In == "" || t.In == "yarn") && t.Name != "variant" && t.Name != "place" && t.Name != "move"
	})
	fs := cmd.Flags()
	fs.StringVar(&queue, "queue", "", "the `QUEUE` whose applications get other settings; default: all")
	fs.BoolVar(&asJSON, "json", false, "write the answer as JSON to standard output, and nothing else there")
	setGroup(fs, inScenario, "queue")
	setGroup(fs, inOutput, "json")
	return cmd
}

// holdsLogs reports whether the first log of a place is one of Spark's, and the place is no imported history.
func holdsLogs(ctx context.Context, path string) bool {
	if _, err := os.Stat(filepath.Join(path, scenario.FileName)); err == nil {
		return false
	}
	logs, err := spark.Local(path).Logs(ctx)
	if err != nil || len(logs) == 0 {
		return false
	}
	_, err = logs[0].Read(ctx, nil)
	return err == nil
}

// sparkJobs are the jobs that keep executors and that are wanted, and their queues.
func sparkJobs(setup *scenario.Setup, wanted func(*workload.Job) bool) (jobs workload.Slice, queues []string, err error) {
	all, err := setup.Workload.Read(setup.Scenario.Seed)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, j := range all {
		name := cmp.Or(j.Queue, result.DefaultQueue)
		if j.Keep != nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
		if !wanted(j) {
			continue
		}
		if jobs = append(jobs, j); !slices.Contains(queues, name) {
			queues = append(queues, name)
		}
	}
	switch {
	case len(names) == 0:
		return nil, nil, errors.New("no job keeps executors: import Spark's event logs with the jobs (yardmaster import yarn --spark-logs)")
	case len(jobs) == 0:
		return nil, nil, misuse("", "no job of that queue keeps executors; these queues have such jobs: %s", strings.Join(names[:min(len(names), 10)], ", "))
	}
	return jobs, queues, nil
}

func sparkQueue(cmd *cobra.Command, s scenario.Scenario, queue string, asJSON bool) error {
	if len(s.Moves) > 0 { // executors of a queue are those of the history's
		return misuse("Leave move out of the scenario, or try settings in it with \"yardmaster compare --variant\" and executors=queue:NAME=..., by the queues of the history.",
			"the scenario moves jobs to other queues, and settings are tried on the queues of the history")
	}
	if len(s.Deadlines.Classes) > 0 { // the comparison has classes of its own
		return misuse("Leave deadline-class out of the scenario, or try settings in it with \"yardmaster compare --variant\" and executors=queue:NAME=....",
			"the scenario has deadlines of classes, and here jobs are told apart only by whether their executors change")
	}
	ctx := cmd.Context()
	setup, err := resolve(s)
	if err != nil {
		return err
	}
	if err := setup.CheckQueues(); err != nil {
		return asUsage(err)
	}
	mine := func(j *workload.Job) bool {
		return j.Keep != nil && (queue == "" || conf.QueueNamesMatch(cmp.Or(j.Queue, result.DefaultQueue), queue))
	}
	jobs, queues, err := sparkJobs(setup, mine)
	if err != nil {
		return err
	}
	line := term.NewProgress(os.Stderr, "sizing")
	p := executors.Plan{Cluster: setup.Cluster, Timing: setup.Timing, Model: setup.Model, Progress: func(done float64) { line.Set(done, "") }}
	limit, sampled, err := executors.Limit(ctx, p, jobs)
	line.End()
	if err != nil {
		return err
	}
	settings := executors.Settings(jobs, limit)
	setup.Scenario.Variants = nil // only the settings are compared
	for _, x := range settings {
		v := scenario.Variant{Name: x.Name}
		for _, q := range queues {
			v.Changes = append(v.Changes, "executors=queue:"+q+"="+x.Keys)
		}
		setup.Scenario.Variants = append(setup.Scenario.Variants, v)
	}
	plan, err := variants(setup)
	if err != nil {
		return err
	}
	var touched []verdict.Subject
	for _, q := range queues {
		touched = append(touched, verdict.Subject{Kind: "queue", Name: q})
	}
	plan.Doubts = doubts(setup, [][]verdict.Subject{touched})
	meters := &executors.Meters{}
	plan.Meter = func(variant, seed int) sim.Sink { return meters.Of(variant, seed) }
	for i := range plan.Variants {
		v := &plan.Variants[i]
		if v.Workload = executors.Label(v.Workload, mine); i > 0 {
			plan.Touched[i] = []verdict.Subject{executors.Touched}
		}
	}
	c, err := compare(ctx, "comparing", setup, plan)
	if err != nil {
		return err
	}
	if len(c.Seeds) == 0 || c.Partial {
		return errPartial
	}
	if meters.Mean(0, len(c.Seeds)).Changed.Hours == 0 {
		return errors.New("no application gets an executor as it is: is there room for one in the cluster and in its queue?")
	}
	f := executors.Judge(c, settings, meters)
	f.Assumed = append(executors.AssumedFor(limit, sampled, len(jobs)), setup.Assumptions...)
	w := cmd.OutOrStdout()
	if asJSON {
		return writeJSON(w, f)
	}
	say(w, fmt.Sprintf("%s on %s, %s", setup.Workload.Title, setup.Cluster, seedsTitle(c.Seeds)))
	fmt.Fprintln(w)
	showSparkQueue(w, f)
	ink := term.InkFor(os.Stdout)
	for _, n := range c.Notes {
		say(w, ink.Warn("note:")+" "+n)
	}
	fmt.Fprintln(w)
	showGround(w, f.Assumed, nil, ink)
	return nil
}

// percentLess is a share that was freed, in whole percents.
func percentLess(v float64) string { return fmt.Sprintf("%d %%", int(math.Round(100*v))) }

func showSparkQueue(w io.Writer, f *executors.Freed) {
	ink := term.InkFor(os.Stdout)
	showHeadline(w, f.Sentence, ink)
	hours := func(v float64) string { return fmt.Sprintf("%.2f", v) }
	held := term.Table{Ink: ink, Head: []string{"queue", "applications", "executor-hours", "GiB-hours", "vcore-hours", "busy"}}
	for i := range f.Queues {
		q := &f.Queues[i]
		held.Add(q.Queue, count(q.Jobs), hours(q.Hours), hours(q.GiBHours), hours(q.CoreHours), fmt.Sprintf("%.0f %%", 100*q.Share))
	}
	fmt.Fprintln(w, draw(held))
	who := term.Table{Ink: ink, Head: []string{"holds most unused", "user", "queue", "runs", "GiB-hours", "unused", "busy"}}
	for i := range f.Holders {
		h := &f.Holders[i]
		who.Add(h.Name, h.User, h.Queue, count(h.Jobs), hours(h.GiBHours), hours(h.Idle), fmt.Sprintf("%.0f %%", 100*h.Busy()))
	}
	fmt.Fprintln(w, draw(who))
	freed := term.Table{Ink: ink, Head: []string{"setting", "GiB-hours", "freed", "vcore-hours", "freed", "mean elapsed", "others' mean wait", ""}}
	for i := range f.Settings {
		o := &f.Settings[i]
		mark := ""
		switch {
		case i == f.Best:
			mark = "best"
		case i == f.Named():
			mark = "frees most"
		case o.Harms:
			mark = "may harm"
		}
		freed.Add(o.Name, hours(o.Use.GiBHours), o.Share(), hours(o.Use.CoreHours), percentLess(o.Cores), o.Elapsed, o.Wait, mark)
	}
	fmt.Fprintln(w, draw(freed))
	k := f.Named()
	if k < 0 {
		return
	}
	say(w, "As compare judges it: "+f.Settings[k].Sentence)
	fmt.Fprintf(w, "\nspark-defaults.conf:\n  %s\n\n", strings.Join(f.Settings[k].Conf, "\n  "))
}
