package request

import (
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
)

var gig = unit.Resources{Mem: 1024, Cores: 1}

func ask(t *Table, priority int32, p rm.Place, n int64, size unit.Resources) bool {
	return t.Set(rm.Ask{Priority: priority, Place: p, Count: n, Size: size}, size)
}

func TestTakeGoesDownFromTheNodeToAnywhere(t *testing.T) {
	node := &rm.Node{Index: 3, Rack: 1}
	for _, c := range []struct {
		near                policy.Near
		node, rack, any     int64
		places              int
		wantsNode, wantsAny bool
	}{
		{policy.NodeLocal, 0, 1, 1, 2, false, true},
		{policy.RackLocal, 1, 1, 1, 3, true, true},
		{policy.OffRack, 1, 2, 1, 3, true, true},
		{policy.NoPreference, 1, 2, 1, 3, true, true},
	} {
		var tab Table
		ask(&tab, 20, rm.OnNode(3), 1, gig)
		ask(&tab, 20, rm.OnRack(1), 2, gig)
		if !ask(&tab, 20, rm.Anywhere, 2, gig) {
			t.Error("the priority rose from nothing, and Set did not say so")
		}
		r := tab.Row(20)
		tab.Take(r, c.near, node)
		got := [3]int64{tab.Count(20, rm.OnNode(3)), tab.Count(20, rm.OnRack(1)), tab.Count(20, rm.Anywhere)}
		if want := [3]int64{c.node, c.rack, c.any}; got != want || r.Places() != c.places {
			t.Errorf("%v: counts %v, %d places; want %v, %d", c.near, got, r.Places(), want, c.places)
		}
		if r.Wants(policy.NodeLocal, node) != c.wantsNode || r.Wants(policy.OffRack, node) != c.wantsAny {
			t.Errorf("%v: wants node %v, any %v", c.near, r.Wants(policy.NodeLocal, node), r.Wants(policy.OffRack, node))
		}
		if tab.Pending() != gig || tab.Len() != 1 {
			t.Errorf("%v: pending %v, %d", c.near, tab.Pending(), tab.Len())
		}
	}
}

func TestSetReplacesAndForgets(t *testing.T) {
	var tab Table
	ask(&tab, 20, rm.Anywhere, 5, gig)
	ask(&tab, 10, rm.Anywhere, 1, gig.Times(3))
	ask(&tab, 20, rm.OnNode(1), 2, gig)
	ask(&tab, 20, rm.OnNode(1), 0, gig) // stays, as a place
	if r := tab.Row(20); r.Places() != 2 || r.Wants(policy.NodeLocal, &rm.Node{Index: 1}) {
		t.Errorf("%d places", r.Places())
	}
	if ask(&tab, 20, rm.Anywhere, 2, gig.Times(2)) {
		t.Error("5 to 2 is not a rise from nothing")
	}
	if tab.Pending() != gig.Times(7) || tab.Len() != 3 {
		t.Errorf("pending %v, %d containers", tab.Pending(), tab.Len())
	}
	if tab.First().Priority != 10 {
		t.Errorf("first priority is %d", tab.First().Priority)
	}
	tab.Row(20).Missed = 7
	ask(&tab, 20, rm.Anywhere, 0, gig)
	ask(&tab, 20, rm.OnNode(1), 0, gig)
	if r := tab.Row(20); r.Places() != 0 || r.Missed != 7 || r.Any() != 0 {
		t.Errorf("after 0 anywhere: %d places, missed %d", r.Places(), r.Missed)
	}
}

func TestRestoreUndoesTake(t *testing.T) {
	var tab Table
	n := &rm.Node{Index: 4, Rack: 2}
	ask(&tab, 1, rm.OnNode(4), 1, gig)
	ask(&tab, 1, rm.OnRack(2), 1, gig)
	ask(&tab, 1, rm.Anywhere, 1, gig)
	size := tab.Take(tab.Row(1), policy.NodeLocal, n)
	if tab.Len() != 0 || tab.Row(1).Places() != 0 || !tab.Pending().IsZero() {
		t.Fatalf("%d left at %d places", tab.Len(), tab.Row(1).Places())
	}
	tab.Restore(1, policy.NodeLocal, n, size)
	if tab.Len() != 1 || tab.Row(1).Places() != 3 || !tab.Row(1).Wants(policy.NodeLocal, n) || tab.Pending() != gig {
		t.Fatalf("%d wanted at %d places after Restore", tab.Len(), tab.Row(1).Places())
	}
}

// The table agrees with plain maps.
func TestAgreesWithMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type key struct {
			priority int32
			place    rm.Place
		}
		type plain struct {
			n    int64
			size unit.Resources
		}
		var tab Table
		model := map[key]plain{}
		nodes := []*rm.Node{{Index: 0, Rack: 0}, {Index: 1, Rack: 0}, {Index: 2, Rack: 1}, {Index: 3, Rack: 1}}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			p := rapid.Int32Range(0, 3).Draw(t, "priority")
			n := nodes[rapid.IntRange(0, 3).Draw(t, "node")]
			if rapid.Bool().Draw(t, "set") {
				place := rapid.SampledFrom([]rm.Place{rm.Anywhere, rm.OnNode(n.Index), rm.OnRack(n.Rack)}).Draw(t, "place")
				k, size := rapid.Int64Range(0, 4).Draw(t, "count"), gig.Times(rapid.Int64Range(1, 3).Draw(t, "size"))
				ask(&tab, p, place, k, size)
				if _, some := model[key{p, rm.Anywhere}]; place == rm.Anywhere || k > 0 || some {
					model[key{p, place}] = plain{k, size}
				}
				if place == rm.Anywhere && k == 0 {
					for at := range model {
						if at.priority == p {
							delete(model, at)
						}
					}
				}
			} else if r := tab.Row(p); r != nil {
				near := rapid.SampledFrom([]policy.Near{policy.NodeLocal, policy.RackLocal, policy.OffRack}).Draw(t, "near")
				chain := []rm.Place{rm.Anywhere, rm.OnRack(n.Rack), rm.OnNode(n.Index)}[:near]
				wants := true
				for _, at := range chain {
					wants = wants && model[key{p, at}].n > 0
				}
				if r.Wants(near, n) != wants {
					t.Fatalf("wants %v, the maps say %v", !wants, wants)
				}
				if !wants {
					continue
				}
				last := chain[len(chain)-1]
				if got := tab.Take(r, near, n); got != model[key{p, last}].size {
					t.Fatalf("took %v, want %v", got, model[key{p, last}].size)
				}
				for _, at := range chain {
					v := model[key{p, at}]
					v.n--
					if model[key{p, at}] = v; v.n == 0 {
						delete(model, key{p, at})
					}
				}
			}
			var pending unit.Resources
			var count int64
			places := map[int32]int{}
			for k, v := range model {
				places[k.priority]++
				if got := tab.Count(k.priority, k.place); got != v.n {
					t.Fatalf("count at %v is %d, want %d", k, got, v.n)
				}
				if k.place == rm.Anywhere {
					count += v.n
					pending = pending.Add(v.size.Times(v.n))
				}
			}
			for _, r := range tab.Rows() {
				if r.Places() != places[r.Priority] {
					t.Fatalf("priority %d has %d places, want %d", r.Priority, r.Places(), places[r.Priority])
				}
			}
			if tab.Pending() != pending || tab.Len() != count {
				t.Fatalf("pending %v (%d), want %v (%d)", tab.Pending(), tab.Len(), pending, count)
			}
		}
	})
}

// An application with 10,000 tasks on 600 hosts.
func BenchmarkTakeOnManyHosts(b *testing.B) {
	var tab Table
	nodes := make([]rm.Node, 600)
	b.ReportAllocs()
	for b.Loop() {
		for i := range nodes {
			nodes[i] = rm.Node{Index: int32(i), Rack: int32(i / 20)}
			ask(&tab, 20, rm.OnNode(int32(i)), 17, gig)
			ask(&tab, 20, rm.OnRack(int32(i/20)), 340, gig)
		}
		ask(&tab, 20, rm.Anywhere, 10_200, gig)
		r := tab.Row(20)
		for i := range 10_200 {
			n := &nodes[i*7%600]
			if r.Wants(policy.NodeLocal, n) {
				tab.Take(r, policy.NodeLocal, n)
			}
		}
	}
}
