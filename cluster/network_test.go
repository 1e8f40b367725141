package cluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/unit"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]float64{
		"1Gbit": 125e6, "250Mbit": 31_250_000, "1 Gbit/s": 125e6, "2.5Gb/s": 312.5e6, "10Gbps": 1.25e9, "10gbit": 1.25e9, "0.1Tbit": 12.5e9,
		"100MB/s": 100e6, "100MiB/s": 100 << 20, "8bit": 1, "1e3kB/s": 1e6, "7B/s": 7, " 1Mbit ": 125e3, "64kbit": 8000, "1KiB/s": 1024,
	} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("ParseRate(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"1000": "has no unit", "": "is not a rate", "Gbit": "is not a rate", "1GB": "is not a rate", "1G": "is not a rate", "-1Gbit": "can have",
		"0Gbit": "can have", "infbit": "can have", "NaNGbit": "is not a rate", "1e99Gbit": "can have", "0x1p4bit": "is not a rate", "1iB/s": "is not a rate",
		"fast": "is not a rate", "1 G bit": "is not a rate", "1Ebit": "is not a rate",
	} {
		if got, err := ParseRate(text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "250Mbit") {
			t.Errorf("ParseRate(%q) = %v, %v; want %q", text, got, err, want)
		}
	}
}

func TestFormatRate(t *testing.T) {
	for v, want := range map[float64]string{
		125e6: "1Gbit", 31_250_000: "250Mbit", 1.25e9: "10Gbit", 312.5e6: "2.5Gbit", 100e6: "800Mbit", 1: "8bit", 0.125: "1bit", 1e15: "8000Tbit", 8000: "64kbit",
	} {
		if got := FormatRate(v); got != want {
			t.Errorf("FormatRate(%v) = %s, want %s", v, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(MinRate, MaxRate).Draw(t, "rate")
		if back, err := ParseRate(FormatRate(v)); err != nil || back != v {
			t.Fatalf("%v is written %s and read back as %v, %v", v, FormatRate(v), back, err)
		}
	})
}

func TestParseNetwork(t *testing.T) {
	for _, c := range []struct {
		text, line string // line: what String makes of it, where that differs
		want       Network
	}{
		{"star:1Gbit", "", Network{Topology: Star, Node: 125e6}},
		{"star", "", Network{Topology: Star}},
		{"star: node = 1Gbit , latency=0.15ms", "star:node=1Gbit,latency=150us", Network{Topology: Star, Node: 125e6, Latency: 150 * unit.Microsecond}},
		{"racks:node=250Mbit,uplink=1Gbit", "", Network{Topology: Racks, Node: 31_250_000, Uplink: 125e6}},
		{"racks:1Gbit,oversubscription=5:1", "racks:node=1Gbit,oversubscription=5", Network{Topology: Racks, Node: 125e6, Oversubscription: 5}},
		{"two-racks:node=1Gbit,uplink=8Gbit,latency=1ms", "", Network{Topology: TwoRacks, Node: 125e6, Uplink: 1e9, Latency: unit.Millisecond}},
		{"leaf-spine:node=10Gbit,uplink=40Gbit,spines=4", "", Network{Topology: LeafSpine, Node: 1.25e9, Uplink: 5e9, Spines: 4}},
		{"fat-tree:k=8,node=1Gbit", "", Network{Topology: FatTree, K: 8, Node: 125e6}},
		{"dcell:n=4,levels=1,node=1Gbit", "", Network{Topology: DCell, N: 4, Levels: 1, Node: 125e6}},
		{"dcell:levels=2,n=2,node=100MB/s,uplink=1Gbit", "dcell:n=2,levels=2,node=800Mbit,uplink=1Gbit", Network{Topology: DCell, N: 2, Levels: 2, Node: 1e8, Uplink: 125e6}},
	} {
		got, err := ParseNetwork(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if d := cmp.Diff(&c.want, got); d != "" {
			t.Errorf("%q: %s", c.text, d)
		}
		if c.line == "" {
			c.line = c.text
		}
		if got.String() != c.line {
			t.Errorf("%q is written %q, want %q", c.text, got.String(), c.line)
		}
	}
	for _, topology := range Topologies() {
		if n, err := ParseNetwork(examples[topology]); err != nil || n.Topology != topology || n.String() != examples[topology] {
			t.Errorf("the example of %s: %v, %v", topology, n, err)
		}
	}
}

func TestParseNetworkSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "is not given; it is one of star, racks, two-racks, leaf-spine, fat-tree, dcell",
		"stra:1Gbit":               `there is no "stra"; did you mean "star"?`,
		"torus:1Gbit":              `there is no "torus"; it is one of star`,
		"star:":                    "a value is missing; write it as in star:1Gbit",
		"star:1Gbit,":              "a value is missing",
		"star:1000":                `node: "1000" has no unit: write 1Gbit`,
		"star:1Gbit,node=2Gbit":    "node is given twice",
		"star:1Gbit,uplink=1Gbit":  `star has no setting "uplink"; it has node, latency`,
		"racks:node=1Gbit":         "racks needs uplink or oversubscription: as in racks:node=250Mbit,uplink=1Gbit",
		"racks:1Gbit,uplnik=1Gbit": `racks has no setting "uplnik"; did you mean "uplink"?`,
		"racks:1Gbit,uplink=1Gbit,oversubscription=5": "uplink says the same",
		"racks:1Gbit,oversubscription=1:5":            "write 5:1 or 5",
		"racks:1Gbit,oversubscription=0":              "write 5:1 or 5",
		"leaf-spine:1Gbit,uplink=1Gbit":               "leaf-spine needs spines",
		"leaf-spine:1Gbit,uplink=1Gbit,spines=0":      "0 is not between 1 and 4096",
		"leaf-spine:1Gbit,uplink=1Gbit,spines=two":    "not a whole number",
		"fat-tree:1Gbit":                              "fat-tree needs k",
		"fat-tree:k=5,node=1Gbit":                     "5 is odd: half of a switch's ports lead down and half up; write 6",
		"fat-tree:k=4":                                "needs node or uplink",
		"dcell:n=4,node=1Gbit":                        "dcell needs levels",
		"dcell:n=1,levels=1,node=1Gbit":               "1 is not between 2 and 999",
		"star:1Gbit,latency=1h":                       "not the latency of a link",
		"star:1Gbit,latency=soon":                     "not a length of time",
	} {
		n, err := ParseNetwork(text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "network "+`"`) {
			t.Errorf("%q: %v, %v\nwant %s", text, n, err, want)
		}
	}
}

func TestNetworkSuitsTheCluster(t *testing.T) {
	for _, c := range []struct{ cluster, network, want string }{
		{"6x1", "star:1Gbit", ""},
		{"6x1/3", "star:1Gbit", ""},
		{"6x1/3", "star", "node node1 has no rate: write node: 1Gbit for all, or nic: 1Gbit"},
		{"6x1/3", "racks:1Gbit,uplink=1Gbit", ""},
		{"6x1/3", "two-racks:1Gbit,uplink=1Gbit", "two-racks joins two racks, and the cluster has nodes in 3 racks; write topology: racks for more, star for one"},
		{"6x1/2", "two-racks:1Gbit,uplink=1Gbit", ""},
		{"16x1/8", "fat-tree:k=4,node=1Gbit", ""},
		{"16x1/4", "fat-tree:k=4,node=1Gbit", ""},
		{"15x1/8", "fat-tree:k=4,node=1Gbit", ""},
		{"7x1/4", "fat-tree:k=4,node=1Gbit", ""},
		{"17x1/8", "fat-tree:k=4,node=1Gbit", "8 edge switches of 2 nodes each, in 4 pods of 4, and the cluster has 17 nodes; write k: 6 or more"},
		{"16x1", "fat-tree:k=4,node=1Gbit", "1 rack of up to 16 nodes (rack1); a rack must be an edge switch or a pod: write racks: 8 or racks: 4"},
		{"9x1/9", "fat-tree:k=4,node=1Gbit", "9 racks of up to 1 nodes"},
		{"20x1/5", "dcell:n=4,levels=1,node=1Gbit", ""},
		{"42x1/21", "dcell:n=2,levels=2,node=1Gbit", ""},
		{"42x1/7", "dcell:n=2,levels=2,node=1Gbit", ""},
		{"20x1", "dcell:n=4,levels=1,node=1Gbit", "5 cells of 4 servers, and a rack must be one of them; the cluster has 1 rack of up to 20 nodes (rack1): write racks: 5"},
		{"20x1/4", "dcell:n=4,levels=1,node=1Gbit", "write racks: 5"},
		{"30x1/5", "dcell:n=4,levels=1,node=1Gbit", "joins exactly 20 servers, and the cluster has 30 nodes; write n: 5 and levels: 1"},
		{"19x1/5", "dcell:n=4,levels=1,node=1Gbit", "the nearest are n=3, levels=1 with 12 and n=4, levels=1 with 20"},
		{"20x1/5", "dcell:n=6,levels=3,node=1Gbit", "has more than 1000000 servers at level 3; write levels: 2 or less"},
		{"20x1/5", "dcell:n=900,levels=2,node=1Gbit", "has more than 1000000 servers at level 2; write levels: 1 or less"},
		{"20000x1/20000", "leaf-spine:node=1Gbit,uplink=1Gbit,spines=4096", "would have 81940000 links"},
	} {
		k, err := Parse(c.cluster)
		if err != nil {
			t.Fatal(err)
		}
		if k.Network, err = ParseNetwork(c.network); err != nil {
			t.Fatal(err)
		}
		err = k.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s with %s: %v\nwant %s", c.cluster, c.network, err, c.want)
		}
	}
}

func TestNodesWithTheirOwnRate(t *testing.T) {
	c, _ := Parse("2x1")
	c.Network = &Network{Topology: Star}
	c.Nodes[0].NIC, c.Nodes[1].NIC = 1e6, 2e6
	if err := c.Validate(); err != nil || c.Network.NIC(&c.Nodes[1]) != 2e6 {
		t.Errorf("%v, %v", err, c.Network.NIC(&c.Nodes[1]))
	}
	if s := c.String(); s != "2 nodes in 1 rack, 2 GiB and 2 vcores, network star" {
		t.Error(s)
	}
	c.Nodes[0].NIC = -1
	if err := c.Validate(); err == nil {
		t.Error("took a negative rate")
	}
}

func FuzzParseNetwork(f *testing.F) {
	for _, s := range examples {
		f.Add(s)
	}
	for _, s := range []string{"star", "racks:1Gbit,oversubscription=2.5:1", "star:1kB/s,latency=3us", "two-racks:0.3Mbit,uplink=1e5bit", "dcell:n=2,levels=4,node=33.3MiB/s,uplink=1Tbit"} {
		f.Add(s)
	}
	c, err := Parse("42x1/21")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 200 {
			return
		}
		n, err := ParseNetwork(text)
		if (n == nil) == (err == nil) {
			t.Fatalf("network %v and error %v", n, err)
		}
		if err != nil {
			return
		}
		back, err := ParseNetwork(n.String())
		if err != nil {
			t.Fatalf("%q is written %q, which is refused: %v", text, n.String(), err)
		}
		if d := cmp.Diff(n, back); d != "" {
			t.Fatalf("%q is written %q, which reads otherwise: %s", text, n.String(), d)
		}
		c.Network = n
		_ = c.Validate() // must not crash
	})
}

func TestCircuits(t *testing.T) {
	n, err := ParseNetwork("racks:node=10Gbit,uplink=30Gbit,circuit=100Gbit")
	if err != nil {
		t.Fatal(err)
	}
	c, ok := n.Circuits()
	if !ok || c.Reconfigure != 10*unit.Millisecond || c.Interval != unit.Second || c.Elephant != 1_125_000_000 || c.Matching != Directed {
		t.Errorf("defaults: %v, %+v", ok, c)
	}
	if n, err = ParseNetwork("racks:node=100Mbit,uplink=100Mbit,circuit=1Gbit"); err != nil {
		t.Fatal(err)
	}
	if c, _ := n.Circuits(); c.Elephant != 11_250_000 {
		t.Errorf("1 Gbit/s: %d bytes", c.Elephant)
	}
	const all = "racks:node=10Gbit,uplink=30Gbit,circuit=100Gbit,reconfigure=20ms,interval=3000ms,elephant=2000000000B,matching=undirected"
	if n, err = ParseNetwork(all); err != nil || n.String() != all {
		t.Errorf("%v: %v", n, err)
	}
	for text, want := range map[string]string{
		"star:10Gbit,circuit=100Gbit":                                      "has no setting",
		"racks:1Gbit,uplink=1Gbit,interval=1s":                             "circuit: is missing",
		"racks:1Gbit,uplink=1Gbit,circuit=1Gbit,interval=5ms":              "not longer than a reconfiguration",
		"racks:1Gbit,uplink=1Gbit,circuit=1Gbit,matching=bipartite":        "want directed or undirected",
		"racks:1Gbit,uplink=1Gbit,circuit=1Gbit,reconfigure=1h":            "time of a reconfiguration",
		"racks:1Gbit,uplink=1Gbit,circuit=1Gbit,elephant=large":            "not an amount of data",
		"two-racks:node=1Gbit,uplink=8Gbit,circuit=1Gbit,reconfigure=10ms": "has no setting",
	} {
		if _, err := ParseNetwork(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
