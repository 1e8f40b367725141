package adapt_test

import (
	"fmt"
	"slices"
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
	y := &yard{t: t, Scheduler: adapt.New(p)}
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
	list[0].Launched, list[0].Done = true, true
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
