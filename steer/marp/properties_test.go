package marp

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// anySettings draws a controller with any of its switches.
func anySettings(t *rapid.T) (string, Settings) {
	name := rapid.SampledFrom(Names()).Draw(t, "controller")
	s := Defaults(name, "root.default")
	flag := func(what string) bool { return rapid.Bool().Draw(t, what) }
	s.Limit = rapid.SampledFrom([]amlimit.Limit{amlimit.Fair, amlimit.FairV2, amlimit.Capacity}).Draw(t, "rule")
	s.AM, s.Seed, s.Value = sourceAM, rapid.Uint64().Draw(t, "seed"), 0.25
	s.Slots = s.Slots || flag("slots")
	s.Service, s.Preset, s.StartedFirst, s.Strict = flag("service"), flag("preset"), flag("started first"), flag("strict")
	s.ArmByIndex, s.DiscardFirst, s.PerJob = flag("by index"), flag("discard"), flag("per job")
	if flag("scaled") {
		s.PerSample = 15 * sec
	}
	if flag("not smoothed") {
		s.Smoothing = SMA
	}
	s.ForceAfter = rapid.IntRange(0, 3).Draw(t, "force")
	if flag("ceiling") {
		s.Max = 0.3
	}
	return name, s
}

// Whatever is seen: at most one action, within the bounds, no raise while nothing waits, a reason, the same again from
// the same snapshots, and nothing on what cannot be.
func TestWhateverIsSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name, s := anySettings(t)
		a, err := New(name, s)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := New(name, s)
		share := s.Limit.Of(sourceTotal, s.AM)
		least := max(ceilTo(share, 3), s.Min)
		y := &fakeYard{in: rapid.SampledFrom([]float64{0.05, 0.02, 0.25, 1, 0.049}).Draw(t, "found")}
		found, n := y.in, 0
		for range rapid.IntRange(1, 60).Draw(t, "looks") {
			y.idle = float64(rapid.IntRange(0, 100).Draw(t, "idle"))
			for range rapid.IntRange(0, 2).Draw(t, "come") {
				n++
				y.jobs = append(y.jobs, steer.Job{ID: string(rune('a'+n%26)) + string(rune('a'+n/26%26)), Queue: "root.default"})
			}
			for i := range y.jobs {
				j := &y.jobs[i]
				if j.Started = j.Started || rapid.IntRange(0, 4).Draw(t, "starts") == 0; j.Started {
					j.Progress = min(100, j.Progress+float64(rapid.IntRange(0, 30).Draw(t, "progress")))
					j.Running, j.Pending = int64(rapid.IntRange(1, 30).Draw(t, "containers")), int64(rapid.IntRange(0, 30).Draw(t, "wants"))
				}
			}
			if len(y.jobs) > 0 && rapid.IntRange(0, 4).Draw(t, "ends") == 0 {
				y.end(y.jobs[0].ID)
			}
			y.mend = nil
			spoilt := len(y.jobs) > 1 && rapid.IntRange(0, 5).Draw(t, "spoil") == 0
			if spoilt {
				y.mend = rapid.SampledFrom(impossible).Draw(t, "how").spoil
			}
			snap := y.snapshot()
			do, again := a.Step(snap)
			d := a.Last()
			twin, same := b.Step(y.snapshot())
			if !reflect.DeepEqual(do, twin) || again != same || d.String() != b.Last().String() {
				t.Fatalf("two controllers differ: %v\n%v", d, b.Last())
			}
			if d.Why == "" || len(do) > 1 || again < 0 || again > unit.Hour {
				t.Fatalf("%d actions, again in %v: %v", len(do), again, d)
			}
			if over := d.Why == "the batch is over" && !s.Service; spoilt && (len(do) > 0 || d.Kind != Refuse && !over) {
				t.Fatalf("acts on what cannot be: %v", d)
			}
			for _, act := range do {
				v := act.Value
				switch {
				case d.Kind == Raise && (d.Pending == 0 || v <= d.Old), d.Kind == Lower && v >= d.Old:
					t.Fatalf("wrong way: %v", d)
				case (d.Kind == Raise || d.Kind == Lower) && (v < least-1e-9 || v > s.Max):
					t.Fatalf("out of %v..%v: %v", least, s.Max, d)
				case d.Kind == Restore && v != found:
					t.Fatalf("puts back %v, found %v", v, found)
				case act.Why != d.Why || act.Property != s.Limit.Property || act.Queue != s.Queue:
					t.Fatalf("%+v", act)
				}
				y.in = v
			}
			if again == 0 {
				return
			}
			y.now += again
		}
	})
}

// While processors idle and jobs wait somebody is let in sooner or later. Acceleration may stall for ever: cbtws and
// cbtwat promise it only where nothing runs, or with their guard on. It is so too where a service waited for the first job, which tells
// how large AMs are.
func TestSomebodyIsLetIn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"cbt", "cbtws", "cbtwat", "ahead", "kalman-mem"}).Draw(t, "controller")
		s := Defaults(name, "root.default")
		s.Limit, s.AM, s.Seed = amlimit.FairV2, sourceAM, rapid.Uint64().Draw(t, "seed")
		runs := rapid.Bool().Draw(t, "one runs")
		if runs {
			s.ForceAfter = rapid.IntRange(1, 5).Draw(t, "force")
		}
		s.Slots = s.Slots || rapid.Bool().Draw(t, "slots")
		early := rapid.Bool().Draw(t, "before the first job")
		if early {
			s.AM, s.Service = unit.Resources{}, true
		}
		c, err := New(name, s)
		if err != nil {
			t.Fatal(err)
		}
		y := &fakeYard{c: c, in: rapid.Float64Range(0.001, 0.5).Draw(t, "found"), idle: rapid.Float64Range(17, 100).Draw(t, "idle")}
		for i := range rapid.IntRange(2, 8).Draw(t, "jobs") {
			y.jobs = append(y.jobs, steer.Job{ID: string(rune('a' + i)), Queue: "root.default", AM: sourceAM})
		}
		if runs {
			y.jobs[0].Started, y.jobs[0].Running = true, 2
			y.jobs[0].Progress = rapid.Float64Range(1, 89).Draw(t, "progress")
		}
		if early {
			jobs := y.jobs
			y.jobs = nil
			_, again := c.Step(y.snapshot())
			y.jobs, y.now = jobs, again
		}
		for y.now < 10*unit.Minute {
			do, again := c.Step(y.snapshot())
			if len(do) > 0 {
				y.in = do[0].Value
			}
			if c.Last().Kind == Raise {
				return
			}
			y.now += again
		}
		t.Fatalf("nobody is let in: %v", c.Last())
	})
}
