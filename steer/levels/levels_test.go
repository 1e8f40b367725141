package levels

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

func fresh(t interface {
	Helper()
	Fatal(...any)
}, name string, queues string, set ...string) *steerer {
	t.Helper()
	p, err := steer.Registry(Entries()).New(name, &steer.Setup{Queues: strings.Split(queues, ","), Set: set})
	if err != nil {
		t.Fatal(err)
	}
	return p.(*steerer)
}

// at is a job in a queue, with the service and the tags given.
func at(id, queue string, service float64, tags ...string) steer.Job {
	return steer.Job{ID: id, User: "u", Queue: queue, Service: steer.Service{CoreSeconds: int64(service)}, Tags: strings.Join(tags, ",")}
}

func done(id string, service int64) steer.Finished {
	return steer.Finished{ID: id, User: "u", Queue: "root.in", Status: "SUCCEEDED", Service: steer.Service{CoreSeconds: service}}
}

// step is what a sample leads to, as in "a>q2 b>q1".
func step(l *steerer, now unit.Time, finished []steer.Finished, jobs ...steer.Job) string {
	do, _ := l.Step(&steer.Snapshot{Now: now * unit.Second, Jobs: jobs, Finished: finished})
	var out []string
	for _, a := range do {
		out = append(out, a.Job+">"+a.Queue)
	}
	return strings.Join(out, " ")
}

func TestSettings(t *testing.T) {
	for _, c := range []struct{ name, queues, set, want string }{
		{"fbq", "a,b", "", ""},
		{"fbq", "in,a,b", "limits=100", ""},
		{"fbq", "in,a,b,c", "limits=100,200", ""},
		{"tags", "a,b,c", "limits=100,200", ""},
		{"sita", "a,b", "outgrown=demote", ""},
		{"sita", "a,b", "predictor=input", ""},
		{"comp", "in,a,b,c,d", "queues=4", ""},
		{"fbq", "a", "", "give 2 queues in the order of the levels, or 3 with the intake first; these are 1: a"},
		{"fbq", "a,b,c,d", "", "these are 4"},
		{"fbq", "a,root.a", "", "queue root.a is given twice"},
		{"fbq", "a,b", "limits=", "one for each queue except the last"},
		{"fbq", "a,b", "limits=20,10", "ascending"},
		{"fbq", "a,b", "limits=NaN", "not a list of numbers"},
		{"fbq", "a,b", "interval=0s", "from a second to a day"},
		{"fbq", "a,b", "interval=", "from a second to a day"},
		{"fbq", "a,b", "outgrown=stay", `fbq has no setting "outgrown"`},
		{"fbq", "a,b", "limit=5", `no setting "limit"`},
		{"sita", "a,b", "predictor=oracle", "want tag or input"},
		{"sita", "a,b", "outgrown=grow", "want stay or demote"},
		{"sita", "a,b", "a=x", "not a number"},
		{"sita", "a,b", "b=NaN", "from -1000 to 1000"},
		{"comp", "a,b", "limits=5", `no setting "limits"`},
		{"comp", "a", "queues=1", "want 2 to 1000"},
		{"comp", "a", "queues=-7", "want 2 to 1000"},
		{"comp", "a,b", "queues=two", "whole number"},
	} {
		s := &steer.Setup{Queues: strings.Split(c.queues, ",")}
		if c.set != "" {
			s.Set = []string{c.set}
		}
		_, err := steer.Registry(Entries()).New(c.name, s)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s %s: %v, want %q", c.name, c.queues, c.set, err, c.want)
		}
		if wrong := (*steer.SettingError)(nil); c.set != "" && err != nil && !errors.As(err, &wrong) {
			t.Errorf("%s: %v is not about a setting", c.set, err)
		}
	}
}

// The queue choices of the source, by the job's size or attained service.
func TestChoices(t *testing.T) {
	four := "limits=4000,10000,36000"
	for _, c := range []struct {
		name     string
		set      []string
		finished []int64
		service  float64
		tags     string
		want     string
	}{
		{"sita", []string{"limits=160"}, nil, 0, "size:160", "1"},
		{"sita", []string{"limits=160"}, nil, 0, "size:160.01", "2"},
		{"sita", []string{four}, nil, 0, "size:9999", "2"},
		{"sita", []string{four}, nil, 0, "size:36000", "3"},
		{"sita", []string{four}, nil, 0, "size:36001", "4"},
		{"comp", []string{"queues=4"}, []int64{100, 50, 300}, 0, "size:120", "3"},
		{"comp", []string{"queues=4"}, []int64{100, 50, 300}, 0, "size:50", "1"},
		{"comp", []string{"queues=4"}, []int64{100, 50, 300}, 0, "size:301", "4"},
		{"comp", []string{"queues=4"}, []int64{100}, 0, "size:120", "2"},
		{"comp", nil, []int64{50, 100}, 0, "size:100", "1"},
		{"comp", nil, []int64{50, 100}, 0, "size:101", "2"},
		{"comp", nil, nil, 0, "size:5", "1"},
		{"comp", nil, nil, 0, "", "1"},
		{"comp", nil, []int64{100}, 0, "", "2"},
		{"fbq", []string{four}, nil, 3999.9, "", "1"},
		{"fbq", []string{four}, nil, 4000, "", "2"},
		{"fbq", []string{four}, nil, 10000, "", "3"},
		{"fbq", []string{four}, nil, 50000, "", "4"},
		{"tags", []string{four}, nil, 10000, "size:1", "3"},
	} {
		n := strings.Count(strings.Join(c.set, ""), ",") + 2
		if strings.Contains(strings.Join(c.set, ""), "queues=4") {
			n = 4
		}
		queues := "root.in"
		for i := range n {
			queues += fmt.Sprint(",root.", i+1)
		}
		l := fresh(t, c.name, queues, c.set...)
		var finished []steer.Finished
		for i, size := range c.finished {
			finished = append(finished, done(fmt.Sprint("d", i), size))
		}
		if got := step(l, 10, finished, at("j", "root.in", c.service, c.tags)); got != "j>root."+c.want {
			t.Errorf("%s %v after %v, service %v, %q: %s, want level %s", c.name, c.set, c.finished, c.service, c.tags, got, c.want)
		}
	}
}

// Tags are user input: whatever is wrong with one, the size is unknown, and unknown is larger than everything.
func TestUnknownSizes(t *testing.T) {
	long := strings.Repeat("9", 10_000)
	for _, tags := range []string{
		"", "size", "size:", "size:x", "size:-1", "size:NaN", "size:+Inf", "size:1e300", "size:" + long, "size:00000000000000000000000000000000001", "size:1,size:1",
		"size:1,size:x", "Size:1", "size:1 2", "input:5", strings.Repeat("a,", 5000), "size:1\x00", "size:5s",
	} {
		l := fresh(t, "sita", "in,q1,q2", "limits=100")
		if got := step(l, 0, nil, at("j", "in", 0, tags)); got != "j>q2" {
			t.Errorf("%.40q: %s", tags, got)
		}
		if _, why := steer.Decided(l.Explain()); !strings.Contains(why, "its size is unknown") || len(why) > 200 {
			t.Errorf("%.40q: %q", tags, why)
		}
	}
	for _, tags := range []string{"size:0", "size:100", "x,size:99.5, y", " size:1e2", "deadline:9,input:7,size:3"} {
		if got := step(fresh(t, "sita", "in,q1,q2", "limits=100"), 0, nil, at("j", "in", 0, tags)); got != "j>q1" {
			t.Errorf("%q: %s", tags, got)
		}
	}
}

// A job is demoted step by step, or by several levels at once, and never promoted.
func TestDemotion(t *testing.T) {
	l := fresh(t, "fbq", "root.in,root.q1,root.q2,root.q3", "limits=100,200")
	for _, c := range []struct {
		now     unit.Time
		queue   string
		service float64
		want    string
	}{
		{0, "in", 0, "j>root.q1"}, // the root may be left out
		{5, "root.q1", 99, ""},
		{10, "root.q1", 100, "j>root.q2"},
		{15, "root.q1", 101, ""}, // it does not show yet
		{20, "root.q2", 110, ""},
		{25, "root.q2", 0, ""}, // a ResourceManager has forgotten its service
		{30, "root.q2", 250, "j>root.q3"},
		{35, "root.q3", 250, ""},
		{40, "root.q3", 9e15, ""},
	} {
		if got := step(l, c.now, nil, at("j", c.queue, c.service)); got != c.want {
			t.Errorf("at %d s: %q, want %q", c.now, got, c.want)
		}
	}
	if got := step(l, 45, nil, at("k", "root.in", 500), at("m", "root.q1", 500), at("n", "root.q2", 0), at("o", "root.other", 900)); got != "k>root.q3 m>root.q3" {
		t.Error(got)
	}
	l = fresh(t, "sita", "q1,q2,q3", "limits=100,200", "outgrown=demote")
	if got := step(l, 0, nil, at("small", "q1", 150, "size:50"), at("large", "q1", 0, "size:150"), at("found", "q2", 250, "size:5")); got != "small>q2 large>q2 found>q3" {
		t.Error(got)
	}
	l = fresh(t, "sita", "q1,q2,q3", "limits=100,200")
	if got := step(l, 0, nil, at("small", "q1", 150, "size:50"), at("found", "q3", 250, "size:5")); got != "" {
		t.Error(got)
	}
}

// A job that somebody else has moved stays where it is.
func TestSomebodyElse(t *testing.T) {
	l := fresh(t, "fbq", "in,q1,q2,q3", "limits=100,200")
	for i, c := range []struct {
		queue   string
		service float64
		want    string
	}{
		{"in", 0, "j>q1"}, {"q1", 120, "j>q2"}, {"q2", 120, ""},
		{"q1", 130, ""}, {"q1", 900, ""}, {"q3", 900, ""}, {"q1", 900, ""}, // up, and down, and up
		{"elsewhere", 900, ""}, {"in", 900, "j>q3"}, // out, and back as a new one
		{"in", 900, ""}, {"q3", 900, ""}, {"in", 900, ""}, // back to the intake
	} {
		if got := step(l, unit.Time(5*i), nil, at("j", c.queue, c.service)); got != c.want {
			t.Errorf("%d: in %s: %q, want %q", i, c.queue, got, c.want)
		}
	}
	if _, why := steer.Decided(l.Explain()); why != "1 stay where somebody else has moved them" {
		t.Error(why)
	}
	l = fresh(t, "fbq", "in,q1,q2", "limits=100")
	step(l, 0, nil, at("j", "in", 0))
	if got := step(l, 5, nil, at("j", "q2", 0)); got != "" { // not where it was asked to go
		t.Error(got)
	}
	if got := step(l, 10, nil, at("j", "q1", 500)); got != "" {
		t.Error(got)
	}
}

// Refused moves are retried with backoff, as are those that do not show. A sample asks for a limited number.
func TestRetries(t *testing.T) {
	l := fresh(t, "fbq", "in,q1,q2", "limits=100")
	var asked []int64
	for now := unit.Time(0); now < 4000; now += 5 {
		do, _ := l.Step(&steer.Snapshot{Now: now * unit.Second, Jobs: []steer.Job{at("j", "in", 0)}})
		for _, a := range do {
			asked = append(asked, int64(now))
			l.NotMade(a)
		}
	}
	if fmt.Sprint(asked) != "[0 10 30 70 150 310 630 1270 2550]" {
		t.Error(asked)
	}
	asked = nil
	for now := unit.Time(4000); now < 8000; now += 5 {
		if step(l, now, nil, at("k", "in", 0)) != "" {
			asked = append(asked, int64(now-4000))
		}
	}
	if fmt.Sprint(asked) != "[0 30 90 210 450 930 1890 3810]" {
		t.Error(asked)
	}
	var jobs []steer.Job
	for i := range 250 {
		jobs = append(jobs, at(fmt.Sprint("m", i), "in", 0))
	}
	for i, want := range []int{100, 100, 50, 0} {
		do, _ := l.Step(&steer.Snapshot{Now: unit.Time(9000+5*i) * unit.Second, Jobs: jobs})
		if len(do) != want || i == 0 && !strings.HasSuffix(l.said[len(l.said)-1].Value.String(), "97 others; 150 wait for the next sample") {
			t.Errorf("sample %d: %d moves: %v", i, len(do), l.said)
		}
	}
	if len(l.jobs) != 250 {
		t.Errorf("%d jobs are remembered", len(l.jobs))
	}
}

// The regression learns from jobs that have succeeded, if their input was known.
func TestRegression(t *testing.T) {
	l := fresh(t, "sita", "in,q1,q2", "limits=100", "predictor=input", "a=0", "b=0")
	if got := step(l, 0, nil, at("j", "in", 0, "input:1000000")); got != "j>q1" { // 1 s
		t.Error(got)
	}
	for i := range 40 {
		id := fmt.Sprint("j", i)
		step(l, unit.Time(i+1), nil, at(id, "in", 0, fmt.Sprintf("input:%d", (i+1)*1000)))
		f := done(id, int64(i+1))
		if i%2 == 1 {
			f.ID = "unseen" // between two samples
		}
		step(l, unit.Time(i+1), []steer.Finished{f, {ID: "killed", Queue: "in", Status: "KILLED", Service: steer.Service{CoreSeconds: 1 << 60}}})
	}
	if got := step(l, 100, nil, at("k", "in", 0, "input:1000000")); got != "k>q1" { // 20 are too few
		t.Error(got)
	}
	for i := range 20 {
		id := fmt.Sprint("l", i)
		step(l, 101, nil, at(id, "in", 0, fmt.Sprintf("input:%d", (i+1)*1000)))
		step(l, 101, []steer.Finished{done(id, int64(i+1))})
	}
	for tag, want := range map[string]string{"input:50000": "q1", "input:200000": "q2", "input:1e15": "q2", "input:-5": "q2", "size:1": "q2", "input:0": "q1"} {
		id := "m" + tag
		if got := step(l, 102, nil, at(id, "in", 0, tag)); got != id+">"+want {
			t.Errorf("%s: %s", tag, got)
		}
	}
}

// world is a scheduler with a queue for each level: it carries out moves, or refuses them, or somebody else moves jobs.
type world struct {
	queue    map[string]string
	service  map[string]int64
	meddled  map[string]bool
	finished []steer.Finished
}

// Whatever happens, a job is moved down only, no further than its service says, and not after somebody else has moved it. A fresh steerer carries on from what
// it finds.
func TestPropertyMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"fbq", "tags", "sita", "comp"}).Draw(t, "policy")
		queues, set := "q1,q2,q3", []string{"limits=100,200"}
		if rapid.Bool().Draw(t, "intake") {
			queues = "in," + queues
		}
		if name == "comp" {
			set = []string{"queues=3"}
		}
		enter, _, _ := strings.Cut(queues, ",")
		l := fresh(t, name, queues, set...)
		w := world{map[string]string{}, map[string]int64{}, map[string]bool{}, nil}
		tags := map[string]string{}
		var ids []string
		for i := range rapid.IntRange(1, 60).Draw(t, "samples") {
			switch rapid.IntRange(0, 7).Draw(t, "what") {
			case 0, 1, 2:
				id := fmt.Sprint("j", i)
				ids = append(ids, id)
				w.queue[id] = enter
				tags[id] = rapid.SampledFrom([]string{"", "size:50", "size:150", "size:950", "size:x"}).Draw(t, "tag")
			case 3:
				l = fresh(t, name, queues, set...)
				clear(w.meddled) // it cannot know
			case 4:
				if len(ids) > 0 {
					id := rapid.SampledFrom(ids).Draw(t, "job")
					to := rapid.SampledFrom([]string{"q1", "q2", "q3"}).Draw(t, "to")
					// Between two samples it cannot be told from a move that was not made, or from one that was.
					if j, k := l.jobs[id], l.levelOf(to); j != nil && j.level == l.levelOf(w.queue[id]) && k != j.level && (k < j.level || k > j.asked) {
						w.queue[id], w.meddled[id] = to, true
					}
				}
			case 5:
				if len(ids) > 0 {
					w.finished = append(w.finished, done(ids[0], w.service[ids[0]]))
					delete(w.queue, ids[0])
					ids = ids[1:]
				}
			}
			var jobs []steer.Job
			for _, id := range ids {
				if w.queue[id] != enter || enter == "q1" {
					w.service[id] += int64(rapid.IntRange(0, 80).Draw(t, "service"))
				}
				jobs = append(jobs, at(id, w.queue[id], float64(w.service[id]), tags[id]))
			}
			do, again := l.Step(&steer.Snapshot{Now: unit.Time(i) * 40 * unit.Second, Jobs: jobs, Finished: w.finished})
			w.finished = nil
			if again != 5*unit.Second {
				t.Fatal(again)
			}
			for _, a := range do {
				from, to := l.levelOf(w.queue[a.Job]), l.levelOf(a.Queue)
				demoted := name == "fbq" || name == "tags"
				switch {
				case a.Kind != steer.MoveJob || to <= from || w.meddled[a.Job]:
					t.Fatalf("%+v from level %d to %d; moved by somebody else: %v", a, from, to, w.meddled[a.Job])
				case demoted && int64(to) > min(w.service[a.Job]/100, 2):
					t.Fatalf("%+v with a service of %d", a, w.service[a.Job])
				case !demoted && from > max(0, l.levelOf(enter)):
					t.Fatalf("%+v: placed twice", a)
				}
				if rapid.IntRange(0, 4).Draw(t, "refused") == 0 {
					l.NotMade(a)
				} else {
					w.queue[a.Job] = a.Queue
				}
			}
		}
	})
}

func FuzzTags(f *testing.F) {
	f.Add("size:5,input:6")
	f.Add("size:1e999,size:-0x1p-5")
	f.Fuzz(func(t *testing.T, tags string) {
		if x, ok := number(tags, "size:"); ok && !(x >= 0 && x <= 1e15) || math.IsNaN(x) && ok {
			t.Errorf("%q: %v", tags, x)
		}
	})
}
