package fair

import (
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
)

// outcome is the result of one attempt to use a node.
type outcome uint8

const (
	nothing  outcome = iota
	given            // a container
	reserved         // the node
)

// Beat serves one node.
func (s *scheduler) Beat(ref *rm.Node, now unit.Time) []*rm.Container {
	s.now = now
	s.granted = s.granted[:0]
	if s.recovered {
		s.recovered = false
		s.update(now)
		s.refresh()
	}
	n := s.nodes[ref.Index]
	if n == nil {
		return nil
	}
	if len(n.claims) > 0 {
		s.serveClaims(n)
	}
	if n.kept.app == nil || !s.serveReserved(n) {
		s.fill(n)
	}
	s.refresh()
	return s.granted
}

// fill assigns from the root down, as often as the settings allow in one heartbeat. The order is re-evaluated for each container.
func (s *scheduler) fill(n *node) {
	set := &s.site.Fair
	half := times(n.Free, 0.5)
	var sum unit.Resources
	for k := 1; n.kept.app == nil && s.Root.hungry > 0; k++ {
		size, what := s.assign(s.Root, n)
		if what == nothing {
			return
		}
		sum = sum.Add(size)
		switch {
		case !set.AssignMultiple:
			return
		case set.DynamicMaxAssign:
			if !sum.Fits(half) {
				return
			}
		case set.MaxAssign > 0 && k >= set.MaxAssign:
			return
		}
	}
}

// assign descends to the best child, then to the next ones while none can use the node.
func (s *scheduler) assign(q *queue, n *node) (unit.Resources, outcome) {
	if !q.Used.Fits(q.Max) {
		return unit.Resources{}, nothing
	}
	if q.Leaf {
		for _, a := range q.line {
			if size, what := s.serve(a, n); what != nothing {
				return size, what
			}
		}
		return unit.Resources{}, nothing
	}
	h := &q.order // most descents need only the first of many
	h.Items = h.Items[:0]
	for _, k := range q.Kids {
		if k.hungry > 0 {
			h.Items = append(h.Items, k)
		}
	}
	for h.Init(); len(h.Items) > 0; {
		if size, what := s.assign(h.Pop(), n); what != nothing {
			return size, what
		}
	}
	return unit.Resources{}, nothing
}
