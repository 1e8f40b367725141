package marp

import (
	"math"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
)

// reads sets what is seen of a job.
func (y *fakeYard) reads(i int, progress float64, running, pending int64) {
	j := &y.jobs[i]
	j.Progress, j.Running, j.Pending = progress, running, pending
}

// leadOf plays a first raise whose job gets to work after so many seconds.
func leadOf(t *testing.T, seconds int, change func(*Settings)) *fakeYard {
	y := newYard(t, "ahead", 6, change)
	y.idle = 40
	y.reads(0, 60, 2, 0)
	y.expect(Wait, 0.05, sec)
	y.expect(Raise, 0.088, sec)
	for range seconds - 1 {
		y.expect(Wait, 0.088, sec)
	}
	y.admit(1)
	y.idle = 0
	y.reads(1, 5, 25, 0)
	d, _ := y.step()
	if d.Lead != unit.Time(seconds)*sec {
		t.Fatalf("the lead is %v", d.Lead)
	}
	return y
}

func TestAheadMeasuresTheLead(t *testing.T) { leadOf(t, 20, nil) }

func TestAheadHoldsWhatRuns(t *testing.T) {
	y := newYard(t, "ahead", 6, nil)
	y.in = 0.5
	y.admit(0)
	y.admit(0)
	y.expect(Lower, SlotShare(sourceShare, 3), sec)
}

// With the processors busy it raises because the maps are nearly done; not before, and not if others wait for the room.
func TestAheadActsEarly(t *testing.T) {
	for _, wants := range []int64{0, 200} {
		y := leadOf(t, 20, nil)
		y.reads(0, 60, 2, wants)
		raised := 0.0
		for p := 5.0; p < 50; p += 0.5 { // 1.1 % of the maps a second: 20 s are 22 %
			y.reads(1, p, 25, 0)
			if d, _ := y.step(); d.Kind == Raise {
				raised = p
				break
			}
		}
		if wants == 0 && (raised < 39 || raised > 42) || wants > 0 && raised > 0 {
			t.Errorf("%d waiting for room: raised at %v %%", wants, raised)
		}
	}
}

// What idles while a job starts is no room, nor is the reading of the second in which it gets to work.
func TestAheadWaitsForStarts(t *testing.T) {
	y := newYard(t, "ahead", 3, nil)
	y.idle = 100
	y.reads(0, 0, 1, 0)
	for range 10 {
		y.expect(Wait, 0.05, sec)
	}
	y.reads(0, 5, 25, 0)
	y.expect(Wait, 0.05, sec)
	y.idle = 0
	y.expect(Wait, 0.05, sec)
}

// The pace of the maps tells when they end, not when the job does.
func TestAheadFastMaps(t *testing.T) {
	y := leadOf(t, 20, nil)
	y.jobs = y.jobs[:2] // nobody waits: shares may only be given back
	p := 5.0
	for i := 0; p < 80; i++ {
		if y.reads(1, p, 25, 0); p < 50 {
			p += 4
		} else {
			p += 0.5
		}
		if d, _ := y.step(); d.Kind != Wait {
			t.Fatalf("at %v %%: %v", p, d)
		}
	}
}

// The engine's own count of maps goes before what is guessed from the whole.
func TestMapped(t *testing.T) {
	y := newYard(t, "ahead", 1, nil)
	for _, c := range []struct{ progress, maps, want float64 }{{0, 0, 0}, {5, 0, 0}, {27.5, 0, 0.5}, {50, 0, 1}, {95, 0, 1}, {40, 0.25, 0.25}, {3, 1.001, 1}} {
		y.jobs[0].Progress, y.jobs[0].Maps = c.progress, c.maps
		if got := mapped(&y.jobs[0]); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// A job that ends within the lead gives its share back early; if there is room the next one takes it over unwritten.
func TestAheadHandsOver(t *testing.T) {
	play := func(idleFrom float64) (given float64, kinds map[Kind]int, in float64, over bool) {
		y := leadOf(t, 20, nil)
		kinds = map[Kind]int{}
		for p := 60.0; p < 95; p++ {
			y.reads(0, p, 2, 0)
			y.reads(1, 6, 25, 0)
			if y.idle = 0; p >= idleFrom {
				y.idle = 60
			}
			d, _ := y.step()
			if kinds[d.Kind]++; d.Kind == Lower {
				given = p
			}
			over = over || strings.Contains(d.Why, "stays at 2 AMs")
		}
		y.end("a")
		y.admit(1)
		if d, _ := y.step(); d.Lead != 20*sec { // c waited for the end of a, not for a share to be felt
			t.Errorf("the lead is %v", d.Lead)
		}
		return given, kinds, y.in, over
	}
	given, kinds, in, over := play(1000)
	if kinds[Lower] != 1 || kinds[Raise] != 0 || in != 0.049 || over || given < 80 || given > 88 {
		t.Errorf("busy: %v, given back at %v %%, in force %v", kinds, given, in)
	}
	_, kinds, in, over = play(given - 1)
	if kinds[Lower] != 0 || kinds[Raise] != 0 || in != 0.088 || !over {
		t.Errorf("idle: %v, in force %v, taken over %v", kinds, in, over)
	}
}

// A job that ends while another, for which the share was raised, has not started yet: to give its share back would undo the raise, as the
// Fair Scheduler's file may not have been read by then. While processors idle the next job takes its room.
func TestAheadKeepsARaise(t *testing.T) {
	for _, c := range []struct {
		idle float64
		in   float64
	}{{80, 0.088}, {0, 0.049}} {
		y := newYard(t, "ahead", 6, nil)
		y.idle = 40
		y.reads(0, 60, 2, 0)
		y.expect(Wait, 0.05, sec)
		y.expect(Raise, 0.088, sec)
		y.idle = c.idle
		y.end("a")
		d, _ := y.step()
		if y.in != c.in {
			t.Errorf("%v %% idle: %v in force after %v", c.idle, y.in, d)
		}
	}
}

// If nothing comes of raises it is something else that holds jobs back.
func TestAheadGivesUp(t *testing.T) {
	y := newYard(t, "ahead", 6, nil)
	y.idle = 90
	y.reads(0, 60, 2, 0)
	raises, last := 0, Decision{}
	var at []unit.Time
	for y.now < 4*unit.Hour {
		if last, _ = y.step(); last.Kind == Raise {
			raises++
			at = append(at, last.Now)
		}
	}
	if raises != enough || !strings.Contains(last.Why, "something else") {
		t.Errorf("%d raises at %v; %v", raises, at, last)
	}
	y.admit(1) // one starts after all: it goes on
	y.reads(1, 30, 2, 0)
	for range 3 {
		last, _ = y.step()
	}
	y.admit(1)
	y.admit(1)
	y.reads(2, 30, 2, 0)
	y.reads(3, 30, 2, 0)
	for range 3 {
		if last, _ = y.step(); last.Kind == Raise {
			return
		}
	}
	t.Errorf("does not go on: %v", last)
}

// Where jobs are small several are let in at once, never more than run.
func TestAheadSmallJobs(t *testing.T) {
	y := newYard(t, "ahead", 20, func(s *Settings) { s.Service = true })
	y.idle = 92
	for i := range 4 {
		if i > 0 {
			y.admit(0)
		}
		y.reads(i, 60, 2, 0)
	}
	y.in = SlotShare(sourceShare, 4)
	y.step()
	y.end("d") // its peak was 2 % of the processors
	if d, _ := y.step(); d.Kind != Raise || y.in != SlotShare(sourceShare, 4-1+3) {
		t.Errorf("%v", d)
	}
}

func TestAheadWithoutSensor(t *testing.T) {
	y := newYard(t, "ahead", 3, nil)
	y.idle = -100
	y.reads(0, 60, 2, 0)
	y.expect(Wait, 0.05, sec)
	y.expect(Raise, 0.088, sec)
}

// Before the first job nothing tells how large AMs are: once it does, the share found lets one in, and a second is raised for.
func TestAheadWaitedForTheFirstJob(t *testing.T) {
	y := newYard(t, "ahead", 6, func(s *Settings) { *s = s.AsService(); s.AM = unit.Resources{} })
	for i := range y.jobs {
		y.jobs[i].AM = sourceAM
	}
	jobs := y.jobs
	y.jobs = nil
	y.expect(Wait, 0.05, sec)
	y.jobs, y.idle = jobs, 40
	y.reads(0, 60, 2, 0)
	y.expect(Wait, 0.05, sec)
	y.expect(Raise, 0.088, sec)
}

// A share below one AM lets nothing start on the Fair Scheduler: one is let in, however busy others keep the cluster.
func TestAheadNoRoomAtAll(t *testing.T) {
	y := newYard(t, "ahead", 3, nil)
	y.in, y.idle = 0.02, 0
	y.jobs[0].Started = false
	y.expect(Raise, 0.049, sec)
}
