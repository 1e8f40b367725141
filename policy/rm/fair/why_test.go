package fair

import (
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

func (w *world) why(id string) []policy.Reason { return w.s.Why(w.apps[id], w.now, nil) }

// settle lets all nodes report until nothing changes.
func (w *world) settle() {
	for got := true; got; {
		got = false
		w.now += 500 * ms
		w.s.Round(w.now)
		for i := range w.nodes {
			w.now += 10 * ms
			got = len(w.beat(i)) > 0 || got
		}
	}
}

// explained serves a node. What was explained before must not contradict what is served first.
func (w *world) explained(t tb, i int) {
	t.Helper()
	why, first := map[*rm.App][]policy.Reason{}, map[*rm.App]int32{}
	for _, a := range w.s.apps {
		if a == nil {
			continue
		}
		why[a.app] = w.s.Why(a.app, w.now, nil)
		if r := a.table.First(); r != nil {
			first[a.app] = r.Priority
		}
	}
	n := w.s.nodes[i]
	kept := n.kept.app != nil || len(n.claims) > 0
	got := w.beat(i)
	if kept || len(got) == 0 || got[0].Priority != first[got[0].App] {
		return
	}
	for _, r := range why[got[0].App] {
		switch r.Limit {
		case "", "locality.threshold.node", "locality.threshold.rack", policy.Reserved:
		default:
			t.Fatalf("%s got %v although %+v", got[0].App.ID, got[0].Size, r)
		}
	}
}

// Each limit in turn holds an application back, and Why names it first, with its figures.
func TestWhy(t *testing.T) {
	none := unit.Resources{}
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	fill := func(w *world, id string, n int64) {
		must(w.add(id, "u", "a", none))
		w.want(id, n, mb(1024))
		w.settle()
	}
	for _, c := range []struct {
		name  string
		xml   string
		nodes int
		play  func(w *world) // ends with x waiting
		want  policy.Reason
	}{
		{"queue's maximum", `<queue name="a"><maxResources>2048 mb, 9 vcores</maxResources></queue>`, 1, func(w *world) {
			fill(w, "x", 5)
		}, policy.Reason{Limit: "maxResources", Queue: "root.a", Held: r(2048, 2), Max: r(2048, 9), Size: mb(1024)}},
		{"maximum of the queue above", `<queue name="p"><maxResources>2048 mb, 9 vcores</maxResources><queue name="a"/></queue>`, 1, func(w *world) {
			must(w.add("x", "u", "p.a", none))
			w.want("x", 5, mb(1024))
			w.settle()
		}, policy.Reason{Limit: "maxResources", Queue: "root.p", Held: r(2048, 2), Max: r(2048, 9), Size: mb(1024)}},
		{"AMs", `<queue name="a"><maxAMShare>0.3</maxAMShare></queue>`, 1, func(w *world) {
			must(w.add("y", "u", "a", mb(1024)))
			must(w.add("z", "u", "a", mb(1024)))
			must(w.add("x", "u", "a", mb(1024)))
			w.settle()
		}, policy.Reason{Limit: "maxAMShare", Queue: "root.a", Held: r(2048, 2), Max: r(2458, 2), Size: mb(1024)}},
		{"running applications of the queue", `<queue name="a"><maxRunningApps>1</maxRunningApps></queue>`, 1, func(w *world) {
			fill(w, "y", 1)
			fill(w, "z", 1)
			fill(w, "x", 1)
		}, policy.Reason{Limit: "maxRunningApps", Queue: "root.a", Count: 1, MaxCount: 1, Ahead: 1, Next: [3]string{"z"}}},
		{"running applications of the user", `<queue name="a"/><user name="u"><maxRunningApps>1</maxRunningApps></user>`, 1, func(w *world) {
			fill(w, "y", 1)
			fill(w, "x", 1)
		}, policy.Reason{Limit: "maxRunningApps", User: "u", Count: 1, MaxCount: 1}},
		{"no node is large enough", `<queue name="a"/>`, 1, func(w *world) {
			must(w.add("x", "u", "a", none))
			w.want("x", 1, mb(6144))
			w.s.NodeRemoved(w.nodes[0], w.now)
			w.nodes = nil
			w.addNodes(1, 1, r(4096, 8))
			w.settle()
		}, policy.Reason{Limit: policy.NodeSize, Max: r(4096, 8), Size: mb(6144)}},
		{"no room", `<queue name="a"/>`, 1, func(w *world) {
			fill(w, "y", 9)
			must(w.add("x", "u", "a", none))
			w.want("x", 1, mb(1024))
			w.settle()
		}, policy.Reason{Limit: policy.NodeRoom, Size: mb(1024)}},
		{"a node reserved for it", `<queue name="a"/>`, 2, func(w *world) {
			fill(w, "y", 12)
			must(w.add("x", "u", "a", none))
			w.want("x", 1, mb(3072))
			w.settle()
		}, policy.Reason{Limit: policy.Reserved, Node: "n0", Held: r(2048, 2), Max: mb(3072), Size: mb(3072)}},
		{"a node reserved for another", `<queue name="a"/>`, 1, func(w *world) {
			fill(w, "y", 6)
			must(w.add("z", "u", "a", none))
			w.want("z", 1, mb(3072))
			w.settle()
			must(w.add("x", "u", "a", none))
			w.want("x", 1, mb(1024))
			w.settle()
		}, policy.Reason{Limit: policy.Reserved, Node: "n0", Held: r(2048, 2), Max: mb(1024), Size: mb(1024), Ahead: 1, Next: [3]string{"z"}}},
		{"a better node", `<queue name="a"/>`, 2, func(w *world) {
			must(w.add("x", "u", "a", none))
			must(w.ask("x", rm.Ask{Priority: 20, Place: rm.Anywhere, Count: 20, Size: mb(1024)}, rm.Ask{Priority: 20, Place: rm.OnNode(0), Count: 20, Size: mb(1024)},
				rm.Ask{Priority: 20, Place: rm.OnRack(0), Count: 20, Size: mb(1024)}))
			w.s.Round(w.now)
			for range 8 {
				w.beat(0)
			}
			w.beat(1)
		}, policy.Reason{Limit: "locality.threshold.rack", MaxCount: 2, Size: mb(1024)}},
		{"others of the queue", `<queue name="a"/>`, 1, func(w *world) {
			fill(w, "x", 1)
			w.want("x", 9, mb(1024))
			must(w.add("y", "u", "a", none))
			w.want("y", 1, mb(1024))
			w.s.Round(w.now)
		}, policy.Reason{Queue: "root.a", Ahead: 1, Next: [3]string{"y"}}},
		{"a queue below its share", `<queue name="a"/><queue name="b"/>`, 1, func(w *world) {
			fill(w, "x", 5)
			w.want("x", 9, mb(1024))
			must(w.add("y", "u", "b", none))
			w.want("y", 1, mb(1024))
			w.s.Round(w.now)
		}, policy.Reason{Queue: "root.b", Max: unit.Resources{Mem: 4096}, Ahead: 1, Next: [3]string{"y"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.xml, site(func(s *conf.Site) {
				s.Fair.NodeThreshold, s.Fair.RackThreshold, s.Fair.ReservableNodes = 1, 1, 1
				s.Fair.ReservationMultiple = 2
			}))
			w.addNodes(c.nodes, c.nodes, r(8192, 8))
			c.play(w)
			got := w.why("x")
			if len(got) == 0 || got[0] != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}
