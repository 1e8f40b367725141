package drive

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// linger is how long a write whose response was not seen may still reach the scheduler.
const linger = 10 * time.Second

func (e *Entry) doubtful(now time.Time) bool {
	return !e.Doubted.IsZero() && now.Before(e.Doubted.Add(linger))
}

// NewRecovery makes a machine that restores the open knobs in the journal of a scheduler, until it is done or stopped. With force it also restores
// what somebody else has changed since. A knob missing from every reading for the duration gone counts as removed; 0: a minute.
func NewRecovery(scheme Scheme, j *Journal, force bool, gone time.Duration) *Machine {
	var m *Machine
	m = machine(func(p *port) (err error) {
		j.rebase(p.now())
		r := &recovery{port: p, id: scheme.Identity(), journal: j, force: force, goneFor: cmp.Or(gone, goneFor), missing: map[Knob]absence{}}
		m.restored, err = r.run()
		return err
	})
	return m
}

// recovery is a recovery in progress.
type recovery struct {
	*port
	id      string // of the engine
	journal *Journal
	force   bool
	goneFor time.Duration
	missing map[Knob]absence
}

// absence is how long a knob has been missing from all readings.
type absence struct {
	since    time.Time
	readings int
}

const endedWhy = "its job has ended: there is nothing to put back"

const (
	goneFor   = time.Minute
	goneTimes = 4                // readings, at least
	confirms  = 3                // readings that must show somebody else's value before it counts as theirs
	settles   = 20 * time.Second // how long one attempt waits for the restored value to be in force
)

func (d *driver) recovery() *recovery {
	return &recovery{port: d.port, id: d.Scheme.Identity(), journal: d.Journal, goneFor: goneFor, missing: d.missing}
}

// OpenError says what could not be restored.
type OpenError struct {
	Dir  string
	Open []Entry
	Err  error // of the last attempt
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

// run tries until everything is restored, or the deadline has passed.
func (r *recovery) run() (restored int, err error) {
	var last error
	for try := 0; ; try++ {
		n, err := r.once()
		restored += n
		if err == nil {
			return restored, nil
		}
		if last != nil && (r.ended() || r.leaving() && !r.now().Before(r.until)) { // the last error says more than that the time is over
			err = last
		}
		last = err
		wait := backOff(try)
		end := r.ended() || errors.Is(err, ErrLost) || errors.Is(err, errOther)
		if r.leaving() && r.now().Add(wait).After(r.until) {
			end = true
		}
		if end || r.wait(r.now().Add(wait)) != nil {
			return restored, &OpenError{Dir: r.journal.Name, Open: r.journal.Open(), Err: err}
		}
	}
}

var errOther = errors.New("it belongs to another scheduler")

// once tries every open knob once: first it writes all, then it waits for each, so that a slow one does not delay the others.
func (r *recovery) once() (restored int, err error) {
	open := r.journal.Open()
	puts := make([]struct {
		why  string
		done bool
	}, len(open))
	fail := func(h *Entry, failed error) {
		r.emit(RestoreFailed, h, *h.Original, failed, failed.Error())
		// That it belongs to another scheduler is worth reporting, but not instead of an error that a retry may fix.
		if err == nil || errors.Is(err, errOther) {
			err = failed
		}
	}
	for i := range open {
		h, p := &open[i], &puts[i]
		failed := fmt.Errorf("%w: %s, not %s", errOther, h.Engine, r.id)
		back := false
		if h.Engine == r.id {
			p.why, back, failed = r.begin(h)
		}
		if p.done = p.why == ""; failed != nil {
			fail(h, failed)
		} else if back {
			restored++
		}
	}
	for i := range open {
		if puts[i].done {
			continue
		}
		if failed := r.finish(&open[i], puts[i].why); failed != nil {
			fail(&open[i], failed)
		} else {
			restored++
		}
	}
	return restored, err
}

// foreign reports whether a value is neither the original nor one that was written here.
func (r *recovery) foreign(h *Entry, v Value) bool {
	return !r.force && (h.MarkedByOther(v) || !Same(h.Knob, v, *h.Original) && !h.Wrote(v))
}

// begin writes the original value, unless the knob is not ours to restore: then it closes it and returns no why. One reading does not prove that a knob
// is missing or somebody else's: several must agree.
func (r *recovery) begin(h *Entry) (why string, back bool, err error) {
	present, err := r.read(h.Knob)
	switch {
	case errors.Is(err, ErrEnded):
		return "", true, r.close(Restored, h, *h.Original, endedWhy)
	case errors.Is(err, ErrGone):
		return "", false, r.gone(h, err)
	}
	delete(r.missing, h.Knob)
	for n := 1; err == nil && r.foreign(h, present); n++ {
		if n == confirms {
			if h.marked(present.Mark) { // the value is no longer ours
				present.Mark = ""
				if err := r.put(h, present); err != nil {
					return "", false, err
				}
			}
			return "", false, r.close(Foreign, h, present, "somebody else has changed it since: it is left as it is")
		}
		if err := r.wait(r.now().Add(pollEach)); err != nil {
			return "", false, err
		}
		seen := present
		if present, err = r.read(h.Knob); err == nil && r.foreign(h, present) && !Same(h.Knob, present, seen) {
			return "", false, fmt.Errorf("%v is configured, and %v a moment before: somebody is changing it", present, seen)
		}
	}
	if err != nil {
		return "", false, fmt.Errorf("what is configured cannot be read: %w", err)
	}
	if Same(h.Knob, present, *h.Original) && present.Mark == "" && r.isBack(h) {
		return "it was already restored", false, nil
	}
	if err := r.put(h, *h.Original); err != nil {
		return "", false, err
	}
	return "put back", false, nil
}

// finish closes a knob in the journal once its original value is in force and no write of ours can still arrive.
func (r *recovery) finish(h *Entry, why string) error {
	for until := r.now().Add(settles); ; {
		in := r.isBack(h)
		now := r.now()
		doubtful := h.doubtful(now) // a write on its way may still arrive
		switch {
		case in && !doubtful:
			return r.close(Restored, h, *h.Original, why)
		case !doubtful && !now.Before(until):
			return errors.New("the value that was found is configured again, but the scheduler does not go by it yet")
		}
		if err := r.wait(r.now().Add(linger / 20)); err != nil {
			return err
		}
		present, err := r.read(h.Knob)
		switch {
		case errors.Is(err, ErrEnded): // while others were waited for
			return r.close(Restored, h, *h.Original, endedWhy)
		case err != nil:
			return fmt.Errorf("what is configured cannot be read: %w", err)
		case r.foreign(h, present):
			return fmt.Errorf("%v is configured: somebody else has changed it while it was put back", present)
		case !Same(h.Knob, present, *h.Original):
			if err := r.put(h, *h.Original); err != nil {
				return err
			}
			why = "put back, again: a write came in late"
		}
	}
}

// gone closes a knob that has been missing from all readings for long enough.
func (r *recovery) gone(h *Entry, err error) error {
	now := r.now()
	a := r.missing[h.Knob]
	if a.readings == 0 {
		a.since = now
	}
	a.readings++
	r.missing[h.Knob] = a
	if within := r.goneFor; a.readings < goneTimes || now.Sub(a.since) < within {
		return fmt.Errorf("%w; it counts as removed when it is missing for %v", err, within)
	}
	return r.close(Restored, h, *h.Original, fmt.Sprintf("it is not there any more, in %d readings: there is nothing to put back", a.readings))
}

// put writes a value and verifies it.
func (r *recovery) put(h *Entry, v Value) error {
	if r.isLost() {
		return ErrLost
	}
	if err := r.write(Request{Knob: h.Knob, Value: v}); err != nil && !(errors.Is(err, ErrOutcomeUnknown) && r.isBack(h)) {
		return err
	}
	present, err := r.read(h.Knob)
	switch {
	case err != nil:
		return err
	case !Same(h.Knob, present, v):
		return fmt.Errorf("%v was written, but %v is configured", v, present)
	case v.Mark == "" && h.marked(present.Mark):
		return fmt.Errorf("%v was written without a mark, and the mark is still there", v)
	}
	return nil
}

func (r *recovery) isBack(h *Entry) bool {
	in, _ := r.inForce(h.Knob, *h.Original)
	return in
}

func (r *recovery) close(kind EventKind, h *Entry, present Value, why string) error {
	err := r.log(Entry{At: r.now(), What: Closed, Engine: h.Engine, Knob: h.Knob, New: &present, Why: why})
	if err != nil {
		return fmt.Errorf("%s, but the journal does not take it: %w", why, err)
	}
	r.emit(kind, h, present, nil, why)
	return nil
}

func (r *recovery) emit(kind EventKind, h *Entry, now Value, err error, why string) {
	r.notify(Event{
		At: r.now(), Kind: kind, Knob: h.Knob, Old: h.New.Number, New: now.Number, Err: err, Open: len(r.journal.open), Mode: "restore",
		Attrs: []slog.Attr{slog.String("knob", h.Knob.String()), slog.String("original", h.Original.String()),
			slog.String("new", now.String()), slog.String("why", why)},
	})
}
