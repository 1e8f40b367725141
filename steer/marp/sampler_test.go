package marp

import (
	"testing"

	"github.com/yardmaster/yardmaster/unit"
)

// gap steps until the next sample and returns the time since the one before.
func (y *fakeYard) gap() (Decision, unit.Time) {
	y.t.Helper()
	from := y.c.Last().Now
	for range 100 {
		if d, _ := y.step(); d.Sampled {
			return d, d.Now - from
		}
	}
	y.t.Fatal("no sample in 100 looks")
	return Decision{}, 0
}

// The vectors of the smoothing, through a whole controller, and the spacing of samples.
func TestCBTwS(t *testing.T) {
	y := newYard(t, "cbtws", 6, nil)
	y.jobs[0].Progress = 50
	y.begin()
	for i, c := range []struct {
		mean, d float64
		in      float64
		gap     unit.Time
	}{
		{50, 20, 0.09, 0}, {42.5, 9, 0.09, 47 * sec}, {52, 9, 0.09, 17 * sec}, {63.5, 10, 0.13, 17 * sec}, {63.5, 6, 0.13, 47 * sec},
	} {
		y.jobs[0].Progress = c.mean
		d, gap := y.gap()
		if d.D != c.d || d.Mean != c.mean || y.in != c.in || i > 0 && gap != c.gap {
			t.Fatalf("sample %d after %v: %v, in force %v; want %+v", i, gap, d, y.in, c)
		}
	}
	for i := range y.jobs {
		y.jobs[i].Started = true
	}
	y.gap()
	d, gap := y.gap()
	if gap != 37*sec || d.D != 4 || y.in != 0.13 { // 0.6 x 6: the sample before is kept while nothing waits
		t.Fatalf("nothing waits: %v after %v", d, gap)
	}
}

// A busy look is housekeeping; so is the look after the lockout, however idle.
func TestCBTwSHousekeeping(t *testing.T) {
	y := newYard(t, "cbtws", 6, nil)
	y.in = 0.25
	y.admit(95)
	y.admit(40)
	y.jobs[0].Progress = 10
	y.begin()
	y.expect(Raise, 0.29, 31*sec) // 19 after 0
	y.expect(Wait, 0.29, 15*sec)  // lockout
	y.expect(Lower, 0.26, sec)    // b has passed 90 %
	d, _ := y.step()              // its progress still counts, until 100 %
	if !d.Sampled || d.Mean != (10+95+40)/3.0 {
		t.Fatalf("%v", d)
	}
	y.idle = 0
	y.jobs[1].Progress = 100
	y.expect(Wait, y.in, 15*sec)
	y.expect(Wait, y.in, sec)
	y.idle = 50
	if d, _ := y.step(); !d.Sampled || d.Mean != 25 {
		t.Fatalf("%v", d)
	}
}

// Without a job that has made 1 % there is no sample; with nothing running at all one is let in.
func TestNoProgressYet(t *testing.T) {
	for _, name := range []string{"cbtws", "cbtwat"} {
		y := newYard(t, name, 3, nil)
		y.jobs[0].Progress = 0.99
		y.begin()
		y.expect(Wait, 0.05, sec)
		if y.c.Last().Sampled {
			t.Fatal("a sample of nothing")
		}
		y.expect(Wait, 0.05, 15*sec)
		y.expect(Wait, 0.05, sec)
		y.jobs[0].Started = false
		y.expect(Raise, 0.09, 31*sec)
	}
}

func TestCBTwAT(t *testing.T) {
	y := newYard(t, "cbtwat", 6, nil)
	y.jobs[0].Progress = 50
	y.begin()
	s := y.c.(*loop).controller.(*sampler)
	for i := range 9 {
		d, _ := y.gap()
		if d.Theta != s.arms.thetas[i/3] {
			t.Fatalf("sample %d: %v of %v", i, d, s.arms.thetas)
		}
		if exploring := i < 8; exploring != (s.arms.best == 0) {
			t.Fatalf("sample %d: best %d", i, s.arms.best)
		}
		if raised, want := d.Kind == Raise, i == 0; raised != want {
			t.Fatalf("sample %d: %v", i, d)
		}
	}
	if s.arms.best != s.arms.thetas[0] {
		t.Errorf("best %d of %v", s.arms.best, s.arms.thetas)
	}
}

// While nothing waits cbtwat goes on learning, and what it tracked meanwhile decides the first sample after.
func TestCBTwATTracker(t *testing.T) {
	for _, c := range []struct {
		name   string
		before []float64 // progress at samples while nothing waited
		after  float64   // at the first sample with a job waiting
		want   Kind
	}{
		{"a hit is kept", []float64{1, 51}, 71, Raise},                     // +20, then no growth
		{"a hit and a miss cancel", []float64{1, 51, 51}, 63, Wait},        // +20, -8, then no growth
		{"misses outweigh a hit", []float64{1, 51, 51, 51}, 78, Wait},      // +20, -8, -5, -3 (27 > 4): no more than even
		{"growth decides where nothing was kept", []float64{1}, 30, Raise}, // +12
	} {
		y := newYard(t, "cbtwat", 1, func(s *Settings) { s.Service = true })
		y.begin()
		for _, p := range c.before {
			y.jobs[0].Progress = p
			if d, _ := y.gap(); d.Kind != Wait {
				t.Fatalf("%s: %v", c.name, d)
			}
		}
		y.jobs = append(y.jobs, y.jobs[0])
		y.jobs[1].ID, y.jobs[1].Started, y.jobs[1].Progress = "z", false, 0
		y.jobs[0].Progress = c.after
		if d, _ := y.gap(); d.Kind != c.want {
			t.Errorf("%s: %v", c.name, d)
		}
	}
}
