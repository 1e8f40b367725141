package cli

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/yarn/change"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/layout"
	"github.com/yardmaster/yardmaster/yarn/queues"
	"github.com/yardmaster/yardmaster/yarn/yard"
)

// prepareFlags are the flags of yarn prepare.
type prepareFlags struct {
	login
	queues.Options
	shares    []string
	file, out string
	act, undo bool
	force     bool
	journal   string
	zk        []string
}

func newYarnPrepare() *cobra.Command {
	var f prepareFlags
	cmd := &cobra.Command{
		Use:   "prepare --policy POLICY --queue QUEUE {--rm URL [--act] | --file FILE} [--levels N | --shares SHARE,...] [--out FILE]",
		Short: "Make the queues that a policy needs, or take them back",
		Args:  func(cmd *cobra.Command, args []string) error { return f.check(cmd, args) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return labelled("prepare", f.run(cmd))
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	f.addRM(cmd)
	fs.StringVar(&f.Queue, "queue", "", "full `NAME` of the leaf queue that users submit to: root.batch")
	fs.StringVar(&f.file, "file", "", "read this capacity-scheduler.xml as `FILE` instead of a live configuration")
	fs.StringSliceVar(&f.zk, "zookeeper", nil, "`HOST:PORT` of ZooKeeper, to exclude steerers on other machines; several separated by commas")
	fs.StringVar(&f.journal, "journal", "", "folder `DIR` of the record of the old settings; else yardmaster/prepare in $XDG_STATE_HOME or ~/.local/state")
	fs.StringVar(&f.Policy, "policy", "", "`NAME` of the policy: "+strings.Join(queues.Policies(), ", "))
	fs.IntVar(&f.Levels, "levels", 0, "`N` levels; for deadline: one more than jobs with deadlines at a time (default 2; for deadline 5)")
	fs.StringSliceVar(&f.shares, "shares", nil, "`SHARE` of each level but the last, separated by commas: 0.5,0.3 (default for tags 0.5, for sita 0.3)")
	fs.BoolVar(&f.act, "act", false, "change the ResourceManager's configuration; without it the change is only shown")
	fs.BoolVar(&f.undo, "undo", false, "move jobs back to the queue, remove the new queues and restore the old settings")
	fs.BoolVar(&f.force, "force", false, "also use a record without a checksum, as earlier versions wrote them")
	fs.StringVarP(&f.out, "out", "o", "", "write the whole new configuration to `FILE`")
	f.addTimeout(cmd, startWithin, stepHelp)
	setGroup(fs, inCluster, "rm", "queue", "file", "journal", "zookeeper", "timeout")
	setGroup(fs, inPolicy, "policy", "levels", "shares")
	setGroup(fs, inOutput, "out")
	f.addWho(cmd)
	complete(cmd, "policy", queues.Policies, cobra.ShellCompDirectiveNoFileComp)
	return cmd
}

// check finds conflicting options before any server is contacted.
func (f *prepareFlags) check(cmd *cobra.Command, args []string) error {
	see := "See \"" + cmd.CommandPath() + " --help\"."
	changed := cmd.Flags().Changed
	switch {
	case len(args) > 0:
		return misuse(see, "yarn prepare: %q is not a flag", args[0])
	case f.Queue == "":
		return misuse(see, "yarn prepare: no queue: give --queue root.batch")
	case f.undo && (f.act || changed("policy") || changed("levels") || changed("shares") || changed("file") || changed("out")):
		return misuse("", "yarn prepare: --undo takes back what the record says: leave out --act, --policy, --levels, --shares, --file and --out")
	case f.file != "" && (len(f.rm) > 0 || f.act):
		return misuse("", "yarn prepare: --file is for a configuration without a ResourceManager: leave out --rm and --act, or --file")
	case f.file != "" && absolute(f.file) == absolute(f.out):
		return misuse("", "yarn prepare: --out is the file that is read: name another one, and keep the old one to go back")
	case f.file == "" && len(f.rm) == 0:
		return misuse(see, "yarn prepare: no cluster: give --rm URL, or --file capacity-scheduler.xml")
	case f.undo:
		return nil
	case f.Policy == "":
		return misuse(see, "yarn prepare: no policy: give --policy, one of %s", strings.Join(queues.Policies(), ", "))
	case !slices.Contains(queues.Policies(), f.Policy):
		return misuse("Those that do are "+strings.Join(queues.Policies(), ", ")+".", "yarn prepare: policy %q needs no queues of its own%s", f.Policy, suggest.Hint(f.Policy, queues.Policies()))
	}
	for _, s := range f.shares {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return misuse("", "yarn prepare: --shares: %q is not a number", s)
		}
		f.Shares = append(f.Shares, x)
	}
	return nil
}

func (f *prepareFlags) run(cmd *cobra.Command) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	to, err := prepare(ctx, f.out)
	if err != nil {
		return err
	}
	defer to.discard()
	if f.file != "" {
		data, err := change.ReadFile(f.file)
		if err != nil {
			return err
		}
		plan, err := layout.EditFile(f.file, &data, f.Options)
		if err != nil {
			return err
		}
		if err := to.write(func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
			return err
		}
		f.show(out, plan, queues.Original)
		return nil
	}
	p, err := f.connect(ctx, noticesTo(out))
	if err != nil {
		return err
	}
	defer p.Client.CloseIdle()
	defer p.Close()
	if f.undo {
		return p.Undo(ctx)
	}
	plan, after, state, err := p.Plan(ctx)
	if err != nil {
		return err
	}
	if err := to.write(func(w io.Writer) error { return conf.WriteProperties(w, after) }); err != nil {
		return err
	}
	if f.act && state == queues.Original {
		if err := p.Act(ctx, plan); err != nil {
			return err
		}
		state = queues.Prepared
	}
	f.show(out, plan, state)
	return nil
}

// connect identifies the ResourceManager and finds out whether its configuration can be changed.
func (f *prepareFlags) connect(ctx context.Context, tell func(format string, args ...any)) (*layout.Preparer, error) {
	k := knobFlags{login: f.login, queues: []string{f.Queue}, zk: f.zk}
	y, client, _, err := k.open(ctx, yard.Options{CPU: "none"})
	if err != nil {
		return nil, err
	}
	p, err := layout.Open(ctx, layout.Setup{Program: onYarn, Options: f.Options, Client: client, Yard: y, Dir: f.journal, Locks: k.locks(), Force: f.force, Step: f.inTime, Tell: tell}, f.act || f.undo)
	if err != nil {
		client.CloseIdle()
	}
	return p, err
}

// show prints the change, and what to run next.
func (f *prepareFlags) show(w io.Writer, plan *queues.Plan, state queues.State) {
	layout.Print(w, plan, layout.Commands{State: state, File: f.file, Out: f.out, RM: strings.Join(f.rm, ","), Journal: f.journal, Width: helpWidth()}, draw)
}
