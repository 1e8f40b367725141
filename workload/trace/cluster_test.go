package trace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
)

func TestJSONFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	topology := write("topology.json", `{"name": "<root>", "children": [
		{"name": "rack1", "children": [{"name": "n1", "children": null}, {"name": "n2", "children": null}]},
		{"name": "rack2", "children": [{"name": "n3", "children": null}]}]}`)
	if _, err := OpenCluster(topology); err == nil || !strings.Contains(err.Error(), topology+":6") {
		t.Errorf("a topology without sizes: %v", err)
	}
	c, err := OpenCluster(topology + ":6")
	if err != nil || len(c.Nodes) != 3 || len(c.Racks) != 2 || c.Nodes[0].Room != cluster.Unit.Times(6) {
		t.Errorf("%v, %v", c, err)
	}
	c, err = OpenCluster(topology + ":4+2")
	if err != nil || !c.Slots || c.Nodes[2].MapSlots != 4 || c.Nodes[2].ReduceSlots != 2 {
		t.Errorf("%v, %v", c, err)
	}
	nodes := write("nodes.json", `{"rack": "default-rack", "nodes": [{"node": "a1"}, {"node": "a2"}]}`)
	if c, err := OpenCluster(nodes); err != nil || len(c.Nodes) != 2 {
		t.Errorf("%v, %v", c, err)
	}
	if _, err := OpenCluster(write("other.json", `{"a": 1}`)); err == nil || !strings.Contains(err.Error(), "neither") {
		t.Errorf("%v", err)
	}
	if _, err := OpenCluster(write("c.yaml", "nodes:\n- {name: a, memory: 1GB, cores: 1}\n") + ":6"); err == nil || !strings.Contains(err.Error(), "says itself") {
		t.Errorf("%v", err)
	}
}
