package drive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// linger is for how long a write whose answer was not seen may still arrive at the scheduler.
const linger = 10 * time.Second

func (e *Entry) doubtful(now time.Time) bool {
	return !e.Doubted.IsZero() && now.Before(e.Doubted.Add(linger))
}

// Recover puts back all that the journal says is open and tells how many knobs that were. It tries until the context ends.
func Recover(ctx context.Context, e Engine, j *Journal, observe func(Event)) (restored int, err error) {
	return Recovery{Engine: e, Journal: j, Observe: observe}.Run(ctx)
}

// Recovery puts back what a driver has changed. It may be done again at any time, and from any point at which a driver ended.
type Recovery struct {
	Engine  Engine
	Journal *Journal
	Force   bool // puts back also what somebody else has changed since
	Observe func(Event)
	Clock   Clock // nil: the real one

	lost  func() bool // the right to change anything
	until time.Time   // when to give up; zero: when the context ends
}

func (d *driver) recovery() Recovery {
	return Recovery{Engine: d.Engine, Journal: d.Journal, Observe: d.Observe, Clock: d.Clock, lost: d.isLost}
}

// OpenError says what could not be put back.
type OpenError struct {
	Dir  string
	Open []Entry
	Err  error // of the last try
}

func (e *OpenError) Error() string {
	var what []string
	for _, h := range e.Open {
		what = append(what, fmt.Sprintf("%v (was %v, written %v)", h.Knob, h.Original, h.New))
	}
	return fmt.Sprintf("not put back: %s: %v; the journal %s has it, restore from it when the scheduler is there again",
		strings.Join(what, ", "), e.Err, e.Dir)
}

func (e *OpenError) Unwrap() error { return e.Err }

// Run tries until everything is put back or the context ends.
func (r Recovery) Run(ctx context.Context) (restored int, err error) {
	if r.Clock == nil {
		r.Clock = WallClock{}
	}
	if r.Observe == nil {
		r.Observe = func(Event) {}
	}
	for try := 0; ; try++ {
		n, err := r.once(ctx)
		restored += n
		if err == nil {
			return restored, nil
		}
		wait := backOff(try)
		end := ctx.Err() != nil || errors.Is(err, ErrLost) || errors.Is(err, errOther)
		if !r.until.IsZero() && r.Clock.Now().Add(wait).After(r.until) {
			end = true
		}
		if end || r.Clock.Wait(ctx, wait) != nil {
			return restored, &OpenError{Dir: r.Journal.dir, Open: r.Journal.Open(), Err: err}
		}
	}
}

var errOther = errors.New("it belongs to another scheduler")

// once tries every open knob once.
func (r Recovery) once(ctx context.Context) (restored int, err error) {
	id := r.Engine.Identity()
	for _, h := range r.Journal.Open() {
		var back bool
		failed := fmt.Errorf("%w: %s, not %s", errOther, h.Engine, id)
		if h.Engine == id {
			back, failed = r.knob(ctx, &h)
		}
		switch {
		case failed != nil:
			r.emit(RestoreFailed, &h, *h.Original, failed, failed.Error())
			// That it belongs to another one is worth telling, but not instead of what may be mended by another try.
			if err == nil || errors.Is(err, errOther) {
				err = failed
			}
		case back:
			restored++
		}
	}
	return restored, err
}

// knob puts back one knob. It is closed in the journal when that is certain, or when it is not ours to put back any more.
func (r Recovery) knob(ctx context.Context, h *Entry) (restored bool, err error) {
	present, err := r.read(ctx, h.Knob)
	switch {
	case errors.Is(err, ErrGone):
		return false, r.close(Restored, h, *h.Original, "it is not there any more: there is nothing to put back")
	case err != nil:
		return false, fmt.Errorf("what is configured cannot be read: %w", err)
	case !same(h.Knob, present, *h.Original) && !h.wrote(present) && !r.Force:
		return false, r.close(Foreign, h, present, "somebody else has changed it since: it stays so")
	}
	why := "it was so already"
	if !same(h.Knob, present, *h.Original) || !r.inForce(ctx, h) {
		if err := r.write(ctx, h); err != nil {
			return false, err
		}
		why = "put back"
	}
	for h.doubtful(r.Clock.Now()) { // a write on its way may still come in
		if err := r.Clock.Wait(ctx, linger/20); err != nil {
			return false, err
		}
		present, err := r.read(ctx, h.Knob)
		if err != nil {
			return false, fmt.Errorf("what is configured cannot be read: %w", err)
		}
		if !same(h.Knob, present, *h.Original) && h.wrote(present) {
			if err := r.write(ctx, h); err != nil {
				return false, err
			}
			why = "put back, again: a write came in late"
		}
	}
	if !r.inForce(ctx, h) {
		why += "; in force when the scheduler reads it"
	}
	return true, r.close(Restored, h, *h.Original, why)
}

// write writes the original and makes sure of it.
func (r Recovery) write(ctx context.Context, h *Entry) error {
	if r.lost != nil && r.lost() {
		return ErrLost
	}
	in, cancel := context.WithTimeout(context.WithoutCancel(ctx), writing)
	err := r.Engine.Write(in, h.Knob, *h.Original)
	cancel()
	if err != nil && !(errors.Is(err, ErrFate) && r.inForce(ctx, h)) {
		return err
	}
	present, err := r.read(ctx, h.Knob)
	if err == nil && !same(h.Knob, present, *h.Original) {
		err = fmt.Errorf("%v was written, but %v is configured", h.Original, present)
	}
	return err
}

func (r Recovery) read(ctx context.Context, k Knob) (Value, error) {
	in, cancel := context.WithTimeout(ctx, sensing)
	defer cancel()
	return r.Engine.Read(in, k)
}

func (r Recovery) inForce(ctx context.Context, h *Entry) bool {
	in, cancel := context.WithTimeout(ctx, sensing)
	defer cancel()
	ok, err := r.Engine.InForce(in, h.Knob, *h.Original)
	return ok && err == nil
}

func (r Recovery) close(kind EventKind, h *Entry, present Value, why string) error {
	err := r.Journal.append(Entry{At: r.Clock.Now(), What: Closed, Engine: h.Engine, Knob: h.Knob, New: &present, Why: why})
	if err != nil {
		return fmt.Errorf("%s, but the journal does not take it: %w", why, err)
	}
	r.emit(kind, h, present, nil, why)
	return nil
}

func (r Recovery) emit(kind EventKind, h *Entry, now Value, err error, why string) {
	r.Observe(Event{
		At: r.Clock.Now(), Kind: kind, Knob: h.Knob, Old: h.New.Number, New: now.Number, Err: err, Open: len(r.Journal.open), Mode: "restore",
		Attrs: []slog.Attr{slog.String("knob", h.Knob.String()), slog.String("original", h.Original.String()),
			slog.String("new", now.String()), slog.String("why", why)},
	})
}
