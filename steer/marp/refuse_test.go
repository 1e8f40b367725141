package marp

import (
	"math"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// Readings that cannot be, are old or are not there: what is wrong with each, and what the reason must mention.
var impossible = []struct {
	name, why string
	spoil     func(*steer.Snapshot)
}{
	{"no nodes", "no nodes", func(s *steer.Snapshot) { s.Nodes = 0 }},
	{"negative nodes", "no nodes", func(s *steer.Snapshot) { s.Nodes = -3 }},
	{"no resources", "no nodes", func(s *steer.Snapshot) { s.Total = unit.Resources{} }},
	{"negative memory", "no nodes", func(s *steer.Snapshot) { s.Total.Mem = -1 }},
	{"absurd memory", "impossible", func(s *steer.Snapshot) { s.Total.Mem = math.MaxInt64 }},
	{"negative use", "impossible", func(s *steer.Snapshot) { s.Used.Mem = -1 }},
	{"stale", "stale", func(s *steer.Snapshot) { s.Age = unit.Minute }},
	{"from the future", "age", func(s *steer.Snapshot) { s.Age = -1 }},
	{"idle NaN", "no share", func(s *steer.Snapshot) { s.CPUIdle = math.NaN() }},
	{"idle in percent", "no share", func(s *steer.Snapshot) { s.CPUIdle = 42 }},
	{"idle -inf", "no share", func(s *steer.Snapshot) { s.CPUIdle = math.Inf(-1) }},
	{"no queue", "not there", func(s *steer.Snapshot) { s.Queues = s.Queues[:1] }},
	{"10^9 pending", "impossible", func(s *steer.Snapshot) { s.Queues[1].Waiting = 1e9 }},
	{"negative pending", "impossible", func(s *steer.Snapshot) { s.Queues[1].Waiting = -1 }},
	{"negative running", "impossible", func(s *steer.Snapshot) { s.Queues[1].Running = -5 }},
	{"the list is lost", "listed", func(s *steer.Snapshot) { s.Jobs = nil }},
	{"the counts are lost", "listed", func(s *steer.Snapshot) { s.Queues[1].Waiting, s.Queues[1].Running = 0, 0 }},
	{"progress NaN", "impossible", func(s *steer.Snapshot) { s.Jobs[1].Progress = math.NaN() }},
	{"progress negative", "impossible", func(s *steer.Snapshot) { s.Jobs[0].Progress = -1 }},
	{"progress 1000", "impossible", func(s *steer.Snapshot) { s.Jobs[0].Progress = 1000 }},
	{"maps NaN", "impossible", func(s *steer.Snapshot) { s.Jobs[0].Maps = math.NaN() }},
	{"containers negative", "impossible", func(s *steer.Snapshot) { s.Jobs[0].Running = -1 }},
	{"AM negative", "impossible", func(s *steer.Snapshot) { s.Jobs[0].AM.Mem = -2048 }},
	{"share NaN", "impossible", func(s *steer.Snapshot) { s.Queues[1].AMShare = math.NaN() }},
	{"share 25", "impossible", func(s *steer.Snapshot) { s.Queues[1].AMShare = 25 }},
	{"share inf", "impossible", func(s *steer.Snapshot) { s.Queues[1].AMShare = math.Inf(1) }},
	{"capacity negative", "impossible", func(s *steer.Snapshot) { s.Queues[1].Capacity.Mem = -1 }},
	{"AM larger than the queue", "larger", func(s *steer.Snapshot) { s.Queues[1].Capacity = unit.Resources{Mem: 1024, Cores: 1} }},
	{"negative time", "time", func(s *steer.Snapshot) { s.Now = -1 }},
	{"no end of time", "time", func(s *steer.Snapshot) { s.Now = unit.Never }},
}

func TestRefuses(t *testing.T) {
	for _, who := range Names() {
		for _, c := range impossible {
			y := newYard(t, who, 6, nil)
			y.jobs[0].Progress = 50
			y.in = 0.09
			if who == "static" {
				y.in = 0.1
			} else {
				for range 3 {
					y.step()
				}
			}
			y.mend = c.spoil
			for i := range 8 { // looks that get rarer, but go on
				do, again := y.c.Step(y.snapshot())
				d := y.c.Last()
				if len(do) > 0 || d.Kind != Refuse || !strings.Contains(d.Why, c.why) {
					t.Fatalf("%s, %s: %v; %v", who, c.name, do, d)
				}
				if want := y.c.(*loop).set.Interval << min(i, 4); again != want {
					t.Fatalf("%s, %s: looks again in %v, want %v", who, c.name, again, want)
				}
				y.now += again
			}
			y.mend = nil
			for range 2 {
				if d, _ := y.step(); d.Kind == Refuse && d.Why != "time went backwards" {
					t.Fatalf("%s, %s: does not recover: %v", who, c.name, d)
				}
			}
		}
		y := newYard(t, who, 6, nil)
		if do, again := y.c.Step(nil); do != nil || again <= 0 || y.c.Last().Kind != Refuse {
			t.Errorf("%s acts on nothing", who)
		}
	}
}

// What a controller needs and is not told.
func TestRefusesUnknown(t *testing.T) {
	noSize := func(s *Settings) { s.AM = unit.Resources{} }
	for _, c := range []struct {
		who, why string
		change   func(*Settings)
		spoil    func(*steer.Snapshot)
	}{
		{"cbt", "idle processors are not known", nil, func(s *steer.Snapshot) { s.CPUIdle = -1 }},
		{"cbtws", "idle processors are not known", nil, func(s *steer.Snapshot) { s.CPUIdle = -1 }},
		{"cbtwat", "idle processors are not known", nil, func(s *steer.Snapshot) { s.CPUIdle = -1 }},
		{"cbt", "size of AMs", noSize, func(*steer.Snapshot) {}},
		{"ahead", "size of AMs", noSize, func(*steer.Snapshot) {}},
		{"cbt", "not known", nil, func(s *steer.Snapshot) { s.Queues[1].AMShare = 0 }},
		{"ahead", "not known", nil, func(s *steer.Snapshot) { s.Queues[1].AMShare = 0 }},
		{"kalman-mem", "not known", nil, func(s *steer.Snapshot) { s.Queues[1].AMShare = 0 }},
		{"cbt", "no limit", nil, func(s *steer.Snapshot) { s.Queues[1].AMShare = -1 }},
	} {
		y := newYard(t, c.who, 6, c.change)
		y.mend = c.spoil
		for range 4 {
			if d, again := y.step(); d.Kind != Refuse || !strings.Contains(d.Why, c.why) || again <= 0 {
				t.Errorf("%s: %v, again in %v", c.who, d, again)
			}
		}
	}
}

func TestDecisionLine(t *testing.T) {
	y := newYard(t, "cbtwat", 6, nil)
	y.jobs[0].Progress = 50
	y.begin()
	y.step()
	got := y.c.Last().String()
	theta := y.c.(*loop).controller.(*sampler).arms.thetas[0]
	want := `t=11 idle=50 pending=5 running=1 progress=50 raw=50 smoothed=20 theta=` + string(rune('0'+theta)) +
		` old=0.05 new=0.09 decision=raise why="50 % idle, smoothed progress 20 after 0 (threshold ` + string(rune('0'+theta)) + `), 5 waiting: one more (0.05 -> 0.09)"`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
