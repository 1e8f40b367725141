package marp

import (
	"fmt"
	"testing"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

const sec = unit.Second

func TestStartUp(t *testing.T) {
	for name, warm := range map[string]unit.Time{"cbt": 11 * sec, "cbtws": 11 * sec, "cbtwat": 6 * sec} {
		y := newYard(t, name, 6, nil)
		jobs := y.jobs
		y.jobs = nil
		y.expect(Wait, 0.05, sec)
		y.expect(Wait, 0.05, sec)
		y.jobs = jobs
		y.expect(Wait, 0.05, 5*sec)
		y.mend = func(s *steer.Snapshot) { // a batch is complete when its list is
			s.Queues[1].Waiting += 14
			for i := range 13 {
				s.Jobs = append(s.Jobs, steer.Job{ID: string(rune('A' + i)), Queue: "root.default"})
			}
		}
		y.expect(Wait, 0.05, sec)
		y.mend = nil
		y.expect(Wait, 0.05, warm)
	}
}

// Idle lets exactly one more in, followed by the long wait; a drop is followed by none.
func TestCBT(t *testing.T) {
	y := newYard(t, "cbt", 6, nil)
	y.begin()
	y.idle = 15 // not more than 15
	y.expect(Wait, 0.05, sec)
	y.idle = 15.4
	y.expect(Wait, 0.05, sec)
	y.idle = 15.5 // counts as 16
	y.expect(Raise, 0.09, 31*sec)
	y.admit(0)
	y.idle = 3
	y.jobs[0].Progress = 95.9
	y.expect(Wait, 0.09, sec)
	y.jobs[0].Progress = 96
	y.expect(Lower, 0.06, sec)
	y.expect(Wait, 0.06, sec) // once a job
	y.end("a")
	y.expect(Wait, 0.06, sec)
	y.idle = 80
	y.expect(Raise, 0.1, 31*sec)
}

// A job that ends while processors idle is noticed in the next busy look only.
func TestCBTLateDrop(t *testing.T) {
	y := newYard(t, "cbt", 3, nil)
	y.begin()
	y.expect(Raise, 0.09, 31*sec)
	y.admit(10)
	y.end("a")
	y.expect(Raise, 0.13, 31*sec)
	y.admit(10)
	y.idle = 0
	y.expect(Lower, 0.1, sec)
}

// Any end counts, also that of a job that was not seen to start: looks may be 47 s apart.
func TestKilledWhileWaiting(t *testing.T) {
	y := newYard(t, "cbt", 3, nil)
	y.in, y.idle = 0.25, 0
	y.begin()
	y.end("c")
	y.expect(Lower, 0.22, sec)
	y = newYard(t, "ahead", 6, nil) // looks every second, and knows better
	y.idle = 0
	y.reads(0, 30, 20, 0)
	y.expect(Wait, 0.05, sec)
	y.in = 0.05
	y.end("c")
	y.expect(Wait, 0.05, sec)
}

func TestManyDropsAreOneWrite(t *testing.T) {
	for _, name := range []string{"cbt", "cbtws", "cbtwat"} {
		y := newYard(t, name, 6, nil)
		y.in, y.idle = 0.25, 0
		for range 5 {
			y.admit(0)
		}
		y.begin()
		y.expect(Wait, 0.25, sec)
		y.jobs[1].Progress, y.jobs[2].Progress = 97, 99.5
		y.end("a")
		y.expect(Lower, 0.16, sec) // 3 x 0.030
		y.expect(Wait, 0.16, sec)
	}
}

// Steps leak 0.010 a job: after three ends the share lets two in by itself. Slots do not.
func TestDrift(t *testing.T) {
	want := []float64{0.09, 0.06, 0.10, 0.07, 0.11, 0.08}
	y := newYard(t, "cbt", 12, nil)
	y.begin()
	slots := newYard(t, "cbt", 12, func(s *Settings) { s.Slots = true })
	slots.begin()
	for i, in := range want {
		for _, z := range []*fakeYard{y, slots} {
			if z.idle = 0; i%2 == 0 {
				z.idle = 60
			}
			z.step()
			if z.admit(50); i%2 == 0 {
				z.jobs[0].Progress = 100
			} else {
				z.end(z.jobs[0].ID)
			}
		}
		if y.in != in {
			t.Fatalf("step %d: %v, want %v", i, y.in, in)
		}
		if got, want := amlimit.FairV2.Slots(sourceTotal, sourceAM, unit.Resources{}, slots.in), int64(2-i%2); got != want {
			t.Fatalf("step %d: slots %d (share %v), want %d", i, got, slots.in, want)
		}
	}
	if got := amlimit.FairV2.Slots(sourceTotal, sourceAM, unit.Resources{}, y.in); got != 2 {
		t.Errorf("after three jobs the share of %v lets %d in", y.in, got)
	}
	if slots.in != 0.049 {
		t.Errorf("slots hold %v for one AM", slots.in)
	}
}

func TestBounds(t *testing.T) {
	y := newYard(t, "cbt", 3, nil)
	y.begin()
	y.idle = 0
	y.jobs[0].Progress = 99
	y.expect(Lower, 0.04, sec) // not 0.02, at which no AM starts
	y = newYard(t, "cbt", 3, func(s *Settings) { s.Max = 0.08 })
	y.begin()
	y.expect(Raise, 0.08, 31*sec)
	y.expect(Wait, 0.08, sec)
	y = newYard(t, "cbt", 3, nil)
	y.in = 0.02 // below the bound when found: a drop does not raise it, an increase does
	y.begin()
	y.idle = 0
	y.jobs[0].Progress = 99
	y.expect(Wait, 0.02, sec)
	y.idle = 50
	y.expect(Raise, 0.06, 31*sec)
}

func TestRestoreAtTheEnd(t *testing.T) {
	for _, name := range []string{"cbt", "cbtws", "cbtwat", "ahead", "static"} {
		y := newYard(t, name, 2, func(s *Settings) { s.Preset = true })
		y.in = 0.123
		for range 8 {
			y.step()
		}
		y.jobs = nil
		d, again := y.step()
		for ; again > 0 && d.Kind != Restore; d, again = y.step() {
		}
		if d.Kind != Restore || y.in != 0.123 || again != 0 {
			t.Fatalf("%s: %v, in force %v", name, d, y.in)
		}
		y.expect(Wait, 0.123, 0)
	}
}

// A service takes in what comes later, goes back to its first value between batches and never ends by itself.
func TestService(t *testing.T) {
	y := newYard(t, "cbt", 2, func(s *Settings) { s.Service = true })
	y.begin()
	y.expect(Raise, 0.09, 31*sec)
	y.admit(5)
	late := steer.Job{ID: "late", Queue: "root.default", Started: true, Progress: 97}
	y.jobs = append(y.jobs, late)
	y.idle = 0
	y.expect(Lower, 0.06, sec)
	y.jobs = nil
	y.expect(Lower, 0.05, sec)
	y.expect(Wait, 0.05, sec)
	y.jobs = []steer.Job{late, {ID: "n", Queue: "root.default"}}
	y.idle = 60
	y.begin()
	y.expect(Raise, 0.09, 31*sec)

	y = newYard(t, "cbt", 2, nil) // a batch is what was there at the start
	y.begin()
	y.jobs = append(y.jobs, late)
	y.idle = 0
	y.expect(Wait, 0.05, sec)
}

// A service lets no fewer jobs run than the value that it found, unless it is told a lower bound.
func TestServiceKeepsFound(t *testing.T) {
	for _, least := range []float64{0, 0.05} {
		y := newYard(t, "cbt", 6, func(s *Settings) { *s = s.AsService(); s.Min = least })
		y.in = 0.13
		y.begin()
		y.idle = 0
		for len(y.jobs) > 0 {
			y.jobs[0].Progress = 99
			y.step()
			y.jobs = y.jobs[1:]
		}
		y.step()
		want := 0.13
		if least > 0 {
			want = 0.05
		}
		if y.in != want {
			t.Errorf("lower bound %v: ends at %v, want %v", least, y.in, want)
		}
	}
}

// ahead holds the number of jobs that run, at its first look too: not as a service, where that is less than what it found.
func TestServiceKeepsFoundAtOnce(t *testing.T) {
	y := newYard(t, "ahead", 6, func(s *Settings) { *s = s.AsService(); s.Settle, s.Warm = 0, 0 })
	y.in = 0.25
	for range 5 {
		y.idle = 0
		if y.step(); y.in < 0.25 {
			t.Fatalf("lowered to %v", y.in)
		}
	}
}

// A service whose processors idle for days, with jobs that come and go, remembers only those that are there, and its first busy
// look does not give back all that ever ended.
func TestServiceForgets(t *testing.T) {
	y := newYard(t, "cbt", 3, func(s *Settings) { s.Service = true })
	for i := range 500 {
		y.step()
		y.jobs = append(y.jobs[1:], steer.Job{ID: fmt.Sprint("later", i), Queue: "root.default", Started: i%2 == 0})
		y.jobs[0].Started = true
	}
	if n := len(y.c.(*loop).jobs); n > len(y.jobs)+1 {
		t.Errorf("%d jobs are remembered, %d are there", n, len(y.jobs))
	}
	before := y.in
	y.idle = 0
	for range 3 {
		y.step()
	}
	if y.in < before-3*SourceSteps().Dec {
		t.Errorf("from %v to %v in the first busy looks", before, y.in)
	}
}

func TestStartedFirst(t *testing.T) {
	for _, on := range []bool{false, true} {
		y := newYard(t, "cbt", 3, func(s *Settings) { s.StartedFirst = on })
		y.begin()
		if !on {
			y.expect(Raise, 0.09, 31*sec)
			continue
		}
		y.expect(Wait, 0.05, sec)
		y.jobs[0].Progress = 1
		y.expect(Raise, 0.09, 31*sec)
	}
}

// The Capacity Scheduler takes a share at once: half the wait will do. Its knob has another name.
func TestOnCapacity(t *testing.T) {
	y := newYard(t, "cbt", 3, func(s *Settings) { *s = s.On(amlimit.Capacity) })
	y.begin()
	y.expect(Raise, 0.09, 16*sec)
	if s := Defaults("cbt", "q"); s.On(amlimit.Fair) != s {
		t.Error("the Fair Scheduler is what the source used")
	}
}

// A queue's AMs tell their size where its jobs do not.
func TestAMOfTheQueue(t *testing.T) {
	y := newYard(t, "cbt", 3, func(s *Settings) { s.AM = unit.Resources{} })
	y.mend = func(s *steer.Snapshot) { s.Queues[1].AMs = unit.Resources{Mem: 2000, Cores: 1} }
	y.begin()
	y.expect(Raise, 0.09, 31*sec)
	y.mend = nil // once known it is kept
	y.expect(Raise, 0.13, 31*sec)
	y.jobs[0].AM = sourceAM
	y.expect(Raise, 0.17, 31*sec)
	y.jobs[0].AM = unit.Resources{} // what a job has told counts for more than a mean
	y.mend = func(s *steer.Snapshot) { s.Queues[1].AMs = unit.Resources{Mem: 9000, Cores: 4} }
	y.expect(Raise, 0.21, 31*sec)
}

func TestNothingWaits(t *testing.T) {
	y := newYard(t, "cbt", 1, nil)
	y.begin()
	for range 5 {
		y.expect(Wait, 0.05, sec)
	}
}

// What somebody else has set, or a write that was refused, is taken as it is once it has had time to be felt.
func TestTakeOver(t *testing.T) {
	y := newYard(t, "cbt", 6, nil)
	y.begin()
	y.step()
	if y.in != 0.09 {
		t.Fatal(y.in)
	}
	y.in = 0.2 // 31 s after the write
	y.expect(Raise, 0.24, 31*sec)
	y.idle, y.jobs[0].Progress = 0, 99
	y.expect(Lower, 0.21, sec)
	y.in = 0.24 // the drop is not felt yet
	y.expect(Wait, 0.24, sec)
	y.idle = 70
	y.expect(Raise, 0.25, 31*sec)
}

func TestTooEarlyAndBackwards(t *testing.T) {
	y := newYard(t, "cbt", 6, nil)
	y.begin()
	y.step()
	y.now -= 20 * sec // a look that was not asked for
	d, again := y.step()
	if d.Kind != Wait || again != 20*sec {
		t.Fatalf("%v, again in %v", d, again)
	}
	y.now -= 40 * sec
	if d, _ := y.step(); d.Kind != Refuse {
		t.Fatalf("%v", d)
	}
	y.expect(Raise, 0.13, 31*sec) // goes on from there
}
