package marp

import (
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// at makes the queue hold so much of a ceiling.
func (y *fakeYard) at(ceiling, used unit.Resources) {
	y.mend = func(s *steer.Snapshot) {
		q := &s.Queues[1]
		q.Ceiling, q.Used = ceiling, used
		s.Used = used
	}
}

// steady lets the jobs that run make progress, so that every controller that can be pleased is.
func (y *fakeYard) steady(looks int) (raises int) {
	for i := range looks {
		for k := range y.jobs {
			if j := &y.jobs[k]; j.Started {
				j.Progress, j.Running = min(float64(2+i*i), 80), max(j.Running, 4)
			}
		}
		if d, _ := y.step(); d.Kind == Raise {
			raises++
		}
	}
	return raises
}

// The processors of the cluster idle, and the queue can have none of them: by its memory, by its vcores, or by either of which too little is left
// for a job. No controller raises the share then. All of them do where there is room, or where no ceiling is told.
func TestRaisesOnlyIntoHeadroom(t *testing.T) {
	half := unit.Resources{Mem: sourceTotal.Mem / 2, Cores: 25}
	for _, c := range []struct {
		why           string
		ceiling, used unit.Resources
		raises        bool
	}{
		{"not told", unit.Resources{}, half, true},
		{"room in both", half, unit.Resources{Mem: 4096, Cores: 4}, true},
		{"no memory", half, unit.Resources{Mem: half.Mem, Cores: 4}, false},
		{"no vcores", half, unit.Resources{Mem: 4096, Cores: half.Cores}, false},
		{"vcores are not counted", unit.Resources{Mem: half.Mem}, unit.Resources{Mem: 4096, Cores: 400}, true},
		{"memory for an AM and no task", unit.Resources{Mem: 8192, Cores: 25}, unit.Resources{Mem: 8192 - 2048, Cores: 4}, false},
		{"more is used than is left", unit.Resources{Mem: 1, Cores: 1}, half, false},
	} {
		for _, name := range []string{"cbt", "cbtws", "cbtwat", "ahead", "kalman-mem"} {
			y := service(t, name, 6, nil)
			y.idle = 90
			y.at(c.ceiling, c.used)
			if n := y.steady(40); n > 0 != c.raises {
				t.Errorf("%s, %s: %d raises; %v", name, c.why, n, y.c.Last())
			}
		}
	}
}

// The source's sensor stays to be had: processors of the whole cluster.
func TestPublishedSensor(t *testing.T) {
	full := unit.Resources{Mem: 4096, Cores: 4}
	y := service(t, "cbt", 6, func(s *Settings) { s.Headroom = false })
	y.at(full, full)
	if y.steady(5) == 0 {
		t.Error(y.c.Last())
	}
}

// A job that has its AM and gets nothing for its tasks: nobody is let in, and what was raised is given back, once for that job and not below the
// value found.
func TestStarvingJobsGiveBack(t *testing.T) {
	for _, name := range []string{"cbt", "cbtws", "cbtwat", "ahead", "kalman-mem"} {
		y := service(t, name, 8, nil)
		y.idle = 90
		if y.steady(60); y.in <= 0.05 {
			t.Fatalf("%s raised nothing: %v", name, y.c.Last())
		}
		high := y.in
		y.admit(0)
		y.jobs[1].Running, y.jobs[1].Pending, y.jobs[1].AM = 1, 20, sourceAM
		var lowered []float64
		for end := y.now + unit.Minute; y.now < end; {
			if d, _ := y.step(); d.Kind == Raise && d.Now > end-50*sec {
				t.Errorf("%s: raised while a job starves: %v", name, d)
			} else if d.Kind == Lower {
				lowered = append(lowered, y.in)
				if !strings.Contains(d.Why, "no container for tasks") {
					t.Errorf("%s: %v", name, d)
				}
			}
		}
		if len(lowered) != 1 || lowered[0] >= high || lowered[0] < 0.05 {
			t.Errorf("%s: from %v to %v; %v", name, high, lowered, y.c.Last())
		}
	}
	// Nothing was raised: there is nothing to give back, however many starve.
	y := service(t, "cbt", 4, nil)
	y.in, y.idle = 0.5, 90
	for i := range y.jobs {
		y.jobs[i] = steer.Job{ID: y.jobs[i].ID, Queue: "root.default", Started: true, Running: 1, Pending: 9, AM: sourceAM}
	}
	y.jobs = append(y.jobs, steer.Job{ID: "z", Queue: "root.default"})
	for range 60 {
		y.step()
	}
	if y.in != 0.5 {
		t.Errorf("%v in force: %v", y.in, y.c.Last())
	}
}

// What idles is at most the queue's headroom, in memory and in vcores.
func TestIdleIsHeadroom(t *testing.T) {
	for _, used := range []unit.Resources{{Mem: 18_000, Cores: 2}, {Mem: 2_000, Cores: 18}} {
		y := service(t, "cbt", 6, nil)
		y.idle = 90
		y.at(unit.Resources{Mem: 20_000, Cores: 20}, used)
		if d, _ := y.step(); d.Idle != 10 {
			t.Errorf("%v: %v %% idle", used, d.Idle)
		}
	}
}

// A batch may be taken below the value found by jobs that end, and not by jobs that starve.
func TestStarvingKeepsTheValueFound(t *testing.T) {
	y := newYard(t, "cbt", 4, nil)
	y.begin()
	y.expect(Raise, 0.09, 31*sec)
	for i := range 3 {
		y.jobs[i] = steer.Job{ID: y.jobs[i].ID, Queue: "root.default", Started: true, Running: 1, Pending: 9, AM: sourceAM}
	}
	for range 30 {
		y.step()
	}
	if y.in != 0.05 {
		t.Errorf("%v in force: %v", y.in, y.c.Last())
	}
}

// Containers that end all at once leave room for a moment, until the tasks that wait are given it.
func TestRoomOfAMoment(t *testing.T) {
	top := unit.Resources{Mem: 20_000, Cores: 20}
	y := service(t, "cbt", 6, nil)
	y.idle = 90
	y.at(top, top)
	y.begin()
	y.expect(Wait, 0.05, sec)
	y.at(top, unit.Resources{Mem: 4_000, Cores: 4})
	y.expect(Wait, 0.05, sec)
	y.expect(Raise, 0.09, 31*sec)
}
