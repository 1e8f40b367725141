package drive

import (
	"cmp"
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
	Force   bool          // puts back also what somebody else has changed since
	Gone    time.Duration // a knob that is missing from every reading for so long counts as removed; 0: a minute
	Observe func(Event)
	Clock   Clock // nil: the real one

	lost    func() bool // the right to change anything
	until   time.Time   // when to give up; zero: when the context ends
	missing map[Knob]absence
}

// absence is how long a knob has been missing from all readings.
type absence struct {
	since    time.Time
	readings int
}

const (
	goneFor   = time.Minute
	goneTimes = 4                // readings, at least
	confirms  = 3                // readings that show somebody else's value before it counts as that
	settles   = 20 * time.Second // how long one try waits for the scheduler to go by what was put back
)

func (d *driver) recovery() Recovery {
	return Recovery{Engine: d.Engine, Journal: d.Journal, Observe: d.Observe, Clock: d.Clock, lost: d.isLost, missing: d.missing}
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
	r.Journal.rebase(r.Clock.Now())
	if r.missing == nil {
		r.missing = map[Knob]absence{}
	}
	var last error
	for try := 0; ; try++ {
		n, err := r.once(ctx)
		restored += n
		if err == nil {
			return restored, nil
		}
		if last != nil && ctx.Err() != nil { // that the time is over says less than what kept it so long
			err = last
		}
		last = err
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

// knob puts back one knob. It is closed in the journal when the scheduler goes by the value that was found and no write of ours can come in any
// more, or when it is not ours to put back. One reading is no proof that it is missing or somebody else's: that has to be seen several times.
func (r Recovery) knob(ctx context.Context, h *Entry) (restored bool, err error) {
	present, err := r.read(ctx, h.Knob)
	if errors.Is(err, ErrGone) {
		return false, r.gone(h, err)
	}
	delete(r.missing, h.Knob)
	foreign := func(v Value) bool {
		return !r.Force && (h.markedByOther(v) || !same(h.Knob, v, *h.Original) && !h.wrote(v))
	}
	for n := 1; err == nil && foreign(present); n++ {
		if n == confirms {
			if h.marked(present.Mark) { // it is not ours any more
				present.Mark = ""
				if err := r.write(ctx, h, present); err != nil {
					return false, err
				}
			}
			return false, r.close(Foreign, h, present, "somebody else has changed it since: it stays so")
		}
		if err := r.Clock.Wait(ctx, pollEach); err != nil {
			return false, err
		}
		seen := present
		if present, err = r.read(ctx, h.Knob); err == nil && foreign(present) && !same(h.Knob, present, seen) {
			return false, fmt.Errorf("%v is configured, and %v a moment before: somebody is changing it", present, seen)
		}
	}
	if err != nil {
		return false, fmt.Errorf("what is configured cannot be read: %w", err)
	}
	why := "it was so already"
	if !same(h.Knob, present, *h.Original) || present.Mark != "" || !r.inForce(ctx, h) {
		if err := r.write(ctx, h, *h.Original); err != nil {
			return false, err
		}
		why = "put back"
	}
	for until := r.Clock.Now().Add(settles); ; {
		in := r.inForce(ctx, h)
		now := r.Clock.Now()
		doubtful := h.doubtful(now) // a write on its way may still come in
		switch {
		case in && !doubtful:
			return true, r.close(Restored, h, *h.Original, why)
		case !doubtful && !now.Before(until):
			return false, errors.New("the value that was found is configured again, but the scheduler does not go by it yet")
		}
		if err := r.Clock.Wait(ctx, linger/20); err != nil {
			return false, err
		}
		present, err := r.read(ctx, h.Knob)
		switch {
		case err != nil:
			return false, fmt.Errorf("what is configured cannot be read: %w", err)
		case foreign(present):
			return false, fmt.Errorf("%v is configured: somebody else has changed it while it was put back", present)
		case !same(h.Knob, present, *h.Original):
			if err := r.write(ctx, h, *h.Original); err != nil {
				return false, err
			}
			why = "put back, again: a write came in late"
		}
	}
}

// gone closes a knob that has been missing from all readings for long enough.
func (r Recovery) gone(h *Entry, err error) error {
	now := r.Clock.Now()
	a := r.missing[h.Knob]
	if a.readings == 0 {
		a.since = now
	}
	a.readings++
	r.missing[h.Knob] = a
	if within := cmp.Or(r.Gone, goneFor); a.readings < goneTimes || now.Sub(a.since) < within {
		return fmt.Errorf("%w; it counts as removed when it is missing for %v", err, within)
	}
	return r.close(Restored, h, *h.Original, fmt.Sprintf("it is not there any more, in %d readings: there is nothing to put back", a.readings))
}

// write writes a value and makes sure of it.
func (r Recovery) write(ctx context.Context, h *Entry, v Value) error {
	if r.lost != nil && r.lost() {
		return ErrLost
	}
	in, cancel := context.WithTimeout(context.WithoutCancel(ctx), writing)
	err := r.Engine.Write(in, h.Knob, v)
	cancel()
	if err != nil && !(errors.Is(err, ErrFate) && r.inForce(ctx, h)) {
		return err
	}
	present, err := r.read(ctx, h.Knob)
	if err == nil && !same(h.Knob, present, v) {
		err = fmt.Errorf("%v was written, but %v is configured", v, present)
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
