package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/securefile"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/whatif/goal"
	"github.com/yardmaster/yardmaster/whatif/tune"
	"github.com/yardmaster/yardmaster/whatif/watch"
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

	edits   []edit.Change // as typed; none: wanted has them
	wanted  string        // a whole new file
	figures []goal.Goal   // of --goal and the bounds
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
	fs.DurationVar(&f.stalled, "stalled-after", stalledAfter, "the guard kills this command after this `TIME` without a heartbeat")
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
		f.wanted, args = args[0], nil
	}
	for _, word := range args {
		c, err := edit.Parse(word)
		if err != nil {
			return misuse("", "yarn apply: %v", err)
		}
		f.edits = append(f.edits, c)
	}
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

// applying is one run of the command.
type applying struct {
	*session
	f        *applyFlags
	client   *rest.Client
	out      io.Writer
	say      func(format string, args ...any)
	name     string // of the present configuration, for messages
	content  []byte // the new configuration
	mutable  error  // why the ResourceManager does not let its configuration be changed; nil: it does
	edits    []edit.Change
	old, new []drive.Setting // of the edits, where they differ
	watch    *watch.Watch
	record   applied
	dir      string       // of the journal
	runner   *live.Runner // nil without --act
	ignored  []string     // properties of the whole file that are not the scheduler's
	cuts     int          // applications whose texts were cut, as said so far
}

func (f *applyFlags) run(cmd *cobra.Command) (err error) {
	ctx, stop := withHangup(cmd.Context())
	defer stop()
	out, log := cmd.OutOrStdout(), newLog(cmd.ErrOrStderr(), "text", false)
	defer log.end()
	a := &applying{f: f, out: out, say: noticesTo(out), session: &session{f: &f.steerFlags, notice: noticesTo(cmd.ErrOrStderr()), log: log}}
	if a.record.Expected, err = f.expectation(); err != nil {
		return err
	}
	if a.client, err = f.login.client(rest.Options{Timeout: 10 * time.Second, Retries: 2, RMRate: -1}); err != nil {
		return err
	}
	defer func() { a.client.CloseIdle() }()
	if err := a.plan(ctx); err != nil {
		return err
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	able := a.yard.Actuator() != "none" && (a.mutable == nil || a.yard.Actuator() != yard.REST)
	path := f.out
	if path == "" && f.act && !able && len(a.new) > 0 {
		path = filepath.Base(a.name) + ".new"
		if _, err := os.Lstat(path); err == nil { // nobody named it
			return fmt.Errorf("%s exists already: name another file with --out", path)
		}
	}
	to, err := prepare(ctx, path)
	if err != nil {
		return err
	}
	defer to.discard()
	if left := a.unfinished(); f.act && able {
		if err := a.prepare(ctx); err != nil {
			return err
		}
		defer a.leave()
		a.runner = &live.Runner{Engine: a.yard, Journal: a.journal.Journal, Clock: pulseClock{each: a.guard.each, beat: a.guard.beat}, Alive: a.guard.beat,
			Observe: func(e drive.Event) { log.event(&e) }}
		if a.lock != nil {
			if err := a.lock.Acquire(ctx); err != nil {
				return fmt.Errorf("the lock was not given: %w", err)
			}
			defer func() { err = errors.Join(err, a.lock.Release()) }()
			a.runner.Lost = a.lock.Lost()
			if err := a.runner.Run(ctx, drive.NewRecovery(a.yard, a.journal.Journal, false, 0)); err != nil {
				return fmt.Errorf("what an earlier command left behind cannot be restored: %w", err)
			}
		}
		if left > 0 { // the old settings are back
			if err := a.plan(ctx); err != nil {
				return err
			}
		}
	}
	if err := to.write(func(w io.Writer) error { _, err := w.Write(a.content); return err }); err != nil {
		return err
	}
	if n := len(a.ignored); n > 0 {
		names := strings.Join(a.ignored[:min(n, 5)], ", ")
		if n > 5 {
			names += fmt.Sprintf(" and %d others", n-5)
		}
		a.say("Ignored in %s, because the CapacityScheduler has no such setting: %s.", a.f.wanted, term.Line(names))
	}
	if len(a.new) == 0 {
		a.say("The settings already have these values: there is nothing to change.")
		return nil
	}
	t := term.Table{Head: []string{"queue", "setting", "now", "new"}, Left: 4}
	for i, s := range a.new {
		t.Add(cmp.Or(s.Queue, "-"), s.Property, a.old[i].String(), s.String())
	}
	fmt.Fprint(a.out, draw(t))
	if err := a.validate(ctx); err != nil {
		return err
	}
	if !able {
		return a.handOver(path)
	}
	if err := a.before(ctx); err != nil {
		return err
	}
	if !f.act {
		a.say("Nothing is changed. The same command with --act makes the change.")
		return nil
	}
	show(a.out)
	return a.act(ctx)
}

// unfinished reports what an earlier command has left changed.
func (a *applying) unfinished() int {
	_, open, _ := live.ReadJournal(a.dir) // damage is reported when it is opened
	for _, e := range open {
		a.say("Unfinished: %v, set to %v at %s, was %v.", e.Knob, e.New, e.At.Local().Format("2006-01-02 15:04:05"), e.Original)
	}
	if len(open) > 0 {
		a.say("With --act the old is restored first, as \"yardmaster yarn restore\" does.")
	}
	if err := leftElsewhere(a.dir, a.yard.Identities()); err != nil {
		a.say("Unfinished: %v", err)
	}
	return len(open)
}

// ask runs a step that queries the ResourceManager. The guard kills a command that sends no heartbeat for a minute.
func (a *applying) ask(ctx context.Context, step func(context.Context) error) error {
	if a.guard == nil {
		return a.f.inTime(ctx, step)
	}
	a.guard.beat()
	defer a.guard.beat()
	in, stop := context.WithTimeout(ctx, stalledAfter/2)
	defer stop()
	return step(in)
}

// plan reads the present configuration, makes the new one and finds what differs.
func (a *applying) plan(ctx context.Context) error {
	var p *conf.Properties
	var base []byte
	err := a.ask(ctx, func(in context.Context) (err error) { p, err = a.client.SchedulerConf(in); return err })
	switch {
	case errors.Is(err, rest.ErrForbidden), errors.Is(err, rest.ErrRefused), errors.Is(err, rest.ErrNotFound):
		if a.mutable, a.name = err, a.f.file; a.name == "" {
			return fmt.Errorf("the settings cannot be changed over REST, so name the ResourceManager's file with --file: %w", err)
		}
		base, err = readFile(a.name)
	case err == nil:
		var b bytes.Buffer
		var list []conf.Property
		for _, x := range p.List {
			list = append(list, *x)
		}
		err = conf.WriteProperties(&b, list)
		base, a.name = b.Bytes(), "the ResourceManager's configuration"
	}
	if err != nil {
		return err
	}
	if a.edits = a.f.edits; a.f.wanted == "" {
		a.content, err = edit.Apply(a.name, base, a.edits)
	} else if a.content, err = a.f.readWanted(); err == nil {
		a.edits, a.ignored, err = edit.Difference(a.f.wanted, base, a.content)
	}
	if err != nil {
		return err
	}
	a.old, a.new, a.record.Changes = nil, nil, nil
	for _, c := range a.edits {
		now := drive.Setting{Queue: c.Queue, Property: c.Property, Text: c.Value, Set: c.Value != ""}
		old := now
		if old.Text, old.Set, err = edit.Value(base, c.Queue, c.Property); err != nil {
			return err
		}
		if now != old {
			a.old, a.new = append(a.old, old), append(a.new, now)
			a.record.Changes = append(a.record.Changes, changedText{now.Name(), old.String(), now.String()})
		}
	}
	return nil
}

// readWanted reads the whole new file. With --act it says what is written to the ResourceManager, so nobody else may have been able to replace it since
// the operator looked at it.
func (f *applyFlags) readWanted() ([]byte, error) {
	if !f.act {
		return readFile(f.wanted)
	}
	path, err := securefile.Resolve(f.wanted)
	var data []byte
	if err == nil {
		data, err = securefile.ReadFile(path, conf.MaxFile)
	}
	if errors.Is(err, securefile.ErrInsecure) {
		return nil, fmt.Errorf("%s says what to write to the ResourceManager, so it must be in a folder of yours: %w", f.wanted, err)
	}
	return data, err
}

// open identifies the cluster and the queues that are touched.
func (a *applying) open(ctx context.Context) error {
	if len(a.edits) == 0 {
		a.f.queues = []string{"root"}
	}
	for _, c := range a.edits {
		a.f.queues = append(a.f.queues, cmp.Or(c.Queue, "root"))
	}
	slices.Sort(a.f.queues)
	a.f.queues = slices.Compact(a.f.queues)
	k := a.f.knobFlags
	if errors.Is(a.mutable, rest.ErrForbidden) { // the file is a copy
		k.actuator, k.file = yard.REST, ""
	}
	y, client, _, err := k.open(ctx, yard.Options{CPU: "none", Capacities: true, Absent: true})
	if err != nil {
		return err
	}
	a.client.CloseIdle()
	a.yard, a.client = y, client
	a.dir, err = a.f.journalDir(y.Identity())
	return err
}

// validate lets the ResourceManager judge the change, if it can. The new content has been read and checked here in any case.
func (a *applying) validate(ctx context.Context) error {
	err := a.mutable
	if err == nil { // since Hadoop 3.3, with a configuration store
		err = a.ask(ctx, func(in context.Context) error { return a.client.ValidateScheduler(in, yard.Change(a.new, "")) })
	}
	switch {
	case err == nil:
		a.say("Valid, by the ResourceManager's own validation.")
	case a.mutable != nil, errors.Is(err, rest.ErrNotFound):
		a.say("Checked here only: this ResourceManager cannot validate a change.")
	default:
		return fmt.Errorf("the ResourceManager would not take it: %w", err)
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
	if conf.Detect(a.content) == conf.FairFile {
		how = handFair
	}
	fmt.Fprint(a.out, how)
	if a.f.act {
		return errors.New("not applied: hand the new configuration over as said above")
	}
	return nil
}

// apps lists applications.
func (a *applying) apps(ctx context.Context, from time.Time) (list []watch.App, err error) {
	err = a.ask(ctx, func(in context.Context) error {
		for x, err := range a.client.Apps(in, rest.AppFilter{StartedFrom: from}) {
			if err != nil {
				return err
			}
			if len(list) == watch.MaxList {
				return fmt.Errorf("the ResourceManager lists more than %d applications: lower yarn.resourcemanager.max-completed-applications", watch.MaxList)
			}
			app := watch.App{ID: x.ID, Queue: x.Queue, User: x.User, Name: x.Name, Held: float64(max(x.MemorySeconds, 0)),
				Submitted: time.UnixMilli(x.StartedTime), SoFar: time.Duration(min(max(x.ElapsedTime, 0), 1<<40)) * time.Millisecond}
			if x.LaunchTime > 0 {
				app.Launched = time.UnixMilli(x.LaunchTime)
			}
			if x.Ended() {
				app.Finished, app.Succeeded = time.UnixMilli(x.FinishedTime), x.FinalStatus == "SUCCEEDED"
			}
			list = append(list, app)
		}
		return nil
	})
	sayCuts(a.client, &a.cuts, a.say)
	return list, err
}

// before measures the figures before the change. A bound that nothing can be concluded about protects nothing, so it is an error.
func (a *applying) before(ctx context.Context) error {
	if len(a.f.figures) == 0 {
		return nil
	}
	list, err := a.apps(ctx, time.Time{})
	if err != nil {
		return err
	}
	a.watch = watch.New(a.f.lasts, list)
	for _, g := range a.f.figures {
		f, err := a.watch.Measure(g)
		if err != nil {
			return err
		}
		a.say("Now: %s is %s, over %d applications.", f.Name(), seconds(f.Before), f.AppsBefore)
		if f.AppsBefore < watch.MinApps && slices.ContainsFunc(a.f.aims.aim.Keep, func(b goal.Bound) bool { return b.Goal == g }) {
			return fmt.Errorf("%q cannot be judged: %d applications have succeeded in the last day, and %d are needed: leave that --keep out, or name all", g, f.AppsBefore, watch.MinApps)
		}
	}
	return nil
}

func seconds(s float64) string { return fmt.Sprintf("%.4g s", s) }

func percent(x float64) string { return fmt.Sprintf("%+.1f %%", 100*x) }

// expectation reads what a comparison of the present configuration with the new one expects: relative changes, by goal.
func (f *applyFlags) expectation() (map[string]float64, error) {
	if f.expect == "" {
		return nil, nil
	}
	data, err := readFile(f.expect)
	if err != nil {
		return nil, err
	}
	var c struct {
		Runs     [][]result.Run `json:"runs"`     // of compare
		Expected []tune.Figure  `json:"expected"` // of tune
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("--expect %s: it is not from \"compare --json\" or \"tune --json\": %w", f.expect, err)
	}
	out := map[string]float64{}
	for _, e := range c.Expected {
		if e.Before > 0 {
			out[e.Name] = e.After/e.Before - 1
		}
	}
	if len(c.Expected) > 0 {
		return out, nil
	}
	if len(c.Runs) != 2 || len(c.Runs[0]) != len(c.Runs[1]) {
		return nil, fmt.Errorf("--expect %s: it compares %d variants: compare the present configuration with the new one, and no others", f.expect, len(c.Runs))
	}
	for _, g := range f.figures {
		var changes []float64
		for i := range c.Runs[0] {
			old, _ := g.Measure(&c.Runs[0][i])
			if now, _ := g.Measure(&c.Runs[1][i]); old > 0 && now >= 0 { // neither is NaN
				changes = append(changes, now/old-1)
			}
		}
		if len(changes) > 0 {
			out[g.String()] = result.Mean(changes).Mean
		}
	}
	return out, nil
}

// act makes the change and sees it through: in the end the configuration is the old one or the new one, and the journal says which.
func (a *applying) act(ctx context.Context) error {
	k, now, err := drive.Together(a.new)
	if err != nil {
		return err
	}
	var old drive.Value // as the configuration spells it
	if err := a.ask(ctx, func(in context.Context) error { old, err = a.yard.Read(in, k); return err }); err != nil {
		return err
	}
	if other := unlike(k, old, a.old); other != "" {
		return errors.New(other + " meanwhile: try again")
	}
	a.record.At, a.record.Cluster = time.Now().UTC(), a.yard.Identity()
	if err := a.note("started", ""); err != nil {
		return fmt.Errorf("nothing is changed, because it cannot be recorded: %w", err)
	}
	outcome := rolledBack
	var why string
	if err := a.runner.Run(ctx, drive.NewSet(a.yard, a.journal.Journal, k, old, now, "yarn apply")); err == nil {
		a.tell("Changed, and in force.")
		outcome, why = a.see(ctx, k, old, now)
	} else if why = err.Error(); len(a.journal.Open()) == 0 {
		return errors.Join(fmt.Errorf("not changed: %w", err), a.note("not made", why))
	}
	final, stop := context.WithTimeout(context.WithoutCancel(ctx), restoreOnExit)
	defer stop()
	if outcome == kept {
		if err := a.runner.Run(final, drive.NewRelease(a.yard, a.journal.Journal, k, cmp.Or(why, "kept"))); err != nil {
			outcome, why = rolledBack, "it could not be completed: "+err.Error()
		}
	}
	switch outcome {
	case kept:
	case lostLock:
		err = drive.ErrLost
	default:
		err = a.runner.Run(final, drive.NewRecovery(a.yard, a.journal.Journal, false, 0))
	}
	return a.report(outcome, why, err)
}

// unlike says which setting of a value is not as in the list; "": there is none.
func unlike(k drive.Knob, v drive.Value, list []drive.Setting) string {
	found, _ := k.Settings(v) // it was read as such
	for i, s := range found {
		if s.Text = strings.TrimSpace(s.Text); s != list[i] {
			return fmt.Sprintf("somebody else has changed %s to %s", s.Name(), s)
		}
	}
	return ""
}

// tell says something with the time, at once.
func (a *applying) tell(format string, args ...any) {
	a.say(time.Now().Format(time.TimeOnly)+"  "+format, args...)
	show(a.out)
}

// restoreOnExit is how long restoring the old settings is tried before the guard takes over.
const restoreOnExit = 30 * time.Second

// Outcomes of a change.
const (
	kept       = "kept"
	rolledBack = "rolled back"
	foreign    = "changed by somebody else"
	lostLock   = "left to the guard"
)

// see watches until the time is over, a bound is broken, or nothing can be seen any more.
func (a *applying) see(ctx context.Context, k drive.Knob, old, now drive.Value) (outcome, why string) {
	if a.f.lasts == 0 {
		return kept, ""
	}
	began := time.Now() // its monotonic part counts
	good, others, version := began, 0, a.version(ctx)
	for look := 1; ; look++ {
		stopped := a.runner.Clock.Wait(ctx, max(a.f.lasts*time.Duration(look)/watch.Looks-time.Since(began), a.f.lasts/watch.Looks/2, 200*time.Millisecond))
		select {
		case <-a.runner.Lost:
			return lostLock, "the lock is lost"
		default:
		}
		if stopped != nil {
			return map[bool]string{true: kept, false: rolledBack}[a.f.stay], "a signal ended the watch"
		}
		since := time.Since(began)
		var present drive.Value
		err := a.ask(ctx, func(in context.Context) (err error) { present, err = a.yard.Read(in, k); return err })
		if err == nil && !drive.Same(k, present, now) {
			if others++; others < 3 {
				continue
			}
			if drive.Same(k, present, old) {
				return foreign, "the old settings are there again: somebody else has set them, or the ResourceManager has forgotten the change"
			}
			return foreign, unlike(k, present, a.new) + ": it is left as it is"
		}
		others = 0
		var list []watch.App
		if err == nil {
			list, err = a.apps(ctx, a.watch.From())
		}
		blind := time.Since(good)
		switch {
		case ctx.Err() != nil:
			continue
		case err != nil && blind >= a.f.blind:
			return rolledBack, fmt.Sprintf("the ResourceManager has not been seen for %v: %v", blind.Round(time.Second), err)
		case err != nil:
			a.tell("Not seen: %v", err)
			continue
		}
		good = time.Now()
		if v := a.version(ctx); v != version && v > 0 && version > 0 && !a.record.Others {
			a.tell("Somebody else has changed other settings: the figures include that.")
			a.record.Others = true
		}
		a.watch.Add(list, since)
		if why := a.judge(); why != "" {
			return rolledBack, why
		}
		if since >= a.f.lasts {
			return kept, ""
		}
	}
}

// version is that of the configuration; 0: unknown.
func (a *applying) version(ctx context.Context) (v int64) {
	if a.mutable == nil && a.ask(ctx, func(in context.Context) (err error) { v, err = a.client.SchedulerConfVersion(in); return err }) != nil {
		return 0
	}
	return v
}

// judge measures the figures, and says which bound is broken.
func (a *applying) judge() (why string) {
	a.record.Figures = nil
	for _, g := range a.f.figures {
		f, err := a.watch.Measure(g)
		if err != nil {
			a.say("%v", err)
			continue
		}
		a.record.Figures = append(a.record.Figures, f)
		if f.Enough {
			a.tell("%s: %s, %s of %d pairs", f.Name(), seconds(f.Since), percent(f.Change), f.Pairs)
		} else {
			a.tell("%s: %s", f.Name(), f.Told())
		}
		for _, b := range a.f.aims.aim.Keep {
			if b.Goal == g {
				why = cmp.Or(why, a.verdict(b, &f))
			}
		}
	}
	return why
}

// applied is the record of a change: what was expected, and what came.
type applied struct {
	At       time.Time          `json:"at"`
	Cluster  string             `json:"cluster"`
	Changes  []changedText      `json:"changes"`
	Outcome  string             `json:"outcome"`
	Why      string             `json:"why,omitempty"`
	Watched  float64            `json:"watched_s,omitempty"`
	Expected map[string]float64 `json:"expected,omitempty"` // relative changes, by goal
	Figures  []watch.Figure     `json:"figures,omitempty"`
	Alone    []string           `json:"one_user,omitempty"` // bounds that one user's applications alone broke
	Others   bool               `json:"others,omitempty"`   // somebody else changed other settings meanwhile
}

type changedText struct {
	Setting string `json:"setting"`
	Old     string `json:"old"`
	New     string `json:"new"`
}

// recordFile is beside the journal: one line when a change begins, one when it ends.
const recordFile = "applied.jsonl"

// note appends the record.
func (a *applying) note(outcome, why string) error {
	a.record.Outcome, a.record.Why = outcome, why
	f, err := securefile.Open(filepath.Join(a.dir, recordFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(a.record), f.Sync(), f.Close())
}

// report prints and records the outcome. It is an error if the change is not in force; failed says why the old settings are not, either.
func (a *applying) report(outcome, why string, failed error) error {
	t := term.Table{Head: []string{"", "before", "since", "change", "interval", "expected", "pairs", "applications"}, Left: 1}
	conclusion, told := "", []string(nil)
	switch {
	case len(a.f.figures) == 0:
		conclusion = " Nothing was watched."
	case len(a.record.Alone) > 0:
		conclusion = " " + strings.Join(a.record.Alone, ". ") + "."
	case len(a.f.aims.aim.Keep) > 0:
		conclusion = " No bound was broken by more than noise."
	}
	for _, f := range a.record.Figures {
		expected, before, since, diff, within := "-", "-", "-", "-", "-"
		if x, ok := a.record.Expected[f.Goal]; ok {
			expected = percent(x)
		}
		if f.Enough {
			before, since, diff, within = seconds(f.Before), seconds(f.Since), percent(f.Change), percent(f.Low)+" to "+percent(f.High)
		} else {
			conclusion = " With too few pairs nothing is concluded."
		}
		told = append(told, fmt.Sprintf("%s: %s", f.Name(), f.Told()))
		count := fmt.Sprintf("%d, %d", f.AppsBefore, f.Apps)
		if f.Unfinished > 0 {
			count += fmt.Sprintf(" (%d unfinished)", f.Unfinished)
		}
		if f.Failed > 0 {
			count += fmt.Sprintf(" and %d failed", f.Failed)
		}
		t.Add(f.Name(), before, since, diff, within, expected, strconv.Itoa(f.Pairs), count)
	}
	if len(t.Rows) > 0 {
		fmt.Fprint(a.out, draw(t))
	}
	for _, line := range told {
		a.say("%s.", line)
	}
	var err error
	noted := outcome
	switch {
	case failed != nil:
		err, noted = fmt.Errorf("%s; the old settings are not back yet: %w", why, failed), lostLock
	case outcome == kept:
		a.say("Kept: the new settings stay.%s", conclusion)
	case outcome == foreign:
		err = errors.New(why)
	default:
		err = fmt.Errorf("rolled back: the old settings are in force again: %s", why)
	}
	a.record.Watched = time.Since(a.record.At).Round(time.Second).Seconds()
	err = errors.Join(err, a.note(noted, why))
	a.say("Record: %s", filepath.Join(a.dir, recordFile))
	return err
}
