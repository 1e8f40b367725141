package sim

import (
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/internal/near"
)

// choice is the best node so far for a task; if none will do, the nearest one that the job refuses while it waits for locality.
type choice struct {
	score  policy.Score
	near   policy.Near
	number int64
	node   int32
}

// Candidates for a task: nodes that hold input of its stage, in the rack of such input, and others.
const (
	nearCandidates = 8
	rackCandidates = 4
	freeCandidates = 4
)

// refused means that nodes have room but the job would take none of them.
const refused int32 = -2

// best asks the placement policy about some nodes with room for a task of a stage, none twice, and returns the one with the highest
// score, the first among equals; -1: no room.
func (p *pool) best(j *job, s int) (policy.Near, int64, int32) {
	c := choice{score: policy.Never, node: -1}
	p.asked = p.asked[:0]
	if n := j.stages[s].near; n != nil {
		p.among(&c, j, s, &n.Nodes, p.cursor, nearCandidates)
		p.among(&c, j, s, &n.Racks, p.e.nodeRack[int(p.cursor)%len(p.nodes)], len(p.asked)+rackCandidates)
	}
	first := int32(-1)
	for start, left := p.cursor, freeCandidates; left > 0 && c.score < policy.Best; {
		node := p.rooms.find(j.stages[s].Ask, start)
		if node < 0 || node == first {
			break
		}
		if first < 0 {
			first = node
		}
		if start = node + 1; p.consider(&c, j, s, node) {
			left--
		}
	}
	switch {
	case c.score >= 0:
		return c.near, c.number, c.node
	case len(p.asked) > 0:
		p.skip(j, s, c)
		return policy.NoPreference, -1, refused
	}
	return policy.NoPreference, -1, -1
}

// among considers nodes that hold input of the stage, or in racks that do, in circular order from one of them.
func (p *pool) among(c *choice, j *job, s int, r *near.Runs, start int32, limit int) {
	n, left := j.stages[s].near, tries
	first, _ := r.Find(start)
	for _, from := range [...]int{first, 0} {
		for k, t := n.Next(r, from); t >= 0; k, t = n.Next(r, k+1) {
			nodes := r.Place[k : k+1]
			if r == &n.Racks {
				nodes = p.e.rackNodes[r.Place[k]]
			}
			for _, node := range nodes {
				if left == 0 || len(p.asked) == limit || c.score == policy.Best {
					return
				}
				if left--; j.stages[s].Ask.Fits(p.nodes[node].Free) {
					p.consider(c, j, s, node)
				}
			}
		}
	}
}

// consider asks the placement policy about a node, and reports whether it is a candidate: not asked about before and able to run the task.
func (p *pool) consider(c *choice, j *job, s int, node int32) bool {
	if slices.Contains(p.asked, node) || p.e.unfit(node) {
		return false
	}
	how, number := policy.NoPreference, int64(-1)
	if n := j.stages[s].near; n != nil {
		how, number = n.Best(node, p.nodes[node].Rack)
	}
	p.asked = append(p.asked, node)
	score := p.e.place.Score(p.e.now, &j.view, s, &p.nodes[node], how)
	if score > c.score || score == policy.Wait && c.score == policy.Wait && how > c.near {
		*c = choice{score, how, number, node}
	}
	return score > policy.Never
}

// suits asks the placement policy about the offered node.
func (p *pool) suits(j *job, s int, n *policy.Node, near policy.Near) bool {
	c := choice{score: p.e.place.Score(p.e.now, &j.view, s, n, near), near: near, node: n.Index}
	if c.score < 0 {
		p.skip(j, s, c)
	}
	return c.score >= 0
}
