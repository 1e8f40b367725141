package capacity

import (
	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/unit"
)

// What the source leaves open, as variables of the study: see Assumptions.
const (
	heartbeat   = 300 * unit.Millisecond // the source's default "for small clusters"
	poll        = 5 * unit.Second        // the documented default of the initialization poller
	replication = 3                      // the source's shares of rack-local maps fit three copies
	gigabit     = 125e6                  // bytes a second, each way
)

// machines is a cluster of the source.
type machines struct {
	nodes                 int
	mapSlots, reduceSlots int64
	hertz                 float64
	cores                 int
	// slowDisk divides the disk's rates, which are otherwise those of the public MRPERF (280 MiB/s read, 75 MiB/s written). It is the one
	// parameter that was set by figures of the source.
	slowDisk float64
}

// workers of the simulated study.
const workers = 30

var (
	// sensitivityCluster is five isolated nodes of a real cluster, two quad-core Xeon L5420 each.
	sensitivityCluster = machines{nodes: 5, mapSlots: 2, reduceSlots: 2, hertz: 2.5e9, cores: 8, slowDisk: 2.45}
	// studyCluster is thirty simulated workers.
	studyCluster = machines{nodes: workers, mapSlots: 4, reduceSlots: 4, hertz: 2.5e9, cores: 8, slowDisk: 1.64}
)

// validationCluster is four lab machines. Their map slots and cores are not stated: two slots, as on the other real cluster, on four
// cores.
func validationCluster(reduceSlots int64) machines {
	return machines{nodes: 4, mapSlots: 2, reduceSlots: reduceSlots, hertz: 2.4e9, cores: 4, slowDisk: sensitivityCluster.slowDisk}
}

// cluster is one rack on one switch.
func (m machines) cluster() *cluster.Cluster {
	c := cluster.Uniform(m.nodes, 1, unit.Resources{})
	c.Slots = true
	for i := range c.Nodes {
		c.Nodes[i].MapSlots, c.Nodes[i].ReduceSlots = m.mapSlots, m.reduceSlots
	}
	c.Network = &cluster.Network{Topology: "star", Node: gigabit}
	return c
}
