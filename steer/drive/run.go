package drive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

const (
	sensing  = 15 * time.Second // how long one reading may take
	writing  = 30 * time.Second // how long one write may take: a command may have to be started for it
	pollEach = time.Second      // between looks whether a write is in force
)

// Run drives until the context ends or the policy is done, and puts everything back before it returns. What an earlier driver left
// behind is put back first. An error tells what could not be put back; the journal stays open for that.
func Run(ctx context.Context, o Options) (err error) {
	o, err = o.withDefaults()
	if err != nil {
		return err
	}
	d := &driver{Options: o, start: o.Clock.Now(), mode: "observe", knobs: map[Knob]*knob{}, missing: map[Knob]absence{}}
	if o.Act {
		d.mode = "act"
		o.Journal.rebase(d.start)
		if o.Lock != nil {
			if err := o.Lock.Acquire(ctx); err != nil {
				return fmt.Errorf("the lock was not given: %w", err)
			}
			defer func() { err = both(err, o.Lock.Release()) }()
			d.lost = o.Lock.Lost()
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			defer cancel()
			go func(ctx context.Context) {
				select {
				case <-d.lost:
					cancel() // ends waits and readings
				case <-ctx.Done():
				}
			}(ctx)
		}
		if len(o.Journal.open) > 0 {
			if _, err := d.recovery().Run(ctx); err != nil {
				return err
			}
		}
	}
	if d.policy, err = o.New(); err != nil {
		return err
	}
	d.emit(Event{Kind: Started}, slog.String("engine", o.Engine.Identity()), slog.String("mode", d.mode))
	why, err := d.loop(ctx)
	return d.leave(ctx, why, err)
}

// driver is one run. It is one goroutine.
type driver struct {
	Options
	policy steer.Steerer
	lost   <-chan struct{}
	mode   string
	start  time.Time
	look   time.Time // the next one
	done   bool      // the policy wants no further look
	sight  sight
	wait   pause
	knobs  map[Knob]*knob
	order  []*knob // of knobs, as first turned

	missing map[Knob]absence // when put back
}

// loop does what is due and sleeps until the next thing is.
func (d *driver) loop(ctx context.Context) (why string, err error) {
	d.sight.seen, d.sight.used = d.start, d.start
	d.look = d.Clock.Now()
	for {
		switch {
		case d.isLost():
			return "the lock is lost", ErrLost
		case ended(ctx):
			return "told to stop", nil
		case d.done && !slices.ContainsFunc(d.order, func(k *knob) bool { return k.check != nil }):
			return "the policy is done", nil
		}
		now := d.Clock.Now()
		d.flush(ctx, now)
		d.verify(ctx, now)
		switch {
		case d.done:
		case d.mode == "wait":
			err = d.await(ctx, now)
		case !now.Before(d.look):
			err = d.step(ctx)
		case !now.Before(d.glance()):
			d.see(ctx)
		}
		if err != nil {
			return "", err
		}
		_ = d.Clock.Wait(ctx, d.next().Sub(d.Clock.Now())) // the top of the loop sees why
	}
}

func ended(ctx context.Context) bool { return ctx.Err() != nil }

// next is when something is due.
func (d *driver) next() time.Time {
	at := d.look
	switch {
	case d.done:
		at = d.Clock.Now().Add(d.Verify)
	case d.mode == "wait":
		at = d.wait.next
	default:
		at = earliest(at, d.glance())
	}
	for _, k := range d.order {
		if k.check != nil {
			at = earliest(at, k.check.next)
		}
		if k.queued != nil {
			at = earliest(at, d.free(k))
		}
	}
	return at
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// step shows the policy what is seen and does what it answers.
func (d *driver) step(ctx context.Context) error {
	snap, took, ok := d.see(ctx)
	now := d.Clock.Now()
	if !ok {
		d.look = d.sight.retry(d.Silence)
		return nil
	}
	do, again, err := think(d.policy, &snap)
	if err != nil {
		return err
	}
	d.look, d.done = now.Add(span(again)), again <= 0
	d.emit(Event{Kind: Decided, Snapshot: &snap, Latency: took}, d.explain(do)...)
	if r, can := d.policy.(interface{ Refused() bool }); can && r.Refused() {
		if d.isOpen() && now.Sub(d.sight.used) >= d.Silence {
			d.deadMan(fmt.Sprintf("the policy could use nothing it saw for %v", now.Sub(d.sight.used).Round(time.Second)))
			return nil
		}
	} else {
		d.sight.used = now
	}
	for _, a := range do {
		d.want(ctx, a)
	}
	return nil
}

// span is a wait as the policy counts it.
func span(t unit.Time) time.Duration {
	return time.Duration(min(t, 24*unit.Hour)) * (time.Second / time.Duration(unit.Second))
}

// PanicError says that the policy failed.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("the policy failed: %v", e.Value) }

// think lets the policy decide, whatever it does.
func think(p steer.Steerer, seen *steer.Snapshot) (do []steer.Action, again unit.Time, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	do, again = p.Step(seen)
	return do, again, nil
}

// explain is what a decision has to say.
func (d *driver) explain(do []steer.Action) (out []slog.Attr) {
	if !d.Act {
		for _, a := range do {
			out = append(out, slog.String("would", d.describe(a)))
		}
	}
	if e, ok := d.policy.(steer.Explainer); ok {
		return append(out, e.Explain()...)
	}
	if len(do) == 0 {
		return append(out, slog.String("decision", "wait"))
	}
	out = append(out, slog.String("decision", "act"))
	for _, a := range do {
		out = append(out, slog.String("why", a.Why))
	}
	return out
}

// describe says what would be done.
func (d *driver) describe(a steer.Action) string {
	k, err := knobOf(a)
	if err != nil {
		return "refuse: " + err.Error()
	}
	v, note := d.value(k, a)
	if note != "" {
		note = " (" + note + ")"
	}
	return fmt.Sprintf("set %v to %v%s", k, v, note)
}

// leave puts back what is open, as long as that takes within reason.
func (d *driver) leave(ctx context.Context, why string, err error) error {
	if why == "" && err != nil {
		why = err.Error()
	}
	if d.isOpen() && !errors.Is(err, ErrLost) {
		out, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.Restore)
		defer cancel()
		r := d.recovery()
		r.until = d.Clock.Now().Add(d.Restore)
		_, failed := r.Run(out)
		err = both(err, failed)
	}
	d.emit(Event{Kind: Stopped, Err: err}, slog.String("why", why))
	return err
}

func (d *driver) isLost() bool {
	select {
	case <-d.lost:
		return true
	default:
		return false
	}
}

func (d *driver) isOpen() bool { return d.Act && len(d.Journal.open) > 0 }

// emit tells of an event.
func (d *driver) emit(e Event, attrs ...slog.Attr) {
	e.At, e.Mode = d.Clock.Now(), d.mode
	if d.Act {
		e.Open = len(d.Journal.open)
	}
	e.Attrs = attrs
	d.Observe(e)
}
