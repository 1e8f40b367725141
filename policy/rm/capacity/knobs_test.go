package capacity

import (
	"math"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// A higher AM share lets in at once whoever fits now; a lower one sends nobody away.
func TestSetShareOfAMs(t *testing.T) {
	w := build(t, nil, 10, mb(10240), "root.queues=default", "root.default.capacity=100", "maximum-am-resource-percent=0.1")
	for i := range 12 {
		w.submit(string(rune('a'+i)), "u", "default", mb(1000))
	}
	gauge := func() policy.Gauge { return w.s.Gauges(nil)[0] }
	if g := gauge(); g.Queue != "root.default" || g.Capacity.Mem != 102400 || g.AMs.Mem != 10*1024 || float32(g.AMShare) != 0.1 {
		t.Errorf("%+v", g)
	}
	if k := w.apps["k"]; w.s.Active(k) || w.s.AMOf(k).Mem != 1024 {
		t.Errorf("the eleventh: active %v, an AM of %v", w.s.Active(k), w.s.AMOf(k))
	}
	for _, c := range []struct {
		queue      string
		value, old float64
		active     int
	}{{"default", 0.11, 0.1, 11}, {"root.default", 0.5, 0.11, 12}, {"root.default", 0.05, 0.5, 12}} {
		old, err := w.s.SetQueue(c.queue, "maximum-am-resource-percent", c.value, 0)
		if n := w.s.Leaves[0].ActiveApps; err != nil || float32(old) != float32(c.old) || n != c.active {
			t.Errorf("at %v: %v was there (%v), %d active; want %v and %d", c.value, old, err, n, c.old, c.active)
		}
		w.check()
	}
	if g := gauge(); g.AMs.Mem != 12*1024 || float32(g.AMShare) != 0.05 {
		t.Errorf("%+v", g)
	}
}

func TestKnobsRefuse(t *testing.T) {
	w := build(t, nil, 1, mb(10240), "root.queues=a,b", "root.a.capacity=50", "root.b.capacity=50")
	for _, c := range []struct {
		queue, property string
		value           float64
		why             string
	}{
		{"c", "maximum-am-resource-percent", 0.1, "no leaf queue"},
		{"root", "maximum-am-resource-percent", 0.1, "no leaf queue"},
		{"a", "maximum-am-resource-percent", 1.1, "from 0 to 1"},
		{"a", "maximum-am-resource-percent", math.Inf(1), "not a number"},
		{"a", "user-limit-factor", -2, "want a positive number"},
		{"a", "minimum-user-limit-percent", 101, "from 0 to 100"},
		{"a", "capacity", 101, "from 0 to 100"},
		{"a", "weight", 2, "the queue's capacity is"},
		{"a", "maximum-capacity", 40, "below the queue's capacity"},
		{"a", "state", 0, "there are capacity"},
	} {
		if _, err := w.s.SetQueue(c.queue, c.property, c.value, 0); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s of %s to %v: %v, want %q", c.property, c.queue, c.value, err, c.why)
		}
	}
	for _, v := range []float64{0.5, -1, 3} {
		if _, err := w.s.SetQueue("a", "user-limit-factor", v, 0); err != nil {
			t.Error(err)
		}
	}
	w.submit("x", "u", "a", mb(1024))
	if err := w.s.Move(w.apps["x"], "c", 0); err == nil || w.s.Leaf(w.apps["x"]) != "root.a" {
		t.Errorf("moved: %v", err)
	}
}

// A moved application takes along what it holds, even above the maximum of its new leaf, and waits there for activation like a new one.
func TestMove(t *testing.T) {
	w := build(t, nil, 2, mb(10240), "root.queues=a,b,c,d", "root.a.capacity=60", "root.b.capacity=20", "root.b.maximum-capacity=20", "root.c.capacity=20", "root.d.capacity=0",
		"maximum-am-resource-percent=0.5", "user-limit-factor=10")
	w.submit("x", "u", "a", mb(1024))
	w.anywhere("x", 20, mb(1024))
	w.submit("y", "u", "b", mb(1024))
	w.submit("z", "u", "b", mb(1024))
	for range 5 {
		w.round()
	}
	b := w.s.Leaves[1]
	held := w.s.apps[0].used
	if held.Mem <= b.EffMax.Mem || !w.s.Active(w.apps["x"]) {
		t.Fatalf("x holds %v of %v", held, b.EffMax)
	}
	was := b.Used
	if err := w.s.Move(w.apps["x"], "root.b", 0); err != nil || w.s.Leaf(w.apps["x"]) != "root.b" || b.Used != was.Add(held) || w.s.Active(w.apps["x"]) {
		t.Errorf("moved: %v; b uses %v, active %v", err, b.Used, w.s.Active(w.apps["x"]))
	}
	w.check()
	if a := w.s.Leaves[0]; a.Apps+a.ActiveApps+a.ActiveUsers+len(a.list) != 0 || !a.Used.IsZero() || !a.pending.IsZero() || !a.AMUsed.IsZero() {
		t.Errorf("left behind: %+v", a.Leaf)
	}
	if got := w.round(); strings.Contains(got, "x:") {
		t.Errorf("above the maximum it got %s", got)
	}
	if err := w.s.Move(w.apps["x"], "c", 0); err != nil || !w.s.Active(w.apps["x"]) || w.s.Leaves[2].AMUsed.Mem != 1024 {
		t.Errorf("moved on: %v", err)
	}
	if err := w.s.Move(w.apps["x"], "d", 0); err == nil || !strings.Contains(err.Error(), "already has 0 applications") {
		t.Errorf("to a queue without a guarantee and without maximum-applications: %v", err)
	}
	for len(w.live["x"]) > 0 {
		w.end("x")
	}
	w.s.Removed(w.apps["x"], 0)
	w.check()
	if c := w.s.Leaves[2]; c.Apps+c.ActiveApps+c.ActiveUsers+len(c.list)+c.active.Len()+c.ready.Len()+c.unseen.Len() != 0 || !c.Used.IsZero() || !c.pending.IsZero() {
		t.Errorf("left behind: %+v", c.Leaf)
	}
}

// The more urgent of two that wait is let in first.
func TestSetPriorityOfWaiting(t *testing.T) {
	w := build(t, func(s *conf.Site) { s.MaxApplicationPriority = 10 }, 1, mb(10240), "root.queues=default", "root.default.capacity=100", "maximum-am-resource-percent=0.1")
	for _, id := range []string{"a", "b", "c"} {
		w.submit(id, "u", "default", mb(1024))
	}
	w.s.SetPriority(w.apps["c"], 7, 0)
	w.s.SetPriority(w.apps["a"], 99, 0) // it has what it needs
	w.s.Removed(w.apps["a"], 0)
	if w.s.Active(w.apps["b"]) || !w.s.Active(w.apps["c"]) {
		t.Error("the order of submission holds")
	}
}
