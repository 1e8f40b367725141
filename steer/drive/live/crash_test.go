package live

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/steer"
	. "github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/unit"
)

// plays are runs with something to do for every part of the driver.
var plays = []struct {
	name string
	play func(w *world) error
}{
	{"two writes", func(w *world) error {
		return w.drive(w.until(25*time.Second), asks(10*sec, 0.09, 0.13), nil)
	}},
	{"put back by the policy, and again", func(w *world) error {
		return w.drive(context.Background(), asks(10*sec, 0.09, 0.05, 0.13, 0.05, -1), nil)
	}},
	{"queued", func(w *world) error {
		w.space = 5 * time.Second
		return w.drive(w.until(12*time.Second), asks(2*sec, 0.09, 0.13, 0.17), nil)
	}},
	{"unset, and the file is read late", func(w *world) error {
		w.delay = 8 * time.Second
		return w.drive(w.until(25*time.Second), asks(10*sec, 0.09, 0.1, 0.13), nil)
	}},
	{"refused, then unknown", func(w *world) error {
		n := 0
		w.writeErr = func() error {
			if n++; n == 1 {
				return errors.New("500")
			}
			return nil
		}
		w.fate = func() (bool, bool, time.Duration) { return true, n != 2, time.Duration(n%2) * 3 * time.Second }
		return w.drive(w.until(45*time.Second), asks(10*sec, 0.09, 0.13, 0.17), nil)
	}},
	{"out of sight", func(w *world) error {
		w.at(12*time.Second, func() { w.snapErr = func() error { return errAway } })
		w.at(80*time.Second, func() { w.snapErr = nil })
		return w.drive(w.until(110*time.Second), asks(10*sec, 0.09), nil)
	}},
	{"a new file every few lines", func(w *world) error {
		return w.drive(w.until(60*time.Second), asks(10*sec, 0.09, 0.13, 0.17, 0.21), func(o *Options) { w.j.limit = 700 })
	}},
}

// memory is a folder for thousands of files that nobody has to see to a disk.
func memory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "drive")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// A driver that is killed at any moment leaves a journal from which everything is put back, whatever of its last line reached the
// disk and whether or not its last write reached the scheduler, at once or later. So does one that is killed while putting back.
func TestKilledAtAnyMoment(t *testing.T) {
	runs, top := 0, memory(t)
	for _, p := range plays {
		t.Run(p.name, func(t *testing.T) {
			begin := func() *world {
				w := newWorldIn(t, top)
				if err := os.RemoveAll(top); err != nil {
					t.Fatal(err)
				}
				if p.name[:5] == "unset" {
					w.conf[share] = Value{Number: 0.1}
				}
				return w
			}
			end := func(w *world, first Value, what string) {
				t.Helper()
				w.writeErr, w.snapErr, w.fate = nil, nil, nil
				w.survive(0, false, w.recover)
				_ = w.Wait(context.Background(), time.Minute) // whatever was still on its way
				w.mustBe(first)
				if t.Failed() {
					t.Fatal(what)
				}
				runs++
			}
			for killAt := 1; ; killAt++ {
				alive := false
				for variant := range 12 {
					w := begin()
					first := w.conf[share]
					w.tear = []int{0, 20, 1 << 20}[variant%3]
					w.flight = time.Duration(variant / 3 % 2 * 4 * int(time.Second))
					alive = !w.survive(killAt, variant >= 6, func() {
						if err := p.play(w); err != nil {
							t.Fatal(err)
						}
					})
					if alive {
						break
					}
					end(w, first, fmt.Sprintf("killed at %d, variant %d", killAt, variant))
				}
				if alive {
					break
				}
				for again := 1; again < 40 && !testing.Short(); again++ {
					w := begin()
					first := w.conf[share]
					w.survive(killAt, false, func() { _ = p.play(w) })
					dead := w.survive(again, again%2 == 0, w.recover)
					end(w, first, fmt.Sprintf("killed at %d and then at %d", killAt, again))
					if !dead {
						break
					}
				}
			}
		})
	}
	t.Logf("%d runs", runs)
}

// As above, with everything at random: several drivers one after another, a scheduler that fails, hesitates, restarts and lies about
// its fate, and a person who changes the value meanwhile. What is in place at the end is what was there before, or what the person set last.
func TestAnythingMayHappen(t *testing.T) {
	top := memory(t)
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorldIn(rt, top)
		if err := os.RemoveAll(top); err != nil {
			rt.Fatal(err)
		}
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		base := rapid.SampledFrom([]Value{found, {Number: 0.1}, {Text: "-1.0f", Set: true, Number: -1}}).Draw(rt, "base")
		w.conf[share] = base
		want := base
		w.delay = time.Duration(rapid.IntRange(0, 15).Draw(rt, "delay")) * time.Second
		w.space = time.Duration(rapid.IntRange(0, 6).Draw(rt, "space")) * time.Second
		trouble := rapid.Float64Range(0, 0.5).Draw(rt, "trouble")
		maybe := func() error {
			if rnd.Float64() < trouble {
				return errAway
			}
			return nil
		}
		faults := func(on bool) {
			w.snapErr, w.readErr, w.writeErr, w.forceErr, w.fate = nil, nil, nil, nil, nil
			if on {
				w.snapErr, w.readErr, w.writeErr, w.forceErr = maybe, maybe, maybe, maybe
				w.fate = func() (made, told bool, late time.Duration) {
					if rnd.Float64() > trouble {
						return true, true, 0
					}
					return rnd.IntN(3) > 0, rnd.IntN(3) > 0, time.Duration(rnd.IntN(2)*rnd.IntN(9)) * time.Second
				}
			}
		}
		for n := range rapid.IntRange(0, 3).Draw(rt, "people") {
			v := Value{Text: fmt.Sprintf("0.%d", 777+n), Set: true, Number: 0.777 + float64(n)/1000}
			w.at(time.Duration(rnd.IntN(300))*time.Second+time.Millisecond, func() {
				if w.flying == 0 { // else it could be overwritten by what nobody can see any more
					w.set(share, v)
					want = v
				}
			})
		}
		restarts := rapid.IntRange(0, 2).Draw(rt, "restarts")
		for range restarts {
			w.at(time.Duration(rnd.IntN(300))*time.Second+time.Millisecond, func() {
				if w.flying == 0 {
					w.set(share, base)
					want = base
				}
			})
		}
		own := 7
		if restarts > 0 {
			own-- // else nobody can tell the policy's value from one that came back in a restart
		}
		policy := func() (steer.Steerer, error) {
			p := asks(unit.Time(1+rnd.IntN(20)) * sec)
			for range 1 + rnd.IntN(20) {
				p.values = append(p.values, []float64{0, 0, 0.09, 0.13, 0.17, 0.21, base.Number}[rnd.IntN(own)])
			}
			if rnd.IntN(3) == 0 {
				p.values = append(p.values, -1)
			}
			return p, nil
		}
		for range rapid.IntRange(1, 4).Draw(rt, "drivers") {
			faults(true)
			w.tear, w.flight = rnd.IntN(400), time.Duration(rnd.IntN(2)*rnd.IntN(9))*time.Second
			killAt := rapid.IntRange(0, 300).Draw(rt, "kill")
			w.survive(killAt, rnd.IntN(2) == 0, func() {
				_ = w.drive(w.until(time.Duration(1+rnd.IntN(200))*time.Second), nil, func(o *Options) {
					o.New = policy
					o.PerHour = 1 + rnd.IntN(30)
					w.j.limit = 1 + rnd.Int64N(4000)
				})
			})
			_ = w.Wait(context.Background(), time.Duration(rnd.IntN(10))*time.Second)
		}
		faults(false)
		w.survive(0, false, w.recover)
		_ = w.Wait(context.Background(), 10*time.Minute)
		if w.conf[share] != want {
			rt.Fatalf("%+v is configured, not %+v\n%v", w.conf[share], want, w.log)
		}
		if _, open, err := ReadJournal(w.dir); err != nil || len(open) > 0 {
			rt.Fatalf("journal: %v, %v", open, err)
		}
	})
}
