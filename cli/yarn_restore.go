package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/hostlock"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/yard"
)

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
	fs.DurationVar(&f.stalled, "stalled-after", stalledAfter, "with --guard: kill a steerer after this `TIME` without a heartbeat")
	hide(fs, "guard", "stalled-after")
	f.addWho(cmd)
	return cmd
}

func yarnRestore(cmd *cobra.Command, f *restoreFlags) error {
	within, err := unit.ParseTime(f.within)
	if err != nil {
		return misuse("", "--within: %v", err)
	}
	dirs, err := f.journals()
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	out := cmd.OutOrStdout()
	found := 0
	var closed []closedJournal
	var failed error
	fail := func(err error) {
		if failed != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), failed)
		}
		failed = fmt.Errorf("restore: %w", err)
	}
	for _, dir := range dirs {
		lines, open, err := live.ReadJournal(dir)
		var damaged *live.DamagedError
		if err != nil && !errors.As(err, &damaged) {
			fail(err)
			continue
		}
		found += len(open)
		if len(open) == 0 && damaged == nil {
			closed = append(closed, closedJournal{dir, len(lines) == 0})
			continue
		}
		if f.list {
			fmt.Fprintf(out, "%s\n", dir)
			for _, e := range open {
				fmt.Fprintln(out, term.Line(fmt.Sprintf("  %v: set to %v at %s, will be restored to %v", e.Knob, e.New, e.At.Local().Format("2006-01-02 15:04:05"), e.Original)))
			}
			if damaged != nil {
				fail(damaged)
			}
			continue
		}
		show(out)
		ctx, stop := context.WithTimeout(cmd.Context(), time.Duration(within)*time.Microsecond)
		err = f.restore(ctx, cmd, dir)
		stop()
		if err != nil {
			fail(err)
		}
	}
	if err := f.askMarks(cmd.Context(), cmd, closed); err != nil {
		fail(err)
	}
	if found == 0 && failed == nil {
		fmt.Fprintln(out, "There is nothing to restore.")
	}
	return failed
}

// journals are the folders to consider.
func (f *restoreFlags) journals() ([]string, error) {
	if f.journal != "" {
		dir, err := filepath.Abs(f.journal)
		if err != nil {
			return nil, err
		}
		if st, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) || err == nil && !st.IsDir() {
			return nil, fmt.Errorf("there is no journal in %s", f.journal)
		}
		return []string{dir}, nil
	}
	base, err := live.StateDir()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(base)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var dirs []string
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(base, e.Name()))
		}
	}
	if len(dirs) == 0 { // which does not mean that nothing was changed
		who := "this account"
		if u, err := user.Current(); err == nil {
			who = "account " + u.Username
		}
		return nil, fmt.Errorf("%s has no journal in %s: run this as the account that steered, or name the folder with --journal DIR", who, base)
	}
	return dirs, nil
}

// with completes the flags from live.ArgsFile.
func (f *restoreFlags) with(cmd *cobra.Command, dir string, open []drive.Entry) (*knobFlags, error) {
	var k knobFlags
	noted := &cobra.Command{Use: "noted"}
	k.add(noted)
	k.addWho(noted)
	args, err := live.ReadArgs(dir)
	if err != nil {
		return nil, err
	}
	if err := noted.ParseFlags(args); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, live.ArgsFile), err)
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
		k.queues = queuesOf(&open[0])
	}
	if len(k.rm) == 0 {
		return nil, misuse("", "yarn restore: no cluster: give --rm URL")
	}
	return &k, nil
}

// queuesOf are the queues of the steerer that made an entry, by their full names; nil: they are too many for an identity.
func queuesOf(e *drive.Entry) []string {
	names := strings.Split(e.Engine[strings.LastIndexByte(e.Engine, '/')+1:], ",")
	if !strings.HasPrefix(names[0], "root") {
		return nil
	}
	return names
}

// restore restores from one journal, and reports damage in it.
func (f *restoreFlags) restore(ctx context.Context, cmd *cobra.Command, dir string) error {
	notice := noticesTo(cmd.ErrOrStderr())
	j, err := openJournal(ctx, dir, notice)
	var held *live.HeldError
	switch {
	case errors.As(err, &held) && !guarded(dir, held.PID):
		return fmt.Errorf("a steerer is running: process %d on %s, since %s. Stop it, and it restores its own changes", held.PID, held.Host, held.Since.Local().Format("2006-01-02 15:04:05"))
	case err != nil:
		return err
	}
	defer func() { _ = j.Close() }() // its content is on disk
	open := j.Open()
	if len(open) == 0 {
		return j.Damage()
	}
	k, err := f.with(cmd, dir, open)
	if err != nil {
		return err
	}
	r := &recovery{k: k, j: j, force: f.force, log: newLog(cmd.OutOrStdout(), "text", false), notice: notice}
	defer r.log.end()
	return errors.Join(r.run(ctx, true), j.Damage())
}

// recovery restores what a journal has open.
type recovery struct {
	k     *knobFlags
	j     *live.DiskJournal
	force bool
	log   *eventLog
	alone bool // the holder of the locks was killed and has only not ended yet

	notice  func(format string, args ...any)
	warned  bool          // about a lock that somebody else holds
	removed time.Duration // how long a queue must be missing to count as removed; 0: live.Recovery's default
}

// run waits for the ResourceManager and restores, until it is done or times out. A queue that no longer exists has nothing to
// restore.
func (r *recovery) run(ctx context.Context, locked bool) error {
	for pause := time.Second; ; pause = min(2*pause, 5*time.Second) {
		y, client, _, err := r.k.open(ctx, yard.Options{CPU: "none"})
		if left := r.j.Open(); err != nil && len(left) > 0 { // one of the queues may be gone, or no leaf any more
			queues := queuesOf(&left[0])
			if queues == nil {
				queues = r.k.queues
			}
			y, client, _, err = r.k.open(ctx, yard.Options{CPU: "none", Queues: queues, Absent: true})
		}
		if err == nil {
			defer client.CloseIdle()
			return r.with(ctx, y, locked)
		}
		if pause == time.Second {
			r.notice("The ResourceManager cannot be reached yet: %v. Trying again.", err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

func (r *recovery) with(ctx context.Context, y *yard.Yard, locked bool) error {
	if !r.alone {
		host, err := hostLock(ctx, y.Identities(), strangerWait)
		defer func() { _ = host.Close() }() // they end with this process
		var held *hostlock.HeldError
		switch {
		case err == nil:
		case ctx.Err() != nil, errors.As(err, &held) && held.Trusted():
			return err
		case !r.warned: // any account can take that lock: it prevents steerers from starting, but not restores
			r.notice("Warning: %v. Restoring all the same.", err)
			r.warned = true
		}
	}
	if locked {
		lock, err := newLock(r.k.zk, y.Identities(), func() {})
		if err != nil {
			return err
		}
		if lock != nil {
			if err := lock.Acquire(ctx); err != nil {
				return lockError{err}
			}
			defer func() { _ = lock.Release() }() // it ends with this process
		}
	}
	_, err := live.Recovery{Engine: y, Journal: r.j.Journal, Force: r.force, Gone: r.removed, Observe: func(e drive.Event) { r.log.event(&e) }}.Run(ctx)
	return err
}

// lockError says that a lock could not be taken: nothing was tried.
type lockError struct{ error }

func (e lockError) Unwrap() error { return e.error }

// runForDead restores for a steerer that has ended. If it held ZooKeeper's lock when it died, that stays held for a while, so nobody
// else can be active yet. Otherwise it retries to take the locks: another steerer may hold them and be active, and what that one
// found, and restores in the end, is what the dead one wrote.
func (r *recovery) runForDead(ctx context.Context, held time.Duration) error {
	if len(r.k.zk) > 0 && held > 0 {
		first, stop := context.WithTimeout(ctx, held)
		err := r.run(first, false)
		stop()
		if err == nil {
			return nil
		}
	}
	for {
		err := r.run(ctx, true)
		var refused lockError
		if !errors.As(err, &refused) {
			return err
		}
		if wait(ctx, 5*time.Second) != nil {
			return err
		}
	}
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
	tell := func(format string, args ...any) { notice("yardmaster: guard: "+format, args...) }
	steerer := os.Getppid()
	word, killed, stuck := standGuard(f.stalled, tell)
	ended := time.Now()
	if word == standDown {
		return nil
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(cmd.Context()), guardTimeout)
	defer stop()
	if !stuck {
		steerer = 0
	}
	j, err := f.takeOver(ctx, log, steerer, tell)
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	if j == nil {
		return nil
	}
	defer func() { _ = j.Close() }() // its content is on disk
	if err := j.Damage(); err != nil {
		tell("%v", err)
	}
	n := len(j.Open())
	if n == 0 {
		return nil
	}
	claim(f.journal)
	tell("the steerer exited without restoring: restoring %s", settingsWord(n))
	r := &recovery{k: &f.knobFlags, j: j, log: log, notice: tell}
	var held time.Duration          // the lock outlives the steerer by at least this
	if word == hasLock && !killed { // a frozen one has lost it long ago
		held = sessionEnds/2 - time.Since(ended)
	}
	if err := r.runForDead(ctx, held); err != nil {
		return fmt.Errorf("guard: %w; yardmaster yarn restore --journal %s tries again", err, f.journal)
	}
	return nil
}

// takeOver opens the journal of a steerer that has ended, or that was killed and does not end: stuck is its process then. Until it gets the journal,
// it keeps restoring what is open without it: the ResourceManager may be away, too. It returns nothing if there is nothing left to do.
func (f *restoreFlags) takeOver(ctx context.Context, log *eventLog, stuck int, tell func(format string, args ...any)) (*live.DiskJournal, error) {
	if stuck > 0 { // first: opening the journal may hang, too
		f.withoutJournal(ctx, log, true, tell)
	}
	for pass := 0; ; pass++ {
		in, stop := ctx, func() {}
		if stuck > 0 { // do not wait for it
			in, stop = context.WithTimeout(ctx, holderLeaves)
		}
		j, err := inherit(in, f.journal, heirWait, tell)
		stop()
		var held *live.HeldError
		switch {
		case err == nil:
			return j, nil
		case ctx.Err() != nil:
			return nil, err
		case errors.As(err, &held) && held.PID != 0 && held.PID != stuck: // it has ended, and the next steerer is running
			stuck = 0
			continue
		case held == nil:
			stuck = 0 // the disk may be full
		}
		switch pass {
		case 0:
			tell("%v. Restoring all the same, and trying again", err)
		case 1: // do not repeat the message
			log, tell = newLog(io.Discard, "text", false), func(string, ...any) {}
			defer log.end()
		}
		f.withoutJournal(ctx, log, stuck > 0, tell)
		if wait(ctx, withoutJournalTries/3) != nil {
			return nil, err
		}
	}
}

// withoutJournal restores the open knobs of a journal that can be read but not opened: either a killed steerer does not end because its disk
// hangs, and so still holds the journal (alone: it will do nothing more with it), or the disk is full. What is open is restored
// immediately; that is journaled once the journal can be opened.
func (f *restoreFlags) withoutJournal(ctx context.Context, log *eventLog, alone bool, tell func(format string, args ...any)) {
	j, err := live.ViewJournal(f.journal)
	if err != nil || len(j.Open()) == 0 {
		return
	}
	tell("restoring %s without the journal", settingsWord(len(j.Open())))
	ctx, stop := context.WithTimeout(ctx, withoutJournalTries)
	defer stop()
	r := &recovery{k: &f.knobFlags, j: j, log: log, alone: alone, notice: tell}
	_ = r.run(ctx, true) // the journal stays open in any case
}

// withoutJournalTries is how long withoutJournal tries before the journal is tried again.
var withoutJournalTries = 30 * time.Second // tests change it
