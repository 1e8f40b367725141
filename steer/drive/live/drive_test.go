package live

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer"
	. "github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/unit"
)

const sec = unit.Second

func (w *world) wrote(values ...string) {
	w.t.Helper()
	var got []string
	for _, v := range w.writes {
		got = append(got, v.String())
	}
	if !slices.Equal(got, values) {
		w.t.Errorf("written: %v, want %v\n%s", got, values, strings.Join(w.log, "\n"))
	}
}

func (w *world) happened(kinds string) {
	w.t.Helper()
	if got := w.kinds(); got != kinds {
		w.t.Errorf("got  %s\nwant %s\n%s", got, kinds, strings.Join(w.log, "\n"))
	}
}

func (w *world) lastly(err error, want string) {
	w.t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		w.t.Errorf("error %v, want %q", err, want)
	}
}

func TestWhatIsChangedComesBack(t *testing.T) {
	t.Run("when told to stop", func(t *testing.T) {
		w := newWorld(t)
		w.lastly(w.drive(w.until(35*time.Second), asks(10*sec, 0, 0.09, 0, 0.13), nil), "")
		w.mustBe(found)
		w.wrote("0.090", "0.130", "0.050")
		w.happened("started asked taken asked taken restored stopped")
	})
	t.Run("when the policy is done", func(t *testing.T) {
		w := newWorld(t)
		w.delay = 12 * time.Second
		w.lastly(w.drive(context.Background(), asks(sec, 0.09, -1), nil), "")
		w.mustBe(found)
		w.happened("started asked taken restored stopped")
		if e := w.event(Taken); e.Latency != 12*time.Second || e.Old != 0.05 || e.New != 0.09 || e.Open != 1 || e.Mode != "act" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("when the policy puts it back itself, as it was written", func(t *testing.T) {
		w := newWorld(t)
		w.lastly(w.drive(context.Background(), asks(10*sec, 0.09, 0.05, -1), nil), "")
		w.mustBe(found) // 0.050, not 0.05
		w.wrote("0.090", "0.050")
		w.happened("started asked taken asked taken stopped")
	})
	t.Run("when it was not set", func(t *testing.T) {
		w := newWorld(t)
		unset := Value{Number: 0.1}
		w.conf[share] = unset
		w.lastly(w.drive(context.Background(), asks(10*sec, 0.09, 0.1, 0.2, -1), nil), "")
		w.mustBe(unset)
		w.wrote("0.090", "unset (0.1)", "0.200", "unset (0.1)")
	})
	t.Run("when the policy fails", func(t *testing.T) {
		w := newWorld(t)
		p := asks(10*sec, 0.09)
		bad := steer.Func(func(s *steer.Snapshot) ([]steer.Action, unit.Time) {
			if p.at == 1 {
				panic("division by zero")
			}
			return p.Step(s)
		})
		err := w.drive(context.Background(), bad, nil)
		w.lastly(err, "the policy failed: division by zero")
		var failed *PanicError
		if !errors.As(err, &failed) || len(failed.Stack) == 0 {
			t.Errorf("%v has no stack", err)
		}
		w.mustBe(found)
	})
	t.Run("when the scheduler is away for a moment", func(t *testing.T) {
		w := newWorld(t)
		ctx := w.until(15 * time.Second)
		w.at(14*time.Second, func() { w.readErr = func() error { return errAway } })
		w.at(25*time.Second, func() { w.readErr = nil })
		w.lastly(w.drive(ctx, asks(10*sec, 0.09), nil), "")
		w.mustBe(found)
		w.happened("started asked taken restore-failed restore-failed restore-failed restore-failed restore-failed restored stopped")
	})
	t.Run("when it was lost in a restart", func(t *testing.T) {
		w := newWorld(t)
		w.at(12*time.Second, func() { w.set(share, found) })
		w.lastly(w.drive(w.until(15*time.Second), asks(10*sec, 0.09), nil), "")
		w.mustBe(found)
		w.wrote("0.090")
		if e := w.event(Restored); !strings.Contains(e.String(), "already") {
			t.Error(e)
		}
	})
	t.Run("when the file has it but the scheduler does not", func(t *testing.T) { // its refresh failed
		w := newWorld(t)
		w.at(12*time.Second, func() {
			w.set(share, found)
			w.delay = time.Hour
			w.writeErr = func() error { w.delay = 0; return nil } // another one does not
		})
		w.lastly(w.drive(w.until(15*time.Second), asks(10*sec, 0.09), nil), "")
		w.wrote("0.090", "0.050")
		w.mustBe(found)
	})
}

func TestWhatCannotBePutBackIsSaidAndKept(t *testing.T) {
	w := newWorld(t)
	w.at(12*time.Second, func() { w.writeErr = func() error { return errors.New("403: not an administrator") } })
	err := w.drive(w.until(15*time.Second), asks(10*sec, 0.09), nil)
	w.lastly(err, "not put back: root.default maxAMShare (was 0.050, written 0.090): 403: not an administrator")
	var open *OpenError
	if !errors.As(err, &open) || len(open.Open) != 1 || w.event(Stopped).Err == nil || w.event(Stopped).Open != 1 {
		t.Errorf("%v, %v", err, w.event(Stopped))
	}
	if took := w.now.Sub(w.told[0].At); took > 50*time.Second {
		t.Errorf("it took %v to give up", took)
	}
	// Later, by hand.
	w.writeErr = nil
	j := w.journal()
	defer j.Close()
	n, err := Recovery{Engine: w, Journal: j.Journal, Observe: w.observe, Clock: w}.Run(context.Background())
	if n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	w.mustBe(found)
	if n, err := (Recovery{Engine: w, Journal: j.Journal, Clock: w}).Run(context.Background()); n != 0 || err != nil {
		t.Errorf("once more: %d, %v", n, err)
	}
}

func TestAnotherSchedulersJournalIsNotTouched(t *testing.T) {
	w := newWorld(t)
	w.at(12*time.Second, func() { w.writeErr = func() error { return errAway } })
	_ = w.drive(w.until(15*time.Second), asks(10*sec, 0.09), nil)
	w.writeErr, w.id = nil, "cluster-b"
	n := len(w.writes)
	w.lastly(w.drive(context.Background(), asks(10*sec, 0.2), nil), "it belongs to another scheduler: cluster-a, not cluster-b")
	if len(w.writes) != n {
		t.Errorf("written: %v", w.writes[n:])
	}
}

func TestObserving(t *testing.T) {
	w := newWorld(t)
	err := w.drive(w.until(45*time.Second), asks(10*sec, 0.09, 0, 0.95), func(o *Options) {
		o.Act = false
		o.Journal = nil
		o.Bound = func(_ Knob, x float64) (float64, string) { return min(x, 0.9), "at most 0.9" }
	})
	w.lastly(err, "")
	w.wrote()
	w.mustBe(found)
	w.happened("started stopped")
	if got := w.told[1].String(); got != `decided would="set root.default maxAMShare to 0.090 (at most 0.9)" decision=act why="look 1"` {
		t.Error(got)
	}
	if entries, _, _ := ReadJournal(w.dir); len(entries) > 0 {
		t.Errorf("it wrote %v", entries)
	}
}

func TestBoundsSpacingAndWritesAnHour(t *testing.T) {
	t.Run("bounds", func(t *testing.T) {
		w := newWorld(t)
		w.conf[share] = Value{Text: "0.02", Set: true, Number: 0.02} // outside, and comes back nevertheless
		err := w.drive(w.until(50*time.Second), asks(10*sec, 0.95, 0.99, 0.02, 0.01), func(o *Options) {
			o.Bound = func(_ Knob, x float64) (float64, string) {
				if y := min(max(x, 0.05), 0.9); y != x {
					return y, "held within 0.05 and 0.9"
				}
				return x, ""
			}
		})
		w.lastly(err, "")
		w.wrote("0.900", "0.02", "0.050", "0.02")
		w.happened("started asked taken kept asked taken asked taken restored stopped")
		if got := w.event(Asked).String(); !strings.Contains(got, `why="held within 0.05 and 0.9; look 1"`) {
			t.Error(got)
		}
	})
	t.Run("spacing: the newest wins", func(t *testing.T) {
		w := newWorld(t)
		w.space = 5 * time.Second
		w.lastly(w.drive(w.until(20*time.Second), asks(sec, 0.1, 0.2, 0.3, 0.3), func(o *Options) { o.Spacing = time.Second }), "")
		w.wrote("0.100", "0.300", "0.050")
		w.happened("started asked taken queued refused queued queued asked taken restored stopped")
		first, second := w.event(Asked).At, w.told[slices.IndexFunc(w.told, func(e Event) bool { return e.Kind == Asked && e.New == 0.3 })].At
		if second.Sub(first) != 5*time.Second {
			t.Errorf("%v apart", second.Sub(first))
		}
	})
	t.Run("spacing: nothing is written for a mind changed twice", func(t *testing.T) {
		w := newWorld(t)
		w.lastly(w.drive(w.until(20*time.Second), asks(sec, 0.1, 0.2, 0.1), func(o *Options) { o.Spacing = 5 * time.Second }), "")
		w.wrote("0.100", "0.050")
		w.happened("started asked taken queued refused queued kept restored stopped")
	})
	t.Run("writes an hour", func(t *testing.T) {
		w := newWorld(t)
		many := func(o *Options) { o.PerHour = 3 }
		w.lastly(w.drive(w.until(20*time.Minute), asks(unit.Minute, 0.1, 0.2, 0.3, 0.4, 0.5, 0.05), many), "")
		w.wrote("0.100", "0.200", "0.300", "0.050")
		w.happened("started asked taken asked taken asked taken refused refused asked taken stopped") // back is always allowed
		if e := w.event(Refused); !strings.Contains(e.String(), "the next is allowed at 03:00:00") {
			t.Error(e)
		}
		w.lastly(w.drive(w.until(time.Minute), asks(unit.Minute, 0.6), many), "") // a new driver, but the same hour
		w.lastly(w.drive(w.until(time.Hour), asks(50*unit.Minute, 0, 0.7), many), "")
		w.wrote("0.100", "0.200", "0.300", "0.050", "0.700", "0.050")
	})
}

func TestNothingIsWritten(t *testing.T) {
	set := func(x float64) steer.Action {
		return steer.Action{Kind: steer.SetQueue, Queue: share.Queue, Property: share.Property, Value: x}
	}
	cases := []struct {
		name string
		do   steer.Action
		with func(*world)
		why  string
	}{
		{"NaN", set(math.NaN()), nil, "NaN is no value"},
		{"infinite", set(math.Inf(1)), nil, "+Inf is no value"},
		{"what cannot be undone", steer.Action{Kind: steer.KillJob, Job: "job_1"}, nil, "cannot be undone"},
		{"no knob", steer.Action{Kind: steer.SetQueue, Value: 1}, nil, "does not say what"},
		{"no such queue", steer.Action{Kind: steer.SetQueue, Queue: "root.a", Property: "x", Value: 1}, nil, "not there any more"},
		{"unreadable", set(0.09), func(w *world) { w.readErr = func() error { return errAway } }, "cannot be read: connection refused"},
		{"refused by the scheduler", set(0.09), func(w *world) { w.writeErr = func() error { return errors.New("400: rejected") } }, "400: rejected"},
		{"in place", set(0.05), nil, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			if c.with != nil {
				c.with(w)
			}
			p := steer.Func(func(*steer.Snapshot) ([]steer.Action, unit.Time) { return []steer.Action{c.do}, 0 })
			w.lastly(w.drive(context.Background(), p, nil), "")
			w.wrote()
			w.mustBe(found)
			if c.why == "" {
				w.happened("started kept stopped")
				return
			}
			w.happened("started refused stopped")
			if e := w.event(Refused); !strings.Contains(e.String(), c.why) || e.Err == nil || strings.Contains(e.String(), "\n") {
				t.Error(e)
			}
		})
	}
}

func TestFateOfAWrite(t *testing.T) {
	fates := []struct {
		name       string
		made       bool
		late       time.Duration
		unreadable bool
		kinds      string
		err        bool
	}{
		{name: "it was made", made: true, kinds: "started asked taken restored stopped"},
		{name: "it was not", kinds: "started refused restored stopped"},
		{name: "it comes late", made: true, late: 3 * time.Second, kinds: "started refused restored stopped"},
		{name: "it cannot be read back", made: true, unreadable: true, kinds: "started asked taken restored stopped", err: true},
	}
	for _, c := range fates {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			once := true
			w.fate = func() (bool, bool, time.Duration) {
				if !once {
					return true, true, 0
				}
				once = false
				if c.unreadable {
					w.readErr = func() error { w.readErr = nil; return errAway }
				}
				return c.made, false, c.late
			}
			w.lastly(w.drive(w.until(2*time.Second), asks(sec, 0.09), nil), "")
			w.Wait(context.Background(), time.Minute)
			w.mustBe(found)
			w.happened(c.kinds)
			if c.err != (w.told[2].Kind == Asked && errors.Is(w.told[2].Err, ErrOutcomeUnknown)) {
				t.Error(w.told[2])
			}
		})
	}
}

// A knob that the policy puts back is closed when that is certain, and not on somebody's word.
func TestPutBackByThePolicyButNotForCertain(t *testing.T) {
	t.Run("the scheduler says so, but it is not", func(t *testing.T) {
		w := newWorld(t)
		n := 0
		w.fate = func() (bool, bool, time.Duration) { n++; return n != 2, true, 0 }
		w.lastly(w.drive(context.Background(), asks(10*sec, 0.09, 0.05, -1), nil), "")
		w.mustBe(found)
		w.event(Restored)
	})
	t.Run("an earlier write comes in later", func(t *testing.T) {
		w := newWorld(t)
		n := 0
		w.fate = func() (bool, bool, time.Duration) {
			if n++; n == 2 {
				return true, false, 7 * time.Second
			}
			return true, true, 0
		}
		w.lastly(w.drive(context.Background(), asks(2*sec, 0.09, 0.13, 0.05, -1), func(o *Options) { o.Verify = time.Second }), "")
		_ = w.Wait(context.Background(), time.Minute)
		w.mustBe(found)
		w.wrote("0.090", "0.050", "0.130", "0.050")
	})
}

func TestUnverified(t *testing.T) {
	w := newWorld(t)
	w.delay = time.Hour
	w.lastly(w.drive(w.until(100*time.Second), asks(5*sec, 0.09, 0.13), nil), "configured again, but the scheduler does not go by it yet")
	w.happened("started asked asked unverified restore-failed restore-failed stopped") // the first was superseded
	if e := w.event(Unverified); e.New != 0.13 || e.Latency != 20*time.Second || e.Level() < 4 {
		t.Errorf("%+v", e)
	}
	w = newWorld(t)
	w.forceErr = func() error { return errAway }
	w.lastly(w.drive(w.until(30*time.Second), asks(5*sec, 0.09), nil), "does not go by it yet")
	if e := w.event(Unverified); !errors.Is(e.Err, errAway) || !strings.Contains(e.String(), "cannot be read") {
		t.Error(e)
	}
}

func TestAChangeBySomebodyElse(t *testing.T) {
	theirs := Value{Text: "0.3", Set: true, Number: 0.3}
	t.Run("stays when the driver leaves", func(t *testing.T) {
		w := newWorld(t)
		w.at(12*time.Second, func() { w.set(share, theirs) })
		w.lastly(w.drive(w.until(15*time.Second), asks(10*sec, 0.09), nil), "")
		w.mustBe(theirs)
		w.happened("started asked taken foreign stopped")
	})
	t.Run("is what comes back when the policy goes on", func(t *testing.T) {
		w := newWorld(t)
		w.at(12*time.Second, func() { w.set(share, theirs) })
		w.lastly(w.drive(w.until(25*time.Second), asks(10*sec, 0.09, 0, 0.13), nil), "")
		w.mustBe(theirs)
		w.wrote("0.090", "0.130", "0.3")
		w.happened("started asked taken foreign asked taken restored stopped")
	})
	t.Run("is not written over by what was asked for before it", func(t *testing.T) {
		w := newWorld(t)
		w.at(12*time.Second, func() { w.set(share, theirs) })
		w.lastly(w.drive(w.until(50*time.Second), asks(sec, 0.09, 0.13), func(o *Options) { o.Spacing = 30 * time.Second }), "")
		w.mustBe(theirs)
		w.wrote("0.090")
		w.happened("started asked taken queued foreign refused foreign stopped")
	})
	t.Run("is undone by force only", func(t *testing.T) {
		w := newWorld(t)
		w.at(12*time.Second, func() { w.writeErr = func() error { return errAway } })
		_ = w.drive(w.until(15*time.Second), asks(10*sec, 0.09), nil)
		w.writeErr = nil
		w.set(share, theirs)
		j := w.journal()
		defer j.Close()
		n, err := Recovery{Engine: w, Journal: j.Journal, Force: true, Clock: w}.Run(context.Background())
		if n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		w.mustBe(found)
	})
}

func TestDeadMan(t *testing.T) {
	t.Run("out of sight", func(t *testing.T) {
		w := newWorld(t)
		away := func(on bool) func() {
			return func() {
				w.snapErr, w.readErr, w.writeErr = nil, nil, nil
				if on {
					f := func() error { return errAway }
					w.snapErr, w.readErr, w.writeErr = f, f, f
				}
			}
		}
		w.at(12*time.Second, away(true))
		w.at(112*time.Second, away(false))
		fresh := 0
		policy := asks(10*sec, 0.09)
		err := w.drive(w.until(200*time.Second), nil, func(o *Options) {
			o.New = func() (steer.Steerer, error) {
				if fresh++; fresh > 1 {
					policy = asks(10*sec, 0, 0.2)
				}
				return policy, nil
			}
		})
		w.lastly(err, "")
		w.mustBe(found)
		w.wrote("0.090", "0.050", "0.200", "0.050")
		if fresh != 2 {
			t.Errorf("%d policies", fresh)
		}
		dead, back, restored := w.event(DeadMan), w.event(Back), w.event(Restored)
		start := w.told[0].At
		if d := dead.At.Sub(start); d < 70*time.Second || d > 72*time.Second {
			t.Errorf("dead man after %v", d)
		}
		if d := restored.At.Sub(start); d < 112*time.Second || d > 123*time.Second {
			t.Errorf("restored after %v", d)
		}
		if d := back.At.Sub(restored.At); d < 15*time.Second || d > 19*time.Second {
			t.Errorf("back %v after that", d)
		}
		if dead.Mode != "wait" || back.Mode != "act" {
			t.Errorf("modes %s, %s", dead.Mode, back.Mode)
		}
	})
	t.Run("a short absence is nothing", func(t *testing.T) {
		w := newWorld(t)
		w.at(12*time.Second, func() { w.snapErr = func() error { return errAway } })
		w.at(60*time.Second, func() { w.snapErr = nil })
		w.lastly(w.drive(w.until(100*time.Second), asks(10*sec, 0.09), nil), "")
		if w.wrote("0.090", "0.050"); strings.Contains(w.kinds(), "dead-man") {
			t.Error(w.kinds())
		}
	})
	t.Run("the policy can use nothing", func(t *testing.T) {
		w := newWorld(t)
		p := asks(10*sec, 0.09)
		w.at(12*time.Second, func() { p.refuse = true })
		w.lastly(w.drive(w.until(300*time.Second), p, nil), "")
		w.wrote("0.090", "0.050")
		w.mustBe(found)
		w.happened("started asked taken dead-man restored back stopped") // once: nothing is open later
	})
	t.Run("the policy sleeps", func(t *testing.T) {
		w := newWorld(t)
		w.at(5*time.Second, func() { w.snapErr = func() error { return errAway } })
		w.lastly(w.drive(w.until(100*time.Second), asks(unit.Hour, 0.09), nil), "")
		if d := w.event(DeadMan).At.Sub(w.told[0].At); d < 60*time.Second || d > 62*time.Second {
			t.Errorf("dead man after %v", d)
		}
		w.wrote("0.090", "0.050")
	})
	t.Run("in sight, but nothing can be written", func(t *testing.T) {
		w := newWorld(t)
		p := asks(10*sec, 0.09)
		w.at(12*time.Second, func() {
			p.refuse = true
			w.writeErr = func() error { return errors.New("500") }
		})
		w.at(150*time.Second, func() { p.refuse, w.writeErr = false, nil })
		w.lastly(w.drive(w.until(200*time.Second), p, nil), "")
		w.mustBe(found)
		if restored, back := w.event(Restored), w.event(Back); back.At.Before(restored.At) || back.Open != 0 {
			t.Errorf("acts again at %v although it was put back at %v only", back.At, restored.At)
		}
	})
	t.Run("a sleep is no silence", func(t *testing.T) {
		w := newWorld(t)
		w.lastly(w.drive(w.until(time.Hour), asks(30*unit.Minute, 0.09), nil), "")
		w.happened("started asked taken restored stopped")
	})
	t.Run("nothing to observe", func(t *testing.T) {
		w := newWorld(t)
		w.snapErr = func() error { return errAway }
		w.lastly(w.drive(w.until(100*time.Second), asks(10*sec, 0.09), func(o *Options) { o.Act = false }), "")
		w.event(DeadMan)
		w.wrote()
	})
	t.Run("no fresh policy", func(t *testing.T) {
		w := newWorld(t)
		w.at(5*time.Second, func() { w.snapErr = func() error { return errAway } })
		w.at(70*time.Second, func() { w.snapErr = nil })
		first := true
		w.lastly(w.drive(context.Background(), nil, func(o *Options) {
			o.New = func() (steer.Steerer, error) {
				if !first {
					return nil, errors.New("bad settings")
				}
				first = false
				return asks(sec, 0.09), nil
			}
		}), "bad settings")
		w.mustBe(found)
	})
}

// lease is a lock that can be lost.
type lease struct {
	lost     chan struct{}
	err      error
	acquired int
	released int
}

func (l *lease) Acquire(context.Context) error { l.acquired++; return l.err }
func (l *lease) Lost() <-chan struct{}         { return l.lost }
func (l *lease) Release() error                { l.released++; return nil }

func TestALostLockEndsIt(t *testing.T) {
	w := newWorld(t)
	l := &lease{lost: make(chan struct{})}
	lock := func(o *Options) { o.Lock = l }
	w.at(12*time.Second, func() { close(l.lost) })
	err := w.drive(context.Background(), asks(5*sec, 0.09, 0, 0, 0.13), lock)
	if !errors.Is(err, ErrLost) || l.acquired != 1 || l.released != 1 {
		t.Errorf("%v, %+v", err, l)
	}
	w.wrote("0.090")
	if _, open, _ := ReadJournal(w.dir); len(open) != 1 {
		t.Errorf("open: %v", open)
	}
	// The next holder puts it back.
	l.lost = make(chan struct{})
	w.lastly(w.drive(w.until(time.Second), asks(5*sec), lock), "")
	w.mustBe(found)
	// One that is not given.
	l.err = errAway
	w.lastly(w.drive(context.Background(), asks(5*sec), lock), "the lock was not given: connection refused")
	// One that is lost between the line in the journal and the write.
	w, l = newWorld(t), &lease{lost: make(chan struct{})}
	w.readErr = func() error { close(l.lost); w.readErr = nil; return nil }
	if err := w.drive(context.Background(), asks(5*sec, 0.09), lock); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
	w.wrote()
}

func TestOtherKnobs(t *testing.T) {
	w := newWorld(t)
	queue, prio := Knob{Kind: steer.MoveJob, Job: "job_1"}, Knob{Kind: steer.SetPriority, Job: "job_2"}
	w.conf[queue] = Value{Text: "root.a", Set: true}
	w.conf[prio] = Value{Text: "1", Set: true, Number: 1}
	w.snap = func(s *steer.Snapshot) { s.Jobs = []steer.Job{{ID: "job_1"}, {ID: "job_2"}} }
	n := 0
	p := steer.Func(func(*steer.Snapshot) ([]steer.Action, unit.Time) {
		n++
		switch n {
		case 1:
			return []steer.Action{{Kind: steer.MoveJob, Job: "job_1", Queue: "root.b"}, {Kind: steer.SetPriority, Job: "job_2", Value: 5}}, 5 * sec
		case 2:
			return []steer.Action{{Kind: steer.MoveJob, Job: "job_1", Queue: "root.c"}}, 5 * sec
		}
		return nil, 5 * sec
	})
	w.at(12*time.Second, func() { delete(w.conf, prio) }) // its job has ended
	w.lastly(w.drive(w.until(15*time.Second), p, func(o *Options) { o.Restore = 2 * time.Minute }), "")
	w.wrote("root.b", "5.000", "root.c", "root.a")
	w.mustBe(found)
	if w.conf[queue].Text != "root.a" {
		t.Error(w.conf)
	}
}

// crowd moves all jobs of one queue to another and counts what was not done.
type crowd struct{ refused int }

func (c *crowd) Step(seen *steer.Snapshot) (do []steer.Action, again unit.Time) {
	for i := range seen.Jobs {
		if j := &seen.Jobs[i]; j.Queue == "root.a" {
			do = append(do, steer.Action{Kind: steer.MoveJob, Job: j.ID, Queue: "root.b"})
		}
	}
	return append(do, steer.Action{Kind: steer.SetQueue, Queue: share.Queue, Property: share.Property, Value: 0.2}), 5 * sec
}

func (c *crowd) NotMade(steer.Action) { c.refused++ }

// Moves of jobs do not use up the writes of an hour, nor are they held back by them, but a sample makes a limited number of them.
func TestMovesPerSample(t *testing.T) {
	w := newWorld(t)
	knob := func(i int) Knob { return Knob{Kind: steer.MoveJob, Job: fmt.Sprint("job_", i)} }
	const jobs = steer.MovesPerSample + 30
	for i := range jobs {
		w.conf[knob(i)] = Value{Text: "root.a", Set: true}
	}
	w.snap = func(s *steer.Snapshot) {
		for i := range jobs {
			s.Jobs = append(s.Jobs, steer.Job{ID: knob(i).Job, Queue: w.conf[knob(i)].Text})
		}
	}
	moved := func() (n int) {
		for i := range jobs {
			if w.conf[knob(i)].Text == "root.b" {
				n++
			}
		}
		return n
	}
	w.at(4*time.Second, func() {
		if n := moved(); n != steer.MovesPerSample {
			t.Errorf("%d jobs are moved after one sample", n)
		}
	})
	w.at(9*time.Second, func() {
		if n := moved(); n != jobs || w.conf[share].Number != 0.2 {
			t.Errorf("%d jobs are moved after two samples; the share is %v", n, w.conf[share])
		}
	})
	p := &crowd{}
	w.lastly(w.drive(w.until(12*time.Second), p, func(o *Options) { o.PerHour = 1; o.Restore = 2 * time.Minute }), "")
	w.mustBe(found)
	if n := moved(); n != 0 || p.refused != 30 {
		t.Errorf("%d jobs are left moved, %d moves were refused", n, p.refused)
	}
}

// Moved jobs that are listed as finished are closed at once, without a query of each: on a busy cluster more of them end than could be queried.
func TestManyEnd(t *testing.T) {
	w := newWorld(t)
	const jobs = 60
	ended := false
	w.snap = func(s *steer.Snapshot) {
		for i := range jobs {
			k := Knob{Kind: steer.MoveJob, Job: fmt.Sprint("job_", i)}
			if v, there := w.conf[k]; ended && there {
				s.Finished = append(s.Finished, steer.Finished{ID: k.Job})
				delete(w.conf, k)
			} else if there {
				s.Jobs = append(s.Jobs, steer.Job{ID: k.Job, Queue: v.Text})
			}
		}
	}
	for i := range jobs {
		w.conf[Knob{Kind: steer.MoveJob, Job: fmt.Sprint("job_", i)}] = Value{Text: "root.a", Set: true}
	}
	w.at(7*time.Second, func() { ended, w.readErr = true, func() error { return errors.New("queried") } })
	w.at(18*time.Second, func() {
		w.readErr = nil
		if _, open, err := ReadJournal(w.dir); err != nil || len(open) != 1 {
			t.Errorf("%d are open, %v", len(open), err)
		}
	})
	w.lastly(w.drive(w.until(20*time.Second), &crowd{}, func(o *Options) { o.Restore = 2 * time.Minute }), "")
	w.mustBe(found)
}

// Everything is written back before anything is waited for: a value that takes long to come into force keeps no other from its own.
func TestAllAreWrittenBackFirst(t *testing.T) {
	w := newWorld(t)
	w.delay = 15 * time.Second
	prio := Knob{Kind: steer.SetPriority, Job: "job_1"}
	w.conf[prio] = Value{Text: "1", Set: true, Number: 1}
	w.snap = func(s *steer.Snapshot) { s.Jobs = []steer.Job{{ID: "job_1"}} }
	p := steer.Func(func(*steer.Snapshot) ([]steer.Action, unit.Time) {
		return []steer.Action{{Kind: steer.SetQueue, Queue: share.Queue, Property: share.Property, Value: 0.2}, {Kind: steer.SetPriority, Job: "job_1", Value: 5}}, 100 * sec
	})
	w.survive(24, false, func() { _ = w.drive(w.until(25*time.Second), p, nil) })
	if _, open, err := ReadJournal(w.dir); err != nil || len(open) != 2 || w.conf[prio].Number != 5 {
		t.Fatal(open, err, w.conf)
	}
	_ = w.Wait(context.Background(), time.Minute)
	ended := w.now
	w.recover()
	w.mustBe(found)
	if at := w.since[prio]; w.conf[prio].Text != "1" || at.Sub(ended) > time.Second {
		t.Errorf("%v, written after %v", w.conf[prio], at.Sub(ended))
	}
}

func TestOptionsAreChecked(t *testing.T) {
	w := newWorld(t)
	policy := func() (steer.Steerer, error) { return asks(sec), nil }
	for _, o := range []Options{{}, {Engine: w}, {Engine: w, Rules: Rules{New: policy, Act: true}}, {Engine: w, Rules: Rules{New: func() (steer.Steerer, error) { return nil, errAway }}}} {
		if Run(context.Background(), o) == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// left is a world whose driver has died with 0.09 in place.
func left(t *testing.T) *world {
	w := newWorld(t)
	w.survive(12, false, func() { _ = w.drive(w.until(25*time.Second), asks(10*sec, 0.09), nil) })
	if _, open, err := ReadJournal(w.dir); err != nil || len(open) != 1 || w.conf[share].Number != 0.09 {
		t.Fatalf("%v, %v, %v", open, err, w.conf)
	}
	_ = w.Wait(context.Background(), time.Minute) // beyond any doubt
	return w
}

// A queue that is missing from some readings, while the ResourceManager starts or is reconfigured, is put back when it shows. One that stays
// away for a minute has nothing to be put back; until then the journal is open.
func TestMissingFromOneReading(t *testing.T) {
	for _, times := range []int{1, 3, 4} {
		w := left(t)
		n := 0
		w.readErr = func() error {
			if n++; n <= times {
				return fmt.Errorf("queue root.default is not there: %w", ErrGone)
			}
			return nil
		}
		w.survive(0, false, w.recover)
		w.mustBe(found)
		w.event(RestoreFailed)
	}
	w := left(t)
	delete(w.conf, share)
	began := w.now
	w.survive(0, false, w.recover)
	if e := w.event(Restored); e.At.Sub(began) < time.Minute || !strings.Contains(e.String(), "it is not there any more") {
		t.Errorf("%v after %v", e, e.At.Sub(began))
	}
}

// A value that shows in a single reading is not taken for somebody else's.
func TestOneWrongReading(t *testing.T) {
	w := left(t)
	w.readErr = func() error {
		ours := w.conf[share]
		w.conf[share] = Value{Text: "0.5", Set: true, Number: 0.5}
		w.at(time.Second/2, func() { w.conf[share] = ours })
		w.readErr = nil
		return nil
	}
	w.survive(0, false, w.recover)
	w.mustBe(found)
}

// A scheduler that takes a value over late: the journal is closed when it has, and not before. One that never does leaves it open, with an error.
func TestRestoredMeansInForce(t *testing.T) {
	for _, delay := range []time.Duration{8 * time.Second, 45 * time.Second} {
		w := left(t)
		w.delay = delay
		began := w.now
		w.survive(0, false, w.recover)
		w.mustBe(found)
		if e := w.event(Restored); e.At.Sub(began) < delay {
			t.Errorf("in force after %v, said to be after %v", delay, e.At.Sub(began))
		}
	}
	w := left(t)
	w.delay = time.Hour
	w.survive(0, false, func() {
		_, err := Recovery{Engine: w, Journal: w.journal().Journal, Observe: w.observe, Clock: w}.Run(w.until(2 * time.Minute))
		w.lastly(err, "the scheduler does not go by it yet")
	})
	if _, open, err := ReadJournal(w.dir); err != nil || len(open) != 1 {
		t.Errorf("%v, %v", open, err)
	}
	// So while a policy runs: its own way back closes nothing before it is in force.
	w = newWorld(t)
	w.delay = 8 * time.Second
	w.at(22*time.Second, func() {
		if _, open, err := ReadJournal(w.dir); err != nil || len(open) != 1 {
			t.Errorf("before it is in force: %v, %v", open, err)
		}
	})
	w.lastly(w.drive(w.until(60*time.Second), asks(20*sec, 0.09, 0.05), nil), "")
	w.mustBe(found)
}

// A clock that was set back or forth while nobody drove: a write that may still come in is waited for, for ten seconds and not for an hour, and
// the changes of the last hour do not become those of the next two.
func TestTheClockWasSet(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		w := newWorld(t)
		w.flight = 5 * time.Second
		w.survive(10, false, func() { _ = w.drive(w.until(25*time.Second), asks(10*sec, 0.09), nil) }) // during the write
		if _, open, err := ReadJournal(w.dir); err != nil || len(open) != 1 || open[0].Doubted.IsZero() {
			t.Fatalf("%+v, %v", open, err)
		}
		w.now = w.now.Add(by)
		for i := range w.events {
			w.events[i].at = w.events[i].at.Add(by)
		}
		began := w.now
		w.survive(0, false, w.recover)
		if took := w.now.Sub(began); took > 30*time.Second {
			t.Errorf("clock set by %v: %v", by, took)
		}
		_ = w.Wait(context.Background(), time.Minute)
		w.mustBe(found)
	}
	w := newWorld(t)
	few := func(o *Options) { o.PerHour = 1 }
	w.lastly(w.drive(w.until(15*time.Second), asks(10*sec, 0.09), few), "")
	w.now = w.now.Add(-time.Hour)
	w.lastly(w.drive(w.until(65*time.Minute), asks(62*60*sec, 0.13, 0.17), few), "")
	w.wrote("0.090", "0.050", "0.170", "0.050")
}

// A value that carries a mark is another driver's: what was there before it is not known, so that nothing is changed. A mark of ours goes with the value
// that is put back, and from a value that somebody else has set since.
func TestMarks(t *testing.T) {
	w := newWorld(t)
	w.conf[share] = Value{Text: "0.3", Set: true, Number: 0.3, Mark: "there:/journal"}
	w.lastly(w.drive(w.until(15*time.Second), asks(10*sec, 0.09), nil), "")
	w.wrote()
	w.happened("started refused stopped")
	if e := w.event(Refused); !strings.Contains(e.String(), "there:/journal") {
		t.Error(e)
	}

	w = left(t)
	host, _ := os.Hostname()
	mark := host + ":" + w.dir
	if w.conf[share].Mark != mark {
		t.Errorf("%+v", w.conf)
	}
	w.conf[share] = Value{Text: "0.7", Set: true, Number: 0.7, Mark: mark} // by hand: the mark is not touched
	w.survive(0, false, w.recover)
	w.event(Foreign)
	w.mustBe(Value{Text: "0.7", Set: true, Number: 0.7})
}

// The machine may have been renamed between two writes of one value: both marks are ours.
func TestMarksOfOneValue(t *testing.T) {
	var l Ledger
	for _, mark := range []string{"", "old:/journal", "new:/journal"} {
		v := Value{Text: "0.4", Set: true, Number: 0.4, Mark: mark}
		l.Add(&Entry{What: Before, Engine: "a", Knob: share, Original: &found, New: &v})
		if h := l.Find("a", share); h.MarkedByOther(v) {
			t.Errorf("%q is not known: %+v", mark, h.Ours)
		}
	}
}

func TestAMarkIsPlainText(t *testing.T) {
	host, _ := os.Hostname()
	if got, want := MarkOf("/état/${user}/a \xff\n "), host+":/?tat/?{user}/a????"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

// A value that carries another driver's mark is that driver's, even where this one wrote the same value, or found it.
func TestAnotherDriversMark(t *testing.T) {
	for _, v := range []Value{{Text: "0.090", Set: true, Number: 0.09}, found, {Text: "0.3", Set: true, Number: 0.3}} {
		v.Mark = "there:/journal"
		t.Run("recovery leaves "+v.Text, func(t *testing.T) {
			w := left(t)
			w.set(share, v)
			w.survive(0, false, w.recover)
			w.event(Foreign)
			w.mustBe(v)
			w.wrote("0.090")
		})
		t.Run("a driver leaves "+v.Text, func(t *testing.T) {
			w := newWorld(t)
			w.at(12*time.Second, func() { w.set(share, v) })
			w.lastly(w.drive(w.until(25*time.Second), asks(10*sec, 0.09, 0, 0.13), nil), "")
			w.mustBe(v)
			w.wrote("0.090")
			w.happened("started asked taken refused foreign stopped")
		})
	}
}

// A knob that a policy has not declared, and a job that is not seen, are left alone; a job that has ended is closed as soon as it is gone.
func TestOnlyWhatIsAllowed(t *testing.T) {
	w := newWorld(t)
	prio, ghost := Knob{Kind: steer.SetPriority, Job: "job_1"}, Knob{Kind: steer.SetPriority, Job: "job_2"}
	w.conf[prio], w.conf[ghost] = Value{Text: "1", Set: true, Number: 1}, Value{Text: "1", Set: true, Number: 1}
	there := []steer.Job{{ID: "job_1"}}
	w.snap = func(s *steer.Snapshot) { s.Jobs = there }
	n := 0
	p := steer.Func(func(*steer.Snapshot) ([]steer.Action, unit.Time) {
		if n++; n > 1 {
			return nil, 5 * sec
		}
		return []steer.Action{
			{Kind: steer.SetPriority, Job: "job_1", Value: 5}, {Kind: steer.SetPriority, Job: "job_2", Value: 5},
			{Kind: steer.SetQueue, Queue: share.Queue, Property: share.Property, Value: 0.5},
		}, 5 * sec
	})
	w.at(12*time.Second, func() { there, w.readErr = nil, func() error { return ErrEnded } })
	w.at(17*time.Second, func() { w.readErr = nil })
	needs := steer.Needs{Priority: true}
	err := w.drive(w.until(20*time.Second), p, func(o *Options) {
		o.Allow = func(k Knob) error { return needs.Allow(k.Kind, k.Property, amlimit.Fair) }
	})
	w.lastly(err, "")
	w.wrote("5.000")
	w.happened("started asked refused refused taken restored stopped")
	if at := w.event(Restored).At.Sub(w.told[0].At); at != 15*time.Second {
		t.Errorf("closed after %v", at)
	}
	w.mustBe(found)
}
