package marp

import (
	"testing"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// The source's cluster: three nodes of 17 GiB and 17 vcores, AMs of 2 GiB.
var (
	sourceTotal = unit.Resources{Mem: 3 * 17 * 1024, Cores: 51}
	sourceAM    = unit.Resources{Mem: 2048, Cores: 1}
)

const sourceShare = 2048.0 / 52224

// fakeYard is a queue whose readings a test sets; shares are in force as soon as they are written.
type fakeYard struct {
	t    testing.TB
	c    Controller
	now  unit.Time
	idle float64 // percent
	jobs []steer.Job
	in   float64 // share in force
	mend func(*steer.Snapshot)
}

func newYard(t testing.TB, name string, jobs int, change func(*Settings)) *fakeYard {
	t.Helper()
	s := Defaults(name, "root.default")
	s.Limit, s.AM, s.Seed = amlimit.FairV2, sourceAM, 7
	if name == "static" {
		s.Value = SourcePRJ
	}
	if change != nil {
		change(&s)
	}
	c, err := New(name, s)
	if err != nil {
		t.Fatal(err)
	}
	y := &fakeYard{t: t, c: c, idle: 50, in: 0.05}
	for i := range jobs {
		y.jobs = append(y.jobs, steer.Job{ID: string(rune('a' + i)), Queue: "root.default", Started: i == 0})
	}
	return y
}

func (y *fakeYard) snapshot() *steer.Snapshot {
	q := steer.Queue{Name: "root.default", AMShare: y.in}
	s := &steer.Snapshot{Now: y.now, Total: sourceTotal, Nodes: 3, CPUIdle: y.idle / 100}
	for _, j := range y.jobs {
		if j.Started {
			q.Running++
		} else {
			q.Waiting++
		}
		s.Jobs = append(s.Jobs, j)
	}
	s.Queues = []steer.Queue{{Name: "root.a"}, q}
	if y.mend != nil {
		y.mend(s)
	}
	return s
}

// step takes one look, puts into force what it asks for and moves on to the next.
func (y *fakeYard) step() (d Decision, again unit.Time) {
	y.t.Helper()
	do, again := y.c.Step(y.snapshot())
	d = y.c.Last()
	if len(do) > 1 {
		y.t.Fatalf("%d actions in one step", len(do))
	}
	if d.Why == "" {
		y.t.Fatal("a decision without a reason")
	}
	for _, a := range do {
		if a.Kind != steer.SetQueue || a.Queue != "root.default" || a.Why == "" || a.Property == "" || a.Value != d.New {
			y.t.Fatalf("odd action %+v", a)
		}
		y.in = a.Value
	}
	y.now += again
	return d, again
}

// begin takes the looks at the start, until the first that may act is due.
func (y *fakeYard) begin() {
	y.t.Helper()
	for range 2 {
		if d, _ := y.step(); d.Kind != Wait {
			y.t.Fatalf("acted while starting: %v", d)
		}
	}
}

func (y *fakeYard) expect(kind Kind, in float64, again unit.Time) {
	y.t.Helper()
	d, got := y.step()
	if d.Kind != kind || y.in != in || got != again {
		y.t.Fatalf("%v; in force %v, next look in %v; want %v, %v, %v", d, y.in, got, kind, in, again)
	}
}

// admit starts the first job that waits.
func (y *fakeYard) admit(progress float64) {
	for i := range y.jobs {
		if !y.jobs[i].Started {
			y.jobs[i].Started, y.jobs[i].Progress = true, progress
			return
		}
	}
}

func (y *fakeYard) end(id string) {
	for i := range y.jobs {
		if y.jobs[i].ID == id {
			y.jobs = append(y.jobs[:i:i], y.jobs[i+1:]...)
			return
		}
	}
}
