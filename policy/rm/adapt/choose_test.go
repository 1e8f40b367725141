package adapt_test

import (
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// chooser starts tasks of one stage only.
type chooser struct {
	policy.Order
	store   policy.Storage
	stage   int
	job     *policy.Job
	changed int
}

func (c *chooser) Arrived(now unit.Time, j *policy.Job) error {
	c.job = j
	return c.Order.Arrived(now, j)
}

func (c *chooser) Changed(now unit.Time, j *policy.Job) {
	c.changed++
	c.Order.Changed(now, j)
}

func (c *chooser) Ranked(o *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	o.Stage = c.stage
	return c.Order.Ranked(o, try)
}

// An order that chooses sees an application's stages with what they shuffle and where their requests prefer to run, and gets what it chose.
func TestChoose(t *testing.T) {
	c := &chooser{Order: fifo.New()}
	y := newYard(t, policy.Policy{Order: c, Choose: func(s policy.Storage) { c.store = s }}, gib(4), gib(4), gib(4))
	a := &rm.App{ID: "a", User: "u", Queue: "q", Shuffles: []rm.Shuffle{{From: 20, To: 10, Bytes: 77}}}
	if err := y.Added(a, 0); err != nil {
		t.Fatal(err)
	}
	if s := c.job.Stages; len(s) != 2 || len(s[0].After) != 0 || len(s[1].After) != 1 || s[1].After[0] != (workload.Edge{Shuffle: 77}) {
		t.Fatalf("stages %+v", s)
	}
	y.ask(a, anywhere(20, 2, gib(1)), rm.Ask{Priority: 20, Place: rm.OnNode(0), Count: 2, Size: gib(1)}, rm.Ask{Priority: 20, Place: rm.OnRack(0), Count: 2, Size: gib(1)})
	for i, want := range []policy.Near{policy.NodeLocal, policy.RackLocal, policy.OffRack} {
		n := &policy.Node{Index: int32(i), Rack: int32(i / 2)}
		if got := c.store.Near(c.job, 0, n); got != want || c.store.Local(c.job, 0, n) != (i == 0) || len(c.store.Racks(c.job, 0, 0, nil)) > 0 {
			t.Errorf("node %d is %v, want %v", i, got, want)
		}
	}
	a.Racks = func(priority int32, task int64, to []int32) []int32 { return append(to[:0], priority, int32(task)) }
	if got := c.store.Racks(c.job, 0, 7, nil); !slices.Equal(got, []int32{20, 7}) {
		t.Errorf("racks of the eighth task requested at priority 20: %v", got)
	}
	if near := c.store.Near(c.job, 1, &policy.Node{}); near != policy.NoPreference {
		t.Errorf("reduces that were not requested are %v", near)
	}
	changed := c.changed
	y.ask(a, anywhere(10, 1, gib(2)))
	if c.changed != changed+1 {
		t.Error("a stage opened, and nobody said so")
	}
	for _, x := range []struct{ stage, want int }{{1, 1}, {1, 0}, {0, 2}} {
		c.stage = x.stage
		_, got := y.beat(1, 0)
		if len(got) != x.want {
			t.Fatalf("stage %d: %d containers, want %d", x.stage, len(got), x.want)
		}
		for _, one := range got {
			if want := []int32{20, 10}[x.stage]; one.Priority != want {
				t.Errorf("priority %d, want %d", one.Priority, want)
			}
		}
	}
}

// An order hears of every change of what a job requests next, and of nothing else; one that chooses, of changes in every stage.
func TestChanged(t *testing.T) {
	for _, chooses := range []bool{false, true} {
		c := &chooser{Order: fifo.New()}
		p := policy.Policy{Order: c}
		if chooses {
			p.Choose = func(policy.Storage) {}
		}
		y := newYard(t, p, gib(8))
		a := y.app(anywhere(10, 1, gib(1)), anywhere(20, 2, gib(1)))
		for _, x := range []struct {
			what  string
			asks  []rm.Ask
			heard bool
		}{
			{"nothing", []rm.Ask{anywhere(10, 1, gib(1))}, false},
			{"only the size", []rm.Ask{anywhere(10, 1, gib(2))}, true},
			{"only later stages", []rm.Ask{anywhere(20, 1, gib(1)), anywhere(30, 1, gib(1))}, chooses},
			{"only the stage in front", []rm.Ask{anywhere(10, 0, gib(2)), anywhere(5, 1, gib(2))}, true},
		} {
			was := c.changed
			if y.ask(a, x.asks...); (c.changed > was) != x.heard {
				t.Errorf("chooses: %v; %s changed: heard %d times", chooses, x.what, c.changed-was)
			}
		}
	}
}
