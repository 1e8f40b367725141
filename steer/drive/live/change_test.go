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

// setAndRelease makes a change and releases it.
func (w *world) setAndRelease() error {
	c := &Runner{Engine: w, Journal: w.journal().Journal, Observe: w.observe, Clock: w}
	if err := c.Run(context.Background(), NewSet(w, c.Journal, share, found, other, "test")); err != nil {
		return err
	}
	return c.Run(context.Background(), NewRelease(w, c.Journal, share, "kept"))
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
					if err := w.setAndRelease(); err != nil {
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

// What is not as expected, marked by another, refused or not taken is not changed, or is left open to be restored.
func TestChangeRefused(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*world)
		want string
		open int
	}{
		"changed":    {func(w *world) { w.conf[share] = Value{Text: "0.07", Set: true, Number: 0.07} }, "somebody else has changed it", 0},
		"marked":     {func(w *world) { w.conf[share] = Value{Text: "0.050", Set: true, Number: 0.05, Mark: "x:/y"} }, "x:/y", 0},
		"refused":    {func(w *world) { w.writeErr = func() error { return errors.New("403") } }, "403", 0},
		"lost":       {func(w *world) { w.fate = func() (bool, bool, time.Duration) { return false, false, 0 } }, "it was not", 1},
		"unverified": {func(w *world) { w.delay = time.Hour }, "not in force", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c.do(w)
			err := w.setAndRelease()
			if err == nil || !strings.Contains(err.Error(), c.want) || len(w.j.Open()) != c.open {
				t.Errorf("%v, %d open", err, len(w.j.Open()))
			}
		})
	}
}
