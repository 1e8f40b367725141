package live

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/yardmaster/yardmaster/steer/drive"
)

var other = Value{Text: "0.09", Set: true, Number: 0.09}

// change makes a change that nothing speaks against.
func (w *world) change() (*Trial, error) {
	t := &Trial{Knob: share, Old: found, New: other, Reason: "test"}
	return t, w.try(context.Background(), t)
}

func (w *world) try(ctx context.Context, t *Trial) error {
	r := &Runner{Engine: w, Journal: w.journal().Journal, Observe: w.observe, Clock: w, Measure: w.measure}
	return r.Run(ctx, NewTrial(w, r.Journal, t))
}

// A change that is killed at any moment ends as the old value or, once the journal is closed, as the new one, without a mark; whatever of the last line
// reached the disk, and whether or not the last write arrives later.
func TestChangeKilledAtAnyMoment(t *testing.T) {
	top := memory(t)
	ended := map[string]int{}
	for at := 1; at < 200; at++ {
		for _, lose := range []bool{false, true} {
			for _, flight := range []time.Duration{0, 3 * time.Second} {
				if err := os.RemoveAll(top); err != nil {
					t.Fatal(err)
				}
				w := newWorldIn(t, top)
				w.flight = flight
				killed := w.survive(at, lose, func() {
					if _, err := w.change(); err != nil {
						t.Fatal(err)
					}
				})
				_, open, err := ReadJournal(top)
				if err != nil {
					t.Fatal(err)
				}
				w.survive(0, false, w.recover)
				now := w.conf[share]
				if len(open) > 0 && now != found || now != found && now != other || !killed && now != other {
					t.Errorf("killed at %d: %v, the journal was open: %v\n%s", at, now, len(open) > 0, strings.Join(w.log, "\n"))
				}
				if ended[now.Text]++; !killed && flight > 0 {
					if len(ended) != 2 {
						t.Errorf("%v", ended)
					}
					return
				}
			}
		}
	}
	t.Error("it never ends")
}

// What is not as expected, marked by another, refused or not taken is not changed, or is rolled back.
func TestChangeRefused(t *testing.T) {
	for name, c := range map[string]struct {
		do      func(*world)
		outcome Outcome
		why     string
	}{
		"changed":    {func(w *world) { w.conf[share] = Value{Text: "0.07", Set: true, Number: 0.07} }, NotMade, "somebody else has changed it"},
		"marked":     {func(w *world) { w.conf[share] = Value{Text: "0.050", Set: true, Number: 0.05, Mark: "x:/y"} }, NotMade, "x:/y"},
		"refused":    {func(w *world) { w.writeErr = func() error { return errors.New("403") } }, NotMade, "403"},
		"lost":       {func(w *world) { w.fate = func() (bool, bool, time.Duration) { return w.steps > 20, w.steps > 20, 0 } }, RolledBack, "it was not"},
		"unverified": {func(w *world) { w.delay = 25 * time.Second }, RolledBack, "not in force"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c.do(w)
			first := w.conf[share]
			trial, err := w.change()
			if trial.Outcome != c.outcome || (err != nil) != (c.outcome == NotMade) || !strings.Contains(trial.Why, c.why) {
				t.Errorf("%s: %s, %v\n%s", trial.Outcome, trial.Why, err, strings.Join(w.log, "\n"))
			}
			w.mustBe(first)
		})
	}
}
