package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/yardmaster/yardmaster/internal/hostlock"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
)

// Recovery restores what a journal has open.
type Recovery struct {
	Program
	Journal *live.DiskJournal
	// Open connects to the scheduler. The queues are those of the command; if some are given, these, whether they still exist or not.
	Open    func(ctx context.Context, queues []string) (_ Engine, closed func(), _ error)
	Locks   *Locks // nil: none
	Force   bool   // also restore what somebody else has changed since
	Notice  func(format string, args ...any)
	Observe func(drive.Event)

	gone   time.Duration // how long a queue must be missing to count as removed; 0: live.Recovery's default
	alone  bool          // the holder of the locks was killed and has only not ended yet
	warned bool          // about a lock that somebody else holds
}

// Run waits for the scheduler and restores, until it is done or times out. A queue that no longer exists has nothing to restore.
func (r *Recovery) Run(ctx context.Context) error { return r.run(ctx, r.Locks) }

func (r *Recovery) run(ctx context.Context, locks *Locks) error {
	for pause := time.Second; ; pause = min(2*pause, 5*time.Second) {
		e, closed, err := r.Open(ctx, nil)
		if left := r.Journal.Open(); err != nil && len(left) > 0 { // one of the queues may be gone, or no leaf any more
			e, closed, err = r.Open(ctx, append([]string{}, QueuesOf(&left[0])...))
		}
		if err == nil {
			defer closed()
			return r.restore(ctx, e, locks)
		}
		if pause == time.Second {
			r.Notice("Cannot reach %s yet: %v. Trying again.", r.Server, err)
		}
		if wait(ctx, pause) != nil {
			return err
		}
	}
}

func (r *Recovery) restore(ctx context.Context, e Engine, locks *Locks) error {
	if !r.alone {
		host, err := HostLock(ctx, e.Identities(), strangerWait)
		defer func() { _ = host.Close() }() // they end with this process
		var held *hostlock.HeldError
		switch {
		case err == nil:
		case ctx.Err() != nil, errors.As(err, &held) && held.Trusted():
			return err
		case !r.warned: // any account can take that lock: it prevents steerers from starting, but not restores
			r.Notice("Warning: %v. Restoring all the same.", err)
			r.warned = true
		}
	}
	lock, err := locks.make(e.Identities(), func() {})
	if err != nil {
		return err
	}
	if lock != nil {
		if err := lock.Acquire(ctx); err != nil {
			return lockError{err}
		}
		defer func() { _ = lock.Release() }() // it ends with this process
	}
	_, err = live.Recovery{Engine: e, Journal: r.Journal.Journal, Force: r.Force, Gone: r.gone, Observe: r.Observe}.Run(ctx)
	return err
}

// runForDead restores for a steerer that has ended. If it held the locks when it died, those stay held for a while, so nobody
// else can be active yet. Otherwise it retries to take the locks: another steerer may hold them and be active, and what that one
// found, and restores in the end, is what the dead one wrote.
func (r *Recovery) runForDead(ctx context.Context, held time.Duration) error {
	if r.Locks != nil && held > 0 {
		first, stop := context.WithTimeout(ctx, held)
		err := r.run(first, nil)
		stop()
		if err == nil {
			return nil
		}
	}
	for {
		err := r.Run(ctx)
		var refused lockError
		if !errors.As(err, &refused) {
			return err
		}
		if wait(ctx, 5*time.Second) != nil {
			return err
		}
	}
}

// OpenFor opens a journal to restore from it; a steerer that is running restores its own changes.
func OpenFor(ctx context.Context, dir string, notice func(format string, args ...any)) (*live.DiskJournal, error) {
	j, err := OpenJournal(ctx, dir, notice)
	var held *live.HeldError
	if errors.As(err, &held) && !guarded(dir, held.PID) {
		return nil, fmt.Errorf("a steerer is running: process %d on %s, since %s. Stop it, and it restores its own changes", held.PID, held.Host, held.Since.Local().Format("2006-01-02 15:04:05"))
	}
	return j, err
}

// RestoreAll restores from several journals, one after the other; restore is nil: what they have open is only listed. It returns how many changes were open, and
// the journals that have none.
func RestoreAll(dirs []string, restore func(dir string) error, say func(format string, args ...any), fail func(error)) (found int, closed []Closed) {
	for _, dir := range dirs {
		lines, open, err := live.ReadJournal(dir)
		var damaged *live.DamagedError
		if err != nil && !errors.As(err, &damaged) {
			fail(err)
			continue
		}
		found += len(open)
		switch {
		case len(open) == 0 && damaged == nil:
			closed = append(closed, Closed{Dir: dir, Blank: len(lines) == 0})
			continue
		case restore != nil:
			err = restore(dir) // it reports damage, too
		default:
			say("%s", dir)
			for _, e := range open {
				say("  %v: set to %v at %s, will be restored to %v", e.Knob, e.New, e.At.Local().Format("2006-01-02 15:04:05"), e.Original)
			}
		}
		if err != nil {
			fail(err)
		}
	}
	return found, closed
}

// Stand is the work of a guard: it waits for the steerer, which is its parent process, and restores if that has not. The recovery is without a journal.
func Stand(ctx context.Context, dir string, stalled time.Duration, r Recovery) error {
	steerer := os.Getppid()
	word, killed, stuck := standGuard(stalled, r.Notice)
	ended := time.Now()
	if word == standDown {
		return nil
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), guardTimeout)
	defer stop()
	if !stuck {
		steerer = 0
	}
	j, err := r.takeOver(ctx, dir, steerer)
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	if j == nil {
		return nil
	}
	defer func() { _ = j.Close() }() // its content is on disk
	if err := j.Damage(); err != nil {
		r.Notice("%v", err)
	}
	n := len(j.Open())
	if n == 0 {
		return nil
	}
	claim(dir)
	r.Notice("the steerer exited without restoring: restoring %s", Settings(n))
	r.Journal = j
	var held time.Duration                            // the locks outlive the steerer by at least this
	if word == hasLock && !killed && r.Locks != nil { // a frozen one has lost them long ago
		held = r.Locks.Outlives - time.Since(ended)
	}
	if err := r.runForDead(ctx, held); err != nil {
		return fmt.Errorf("guard: %w; %s tries again", err, r.byHand(dir))
	}
	return nil
}

// takeOver opens the journal of a steerer that has ended, or that was killed and does not end: stuck is its process then. Until it gets the journal,
// it keeps restoring what is open without it: the scheduler may be away, too. It returns nothing if there is nothing left to do.
func (r Recovery) takeOver(ctx context.Context, dir string, stuck int) (*live.DiskJournal, error) {
	if stuck > 0 { // first: opening the journal may hang, too
		r.withoutJournal(ctx, dir, true)
	}
	for pass := 0; ; pass++ {
		in, stop := ctx, func() {}
		if stuck > 0 { // do not wait for it
			in, stop = context.WithTimeout(ctx, HolderLeaves)
		}
		j, err := inherit(in, dir, heirWait, r.Notice)
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
			r.Notice("%v. Restoring all the same, and trying again", err)
		case 1: // do not repeat the message
			r.Observe, r.Notice = nil, func(string, ...any) {}
		}
		r.withoutJournal(ctx, dir, stuck > 0)
		if wait(ctx, withoutJournalTries/3) != nil {
			return nil, err
		}
	}
}

// withoutJournal restores the open knobs of a journal that can be read but not opened: either a killed steerer does not end because its disk
// hangs, and so still holds the journal (alone: it will do nothing more with it), or the disk is full. What is open is restored
// immediately; that is journaled once the journal can be opened.
func (r Recovery) withoutJournal(ctx context.Context, dir string, alone bool) {
	j, err := live.ViewJournal(dir)
	if err != nil || len(j.Open()) == 0 {
		return
	}
	r.Notice("restoring %s without the journal", Settings(len(j.Open())))
	ctx, stop := context.WithTimeout(ctx, withoutJournalTries)
	defer stop()
	r.Journal, r.alone = j, alone
	_ = r.Run(ctx) // the journal stays open in any case
}

// withoutJournalTries is how long withoutJournal tries before the journal is tried again.
var withoutJournalTries = 30 * time.Second // tests change it
