package capacity

import (
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

func (w *world) why(id string) []policy.Reason { return w.s.Why(w.apps[id], w.now, nil) }

// explained serves a node. What was explained before must not contradict what is served first.
func (w *world) explained(i int) {
	w.t.Helper()
	why := map[*rm.App][]policy.Reason{}
	for _, a := range w.s.apps {
		if a != nil {
			why[a.App] = w.s.Why(a.App, w.now, nil)
		}
	}
	kept, before := w.s.nodes[i].reservation, w.nodes[i].Free
	if w.beat(i); kept != nil || len(w.s.out) == 0 {
		return
	}
	for _, r := range why[w.s.out[0].App] {
		switch r.Limit {
		case "", "node-locality-delay", "rack-locality-additional-delay", policy.Reserved:
		default:
			w.t.Fatalf("%s got %v of %v free although %+v", w.s.out[0].App.ID, w.s.out[0].Size, before, r)
		}
	}
}

// fill runs an application with n containers of 1024 MB.
func (w *world) fill(id string, n int64) {
	w.submit(id, "u", "default", unit.Resources{})
	w.anywhere(id, n, mb(1024))
	for w.round() != "" {
	}
}

func mem(v int64) unit.Resources { return unit.Resources{Mem: v} }

// Each limit in turn holds an application back, and Why names it first, with its figures.
func TestWhy(t *testing.T) {
	none := unit.Resources{}
	two := []string{"root.queues=p,q", "root.p.capacity=50", "root.q.capacity=50", "root.p.queues=a,b", "root.p.a.capacity=50", "root.p.b.capacity=50"}
	am := []string{"maximum-am-resource-percent=1", "user-limit-factor=10"}
	for _, c := range []struct {
		name     string
		nodes    int
		settings []string
		play     func(w *world)
		want     policy.Reason // of x
	}{
		{"queue's maximum", 4, append(two, append(am, "root.p.a.maximum-capacity=60")...), func(w *world) {
			w.submit("x", "u", "a", none)
			w.anywhere("x", 100, mb(1024))
		}, policy.Reason{Limit: "maximum-capacity", Queue: "root.p.a", Held: mem(24576), Max: mem(24576), Size: mem(1024)}},
		{"maximum of the queue above", 4, append(two, append(am, "root.p.maximum-capacity=50")...), func(w *world) {
			w.submit("y", "u", "b", none)
			w.anywhere("y", 10, mb(1024))
			w.submit("x", "u", "a", none)
			w.anywhere("x", 100, mb(1024))
		}, policy.Reason{Limit: "maximum-capacity", Queue: "root.p", Held: mem(20480), Max: mem(20480), Size: mem(1024)}},
		{"user limit", 4, append(two, "maximum-am-resource-percent=1"), func(w *world) {
			w.submit("x", "u", "a", none)
			w.anywhere("x", 100, mb(1024))
		}, policy.Reason{Limit: "user-limit-factor", Queue: "root.p.a", User: "u", Held: mem(11264), Max: mem(10240), Size: mem(1024)}},
		{"minimum user limit", 4, append(two, "maximum-am-resource-percent=1", "root.p.a.minimum-user-limit-percent=50", "root.p.a.maximum-capacity=50", "root.p.maximum-capacity=50"), func(w *world) {
			w.submit("x", "u", "a", none)
			w.submit("y", "v", "a", none)
			w.anywhere("x", 7, mb(1024))
			for w.round() != "" {
			}
			w.anywhere("x", 100, mb(1024))
			w.anywhere("y", 1, unit.Resources{Mem: 8192, Cores: 1})
		}, policy.Reason{Limit: "minimum-user-limit-percent", Queue: "root.p.a", User: "u", Held: mem(7168), Max: mem(5120), Size: mem(1024)}},
		{"AMs of the queue", 4, append(two, "maximum-am-resource-percent=0.1", "user-limit-factor=10"), func(w *world) {
			for _, id := range []string{"1", "2", "3", "4", "5", "x"} {
				w.submit(id, "u", "a", mb(1024))
			}
		}, policy.Reason{Limit: "maximum-am-resource-percent", Queue: "root.p.a", Held: mem(4096), Max: mem(4096), Size: mem(1024), Ahead: 1, Next: [3]string{"5"}}},
		{"AMs of the user", 4, append(two, "maximum-am-resource-percent=0.1"), func(w *world) {
			for _, id := range []string{"1", "2", "x"} {
				w.submit(id, "u", "a", mb(1024))
			}
		}, policy.Reason{Limit: "maximum-am-resource-percent", Queue: "root.p.a", User: "u", Held: mem(1024), Max: mem(1024), Size: mem(1024), Ahead: 1, Next: [3]string{"2"}}},
		{"no node is large enough", 2, append(one, "user-limit-factor=10"), func(w *world) {
			w.submit("x", "u", "default", none)
			w.anywhere("x", 1, mb(4096))
			for i, n := range w.nodes { // smaller ones take their place
				w.s.NodeRemoved(n, 0)
				w.nodes[i] = &rm.Node{Index: n.Index, Name: n.Name, Total: mb(2048)}
				w.s.NodeAdded(w.nodes[i], 0)
			}
		}, policy.Reason{Limit: policy.NodeSize, Max: mem(2048), Size: mem(4096)}},
		{"no room", 1, append(one, "user-limit-factor=10"), func(w *world) {
			w.fill("y", 10)
			w.submit("x", "u", "default", none)
			w.anywhere("x", 1, mb(1024))
		}, policy.Reason{Limit: policy.NodeRoom, Size: mem(1024)}},
		{"a node reserved for it", 2, one, func(w *world) {
			w.fill("y", 16)
			w.submit("x", "u", "default", none)
			w.anywhere("x", 1, mb(3072))
		}, policy.Reason{Limit: policy.Reserved, Node: "n0", Held: mem(2048), Max: mem(3072), Size: mem(3072)}},
		{"a node reserved for another", 2, one, func(w *world) {
			w.fill("y", 16)
			w.submit("z", "u", "default", none)
			w.anywhere("z", 1, mb(3072))
			w.round()
			w.submit("v", "u", "default", none)
			w.anywhere("v", 2, mb(1024))
			w.round()
			w.round()
			w.submit("x", "u", "default", none)
			w.anywhere("x", 1, mb(1024))
		}, policy.Reason{Limit: policy.Reserved, Node: "n0", Held: mem(2048), Max: mem(1024), Size: mem(1024), Ahead: 1, Next: [3]string{"z"}}},
		{"a better node", 4, append(one, "user-limit-factor=10"), func(w *world) {
			w.fill("y", 40)
			for i := len(w.live["y"]) - 1; i >= 0; i-- {
				if c := w.live["y"][i]; c.Node.Index == 3 {
					w.s.Ended(c, 0)
					w.live["y"] = slices.Delete(w.live["y"], i, i+1)
				}
			}
			w.submit("x", "u", "default", none)
			asks := []rm.Ask{{Priority: 20, Place: rm.Anywhere, Count: 4, Size: mb(1024)}}
			for _, p := range []rm.Place{rm.OnNode(0), rm.OnNode(1), rm.OnRack(0)} {
				asks = append(asks, rm.Ask{Priority: 20, Place: p, Count: 4, Size: mb(1024)})
			}
			w.ask("x", asks...)
			w.beat(3)
			w.still = true
		}, policy.Reason{Limit: "rack-locality-additional-delay", Count: 1, MaxCount: 3, Size: mem(1024)}},
		{"a more urgent application", 1, append(one, "user-limit-factor=10"), func(w *world) {
			w.submit("x", "u", "default", none)
			w.anywhere("x", 1, mb(1024))
			w.submit("y", "v", "default", none)
			w.anywhere("y", 1, mb(1024))
			w.s.SetPriority(w.apps["y"], 5, 0)
			w.still = true
		}, policy.Reason{Queue: "root.default", Ahead: 1, Next: [3]string{"y"}}},
		{"a queue that uses less of its guarantee", 1, append(two, am...), func(w *world) {
			w.submit("x", "u", "a", none)
			w.anywhere("x", 3, mb(1024))
			w.round()
			w.submit("y", "v", "q", none)
			w.anywhere("y", 1, mb(1024))
			w.still = true
		}, policy.Reason{Queue: "root.q", Max: mem(5120), Ahead: 1, Next: [3]string{"y"}}},
		{"applications of the queue", 1, append(one, "root.default.maximum-applications=1"), func(w *world) {
			w.submit("y", "u", "default", none)
			w.apps["x"] = &rm.App{Index: 7, User: "v", Queue: "default"}
		}, policy.Reason{Limit: "maximum-applications", Queue: "root.default", Count: 1, MaxCount: 1}},
		{"applications of the user", 1, append(one, "root.default.maximum-applications=2", "minimum-user-limit-percent=50"), func(w *world) {
			w.submit("y", "u", "default", none)
			w.apps["x"] = &rm.App{Index: 7, User: "u", Queue: "default"}
		}, policy.Reason{Limit: "maximum-applications", Queue: "root.default", User: "u", Count: 1, MaxCount: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := build(t, func(s *conf.Site) { s.MaxApplicationPriority = 10 }, c.nodes, mb(10240), c.settings...)
			c.play(w)
			for !w.still && w.round() != "" {
			}
			got := w.why("x")
			if len(got) == 0 || got[0] != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			w.check()
		})
	}
}
