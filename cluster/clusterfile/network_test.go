package clusterfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/unit"
)

const twenty = "groups:\n- {count: 20, racks: 5, memory: 1GB, cores: 1}\n"

func TestNetworkSection(t *testing.T) {
	for _, c := range []struct {
		text string
		want cluster.Network
	}{
		{"network: star:1Gbit\n", cluster.Network{Topology: "star", Node: 125e6}},
		{"network: racks:node=250Mbit,uplink=1Gbit\n", cluster.Network{Topology: "racks", Node: 31.25e6, Uplink: 125e6}},
		{"network: \"racks:1Gbit,oversubscription=5:1\"\n", cluster.Network{Topology: "racks", Node: 125e6, Oversubscription: 5}},
		{"network:\n  node: 1Gbit\n  topology: star\n  latency: 50us\n", cluster.Network{Topology: "star", Node: 125e6, Latency: 50 * unit.Microsecond}},
		{"network:\n  topology: racks\n  node: 100MB/s\n  oversubscription: 5:1   # 4 nodes of 100 MB/s behind 80\n", cluster.Network{Topology: "racks", Node: 100e6, Oversubscription: 5}},
		{"network: {topology: leaf-spine, node: 10Gbit, uplink: 40 Gbit/s, spines: 4}\n", cluster.Network{Topology: "leaf-spine", Node: 1.25e9, Uplink: 5e9, Spines: 4}},
		{"network:\n  topology: fat-tree\n  k: 8\n  node: 1Gbit\n", cluster.Network{Topology: "fat-tree", K: 8, Node: 125e6}},
		{"network:\n  topology: dcell\n  n: 4\n  levels: 1\n  node: 1Gbit\n", cluster.Network{Topology: "dcell", N: 4, Levels: 1, Node: 125e6}},
	} {
		for _, text := range []string{twenty + c.text, c.text + twenty} { // before the nodes as after them
			got, err := Parse("c.yaml", []byte(text))
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			if d := cmp.Diff(&c.want, got.Network); d != "" {
				t.Errorf("%s: %s", text, d)
			}
			// What it says can be said in one line, too.
			line := parsed(t, twenty+"network: \""+got.Network.String()+"\"\n")
			if d := cmp.Diff(got, line); d != "" {
				t.Errorf("%s as %s: %s", text, got.Network, d)
			}
		}
	}
}

func TestNICs(t *testing.T) {
	c := parsed(t, `
groups:
  - count: 2
    memory: 1GB
    cores: 1
    nic: 10Gbit
    kind: fast
  - count: 1
    memory: 1GB
    cores: 1
nodes:
  - {name: edge, memory: 1GB, cores: 1, nic: 100 Mbit}
network: star:1Gbit
`)
	var got []float64
	for i := range c.Nodes {
		got = append(got, c.Network.NIC(&c.Nodes[i]))
	}
	if d := cmp.Diff([]float64{1.25e9, 1.25e9, 125e6, 12.5e6}, got); d != "" {
		t.Error(d)
	}
	// A file may say them and leave the network to a flag.
	if c := parsed(t, "nodes:\n- {name: a, memory: 1GB, cores: 1, nic: 1Gbit}\n"); c.Network != nil || c.Nodes[0].NIC != 125e6 {
		t.Errorf("%v, %v", c.Network, c.Nodes[0].NIC)
	}
}

// A file without a network section is what it was.
func TestNoNetwork(t *testing.T) {
	if c := parsed(t, twenty); c.Network != nil || c.Nodes[0].NIC != 0 || c.String() != "20 nodes in 5 racks, 20 GiB and 20 vcores" {
		t.Errorf("%v", c)
	}
}

func TestNetworkErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"network:\n", "c.yaml:3:1: a network is missing after the key; write topology: star and node: 1Gbit under it"},
		{"network: []\n", "c.yaml:3:10: should be a mapping with topology and its settings, or one line such as star:1Gbit, not a list"},
		{"network: star:1000\n", `c.yaml:3:10: network "star:1000": node: "1000" has no unit: write 1Gbit`},
		{"network: stra:1Gbit\n", `c.yaml:3:10: network "stra:1Gbit": there is no "stra"; did you mean "star"?`},
		{"network:\n  node: 1Gbit\n", "c.yaml:4:3: topology: is not given; it is one of star, racks"},
		{"network:\n  topology:\n  node: 1Gbit\n", "c.yaml:4:3: a value is missing"},
		{"network:\n  topology: [star]\n", "c.yaml:4:13: should be one value, not a list"},
		{"network:\n  topology: tree\n  node: 1Gbit\n", `c.yaml:4:13: there is no "tree"; it is one of`},
		{"network:\n  topology: star\n  uplink: 1Gbit\n", `c.yaml:5:3: the network star has no key "uplink"; it has topology, node, latency`},
		{"network:\n  uplnik: 1Gbit\n  topology: racks\n", `c.yaml:4:3: the network racks has no key "uplnik"; did you mean "uplink"?`},
		{"network:\n  topology: star\n  node: 1GB\n", `c.yaml:5:9: "1GB" is not a rate: write 1Gbit, 250Mbit or 100MB/s`},
		{"network:\n  topology: star\n  node: 1000\n", `c.yaml:5:9: "1000" has no unit: write 1Gbit`},
		{"network:\n  topology: racks\n  node: 1Gbit\n", "c.yaml:4:3: racks needs uplink or oversubscription: as in racks:node=250Mbit,uplink=1Gbit"},
		{"network:\n  topology: racks\n  node: 1Gbit\n  oversubscription: 5:2\n", `c.yaml:6:21: "5:2" is not a ratio`},
		{"network:\n  topology: racks\n  node: 1Gbit\n  uplink: 1Gbit\n  oversubscription: 5\n", "c.yaml:7:21: uplink says the same: give one of the two"},
		{"network:\n  topology: leaf-spine\n  spines: 9999\n", "c.yaml:5:11: 9999 is not between 1 and 4096"},
		{"network:\n  topology: fat-tree\n  k: 7\n  node: 1Gbit\n", "c.yaml:5:6: 7 is odd"},
		{"network:\n  topology: fat-tree\n  k: 4\n  node: 1Gbit\n", "c.yaml:5:6: a fat tree of k=4 has 8 edge switches of 2 nodes each, in 4 pods of 4, and the cluster has 20 nodes; write k: 6 or more"},
		{"network: fat-tree:k=4,node=1Gbit\n", "c.yaml:3:10: k: a fat tree of k=4 has"},
		{"network:\n  topology: two-racks\n  node: 1Gbit\n  uplink: 1Gbit\n", "c.yaml:4:13: two-racks joins two racks, and the cluster has nodes in 5 racks"},
		{"network:\n  topology: dcell\n  n: 3\n  levels: 1\n  node: 1Gbit\n", "c.yaml:4:3: a DCell of n=3, levels=1 joins exactly 12 servers, and the cluster has 20 nodes; write n: 4 and levels: 1"},
		{"network: star\n", "c.yaml:3:10: node node1 has no rate: write node: 1Gbit for all, or nic: 1Gbit with the node or its group"},
		{"nodes:\n- {name: a, memory: 1GB, cores: 1, nic: 5}\n", `c.yaml:4:41: "5" has no unit`},
		{"nodes:\n- {name: a, memory: 1GB, cores: 1, nci: 5Mbit}\n", `c.yaml:4:36: a node has no key "nci"; did you mean "nic"?`},
		{"netwrok: star:1Gbit\n", `c.yaml:3:1: a cluster file has no key "netwrok"; did you mean "network"?`},
	} {
		if _, err := Parse("c.yaml", []byte(twenty+c.text)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

func FuzzNetworkSection(f *testing.F) {
	for _, s := range []string{
		"star:1Gbit", "{topology: star, node: 1Gbit}", "\n  topology: racks\n  node: 1Gbit\n  oversubscription: 5:1\n", "{topology: dcell, n: 4, levels: 1, node: 1MB/s}",
		"\n  topology: fat-tree\n  k: 8\n  uplink: 1Gbit\n", "{spines: 3, topology: leaf-spine, uplink: 1Gbit, node: 3Mbps, latency: 1ms}", "[star]", "&a star", "\n  topology:\n    star: 1\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1000 {
			return
		}
		c, err := Parse("c.yaml", []byte(twenty+"network: "+text+"\n"))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "c.yaml:") {
				t.Fatalf("an error without a place: %v", err)
			}
			return
		}
		if c.Network == nil {
			t.Fatalf("took %q for no network", text)
		}
		if err := c.Validate(); err != nil {
			t.Fatalf("took an impossible network: %v", err)
		}
		back, err := cluster.ParseNetwork(c.Network.String())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.Network, back); d != "" {
			t.Fatalf("%s reads otherwise: %s", c.Network, d)
		}
	})
}
