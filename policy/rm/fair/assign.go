package fair

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/policy/rm/request"
	"github.com/yardmaster/yardmaster/unit"
)

// serve finds a request of a that n can take, most urgent first. The first that could be placed decides, even if it
// does not fit now.
func (s *scheduler) serve(a *app, n *node) (unit.Resources, outcome) {
	if s.amsFull(a) {
		return unit.Resources{}, nothing
	}
	for _, r := range a.table.Rows() {
		if !s.suits(a, r, n) {
			continue
		}
		if near, ok := s.near(r, n); ok {
			return s.place(a, r, n, near, false)
		}
	}
	return unit.Resources{}, nothing
}

// suits says whether a request could be served on n at all: it fits the empty node and the maxima of the queues.
func (s *scheduler) suits(a *app, r *request.Row, n *node) bool {
	return r.Any() > 0 && r.Size().Fits(n.Total) && a.queue.overMax(r.Size()) == nil
}

// near counts a scheduling opportunity and returns the locality of a container on n, and whether that is allowed by now.
func (s *scheduler) near(r *request.Row, n *node) (policy.Near, bool) {
	r.Missed++
	return nearAt(r, n, s.level(r))
}

// nearAt is the locality of a container on n, and whether that is allowed at a level.
func nearAt(r *request.Row, n *node, level policy.Near) (policy.Near, bool) {
	switch {
	case r.Wants(policy.NodeLocal, n.Node):
		return policy.NodeLocal, true
	case level != policy.NodeLocal && r.Wants(policy.RackLocal, n.Node):
		return policy.RackLocal, true
	case r.Any() > 0 && (r.Places() <= 1 || level == policy.OffRack):
		return policy.OffRack, true
	}
	return policy.NoPreference, false
}

// level is the locality level at which a request may be served. It starts at the node, and is relaxed by one step after more
// opportunities than the threshold's share of the nodes. Without thresholds it does not matter.
func (s *scheduler) level(r *request.Row) policy.Near {
	if min(s.site.Fair.NodeThreshold, s.site.Fair.RackThreshold) < 0 {
		return policy.OffRack
	}
	switch r.Level {
	case policy.NoPreference: // never tried before
		r.Level = policy.NodeLocal
		return r.Level
	case policy.OffRack:
		return r.Level
	}
	if float64(r.Missed) > s.relaxAfter(r.Level) {
		r.Level--
		r.Missed = 0
	}
	return r.Level
}

// relaxAfter is the number of opportunities that a request skips at a level before the next one is allowed.
func (s *scheduler) relaxAfter(level policy.Near) float64 {
	threshold := s.site.Fair.NodeThreshold
	if level == policy.RackLocal {
		threshold = s.site.Fair.RackThreshold
	}
	return float64(s.present) * min(threshold, 1)
}

// place allocates a container on n, or reserves n for it. again: n is already reserved for it.
func (s *scheduler) place(a *app, r *request.Row, n *node, near policy.Near, again bool) (unit.Resources, outcome) {
	size := r.SizeAt(near, n.Node)
	if size.Fits(n.Free) {
		s.give(a, r, n, near, again)
		return size, given
	}
	if s.reservable(a, size) && !n.claimedBy(a) && s.reserve(a, r, n, near, size) {
		return unit.Resources{Mem: -1}, reserved // what Hadoop adds to the sum of a beat
	}
	return unit.Resources{}, nothing
}

func (s *scheduler) give(a *app, r *request.Row, n *node, near policy.Near, again bool) {
	if r.Level != policy.NoPreference && r.Level < near { // better locality than required: be strict again
		r.Level = near
	}
	told := near
	if near == policy.OffRack && r.Places() <= 1 {
		told = policy.NoPreference
	}
	ask := a.table.Take(r, near, n.Node)
	size := ask
	if again {
		size = n.kept.size
		s.unreserve(n)
	}
	s.granted = append(s.granted, s.allocate(a, n, rm.Container{Priority: r.Priority, Size: size, Near: told, At: s.now}, ask))
}

// allocate gives an application a container on n. ask is what it requested: a container given out of a reservation may differ.
func (s *scheduler) allocate(a *app, n *node, as rm.Container, ask unit.Resources) *rm.Container {
	s.nextID++
	c := s.containers.New()
	*c = as
	c.App, c.Node, c.ID, c.Slot = a.app, n.Node, s.nextID, int32(len(a.live))
	a.live = append(a.live, c)
	n.held = append(n.held, c)
	n.Free = n.Free.Sub(c.Size)
	n.fulfil(a, c.Size)
	if a.managed && !a.started {
		a.started, a.am, c.AM = true, ask, true
		a.queue.AMs = a.queue.AMs.Add(ask)
	}
	s.hold(a, c.Size)
	return c
}

// Recover implements rm.Recoverer.
func (s *scheduler) Recover(ref *rm.App, n *rm.Node, ask rm.Ask, at unit.Time) *rm.Container {
	a := s.apps[ref.Index]
	if !a.runnable {
		a.queue.parked, a.user.parked = without(a.queue.parked, a), without(a.user.parked, a)
		s.run(a)
	}
	s.recovered = true
	size := s.normal(ask.Size, s.maximum())
	return s.allocate(a, s.nodes[n.Index], rm.Container{Priority: ask.Priority, Size: size, At: at}, size)
}

// amsFull says whether a waits for its AM and its leaf is at its AM limit.
func (s *scheduler) amsFull(a *app) bool {
	if a.started || !a.managed {
		return false
	}
	r := a.table.First()
	return r != nil && !a.queue.AMs.Add(r.Size()).Fits(s.amLimit(a.queue))
}

// amLimit is what the AMs of a leaf may hold together. Where the fair share is 0 (vcores under policy fair), what is
// free on the cluster is used instead, within the leaf's maximum.
func (s *scheduler) amLimit(q *queue) unit.Resources {
	if q.AMShare < 0 {
		return unbounded
	}
	share := q.share
	if share.Mem == 0 {
		share.Mem = min(s.available.Mem, q.Max.Mem)
	}
	if share.Cores == 0 {
		share.Cores = min(s.available.Cores, q.Max.Cores)
	}
	return up(share, q.AMShare)
}
