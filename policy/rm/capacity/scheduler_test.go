package capacity

import (
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

var one = []string{"root.queues=default", "root.default.capacity=100", "maximum-am-resource-percent=1"}

// A request without a place gets one container a report; one that names its hosts gets all at once.
func TestOffSwitchOncePerReport(t *testing.T) {
	w := build(t, nil, 10, mb(10240), one...)
	w.submit("a", "u", "default", unit.Resources{})
	w.anywhere("a", 100, mb(1024))
	if got := len(strings.Fields(w.round())); got != 10 {
		t.Errorf("%d containers in a round of 10 reports, want 10", got)
	}
	w = build(t, nil, 10, mb(10240), one...)
	w.submit("a", "u", "default", unit.Resources{})
	asks := []rm.Ask{{Priority: 20, Place: rm.Anywhere, Count: 90, Size: mb(1024)}}
	for i := range int32(10) {
		asks = append(asks, rm.Ask{Priority: 20, Place: rm.OnNode(i), Count: 9, Size: mb(1024)})
	}
	for r := range int32(5) {
		asks = append(asks, rm.Ask{Priority: 20, Place: rm.OnRack(r), Count: 18, Size: mb(1024)})
	}
	w.ask("a", asks...)
	if got := len(strings.Fields(w.round())); got != 90 {
		t.Errorf("%d containers in a round of reports from the hosts that were named, want 90", got)
	}
}

// Ten AMs of 1024 fit a tenth of 102400; the eleventh waits for one to leave.
func TestAMsWait(t *testing.T) {
	w := build(t, nil, 10, mb(10240), "root.queues=default", "root.default.capacity=100", "maximum-am-resource-percent=0.1")
	for i := range 12 {
		w.submit(string(rune('a'+i)), "u", "default", mb(1024))
	}
	if n := w.s.Leaves[0].ActiveApps; n != 10 {
		t.Fatalf("%d applications are active, want 10", n)
	}
	w.round()
	w.round()
	w.end("a")
	if n := w.s.Leaves[0].ActiveApps; n != 10 {
		t.Fatalf("%d applications are active after a container ended, want 10", n)
	}
	w.s.Removed(w.apps["a"], 0)
	if n := w.s.Leaves[0].ActiveApps; n != 10 || !w.s.apps[w.apps["k"].Index].active {
		t.Fatalf("%d applications are active after one left, want 10 and the eleventh among them", n)
	}
}

func TestAMLimits(t *testing.T) {
	quarter := []string{"root.queues=q,r", "root.q.capacity=25", "root.r.capacity=75", "maximum-am-resource-percent=0.1"}
	for _, c := range []struct {
		name     string
		settings []string
		nodes    int
		am       int64
		users    string // one letter an application
		want     int
	}{
		{"one queue", []string{"root.queues=q", "root.q.capacity=100"}, 10, 1024, "uuuuuuuuuuuu", 10},
		{"rounded to 2048", []string{"root.queues=q", "root.q.capacity=100"}, 10, 1536, "uuuuuuuuuuuu", 5},
		{"a user's part of the guarantee", quarter, 10, 1024, "uuuuuuuuuuuu", 3},
		{"four users", quarter, 10, 1024, "uuuuvvvvwwwwxxxx", 10},
		{"factor 4", append(quarter, "user-limit-factor=4"), 10, 1024, "uuuuuuuuuuuu", 10},
		{"the first always", []string{"root.queues=q", "root.q.capacity=100"}, 1, 2048, "uu", 1},
	} {
		w := build(t, nil, c.nodes, mb(10240), c.settings...)
		for i, u := range c.users {
			w.submit(string(rune('A'+i)), string(u), "q", mb(c.am))
		}
		var n int
		for _, q := range w.s.Leaves {
			n += q.ActiveApps
		}
		if n != c.want {
			t.Errorf("%s: %d active, want %d", c.name, n, c.want)
		}
	}
}

// A node with room, but too little for the next request, is kept for it, and serves nobody else.
func TestReservation(t *testing.T) {
	w := build(t, nil, 3, mb(4096), one...)
	w.submit("a", "u", "default", unit.Resources{})
	w.anywhere("a", 3, mb(1024))
	for range 3 {
		w.beat(0)
	}
	w.submit("b", "u", "default", unit.Resources{})
	w.submit("c", "u", "default", unit.Resources{})
	w.anywhere("b", 1, mb(2048))
	w.anywhere("c", 1, mb(1024))
	if got := w.beat(0); got != "" || w.s.nodes[0].reservation == nil {
		t.Fatalf("got %q; the node must be kept for b", got)
	}
	if got := w.beat(0); got != "" {
		t.Fatalf("a kept node served %q", got)
	}
	if w.s.Root.Used.Mem != 3072+2048 {
		t.Errorf("the root uses %v: reservations count", w.s.Root.Used)
	}
	w.end("a")
	if got := w.beat(0); got != "b:2048" {
		t.Errorf("after one ended the node served %q, want b", got)
	}
	w.end("a")
	if got := w.beat(0); got != "c:1024" {
		t.Errorf("then it served %q, want c", got)
	}
	w.end("c")
	// A reservation goes when its request does.
	w.anywhere("b", 1, mb(4096))
	w.beat(0)
	if w.s.nodes[0].reservation == nil {
		t.Fatal("want a reservation")
	}
	w.anywhere("b", 0, mb(4096))
	if w.beat(0); w.s.nodes[0].reservation != nil || w.s.Root.reserved.Mem != 0 {
		t.Error("the reservation of a request that is gone is still there")
	}
}

func TestStarvation(t *testing.T) {
	w := build(t, nil, 1, mb(8192), one...)
	w.submit("a", "u", "default", unit.Resources{})
	w.anywhere("a", 1, mb(4096))
	a := w.s.apps[0]
	row := a.table.First()
	for _, c := range []struct {
		size, rereserved int64
		more             bool
	}{{4096, 1, false}, {4096, 2, true}, {8192, 7, false}, {8192, 8, true}} {
		row.Reserved, row.Rereserved = 1, c.rereserved
		if got := w.s.wantsMore(a, row, mb(c.size)); got != c.more {
			t.Errorf("size %d reserved again %d times: more %v, want %v", c.size, c.rereserved, got, c.more)
		}
	}
}

// Opportunities to skip before a container is allocated away from the requested places.
func TestLocalityDelay(t *testing.T) {
	for _, c := range []struct {
		nodes        int
		hosts, count int64
		settings     string
		offSwitchAt  int64 // turn
	}{
		{10, 2, 2, "node-locality-delay=40", 1}, // 2 wanted on 2 hosts of 2 racks: 0.8
		{10, 6, 20, "node-locality-delay=40", 11},
		{10, 2, 2, "rack-locality-additional-delay=3", 11},
	} {
		w := build(t, nil, c.nodes, mb(10240), append(one, c.settings)...)
		w.submit("a", "u", "default", unit.Resources{})
		asks := []rm.Ask{{Priority: 20, Place: rm.Anywhere, Count: c.count, Size: mb(1024)}}
		for i := range int32(c.hosts) {
			n := int32(c.nodes) - 1 - 2*(i%int32(c.nodes/2)) - i/int32(c.nodes/2)
			asks = append(asks, rm.Ask{Priority: 20, Place: rm.OnNode(n), Count: 1, Size: mb(1024)}, rm.Ask{Priority: 20, Place: rm.OnRack(n / 2), Count: 1, Size: mb(1024)})
		}
		w.ask("a", asks...)
		row := w.s.apps[0].table.First()
		turn := int64(0)
		for turn < 100 {
			turn++
			row.Missed = turn
			if float32(row.Missed) > w.s.anywhereAfter(row) {
				break
			}
		}
		if turn != c.offSwitchAt {
			t.Errorf("%d wanted on %d hosts of %d: anywhere at turn %d, want %d (places %d)", c.count, c.hosts, c.nodes, turn, c.offSwitchAt, row.Places())
		}
	}
}

// Queues go by how much of their guarantee they use, ties by the larger guarantee.
func TestQueueOrder(t *testing.T) {
	settings := []string{"root.queues=a,b,c", "root.a.capacity=50", "root.b.capacity=30", "root.c.capacity=20"}
	for _, c := range []struct {
		name string
		more []string
		used map[string]int64
		want string
	}{
		{"ratios", nil, map[string]int64{"a": 20480, "b": 9216}, "c b a"},
		{"all idle", nil, nil, "a b c"},
		{"priorities", []string{"root.ordering-policy=priority-utilization", "root.a.priority=5", "root.b.priority=1", "root.c.priority=1"}, map[string]int64{"a": 20480, "b": 9216}, "a c b"},
		{"priorities above the guarantee", []string{"root.ordering-policy=priority-utilization", "root.a.priority=5", "root.b.priority=1", "root.c.priority=1"}, map[string]int64{"a": 51200, "b": 9216}, "c b a"},
	} {
		w := build(t, nil, 10, mb(10240), append(settings, c.more...)...)
		for _, q := range w.s.Leaves {
			q.Used = mb(c.used[q.Name])
			if c.used[q.Name] == 0 {
				q.Used = unit.Resources{}
			}
		}
		var names []string
		for _, q := range w.s.sort(w.s.Root) {
			names = append(names, q.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Two users of a leaf with half of the cluster. Below a maximum each gets half of the guarantee, the first one container
// more (a user at its limit is not above it); without one both grow.
func TestUserLimit(t *testing.T) {
	for _, c := range []struct {
		max  string
		want int64
	}{{"50", 25600}, {"100", 51200}} {
		w := build(t, nil, 10, mb(10240), "root.queues=a,b", "root.a.capacity=50", "root.b.capacity=50", "root.a.maximum-capacity="+c.max,
			"root.a.minimum-user-limit-percent=50", "maximum-am-resource-percent=1")
		for _, u := range []string{"u", "v"} {
			w.submit(u, u, "a", unit.Resources{})
			w.anywhere(u, 200, mb(1024))
		}
		for range 30 {
			w.round()
		}
		for i, u := range w.s.Leaves[0].list {
			if want := c.want + 1024 - 2048*int64(i); u.Used.Mem != want {
				t.Errorf("maximum %s: user %s holds %d, want %d", c.max, u.name, u.Used.Mem, want)
			}
		}
	}
}

// A leaf that has room under its limit, but not enough for its next request, keeps that room from the siblings after it.
func TestBlockedRoom(t *testing.T) {
	w := build(t, nil, 2, mb(10240), "root.queues=p,q", "root.p.capacity=50", "root.q.capacity=50", "root.p.maximum-capacity=50",
		"root.p.queues=a,b", "root.p.a.capacity=50", "root.p.b.capacity=50", "root.p.a.maximum-capacity=50",
		"user-limit-factor=10", "maximum-am-resource-percent=1")
	w.submit("a", "u", "a", unit.Resources{})
	w.submit("b", "u", "b", unit.Resources{})
	for _, id := range []string{"a", "b"} {
		w.anywhere(id, 1, mb(4096))
	}
	w.round()
	w.anywhere("a", 1, mb(2048))
	w.anywhere("b", 1, mb(2048))
	if got := w.round(); got != "" {
		t.Errorf("%q was served from room that is kept for a", got)
	}
	w.anywhere("b", 1, mb(1024))
	if got := w.round(); got != "b:1024" {
		t.Errorf("got %q, want b:1024", got)
	}
}

func TestRefusals(t *testing.T) {
	w := build(t, nil, 1, mb(4096), "root.queues=a,b", "root.a.capacity=50", "root.b.capacity=50", "root.b.state=STOPPED", "root.a.maximum-applications=1")
	for queue, want := range map[string]string{"b": "STOPPED", "c": "no leaf queue", "root.a": ""} {
		err := w.s.Added(&rm.App{Index: 0, User: "u", Queue: queue}, 0)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("queue %s: %v, want %q", queue, err, want)
		}
	}
	err := w.s.Asked(&rm.App{Index: 0}, []rm.Ask{{Place: rm.Anywhere, Count: 1, Size: mb(8192)}}, nil, 0)
	if err == nil || !strings.Contains(err.Error(), "largest") {
		t.Errorf("a container larger than any node: %v", err)
	}
	gpu := unit.Resources{Mem: 1024, Cores: 1, Extra: unit.Named("gpu", 1)}
	if err := w.s.Asked(&rm.App{Index: 0}, []rm.Ask{{Place: rm.Anywhere, Count: 1, Size: gpu}}, nil, 0); err == nil || !strings.Contains(err.Error(), "memory and vcores only") {
		t.Errorf("a container with a GPU: %v", err)
	}
	if err := w.s.Added(&rm.App{Index: 1, User: "u", Queue: "a"}, 0); err == nil {
		t.Error("the second application of a queue that takes one was let in")
	}
}

// Fair ordering serves the application that holds least; weighted by size, a large demand counts for it.
func TestSizeBasedWeight(t *testing.T) {
	for weighted, want := range map[string]string{"false": "a:1024", "true": "b:1024"} {
		w := build(t, nil, 1, mb(6144), append(one, "root.default.ordering-policy=fair", "root.default.user-limit-factor=10",
			"root.default.maximum-am-resource-percent=1",
			"root.default.ordering-policy.fair.enable-size-based-weight="+weighted)...)
		for id, n := range map[string]int64{"a": 2, "b": 3} {
			w.submit(id, "u", "default", unit.Resources{})
			w.anywhere(id, n, mb(1024))
		}
		for range 5 {
			w.round()
		}
		if len(w.live["a"]) != 2 || len(w.live["b"]) != 3 {
			t.Fatal(w.live)
		}
		w.anywhere("a", 1, mb(1024))
		w.anywhere("b", 1000, mb(1024))
		if got := w.round(); got != want {
			t.Errorf("weighted by size: %s: got %q, want %q", weighted, got, want)
		}
	}
}

// All leaves together hold maximum-applications; one that leaves makes room, a moved one does not count twice.
func TestMaximumApplications(t *testing.T) {
	w := build(t, nil, 1, mb(8192), "root.queues=a,b", "root.a.capacity=50", "root.b.capacity=50", "maximum-applications=2",
		"root.a.maximum-applications=9",
		"root.b.maximum-applications=9", "user-limit-factor=10")
	w.submit("x", "u", "a", mb(1024))
	w.submit("y", "u", "b", mb(1024))
	third := &rm.App{Index: 2, User: "u", Queue: "a"}
	if err := w.s.Move(w.apps["x"], "b", 0); err != nil {
		t.Error(err)
	}
	if err := w.s.Added(third, 0); err == nil || !strings.Contains(err.Error(), "already 2 applications") {
		t.Errorf("the third: %v", err)
	}
	w.s.Removed(w.apps["y"], 0)
	if err := w.s.Added(third, 0); err != nil {
		t.Error(err)
	}
}

func TestDominantMaximum(t *testing.T) {
	w := build(t, func(s *conf.Site) { s.MaxAllocation.Cores = 32 }, 1, unit.Resources{Mem: 10240, Cores: 4}, append(one, "resource-calculator=x.DominantResourceCalculator")...)
	w.submit("a", "u", "default", unit.Resources{})
	w.anywhere("a", 5, unit.Resources{Mem: 1024, Cores: 3})
	if got := w.round() + w.round(); got != "a:1024" {
		t.Errorf("got %q: the node's vcores allow one", got)
	}
}
