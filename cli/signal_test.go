package cli

import (
	"os"
	"testing"
	"time"
)

// Signals close together are one wish; a later one ends the program at once.
func TestObey(t *testing.T) {
	at := func(seconds ...float64) (ended, atOnce int) {
		signals := make(chan os.Signal, len(seconds))
		for range seconds {
			signals <- os.Interrupt
		}
		close(signals)
		i := 0
		now := func() time.Time {
			i++
			return time.Unix(1000, 0).Add(time.Duration(seconds[i-1] * float64(time.Second)))
		}
		handleSignals(signals, func() { ended++ }, now, func() { atOnce++ })
		return ended, atOnce
	}
	for _, c := range []struct {
		seconds       []float64
		ended, atOnce int
	}{
		{nil, 0, 0},
		{[]float64{0}, 1, 0},
		{[]float64{0, 0.01, 0.9}, 1, 0},
		{[]float64{0, 0.5, 1.5}, 1, 1},
		{[]float64{0, 2, 3}, 1, 1},
	} {
		if ended, atOnce := at(c.seconds...); ended != c.ended || atOnce != c.atOnce {
			t.Errorf("signals at %v: ended %d, at once %d; want %d and %d", c.seconds, ended, atOnce, c.ended, c.atOnce)
		}
	}
}

// A program that ends at once leaves no temporary file.
func TestLeftovers(t *testing.T) {
	t.Chdir(t.TempDir())
	l := &leftovers{}
	ctx := contextWith(t.Context(), l)
	for _, path := range []string{"a.html", "b.json"} {
		if _, err := prepare(ctx, path); err != nil {
			t.Fatal(err)
		}
	}
	l.remove()
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
