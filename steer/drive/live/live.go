// Package live runs a driver on a live scheduler. It adds what the step machine of package drive lacks: the clock, calls to the engine, the journal on
// disk and locks.
package live

import (
	"context"
	"errors"
	"fmt"

	"github.com/yardmaster/yardmaster/steer/drive"
)

// live executes a machine's requests on a running scheduler.
type live struct {
	engine  drive.Engine
	journal *drive.Journal
	observe func(drive.Event)
	clock   Clock
	lost    <-chan struct{}
	alive   func()
	trace   func(drive.Request, drive.Answer)
}

// run steps a machine until it is done.
func (l *live) run(ctx context.Context, m *drive.Machine) error {
	defer m.Abandon()
	if l.clock == nil {
		l.clock = WallClock{}
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

func (l *live) answer(ctx context.Context, a drive.Answer) drive.Answer {
	select {
	case <-l.lost:
		a.Lost = true
	default:
	}
	a.Now, a.Stop = l.clock.Now(), ctx.Err() != nil
	return a
}

func (l *live) do(ctx context.Context, r *drive.Request) (a drive.Answer) {
	if l.alive != nil {
		l.alive()
		defer l.alive()
	}
	if r.Final {
		ctx = context.WithoutCancel(ctx)
	}
	switch r.Op {
	case drive.Wait:
		a.Err = l.clock.Wait(ctx, r.Until.Sub(l.clock.Now()))
		return a
	case drive.Log:
		a.Err = l.journal.Append(r.Entry)
		return a
	case drive.Tell:
		if l.observe != nil {
			l.observe(r.Event)
		}
		return a
	}
	ctx, cancel := context.WithTimeout(ctx, r.Until.Sub(l.clock.Now()))
	defer cancel()
	switch r.Op {
	case drive.Sample:
		a.Snapshot, a.Err = l.engine.Snapshot(ctx)
	case drive.Read:
		a.Value, a.Err = l.engine.Read(ctx, r.Knob)
	case drive.Write:
		a.Err = l.engine.Write(ctx, r.Knob, r.Value)
	case drive.Check:
		a.InForce, a.Err = l.engine.InForce(ctx, r.Knob, r.Value)
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
	l := &live{engine: o.Engine, journal: o.Journal, observe: o.Observe, clock: o.Clock, alive: o.Alive, trace: o.Trace}
	if o.Act && o.Lock != nil {
		if err := o.Lock.Acquire(ctx); err != nil {
			m.Abandon()
			return fmt.Errorf("the lock was not given: %w", err)
		}
		defer func() { err = errors.Join(err, o.Lock.Release()) }()
		l.lost = o.Lock.Lost()
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		go func(ctx context.Context) {
			select {
			case <-l.lost:
				cancel() // ends waits and reads
			case <-ctx.Done():
			}
		}(ctx)
	}
	return l.run(ctx, m)
}
