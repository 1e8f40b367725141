package fabric_test

import (
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/cluster/clusterfile"
	"github.com/yardmaster/yardmaster/sim/fabric"
	"github.com/yardmaster/yardmaster/sim/flow"
)

func TestTenThousandNodes(t *testing.T) {
	c := described(t, "10000x8/250", "leaf-spine:node=10Gbit,uplink=40Gbit,spines=16")
	start := time.Now()
	f, n := built(t, c)
	if d := time.Since(start); d > 5*time.Second { // measured: hundredths; a machine that is busy gets room
		t.Errorf("took %v", d)
	}
	if n.Links() != 2*(10000+250*16) || len(f.Up(249)) != 16 {
		t.Errorf("%d links", n.Links())
	}
}

func BenchmarkBuild(b *testing.B) {
	c := described(b, "10000x8/250", "leaf-spine:node=10Gbit,uplink=40Gbit,spines=16")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := fabric.Build(c, flow.New()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPath(b *testing.B) {
	for _, l := range layouts {
		b.Run(l.network, func(b *testing.B) {
			c := described(b, l.nodes, l.network)
			f, _ := built(b, c)
			nodes := int32(len(c.Nodes))
			buf := make([]flow.Link, 0, 64)
			b.ReportAllocs()
			i := int32(0)
			for b.Loop() {
				i++
				buf = f.Path(i%nodes, (i*7+1)%nodes, uint64(i), buf)
			}
		})
	}
}

// What the reader of files takes can be built.
func FuzzBuild(f *testing.F) {
	for _, l := range layouts {
		f.Add("groups:\n- {count: 42, racks: 21, memory: 1GB, cores: 1}\nnetwork: " + l.network + "\n")
	}
	f.Add("groups:\n- {count: 16, racks: 8, memory: 1GB, cores: 1, nic: 1Gbit}\nnetwork:\n  topology: fat-tree\n  k: 4\n  uplink: 1Gbit\n")
	f.Add("groups:\n- {count: 3, racks: [a], map-slots: 1}\nnodes:\n- {name: a, rack: b, map-slots: 1, nic: 10MB/s}\nnetwork: {oversubscription: 2, topology: two-racks, node: 1Gbit}\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1000 {
			return
		}
		c, err := clusterfile.Parse("c.yaml", []byte(text))
		if err != nil || c.Network == nil || len(c.Nodes) > 3000 || len(c.Racks)*c.Network.Spines > 10000 || c.Network.K > 32 {
			return
		}
		g, err := fabric.Build(c, flow.New())
		if err != nil {
			t.Fatalf("the file is taken, the network is not: %v", err)
		}
		last := int32(len(c.Nodes) - 1)
		if got := g.Path(0, last, 1, nil); len(got) != g.Hops(0, last) {
			t.Fatalf("%v over %d hops", got, g.Hops(0, last))
		}
	})
}
