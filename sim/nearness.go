package sim

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// nearness knows which of a stage's waiting tasks have their input on a node or in a rack. It exists only while the stage
// runs and only where input lies somewhere: the trace names hosts, or the model places replicas.
type nearness struct {
	e        *engine
	nodes    runs
	racks    runs
	isTaken  []uint64 // bit per task
	hasInput []uint64 // bit per task: its input lies somewhere
	next     int64    // no task before it is free
	tasks    int64
}

// runs lists tasks by place: for each place, in order, the numbers of the tasks whose input it holds.
type runs struct {
	place []int32 // distinct, rising
	start []int32 // into task, of each place; one more at the end
	at    []int32 // first entry of each place that may still be free
	task  []int32
}

type placed struct {
	place int32
	task  int32
}

func newRuns(pairs []placed) runs {
	slices.SortFunc(pairs, func(a, b placed) int { return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.task, b.task)) })
	pairs = slices.Compact(pairs)
	r := runs{task: make([]int32, len(pairs))}
	for i, p := range pairs {
		if i == 0 || p.place != pairs[i-1].place {
			r.place = append(r.place, p.place)
			r.start = append(r.start, int32(i))
		}
		r.task[i] = p.task
	}
	r.at = slices.Clone(r.start)
	r.start = append(r.start, int32(len(pairs)))
	return r
}

// newNearness builds it for stage i of a job; nil where the input lies nowhere in particular.
func (e *engine) newNearness(j *job, i int) *nearness {
	src := &j.src.Stages[i]
	if src.Tasks > 1<<31-1 || len(src.After) > 0 && src.Hosts == nil {
		return nil
	}
	var where []placed
	switch {
	case src.Hosts != nil:
		where = e.namedHosts(src.Hosts)
	case e.model.Replicas > 0 && src.Input > 0:
		where = e.placeBlocks(j, src.Tasks, i)
	}
	if len(where) == 0 {
		return nil
	}
	n := &nearness{e: e, tasks: src.Tasks, isTaken: make([]uint64, (src.Tasks+63)/64), hasInput: make([]uint64, (src.Tasks+63)/64)}
	inRack := make([]placed, len(where))
	for k, w := range where {
		inRack[k] = placed{e.nodeRack[w.place], w.task}
		n.hasInput[w.task/64] |= 1 << uint(w.task%64)
	}
	n.nodes, n.racks = newRuns(where), newRuns(inRack)
	return n
}

func (e *engine) namedHosts(h *workload.Hosts) []placed {
	if e.hosts == nil {
		e.hosts = make(map[string]int32, 2*len(e.cfg.Cluster.Nodes))
		for i := range e.cfg.Cluster.Nodes {
			n := &e.cfg.Cluster.Nodes[i]
			e.hosts[n.Name] = int32(i)
			e.hosts[e.cfg.Cluster.Racks[n.Rack]+"/"+n.Name] = int32(i)
		}
	}
	var out []placed
	for t, row := range h.Of {
		for _, k := range row {
			if i, ok := e.hosts[h.Names[k]]; ok {
				out = append(out, placed{i, int32(t)})
			}
		}
	}
	return out
}

// placeBlocks puts each task's block where HDFS would: one replica on any node, the others on nodes of one other rack.
func (e *engine) placeBlocks(j *job, tasks int64, i int) []placed {
	seed := workload.Seed(workload.Seed(e.cfg.Seed, seedBlocks), uint64(j.rec.Seq)<<16|uint64(i))
	nodes, racks := len(e.nodeRack), len(e.rackNodes)
	out := make([]placed, 0, int(tasks)*e.model.Replicas)
	for t := range tasks {
		pick := func(k, n int) int { return int(workload.Uniform01(seed, uint64(t)<<8|uint64(k)) * float64(n)) }
		first := int32(pick(0, nodes))
		out = append(out, placed{first, int32(t)})
		other := e.nodeRack[first]
		if racks > 1 {
			other = int32(pick(1, racks-1))
			if other >= e.nodeRack[first] {
				other++
			}
		}
		in := e.rackNodes[other]
		if len(in) == 0 {
			continue
		}
		at := pick(2, len(in))
		for k := 1; k < min(e.model.Replicas, len(in)+1); k++ {
			out = append(out, placed{in[(at+k-1)%len(in)], int32(t)})
		}
	}
	return out
}

func (n *nearness) isFree(t int32) bool { return n.isTaken[t/64]>>uint(t%64)&1 == 0 }

// firstFree is the first free task at a place; -1: none.
func (n *nearness) firstFree(r *runs, place int32) int64 {
	k, ok := slices.BinarySearch(r.place, place)
	if !ok {
		return -1
	}
	return n.freeInRun(r, k)
}

func (n *nearness) freeInRun(r *runs, k int) int64 {
	for r.at[k] < r.start[k+1] {
		if t := r.task[r.at[k]]; n.isFree(t) {
			return int64(t)
		}
		r.at[k]++
	}
	return -1
}

// best is the waiting task whose input is nearest to a node.
func (n *nearness) best(node, rack int32) (policy.Near, int64) {
	if t := n.firstFree(&n.nodes, node); t >= 0 {
		return policy.NodeLocal, t
	}
	if t := n.firstFree(&n.racks, rack); t >= 0 {
		return policy.RackLocal, t
	}
	return n.any()
}

func (n *nearness) any() (policy.Near, int64) {
	for n.next < n.tasks && !n.isFree(int32(n.next)) {
		n.next++
	}
	if n.hasInput[n.next/64]>>uint(n.next%64)&1 == 0 {
		return policy.NoPreference, n.next
	}
	return policy.OffRack, n.next
}

// tries bounds how many places are looked at for one container.
const tries = 32

// choose finds a node with room for one of the waiting tasks, near its input if possible.
func (n *nearness) choose(p *pool, ask unit.Resources) (policy.Near, int64, int32) {
	left := tries
	for k, node := range n.nodes.place {
		if t := n.freeInRun(&n.nodes, k); t >= 0 {
			if ask.Fits(p.nodes[node].Free) {
				return policy.NodeLocal, t, node
			}
			if left--; left == 0 {
				break
			}
		}
	}
	left = tries
	for k, rack := range n.racks.place {
		t := n.freeInRun(&n.racks, k)
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
	near, t := n.best(at, p.nodes[at].Rack)
	return near, t, at
}

func (n *nearness) taken(t int64) { n.isTaken[t/64] |= 1 << uint(t%64) }

// untaken makes a task wait again. It happens only on failures, so the places simply start over.
func (n *nearness) untaken(t int64) {
	n.isTaken[t/64] &^= 1 << uint(t%64)
	n.next = min(n.next, t)
	copy(n.nodes.at, n.nodes.start)
	copy(n.racks.at, n.racks.start)
}
