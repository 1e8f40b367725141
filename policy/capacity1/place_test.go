package capacity1

import (
	"testing"

	"github.com/yardmaster/yardmaster/policy"
)

// beatsUntil counts the heartbeats of one node until a map starts there.
func (w *world) beatsUntil(node, most int) int {
	for i := range most {
		if len(w.beat(mapSlots, node)) > 0 {
			return i + 1
		}
	}
	return 0
}

func TestOffSwitchWaits(t *testing.T) {
	at := func(n policy.Near) func(*played, int) policy.Near { return func(*played, int) policy.Near { return n } }
	for _, c := range []struct {
		name string
		c    Config
		maps int64
		near policy.Near
		want int // heartbeats until the first start, on 8 nodes
	}{
		{"node", Config{}, 4, policy.NodeLocal, 1},
		{"rack: no delay, the known flaw", Config{}, 4, policy.RackLocal, 1},
		{"nowhere", Config{}, 4, policy.NoPreference, 1},
		{"off switch: more than the nodes", Config{}, 4, policy.OffRack, 9},
		{"off switch, a job of four maps", Config{OffSwitch: PastMissed}, 4, policy.OffRack, 5},
		{"off switch, a large job", Config{OffSwitch: PastMissed}, 40, policy.OffRack, 9},
		{"off switch, half of it", Config{OffSwitch: PastMissed, LocalityWaitFactor: 0.5}, 40, policy.OffRack, 5},
		{"rack with a delay", Config{NodeDelay: 3}, 4, policy.RackLocal, 4},
		{"node with a delay", Config{NodeDelay: 3}, 4, policy.NodeLocal, 1},
		{"off switch with delays", Config{NodeDelay: 3, RackDelay: 5}, 4, policy.OffRack, 6},
		{"a delay is at most the nodes", Config{NodeDelay: 1000}, 4, policy.RackLocal, 9},
		{"and at most twice", Config{NodeDelay: 1000, RackDelay: 1000}, 4, policy.OffRack, 17},
	} {
		w := newWorld(t, c.c, 8, 1, 1)
		w.near = at(c.near)
		w.must("j", "ann", "", c.maps, 0)
		w.tick()
		if got := w.beatsUntil(0, 30); got != c.want {
			t.Errorf("%s: starts at heartbeat %d, want %d", c.name, got, c.want)
		}
	}
}

// A near task sets the count back; a far one does not.
func TestCountOfChances(t *testing.T) {
	w := newWorld(t, Config{}, 3, 9, 1)
	near := policy.OffRack
	w.near = func(*played, int) policy.Near { return near }
	w.must("j", "ann", "", 20, 0)
	w.tick()
	if got := w.beatsUntil(0, 9); got != 4 {
		t.Fatalf("the first far one at heartbeat %d", got)
	}
	if got := w.beat(mapSlots, 0); len(got) != 1 {
		t.Errorf("after a far one, %d start in the next heartbeat", len(got))
	}
	near = policy.RackLocal
	if got := w.beat(mapSlots, 0); len(got) != 7 {
		t.Errorf("%d near ones in a heartbeat", len(got))
	}
	near = policy.OffRack
	if got := w.beatsUntil(1, 9); got != 4 {
		t.Errorf("after near ones, the next far one at heartbeat %d", got)
	}
}

// At most one map off switch a heartbeat, and after it so many others as are allowed, none of them off switch.
func TestOneOffSwitchAHeartbeat(t *testing.T) {
	for _, c := range []struct{ after, want, far int }{{0, 1, 1}, {1, 2, 1}, {9, 3, 1}} {
		w := newWorld(t, Config{TasksAfterOffSwitch: c.after}, 1, 9, 1)
		far := 0
		w.near = func(j *played, _ int) policy.Near {
			if j.view.ID == "far" {
				return policy.OffRack
			}
			return policy.NodeLocal
		}
		w.must("far", "ann", "", 5, 0)
		w.must("near", "ann", "", 2, 0)
		w.tick()
		w.state.jobs[0].opportunities = 50
		got := w.beat(mapSlots, 0)
		for _, name := range got {
			if name == "far" {
				far++
			}
		}
		if len(got) != c.want || far != c.far {
			t.Errorf("after %d: %v", c.after, got)
		}
	}
}

// Reduces that avoid busy nodes pass one over while a node without reduces has a free slot, and wait no longer than a round.
func TestAvoidBusyNodes(t *testing.T) {
	for _, avoid := range []bool{false, true} {
		w := newWorld(t, Config{AvoidBusyNodes: avoid}, 3, 1, 2)
		for _, name := range []string{"j0", "j1", "j2", "j3"} {
			w.must(name, "ann", "", 1, 1)
		}
		w.tick()
		w.release("j0")
		if got := w.beat(reduceSlots, 0); len(got) != 1 {
			t.Fatalf("the first: %v", got)
		}
		w.release("j1")
		w.release("j2")
		if got := w.beat(reduceSlots, 0); (len(got) == 1) == avoid {
			t.Errorf("avoid %v: a busy node takes %v", avoid, got)
		}
		if !avoid {
			continue
		}
		if a, b := w.beat(reduceSlots, 1), w.beat(reduceSlots, 2); len(a) != 1 || len(b) != 1 {
			t.Fatalf("free nodes take %v and %v", a, b)
		}
		w.release("j3") // all nodes are busy now: after a round one takes it
		for i := range 3 {
			if got := w.beat(reduceSlots, i); len(got) > 0 {
				t.Fatalf("node %d takes %v at once", i, got)
			}
		}
		if got := w.beat(reduceSlots, 0); len(got) != 1 {
			t.Errorf("after a round: %v", got)
		}
	}
}
