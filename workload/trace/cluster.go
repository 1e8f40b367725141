package trace

import (
	"bytes"
	"fmt"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/cluster/clusterfile"
	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload/rumen"
	"github.com/yardmaster/yardmaster/workload/sls"
)

// OpenCluster opens a cluster from a shorthand or a file: YAML, or the topology that comes with a trace.
func OpenCluster(spec string) (*cluster.Cluster, error) { return clusterfile.Open(spec, parseTopology) }

// parseTopology reads an SLS node file or a Rumen topology.
func parseTopology(name string, data []byte, s clusterfile.Size) (*cluster.Cluster, error) {
	prefix := data[:min(len(data), input.PeekSize)]
	var c *cluster.Cluster
	var err error
	switch {
	case rumen.SniffTopology(prefix):
		if s == (clusterfile.Size{}) {
			return nil, fmt.Errorf("cluster %s: a Rumen topology does not say how large its nodes are; write %s:6 for 6 containers each, or %s:4+2 for 4 map and 2 reduce slots",
				name, name, name)
		}
		c, err = rumen.ReadTopology(bytes.NewReader(data), name, cluster.Unit.Times(max(s.Containers, 1)))
	case sls.SniffNodes(prefix), sls.Sniff(prefix), sls.SniffSynth(prefix):
		room := sls.NodeRoom
		if s.Containers > 0 {
			room = cluster.Unit.Times(s.Containers)
		}
		c, _, err = sls.ReadNodesWith(bytes.NewReader(data), name, room)
	default:
		return nil, fmt.Errorf("cluster %s: JSON, but neither an SLS node file (objects with \"rack\" and \"nodes\") nor a Rumen topology (\"children\")", name)
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	if s.Maps > 0 {
		c.Slots = true
		for i := range c.Nodes {
			c.Nodes[i].MapSlots, c.Nodes[i].ReduceSlots, c.Nodes[i].Room = s.Maps, s.Reduces, unit.Resources{}
		}
	}
	return c, c.Validate()
}
