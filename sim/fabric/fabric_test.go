package fabric_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/sim/fabric"
	"github.com/yardmaster/yardmaster/sim/flow"
	"github.com/yardmaster/yardmaster/unit"
)

func described(t testing.TB, nodes, network string) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Parse(nodes)
	if err != nil {
		t.Fatal(err)
	}
	if c.Network, err = cluster.ParseNetwork(network); err != nil {
		t.Fatal(err)
	}
	return c
}

func built(t testing.TB, c *cluster.Cluster) (*fabric.Fabric, *flow.Network) {
	t.Helper()
	n := flow.New()
	f, err := fabric.Build(c, n)
	if err != nil {
		t.Fatal(err)
	}
	return f, n
}

var layouts = []struct{ nodes, network string }{
	{"7x1", "star:1Gbit"},
	{"12x1/3", "star:1Gbit"},
	{"12x1/3", "racks:node=250Mbit,uplink=1Gbit"},
	{"11x1/4", "racks:node=250Mbit,oversubscription=5:1"},
	{"9x1/2", "two-racks:node=1Gbit,uplink=8Gbit"},
	{"20x1/5", "leaf-spine:node=10Gbit,uplink=40Gbit,spines=4"},
	{"8x1/8", "leaf-spine:node=10Gbit,oversubscription=1,spines=1"},
	{"2x1/2", "fat-tree:k=2,node=1Gbit"},
	{"16x1/8", "fat-tree:k=4,node=1Gbit"},
	{"16x1/4", "fat-tree:k=4,node=1Gbit"},
	{"54x1/18", "fat-tree:k=6,node=1Gbit,uplink=10Gbit"},
	{"128x1/8", "fat-tree:k=8,node=1Gbit"},
	{"6x1/3", "dcell:n=2,levels=1,node=1Gbit"},
	{"20x1/5", "dcell:n=4,levels=1,node=1Gbit"},
	{"42x1/21", "dcell:n=2,levels=2,node=1Gbit"},
	{"42x1/7", "dcell:n=2,levels=2,node=1Gbit"},
	{"156x1/52", "dcell:n=3,levels=2,node=1Gbit,uplink=10Gbit"},
	{"1806x1/903", "dcell:n=2,levels=3,node=1Gbit"},
}

// Every pair of nodes has a path that is a walk in the drawn graph, as short as its topology promises, and as long back as forth.
func TestPathsAreWalksInTheTopology(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.nodes+" "+l.network, func(t *testing.T) {
			c := described(t, l.nodes, l.network)
			f, n := built(t, c)
			g := drawn(c)
			names := make([]string, n.Links())
			for i := range names {
				names[i] = n.Name(flow.Link(i))
			}
			slices.Sort(names)
			if want := g.edges(); !slices.Equal(names, want) {
				t.Fatalf("links are\n%s\nwant\n%s", strings.Join(names, " "), strings.Join(want, " "))
			}
			servers := map[string]bool{}
			for i := range c.Nodes {
				servers[c.Nodes[i].Name] = true
			}
			step := 1 + len(c.Nodes)/60
			var buf []flow.Link
			seen := map[flow.Link]bool{}
			longest := 0
			for a := int32(0); int(a) < len(c.Nodes); a += int32(step) {
				near := g.distances(c.Nodes[a].Name)
				for z := range int32(len(c.Nodes)) {
					key := uint64(a)*977 + uint64(z)
					buf = f.Path(a, z, key, buf)
					at := c.Nodes[a].Name
					clear(seen)
					for _, link := range buf {
						from, to, _ := strings.Cut(n.Name(link), ">")
						if from != at || seen[link] {
							t.Fatalf("%d to %d: link %s at %s", a, z, n.Name(link), at)
						}
						at, seen[link] = to, true
					}
					if at != c.Nodes[z].Name {
						t.Fatalf("%d to %d ends at %s", a, z, at)
					}
					if h := f.Hops(a, z); h != len(buf) || h != f.Hops(z, a) || len(f.Path(z, a, key, nil)) != h {
						t.Fatalf("%d to %d: %d links, hops %d, back %d", a, z, len(buf), h, f.Hops(z, a))
					}
					if c.Network.Topology != cluster.DCell && len(buf) != near[c.Nodes[z].Name] {
						t.Fatalf("%d to %d: %d links, the shortest has %d", a, z, len(buf), near[c.Nodes[z].Name])
					}
					longest = max(longest, serverHops(servers, n, buf))
				}
			}
			if bound := 1<<(c.Network.Levels+1) - 1; c.Network.Topology == cluster.DCell && longest > bound {
				t.Errorf("a path relays over %d server hops, the paper's bound is %d", longest, bound)
			}
		})
	}
}

// serverHops counts the hops from server to server, over a switch or a cable: the measure of the DCell paper.
func serverHops(servers map[string]bool, n *flow.Network, path []flow.Link) int {
	k := 0
	for _, l := range path {
		if _, to, _ := strings.Cut(n.Name(l), ">"); servers[to] {
			k++
		}
	}
	return k
}

func TestCounts(t *testing.T) {
	for _, k := range []int{2, 4, 8, 16} {
		hosts := k * k * k / 4
		c := described(t, fmt.Sprintf("%dx1/%d", hosts, k*k/2), fmt.Sprintf("fat-tree:k=%d,node=1Gbit", k))
		f, n := built(t, c)
		if got, want := n.Links(), 3*2*hosts; got != want { // of nodes, of edge switches, of cores
			t.Errorf("k=%d: %d links, want %d", k, got, want)
		}
		if len(f.Up(0)) != k/2 || len(f.Down(0)) != k/2 {
			t.Errorf("k=%d: an edge switch has %d links up and %d down", k, len(f.Up(0)), len(f.Down(0)))
		}
	}
	for _, d := range []struct{ n, levels, servers int }{{2, 1, 6}, {4, 1, 20}, {2, 2, 42}, {3, 2, 156}, {4, 2, 420}, {2, 3, 1806}} {
		c := described(t, fmt.Sprintf("%dx1/%d", d.servers, d.servers/d.n), fmt.Sprintf("dcell:n=%d,levels=%d,node=1Gbit", d.n, d.levels))
		f, n := built(t, c)
		if got, want := n.Links(), d.servers*(2+d.levels); got != want {
			t.Errorf("DCell n=%d, levels=%d: %d links, want %d", d.n, d.levels, got, want)
		}
		if len(f.Up(0)) != d.n*d.levels || len(f.Down(0)) != d.n*d.levels {
			t.Errorf("DCell n=%d, levels=%d: a cell has %d links out and %d in", d.n, d.levels, len(f.Up(0)), len(f.Down(0)))
		}
	}
}

func TestOversubscription(t *testing.T) {
	for _, c := range []struct {
		nodes, network string
		want           []float64 // of each rack's links up together, bytes/s
		cables         int
	}{
		{"600x6/30", "racks:node=250Mbit,uplink=1Gbit", []float64{125e6}, 1},
		{"40x16/8", "racks:node=1Gbit,oversubscription=5:1", []float64{125e6}, 1}, // 5 nodes of 1 Gbit over 1 Gbit
		{"11x1/4", "racks:node=1Gbit,oversubscription=2", []float64{1.5 * 125e6, 1.5 * 125e6, 1.5 * 125e6, 125e6}, 1},
		{"20x1/5", "leaf-spine:node=10Gbit,oversubscription=2,spines=4", []float64{2.5e9}, 4},
		{"20x1/5", "leaf-spine:node=10Gbit,uplink=40Gbit,spines=4", []float64{20e9}, 4},
		{"9x1/2", "two-racks:node=1Gbit,oversubscription=2", []float64{250e6}, 1}, // racks of 5 and 4
		{"16x1/8", "fat-tree:k=4,node=1Gbit", []float64{250e6}, 2},
		{"16x1/4", "fat-tree:k=4,node=1Gbit", []float64{500e6}, 4},
		{"16x1/8", "fat-tree:k=4,node=1Gbit,uplink=10Gbit", []float64{2.5e9}, 2},
		{"20x1/5", "dcell:n=4,levels=1,node=1Gbit", []float64{500e6}, 4},
		{"12x1/3", "star:1Gbit", []float64{0}, 0},
	} {
		f, n := built(t, described(t, c.nodes, c.network))
		for r := range int32(f.Racks()) {
			want := c.want[min(int(r), len(c.want)-1)]
			for _, links := range [][]flow.Link{f.Up(r), f.Down(r)} {
				sum := 0.0
				for _, l := range links {
					sum += n.Capacity(l)
				}
				if math.Abs(sum-want) > 1e-6*want || len(links) != c.cables {
					t.Errorf("%s: rack %d has %d links of %v together, want %d of %v", c.network, r, len(links), sum, c.cables, want)
				}
			}
		}
	}
}

func TestNodesOfTheirOwnRate(t *testing.T) {
	c := described(t, "4x1/2", "racks:node=1Gbit,oversubscription=2")
	c.Nodes[3].NIC = 10 * 125e6
	f, n := built(t, c)
	if n.Capacity(f.Out(0)) != 125e6 || n.Capacity(f.In(3)) != 1250e6 || n.Capacity(f.Up(1)[0]) != 11*125e6/2 {
		t.Errorf("%v, %v, %v", n.Capacity(f.Out(0)), n.Capacity(f.In(3)), n.Capacity(f.Up(1)[0]))
	}
}

// An engine that has the nodes in another order goes by their names.
func TestNumbers(t *testing.T) {
	c := described(t, "20x1/5", "dcell:n=4,levels=1,node=1Gbit")
	f, _ := built(t, c)
	other := &cluster.Cluster{Racks: c.Racks, Nodes: slices.Clone(c.Nodes)}
	slices.Reverse(other.Nodes)
	got, err := f.Numbers(other)
	if err != nil || got[0] != 19 || got[19] != 0 {
		t.Errorf("%v, %v", got, err)
	}
	other.Nodes[3].Name = "stranger"
	if _, err := f.Numbers(other); err == nil || !strings.Contains(err.Error(), "stranger") {
		t.Errorf("%v", err)
	}
}

// Places go by rack, so a description that mixes its racks means the same.
func TestPlacesGoByRack(t *testing.T) {
	c := described(t, "16x1/8", "fat-tree:k=4,node=1Gbit")
	for i := range c.Nodes {
		c.Nodes[i].Rack = i % 8
	}
	f, _ := built(t, c)
	for a := range int32(16) {
		for z := range int32(16) {
			want := 6
			switch {
			case a == z:
				want = 0
			case a%8 == z%8:
				want = 2
			case a%8/2 == z%8/2:
				want = 4
			}
			if got := len(f.Path(a, z, 1, nil)); got != want {
				t.Errorf("%d to %d: %d links, want %d", a, z, got, want)
			}
		}
	}
}

func TestLatency(t *testing.T) {
	f, _ := built(t, described(t, "4x1/2", "racks:node=1Gbit,uplink=8Gbit,latency=50us"))
	if f.Latency(0, 0) != 0 || f.Latency(0, 1) != 100*unit.Microsecond || f.Latency(0, 3) != 200*unit.Microsecond {
		t.Errorf("%v, %v, %v", f.Latency(0, 0), f.Latency(0, 1), f.Latency(0, 3))
	}
}

// Names stay apart when a node has the name of a rack or of a switch, and a fabric may share its flow network.
func TestNamesAreUnique(t *testing.T) {
	c := described(t, "4x1/2", "racks:node=1Gbit,uplink=1Gbit")
	c.Nodes[0].Name, c.Nodes[1].Name, c.Racks[1] = "rack1", "core", "rack1"
	n := flow.New()
	n.AddLink("somebody else's", 1)
	f, err := fabric.Build(c, n)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, u := range f.Uses() {
		if seen[u.Name] {
			t.Errorf("two links are named %s", u.Name)
		}
		seen[u.Name] = true
	}
	if len(seen) != n.Links()-1 || seen["somebody else's"] {
		t.Errorf("%d links of %d, one is not the fabric's", len(seen), n.Links())
	}
}

func TestBuildRefuses(t *testing.T) {
	c := described(t, "4x1/2", "star:1Gbit")
	c.Network = nil
	if _, err := fabric.Build(c, flow.New()); err == nil || !strings.Contains(err.Error(), "star:1Gbit") {
		t.Errorf("no network: %v", err)
	}
	if _, err := fabric.Build(described(t, "5x1", "fat-tree:k=4,node=1Gbit"), flow.New()); err == nil || !strings.Contains(err.Error(), "write racks: 3 or racks: 2") {
		t.Errorf("%v", err)
	}
}
