package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/cluster/clusterfile"
	"github.com/yardmaster/yardmaster/sim/fabric"
	"github.com/yardmaster/yardmaster/sim/flow"
)

// Every file and every --cluster with --network of clusters.md is taken, and its network can be built; every topology is shown in both
// ways; and what the page says is refused is refused in those words.
func TestClusters(t *testing.T) {
	data, err := os.ReadFile("clusters.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	inFile, inLine := map[string]int{}, map[string]int{}
	build := func(what string, c *cluster.Cluster, seen map[string]int) {
		if c.Network == nil {
			return
		}
		seen[c.Network.Topology]++
		if _, err := fabric.Build(c, flow.New()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, b := range blocks(t, "clusters.md") {
		if b.lang != "yaml" {
			continue
		}
		c, err := clusterfile.Parse("cluster.yaml", []byte(b.text))
		if err != nil {
			t.Errorf("%v in\n%s", err, b.text)
			continue
		}
		build(b.text, c, inFile)
	}
	for _, m := range regexp.MustCompile("--cluster (\\S+) --network ([^\\s`]+)").FindAllStringSubmatch(page, -1) {
		c, err := clusterfile.Open(m[1], nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.Network, err = cluster.ParseNetwork(m[2]); err != nil {
			t.Error(err)
			continue
		}
		build(m[0], c, inLine)
	}
	for _, topology := range cluster.Topologies() {
		if inFile[topology] == 0 || inLine[topology] == 0 {
			t.Errorf("%s is shown in %d files and %d lines", topology, inFile[topology], inLine[topology])
		}
	}
	_, err = clusterfile.Parse("cluster.yaml", []byte("groups:\n  - {count: 128, racks: 4, memory: 8GB, cores: 8}\nnetwork:\n  topology: fat-tree\n  k: 8\n  node: 1Gbit\n"))
	if err == nil || !strings.Contains(page, "```\n"+err.Error()+"\n```") {
		t.Errorf("the page does not show what is said:\n%v", err)
	}
}
