package capacity

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/policy/rm/request"
	"github.com/yardmaster/yardmaster/unit"
)

// askApp looks for a request of the application that n can serve, most urgent first.
func (s *Scheduler) askApp(a *app, n *node, l *limits, now unit.Time) grant {
	for _, row := range a.table.Rows() {
		if row.Any() == 0 {
			continue
		}
		if !s.beat.ContinueLookingAtReserve && !s.wantsMore(a, row, row.Size()) {
			continue
		}
		room := l.room
		if s.beat.ContinueLookingAtReserve {
			room = room.Add(a.reserved)
		}
		if !s.calc.Fits(row.Size(), room) {
			return grant{outcome: limited}
		}
		row.Missed++ // an opportunity, counted before it is known whether it is skipped
		return s.askRow(a, row, n, l, nil, now)
	}
	return grant{outcome: skipped}
}

// askRow tries one request on n at the best locality possible. from is set when the node is already reserved for it.
func (s *Scheduler) askRow(a *app, row *request.Row, n *node, l *limits, from *reservation, now unit.Time) grant {
	onNode, _ := row.At(rm.OnNode(n.Index))
	inRack, _ := row.At(rm.OnRack(n.Rack))
	if onNode > 0 && inRack > 0 {
		if g := s.place(a, row, n, l, from, policy.NodeLocal, now); g.got() {
			return g
		}
	}
	if inRack > 0 && row.Missed > int64(min(s.alive, s.beat.NodeLocalityDelay)) {
		if g := s.place(a, row, n, l, from, policy.RackLocal, now); g.got() {
			return g
		}
	}
	if from != nil || s.mayBeAnywhere(row) {
		if g := s.place(a, row, n, l, from, policy.OffRack, now); g.got() {
			return g
		}
	}
	return grant{outcome: skipped}
}

// mayBeAnywhere says whether the request has skipped enough opportunities to be served off-switch.
func (s *Scheduler) mayBeAnywhere(row *request.Row) bool {
	places := row.Places()
	if places == 1 {
		return true
	}
	if extra := s.beat.RackLocalityExtraDelay; extra > -1 {
		return row.Missed > int64(min(s.alive, s.beat.NodeLocalityDelay+extra))
	}
	factor := min(float32(max(places-1, 0))/float32(s.alive), 1)
	return min(float32(s.alive), float32(row.Any())*factor) < float32(row.Missed)
}

// wantsMore says whether the request may get nodes beyond those it has reserved: as many as it wants
// containers, and more the longer it has waited, though less so for large containers.
func (s *Scheduler) wantsMore(a *app, row *request.Row, size unit.Resources) bool {
	starvation := int64(0)
	if row.Reserved > 0 {
		part := s.calc.Ratio(size, s.maxA)
		most := s.calc.Ratio(s.maxA.Sub(s.minA), s.maxA)
		starvation = int64((float32(row.Rereserved) / float32(row.Reserved)) * (1 - min(part, most)))
	}
	return starvation+row.Any()-row.Reserved > 0
}

// place allocates a container on n, or reserves n for it, if limits and free resources allow.
func (s *Scheduler) place(a *app, row *request.Row, n *node, l *limits, from *reservation, near policy.Near, now unit.Time) grant {
	size := row.SizeAt(near, n.Node)
	if !s.calc.Fits(size, n.Total) {
		return grant{}
	}
	more := s.wantsMore(a, row, size)
	need := s.calc.Max(s.cluster, size.Sub(l.room), l.owed)
	must := !s.calc.Fits(need, unit.Resources{})
	g, got := grant{offSwitch: near == policy.OffRack}, size
	if s.calc.Fits(size, n.Free) {
		var back *reservation
		if from == nil && s.beat.ContinueLookingAtReserve && (must || !more) {
			if !must {
				need = size
			}
			if back = s.toUnreserve(a, row, need); back == nil {
				return grant{}
			}
		}
		g.outcome = allocated
		s.resetMissed(row, near, from)
		if from == nil && !s.granted(a, size, back) {
			g.outcome = notGranted
			return g
		}
		if back != nil {
			s.unreserve(back)
		}
		if from != nil {
			// The reserved size is allocated, though less may be requested by now: the node's free resources may go negative.
			// Queues and users are already charged for it; their sums are not touched, not even in the last bit.
			got = from.size
			s.dropReservation(from)
		}
		s.allocate(a, row, n, got, near, s.number(from), now)
		// The application is charged what it requests now, though it gets, and later releases, what was reserved.
		a.used = a.used.Sub(got).Add(size)
		if from == nil {
			s.hold(a.u, size)
			a.q.charge(size)
			s.moved(a)
		}
		return g
	}
	g.keeps = true
	switch {
	case from != nil:
		row.Rereserved++
		g.outcome = reserved
	case more && !(s.beat.ContinueLookingAtReserve && must):
		g.outcome = reserved
		s.resetMissed(row, near, nil)
		if !s.granted(a, size, nil) {
			g.outcome = notGranted
			return g
		}
		s.reserve(a, row, n, size)
	}
	return g
}

// resetMissed resets the count of missed opportunities. An off-switch container does not, else each of many would wait again.
func (s *Scheduler) resetMissed(row *request.Row, near policy.Near, from *reservation) {
	if from == nil && (near == policy.NodeLocal || near == policy.RackLocal && s.beat.RackLocalityFullReset) {
		row.Missed = 0
	}
}

// granted is the final check before a proposal is committed: the user is not above its limit, and no queue above its maximum.
func (s *Scheduler) granted(a *app, size unit.Resources, back *reservation) bool {
	var less unit.Resources
	if back != nil {
		less = back.size
	}
	if s.calc.Compare(s.cluster, a.u.Used.Sub(less), s.userLimit(a.q)) > 0 {
		return false
	}
	for q := a.q; q != nil; q = q.parent {
		if !s.calc.Fits(q.used.Add(size).Sub(less), q.EffMax) {
			return false
		}
	}
	return true
}

// number is a container's id: the next one, or the one its reservation was made with.
func (s *Scheduler) number(from *reservation) int64 {
	if from != nil {
		return from.id
	}
	s.next++
	return s.next - 1
}

// allocate allocates a container and decrements its request. Charging queues and user is up to the caller.
func (s *Scheduler) allocate(a *app, row *request.Row, n *node, size unit.Resources, near policy.Near, id int64, now unit.Time) {
	was := a.table.Pending()
	c := s.containers.New()
	*c = rm.Container{
		App: a.App, Node: n.Node, ID: id, Priority: row.Priority, Size: size, Near: near, At: now,
		AM: !a.hasAM && !a.AM.IsZero() && row.Priority == rm.AMPriority, Slot: int32(len(a.live)),
	}
	if row.Places() == 1 {
		c.Near = policy.NoPreference
	}
	a.hasAM = a.hasAM || c.AM
	a.table.Take(row, near, n.Node)
	a.live = append(a.live, c)
	a.used = a.used.Add(size)
	n.Free = n.Free.Sub(size)
	s.changed(a, was)
	s.out = append(s.out, c)
}

// reserve reserves n for a request.
func (s *Scheduler) reserve(a *app, row *request.Row, n *node, size unit.Resources) {
	r := &reservation{id: s.number(nil), a: a, n: n, row: row, size: size}
	n.reservation = r
	at := priorityBucket(row.Priority)
	i := slices.IndexFunc(a.reservations, func(x *reservation) bool {
		return cmp.Or(cmp.Compare(priorityBucket(x.row.Priority), at), cmp.Compare(x.row.Priority, row.Priority), cmp.Compare(x.n.bucket, n.bucket)) > 0
	})
	if i < 0 {
		i = len(a.reservations)
	}
	a.reservations = slices.Insert(a.reservations, i, r)
	row.Reserved++
	row.Rereserved = 0
	a.reserved = a.reserved.Add(size)
	s.hold(a.u, size)
	a.q.charge(size)
	a.q.reserve(size)
	s.moved(a)
}

// unreserve cancels a reservation.
func (s *Scheduler) unreserve(r *reservation) {
	s.dropReservation(r)
	minus := unit.Resources{}.Sub(r.size)
	s.hold(r.a.u, minus)
	r.a.q.charge(minus)
	s.moved(r.a)
}

// dropReservation removes a reservation; queues and user stay charged for it.
func (s *Scheduler) dropReservation(r *reservation) {
	a := r.a
	r.n.reservation = nil
	a.reservations = slices.DeleteFunc(a.reservations, func(x *reservation) bool { return x == r })
	r.row.Reserved--
	r.row.Rereserved = 0
	minus := unit.Resources{}.Sub(r.size)
	a.reserved = a.reserved.Add(minus)
	a.q.reserve(minus)
}

// toUnreserve finds a reservation of the same request that is at least as large as what is needed.
func (s *Scheduler) toUnreserve(a *app, row *request.Row, need unit.Resources) *reservation {
	for _, r := range a.reservations {
		if r.row == row && s.calc.Fits(need, r.size) {
			return r
		}
	}
	return nil
}

// serveReserved serves the request that a node is reserved for: allocated if it fits by now, without checking limits;
// cancelled if no longer wanted.
func (s *Scheduler) serveReserved(n *node, now unit.Time) {
	r := n.reservation
	r.a.q.visited = s.calc.Min(s.cluster, s.calc.Down(r.a.q.EffMax, s.minA), s.cluster)
	if r.row.Any() == 0 {
		s.unreserve(r)
		return
	}
	r.row.Missed++
	s.askRow(r.a, r.row, n, &limits{}, r, now)
}
