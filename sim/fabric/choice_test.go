package fabric_test

import (
	"math"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/sim/fabric"
	"github.com/yardmaster/yardmaster/sim/flow"
)

// crossed counts how many of the paths between two nodes take each link, over many keys.
func crossed(f *fabric.Fabric, from, to int32, keys int) map[flow.Link]int {
	count := map[flow.Link]int{}
	var buf []flow.Link
	for key := range keys {
		buf = f.Path(from, to, uint64(key), buf)
		for _, l := range buf {
			count[l]++
		}
	}
	return count
}

// even says that counts over so many equal choices differ no more than chance makes them: chi-square at about one in a million.
func even(t *testing.T, what string, counts []int) {
	t.Helper()
	total, chi := 0, 0.0
	for _, c := range counts {
		total += c
	}
	want := float64(total) / float64(len(counts))
	for _, c := range counts {
		chi += (float64(c) - want) * (float64(c) - want) / want
	}
	free := float64(len(counts) - 1)
	if limit := free + 5*math.Sqrt(2*free) + 12; chi > limit || total == 0 {
		t.Errorf("%s: chi-square %.1f over %d choices, limit %.1f: %v", what, chi, len(counts), limit, counts)
	}
}

func TestEqualPathsShareEvenly(t *testing.T) {
	const keys = 20_000
	leaf, _ := built(t, described(t, "40x1/4", "leaf-spine:node=10Gbit,uplink=40Gbit,spines=7"))
	tree, _ := built(t, described(t, "128x1/32", "fat-tree:k=8,node=1Gbit"))
	pods, _ := built(t, described(t, "128x1/8", "fat-tree:k=8,node=1Gbit"))
	for _, c := range []struct {
		what     string
		f        *fabric.Fabric
		from, to int32
	}{{"leaf-spine", leaf, 0, 39}, {"fat tree, edge to aggregation", tree, 0, 127}, {"fat tree, within a pod", tree, 0, 15}, {"fat tree, to cores", pods, 0, 127}} {
		count := crossed(c.f, c.from, c.to, keys)
		for _, links := range [][]flow.Link{c.f.Up(c.f.Rack(c.from)), c.f.Down(c.f.Rack(c.to))} {
			var got []int
			for _, l := range links {
				got = append(got, count[l])
			}
			even(t, c.what, got)
		}
	}
	// One key, many pairs: the hash is of the ends too.
	var got [7]int
	for a := range int32(10) {
		for z := int32(10); z < 40; z++ {
			path := leaf.Path(a, z, 42, nil)
			got[slices.Index(leaf.Up(0), path[1])]++
		}
	}
	even(t, "pairs", got[:])
}

func TestPathsGoRoundFailedLinks(t *testing.T) {
	const keys = 5000
	for _, c := range []struct{ nodes, network string }{{"40x1/4", "leaf-spine:node=10Gbit,uplink=40Gbit,spines=4"}, {"128x1/32", "fat-tree:k=8,node=1Gbit"}} {
		f, n := built(t, described(t, c.nodes, c.network))
		last := int32(f.Racks()) - 1
		to := int32(0)
		for f.Rack(to) != last {
			to++
		}
		before := f.Path(0, to, 7, nil)
		up, down := f.Up(0)[0], f.Down(last)[2]
		f.FailLink(up)
		f.FailLink(down)
		count := crossed(f, 0, to, keys)
		if count[up] != 0 || count[down] != 0 || n.Capacity(up) != 0 || !f.Failed(up) {
			t.Errorf("%s: %d and %d paths take failed links", c.network, count[up], count[down])
		}
		even(t, c.network, []int{count[f.Up(0)[1]], count[f.Up(0)[3]]})
		f.RestoreLink(up)
		f.RestoreLink(down)
		if after := f.Path(0, to, 7, nil); !slices.Equal(before, after) {
			t.Errorf("%s: %v, and restored %v", c.network, before, after)
		}
		// With no way left, the path is as it was, and what is sent waits.
		f.FailRack(0)
		if got := f.Path(0, to, 7, nil); !slices.Equal(before, got) {
			t.Errorf("%s: %v, and cut off %v", c.network, before, got)
		}
	}
	// In one pod, and with a core out of reach on the far side only.
	f, _ := built(t, described(t, "16x1/8", "fat-tree:k=4,node=1Gbit"))
	l, ok := f.Link("pod1-agg1>rack2")
	if !ok {
		t.Fatal("no such link")
	}
	f.FailLink(l)
	if count := crossed(f, 0, 2, 100); count[l] != 0 || count[f.Up(0)[1]] != 100 {
		t.Errorf("%v", count)
	}
	core, ok := f.Link("core1>pod4-agg1")
	if !ok {
		t.Fatal("no such link")
	}
	f.FailLink(core)
	if count := crossed(f, 0, 15, 1000); count[core] != 0 {
		t.Errorf("%v", count)
	}
}

func TestFailuresHaveReasons(t *testing.T) {
	for _, c := range []struct{ nodes, network string }{{"42x1/21", "dcell:n=2,levels=2,node=1Gbit"}, {"42x1/7", "dcell:n=2,levels=2,node=1Gbit"}, {"12x1/3", "racks:1Gbit,uplink=1Gbit"}, {"12x1/2", "two-racks:1Gbit,uplink=1Gbit"}} {
		f, n := built(t, described(t, c.nodes, c.network))
		capacities := func() (out []float64) {
			for _, l := range f.Links() {
				out = append(out, n.Capacity(l.ID))
			}
			return out
		}
		whole := capacities()
		l := f.Up(0)[0]
		f.FailNode(0)
		f.FailNode(0)
		f.FailNode(1)
		if !f.FailRack(0) {
			t.Errorf("%s: rack 0 has no links", c.network)
		}
		f.FailRack(1)
		f.FailLink(l)
		f.RestoreRack(0)
		f.RestoreNode(0)
		if n.Capacity(l) != 0 {
			t.Errorf("%s: a link that failed by itself is back", c.network)
		}
		f.SetCapacity(l, 77)
		if n.Capacity(l) != 0 || f.Capacity(l) != 77 {
			t.Errorf("%s: a failed link has %v", c.network, n.Capacity(l))
		}
		f.RestoreLink(l)
		f.RestoreLink(l)
		f.RestoreNode(1)
		f.RestoreRack(1)
		f.RestoreRack(2 % int32(f.Racks()))
		if n.Capacity(l) != 77 {
			t.Errorf("%s: %v after all was restored", c.network, n.Capacity(l))
		}
		f.SetCapacity(l, whole[l])
		if got := capacities(); !slices.Equal(got, whole) {
			t.Errorf("%s: capacities\n%v, were\n%v", c.network, got, whole)
		}
	}
	f, n := built(t, described(t, "12x1/3", "star:1Gbit"))
	if f.FailRack(0) {
		t.Error("a star has links of racks")
	}
	f.FailNode(3)
	if n.Capacity(f.Out(3)) != 0 || n.Capacity(f.In(3)) != 0 || n.Capacity(f.In(4)) == 0 {
		t.Error("node 3 is not cut off, or more is")
	}
}

// A failed server of a DCell relays nothing.
func TestFailedServer(t *testing.T) {
	f, n := built(t, described(t, "20x1/5", "dcell:n=4,levels=1,node=1Gbit"))
	f.FailNode(5)
	down := 0
	for _, l := range f.Links() {
		if l.Failed != (n.Capacity(l.ID) == 0) {
			t.Errorf("%s: failed %v, capacity %v", l.Name, l.Failed, n.Capacity(l.ID))
		}
		if l.Failed {
			down++
		}
	}
	if down != 4 {
		t.Errorf("%d links are down; a server of level 1 has two cables", down)
	}
}

// Rates come out as the arithmetic of the rack says: 20 nodes of 250 Mbit behind 1 Gbit all send to other racks.
func TestFlowsOverAnUplink(t *testing.T) {
	f, n := built(t, described(t, "600x6/30", "racks:node=250Mbit,uplink=1Gbit"))
	var ids []flow.ID
	for a := range int32(20) {
		ids = append(ids, n.Start(f.Path(a, 20+20*a+a, 0, nil), 1e9, flow.Options{}))
	}
	for _, id := range ids {
		if got := n.Rate(id); math.Abs(got-125e6/20) > 1 {
			t.Fatalf("rate %v, want %v", got, 125e6/20)
		}
	}
	f.SetCapacity(f.Up(0)[0], 250e6)
	if got := n.Rate(ids[0]); math.Abs(got-250e6/20) > 1 {
		t.Errorf("rate %v after the uplink was doubled", got)
	}
	f.FailRack(0)
	if got := n.Rate(ids[0]); got != 0 {
		t.Errorf("rate %v over a failed uplink", got)
	}
	f.RestoreRack(0)
	if got := n.Rate(ids[0]); math.Abs(got-250e6/20) > 1 {
		t.Errorf("rate %v after the rack came back", got)
	}
}

func TestPathAllocatesNothing(t *testing.T) {
	for _, c := range layouts {
		f, _ := built(t, described(t, c.nodes, c.network))
		for _, l := range f.Up(0)[:len(f.Up(0))/2] {
			f.FailLink(l) // so that the slow way is measured too
		}
		last := int32(0)
		for ; ; last++ {
			if _, ok := f.Node("node" + itoa(last+2)); !ok {
				break
			}
		}
		key := uint64(0)
		if k := testing.AllocsPerRun(100, func() {
			var buf [64]flow.Link
			key++
			f.Path(0, last, key, buf[:])
		}); k != 0 {
			t.Errorf("%s: %v allocations a path", c.network, k)
		}
	}
}
