package drive

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"
)

// Trial is a change of one knob that is watched, and stays if nothing speaks against it.
type Trial struct {
	Knob     Knob
	Old, New Value
	Length   time.Duration // of the watch; 0: it stays once it is in force
	Samples  int           // in that time, evenly spaced
	Silence  time.Duration // without a measurement, after which the old value is restored
	Keep     bool          // the change stays if the machine is told to stop meanwhile
	Reason   string        // of the change, for the journal

	Outcome Outcome // of a finished machine
	Why     string  // of the outcome
}

// Outcome says what has become of a change.
type Outcome string

// Outcomes.
const (
	NotMade    Outcome = "not made"
	Stays      Outcome = "kept"
	RolledBack Outcome = "rolled back"
	Overridden Outcome = "changed by somebody else"
	Abandoned  Outcome = "left to the guard" // what was changed is still open in the journal
)

// confirmOther is how many consecutive readings must show somebody else's value before a trial ends.
const confirmOther = 3

// minGap is the min time between two samples of a trial.
const minGap = 200 * time.Millisecond

// NewTrial makes a machine that makes a change, watches it, and then releases it or restores the old value: in the end the knob has the old value or the
// new one, and the journal says which. The machine sets the trial's outcome. Its error says why a change that is not to stay is still open.
func NewTrial(scheme Scheme, j *Journal, t *Trial) *Machine {
	return machine(func(p *port) error {
		t.Outcome = NotMade
		d := newSetter(p, scheme, j, t.Knob)
		err := d.set(t.Old, t.New, t.Reason)
		switch {
		case err == nil:
			t.Outcome, t.Why = t.watch(p)
		case j.open.Find(scheme.Identity(), t.Knob) == nil:
			t.Why = err.Error()
			return err
		default:
			t.Outcome, t.Why = RolledBack, err.Error()
		}
		p.until = p.now().Add(d.Restore)
		r := d.recovery()
		if t.Outcome == Stays {
			if err := r.release(t.Knob, cmp.Or(t.Why, string(Stays))); err != nil {
				t.Outcome, t.Why = RolledBack, "it could not be completed: "+err.Error()
			}
		}
		switch {
		case t.Outcome == Stays:
			return nil
		case p.isLost():
			t.Outcome = Abandoned
			return ErrLost
		}
		if _, err := r.run(); err != nil {
			t.Outcome = Abandoned
			return err
		}
		return nil
	})
}

// watch takes samples until the time is over, a bound is broken, somebody else changes the knob, or nothing can be measured any more.
func (t *Trial) watch(p *port) (outcome Outcome, why string) {
	began := p.now()
	good, others := began, 0
	samples := max(t.Samples, 1)
	for n := 1; t.Length > 0; n++ {
		gap := t.Length / time.Duration(samples)
		due := began.Add(t.Length * time.Duration(n) / time.Duration(samples))
		p.ask(Request{Op: Wait, Until: latest(due, p.now().Add(max(gap/2, minGap)))})
		switch {
		case p.isLost():
			return Abandoned, "the lock is lost"
		case p.ended() && t.Keep:
			return Stays, "a signal ended the watch"
		case p.ended():
			return RolledBack, "a signal ended the watch"
		}
		since := p.now().Sub(began)
		present, err := p.read(t.Knob)
		if err == nil && !Same(t.Knob, present, t.New) {
			if others++; others == confirmOther {
				return Overridden, t.overridden(present)
			}
			continue
		}
		others = 0
		broken := ""
		if err == nil {
			a := p.ask(Request{Op: Measure, Span: since, Until: p.now().Add(measuring)})
			broken, err = a.Broken, a.Err
		}
		now := p.now()
		switch silent := now.Sub(good); {
		case p.ended() && err != nil:
			continue
		case err != nil && silent >= t.Silence:
			return RolledBack, fmt.Sprintf("nothing has been seen for %v: %v", silent.Round(time.Second), err)
		case err != nil:
			p.notify(Event{At: now, Kind: Blind, Knob: t.Knob, Err: err, Latency: silent, Mode: "act",
				Attrs: []slog.Attr{slog.Duration("since", silent.Round(time.Millisecond)), slog.String("why", err.Error())}})
			continue
		case broken != "":
			return RolledBack, broken
		case since >= t.Length:
			return Stays, ""
		}
		good = now
	}
	return Stays, ""
}

// overridden says what somebody else has done.
func (t *Trial) overridden(present Value) string {
	if Same(t.Knob, present, t.Old) {
		return "the old settings are there again: somebody else has set them, or the scheduler has forgotten the change"
	}
	list, _ := t.Knob.Settings(t.New) // none of another knob
	if s, found := t.Knob.Differing(present, list); found {
		return fmt.Sprintf("somebody else has changed %s to %s: it is left as it is", s.Name(), s)
	}
	return fmt.Sprintf("somebody else has changed it to %v: it is left as it is", present)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
