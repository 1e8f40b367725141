package capacity

import (
	"testing"

	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

func halves(t *testing.T, more ...string) *world {
	t.Helper()
	w := build(t, func(s *conf.Site) { s.Monitor = true }, 10, mb(10240), append([]string{
		"root.queues=a,b", "root.a.capacity=50", "root.b.capacity=50", "user-limit-factor=10",
		"maximum-am-resource-percent=1", "per-node-heartbeat.maximum-offswitch-assignments=100",
	}, more...)...)
	w.submit("a", "u", "a", unit.Resources{})
	w.anywhere("a", 1000, mb(1024))
	w.round()
	w.submit("b", "v", "b", unit.Resources{})
	w.anywhere("b", 100, mb(1024))
	return w
}

// A queue that holds all of a cluster it owns half of loses a tenth of the cluster a round, and of that only the part that
// will not end by itself: two containers. They are selected every round, and killed after the wait.
func TestPreemption(t *testing.T) {
	w := halves(t)
	if w.s.Leaves[0].Used.Mem != 102400 {
		t.Fatalf("queue a holds %v, want all", w.s.Leaves[0].Used)
	}
	first := w.s.Round(0)
	if len(first.Warned) != 2 || len(first.Killed) != 0 {
		t.Fatalf("first round: %d warned, %d killed; want 2 and 0", len(first.Warned), len(first.Killed))
	}
	for at := 3 * unit.Second; at < 15*unit.Second; at += 3 * unit.Second {
		if n := w.s.Round(at); len(n.Warned)+len(n.Killed) != 0 {
			t.Fatalf("at %v: %+v", at, n)
		}
	}
	n := w.s.Round(15 * unit.Second)
	if len(n.Killed) != 2 || n.Killed[0] != first.Warned[0] || n.Killed[1] != first.Warned[1] {
		t.Fatalf("after the wait: %+v, want the two that were warned", n)
	}
	if w.s.Leaves[0].Used.Mem != 102400-2048 {
		t.Errorf("queue a holds %v: what is taken leaves the queue at once", w.s.Leaves[0].Used)
	}
	node := n.Killed[0].Node
	if node.Free.Mem != 0 {
		t.Errorf("node has %v free before it reported", node.Free)
	}
	w.s.Ended(n.Killed[0], 0)
	if node.Free.Mem != 1024 || w.s.Leaves[0].Used.Mem != 102400-2048 {
		t.Errorf("node has %v free, queue a holds %v", node.Free, w.s.Leaves[0].Used)
	}
	// The newest go first.
	if first.Warned[0].ID != 99 || first.Warned[1].ID != 98 {
		t.Errorf("warned containers %d and %d, want the newest", first.Warned[0].ID, first.Warned[1].ID)
	}
}

// A container preempted before the application's AM knows about it is requested again, at the same places.
func TestTakenUnheardOf(t *testing.T) {
	for _, heard := range []bool{false, true} {
		w := build(t, func(s *conf.Site) {
			s.Monitor = true
			s.Preemption.WaitBeforeKill = 0
			s.Preemption.PerRound, s.Preemption.NaturalTermination = 1, 1
		}, 2, mb(4096), "root.queues=a,b", "root.a.capacity=50", "root.b.capacity=50", "user-limit-factor=10", "maximum-am-resource-percent=1")
		w.submit("a", "u", "a", unit.Resources{})
		for n := range int32(2) {
			w.ask("a", rm.Ask{Priority: 20, Place: rm.OnNode(n), Count: 4, Size: mb(1024)})
		}
		w.ask("a", rm.Ask{Priority: 20, Place: rm.OnRack(0), Count: 8, Size: mb(1024)})
		w.anywhere("a", 8, mb(1024))
		w.round()
		for _, c := range w.live["a"] {
			c.Acquired, c.Launched = heard, heard
		}
		if len(w.live["a"]) != 8 {
			t.Fatalf("%d containers, want 8", len(w.live["a"]))
		}
		w.submit("b", "v", "b", unit.Resources{})
		w.anywhere("b", 8, mb(1024))
		w.s.Round(0)
		killed := w.s.Round(unit.Second).Killed
		if len(killed) != 4 {
			t.Fatalf("%d taken away, want 4", len(killed))
		}
		a, want := w.s.apps[0], int64(4)
		if heard {
			want = 0
		}
		onNodes := a.table.Count(20, rm.OnNode(0)) + a.table.Count(20, rm.OnNode(1))
		if a.table.Len() != want || onNodes != want || a.table.Count(20, rm.OnRack(0)) != want || a.q.pending != mb(1024).Times(want) || a.asking == heard {
			t.Errorf("heard of: %v: %d asked for, %d on nodes, the queue is asked for %v, asking %v", heard, a.table.Len(), onNodes, a.q.pending, a.asking)
		}
		w.check()
	}
}

// A queue without a guarantee keeps what the others leave over.
func TestUnguaranteedKeepsTheRest(t *testing.T) {
	w := build(t, func(s *conf.Site) {
		s.Monitor = true
		s.Preemption.PerRound, s.Preemption.NaturalTermination = 1, 1
	}, 1, mb(10240), "root.queues=a,b,c", "root.a.capacity=50", "root.b.capacity=50", "root.c.capacity=0",
		"root.c.maximum-applications=9", "root.c.maximum-capacity=100",
		"user-limit-factor=10", "maximum-am-resource-percent=1", "per-node-heartbeat.maximum-offswitch-assignments=100")
	w.submit("c", "u", "c", unit.Resources{})
	w.anywhere("c", 10, mb(1024))
	w.round()
	w.submit("a", "u", "a", unit.Resources{})
	w.anywhere("a", 3, mb(1024))
	if n := w.s.Round(0); len(w.live["c"]) != 10 || len(n.Warned) != 3 {
		t.Errorf("of %d containers %d are warned, want 3 of 10", len(w.live["c"]), len(n.Warned))
	}
}

func TestNoPreemption(t *testing.T) {
	for name, more := range map[string][]string{
		"disabled for the queue": {"root.a.disable_preemption=true"},
		"inherited":              {"root.disable_preemption=true"},
	} {
		if n := halves(t, more...).s.Round(0); len(n.Warned)+len(n.Killed) != 0 {
			t.Errorf("%s: %+v", name, n)
		}
	}
	w := halves(t)
	w.anywhere("b", 0, mb(1024))
	if n := w.s.Round(0); len(n.Warned) != 0 {
		t.Errorf("nobody wants anything: %+v", n)
	}
	w = halves(t)
	w.s.site.Preemption.ObserveOnly = true
	if n := w.s.Round(0); len(n.Warned) != 0 {
		t.Errorf("observe only: %+v", n)
	}
}

// AMs are spared unless they are more than the leaf's AMs may hold.
func TestAMsAreSpared(t *testing.T) {
	w := halves(t)
	for _, c := range w.s.apps[0].live {
		c.AM = true
	}
	w.s.Leaves[0].AMPercent = 1
	if n := w.s.Round(0); len(n.Warned) != 2 { // 102400 of AMs, of 51200 that may be
		t.Errorf("%d AMs warned, want 2", len(n.Warned))
	}
	var kept []*rm.Container
	for i, c := range w.s.apps[0].live {
		c.AM = i < 40
		if c.AM {
			kept = append(kept, c)
		}
	}
	n := w.s.Round(60 * unit.Second)
	for _, c := range n.Warned {
		if c.AM {
			t.Errorf("an AM was warned, with %d of them in all", len(kept))
		}
	}
}
