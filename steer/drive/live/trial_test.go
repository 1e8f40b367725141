package live

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/yardmaster/yardmaster/steer/drive"
)

// rehearsal is one trial in virtual time, with the faults that a seed draws.
type rehearsal struct {
	w       *world
	trial   Trial
	killAt  int
	lose    bool
	lost    chan struct{}
	ctx     context.Context
	foreign *Value // what somebody else sets in between
	faults  []string
}

func newRehearsal(t *testing.T, dir string, seed uint64) *rehearsal {
	r := rand.New(rand.NewPCG(seed, 26))
	w := newWorldIn(t, dir)
	h := &rehearsal{w: w, lost: make(chan struct{}), ctx: context.Background(),
		trial: Trial{Knob: share, Old: found, New: other, Reason: "test", Length: time.Duration(r.IntN(3)) * 30 * time.Second, Samples: 20, Silence: 20 * time.Second, Keep: r.IntN(3) == 0}}
	within := func() time.Duration { return time.Duration(r.Int64N(int64(h.trial.Length + 10*time.Second))) }
	often := func(one int, what string, set func()) {
		if r.IntN(one) == 0 {
			h.faults = append(h.faults, what)
			set()
		}
	}
	failing := func(target *func() error) {
		from := within() * time.Duration(r.IntN(3)) / 2
		if away := func() error { return errAway }; from == 0 { // events happen only while somebody waits
			*target = away
		} else {
			w.at(from, func() { *target = away })
		}
		w.at(from+time.Duration(r.IntN(40))*time.Second, func() { *target = nil })
	}
	w.delay = time.Duration(r.IntN(3)) * 4 * time.Second
	often(2, "killed", func() { h.killAt, h.lose, w.tear = 1+r.IntN(120), r.IntN(2) == 0, r.IntN(300) })
	often(3, "the last write arrives late", func() { w.flight = 3 * time.Second })
	often(4, "reads fail", func() { failing(&w.readErr) })
	often(6, "writes fail", func() { failing(&w.writeErr) })
	often(6, "checks fail", func() { failing(&w.forceErr) })
	often(5, "outcome of writes unknown", func() {
		w.fate = func() (bool, bool, time.Duration) {
			return r.IntN(3) > 0, r.IntN(2) == 0, time.Duration(r.IntN(2)*3) * time.Second
		}
	})
	often(4, "told to stop", func() { h.ctx = w.until(within()) })
	often(8, "the lock is lost", func() { w.at(within(), func() { close(h.lost) }) })
	often(6, "somebody else", func() {
		h.foreign = &Value{Text: "0.300", Set: true, Number: 0.3}
		w.at(within(), func() { w.set(share, *h.foreign) })
	})
	broken, blind := time.Duration(-1), time.Duration(-1)
	often(3, "a bound is broken", func() { broken = within() })
	often(5, "nothing can be measured", func() { blind = within() })
	w.judge = func(since time.Duration) (string, error) {
		switch {
		case blind >= 0 && since >= blind && since < blind+30*time.Second:
			return "", errAway
		case broken >= 0 && since >= broken:
			return "p95 of root.prod", nil
		}
		return "", nil
	}
	return h
}

// run makes the trial; it ends by itself or is killed. What is left is restored.
func (h *rehearsal) run() (killed, open bool, err error) {
	w := h.w
	killed = w.survive(h.killAt, h.lose, func() {
		r := &Runner{Engine: w, Journal: w.journal().Journal, Observe: w.observe, Clock: w, Measure: w.measure, Lost: h.lost}
		err = r.Run(h.ctx, NewTrial(w, r.Journal, &h.trial))
	})
	_, left, bad := ReadJournal(w.dir)
	if bad != nil {
		w.t.Fatal(bad)
	}
	w.readErr, w.writeErr, w.forceErr, w.fate = nil, nil, nil, nil
	w.events = nil
	if w.flying > 0 {
		w.at(3*time.Second, func() { w.flying = 0 })
	}
	w.survive(0, false, w.recover)
	return killed, len(left) > 0, err
}

// Whatever fails, and wherever the command is killed, a change ends as the old value or the new one, or is left as somebody else has set it; the new one
// only if the journal says that it was kept.
func TestTrialRehearsed(t *testing.T) {
	runs := 10_000
	if testing.Short() {
		runs = 1000
	}
	top := memory(t)
	ends := map[string]int{}
	for seed := range runs {
		if err := os.RemoveAll(top); err != nil {
			t.Fatal(err)
		}
		h := newRehearsal(t, top, uint64(seed))
		killed, open, err := h.run()
		now := h.w.conf[share]
		entries, left, bad := ReadJournal(top)
		kept := false
		for _, e := range entries {
			kept = kept || e.What == Closed && (e.Why == string(Stays) || e.Why == "a signal ended the watch")
		}
		byOther := h.foreign != nil && now.Number == h.foreign.Number
		name := string(h.trial.Outcome)
		if killed {
			name = "killed"
		}
		var wrong string
		switch {
		case bad != nil || len(left) > 0:
			wrong = fmt.Sprintf("the journal is open: %v %v", left, bad)
		case now.Mark != "":
			wrong = "a mark is left"
		case !byOther && now != found && now != other:
			wrong = "neither old nor new"
		case now == other && !kept:
			wrong = "new, and the journal does not say so"
		case killed && open && now == other:
			wrong = "new, although it was open"
		case killed:
		case errors.Is(err, ErrLost) != (name == string(Abandoned) && errors.Is(err, ErrLost)), name == string(Stays) && now != other && !byOther,
			name == string(RolledBack) && now != found && !byOther, name == string(NotMade) && now != found && !byOther, (name == string(Abandoned)) != open:
			wrong = "it says " + name
		}
		if wrong != "" {
			t.Fatalf("seed %d (%s): %s: %v is set, %v\n%s", seed, strings.Join(h.faults, ", "), wrong, now, err, strings.Join(h.w.log, "\n"))
		}
		ends[name]++
	}
	for _, name := range []string{"killed", string(NotMade), string(Stays), string(RolledBack), string(Overridden), string(Abandoned)} {
		if ends[name] < runs/200 {
			t.Errorf("only %d of %d runs end as %q", ends[name], runs, name)
		}
	}
	t.Logf("%d runs: %v", runs, ends)
}
