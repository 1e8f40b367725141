package sim

import (
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/internal/near"
)

// replicas lists the nodes that hold the input of a task, each once; none if it has no location. It overwrites buf and reuses
// its memory if large enough.
func (l *layout) replicas(j *job, stage int, task int64, buf []int32) []int32 {
	s := &j.src.Stages[stage]
	if l.files.Places(s) {
		file := l.files.File(s, j.rec.Seq, stage)
		file.First, file.Others = j.racks[0], j.racks[1]
		return l.files.Place(file, task, buf)
	}
	buf = buf[:0]
	if s.Hosts == nil || task >= int64(len(s.Hosts.Of)) {
		return buf
	}
	if l.hosts == nil {
		l.hosts = make(map[string]int32, 2*len(l.numbered.Nodes))
		for i := range l.numbered.Nodes {
			n := &l.numbered.Nodes[i]
			l.hosts[n.Name] = int32(i)
			l.hosts[l.numbered.Racks[n.Rack]+"/"+n.Name] = int32(i)
		}
	}
	for _, k := range s.Hosts.Of[task] {
		if n, ok := l.hosts[s.Hosts.Names[k]]; ok && !slices.Contains(buf, n) {
			buf = append(buf, n)
		}
	}
	return buf
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
