package fair

import (
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
)

// What a starved application lacks is looked for once: not on a rack whose nodes are named, not anywhere if any place is named.
func TestNeeds(t *testing.T) {
	size := mb(1024)
	at := func(p rm.Place, n int64) rm.Ask { return rm.Ask{Priority: 20, Place: p, Count: n, Size: size} }
	for _, c := range []struct {
		name string
		asks []rm.Ask
		want []need
	}{
		{"anywhere", []rm.Ask{at(rm.Anywhere, 2)}, []need{{rm.Anywhere, 2, size}}},
		{"a rack", []rm.Ask{at(rm.OnRack(0), 2), at(rm.Anywhere, 2)}, []need{{rm.OnRack(0), 2, size}}},
		{"a node", []rm.Ask{at(rm.OnNode(0), 2), at(rm.OnRack(0), 2), at(rm.Anywhere, 2)}, []need{{rm.OnNode(0), 2, size}}},
		{"a node, and the other rack", []rm.Ask{at(rm.OnNode(0), 2), at(rm.OnRack(0), 2), at(rm.OnRack(1), 3), at(rm.Anywhere, 5)},
			[]need{{rm.OnNode(0), 2, size}, {rm.OnRack(1), 3, size}}},
		{"a rack that does not exist", []rm.Ask{at(rm.OnRack(7), 2), at(rm.Anywhere, 2)}, []need{{rm.Anywhere, 2, size}}},
		{"more than it lacks", []rm.Ask{at(rm.Anywhere, 20)}, []need{{rm.Anywhere, 10, size}}},
	} {
		w := newWorld(t, "", site(nil))
		w.addNodes(2, 2, unit.Resources{Mem: 10240, Cores: 10})
		if err := w.add("a", "u", "q", unit.Resources{}); err != nil {
			t.Fatal(err)
		}
		if err := w.ask("a", c.asks...); err != nil {
			t.Fatal(err)
		}
		a := w.s.apps[w.apps["a"].Index]
		a.lackFair, a.lackMin = unit.Resources{Mem: 8192, Cores: 8}, unit.Resources{Mem: 2048, Cores: 2}
		if got := w.s.needs(a); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// An application is active once it holds a container, its AM if it has one. A gauge has the leaf's share, or what it may grow to.
func TestGauges(t *testing.T) {
	w := newWorld(t, `<queue name="a"><maxResources>4096 mb, 4 vcores</maxResources></queue><queue name="b"/>`, site(nil))
	w.addNodes(1, 1, unit.Resources{Mem: 10240, Cores: 10})
	for id, am := range map[string]unit.Resources{"managed": mb(2048), "unmanaged": {}} {
		if err := w.add(id, "u", "a", am); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(id string, active bool, am int64) {
		t.Helper()
		if a := w.apps[id]; w.s.Active(a) != active || w.s.AMOf(a).Mem != am {
			t.Errorf("%s: active %v, AM %v; want %v, %d", id, w.s.Active(a), w.s.AMOf(a), active, am)
		}
	}
	expect("managed", false, 2048)
	expect("unmanaged", false, 0)
	w.want("unmanaged", 1, mb(1024))
	w.s.Round(0)
	for range 2 {
		w.beat(0)
	}
	expect("managed", true, 2048)
	expect("unmanaged", true, 0)
	w.s.Round(500 * ms)
	got := w.s.Gauges(nil)
	want := []policy.Gauge{
		{Queue: "root.a", Capacity: unit.Resources{Mem: 4096, Cores: 4}, Ceiling: unit.Resources{Mem: 4096, Cores: 4},
			AMs: mb(2048), AMShare: 0.5},
		{Queue: "root.b", Capacity: unit.Resources{Mem: 10240, Cores: 10}, Ceiling: unit.Resources{Mem: 7168, Cores: 8}, AMShare: 0.5},
	}
	for _, g := range want {
		if !slices.Contains(got, g) {
			t.Errorf("%+v, want among them %+v", got, g)
		}
	}
}
