package adapt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/policy/rm/adapt"
	"github.com/yardmaster/yardmaster/unit"
)

func gib(n int64) unit.Resources { return unit.Resources{Mem: 1024 * n, Cores: n} }

func anywhere(priority int32, count int64, size unit.Resources) rm.Ask {
	return rm.Ask{Priority: priority, Place: rm.Anywhere, Count: count, Size: size}
}

// yard is a scheduler with nodes, two in each rack.
type yard struct {
	t *testing.T
	rm.Scheduler
	nodes []*rm.Node
	seq   int64
}

func newYard(t *testing.T, p policy.Policy, nodes ...unit.Resources) *yard {
	s, err := adapt.New(p)
	if err != nil {
		t.Fatal(err)
	}
	y := &yard{t: t, Scheduler: s}
	for i, total := range nodes {
		y.nodes = append(y.nodes, &rm.Node{Index: int32(i), Rack: int32(i / 2), Name: fmt.Sprint("n", i), Total: total})
		y.NodeAdded(y.nodes[i], 0)
	}
	return y
}

func (y *yard) app(asks ...rm.Ask) *rm.App {
	y.t.Helper()
	a := &rm.App{Index: int32(y.seq), Seq: y.seq, ID: fmt.Sprint(y.seq), User: "u", Queue: "q"}
	y.seq++
	if err := y.Added(a, 0); err != nil {
		y.t.Fatal(err)
	}
	y.ask(a, asks...)
	return a
}

func (y *yard) ask(a *rm.App, asks ...rm.Ask) {
	y.t.Helper()
	if err := y.Asked(a, asks, nil, 0); err != nil {
		y.t.Fatal(err)
	}
}

// beat serves a node and says who got what.
func (y *yard) beat(i int, now unit.Time) (got string, list []*rm.Container) {
	list = slices.Clone(y.Beat(y.nodes[i], now))
	for _, c := range list {
		got += fmt.Sprintf("%s@%d:%d %v;", c.App.ID, c.Priority, c.Size.Mem, c.Near)
	}
	return got, list
}

func (y *yard) expect(i int, want string) []*rm.Container {
	y.t.Helper()
	got, list := y.beat(i, 0)
	if got != want {
		y.t.Fatalf("node %d gives %q, want %q", i, got, want)
	}
	return list
}

// The most urgent request goes first. One that is less urgent is served if it is no larger.
func TestPriorities(t *testing.T) {
	y := newYard(t, policy.Policy{Order: fifo.New()}, gib(3), gib(1))
	a := y.app(anywhere(20, 2, gib(1)), anywhere(10, 1, gib(2)))
	y.expect(1, "0@20:1024 any;")
	y.expect(0, "0@10:2048 any;0@20:1024 any;")
	y.Removed(a, 0)
	y = newYard(t, policy.Policy{Order: fifo.New()}, gib(3))
	y.app(anywhere(20, 1, gib(3)), anywhere(10, 1, gib(1)))
	y.app(anywhere(10, 1, gib(1)))
	y.expect(0, "0@10:1024 any;1@10:1024 any;")
	if err := y.Asked(y.app(), []rm.Ask{anywhere(1, 1, gib(4))}, nil, 0); err == nil {
		t.Error("a container is given that no node could hold")
	}
}

// A job waits for a node that is near its input as its policy says.
func TestPlaces(t *testing.T) {
	p, err := all.Policies.New(policy.Spec{Name: "delay", Params: policy.Params{"node": "2", "rack": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	y := newYard(t, p, gib(8), gib(1), gib(8), gib(8))
	at := func(place rm.Place, n int64) rm.Ask {
		return rm.Ask{Priority: 20, Place: place, Count: n, Size: gib(1)}
	}
	y.app(at(rm.OnNode(0), 4), at(rm.OnRack(0), 4), at(rm.Anywhere, 4))
	y.expect(2, "")
	y.expect(3, "")
	y.expect(1, "0@20:1024 rack-local;")
	y.expect(2, "") // it has come to the rack, and waits once more
	y.expect(2, "0@20:1024 off-rack;0@20:1024 off-rack;0@20:1024 off-rack;")
}

type ticker struct{ at []unit.Time }

func (k *ticker) Tick(now unit.Time) (unit.Time, bool) {
	k.at = append(k.at, now)
	return now + 5*unit.Second, false
}

// watched notes why containers came back.
type watched struct {
	policy.Order
	ends []policy.End
}

func (w *watched) Ended(e *policy.Event) {
	w.ends = append(w.ends, e.Why)
	w.Order.Ended(e)
}

func (w *watched) Headroom(j *policy.Job) unit.Resources { return gib(j.Running) }

func TestTimerIsPolled(t *testing.T) {
	k := &ticker{}
	y := newYard(t, policy.Policy{Order: fifo.New(), Timer: k}, gib(1))
	y.app()
	for s := range unit.Time(12) {
		y.beat(0, s*unit.Second)
	}
	if want := []unit.Time{0, 5 * unit.Second, 10 * unit.Second}; !slices.Equal(k.at, want) {
		t.Errorf("ticks at %v, want %v", k.at, want)
	}
}

// A container leaves its application once, with the reason; its room comes back with the word of its node if it ran.
func TestEnds(t *testing.T) {
	w := &watched{Order: fifo.New()}
	y := newYard(t, policy.Policy{Order: w}, gib(4))
	if _, ok := y.Scheduler.(rm.Knobs); ok {
		t.Error("an order without knobs has some here")
	}
	a := y.app(anywhere(20, 4, gib(1)))
	list := y.expect(0, "0@20:1024 any;0@20:1024 any;0@20:1024 any;0@20:1024 any;")
	if y.Headroom(a) != gib(4) {
		t.Errorf("headroom %v", y.Headroom(a))
	}
	list[0].Launched, list[0].End = true, policy.Done
	list[1].Launched = true
	y.Ended(list[0], 0)
	if err := y.Asked(a, nil, list[1:3], 0); err != nil {
		t.Fatal(err)
	}
	if y.nodes[0].Free != gib(2) { // the second still runs
		t.Errorf("%v free after a release", y.nodes[0].Free)
	}
	y.Removed(a, 0)
	y.Ended(list[1], 0)
	if want := []policy.End{policy.Done, policy.Taken, policy.Taken, policy.Taken}; !slices.Equal(w.ends, want) {
		t.Errorf("ends %v, want %v", w.ends, want)
	}
	if y.nodes[0].Free != gib(4) {
		t.Errorf("%v free at the end", y.nodes[0].Free)
	}
}

// A steering policy reaches the order behind the adapter, and sees its queues.
func TestKnobsAndGauges(t *testing.T) {
	p, err := all.Policies.New(policy.Spec{Name: "capacity"})
	if err != nil {
		t.Fatal(err)
	}
	y := newYard(t, p, gib(4))
	a := y.app()
	knobs := y.Scheduler.(rm.Knobs)
	if old, err := knobs.SetQueue("q", "maximum-am-resource-percent", 0.25, 0); err != nil || old != 0.5 {
		t.Errorf("the AM share was %v, %v", old, err)
	}
	if err := knobs.Move(a, "other", 0); err != nil || y.Leaf(a) != "root.other" {
		t.Errorf("it is in %s, %v", y.Leaf(a), err)
	}
	// An order without gauges does not say which queue its jobs are in: the adapter knows.
	blind := newYard(t, policy.Policy{Order: struct {
		policy.Order
		policy.Knobs
	}{p.Order, p.Order.(policy.Knobs)}}, gib(4))
	if b := blind.app(); blind.Scheduler.(rm.Knobs).Move(b, "other", 0) != nil || blind.Leaf(b) != "other" {
		t.Errorf("it is in %s", blind.Leaf(b))
	}
	gauges := y.Scheduler.(rm.Gauges)
	if got := gauges.Gauges(nil); len(got) != 2 || got[0].Queue != "root.q" || got[0].AMShare != 0.25 || gauges.Active(a) {
		t.Errorf("gauges %+v", got)
	}
	knobs.SetPriority(a, 3, 0)
	b := y.app()
	y.ask(b, anywhere(20, 4, gib(1)))
	y.ask(b, anywhere(20, 0, gib(1)))
	y.expect(0, "")
}

// sized notes what the order hears of the racks.
type sized struct {
	policy.Order
	heard string
}

func (s *sized) Resized(now unit.Time, c policy.Cluster) {
	s.heard = fmt.Sprint(c.Racks, c.Working)
	s.Order.Resized(now, c)
}

func TestRacks(t *testing.T) {
	s := &sized{Order: fifo.New()}
	y := newYard(t, policy.Policy{Order: s, Needs: policy.Racks}, gib(1), gib(1), gib(1), gib(1))
	for _, want := range []string{"[0 0 1 1] [2 2]", "[0 0 1 1] [1 2]", "[0 0 1 1] [2 2]"} {
		if s.heard != want {
			t.Errorf("racks %s, want %s", s.heard, want)
		}
		if want == "[0 0 1 1] [2 2]" {
			y.NodeRemoved(y.nodes[1], 0)
		} else {
			y.NodeAdded(y.nodes[1], 0)
		}
	}
}

// What the adapter cannot give is refused.
func TestNeeds(t *testing.T) {
	for _, p := range []policy.Policy{
		{Order: fifo.New(), Needs: policy.Restarts},
		{Order: fifo.New(), Input: func(*policy.Job) (first, others []int32) { return nil, nil }},
	} {
		if _, err := adapt.New(p); err == nil || !strings.Contains(err.Error(), "a YARN clock cannot run this policy: it ") {
			t.Errorf("%v", err)
		}
	}
}

// greedy claims what a test says.
type greedy struct {
	policy.Order
	claims []policy.Claim
	jobs   []*policy.Job
}

func (g *greedy) Arrived(now unit.Time, j *policy.Job) error {
	g.jobs = append(g.jobs, j)
	return g.Order.Arrived(now, j)
}

func (g *greedy) Victims(_ unit.Time, to []policy.Claim) []policy.Claim {
	to = append(to, g.claims...)
	g.claims = nil
	return to
}

// Claims are preempted in a round after a shift or a tick: last allocated first, only on the node that is named, and none whose work is done. What the AM
// does not know of is requested again.
func TestClaims(t *testing.T) {
	for _, by := range []string{"shift", "tick"} {
		g := &greedy{Order: fifo.New()}
		shifted := false
		p := policy.Policy{Order: g, Shifted: func() bool { was := shifted; shifted = false; return was }}
		if by == "tick" {
			p.Shifted, p.Timer = nil, &ticker{}
		}
		y := newYard(t, p, gib(2), gib(4))
		if y.Every() != unit.Second {
			t.Errorf("rounds every %v", y.Every())
		}
		a := &rm.App{ID: "0", Stages: []rm.Stage{{Priority: 20, Tasks: 4}, {Priority: 10, Tasks: 2}}, Shuffles: []rm.Shuffle{{From: 20, To: 10}}}
		y.seq++
		if err := y.Added(a, 0); err != nil {
			t.Fatal(err)
		}
		j := g.jobs[0]
		if len(j.Stages) != 2 || j.Stages[0].Tasks != 4 || j.Stages[1].Tasks != 2 || len(j.Stages[1].After) != 1 {
			t.Fatalf("stages %+v", j.Stages)
		}
		y.ask(a, anywhere(20, 4, gib(1)), anywhere(10, 2, gib(1)))
		list := append(y.expect(0, "0@10:1024 any;0@10:1024 any;"), y.expect(1, "0@20:1024 any;0@20:1024 any;0@20:1024 any;0@20:1024 any;")...)
		b := y.app()
		for _, c := range list[:5] {
			c.Acquired, c.Launched = true, true
		}
		list[3].End = policy.Done
		g.claims = []policy.Claim{{Job: j, Stage: 0, Count: 2, Node: &policy.Node{Index: 0}}, {Job: j, Stage: 0, Count: 2, Node: &policy.Node{Index: 1}, For: g.jobs[1]}}
		now := unit.Second
		if by == "shift" {
			if n := y.Round(now); len(n.Killed) > 0 {
				t.Errorf("killed %v before the order shifts", n.Killed)
			}
			shifted = true
		} else {
			now = 5 * unit.Second
		}
		killed := y.Round(now).Killed
		if !slices.Equal(killed, []*rm.Container{list[5], list[4]}) || killed[0].Claim.For.Seq != b.Seq || !killed[1].Gone {
			t.Fatalf("by %s: killed %v", by, killed)
		}
		if j.Pending != 1 || j.Stages[0].Running != 2 || y.nodes[1].Free != gib(1) {
			t.Errorf("%d pending, %d running, %v free", j.Pending, j.Stages[0].Running, y.nodes[1].Free)
		}
	}
}
