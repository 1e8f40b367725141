package fair

import (
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm/request"
	"github.com/yardmaster/yardmaster/unit"
)

// reservation reserves a node for one request that does not fit there yet. Queues are not charged for it.
type reservation struct {
	app  *app // nil: none
	row  *request.Row
	size unit.Resources
}

// reservable says whether a request is worth a reservation: large, and of an application below its share.
func (s *scheduler) reservable(a *app, size unit.Resources) bool {
	return s.isStarved(a) && atLeast(a.queue.Kind, size, s.enough, s.Total)
}

// isStarved says whether an application is below its fair share, or is owed something of its queue's minimum.
func (s *scheduler) isStarved(a *app) bool {
	return below(a.queue.Kind, a.Used, a.share, s.Total) || !a.lackMin.IsZero()
}

// reserve reserves n for the request, unless the application is at its maximum of reserved nodes (of the rack, for a rack-local
// request). A node that has the data is always reserved.
func (s *scheduler) reserve(a *app, r *request.Row, n *node, near policy.Near, size unit.Resources) bool {
	if n.kept.app != nil && n.kept.app != a {
		return false
	}
	if near != policy.NodeLocal {
		have, of := len(a.reserved), s.present
		if near == policy.RackLocal {
			have, of = 0, s.inRack[n.Rack]
			for _, k := range a.reserved {
				if k.Rack == n.Rack {
					have++
				}
			}
		}
		if have >= int(math.Ceil(float64(float32(of)*float32(s.site.Fair.ReservableNodes)))) {
			return false
		}
	}
	if n.kept.app == nil {
		n.kept = reservation{app: a, row: r, size: size}
		a.reserved = append(a.reserved, n)
	}
	return true
}

func (s *scheduler) unreserve(n *node) {
	a := n.kept.app
	i := slices.Index(a.reserved, n)
	a.reserved = slices.Delete(a.reserved, i, i+1)
	n.kept = reservation{}
}

// serveReserved serves the application that reserved the node, if the request fits now. False: the reservation was obsolete
// and is gone.
func (s *scheduler) serveReserved(n *node) bool {
	k := n.kept
	if !s.suits(k.app, k.row, n) || s.amsFull(k.app) {
		s.unreserve(n)
		return false
	}
	if k.size.Fits(n.Free) {
		if near, ok := s.near(k.row, n); ok {
			s.place(k.app, k.row, n, near, true)
		}
	}
	return true
}
