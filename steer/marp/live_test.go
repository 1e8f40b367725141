package marp

import (
	"testing"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// What happens on live queues and not in batches on a cluster of one's own.

// service is a yard whose policy runs as yarn steer has it.
func service(t *testing.T, name string, jobs int, change func(*Settings)) *fakeYard {
	return newYard(t, name, jobs, func(s *Settings) {
		*s = s.AsService()
		if change != nil {
			change(s)
		}
	})
}

// raises plays looks and returns the values that they raise to.
func (y *fakeYard) raises(looks int) (to []float64) {
	for range looks {
		if d, _ := y.step(); d.Kind == Raise {
			to = append(to, d.New)
		}
	}
	return to
}

// A bound lets in another number of AMs than was meant: that number counts from then on.
func TestHeldValueIsCounted(t *testing.T) {
	y := service(t, "cbt", 12, func(s *Settings) { s.Slots = true })
	y.in, y.idle = 0.2, 60 // room for five
	for range 4 {
		y.admit(10)
	}
	y.begin()
	if got := y.raises(3); len(got) != 3 || got[2] != SlotShare(sourceShare, 8) {
		t.Fatalf("raised to %v", got)
	}
	for range 3 {
		y.admit(10)
	}
	y.idle = 0
	for i := range 7 {
		y.jobs[i].Progress = 99
	}
	y.expect(Lower, 0.2, sec) // not to the one that is left
	y.idle = 60
	if got := y.raises(1); len(got) != 1 || got[0] != SlotShare(sourceShare, 6) {
		t.Errorf("raised to %v", got)
	}
}

// A person's value is gone on from, and is the one below which a service does not go.
func TestAPersonsValue(t *testing.T) {
	y := service(t, "cbt", 6, nil)
	y.in, y.idle = 0.5, 0
	y.begin()
	y.step()
	y.in, y.idle = 0.1, 50
	y.expect(Raise, 0.14, 31*sec)
	y.idle, y.jobs[0].Progress = 0, 99
	y.expect(Lower, 0.11, sec)
	y.end("a")
	y.jobs[0].Started, y.jobs[0].Progress = true, 99
	y.expect(Lower, 0.1, sec)
}

// One of our own values that comes into force late is no person's.
func TestLateIsNotForeign(t *testing.T) {
	y := service(t, "cbt", 6, nil)
	y.begin()
	y.expect(Raise, 0.09, 31*sec)
	y.expect(Raise, 0.13, 31*sec)
	y.in, y.idle = 0.09, 0 // the first one, half a minute later
	y.step()
	y.jobs[0].Progress = 99
	y.expect(Lower, 0.06, sec)
	y.end("a")
	y.expect(Wait, 0.06, sec)
	y.jobs[0].Started, y.jobs[0].Progress = true, 99
	y.expect(Lower, 0.05, sec) // the value found
}

// The Capacity Scheduler rounds the limit up to whole minimum allocations, of which an AM may be one.
func TestSlotSharesOfCapacity(t *testing.T) {
	for _, parts := range []int64{1, 2, 3, 4, 8, 16, 32, 64, 256} {
		for _, queue := range []int64{8 << 10, 52224, 3 << 20, 400 << 20} {
			s := Defaults("ahead", "q").On(amlimit.Capacity)
			s.Minimum = unit.Resources{Mem: 6144 / parts, Cores: 1}
			am := unit.Resources{Mem: s.Minimum.Mem * parts, Cores: 1}
			v := &view{capacity: unit.Resources{Mem: queue, Cores: 1000}, am: am, share: amlimit.Capacity.Of(unit.Resources{Mem: queue}, am)}
			c := &loop{set: s}
			for k := int64(1); k*am.Mem < queue-am.Mem && k <= 40; k++ {
				if got := amlimit.Capacity.Slots(v.capacity, am, s.Minimum, c.slotShare(v, k)); got != k {
					t.Errorf("minimum allocation 1/%d of an AM, queue of %d MiB: %d AMs wanted, %d let in", parts, queue, k, got)
				}
			}
			if c.measure(v); amlimit.Capacity.Slots(v.capacity, am, s.Minimum, c.first(v)) != 1 {
				t.Errorf("minimum allocation 1/%d of an AM, queue of %d MiB: it begins with %v", parts, queue, c.first(v))
			}
		}
	}
}

// A job that never tells its progress must not keep others out of a service for ever.
func TestForcedWithoutProgress(t *testing.T) {
	for _, name := range []string{"cbtws", "cbtwat"} {
		y := service(t, name, 5, nil)
		y.jobs[0].Progress, y.jobs[0].Running = 0.5, 2
		for y.now < 10*unit.Minute {
			if d, _ := y.step(); d.Kind == Raise {
				break
			}
		}
		if y.now >= 10*unit.Minute {
			t.Errorf("%s: nobody is let in: %v", name, y.c.Last())
		}
	}
}

// A share below one AM lets nothing start on the Fair Scheduler, however busy others keep the cluster; --min cannot mean less.
func TestBelowOneAM(t *testing.T) {
	for _, name := range []string{"cbt", "cbtws", "cbtwat", "ahead"} {
		y := service(t, name, 3, func(s *Settings) { s.Min = 0.01 })
		y.in, y.idle = 0.02, 0
		y.jobs[0].Started = false
		for y.now < unit.Minute && y.in == 0.02 {
			y.step()
		}
		if amlimit.FairV2.Slots(sourceTotal, sourceAM, unit.Resources{}, y.in) != 1 {
			t.Errorf("%s: %v in force: %v", name, y.in, y.c.Last())
		}
	}
}

// A clock that is set back freezes nothing.
func TestClockSetBack(t *testing.T) {
	y := service(t, "ahead", 6, nil)
	y.idle, y.now = 40, 2*unit.Hour
	y.reads(0, 60, 2, 0)
	y.expect(Wait, 0.05, sec)
	y.expect(Raise, 0.088, sec)
	y.now -= unit.Hour
	y.mend = func(s *steer.Snapshot) { s.Queues[1].Waiting = 1000 } // and that look is of no use besides
	if d, _ := y.step(); d.Kind != Refuse {
		t.Fatal(d)
	}
	y.mend = nil
	y.in = 0.3 // somebody's
	for range 70 {
		y.step()
	}
	if y.in <= 0.3 {
		t.Errorf("%v in force: %v", y.in, y.c.Last())
	}
}

// Steps that were derived for a tenth of the cluster are no steps for the whole of it.
func TestStepsFollowTheCluster(t *testing.T) {
	y := service(t, "cbt", 6, nil)
	y.mend = func(s *steer.Snapshot) { s.Total.Mem /= 10 }
	y.in = 0.5
	y.begin()
	y.mend = nil
	y.expect(Raise, 0.54, 31*sec)
}

// A queue's jobs are judged by their own part of the processors' work.
func TestAheadBesideOthers(t *testing.T) {
	y := leadOf(t, 20, nil)
	y.mend = func(s *steer.Snapshot) {
		s.Used = unit.Resources{Mem: 50_000, Cores: 50}
		s.Queues[1].Used = unit.Resources{Mem: 5_000, Cores: 5}
	}
	y.idle = 10
	for p := 5.0; p < 50; p++ { // its maps end, and a tenth of what runs with them
		y.reads(0, 60, 2, 0)
		y.reads(1, p, 3, 0)
		if d, _ := y.step(); d.Kind == Raise || d.Forecast > 0.25 {
			t.Fatalf("at %v %%: %v", p, d)
		}
	}
}
