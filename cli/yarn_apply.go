package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/session"
	"github.com/yardmaster/yardmaster/whatif/apply"
	"github.com/yardmaster/yardmaster/whatif/goal"
	"github.com/yardmaster/yardmaster/yarn/change"
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
	e, err := apply.Expectation(data, f.figures)
	if err != nil {
		return nil, fmt.Errorf("--expect %s: %w", f.expect, err)
	}
	return e, nil
}

func (f *applyFlags) run(cmd *cobra.Command) error {
	ctx, stop := withHangup(cmd.Context())
	defer stop()
	out, log := cmd.OutOrStdout(), newLog(cmd.ErrOrStderr(), "text", false)
	defer log.end()
	expected, err := f.expectation()
	if err != nil {
		return err
	}
	client, err := f.login.client(rest.Options{Timeout: 10 * time.Second, Retries: 2, RMRate: -1})
	if err != nil {
		return err
	}
	defer client.CloseIdle()
	return apply.Run(ctx, apply.Options{
		Wanted: f.wanted, Client: client, Journal: f.journal, Out: f.out, Print: func(text string) { fmt.Fprint(out, text) },
		Trial: apply.Trial{Length: f.lasts, Silence: f.blind, Keep: f.stay, Goals: f.figures, Bounds: f.aims.aim.Keep, Expected: expected, Reason: "yarn apply",
			Say: noticesTo(out), Table: func(t term.Table) { fmt.Fprint(out, draw(t)) }, Flush: func() { show(out) }},
		Session: session.Setup{Program: onYarn, Locks: f.locks(), Stalled: f.stalled, Step: f.inTime, Args: f.args,
			Notice: noticesTo(cmd.ErrOrStderr()), Observe: func(e drive.Event) { log.event(&e) }},
		Open: func(ctx context.Context, queues []string, copied bool) (*yard.Yard, *rest.Client, error) {
			f.queues = queues
			k := f.knobFlags
			if copied {
				k.actuator, k.file = yard.REST, ""
			}
			y, client, _, err := k.open(ctx, yard.Options{CPU: "none", Capacities: true, Absent: true})
			return y, client, err
		},
		Write: func(path string) (func(func(io.Writer) error) error, func(), error) {
			file, err := prepare(ctx, path)
			if err != nil {
				return nil, nil, err
			}
			return file.write, file.discard, nil
		},
	})
}
