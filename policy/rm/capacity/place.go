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
	row := s.nextRow(a)
	if row == nil {
		return grant{outcome: skipped}
	}
	if !s.fitsRoom(a, row, l) {
		return grant{outcome: limited}
	}
	row.Missed++ // an opportunity, counted before it is known whether it is skipped
	return s.askRow(a, row, n, l, nil, now)
}

// nextRow is the most urgent request that may get a container or a reservation; nil: none.
func (s *Scheduler) nextRow(a *app) *request.Row {
	for _, row := range a.table.Rows() {
		if row.Any() > 0 && (s.beat.ContinueLookingAtReserve || s.wantsMore(a, row, row.Size())) {
			return row
		}
	}
	return nil
}

// fitsRoom says whether the request fits under its leaf's limit, or would if the application cancelled reservations.
func (s *Scheduler) fitsRoom(a *app, row *request.Row, l *limits) bool {
	room := l.room
	if s.beat.ContinueLookingAtReserve {
		room = room.Add(a.reserved)
	}
	return s.Calc.Fits(row.Size(), room)
}

// localities are tried best first.
var localities = [...]policy.Near{policy.NodeLocal, policy.RackLocal, policy.OffRack}

// askRow tries one request on n at the best locality possible. from is set when the node is already reserved for it.
func (s *Scheduler) askRow(a *app, row *request.Row, n *node, l *limits, from *reservation, now unit.Time) grant {
	for _, near := range localities {
		if near == policy.OffRack && from != nil || s.mayBe(row, n.Node, near) {
			if g := s.place(a, row, n, l, from, near, now); g.got() {
				return g
			}
		}
	}
	return grant{outcome: skipped}
}

// mayBe says whether the request may be served on n at this locality by now.
func (s *Scheduler) mayBe(row *request.Row, n *rm.Node, near policy.Near) bool {
	if near == policy.OffRack {
		return float32(row.Missed) > s.anywhereAfter(row)
	}
	if inRack, _ := row.At(rm.OnRack(n.Rack)); inRack == 0 {
		return false
	}
	if near == policy.RackLocal {
		return row.Missed > s.rackAfter()
	}
	onNode, _ := row.At(rm.OnNode(n.Index))
	return onNode > 0
}

// rackAfter is the number of opportunities that a request skips before it is served rack-local.
func (s *Scheduler) rackAfter() int64 { return int64(min(s.alive, s.beat.NodeLocalityDelay)) }

// anywhereAfter is the number of opportunities that a request skips before it is served off-switch; negative: none.
func (s *Scheduler) anywhereAfter(row *request.Row) float32 {
	places := row.Places()
	if places == 1 {
		return -1
	}
	if extra := s.beat.RackLocalityExtraDelay; extra > -1 {
		return float32(min(s.alive, s.beat.NodeLocalityDelay+extra))
	}
	factor := min(float32(max(places-1, 0))/float32(s.alive), 1)
	return min(float32(s.alive), float32(row.Any())*factor)
}

// wantsMore says whether the request may get nodes beyond those it has reserved: as many as it wants
// containers, and more the longer it has waited, though less so for large containers.
func (s *Scheduler) wantsMore(a *app, row *request.Row, size unit.Resources) bool {
	starvation := int64(0)
	if row.Reserved > 0 {
		part := s.Calc.Ratio(size, s.maxA)
		most := s.Calc.Ratio(s.maxA.Sub(s.MinA), s.maxA)
		starvation = int64((float32(row.Rereserved) / float32(row.Reserved)) * (1 - min(part, most)))
	}
	return starvation+row.Any()-row.Reserved > 0
}

// place allocates a container on n, or reserves n for it, if limits and free resources allow.
func (s *Scheduler) place(a *app, row *request.Row, n *node, l *limits, from *reservation, near policy.Near, now unit.Time) grant {
	size := row.SizeAt(near, n.Node)
	if !s.Calc.Fits(size, n.Total) {
		return grant{}
	}
	more := s.wantsMore(a, row, size)
	_, must := s.owes(size, l)
	g, got := grant{offSwitch: near == policy.OffRack}, size
	if s.Calc.Fits(size, n.Free) {
		var back *reservation
		if from == nil {
			var ok bool
			if back, ok = s.exchange(a, row, size, l); !ok {
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

// owes is what an application must unreserve for a container of this size, and whether that is anything.
func (s *Scheduler) owes(size unit.Resources, l *limits) (need unit.Resources, must bool) {
	need = s.Calc.Max(s.Cluster, size.Sub(l.room), l.owed)
	return need, !s.Calc.Fits(need, unit.Resources{})
}

// exchange finds the reservation that an application cancels for a container of this size; nil: none. False: it must, and has none that is large enough.
func (s *Scheduler) exchange(a *app, row *request.Row, size unit.Resources, l *limits) (back *reservation, ok bool) {
	need, must := s.owes(size, l)
	if !s.beat.ContinueLookingAtReserve || !must && s.wantsMore(a, row, size) {
		return nil, true
	}
	if !must {
		need = size
	}
	back = s.toUnreserve(a, row, need)
	return back, back != nil
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
	if s.Calc.Compare(s.Cluster, a.u.Used.Sub(less), s.UserLimit(&a.q.Queue)) > 0 {
		return false
	}
	return s.overMax(a.q, size.Sub(less)) == nil
}

// overMax is the first queue, from a leaf up, whose maximum more would exceed; nil: none.
func (s *Scheduler) overMax(q *queue, more unit.Resources) *queue {
	for ; q != nil; q = q.Parent {
		if !s.Calc.Fits(q.Used.Add(more), q.EffMax) {
			return q
		}
	}
	return nil
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
	c := s.give(a, rm.Container{Node: n.Node, ID: id, Priority: row.Priority, Size: size, Near: near, At: now})
	if row.Places() == 1 {
		c.Near = policy.NoPreference
	}
	a.table.Take(row, near, n.Node)
	s.changed(a, was)
	s.out = append(s.out, c)
}

// give gives an application a container.
func (s *Scheduler) give(a *app, as rm.Container) *rm.Container {
	c := s.containers.New()
	*c = as
	c.App, c.AM, c.Slot = a.App, !a.hasAM && !a.AM.IsZero() && as.Priority == rm.AMPriority, int32(len(a.live))
	a.hasAM = a.hasAM || c.AM
	a.live = append(a.live, c)
	a.used = a.used.Add(c.Size)
	c.Node.Free = c.Node.Free.Sub(c.Size)
	return c
}

// Recover implements rm.Recoverer.
func (s *Scheduler) Recover(r *rm.App, n *rm.Node, ask rm.Ask, at unit.Time) *rm.Container {
	a := s.apps[r.Index]
	if !a.active {
		s.enter(a)
		a.q.waiting.Remove(a.Index)
		s.rank(a)
	}
	size := s.Calc.Normalise(ask.Size, s.MinA, s.maxA)
	c := s.give(a, rm.Container{Node: n, ID: s.number(nil), Priority: ask.Priority, Size: size, At: at})
	s.hold(a.u, size)
	a.q.charge(size)
	s.moved(a)
	return c
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
		if r.row == row && s.Calc.Fits(need, r.size) {
			return r
		}
	}
	return nil
}

// serveReserved serves the request that a node is reserved for: allocated if it fits by now, without checking limits;
// cancelled if no longer wanted.
func (s *Scheduler) serveReserved(n *node, now unit.Time) {
	r := n.reservation
	r.a.q.visited = s.Reach(&r.a.q.Queue, s.Cluster)
	if r.row.Any() == 0 {
		s.unreserve(r)
		return
	}
	r.row.Missed++
	s.askRow(r.a, r.row, n, &limits{}, r, now)
}
