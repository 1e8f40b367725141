package deadline

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/policy/deadline"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// A job that is first seen within three samples of its submission is young: all its tasks were seen to start. Of an older one, tasks whose start is
// not known count half when they end.
func TestYoungJobs(t *testing.T) {
	for since, early := range map[unit.Time]int64{0: 0, 15 * unit.Second: 0, 15*unit.Second + 1: 2, unit.Minute: 2} {
		d := made(t, queues)
		d.Step(snapshot(at, steer.Job{ID: "a", Queue: "root.q", Tags: "goal:9000s", Started: true, Running: 2, Pending: 8, Submitted: at - since}))
		if m := d.meters["a"]; m == nil || m.early != early {
			t.Errorf("submitted %v ago: %+v, want %d tasks of unknown start", since, m, early)
		}
	}
}

// What is believed of a job's counts: containers less that of the AM, tasks that have not started, the container-time of its
// tasks.
func TestCounts(t *testing.T) {
	am := unit.Resources{Mem: 1024, Cores: 1}
	for _, x := range []struct {
		name             string
		job              steer.Job
		tasks, unstarted int64
	}{
		{"counted", steer.Job{Tasks: 10, Done: 3, Running: 2}, 2, 5},
		{"with an AM", steer.Job{Tasks: 10, Done: 3, Running: 2, AM: am}, 1, 6},
		{"only an AM waits", steer.Job{Tasks: 10, AM: am}, 0, 10},
		{"more than all", steer.Job{Tasks: 10, Done: 9, Running: 5}, 5, 0},
		{"negative", steer.Job{Tasks: 10, Done: -4, Running: -5}, 0, 10},
		{"requests", steer.Job{Pending: 7, Running: 2, Done: 5}, 2, 7},
		{"negative requests", steer.Job{Pending: -7}, 0, 0},
		{"too many", steer.Job{Running: maxRunning + 5, Pending: maxTasks + 5}, maxRunning, maxTasks},
		{"too many tasks", steer.Job{Tasks: maxTasks + 500, Running: 1}, 1, maxTasks},
	} {
		if n, rest := tasks(&x.job), unstarted(&x.job); n != x.tasks || rest != x.unstarted {
			t.Errorf("%s: %d run, %d have not started; want %d, %d", x.name, n, rest, x.tasks, x.unstarted)
		}
	}
	for _, x := range []struct {
		name string
		m    meter
		am   unit.Resources
		want float64 // s
	}{
		{"100 vcore-seconds", meter{}, unit.Resources{}, 100},
		{"of two vcores", meter{size: unit.Resources{Cores: 2}}, unit.Resources{}, 50},
		{"an AM of 20 s", meter{am: 80 * unit.Second}, am, 80},
		{"an AM since when is unknown", meter{}, am, 100},
		{"an AM of two vcores", meter{am: 80 * unit.Second, size: unit.Resources{Cores: 3}}, unit.Resources{Mem: 1, Cores: 2}, 20},
		{"less than the AM's", meter{am: 1}, unit.Resources{Cores: 5}, 0},
	} {
		j := &steer.Job{AM: x.am, Service: steer.Service{CoreSeconds: 100}}
		if got := x.m.service(j, at) / 1e6; math.Abs(got-x.want) > 1e-3 {
			t.Errorf("%s: %v s, want %v", x.name, got, x.want)
		}
	}
}

// The first sample of a job, at 100 s: its running tasks began so long ago, and so much container-time is known.
func TestFirstSample(t *testing.T) {
	for _, x := range []struct {
		name                string
		job                 steer.Job
		young               bool
		time, elapsed, base float64 // s
		ended, early        int64
		all                 bool
	}{
		// 50 s are those of four tasks, and of two that have half of theirs behind them.
		{"some have ended", steer.Job{Tasks: 9, Done: 4, Running: 2, Service: steer.Service{CoreSeconds: 50}}, false, 50, 10, 0, 4,
			0, false},
		{"its only task has ended", steer.Job{Tasks: 1, Done: 1, Service: steer.Service{CoreSeconds: 50}}, false, 50, 0, 0, 1, 0,
			false},
		{"none has ended", steer.Job{Tasks: 9, Running: 2, Service: steer.Service{CoreSeconds: 8}}, false, 8, 8, 0, 0, 0, false},
		{"no longer than since submission", steer.Job{Tasks: 9, Running: 2, Service: steer.Service{CoreSeconds: 8},
			Submitted: at - 3*unit.Second}, false,
			6, 6, 0, 0, 0, false},
		{"young", steer.Job{Pending: 7, Running: 2, Service: steer.Service{CoreSeconds: 8}}, true, 8, 8, 0, 0, 0, false},
		{"old", steer.Job{Pending: 7, Running: 2, Service: steer.Service{CoreSeconds: 8}}, false, 0, 0, 8, 0, 2, false},
		{"old, tasks are not counted", steer.Job{Done: 4, Running: 2, Service: steer.Service{CoreSeconds: 8}}, false, 0, 0, 8, 0, 2,
			false},
		{"nothing is known", steer.Job{}, true, 0, 0, 0, 0, 0, true},
		{"it has requests", steer.Job{Pending: 1}, true, 0, 0, 0, 0, 0, false},
	} {
		var m meter
		m.sample(&x.job, at, x.young)
		elapsed := -m.running.Left(at, 0, false)
		for what, got := range map[string][2]float64{"time": {m.time, x.time}, "elapsed": {elapsed, x.elapsed}, "base": {m.base,
			x.base}} {
			if math.Abs(got[0]/1e6-got[1]) > 1e-3 {
				t.Errorf("%s: %s %v s, want %v", x.name, what, got[0]/1e6, got[1])
			}
		}
		if m.ended != x.ended || m.early != x.early || m.all != x.all || int64(m.running.Len()) != x.job.Running {
			t.Errorf("%s: %+v", x.name, m)
		}
	}
}

// A later sample, 10 s after one with two running tasks: what happened in between happened halfway, and the reported service
// corrects the time by what it may be late: 4 s a container.
func TestLaterSample(t *testing.T) {
	for _, x := range []struct {
		name                 string
		first, then          steer.Job
		time, elapsed        float64 // s
		ended, early, halves int64
	}{
		{"nothing", steer.Job{Tasks: 9, Running: 2}, steer.Job{Tasks: 9, Running: 2}, 20, 20, 0, 0, 0},
		{"one ends, one starts", steer.Job{Tasks: 9, Running: 2}, steer.Job{Tasks: 9, Done: 1, Running: 2}, 20, 10 + 5, 1, 0, 0},
		{"two start", steer.Job{Tasks: 9, Running: 2}, steer.Job{Tasks: 9, Running: 4}, 30, 2*10 + 2*5, 0, 0, 0},
		{"one is lost", steer.Job{Tasks: 9, Running: 2}, steer.Job{Tasks: 9, Running: 1}, 15, 10, 0, 0, 0},
		{"more end than ran", steer.Job{Tasks: 9, Running: 2}, steer.Job{Tasks: 9, Done: 5, Running: 2}, 20, 2 * 5, 5, 0, 0},
		{"fewer have ended than before", steer.Job{Tasks: 9, Done: 3, Running: 2}, steer.Job{Tasks: 9, Done: 1, Running: 2}, 20, 20,
			3, 0, 0},
		{"the service is more", steer.Job{Tasks: 9, Running: 2}, steer.Job{Tasks: 9, Running: 2,
			Service: steer.Service{CoreSeconds: 30}}, 30, 20, 0, 0, 0},
		{"the service is late", steer.Job{Tasks: 9, Running: 2}, steer.Job{Tasks: 9, Running: 2,
			Service: steer.Service{CoreSeconds: 13}}, 20, 20, 0, 0, 0},
		{"the service is less", steer.Job{Tasks: 9, Running: 2}, steer.Job{Tasks: 9, Running: 2,
			Service: steer.Service{CoreSeconds: 5}}, 5 + 2*4, 20, 0, 0, 0},
		{"by requests", steer.Job{Pending: 8, Running: 2}, steer.Job{Pending: 5, Running: 2}, 20, 2 * 5, 3, 0, 2},
		{"by requests, all started", steer.Job{Pending: 8, Running: 2}, steer.Job{Pending: 5, Running: 5}, 35, 2*10 + 3*5, 0, 2, 0},
		{"by requests, more of them", steer.Job{Pending: 8, Running: 2}, steer.Job{Pending: 9, Running: 2}, 20, 20, 0, 2, 0},
		{"by requests, one is gone: it has ended", steer.Job{Pending: 8, Running: 2}, steer.Job{Pending: 9, Running: 1}, 15, 10, 1,
			1, 1},
		{"by requests, one ends", steer.Job{Pending: 8, Running: 2}, steer.Job{Pending: 7, Running: 2}, 20, 10 + 5, 1, 1, 1},
	} {
		var m meter
		m.sample(&x.first, at, false)
		m.sample(&x.then, at+10*unit.Second, false)
		elapsed := -m.running.Left(at+10*unit.Second, 0, false) / 1e6
		if math.Abs(m.time/1e6-x.time) > 1e-3 || math.Abs(elapsed-x.elapsed) > 1e-3 || m.ended != x.ended || m.early != x.early ||
			m.halves != x.halves {
			t.Errorf("%s: time %v s, elapsed %v s, %d ended, %d early, %d half; want %+v", x.name, m.time/1e6, elapsed, m.ended,
				m.early, m.halves, x)
		}
	}
}

// The mean is that of the time of ended tasks, of which those of unknown start count half; and the work left is what the running
// ones lack of it, and as much for each that has not started.
func TestClaims(t *testing.T) {
	s := unit.Second
	m := meter{goal: 500 * s, ended: 4, halves: 2, time: 90e6, pending: 3}
	m.running.Add(at - 5*s)
	m.running.Add(at - 25*s) // overdue: the mean is (90 - 30) / (4 - 1) = 20 s
	for _, x := range []struct {
		name      string
		set       deadline.Settings
		change    func(*meter)
		estimated bool
		left      float64 // s
		aim       unit.Time
		unstarted int64
	}{
		{"overdue tasks count 0", deadline.Settings{MinSamples: 4}, func(*meter) {}, true, 15 + 3*20, 500, 3},
		{"or negative", deadline.Settings{MinSamples: 1, Literal: true}, func(*meter) {}, true, 15 - 5 + 3*20, 500, 3},
		{"a tail guard", deadline.Settings{MinSamples: 1, TailGuard: true}, func(*meter) {}, true, 15 + 3*20, 500 - 20 - 5, 3},
		{"too few have ended", deadline.Settings{MinSamples: 5, TailGuard: true}, func(*meter) {}, false, 0, 500, 3},
		{"no time is known", deadline.Settings{MinSamples: 1}, func(m *meter) { m.time = 30e6 }, false, 0, 500, 3},
		{"none has ended", deadline.Settings{}, func(m *meter) { m.ended, m.halves = 0, 0 }, false, 0, 500, 3},
		{"any number", deadline.Settings{MinSamples: 5}, func(m *meter) { m.all = true }, false, 0, 500, maxRunning},
	} {
		n := m
		x.change(&n)
		c := n.claim(&steer.Job{Submitted: 7}, at, 5*s, &x.set)
		if c.Estimated != x.estimated || math.Abs(c.Left/1e6-x.left) > 1e-3 || c.Aim != x.aim*s || c.Unstarted != x.unstarted {
			t.Errorf("%s: %+v", x.name, c)
		}
		if c.Submitted != 7 || c.Goal != 500*s || c.Running != 2 {
			t.Errorf("%s: %+v", x.name, c)
		}
	}
}

// How late a job will be with the containers that it has: 40 s before its goal, 50 s of work are 10 s too many for one. Without
// any it is not known.
func TestLateness(t *testing.T) {
	for running, want := range map[int64]string{0: "", 1: "late=10", 2: "late=-15"} {
		j := &job{claim: deadline.Claim{Goal: at, Aim: at, Estimated: true}}
		j.claim.Left, j.claim.Running = 50e6, running
		if got := fmt.Sprint(j.facts(at - 40*unit.Second)); !strings.Contains(got, want) || (want == "") == strings.Contains(got,
			"late=") {
			t.Errorf("%d containers: %s, want %q", running, got, want)
		}
	}
}
