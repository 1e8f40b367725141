// Package session keeps the changes of a running scheduler safe while a command makes them: it locks the queues, keeps the journal, starts a guard that
// restores when the command dies, and restores. It works on any scheduler that implements Engine; a command adds flags and words.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
)

// Engine is a running scheduler and some of its queues.
type Engine interface {
	drive.Engine
	// Identities name the scheduler and each of the queues, by name, as NAME/QUEUE: they are locked. Identity is NAME/QUEUE,QUEUE... or, if that is too
	// long, NAME/COUNT-HASH.
	Identities() []string
	Queues() []string // in the order given
	Marks(context.Context) ([]drive.Mark, error)
}

// Program is how the surrounding program restores, and what it calls its scheduler.
type Program struct {
	Restore string // its command: yardmaster yarn restore
	Server  string // the ResourceManager
}

func (p *Program) byHand(dir string) string { return p.Restore + " --journal " + dir }

// Locks makes locks that exclude drivers on other machines.
type Locks struct {
	New      func(identities []string, held func()) (live.Lock, error)
	Outlives time.Duration // a dead holder by at least this
}

func (l *Locks) make(identities []string, held func()) (live.Lock, error) {
	if l == nil {
		return nil, nil
	}
	return l.New(identities, held)
}

// Setup is what a session needs to know.
type Setup struct {
	Program
	Dir     string                      // of the journal
	Args    func() []string             // flags with which Program.Restore reaches the same scheduler
	Locks   *Locks                      // nil: none
	Stalled time.Duration               // the guard kills the command after this time without a heartbeat
	CanAct  func(context.Context) error // checks that the engine can be changed; nil: not checked
	// Step runs a step of the start that asks the scheduler, with its timeout.
	Step    func(context.Context, func(context.Context) error) error
	Notice  func(format string, args ...any)
	Observe func(drive.Event)
}

// Session is a command's hold on a scheduler.
type Session struct {
	Setup
	Journal *live.DiskJournal
	Lock    live.Lock // to be acquired by whoever drives; nil: none
	engine  Engine
	host    io.Closer
	guard   *guard
}

// Begin does what must precede any change: it opens the journal and restores what is open in it, checks the actuator as far as possible, and starts a
// guard.
func Begin(ctx context.Context, e Engine, o Setup) (_ *Session, err error) {
	s := &Session{Setup: o, engine: e}
	if s.Journal, err = OpenJournal(ctx, s.Dir, s.Notice); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.End()
		}
	}()
	if s.host, err = HostLock(ctx, e.Identities(), HolderLeaves); err != nil {
		return nil, err
	}
	if err := s.restoreFirst(ctx); err != nil {
		return nil, err
	}
	if err := errors.Join(s.Journal.Damage(), s.LeftElsewhere(s.Dir, e.Identities())); err != nil {
		return nil, err
	}
	if len(s.Journal.Open()) == 0 {
		var marks []drive.Mark
		if err := s.Step(ctx, func(in context.Context) (err error) { marks, err = e.Marks(in); return err }); err != nil {
			return nil, err
		}
		if err := cmp.Or(s.lostFrom(s.Dir, marks), s.removedHere(marks, e.Queues())); err != nil {
			return nil, err
		}
	}
	if s.CanAct != nil {
		if err := s.Step(ctx, s.CanAct); err != nil {
			return nil, fmt.Errorf("it cannot act: %w", err)
		}
	}
	if s.Lock, err = s.Locks.make(e.Identities(), func() { s.guard.say(hasLock) }); err != nil {
		return nil, err
	}
	if err := noteArgs(s.Dir, s.Args()); err != nil {
		return nil, err
	}
	_, verb, _ := strings.Cut(s.Restore, " ") // this program is not necessarily in the PATH
	s.guard, err = startGuard(s.Dir, append(append(strings.Fields(verb), "--guard", "--journal="+s.Dir), s.Args()...), s.Stalled, s.Notice)
	return s, err
}

// restoreFirst restores what an earlier command left behind. If there are locks it is left to the driver, which does it once they are held.
func (s *Session) restoreFirst(ctx context.Context) error {
	open := s.Journal.Open()
	for _, e := range open {
		if e.Engine != s.engine.Identity() {
			return fmt.Errorf("the journal %s has open changes to other queues (%s): restore them first with %s", s.Dir, e.Knob, s.byHand(s.Dir))
		}
	}
	if len(open) == 0 || s.Locks != nil {
		return nil
	}
	s.Notice("The journal says that a steerer left %s changed: restoring first.", Settings(len(open)))
	within, stop := context.WithTimeout(ctx, 2*time.Minute)
	defer stop()
	n, err := live.Recover(within, s.engine, s.Journal.Journal, s.Observe)
	if err != nil {
		return fmt.Errorf("what a steerer left behind cannot be restored: %w", err)
	}
	s.Notice("Restored %s.", Settings(n))
	return nil
}

// Clock is one that sends the guard heartbeats.
func (s *Session) Clock() live.Clock { return pulseClock{each: s.guard.each, beat: s.guard.beat} }

// Alive sends the guard a heartbeat.
func (s *Session) Alive() { s.guard.beat() }

// Ask runs a step that asks the scheduler, once the guard is there: it kills a command that sends no heartbeat.
func (s *Session) Ask(ctx context.Context, step func(context.Context) error) error {
	s.guard.beat()
	defer s.guard.beat()
	in, stop := context.WithTimeout(ctx, StalledAfter/2)
	defer stop()
	return step(in)
}

// Try makes a change as a trial. It takes the lock, restores what is left, and calls plan for the change; none: nothing is done.
func (s *Session) Try(ctx context.Context, measure func(context.Context, time.Duration) (string, error), plan func() (*drive.Trial, error)) error {
	r := &live.Runner{Engine: s.engine, Journal: s.Journal.Journal, Clock: s.Clock(), Alive: s.Alive, Observe: s.Observe, Measure: measure}
	if s.Lock != nil {
		if err := s.Lock.Acquire(ctx); err != nil {
			return fmt.Errorf("the lock was not given: %w", err)
		}
		defer func() {
			if err := s.Lock.Release(); err != nil {
				s.Notice("The lock: %v", err)
			}
		}()
		r.Lost = s.Lock.Lost()
		if err := r.Run(ctx, drive.NewRecovery(s.engine, s.Journal.Journal, false, 0)); err != nil {
			return fmt.Errorf("what an earlier command left behind cannot be restored: %w", err)
		}
	}
	t, err := plan()
	if err != nil || t == nil {
		return err
	}
	return r.Run(ctx, drive.NewTrial(s.engine, s.Journal.Journal, t))
}

// End releases the journal and the guard, or lets the guard take over.
func (s *Session) End() {
	left := len(s.Journal.Open())
	if s.host != nil {
		_ = s.host.Close() // the guard needs it
	}
	if err := s.Journal.Close(); err != nil {
		s.Notice("The journal: %v", err)
	}
	if s.guard == nil {
		return
	}
	err := s.guard.end(left == 0)
	switch {
	case left > 0 && err != nil:
		s.Notice("%s could not be restored yet, and there is no guard to keep trying (%v). By hand: %s", Settings(left), err, s.byHand(s.Dir))
	case left > 0:
		s.Notice("%s could not be restored yet: the guard, process %d, keeps trying. By hand: %s", Settings(left), s.guard.pid(), s.byHand(s.Dir))
	}
}

// Settings counts settings in words.
func Settings(n int) string {
	if n == 1 {
		return "1 setting"
	}
	return fmt.Sprintf("%d settings", n)
}
