package rm

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// Explainer is implemented by schedulers that can say why an application waits. It is called on demand and may be slow.
type Explainer interface {
	// Why appends what holds back an application that waits for a container, tightest limit first. It changes nothing. An application that Added
	// refused may be asked about, too.
	Why(a *App, now unit.Time, to []policy.Reason) []policy.Reason
}

// Search finds out what the nodes lack for a request, for schedulers that explain. Offer it every node.
type Search struct {
	Size unit.Resources                       // of the container
	Fits func(size, room unit.Resources) bool // as the scheduler compares them
	Full bool                                 // it may not have the next node's room, because reservations count
	Open bool                                 // set by Offer: a node could serve the request now

	large, free unit.Resources // the largest node, and the most that is free on one
	fits        bool           // a node is large enough
	roomy       bool           // a node has room
	wait        bool           // a node with room has the wrong locality
	own, other  policy.Reason  // the first reservation for the application, and for another where there is room
}

// Offer adds a node: the size that the container would have there, who has reserved it (nil: nobody), whether that is the application itself,
// and whether locality allows the request there by now.
func (s *Search) Offer(n *Node, size unit.Resources, by *App, own, allowed bool) {
	s.large = s.large.Max(n.Total)
	if !s.Fits(size, n.Total) {
		return
	}
	s.fits = true
	if n.Free.Mem > s.free.Mem || n.Free.Mem == s.free.Mem && n.Free.Cores > s.free.Cores {
		s.free = n.Free
	}
	if own && s.own.Node == "" {
		s.own = policy.Reason{Limit: policy.Reserved, Node: n.Name, Held: n.Free, Max: size}
	}
	room := s.Fits(size, n.Free)
	s.roomy = s.roomy || room
	switch {
	case !room && !(s.Full && by != nil):
	case by != nil && !own:
		if s.other.Node == "" {
			s.other = policy.Reason{Limit: policy.Reserved, Node: n.Name, Held: n.Free, Max: size}
		}
		s.other.Precede(by.ID)
	case s.Full:
	case !allowed:
		s.wait = true
	default:
		s.Open = true
	}
}

// Append appends what the nodes lack; locality is the reason for the case that the request waits for a better node.
func (s *Search) Append(to []policy.Reason, locality policy.Reason) []policy.Reason {
	var r policy.Reason
	switch {
	case s.Open:
		return to
	case !s.fits:
		r = policy.Reason{Limit: policy.NodeSize, Max: s.large}
	case s.own.Node != "":
		r = s.own
	case s.wait:
		r = locality
	case s.other.Node != "":
		r = s.other
	case s.roomy:
		return to
	default:
		r = policy.Reason{Limit: policy.NodeRoom, Max: s.free}
	}
	r.Size = s.Size
	return append(to, r)
}

// Refresh makes a scheduler recompute its limits, as after a change of the cluster: a node without room joins and leaves. Index is one that no node has.
func Refresh(s Scheduler, index int32, now unit.Time) {
	n := &Node{Index: index}
	s.NodeAdded(n, now)
	s.NodeRemoved(n, now)
}
