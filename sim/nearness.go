package sim

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/internal/near"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// nearness knows which of a stage's waiting tasks have their input on a node or in a rack. It exists only while the stage
// runs and only where input lies somewhere: the trace names hosts, or the model places replicas.
type nearness struct {
	*near.Tasks
	e *engine
}

// newNearness builds it for stage i of a job; nil where the input lies nowhere in particular.
func (e *engine) newNearness(j *job, i int) *nearness {
	src := &j.src.Stages[i]
	if src.Tasks > 1<<31-1 || len(src.After) > 0 && src.Hosts == nil {
		return nil
	}
	var where []near.At
	switch {
	case src.Hosts != nil:
		where = e.namedHosts(src.Hosts)
	case e.model.Replicas > 0 && src.Input > 0:
		where = e.placeBlocks(j, src.Tasks, i)
	}
	if len(where) == 0 {
		return nil
	}
	return &nearness{near.New(where, e.nodeRack, src.Tasks), e}
}

func (e *engine) namedHosts(h *workload.Hosts) []near.At {
	if e.hosts == nil {
		e.hosts = make(map[string]int32, 2*len(e.cfg.Cluster.Nodes))
		for i := range e.cfg.Cluster.Nodes {
			n := &e.cfg.Cluster.Nodes[i]
			e.hosts[n.Name] = int32(i)
			e.hosts[e.cfg.Cluster.Racks[n.Rack]+"/"+n.Name] = int32(i)
		}
	}
	var out []near.At
	for t, row := range h.Of {
		for _, k := range row {
			if i, ok := e.hosts[h.Names[k]]; ok {
				out = append(out, near.At{Place: i, Task: int32(t)})
			}
		}
	}
	return out
}

// placeBlocks puts each task's block where HDFS would: one replica on any node, the others on nodes of one other rack.
func (e *engine) placeBlocks(j *job, tasks int64, i int) []near.At {
	seed := workload.Seed(workload.Seed(e.cfg.Seed, seedBlocks), uint64(j.rec.Seq)<<16|uint64(i))
	out := make([]near.At, 0, int(tasks)*e.model.Replicas)
	var buf []int32
	for t := range tasks {
		buf = e.placeBlock(seed, t, buf[:0])
		for _, node := range buf {
			out = append(out, near.At{Place: node, Task: int32(t)})
		}
	}
	return out
}

// replicas lists the nodes that hold the input of a task; none where it lies nowhere in particular.
func (e *engine) replicas(j *job, i int, task int64, buf []int32) []int32 {
	switch src := &j.src.Stages[i]; {
	case src.Hosts != nil:
		if e.hosts == nil {
			e.namedHosts(src.Hosts)
		}
		if task < int64(len(src.Hosts.Of)) {
			for _, k := range src.Hosts.Of[task] {
				if n, ok := e.hosts[src.Hosts.Names[k]]; ok {
					buf = append(buf, n)
				}
			}
		}
	case e.model.Replicas > 0 && src.Input > 0 && len(src.After) == 0:
		buf = e.placeBlock(workload.Seed(workload.Seed(e.cfg.Seed, seedBlocks), uint64(j.rec.Seq)<<16|uint64(i)), task, buf)
	}
	return buf
}

func (e *engine) placeBlock(seed uint64, t int64, out []int32) []int32 {
	nodes, racks := len(e.nodeRack), len(e.rackNodes)
	pick := func(k, n int) int { return int(workload.Uniform01(seed, uint64(t)<<8|uint64(k)) * float64(n)) }
	first := int32(pick(0, nodes))
	out = append(out, first)
	other := e.nodeRack[first]
	if racks > 1 {
		other = int32(pick(1, racks-1))
		if other >= e.nodeRack[first] {
			other++
		}
	}
	in := e.rackNodes[other]
	if len(in) == 0 {
		return out
	}
	at := pick(2, len(in))
	for k := 1; k < min(e.model.Replicas, len(in)+1); k++ {
		out = append(out, in[(at+k-1)%len(in)])
	}
	return out
}

// tries bounds how many places are looked at for one container.
const tries = 32

// choose finds a node with room for one of the waiting tasks, near its input if possible.
func (n *nearness) choose(p *pool, ask unit.Resources) (policy.Near, int64, int32) {
	left := tries
	for k, node := range n.Nodes.Place {
		if t := n.First(&n.Nodes, k); t >= 0 {
			if ask.Fits(p.nodes[node].Free) {
				return policy.NodeLocal, t, node
			}
			if left--; left == 0 {
				break
			}
		}
	}
	left = tries
	for k, rack := range n.Racks.Place {
		t := n.First(&n.Racks, k)
		if t < 0 {
			continue
		}
		for _, node := range n.e.rackNodes[rack] {
			if ask.Fits(p.nodes[node].Free) {
				return policy.RackLocal, t, node
			}
			if left--; left == 0 {
				break
			}
		}
		if left <= 0 {
			break
		}
	}
	at := p.rooms.find(ask, p.cursor)
	if at < 0 {
		return policy.NoPreference, -1, -1
	}
	how, t := n.Best(at, p.nodes[at].Rack)
	return how, t, at
}
