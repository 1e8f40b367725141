// Package apply tries a change on a running scheduler: it measures goals, makes the change, watches it, rolls it back if a bound is broken, and records what was
// expected and what came. Package session keeps the change safe. A Trial knows no engine; Run is "yarn apply", without its flags.
package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/steer/session"
	"github.com/yardmaster/yardmaster/whatif/watch"
	"github.com/yardmaster/yardmaster/yarn/change"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/rest"
	"github.com/yardmaster/yardmaster/yarn/yard"
)

// Options are what is to be changed, and how.
type Options struct {
	change.Wanted
	Trial   Trial         // its goals, bounds, times and printing
	Session session.Setup // without its folder
	Journal string        // its folder, as the user named it; "": the default
	Out     string        // file for the new configuration; "": none
	// Client is for reading what is configured.
	Client *rest.Client
	// Open connects to the ResourceManager, to change some queues; copied: the file of the configuration is only a copy.
	Open func(ctx context.Context, queues []string, copied bool) (*yard.Yard, *rest.Client, error)
	// Write writes a file as a whole, or nothing; the first call only checks that it can be written.
	Write func(path string) (write func(func(io.Writer) error) error, discard func(), err error)
	Print func(text string)
}

// run is one run of the command.
type run struct {
	Options
	yard *yard.Yard
	plan *change.Plan
	ask  func(context.Context, func(context.Context) error) error // runs a step that asks the ResourceManager
	cuts int                                                      // applications whose texts were cut, as said so far
	able bool                                                     // this account can change the settings
}

// Run shows the change and, with Act, makes it.
func Run(ctx context.Context, o Options) error {
	a := &run{Options: o, ask: o.Session.Step}
	if err := a.replan(ctx); err != nil {
		return err
	}
	copied := errors.Is(a.plan.Immutable, rest.ErrForbidden)
	var err error
	if a.yard, a.Client, err = a.Open(ctx, a.plan.Queues(), copied); err != nil {
		return err
	}
	defer a.Client.CloseIdle()
	dir, err := session.JournalDir(a.Journal, a.yard.Identity())
	if err != nil {
		return err
	}
	t := &a.Trial
	t.Dir, t.List, t.Version = dir, a.list, a.version
	a.Session.Dir = dir
	a.able = a.yard.Actuator() != "none" && (a.plan.Immutable == nil || a.yard.Actuator() != yard.REST)
	if a.Out == "" && a.Act && !a.able && len(a.plan.New) > 0 {
		a.Out = filepath.Base(a.plan.Name) + ".new"
		if _, err := os.Lstat(a.Out); err == nil { // nobody named it
			return fmt.Errorf("%s exists already: name another file with --out", a.Out)
		}
	}
	write, discard, err := a.Write(a.Out)
	if err != nil {
		return err
	}
	defer discard()
	left := a.unfinished(dir)
	if !a.Act || !a.able {
		return a.show(ctx, write)
	}
	log := a.Session.Observe
	a.Session.Observe = func(e drive.Event) {
		if !t.Observe(ctx, &e) {
			log(e)
		}
	}
	s, err := session.Begin(ctx, a.yard, a.Session)
	if err != nil {
		return err
	}
	defer s.End()
	a.ask = s.Ask
	return t.End(s.Try(ctx, t.Measure, func() (*drive.Trial, error) {
		if left > 0 { // the old settings are back
			if err := a.replan(ctx); err != nil {
				return nil, err
			}
		}
		if err := a.show(ctx, write); err != nil || len(a.plan.New) == 0 {
			return nil, err
		}
		t.Flush()
		var begun *drive.Trial
		err := a.ask(ctx, func(in context.Context) (err error) {
			begun, err = t.Begin(in, a.yard, a.plan.Old, a.plan.New)
			return err
		})
		return begun, err
	}))
}

func (a *run) replan(ctx context.Context) error {
	return a.ask(ctx, func(in context.Context) (err error) { a.plan, err = change.New(in, a.Client, a.Wanted); return err })
}

func (a *run) list(ctx context.Context, from time.Time) (list []watch.App, err error) {
	err = a.ask(ctx, func(in context.Context) (err error) { list, err = watch.List(in, a.Client, from); return err })
	a.Client.SayCuts(&a.cuts, a.Trial.Say)
	return list, err
}

func (a *run) version(ctx context.Context) (v int64) {
	_ = a.ask(ctx, func(in context.Context) error { v = a.plan.Version(in, a.Client); return nil }) // unknown then
	return v
}

// unfinished reports what an earlier command has left changed.
func (a *run) unfinished(dir string) int {
	_, open, _ := live.ReadJournal(dir) // damage is reported when it is opened
	for _, e := range open {
		a.Trial.Say("Unfinished: %v, set to %v at %s, was %v.", e.Knob, e.New, e.At.Local().Format("2006-01-02 15:04:05"), e.Original)
	}
	if len(open) > 0 {
		a.Trial.Say("With --act the old is restored first, as %q does.", a.Session.Restore)
	}
	if err := a.Session.LeftElsewhere(dir, a.yard.Identities()); err != nil {
		a.Trial.Say("Unfinished: %v", err)
	}
	return len(open)
}

// show writes the new configuration, shows the change and checks it.
func (a *run) show(ctx context.Context, write func(func(io.Writer) error) error) error {
	t := &a.Trial
	if err := write(func(w io.Writer) error { _, err := w.Write(a.plan.Content); return err }); err != nil {
		return err
	}
	if n := len(a.plan.Ignored); n > 0 {
		names := strings.Join(a.plan.Ignored[:min(n, 5)], ", ")
		if n > 5 {
			names += fmt.Sprintf(" and %d others", n-5)
		}
		t.Say("Ignored in %s, because the CapacityScheduler has no such setting: %s.", a.File, term.Line(names))
	}
	if len(a.plan.New) == 0 {
		t.Say("The settings already have these values: there is nothing to change.")
		return nil
	}
	table := term.Table{Head: []string{"queue", "setting", "now", "new"}, Left: 4}
	for i, s := range a.plan.New {
		table.Add(cmp.Or(s.Queue, "-"), s.Property, a.plan.Old[i].String(), s.String())
	}
	t.Table(table)
	var judged bool
	if err := a.ask(ctx, func(in context.Context) (err error) { judged, err = a.plan.Validate(in, a.Client); return err }); err != nil {
		return err
	}
	if judged {
		t.Say("Valid, by the ResourceManager's own validation.")
	} else {
		t.Say("Checked here only: this ResourceManager cannot validate a change.")
	}
	if !a.able {
		return a.handOver()
	}
	if err := t.Before(ctx); err != nil {
		return err
	}
	if !a.Act {
		t.Say("Nothing is changed. The same command with --act makes the change.")
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
func (a *run) handOver() error {
	a.Trial.Say("The ResourceManager does not let this account change its settings.")
	a.Trial.Say("The new configuration: %s", cmp.Or(a.Out, "written with --out FILE"))
	if conf.Detect(a.plan.Content) == conf.FairFile {
		a.Print(handFair)
	} else {
		a.Print(handCapacity)
	}
	if a.Act {
		return errors.New("not applied: hand the new configuration over as said above")
	}
	return nil
}
