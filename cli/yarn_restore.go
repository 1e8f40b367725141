package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/steer/session"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/rest"
	"github.com/yardmaster/yardmaster/yarn/yard"
	"github.com/yardmaster/yardmaster/yarn/zk"
)

// onYarn is how this program restores on YARN.
var onYarn = session.Program{Restore: "yardmaster yarn restore", Server: "the ResourceManager"}

// restoreFlags are the flags of yarn restore.
type restoreFlags struct {
	knobFlags
	list, force bool
	guard       bool
	stalled     time.Duration
	within      string
}

func newYarnRestore() *cobra.Command {
	var f restoreFlags
	cmd := &cobra.Command{
		Use:   "restore [--journal DIR] [--rm URL]",
		Short: "Restore what a steerer changed and left behind",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return misuse("See \""+cmd.CommandPath()+" --help\".", "yarn restore: %q is not a flag", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.guard {
				return f.stand(cmd)
			}
			return yarnRestore(cmd, &f)
		},
	}
	f.add(cmd)
	fs := cmd.Flags()
	fs.BoolVar(&f.list, "list", false, "show what would be restored, and do nothing")
	fs.BoolVar(&f.force, "force", false, "also restore what somebody else has changed since")
	fs.StringVar(&f.within, "within", "2m", "`TIME` to keep trying")
	fs.BoolVar(&f.guard, "guard", false, "wait for the steerer on standard input to end, then restore")
	fs.DurationVar(&f.stalled, "stalled-after", session.StalledAfter, "with --guard: kill a steerer after this `TIME` without a heartbeat")
	hide(fs, "guard", "stalled-after")
	f.addWho(cmd)
	return cmd
}

func yarnRestore(cmd *cobra.Command, f *restoreFlags) error {
	within, err := unit.ParseTime(f.within)
	if err != nil {
		return misuse("", "--within: %v", err)
	}
	dirs, err := session.JournalDirs(f.journal)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	out := cmd.OutOrStdout()
	var failed error
	fail := func(err error) {
		if failed != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), failed)
		}
		failed = fmt.Errorf("restore: %w", err)
	}
	restore := func(dir string) error {
		show(out)
		ctx, stop := context.WithTimeout(cmd.Context(), time.Duration(within)*time.Microsecond)
		defer stop()
		return f.restore(ctx, cmd, dir)
	}
	if f.list {
		restore = nil
	}
	found, closed := session.RestoreAll(dirs, restore, noticesTo(out), fail)
	err = onYarn.AskMarks(closed, f.journal == "", func(dir string) (string, []drive.Mark, error) { return f.marks(cmd, dir) }, noticesTo(cmd.ErrOrStderr()))
	if err != nil {
		fail(err)
	}
	if found == 0 && failed == nil {
		fmt.Fprintln(out, "There is nothing to restore.")
	}
	return failed
}

// with completes the flags from those noted beside a journal.
func (f *restoreFlags) with(cmd *cobra.Command, dir string, open []drive.Entry) (*knobFlags, error) {
	var k knobFlags
	noted := &cobra.Command{Use: "noted"}
	k.add(noted)
	k.addWho(noted)
	args, err := session.ReadArgs(dir)
	if err != nil {
		return nil, err
	}
	if err := noted.ParseFlags(args); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, session.ArgsFile), err)
	}
	given := *f
	for name, copy := range map[string]func(){
		"rm": func() { k.rm = given.rm }, "queue": func() { k.queues = given.queues }, "actuator": func() { k.actuator = given.actuator },
		"file": func() { k.file = given.file }, "refresh-command": func() { k.refresh = given.refresh }, "zookeeper": func() { k.zk = given.zk },
		"user": func() { k.user = given.user }, "kerberos": func() { k.spnego = given.spnego }, "principal": func() { k.krb.Principal = given.krb.Principal },
		"keytab": func() { k.krb.Keytab = given.krb.Keytab }, "krb5-conf": func() { k.krb.Config = given.krb.Config }, "ca": func() { k.tls.CAFile = given.tls.CAFile },
		"timeout": func() { k.timeout = given.timeout },
	} {
		if cmd.Flags().Changed(name) {
			copy()
		}
	}
	if len(k.queues) == 0 && len(open) > 0 {
		k.queues = session.QueuesOf(&open[0])
	}
	if len(k.rm) == 0 {
		return nil, misuse("", "yarn restore: no cluster: give --rm URL")
	}
	return &k, nil
}

// restore restores from one journal, and reports damage in it.
func (f *restoreFlags) restore(ctx context.Context, cmd *cobra.Command, dir string) error {
	notice := noticesTo(cmd.ErrOrStderr())
	j, err := session.OpenFor(ctx, dir, notice)
	if err != nil {
		return err
	}
	defer func() { _ = j.Close() }() // its content is on disk
	open := j.Open()
	if len(open) == 0 {
		return j.Damage()
	}
	if open[0].Stands() {
		return fmt.Errorf("%s is prepared for a policy: \"yardmaster yarn prepare --undo\" takes that back", open[0].Knob.Queue)
	}
	k, err := f.with(cmd, dir, open)
	if err != nil {
		return err
	}
	log := newLog(cmd.OutOrStdout(), "text", false)
	defer log.end()
	r := k.recovery(log, notice)
	r.Journal, r.Force = j, f.force
	return errors.Join(r.Run(ctx), j.Damage())
}

// recovery restores with these flags.
func (k *knobFlags) recovery(log *eventLog, notice func(format string, args ...any)) *session.Recovery {
	return &session.Recovery{Program: onYarn, Locks: k.locks(), Notice: notice, Observe: func(e drive.Event) { log.event(&e) },
		Open: func(ctx context.Context, queues []string) (session.Engine, func(), error) {
			o := yard.Options{CPU: "none", Absent: queues != nil}
			if len(queues) > 0 {
				o.Queues = queues
			}
			y, client, _, err := k.open(ctx, o)
			if err != nil {
				return nil, nil, err
			}
			return y, client.CloseIdle, nil
		}}
}

// locks are ZooKeeper's; nil: none.
func (k *knobFlags) locks() *session.Locks {
	if len(k.zk) == 0 {
		return nil
	}
	return &session.Locks{Outlives: zk.SessionEnds / 2, New: func(identities []string, held func()) (live.Lock, error) {
		return zk.NewLocks(k.zk, identities, held)
	}}
}

// stand is the guard's work.
func (f *restoreFlags) stand(cmd *cobra.Command) error {
	if f.journal == "" || len(f.rm) == 0 {
		return misuse("", "yarn restore: --guard is for \"yarn steer\" only")
	}
	// A reader of standard error may have stopped reading, and must not keep the guard from killing a steerer and restoring.
	log := newLog(cmd.ErrOrStderr(), "text", false)
	defer log.end()
	notice := noticesTo(log)
	r := f.recovery(log, func(format string, args ...any) { notice("yardmaster: guard: "+format, args...) })
	return session.Stand(cmd.Context(), f.journal, f.stalled, *r)
}

// marks reads the marks of a journal's ResourceManager, and says which that is; none if it cannot keep any.
func (f *restoreFlags) marks(cmd *cobra.Command, dir string) (rm string, list []drive.Mark, err error) {
	k, err := f.with(cmd, dir, nil)
	if err != nil {
		return "", nil, err
	}
	rm = strings.Join(k.rm, ",")
	c, err := k.client(rest.Options{Timeout: 10 * time.Second, Retries: 2, RMRate: -1})
	if err != nil {
		return rm, nil, err
	}
	defer c.CloseIdle()
	err = k.inTime(cmd.Context(), func(in context.Context) (err error) { list, err = yard.ReadMarks(in, c); return err })
	return rm, list, err
}
