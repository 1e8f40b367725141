package sim

import (
	"slices"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/sim/hdfs"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// layout is the cluster as the engine numbers its nodes, and where the input of tasks lies. It does not change during a run.
type layout struct {
	described *cluster.Cluster // as given
	numbered  *cluster.Cluster // with its nodes in the order of their heartbeats
	phase     []unit.Time      // of the heartbeats; nil: free room is known at once
	nodeRack  []int32
	rackNodes [][]int32
	shapes    []unit.Resources // of nodes, each once; none with slots
	speeds    *Speeds          // nil: all machines are equally fast
	hosts     map[string]int32 // nodes by name and by rack/name, built when a trace names hosts
	files     *hdfs.Files      // input that the trace does not locate; nil: it has no location
}

func newLayout(c *cluster.Cluster, m *Model, seed uint64) (layout, error) {
	l := layout{described: c, numbered: c}
	var order []int32 // input lies on the same machines, however they are numbered
	if m.Heartbeat > 0 {
		l.numbered, l.phase, order = inPhase(c, m.Heartbeat, workload.Seed(seed, seedBeats))
		c = l.numbered
	}
	l.speeds, l.nodeRack = NewSpeeds(c), make([]int32, len(c.Nodes))
	l.rackNodes = make([][]int32, len(c.Racks))
	seen := map[unit.Resources]bool{}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		l.nodeRack[i] = int32(n.Rack)
		l.rackNodes[n.Rack] = append(l.rackNodes[n.Rack], int32(i))
		if !c.Slots && !seen[n.Room] {
			seen[n.Room] = true
			l.shapes = append(l.shapes, n.Room)
		}
	}
	var err error
	l.files, err = hdfs.NewFiles(c, order, m.Replicas, m.Placement, seed)
	return l, err
}

// roomOf is what node i offers to pool k.
func (l *layout) roomOf(k, i int) unit.Resources {
	n := &l.numbered.Nodes[i]
	switch {
	case !l.numbered.Slots:
		return n.Room
	case k == 0:
		return cluster.Unit.Times(n.MapSlots)
	}
	return cluster.Unit.Times(n.ReduceSlots)
}

// fits reports whether some node could hold a container.
func (l *layout) fits(ask unit.Resources) bool { return slices.ContainsFunc(l.shapes, ask.Fits) }
