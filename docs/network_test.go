package docs_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/cluster/clusterfile"
	"github.com/yardmaster/yardmaster/sim/fabric"
	"github.com/yardmaster/yardmaster/sim/flow"
)

// Every command with a network on the pages network.md and phases.md names a cluster and a network that suit each other.
func TestNetworkCommands(t *testing.T) {
	command := regexp.MustCompile("(?m)^yardmaster .*--cluster (\\S+) .*--network ([^\\s`]+)")
	found := 0
	for _, name := range []string{"network.md", "phases.md"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range command.FindAllStringSubmatch(string(data), -1) {
			found++
			c, err := clusterfile.Open(m[1])
			if err != nil {
				t.Fatal(err)
			}
			if c.Network, err = cluster.ParseNetwork(m[2]); err == nil {
				_, err = fabric.Build(c, flow.New())
			}
			if err != nil {
				t.Errorf("%s: %s: %v", name, m[0], err)
			}
		}
	}
	if found < 3 {
		t.Errorf("%d commands with a network on the pages", found)
	}
}
