package sim

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/internal/near"
	"github.com/yardmaster/yardmaster/unit"
)

// nearness indexes a stage's waiting tasks by the nodes and racks of their input. It exists only while the stage runs and only
// if input has a location: the trace names hosts, or the model places replicas.
type nearness struct {
	*near.Tasks
	e *engine
	j *job // of the stage, while the stage is in the index of parked jobs
}

// newNearness builds the index for stage i of a job; nil if the input has no location.
func (e *engine) newNearness(j *job, i int) *nearness {
	src := &j.src.Stages[i]
	tasks, copies := src.Tasks, e.model.Replicas
	switch {
	case src.Tasks > 1<<31-1:
		return nil
	case src.Hosts != nil:
		tasks, copies = int64(len(src.Hosts.Of)), 3
	case !e.files.Places(src):
		return nil
	}
	where := make([]near.At, 0, int(tasks)*copies)
	var buf []int32
	for t := range tasks {
		buf = e.replicas(j, i, t, buf)
		if len(j.racks[0]) > 0 && len(buf) > 1 {
			buf = buf[:1] // where the policy means it to be read: racks must not run each other's tasks
		}
		for _, node := range buf {
			where = append(where, near.At{Place: node, Task: int32(t)})
		}
	}
	if len(where) == 0 {
		return nil
	}
	return &nearness{Tasks: near.New(where, e.nodeRack, src.Tasks), e: e}
}

// tries limits the positions examined for one container.
const tries = 32

// choose finds a node with room for one of the waiting tasks, near its input if possible.
func (n *nearness) choose(p *pool, ask unit.Resources) (policy.Near, int64, int32) {
	left := tries
	for k, t := n.Next(&n.Nodes, 0); t >= 0 && left > 0; k, t = n.Next(&n.Nodes, k+1) {
		if node := n.Nodes.Place[k]; ask.Fits(p.nodes[node].Free) {
			return policy.NodeLocal, t, node
		}
		left--
	}
	left = tries
	for k, t := n.Next(&n.Racks, 0); t >= 0 && left > 0; k, t = n.Next(&n.Racks, k+1) {
		for _, node := range n.e.rackNodes[n.Racks.Place[k]] {
			if ask.Fits(p.nodes[node].Free) {
				return policy.RackLocal, t, node
			}
			if left--; left == 0 {
				break
			}
		}
	}
	node := p.rooms.find(ask, p.cursor)
	if node < 0 {
		return policy.NoPreference, -1, -1
	}
	how, t := n.Best(node, p.nodes[node].Rack)
	return how, t, node
}
