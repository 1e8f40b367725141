package sim

import (
	"slices"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/hdfs"
	"github.com/yardmaster/yardmaster/sim/internal/near"
)

// layFiles sets up the placement of input that the trace does not locate. c is the cluster as given: the engine may number its
// nodes in the order of their heartbeats, and input must lie on the same machines regardless.
func (e *engine) layFiles(c *cluster.Cluster) (err error) {
	var order []int32
	if e.phase != nil && e.model.Replicas > 0 {
		e.nameHosts()
		order = make([]int32, len(c.Nodes))
		for i := range c.Nodes {
			order[i] = e.hosts[c.Nodes[i].Name]
		}
	}
	e.files, err = hdfs.NewFiles(e.cfg.Cluster, order, e.model.Replicas, e.model.Placement, e.cfg.Seed)
	return err
}

// replicas lists the nodes that hold the input of a task, each once; none if it has no location. It overwrites buf and reuses
// its memory if large enough.
func (e *engine) replicas(j *job, stage int, task int64, buf []int32) []int32 {
	s := &j.src.Stages[stage]
	if e.files.Places(s) {
		file := e.files.File(s, j.rec.Seq, stage)
		file.First, file.Others = j.racks[0], j.racks[1]
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

// storage is where the input of waiting tasks lies.
type storage struct{ *engine }

func (s storage) Near(v *policy.Job, i int, n *policy.Node) policy.Near {
	st := &s.jobs[v.Index].stages[i]
	if st.near == nil || st.Open() == 0 {
		return policy.NoPreference
	}
	how, _ := st.near.Best(n.Index, n.Rack)
	return how
}

func (s storage) Local(v *policy.Job, i int, n *policy.Node) bool {
	st := &s.jobs[v.Index].stages[i]
	return st.near == nil || st.Open() == 0 || st.near.FirstAt(&st.near.Nodes, n.Index) >= 0
}

func (s storage) Racks(v *policy.Job, i int, task int64, to []int32) []int32 {
	return near.Racks(s.replicas(s.jobs[v.Index], i, task, to), s.nodeRack)
}
