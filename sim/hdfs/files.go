package hdfs

import (
	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/workload"
)

// Files are the input of jobs that a workload does not locate.
type Files struct {
	Placement
	replicas int
}

const seedFiles = 2 // unlike the seeds of other parts of a run

// NewFiles places input on a cluster's nodes, which have that order in the cluster's description (see NewLayout). No replicas: nil, input has no location.
func NewFiles(c *cluster.Cluster, order []int32, replicas int, placement string, seed uint64) (*Files, error) {
	if replicas <= 0 {
		return nil, Check(placement)
	}
	racks := make([]int32, len(c.Nodes))
	for i := range c.Nodes {
		racks[i] = int32(c.Nodes[i].Rack)
	}
	l := NewLayout(racks, order)
	if c.KindOf(cluster.ScaleUp) {
		l.MarkScaleUp(func(node int32) bool { return c.Nodes[node].Kind == cluster.ScaleUp })
	}
	p, err := New(placement, l, workload.Seed(seed, seedFiles))
	return &Files{p, replicas}, err
}

// Places reports whether f, and not the workload, determines where a stage's input lies.
func (f *Files) Places(s *workload.Stage) bool {
	return f != nil && s.Hosts == nil && s.Input > 0 && len(s.After) == 0
}

// File is the input of a stage of the job that arrived as number seq.
func (f *Files) File(s *workload.Stage, seq int64, stage int) Blocks {
	return Blocks{Key: uint64(seq)<<16 | uint64(stage), Count: s.Tasks, Replicas: f.replicas}
}
