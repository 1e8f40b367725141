package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/build"
	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/steer/session"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/web/steering"
	"github.com/yardmaster/yardmaster/yarn/yard"
)

// steerFlags are the flags of yarn steer.
type steerFlags struct {
	knobFlags
	known        steer.Registry
	policy       string
	set          []string
	min, max     float64
	slots        bool
	untilEmpty   bool
	cpu          string
	ams          bool
	observe, act bool
	length       string
	spacing      string
	silence      string
	perHour      int
	listen       string
	format       string
	changes      bool
	stalled      time.Duration

	lasts, gap, blind time.Duration // length, spacing and silence, parsed
}

func newYarnSteer(known steer.Registry) *cobra.Command {
	f := steerFlags{known: known}
	cmd := &cobra.Command{
		Use:   "steer --rm URL --queue QUEUE[,QUEUE...] --policy POLICY [--act]",
		Short: "Let a policy steer queues: their AM shares, or the priorities or queues of their jobs",
		Args:  func(cmd *cobra.Command, args []string) error { return f.check(cmd, args) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return labelled("steer", yarnSteer(cmd, &f))
		},
	}
	f.add(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.policy, "policy", "", "`NAME` of the policy: "+strings.Join(known.Names(), ", "))
	fs.StringArrayVar(&f.set, "set", nil, "a setting of the policy as `NAME=VALUE` (repeatable)")
	fs.Float64Var(&f.min, "min", 0, "min `SHARE`; 0: the one found at the start (with --until-empty: one AM's)")
	fs.Float64Var(&f.max, "max", steer.DefaultBounds().Max, "max `SHARE`")
	fs.BoolVar(&f.slots, "slots", false, "hold a whole number of AMs instead of adding steps")
	fs.BoolVar(&f.untilEmpty, "until-empty", false, "end when the queue, once it had jobs, has none left")
	fs.StringVar(&f.cpu, "cpu", "", "`SOURCE` of idle processors: host, host:nice-idle, rm, rm:cores=N, prometheus=URL?QUERY, allocation, none (default allocation)")
	fs.BoolVar(&f.ams, "ask-ams", false, "query the AMs of MapReduce jobs for their map progress, at most eight per sample (default for ahead, which uses it)")
	fs.BoolVar(&f.observe, "observe", false, "decide and report, change nothing: this is the default")
	fs.BoolVar(&f.act, "act", false, "change the setting")
	fs.StringVar(&f.length, "for", "", "end after this `TIME`: 8h, 30m")
	fs.StringVar(&f.spacing, "spacing", "", "min `TIME` between two changes, if more than the scheduler needs")
	fs.IntVar(&f.perHour, "per-hour", steer.PerHour, "at most `N` changes an hour, moves of jobs excepted")
	fs.StringVar(&f.silence, "silence", "60s", "after this `TIME` without a good sample, restore and wait")
	fs.StringVar(&f.listen, "listen", steering.DefaultAddress, "`ADDRESS` of the status page and the metrics; off: none")
	fs.StringVar(&f.format, "log-format", "text", "`FORM` of the lines on standard output: text or json")
	fs.BoolVar(&f.changes, "changes-only", false, "leave out samples without a change")
	fs.DurationVar(&f.stalled, "stalled-after", session.StalledAfter, "the guard kills a steerer after this `TIME` without a heartbeat")
	hide(fs, "stalled-after")
	setGroup(fs, inPolicy, "policy", "set", "min", "max", "slots", "until-empty", "cpu", "ask-ams")
	setGroup(fs, inOutput, "listen", "log-format", "changes-only")
	f.addWho(cmd)
	complete(cmd, "policy", func() []string { return policyWords(known) }, cobra.ShellCompDirectiveNoFileComp)
	complete(cmd, "cpu", func() []string {
		var words []string
		for _, s := range yard.Sources() {
			words = append(words, strings.Replace(s, ": ", "\t", 1))
		}
		return words
	}, cobra.ShellCompDirectiveNoFileComp)
	complete(cmd, "log-format", func() []string { return []string{"text", "json"} }, cobra.ShellCompDirectiveNoFileComp)
	return cmd
}

// check finds conflicting options before any server is contacted.
func (f *steerFlags) check(cmd *cobra.Command, args []string) error {
	see := "See \"" + cmd.CommandPath() + " --help\"."
	switch {
	case len(args) > 0:
		return misuse(see, "yarn steer: %q is not a flag", args[0])
	case len(f.rm) == 0:
		return misuse(see, "yarn steer: no cluster: give --rm URL")
	case len(f.queues) == 0:
		return misuse(see, "yarn steer: no queue: give --queue root.default")
	case f.policy == "":
		return misuse(see, "yarn steer: no policy: give --policy, one of %s", strings.Join(f.known.Names(), ", "))
	case f.act && f.observe:
		return misuse("", "yarn steer: --act and --observe are opposites: give one")
	case !f.act && f.journal != "":
		return misuse("", "yarn steer: --journal belongs to --act: without it nothing is changed")
	case !f.act && len(f.zk) > 0:
		return misuse("", "yarn steer: --zookeeper belongs to --act: any number of steerers may watch")
	case f.format != "text" && f.format != "json":
		return misuse("", "yarn steer: --log-format is text or json, not %q", f.format)
	case f.perHour < 1:
		return misuse("", "yarn steer: --per-hour is at least 1, not %d", f.perHour)
	case !(f.min >= 0 && f.max <= 1 && f.max > 0 && f.min <= f.max):
		return misuse("", "yarn steer: --min %v and --max %v: they are shares from 0 to 1, min at most max", f.min, f.max)
	}
	if err := knownPolicy(f.known, f.policy); err != nil {
		return err
	}
	if err := cmp.Or(duration("for", f.length, time.Second, &f.lasts), duration("spacing", f.spacing, 0, &f.gap), duration("silence", f.silence, time.Second, &f.blind)); err != nil {
		return err
	}
	_, err := newPolicy(f.known, f.policy, f.setup(amlimit.Fair)) // an error on one scheduler is one on any
	return err
}

// setup is what the policy is made from, on a scheduler with the given limit.
func (f *steerFlags) setup(limit amlimit.Limit) *steer.Setup {
	s := &steer.Setup{
		Queue: f.queues[0], Queues: f.queues, Limit: limit, Observe: !f.act, Set: f.set,
		Bounds: steer.Bounds{Min: f.min, Max: f.max, UntilEmpty: f.untilEmpty, Spacing: unit.Time(f.gap.Microseconds())},
	}
	if f.slots {
		s.Set = append([]string{"slots=yes"}, s.Set...)
	}
	return s
}

func yarnSteer(cmd *cobra.Command, f *steerFlags) error {
	ctx, stop := withHangup(cmd.Context())
	defer stop()
	notice := noticesTo(cmd.ErrOrStderr())
	needs := &f.known.Find(f.policy).Needs
	y, client, count, err := f.open(ctx, yard.Options{
		CPU: f.cpu, AMs: f.ams || needs.Maps && !cmd.Flags().Changed("ask-ams"), Pending: needs.Pending,
		Capacities: slices.Contains(needs.Properties, steer.Capacities),
	})
	if err != nil {
		return err
	}
	defer client.CloseIdle()
	f.queues = y.Queues()
	setup := f.setup(y.Limit())
	setup.Minimum = y.MinAllocation()
	policy, err := newPolicy(f.known, f.policy, setup)
	if err != nil {
		return err
	}

	log := newLog(cmd.OutOrStdout(), f.format, f.changes)
	defer log.end()
	o := live.Options{Engine: y, Rules: drive.Rules{
		Allow:  func(k drive.Knob) error { return needs.Allow(k.Kind, k.Property, y.Limit()) },
		Queues: y.Queues(), Act: f.act, Bound: drive.Within(f.min, f.max), Spacing: f.gap, PerHour: f.perHour, Silence: f.blind,
		New: func() (steer.Steerer, error) { return f.known.New(f.policy, setup) },
	}}
	dir := ""
	if f.act {
		if dir, err = session.JournalDir(f.journal, y.Identity()); err != nil {
			return err
		}
		safe := session.Setup{Program: onYarn, Dir: dir, Args: f.args, Locks: f.locks(), Stalled: f.stalled, Step: f.inTime, Notice: notice, Observe: func(e drive.Event) { log.event(&e) }}
		if needs.AMLimit {
			safe.CanAct = y.CanAct
		}
		s, err := session.Begin(ctx, y, safe)
		if err != nil {
			return err
		}
		defer s.End()
		o.Clock, o.Alive, o.Lock, o.Journal = s.Clock(), s.Alive, s.Lock, s.Journal.Journal
	}
	cuts := 0
	o.Observe = func(e drive.Event) {
		log.event(&e)
		client.SayCuts(&cuts, notice)
	}
	return f.describe(ctx, y, policy, dir).Run(ctx, o, f.lasts, f.listen, count.Sent, notice)
}

// describe collects what there is to know at the start.
func (f *steerFlags) describe(ctx context.Context, y *yard.Yard, policy steer.Steerer, journal string) *steering.Start {
	entry := f.known.Find(f.policy)
	s := &steering.Start{
		About: steering.About{
			Version: build.Version(), Cluster: strings.Join(f.rm, ", "), Scheduler: y.Limit().Scheduler, Queue: strings.Join(y.Queues(), ", "), Policy: f.policy, Actuator: y.Actuator(),
			CPU: steering.SourceName(f.cpu), Act: f.act, AMShare: entry.Needs.AMLimit, Started: time.Now(), Journal: journal,
		},
		Title: entry.Title, Steerer: policy, Queues: f.queues, Min: f.min, Max: f.max, PerHour: f.perHour,
	}
	if entry.Needs.Queue {
		s.PerHour = 0
	}
	var snap steer.Snapshot
	if s.Err = f.inTime(ctx, func(in context.Context) (err error) { snap, err = y.Snapshot(in); return err }); s.Err == nil {
		s.Snapshot = &snap
	}
	s.Notes = y.Notes()
	return s
}
