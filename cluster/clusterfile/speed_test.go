package clusterfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/unit"
)

func TestMachineKinds(t *testing.T) {
	c := parsed(t, `
groups:
  - {count: 30, racks: 3, memory: 8GB, cores: 8, kind: scale-out, cost: 1000, storage: 2TB}
  - {count: 2, racks: 1, memory: 24GB, cores: 24, kind: scale-up, cost: 5000.5, speed: scale-up}
nodes:
  - {name: fast, memory: 8GB, cores: 8, speed: 2}
  - {name: own, memory: 8GB, cores: 8, speed: {small: 3, even: 2, large: 1, cross: [32GB@1, 64GB@1.6]}}
`)
	if got := c.Cost(); got != 40_001 {
		t.Errorf("it costs %v", got)
	}
	if n := c.Nodes[0]; n.Storage != 2*unit.TiB || n.Speed != nil || n.Kind != "scale-out" {
		t.Errorf("%+v", n)
	}
	if d := cmp.Diff(cluster.ScaleUpSpeed(), c.Nodes[30].Speed); d != "" || c.Nodes[30].Speed != c.Nodes[31].Speed {
		t.Error(d)
	}
	own := &cluster.Speed{Small: 3, Even: 2, Large: 1, Cross: []cluster.Cross{{Ratio: 1, Input: 32 * unit.GiB}, {Ratio: 1.6, Input: 64 * unit.GiB}}}
	if d := cmp.Diff([]*cluster.Speed{{Small: 2}, own}, []*cluster.Speed{c.Nodes[32].Speed, c.Nodes[33].Speed}); d != "" {
		t.Error(d)
	}
	speeds, of := c.Speeds()
	if len(speeds) != 3 || of[0] != -1 || of[31] != 0 || of[33] != 2 {
		t.Errorf("%d speeds, %v", len(speeds), of)
	}
}

func TestInvalidMachineKinds(t *testing.T) {
	for _, c := range []struct{ key, want string }{
		{"cost: cheap", `c.yaml:2:45: "cheap" is not a number from 0`},
		{"cost: -1", "is not a number from 0"},
		{"cost: .nan", "is not a number from 0"},
		{"storage: much", "much"},
		{"speed: fast", `"fast" is neither a number nor scale-up`},
		{"speed: 0", "a speed of 0"},
		{"speed: [1, 2]", "a list"},
		{"speed: {small: 3, evne: 2}", "even"},
		{"speed: {small: 3, even: 2, large: 1}", "needs cross points"},
		{"speed: {small: 3, even: 2, large: 1, cross: [32GB]}", "is not SIZE@RATIO"},
		{"speed: {small: 1, even: 2, large: 3, cross: [32GB@1]}", "each must be less than the one before"},
	} {
		_, err := Parse("c.yaml", []byte("groups:\n  - {count: 3, memory: 8GB, cores: 8, "+c.key+"}\n"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.key, err, c.want)
		}
	}
}
