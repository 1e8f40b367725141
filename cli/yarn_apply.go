package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/steer/session"
	"github.com/yardmaster/yardmaster/whatif/goal"
	"github.com/yardmaster/yardmaster/whatif/trial"
	"github.com/yardmaster/yardmaster/whatif/watch"
	"github.com/yardmaster/yardmaster/yarn/change"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/edit"
	"github.com/yardmaster/yardmaster/yarn/rest"
	"github.com/yardmaster/yardmaster/yarn/yard"
)

// applyFlags are the flags of yarn apply.
type applyFlags struct {
	steerFlags // those that a session needs, --act, --silence and, as length, --watch
	aims       aimFlags
	stay       bool
	expect     string
	out        string

	wanted  change.Wanted
	figures []goal.Goal // of --goal and the bounds
}

func newYarnApply() *cobra.Command {
	var f applyFlags
	cmd := &cobra.Command{
		Use:   "apply --rm URL {QUEUE.SETTING=VALUE... | FILE} [--goal GOAL] [--keep BOUND]... [--watch TIME] [--act]",
		Short: "Change queue settings, watch what comes of it, and roll back if it does harm",
		Args:  func(cmd *cobra.Command, args []string) error { return f.check(cmd, args) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return labelled("apply", f.run(cmd))
		},
	}
	f.add(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.aims.goal, "goal", "", "`GOAL` to watch: \"p95 elapsed of root.adhoc\"")
	fs.StringArrayVar(&f.aims.keep, "keep", nil, "`BOUND` that must hold, or the change is rolled back: \"p95 elapsed of root.prod <= +2 %\" (repeatable)")
	fs.StringVar(&f.length, "watch", "", "watch for this `TIME` (default 30m with --goal or --keep, else 0)")
	fs.BoolVar(&f.stay, "keep-on-exit", false, "keep the change if a signal ends the watch; otherwise it is rolled back")
	fs.StringVar(&f.silence, "silence", "5m", "roll back after this `TIME` without an answer of the ResourceManager")
	fs.StringVar(&f.expect, "expect", "", "`FILE` of \"compare --json\" or \"tune --json\" with what was expected, for the record")
	fs.BoolVar(&f.act, "act", false, "make the change; without it the change is only shown and checked")
	fs.StringVarP(&f.out, "out", "o", "", "write the whole new configuration to `FILE`")
	fs.DurationVar(&f.stalled, "stalled-after", session.StalledAfter, "the guard kills this command after this `TIME` without a heartbeat")
	hide(fs, "stalled-after", "queue")
	setGroup(fs, inOutput, "expect", "out")
	f.addWho(cmd)
	return cmd
}

// check finds conflicting options before any server is contacted.
func (f *applyFlags) check(cmd *cobra.Command, args []string) error {
	see := "See \"" + cmd.CommandPath() + " --help\"."
	switch {
	case len(args) == 0:
		return misuse(see, "yarn apply: no change: give settings such as root.prod.capacity=70, or a whole new file")
	case len(f.queues) > 0:
		return misuse("", "yarn apply: --queue: the changes name their queues")
	case len(f.rm) == 0:
		return misuse(see, "yarn apply: no cluster: give --rm URL")
	case len(args) == 1 && !strings.Contains(args[0], "="):
		f.wanted.File, args = args[0], nil
	}
	for _, word := range args {
		c, err := edit.Parse(word)
		if err != nil {
			return misuse("", "yarn apply: %v", err)
		}
		f.wanted.Edits = append(f.wanted.Edits, c)
	}
	f.wanted.Act, f.wanted.Base = f.act, f.file
	f.aims.others = "+0 %" // not asked for
	if err := f.aims.read(); err != nil {
		return err
	}
	if f.aims.goal != "" {
		f.figures = []goal.Goal{f.aims.aim.Goal}
	}
	for _, b := range f.aims.aim.Keep {
		if !slices.Contains(f.figures, b.Goal) {
			f.figures = append(f.figures, b.Goal)
		}
	}
	for _, g := range f.figures {
		f.length = cmp.Or(f.length, "30m")
		if g.Figure == goal.Slowdown {
			return misuse("", "%q cannot be watched: the ResourceManager does not say how long a job would take alone: use elapsed", g)
		}
	}
	if err := cmp.Or(duration("watch", f.length, 0, &f.lasts), duration("silence", f.silence, 0, &f.blind)); err != nil {
		return err
	}
	switch {
	case f.lasts == 0 && len(f.figures) > 0:
		return misuse("", "yarn apply: --goal and --keep are watched: give --watch more than 0")
	case f.lasts > 0 && len(f.figures) == 0:
		return misuse(see, "yarn apply: --watch has nothing to watch: give --goal or --keep")
	case f.expect != "" && len(f.figures) == 0:
		return misuse("", "yarn apply: --expect belongs to --goal or --keep")
	}
	return nil
}

// expectation reads --expect.
func (f *applyFlags) expectation() (map[string]float64, error) {
	if f.expect == "" {
		return nil, nil
	}
	data, err := change.ReadFile(f.expect)
	if err != nil {
		return nil, err
	}
	e, err := trial.Expectation(data, f.figures)
	if err != nil {
		return nil, fmt.Errorf("--expect %s: %w", f.expect, err)
	}
	return e, nil
}

// applying is one run of the command.
type applying struct {
	*applyFlags
	client *rest.Client
	yard   *yard.Yard
	plan   *change.Plan
	trial  trial.Trial
	out    io.Writer
	say    func(format string, args ...any)
	ask    func(context.Context, func(context.Context) error) error // runs a step that asks the ResourceManager
	cuts   int                                                      // applications whose texts were cut, as said so far
}

func (f *applyFlags) run(cmd *cobra.Command) (err error) {
	ctx, stop := withHangup(cmd.Context())
	defer stop()
	log := newLog(cmd.ErrOrStderr(), "text", false)
	defer log.end()
	a := &applying{applyFlags: f, out: cmd.OutOrStdout(), say: noticesTo(cmd.OutOrStdout()), ask: f.inTime}
	expected, err := f.expectation()
	if err != nil {
		return err
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	defer func() { a.client.CloseIdle() }()
	dir, err := session.JournalDir(f.journal, a.yard.Identity())
	if err != nil {
		return err
	}
	a.trial = trial.Trial{Dir: dir, Length: f.lasts, Silence: f.blind, Keep: f.stay, Goals: f.figures, Bounds: f.aims.aim.Keep, Expected: expected, Reason: "yarn apply",
		List: a.list, Version: a.version, Say: a.say, Table: func(t term.Table) { fmt.Fprint(a.out, draw(t)) }, Flush: func() { show(a.out) }}
	able := a.yard.Actuator() != "none" && (a.plan.Immutable == nil || a.yard.Actuator() != yard.REST)
	path := f.out
	if path == "" && f.act && !able && len(a.plan.New) > 0 {
		path = filepath.Base(a.plan.Name) + ".new"
		if _, err := os.Lstat(path); err == nil { // nobody named it
			return fmt.Errorf("%s exists already: name another file with --out", path)
		}
	}
	file, err := prepare(ctx, path)
	if err != nil {
		return err
	}
	defer file.discard()
	left := a.unfinished(dir)
	if !f.act || !able {
		return a.show(ctx, file, able, path)
	}
	s, err := session.Begin(ctx, a.yard, session.Setup{Program: onYarn, Dir: dir, Args: f.args(), Locks: f.locks(), Stalled: f.stalled, Step: f.inTime,
		Notice: noticesTo(cmd.ErrOrStderr()), Observe: func(e drive.Event) {
			if !a.trial.Observe(ctx, &e) {
				log.event(&e)
			}
		}})
	if err != nil {
		return err
	}
	defer s.End()
	a.ask = s.Ask
	return a.trial.End(s.Try(ctx, a.trial.Measure, func() (*drive.Trial, error) {
		if left > 0 { // the old settings are back
			if err := a.replan(ctx); err != nil {
				return nil, err
			}
		}
		if err := a.show(ctx, file, able, path); err != nil || len(a.plan.New) == 0 {
			return nil, err
		}
		show(a.out)
		var t *drive.Trial
		err := a.ask(ctx, func(in context.Context) (err error) {
			t, err = a.trial.Begin(in, a.yard, a.plan.Old, a.plan.New)
			return err
		})
		return t, err
	}))
}

func (a *applying) replan(ctx context.Context) error {
	return a.ask(ctx, func(in context.Context) (err error) { a.plan, err = change.New(in, a.client, a.wanted); return err })
}

// open plans the change, and identifies the cluster and the queues that are touched.
func (a *applying) open(ctx context.Context) (err error) {
	first, err := a.login.client(rest.Options{Timeout: 10 * time.Second, Retries: 2, RMRate: -1})
	if err != nil {
		return err
	}
	defer first.CloseIdle()
	a.client = first
	if err := a.replan(ctx); err != nil {
		return err
	}
	a.queues = a.plan.Queues()
	k := a.knobFlags
	if errors.Is(a.plan.Immutable, rest.ErrForbidden) { // the file is a copy
		k.actuator, k.file = yard.REST, ""
	}
	a.yard, a.client, _, err = k.open(ctx, yard.Options{CPU: "none", Capacities: true, Absent: true})
	return err
}

func (a *applying) list(ctx context.Context, from time.Time) (list []watch.App, err error) {
	err = a.ask(ctx, func(in context.Context) (err error) { list, err = watch.List(in, a.client, from); return err })
	sayCuts(a.client, &a.cuts, a.say)
	return list, err
}

func (a *applying) version(ctx context.Context) (v int64) {
	_ = a.ask(ctx, func(in context.Context) error { v = a.plan.Version(in, a.client); return nil }) // unknown then
	return v
}

// unfinished reports what an earlier command has left changed.
func (a *applying) unfinished(dir string) int {
	_, open, _ := live.ReadJournal(dir) // damage is reported when it is opened
	for _, e := range open {
		a.say("Unfinished: %v, set to %v at %s, was %v.", e.Knob, e.New, e.At.Local().Format("2006-01-02 15:04:05"), e.Original)
	}
	if len(open) > 0 {
		a.say("With --act the old is restored first, as \"yardmaster yarn restore\" does.")
	}
	if err := onYarn.LeftElsewhere(dir, a.yard.Identities()); err != nil {
		a.say("Unfinished: %v", err)
	}
	return len(open)
}

// show writes the new configuration, shows the change and checks it.
func (a *applying) show(ctx context.Context, file *outFile, able bool, path string) error {
	if err := file.write(func(w io.Writer) error { _, err := w.Write(a.plan.Content); return err }); err != nil {
		return err
	}
	if n := len(a.plan.Ignored); n > 0 {
		names := strings.Join(a.plan.Ignored[:min(n, 5)], ", ")
		if n > 5 {
			names += fmt.Sprintf(" and %d others", n-5)
		}
		a.say("Ignored in %s, because the CapacityScheduler has no such setting: %s.", a.wanted.File, term.Line(names))
	}
	if len(a.plan.New) == 0 {
		a.say("The settings already have these values: there is nothing to change.")
		return nil
	}
	t := term.Table{Head: []string{"queue", "setting", "now", "new"}, Left: 4}
	for i, s := range a.plan.New {
		t.Add(cmp.Or(s.Queue, "-"), s.Property, a.plan.Old[i].String(), s.String())
	}
	fmt.Fprint(a.out, draw(t))
	var judged bool
	if err := a.ask(ctx, func(in context.Context) (err error) { judged, err = a.plan.Validate(in, a.client); return err }); err != nil {
		return err
	}
	if judged {
		a.say("Valid, by the ResourceManager's own validation.")
	} else {
		a.say("Checked here only: this ResourceManager cannot validate a change.")
	}
	if !able {
		return a.handOver(path)
	}
	if err := a.trial.Before(ctx); err != nil {
		return err
	}
	if !a.act {
		a.say("Nothing is changed. The same command with --act makes the change.")
	}
	return nil
}

const (
	handCapacity = `- By hand: install it as capacity-scheduler.xml in the ResourceManager's
  configuration folder, on each ResourceManager, and run
  "yarn rmadmin -refreshQueues".
- Ambari: YARN, Configs, Scheduler: paste the changed properties as NAME=VALUE,
  save, then "Refresh YARN Capacity Scheduler". Ambari overwrites other edits.
- Cloudera Manager: YARN, Configuration, "Capacity Scheduler Configuration
  Advanced Configuration Snippet" (or YARN Queue Manager), then "Refresh
  Dynamic Resource Pools". Cloudera Manager overwrites other edits.
`
	handFair = `- By hand: install it as fair-scheduler.xml in the ResourceManager's
  configuration folder, on each ResourceManager: it is read within 15 s.
- Cloudera Manager: enter it under Dynamic Resource Pools; it overwrites the file.
On this machine, --file with the ResourceManager's own file and --act change it.
`
)

// handOver says where the new file goes.
func (a *applying) handOver(path string) error {
	a.say("The ResourceManager does not let this account change its settings.")
	a.say("The new configuration: %s", cmp.Or(path, "written with --out FILE"))
	how := handCapacity
	if conf.Detect(a.plan.Content) == conf.FairFile {
		how = handFair
	}
	fmt.Fprint(a.out, how)
	if a.act {
		return errors.New("not applied: hand the new configuration over as said above")
	}
	return nil
}
