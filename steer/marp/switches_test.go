package marp

import (
	"math"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// play feeds a controller with one running job's progress, sample by sample, and returns which samples let a job in.
func play(t *testing.T, name string, progress []float64, change func(*Settings)) (raised []int, last Decision) {
	y := newYard(t, name, 20, change)
	y.jobs[0].Progress = progress[0]
	y.begin()
	for i, p := range progress {
		y.jobs[0].Progress = p
		d, _ := y.gap()
		if d.Kind == Raise {
			raised = append(raised, i)
		}
		last = d
	}
	return raised, last
}

func TestSwitches(t *testing.T) {
	only := func(theta int) func(*Settings) {
		return func(s *Settings) { s.Thresholds, s.Lowest, s.Highest = 1, theta, theta }
	}
	steady := []float64{10, 20, 30, 40, 50, 60, 70} // smoothed: 4 6 8 9 9 9 9
	cases := []struct {
		name, who string
		progress  []float64
		change    func(*Settings)
		want      []int
	}{
		{"a steady pace lets nobody in for long", "cbtws", steady, nil, []int{0, 1, 2, 3}},
		{"threshold 1 is cbtws", "cbtwat", steady, only(1), []int{0, 1, 2, 3}},
		{"threshold 2", "cbtwat", steady, only(2), []int{0, 1, 2}},
		{"threshold 2, strict", "cbtwat", steady, func(s *Settings) { only(2)(s); s.Strict = true }, []int{0}},
		{"threshold 1, strict, is 2", "cbtwat", steady, func(s *Settings) { only(1)(s); s.Strict = true }, []int{0, 1, 2}},
		{"forced after two idle samples", "cbtws", steady, func(s *Settings) { s.ForceAfter = 2 }, []int{0, 1, 2, 3, 5}},
		{"forced after one", "cbtws", steady, func(s *Settings) { s.ForceAfter = 1 }, []int{0, 1, 2, 3, 4, 5, 6}},
		{"not smoothed", "cbtws", []float64{10, 20, 31, 41, 52}, func(s *Settings) { s.Smoothing = SMA }, []int{0, 2, 4}},
		// 47 s lie between samples after an increase, 17 s otherwise: what seems faster is only longer.
		{"as it comes", "cbtws", []float64{8, 8, 8, 13, 18, 23}, nil, []int{0, 3, 4}},
		{"scaled to 15 s", "cbtws", []float64{8, 18, 25, 32}, func(s *Settings) { s.PerSample = 15 * sec }, []int{0, 2}},
		{"the same as it comes", "cbtws", []float64{8, 18, 25, 32}, nil, []int{0, 1}}, // smoothed: 3 6 6 6; scaled: 3 3 4 3
		{"weights", "cbtws", steady, func(s *Settings) { s.Current, s.Previous = 1, 0 }, []int{0}},
	}
	for _, c := range cases {
		if got, _ := play(t, c.who, c.progress, c.change); !slices.Equal(got, c.want) {
			t.Errorf("%s: let in at samples %v, want %v", c.name, got, c.want)
		}
	}
}

// A job that starts pulls the mean down; each job's own progress does not fall.
func TestPerJob(t *testing.T) {
	for _, on := range []bool{false, true} {
		y := newYard(t, "cbtws", 6, func(s *Settings) { s.PerJob = on })
		y.jobs[0].Progress = 40
		y.begin()
		y.gap()
		y.jobs[0].Progress = 60
		y.admit(2)
		d, _ := y.gap()
		if want := map[bool]float64{false: 31 - 40, true: 20}[on]; math.Abs(d.Raw-want) > 1e-9 {
			t.Errorf("per job %v: raw %v, want %v", on, d.Raw, want)
		}
		y.jobs[1].Progress = 12
		y.end("a")
		if d, _ := y.gap(); math.Abs(d.Raw-map[bool]float64{false: 12 - 31, true: 10}[on]) > 1e-9 {
			t.Errorf("per job %v: raw %v after an end", on, d.Raw)
		}
	}
	y := newYard(t, "cbtws", 6, func(s *Settings) { s.PerJob = true })
	y.jobs[0].Progress = 40
	y.begin()
	y.gap()
	y.end("a")
	y.admit(10) // none is in both samples: nothing to compare, but this one is the next to compare with
	for range 4 {
		if d, _ := y.step(); d.Sampled {
			t.Fatalf("%v", d)
		}
	}
	y.jobs[0].Progress = 15
	if d, _ := y.gap(); d.Raw != 5 {
		t.Errorf("raw %v", d.Raw)
	}
}

func TestDiscardFirst(t *testing.T) {
	for _, on := range []bool{false, true} {
		y := newYard(t, "cbtwat", 20, func(s *Settings) { s.DiscardFirst = on })
		y.jobs[0].Progress = 50
		y.begin()
		a := y.c.(*loop).controller.(*sampler).arms
		n := 0
		for ; a.best == 0; n++ {
			if d, _ := y.gap(); n == 0 && d.Kind != Raise {
				t.Errorf("the first sample decides all the same: %v", d)
			}
		}
		if want := map[bool]int{false: 9, true: 10}[on]; n != want {
			t.Errorf("discard %v: %d samples of exploring, want %d", on, n, want)
		}
		if first := a.scores[0]; first > 0 == on { // 20 -8 -5, without the first -8 -5 -3
			t.Errorf("discard %v: the first threshold scores %d", on, first)
		}
	}
}

func TestPreset(t *testing.T) {
	y := newYard(t, "cbt", 6, func(s *Settings) { s.Preset = true })
	y.in = 0.5
	y.expect(Set, 0.05, sec)
	y.expect(Wait, 0.05, 5*sec)

	y = newYard(t, "cbt", 6, func(s *Settings) { s.Preset, s.Slots = true, true })
	y.in = 0 // not known: what is written is
	y.expect(Set, 0.049, sec)
	y.begin()
	y.expect(Raise, 0.088, 31*sec)

	y = newYard(t, "cbt", 6, func(s *Settings) { s.Preset = true })
	y.in = -1 // no limit
	y.expect(Set, 0.05, sec)
}

func TestDropFrom(t *testing.T) {
	for who, from := range map[string]float64{"cbt": 96, "cbtws": 90, "cbtwat": 90} {
		y := newYard(t, who, 2, nil)
		y.in, y.idle = 0.25, 0
		y.begin()
		y.jobs[0].Progress = from - 0.01
		y.expect(Wait, 0.25, sec)
		y.jobs[0].Progress = from
		y.expect(Lower, 0.22, sec)
		y = newYard(t, who, 2, func(s *Settings) { s.DropFrom = 50 })
		y.in, y.idle = 0.25, 0
		y.begin()
		y.jobs[0].Progress = 50
		y.expect(Lower, 0.22, sec)
	}
}

// Steps come from what is seen when they are not given, and the size of an AM from whoever tells it.
func TestStepsAsSeen(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Settings)
		mend   func(*fakeYard)
	}{
		{"told", nil, nil},
		{"rounded up", func(s *Settings) { s.AM = unit.Resources{Mem: 1536, Cores: 1} }, nil},
		{"of a job", func(s *Settings) { s.AM = unit.Resources{} }, func(y *fakeYard) { y.jobs[0].AM = sourceAM }},
		{"given steps", func(s *Settings) { s.AM, s.Steps = unit.Resources{}, SourceSteps() }, nil},
	} {
		y := newYard(t, "cbt", 6, c.change)
		if c.mend != nil {
			c.mend(y)
		}
		y.begin()
		t.Log(c.name)
		y.expect(Raise, 0.09, 31*sec)
	}
}

// Steps belong to a batch: a cluster that grows meanwhile does not change them; the next batch has its own.
func TestStepsOfABatch(t *testing.T) {
	y := newYard(t, "cbt", 6, func(s *Settings) { s.Service = true })
	y.begin()
	y.mend = func(s *steer.Snapshot) { s.Total = s.Total.Times(2) }
	y.expect(Raise, 0.09, 31*sec)
	jobs := y.jobs
	y.jobs = nil
	y.step()
	y.jobs = jobs
	y.begin()
	y.expect(Raise, 0.07, 31*sec)
}

// Each batch of a service learns its own thresholds.
func TestLearnsAnew(t *testing.T) {
	a := learned(3, nil, map[int]float64{1: 1, 2: 2, 3: 3, 4: 4})
	if a.best == 0 {
		t.Fatal("nothing learned")
	}
	if a.begin(); a.best != 0 || a.choose() != a.thetas[0] {
		t.Error("the next batch does not explore")
	}
}

func TestCheck(t *testing.T) {
	for i, spoil := range []func(*Settings){
		func(s *Settings) { s.Queue = "" },
		func(s *Settings) { s.Limit.Property = "" },
		func(s *Settings) { s.AM.Mem = -1 },
		func(s *Settings) { s.Steps = Steps{Start: 0.1} },
		func(s *Settings) { s.Steps = Steps{Start: 0.1, Inc: math.NaN(), Dec: 0.1} },
		func(s *Settings) { s.Min = 0.9; s.Max = 0.5 },
		func(s *Settings) { s.Max = math.NaN() },
		func(s *Settings) { s.IdleAbove = 100 },
		func(s *Settings) { s.Interval = 0 },
		func(s *Settings) { s.Lockout = -1 },
		func(s *Settings) { s.Warm = unit.Never },
		func(s *Settings) { s.Current = 0.5 },
		func(s *Settings) { s.Thresholds = 5 },
		func(s *Settings) { s.Epsilon = 101 },
		func(s *Settings) { s.MaxAge = 0 },
		func(s *Settings) { s.IdleTarget = 1 },
		func(s *Settings) { s.High = 0.5 },
	} {
		s := Defaults("cbtwat", "q")
		spoil(&s)
		if _, err := New("cbtwat", s); err == nil {
			t.Errorf("case %d passes", i)
		}
	}
	for _, name := range Names() {
		s := Defaults(name, "q")
		s.Value = 0.2
		if _, err := New(name, s); err != nil {
			t.Error(err)
		}
	}
	if _, err := New("cbtx", Defaults("cbtx", "q")); err == nil {
		t.Error("an unknown name passes")
	}
	if _, err := New("static", Defaults("static", "q")); err == nil {
		t.Error("static without a value passes")
	}
}
