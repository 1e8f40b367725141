// Package live runs a driver on a live scheduler. It adds what the step machine of package drive lacks: the clock, calls to the engine, the journal on
// disk and locks.
package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yardmaster/yardmaster/steer/drive"
)

// Runner executes the requests of a driver's machine, or of one of drive.NewTrial and NewRecovery, on a running scheduler.
type Runner struct {
	Engine  drive.Engine
	Journal *drive.Journal
	Observe func(drive.Event)
	Clock   Clock           // nil: the real one
	Lost    <-chan struct{} // of the lock; nil: there is none
	Alive   func()          // as in Options
	// Measure answers a trial's request: which bound is broken after the given time, and how; "": none.
	Measure func(ctx context.Context, since time.Duration) (broken string, err error)
	trace   func(drive.Request, drive.Answer)
}

// Run steps a machine until it is done. Whatever the error, the journal knows whether there is something to restore.
func (l *Runner) Run(ctx context.Context, m *drive.Machine) error {
	defer m.Abandon()
	if l.Clock == nil {
		l.Clock = WallClock{}
	}
	for r, a := (drive.Request{}), l.answer(ctx, drive.Answer{}); ; a = l.answer(ctx, l.do(ctx, &r)) {
		if l.trace != nil {
			l.trace(r, a)
		}
		var more bool
		if r, more = m.Next(a); !more {
			return m.Err()
		}
	}
}

func (l *Runner) answer(ctx context.Context, a drive.Answer) drive.Answer {
	select {
	case <-l.Lost:
		a.Lost = true
	default:
	}
	a.Now, a.Stop = l.Clock.Now(), ctx.Err() != nil
	return a
}

func (l *Runner) do(ctx context.Context, r *drive.Request) (a drive.Answer) {
	if l.Alive != nil {
		l.Alive()
		defer l.Alive()
	}
	if r.Final {
		ctx = context.WithoutCancel(ctx)
	}
	switch r.Op {
	case drive.Wait:
		a.Err = l.Clock.Wait(ctx, r.Until.Sub(l.Clock.Now()))
		return a
	case drive.Log:
		a.Err = l.Journal.Append(r.Entry)
		return a
	case drive.Tell:
		if l.Observe != nil {
			l.Observe(r.Event)
		}
		return a
	}
	ctx, cancel := context.WithTimeout(ctx, r.Until.Sub(l.Clock.Now()))
	defer cancel()
	switch r.Op {
	case drive.Sample:
		a.Snapshot, a.Err = l.Engine.Snapshot(ctx)
	case drive.Read:
		a.Value, a.Err = l.Engine.Read(ctx, r.Knob)
	case drive.Write:
		a.Err = l.Engine.Write(ctx, r.Knob, r.Value)
	case drive.Check:
		a.InForce, a.Err = l.Engine.InForce(ctx, r.Knob, r.Value)
	case drive.Measure:
		a.Broken, a.Err = l.Measure(ctx, r.Span)
	}
	return a
}

// Run drives until the context ends or the policy is done, and restores everything before it returns. What an earlier driver left
// behind is restored first. The error says what could not be restored; the journal keeps it open.
func Run(ctx context.Context, o Options) (err error) {
	if o.Engine != nil { // not a nil pointer in an interface
		o.Scheme = o.Engine
	}
	m, err := drive.NewMachine(o.Rules)
	if err != nil {
		return err
	}
	l := &Runner{Engine: o.Engine, Journal: o.Journal, Observe: o.Observe, Clock: o.Clock, Alive: o.Alive, trace: o.Trace}
	if o.Act && o.Lock != nil {
		if err := o.Lock.Acquire(ctx); err != nil {
			m.Abandon()
			return fmt.Errorf("the lock was not given: %w", err)
		}
		defer func() { err = errors.Join(err, o.Lock.Release()) }()
		l.Lost = o.Lock.Lost()
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		go func(ctx context.Context) {
			select {
			case <-l.Lost:
				cancel() // ends waits and reads
			case <-ctx.Done():
			}
		}(ctx)
	}
	return l.Run(ctx, m)
}
