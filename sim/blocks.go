package sim

import (
	"slices"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/sim/hdfs"
	"github.com/yardmaster/yardmaster/workload"
)

// layFiles sets up the placement of input that the trace does not locate. c is the cluster as given: the engine may number its
// nodes in the order of their heartbeats, and input must lie on the same machines regardless.
func (e *engine) layFiles(c *cluster.Cluster) error {
	if e.model.Replicas <= 0 {
		return hdfs.Check(e.model.Placement)
	}
	var order []int32
	if e.phase != nil {
		e.nameHosts()
		order = make([]int32, len(c.Nodes))
		for i := range c.Nodes {
			order[i] = e.hosts[c.Nodes[i].Name]
		}
	}
	var err error
	e.files, err = hdfs.New(e.model.Placement, hdfs.NewLayout(e.nodeRack, order), workload.Seed(e.cfg.Seed, seedBlocks))
	return err
}

// placed reports whether the model, not the trace, determines where a stage's input lies.
func (e *engine) placed(s *workload.Stage) bool {
	return e.model.Replicas > 0 && s.Hosts == nil && s.Input > 0 && len(s.After) == 0
}

// replicas lists the nodes that hold the input of a task, each once; none if it has no location. It overwrites buf and reuses
// its memory if large enough.
func (e *engine) replicas(j *job, stage int, task int64, buf []int32) []int32 {
	s := &j.src.Stages[stage]
	if e.placed(s) {
		file := hdfs.Blocks{Key: uint64(j.rec.Seq)<<16 | uint64(stage), Count: s.Tasks, Replicas: e.model.Replicas}
		return e.files.Place(file, task, buf)
	}
	buf = buf[:0]
	if s.Hosts == nil || task >= int64(len(s.Hosts.Of)) {
		return buf
	}
	e.nameHosts()
	for _, k := range s.Hosts.Of[task] {
		if n, ok := e.hosts[s.Hosts.Names[k]]; ok && !slices.Contains(buf, n) {
			buf = append(buf, n)
		}
	}
	return buf
}

// nameHosts indexes nodes by name and by rack/name.
func (e *engine) nameHosts() {
	if e.hosts != nil {
		return
	}
	e.hosts = make(map[string]int32, 2*len(e.cfg.Cluster.Nodes))
	for i := range e.cfg.Cluster.Nodes {
		n := &e.cfg.Cluster.Nodes[i]
		e.hosts[n.Name] = int32(i)
		e.hosts[e.cfg.Cluster.Racks[n.Rack]+"/"+n.Name] = int32(i)
	}
}
