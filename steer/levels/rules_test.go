package levels

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// Limits of settings, and the order of what is wrong with them.
func TestLimitsOfSettings(t *testing.T) {
	for _, c := range []struct{ name, set, want string }{
		{"fbq", "interval=1s", ""},
		{"fbq", "interval=86400s", ""},
		{"fbq", "interval=86401s", "from a second to a day"},
		{"fbq", "interval=soon", "from a second to a day"},
		{"fbq", " limits =100", ""},
		{"sita", "a=-1000", ""},
		{"sita", "a=1000", ""},
		{"sita", "b=1000.1", "from -1000 to 1000"},
		{"sita", "b=-1000.1", "from -1000 to 1000"},
		{"comp", "queues=1000", "comp has 1000 levels here"},
		{"comp", "queues=1001", "want 2 to 1000"},
	} {
		_, err := steer.Registry(Entries()).New(c.name, &steer.Setup{Queues: []string{"a", "b"}, Set: []string{c.set}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.name, c.set, err, c.want)
		}
	}
	_, err := steer.Registry(Entries()).New("sita", &steer.Setup{Queues: []string{"a", "b"}, Set: []string{"outgrown=x", "limits=2,1"}})
	if wrong := (*steer.SettingError)(nil); !errors.As(err, &wrong) || wrong.Name != "limits" {
		t.Errorf("the first of two: %v", err)
	}
	for _, e := range Entries() {
		if want := e.Name == "sita" || e.Name == "comp"; e.Needs.Sizes != want {
			t.Errorf("%s needs sizes: %v", e.Name, e.Needs.Sizes)
		}
	}
}

// A job is placed where new jobs come to. One that is found further down stays.
func TestPlacedWhereItComesIn(t *testing.T) {
	for _, c := range []struct{ queues, queue, want string }{
		{"in,q1,q2", "in", "j>q2"}, {"in,q1,q2", "q1", ""}, {"in,q1,q2", "q2", ""}, {"q1,q2", "q1", "j>q2"}, {"q1,q2", "q2", ""},
	} {
		if got := step(fresh(t, "sita", c.queues, "limits=100"), 0, nil, at("j", c.queue, 0, "size:150")); got != c.want {
			t.Errorf("%s, in %s: %q, want %q", c.queues, c.queue, got, c.want)
		}
	}
}

// Only jobs that have succeeded in the steered queues are compared with.
func TestDepartures(t *testing.T) {
	for _, c := range []struct{ queue, status, want string }{
		{"root.in", "SUCCEEDED", "q2"}, {"q2", "SUCCEEDED", "q2"},
		{"root.in", "KILLED", "q1"}, {"root.in", "FAILED", "q1"}, {"root.other", "SUCCEEDED", "q1"}, {"root.other", "FAILED", "q1"},
	} {
		l := fresh(t, "comp", "in,q1,q2")
		f := steer.Finished{ID: "f", Queue: c.queue, Status: c.status, Service: steer.Service{CoreSeconds: 100}}
		if got := step(l, 0, []steer.Finished{f}, at("j", "in", 0)); got != "j>"+c.want { // of unknown size: the last level, as soon as one has departed
			t.Errorf("%s in %s: %s, want %s", c.status, c.queue, got, c.want)
		}
	}
}

// A regression learns only from inputs that were tagged.
func TestUntaggedJobsTeachNothing(t *testing.T) {
	l := fresh(t, "sita", "in,q1,q2", "limits=100", "predictor=input", "a=0", "b=0")
	for i := range 60 {
		id := fmt.Sprint("j", i)
		step(l, 0, nil, at(id, "in", 0, "owner:me"))
		step(l, 0, []steer.Finished{done(id, 1e6)})
	}
	if got := step(l, 0, nil, at("k", "in", 0, "input:5")); got != "k>q1" {
		t.Error(got)
	}
}

// A job is forgotten when it has finished, or after it has not been listed for more than ten minutes.
func TestForgotten(t *testing.T) {
	l := fresh(t, "fbq", "in,q1,q2", "limits=100")
	step(l, 0, nil, at("j", "q1", 0))
	if step(l, 600, nil); len(l.jobs) != 1 {
		t.Error("forgotten after ten minutes")
	}
	if step(l, 601, nil); len(l.jobs) != 0 {
		t.Error("remembered for more than ten minutes")
	}
	step(l, 700, nil, at("k", "q1", 0))
	if step(l, 705, []steer.Finished{done("k", 5)}); len(l.jobs) != 0 {
		t.Error("remembered after it has finished")
	}
}

// A move that has shown ends the backoff. What was not asked of the steerer does not begin one.
func TestBackoffEnds(t *testing.T) {
	l := fresh(t, "fbq", "in,q1,q2,q3", "limits=100,200")
	for i, c := range []struct {
		now   unit.Time
		queue string
		want  string
	}{
		{0, "in", "j>q1"}, {30, "in", "j>q1"}, {89, "in", ""}, {90, "in", "j>q1"}, // 30 s, then 60 s
		{95, "q1", "j>q2"}, {124, "q1", ""}, {125, "q1", "j>q2"}, // 30 s again
	} {
		service := 0.0
		if c.queue == "q1" {
			service = 150
		}
		if got := step(l, c.now, nil, at("j", c.queue, service)); got != c.want {
			t.Errorf("%d: at %d s: %q, want %q", i, c.now, got, c.want)
		}
	}
	l = fresh(t, "fbq", "in,q1,q2", "limits=100")
	step(l, 0, nil, at("j", "q1", 0))
	l.NotMade(steer.Action{Kind: steer.MoveJob, Job: "unknown"})
	l.NotMade(steer.Action{Kind: steer.SetPriority, Job: "j"})
	if got := step(l, 1, nil, at("j", "q1", 100)); got != "j>q2" {
		t.Errorf("after what concerns other jobs and knobs: %q", got)
	}
}

// What a step says: jobs by level, the intake first, and why.
func TestExplains(t *testing.T) {
	for _, c := range []struct {
		name, queues, want string
		jobs               []steer.Job
	}{
		{"fbq", "in,q1,q2", "[levels=0/1/2 moves=0 decision=wait why=every job is in its level]", []steer.Job{at("a", "q1", 0), at("b", "q2", 0), at("c", "q2", 500), at("d", "other", 0)}},
		{"fbq", "q1,q2", "[levels=1/0 moves=1 decision=set why=a to level 2: it has attained 150 vcore-seconds of 100]", []steer.Job{at("a", "q1", 150)}},
		{"fbq", "in,q1,q2", "[levels=1/0/0 moves=1 decision=set why=a to level 1: it is new]", []steer.Job{at("a", "in", 0)}},
		{"sita", "in,q1,q2", "[levels=1/0/0 moves=1 decision=set why=a to level 2: its size is 123.5 vcore-seconds, by its tag]", []steer.Job{at("a", "in", 0, "size:123.46")}},
	} {
		l := fresh(t, c.name, c.queues, "limits=100")
		step(l, 0, nil, c.jobs...)
		if got := fmt.Sprint(l.Explain()); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	l := fresh(t, "fbq", "in,q1,q2", "limits=100")
	step(l, 0, nil, at("a", "in", 0))
	step(l, 5, nil, at("a", "in", 0), at("b", "in", 0))
	if _, why := steer.Decided(l.Explain()); why != "b to level 1: it is new; 1 wait for a retry" {
		t.Error(why)
	}
	if got := l.Bounds(); got != "jobs are moved down only: q1, q2; new ones come from in" {
		t.Error(got)
	}
	if got := fresh(t, "fbq", "q1,q2").Bounds(); got != "jobs are moved down only: q1, q2" {
		t.Error(got)
	}
}

// A tag's value has at most 32 characters, and is at most 1e15.
func TestLengthOfTags(t *testing.T) {
	for n, want := range map[int]string{32: "j>q1", 33: "j>q2"} {
		if got := step(fresh(t, "sita", "in,q1,q2", "limits=100"), 0, nil, at("j", "in", 0, fmt.Sprintf("size:%0*d", n, 7))); got != want {
			t.Errorf("%d characters: %s, want %s", n, got, want)
		}
	}
	for tag, want := range map[string]bool{"size:1e15": true, "size:1.001e15": false} {
		if _, ok := number(tag, "size:"); ok != want {
			t.Errorf("%s is valid: %v", tag, ok)
		}
	}
}
