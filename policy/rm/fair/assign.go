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
	return r.Any() > 0 && r.Size().Fits(n.Total) && a.queue.fits(r.Size())
}

// near counts a scheduling opportunity and returns the locality of a container on n, and whether that is allowed by now.
func (s *scheduler) near(r *request.Row, n *node) (policy.Near, bool) {
	r.Missed++
	level := s.level(r)
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
	node, rack := min(s.site.Fair.NodeThreshold, 1), min(s.site.Fair.RackThreshold, 1)
	if node < 0 || rack < 0 {
		return policy.OffRack
	}
	threshold := node
	switch r.Level {
	case policy.NoPreference: // never tried before
		r.Level = policy.NodeLocal
		return r.Level
	case policy.OffRack:
		return r.Level
	case policy.RackLocal:
		threshold = rack
	case policy.NodeLocal:
	}
	if float64(r.Missed) > float64(s.present)*threshold {
		r.Level--
		r.Missed = 0
	}
	return r.Level
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
	s.nextID++
	c := s.containers.New()
	*c = rm.Container{
		App: a.app, Node: n.Node, ID: s.nextID, Priority: r.Priority, Size: size, Near: told, At: s.now,
		Slot: int32(len(a.live)),
	}
	a.live = append(a.live, c)
	n.held = append(n.held, c)
	n.Free = n.Free.Sub(size)
	n.fulfil(a, size)
	if a.managed && !a.started {
		a.started, a.am, c.AM = true, ask, true
		a.queue.ams = a.queue.ams.Add(ask)
	}
	s.hold(a, size)
	s.granted = append(s.granted, c)
}

// amsFull says whether a waits for its AM and its leaf is at its AM limit.
func (s *scheduler) amsFull(a *app) bool {
	if a.started || !a.managed {
		return false
	}
	r := a.table.First()
	return r != nil && !a.queue.ams.Add(r.Size()).Fits(s.amLimit(a.queue))
}

// amLimit is what the AMs of a leaf may hold together. Where the fair share is 0 (vcores under policy fair), what is
// free on the cluster is used instead, within the leaf's maximum.
func (s *scheduler) amLimit(q *queue) unit.Resources {
	if q.amShare < 0 {
		return unbounded
	}
	share := q.share
	if share.Mem == 0 {
		share.Mem = min(s.available.Mem, q.max.Mem)
	}
	if share.Cores == 0 {
		share.Cores = min(s.available.Cores, q.max.Cores)
	}
	return up(share, q.amShare)
}
