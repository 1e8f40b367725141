package sim

import (
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// parking is a pool's state of jobs that wait for a nearer node.
//
// If free room is known at once, a job that waits until a deadline is parked: it is offered containers again at that instant, when it
// changes, and when a node has room that is nearer to its input than what it refuses. While all waiting jobs are parked, a freed node
// that none of them may take is not offered to the order.
//
// An index finds those jobs: the stages whose input lies on a node or in a rack. A stage is added when its job is first parked, and
// removed from a node or rack when none of its waiting tasks has input there, so the index costs no more than the replicas of the stage.
type parking struct {
	parked  int64         // jobs
	wide    int64         // of those: jobs that would take a node in a rack with their input
	wanting [][]*nearness // by node, then by rack
	freed   []int32       // nodes that got room since the last offer, while jobs were parked
	asked   []int32       // nodes scored for the current task
}

// skip notes that a job refuses an offer, and parks it if it waits until a deadline. A job with several container sizes is not parked:
// a node too small for one may do for another. Nor is a gang: it needs several nodes.
func (p *pool) skip(j *job, s int, c choice) {
	e := p.e
	again := e.place.Skipped(e.now, &j.view, s)
	if again <= e.now || again == unit.Never {
		return
	}
	if again != j.again {
		j.again = again
		e.q.Push(again, evAsk|uint64(j.index), unit.Time(j.rec.Seq))
	}
	if c.score != policy.Wait || e.phase != nil || e.cfg.Cluster.Slots || j.mixed || j.stages[s].Open() == 0 || j.stages[s].Gang > 1 {
		return
	}
	p.unpark(j)
	j.parked, j.floor = true, max(c.near, policy.OffRack)
	for j.floor < policy.NodeLocal && e.place.Score(e.now, &j.view, s, &p.nodes[c.node], j.floor+1) == policy.Wait {
		j.floor++
	}
	p.parked++
	if j.floor == policy.OffRack {
		p.wide++
	}
	if n := j.stages[s].near; n != nil && n.j == nil {
		n.j = j
		p.list(n, n.Nodes.Place, n.Racks.Place)
	}
}

// unpark lets a job be offered every node with room again.
func (p *pool) unpark(j *job) {
	if !j.parked {
		return
	}
	j.parked = false
	p.parked--
	if j.floor == policy.OffRack {
		p.wide--
	}
}

// list adds a stage to the index.
func (p *pool) list(n *nearness, nodes, racks []int32) {
	if p.wanting == nil {
		p.wanting = make([][]*nearness, len(p.nodes)+len(p.e.rackNodes))
	}
	enter := func(slot int) {
		list := p.wanting[slot]
		if len(list) == cap(list) { // drop jobs that are gone, then double
			list = slices.Grow(slices.DeleteFunc(list, func(w *nearness) bool { return w.j == nil }), len(list)+1)
		}
		p.wanting[slot] = append(list, n)
	}
	for _, i := range nodes {
		enter(int(i))
	}
	for _, i := range racks {
		enter(len(p.nodes) + int(i))
	}
}

// wanted reports whether a parked job may take a node with room.
func (p *pool) wanted(n *policy.Node) bool {
	return p.wanting != nil && (p.wantedAt(int(n.Index), n.Index, policy.RackLocal) || p.wide > 0 && p.wantedAt(len(p.nodes)+int(n.Rack), n.Rack, policy.OffRack))
}

// wantedAt is wanted for one list of the index, for jobs that refuse nothing nearer than floor.
func (p *pool) wantedAt(slot int, place int32, floor policy.Near) bool {
	for i := 0; i < len(p.wanting[slot]); {
		list := p.wanting[slot]
		w := list[i]
		switch last := len(list) - 1; {
		case w.j == nil || floor == policy.RackLocal && w.FirstAt(&w.Nodes, place) < 0 || floor == policy.OffRack && w.FirstAt(&w.Racks, place) < 0:
			list[i], list[last] = list[last], nil
			p.wanting[slot] = list[:last]
		case w.j.parked && w.j.floor <= floor:
			return true
		default:
			i++
		}
	}
	return false
}

// askAgain handles the deadline after which a job may take what it refused.
func (e *engine) askAgain(j *job, seq int64) {
	if j == nil || j.rec.Seq != seq || j.again != e.now {
		return
	}
	j.again = 0
	for _, p := range e.pools {
		p.unpark(j)
		p.changed()
		p.due = true
	}
}
