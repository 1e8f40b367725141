package marp

import (
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
)

// Of a hundred draws, as many as epsilon says explore: all of them or none at its ends.
func TestEpsilonAtItsEnds(t *testing.T) {
	for epsilon, greedy := range map[int]bool{0: true, 100: false} {
		a := learned(1, func(s *Settings) {
			s.Epsilon, s.ArmByIndex, s.Lowest, s.Highest, s.Thresholds = epsilon, true, 10, 12, 3
		},
			nil)
		for range 10_000 {
			if got := a.choose(); (got == a.best) != greedy { // the index of an arm, 1 to 3, is no threshold here
				t.Fatalf("epsilon %d: %d, best %d", epsilon, got, a.best)
			}
		}
	}
}

// Steps for AMs that take a share of the queue each: one, with a quarter of one as slack; one more; and three quarters of it
// back. No share is above 1.
func TestSharesOfSlots(t *testing.T) {
	for _, x := range []struct {
		share float64
		k     int64
		want  float64
	}{{0.04, 1, 0.05}, {0.04, 2, 0.09}, {0.04, 24, 0.97}, {0.04, 25, 1}, {0.4, 2, 0.9}, {0.4, 3, 1}, {0.0004, 1, 0.0005}} {
		if got := SlotShare(x.share, x.k); got != x.want {
			t.Errorf("%d AMs of %v: %v, want %v", x.k, x.share, got, x.want)
		}
	}
	for share, want := range map[float64]Steps{0.04: {0.05, 0.04, 0.03}, 0.9: {1, 0.9, 0.675}, 0.0401: {0.051, 0.041, 0.031},
		0.2: {0.25, 0.2, 0.15}} {
		if got := Derive(share); got != want {
			t.Errorf("%v: %+v, want %+v", share, got, want)
		}
	}
	for share, want := range map[float64]int{0: 3, -1: 3, 0.5: 3, 0.01: 3, 0.0099: 4, 0.001: 4, 1e-12: 9} {
		if got := digits(share); got != want {
			t.Errorf("%v is written in %d digits, want %d", share, got, want)
		}
	}
}

// The last eight values are recognised as ours.
func TestRemembersItsValues(t *testing.T) {
	var c loop
	for i := range 10 {
		c.write(&view{}, Raise, float64(i+1)/100, "")
	}
	if want := []float64{0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1}; !slices.Equal(c.ours, want) {
		t.Errorf("%v, want %v", c.ours, want)
	}
}

// A job gets to work within four times what jobs took lately, and at least a minute.
func TestTimeoutOfStarts(t *testing.T) {
	a := ahead{flight: 4, failed: 2, timed: true, timeout: startTimeout}
	for _, x := range []struct{ asked, now, lead, timeout unit.Time }{{0, 30, 30, 120}, {100, 110, 20, 80}, {200, 200, 10, 60}} {
		a.asked = x.asked * unit.Second
		if a.arrived(x.now * unit.Second); a.lead != x.lead*unit.Second || a.timeout != x.timeout*unit.Second || a.failed != 0 {
			t.Errorf("%d s: a lead of %v, a timeout of %v; want %d and %d s", x.now-x.asked, a.lead, a.timeout, x.lead, x.timeout)
		}
	}
	a.timed = false
	if a.arrived(unit.Hour); a.lead != 10*unit.Second || a.flight != 0 {
		t.Errorf("not timed: a lead of %v, %d on their way", a.lead, a.flight)
	}
	if a.arrived(unit.Hour); a.flight != 0 {
		t.Errorf("none was on its way: %d", a.flight)
	}
}
