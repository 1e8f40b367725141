package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/unit"
)

func where(c *Cluster, from int) (out []string) {
	for _, n := range c.Nodes[from:] {
		out = append(out, c.Racks[n.Rack]+"/"+n.Name)
	}
	return out
}

func resized(t *testing.T, c *Cluster, size string) *Cluster {
	t.Helper()
	out, err := c.Resize(size)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestResize(t *testing.T) {
	c := Uniform(6, 3, Unit)
	if got := where(resized(t, c, "+4"), 6); !slices.Equal(got, []string{"rack1/node7", "rack2/node8", "rack3/node9", "rack1/node10"}) {
		t.Error(got)
	}
	if got := where(resized(t, c, "-2"), 0); !slices.Equal(got, []string{"rack1/node1", "rack1/node2", "rack2/node3", "rack3/node5"}) {
		t.Error(got)
	}
	if got := resized(t, c, "2"); len(got.Nodes) != 2 || len(c.Nodes) != 6 {
		t.Error(got, c)
	}
	if got := resized(t, WithSlots(4, 2, 3, 1), "+4"); got.String() != "8 nodes in 2 racks, 24 map and 8 reduce slots" {
		t.Error(got)
	}
	mixed := &Cluster{Racks: []string{"a", "b"}, Nodes: []Node{
		{Name: "dn08.example.org", Room: Unit}, {Name: "dn09.example.org", Room: Unit}, {Name: "dn10.example.org", Room: Unit},
		{Name: "big", Rack: 1, Room: Unit.Times(8), Kind: "big"},
	}}
	if got := where(resized(t, mixed, "8"), 4); !slices.Equal(got, []string{"a/node5", "a/node6", "a/node7", "b/node8"}) {
		t.Error(got)
	}
	mixed.Nodes[1].Name = "node5"
	if got := where(resized(t, mixed, "+1"), 4); !slices.Equal(got, []string{"a/node6"}) {
		t.Error(got)
	}
}

func TestResizeSaysWhatIsWrong(t *testing.T) {
	c := Uniform(8, 2, Unit)
	var err error
	if c.Network, err = ParseNetwork("fat-tree:k=4,node=1Gbit"); err != nil {
		t.Fatal(err)
	}
	for size, want := range map[string]string{
		"":         "write 700, or +100 or -10",
		"many":     "write 700, or +100 or -10",
		"0":        "write 700, or +100 or -10",
		"-8":       "would leave 0 of 8 nodes",
		"-9":       "would leave -1 of 8 nodes",
		"+1000000": "want 1 to 1000000",
		"+100":     "fat tree",
	} {
		if _, err := c.Resize(size); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", size, err)
		}
	}
}

// Any cluster of any size: the number is right, kinds keep their proportion, names stay unique, what stays is unchanged.
func TestResizeKeepsProportions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Cluster{Racks: []string{"a", "b", "c"}}
		for i := range rapid.IntRange(1, 30).Draw(t, "nodes") {
			name := rapid.SampledFrom([]string{"n%d", "node%d", "x%d.y"}).Draw(t, "name")
			c.Nodes = append(c.Nodes, Node{Name: fmt.Sprintf(name, i), Rack: rapid.IntRange(0, 2).Draw(t, "rack"), Room: unit.Resources{Mem: rapid.Int64Range(1, 3).Draw(t, "kind")}})
		}
		n := rapid.IntRange(1, 90).Draw(t, "n")
		out, err := c.Resize(fmt.Sprint(n))
		if err != nil || len(out.Nodes) != n {
			t.Fatal(out, err)
		}
		count := func(of *Cluster, mem int64) (k int) {
			for _, n := range of.Nodes {
				if n.Room.Mem == mem {
					k++
				}
			}
			return k
		}
		for mem := int64(1); mem <= 3; mem++ {
			if want, got := float64(count(c, mem)*n)/float64(len(c.Nodes)), float64(count(out, mem)); got <= want-1 || got >= want+1 {
				t.Fatalf("%v nodes of kind %d, want %v", got, mem, want)
			}
		}
		kept := min(n, len(c.Nodes))
		for _, node := range out.Nodes[:kept] {
			if !slices.Contains(c.Nodes, node) {
				t.Fatalf("%+v is new", node)
			}
		}
	})
}
