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
	n.SetCapacity(f.Up(0)[0], 250e6)
	if got := n.Rate(ids[0]); math.Abs(got-250e6/20) > 1 {
		t.Errorf("rate %v after the uplink was doubled", got)
	}
}

func TestPathAllocatesNothing(t *testing.T) {
	for _, c := range layouts {
		nodes := described(t, c.nodes, c.network)
		f, _ := built(t, nodes)
		last := int32(len(nodes.Nodes)) - 1
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
