package clusterfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/unit"
)

func parsed(t *testing.T, text string) *cluster.Cluster {
	t.Helper()
	c, err := Parse("c.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestGroupsAndNodes(t *testing.T) {
	c := parsed(t, `
groups:
  - count: 4
    racks: 2
    memory: 64GB
    cores: 16
    kind: big
  - names: [a, b]
    racks: [rack2, edge]
    memory: 8192
    cores: 4
nodes:
  - name: lone
    rack: edge
    memory: 1GB
    cores: 1
`)
	big, small := unit.Resources{Mem: 65536, Cores: 16}, unit.Resources{Mem: 8192, Cores: 4}
	want := &cluster.Cluster{
		Racks: []string{"rack1", "rack2", "edge"},
		Nodes: []cluster.Node{
			{Name: "big1", Kind: "big", Room: big},
			{Name: "big2", Kind: "big", Room: big},
			{Name: "big3", Rack: 1, Kind: "big", Room: big},
			{Name: "big4", Rack: 1, Kind: "big", Room: big},
			{Name: "a", Rack: 1, Room: small},
			{Name: "b", Rack: 2, Room: small},
			{Name: "lone", Rack: 2, Room: unit.Resources{Mem: 1024, Cores: 1}},
		},
	}
	if d := cmp.Diff(want, c); d != "" {
		t.Error(d)
	}
}

func TestShorthandEqualsAGroup(t *testing.T) {
	short, err := Open("6x3/2", nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(short, parsed(t, "groups:\n- {count: 6, racks: 2, memory: 3GB, cores: 3}\n")); d != "" {
		t.Error(d)
	}
	slots, err := Open("6x3+1/2", nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(slots, parsed(t, "groups:\n- {count: 6, racks: 2, map-slots: 3, reduce-slots: 1}\n")); d != "" {
		t.Error(d)
	}
}

func TestGroupsCountOn(t *testing.T) {
	c := parsed(t, "groups:\n- {count: 2, memory: 1GB, cores: 1, racks: 1}\n- {count: 2, memory: 2GB, cores: 1, racks: 1}\n- {count: 1, name: \"x{}y\", memory: 1GB, cores: 1}\n")
	var got []string
	for _, n := range c.Nodes {
		got = append(got, c.Racks[n.Rack]+"/"+n.Name)
	}
	if s := strings.Join(got, " "); s != "rack1/node1 rack1/node2 rack2/node3 rack2/node4 rack1/x1y" {
		t.Error(s)
	}
}

func TestNamedResources(t *testing.T) {
	c := parsed(t, "groups:\n- {count: 2, memory: 1GB, cores: 1, resources: {nvidia.com/gpu: 8, licence: 1, none: 0}}\n- {count: 1, memory: 1GB, cores: 1}\n")
	if c.Nodes[1].Room.String() != "1024 MiB, 1 vcore, 1 licence, 8 nvidia.com/gpu" || c.Nodes[2].Room.Extra != (unit.Extra{}) {
		t.Errorf("%v and %v", c.Nodes[1].Room, c.Nodes[2].Room)
	}
	if got, want := c.String(), "3 nodes in 1 rack, 3 GiB and 3 vcores, 2 licence, 16 nvidia.com/gpu"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// All nodes together are limited as one is: a sum over them stays small.
	text := "nodes:\n"
	for i := range unit.MaxNames + 1 {
		text += fmt.Sprintf("- {name: n%d, memory: 1GB, cores: 1, resources: {r%d: 1}}\n", i, i)
	}
	if _, err := Parse("c.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "node n16: more than 16 named resources") {
		t.Errorf("%v", err)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "c.yaml:1:1: describes no nodes"},
		{"group:\n- count: 1\n", `c.yaml:1:1: a cluster file has no key "group"; did you mean "groups"?`},
		{"groups:\n- count: 0\n", "c.yaml:2:10: 0 is not between 1 and 1000000"},
		{"groups:\n- count: 2\n  memory: 1GB\n", "c.yaml:2:3: needs both memory and cores"},
		{"groups:\n- count: 2\n", "c.yaml:2:3: has no room"},
		{"groups:\n- count: 2\n  memory: 1GB\n  cores: 1\n  map-slots: 2\n", "c.yaml:2:3: give memory and cores, or map-slots"},
		{"groups:\n- memory: 1GB\n  cores: 2\n", "c.yaml:2:3: a group needs a count"},
		{"groups:\n- count: 2\n  name: x\n  memory: 1GB\n  cores: 2\n", `c.yaml:2:3: name "x" would be given to 2 nodes`},
		{"groups:\n- {count: 1, map-slots: 2}\n- {count: 1, memory: 1GB, cores: 1}\n", "c.yaml:3:3: counts room in memory and cores, but the nodes before it in slots"},
		{"nodes:\n- {name: a, memory: 1GB, cores: 1}\n- {name: a, memory: 1GB, cores: 1}\n", `c.yaml:3:3: a second node is named "a"; the first is at c.yaml:2`},
		{"nodes:\n- {memory: 1GB, cores: 1}\n", "c.yaml:2:3: a node needs a name"},
		{"groups:\n- {count: 2, racks: 3, memory: 1GB, cores: 1}\n", "c.yaml:2:3: spreads 2 nodes over 3 racks"},
		{"groups:\n- {count: 2, mem: 3, cores: 1}\n", `c.yaml:2:14: a group has no key "mem"; did you mean "memory"?`},
		{"groups:\n- {count: 2, memory: 1GB, cores: 1, resources: 3}\n", "c.yaml:2:48: should be a mapping of names to numbers, as in {gpu: 8}, not a value"},
		{"groups:\n- {count: 2, memory: 1GB, cores: 1, resources: {GPU: 3}}\n", `c.yaml:2:54: "GPU" cannot name a resource`},
		{"groups:\n- {count: 2, memory: 1GB, cores: 1, resources: {gpu: -3}}\n", "c.yaml:2:54: -3 is not between 0"},
		{"groups:\n- {count: 2, map-slots: 1, resources: {gpu: 3}}\n", "c.yaml:2:3: fixed slots have no named resources"},
		{"groups: 3\n", "c.yaml:1:9: should be a list"},
	} {
		if _, err := Parse("c.yaml", []byte(c.text)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "prod.yaml")
	if err := os.WriteFile(path, []byte("nodes:\n- {name: a, memory: 1GB, cores: 1}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if c, err := Open(path, nil); err != nil || len(c.Nodes) != 1 {
		t.Errorf("%v, %v", c, err)
	}
	if _, err := Open(filepath.Join(dir, "prd.yaml"), nil); err == nil || !strings.Contains(err.Error(), `did you mean "prod.yaml"?`) {
		t.Errorf("no hint: %v", err)
	}
	for _, bad := range []string{"600x6/0", "600x", "x6", "600y6", "0x3"} {
		if _, err := Open(bad, nil); err == nil || !strings.Contains(err.Error(), "600x6/30") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("groups:\n- {count: 6, racks: 2, memory: 3GB, cores: 3}\n"))
	f.Add([]byte("groups:\n- {count: 2, memory: 3GB, cores: 3, resources: {nvidia.com/gpu: 8, licence: 1}}\n"))
	f.Add([]byte("groups:\n- names: [a, b]\n  racks: [r]\n  map-slots: 1\nnodes:\n- {name: c, map-slots: 2, reduce-slots: 1}\n"))
	f.Add([]byte(`{"rack": "default-rack", "nodes": [{"node": "a1"}]}`))
	f.Add([]byte(`{"name": "<root>", "children": [{"name": "rack1", "children": [{"name": "n1", "children": null}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		c, err := Parse("c.yaml", data)
		if err == nil {
			if err := c.Validate(); err != nil {
				t.Fatalf("took an impossible cluster: %v", err)
			}
		}
	})
}
