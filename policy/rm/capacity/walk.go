package capacity

import (
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
)

// outcome is the result of a walk below a queue.
type outcome uint8

const (
	nothing    outcome = iota // no demand, or no room on the node: the walk stops there to keep the order
	skipped                   // this application has no demand here, or waits for better locality: the next one is tried
	limited                   // a request does not fit under the queue's limit: its room is withheld from later siblings
	allocated                 // a container was allocated
	reserved                  // the node was reserved
	notGranted                // a proposed container failed the final check of the limits
)

func (o outcome) got() bool { return o >= allocated }

// grant is the container or reservation that a walk resulted in.
type grant struct {
	outcome
	offSwitch bool
	keeps     bool // a reservation, whether it was granted or not
}

// limits is the headroom of a queue in one walk.
type limits struct {
	max     unit.Resources // of the queue
	blocked unit.Resources // of it, withheld for children that could not use it
	room    unit.Resources // max less usage, when the queue was visited
	owed    unit.Resources // what an application must unreserve to stay below its user's limit
}

// Beat implements rm.Scheduler.
func (s *Scheduler) Beat(r *rm.Node, now unit.Time) []*rm.Container {
	s.out = s.out[:0]
	n := s.nodes[r.Index]
	if n == nil {
		return nil
	}
	for off, got := 0, 0; ; {
		g := s.once(n, now)
		if !g.got() {
			break
		}
		if g.offSwitch {
			off++
		}
		got++
		if g.outcome == notGranted && s.beat.MaxAssignments == -1 {
			break // the same would be proposed and refused forever
		}
		if off >= s.beat.MaxOffSwitch || g.keeps || !s.beat.Multiple || s.beat.MaxAssignments != -1 && got >= s.beat.MaxAssignments {
			break
		}
	}
	return s.out
}

// once tries to allocate one container on n.
func (s *Scheduler) once(n *node, now unit.Time) grant {
	if n.reservation != nil {
		s.serveReserved(n, now)
		return grant{} // a reserved node serves nobody else in this report
	}
	if !s.Calc.Fits(s.MinA, n.Free) {
		return grant{}
	}
	l := limits{max: s.Cluster}
	return s.ask(s.Root, n, &l, now)
}

func (s *Scheduler) ask(q *queue, n *node, l *limits, now unit.Time) grant {
	if q.Leaf != nil {
		return s.askLeaf(q, n, l, now)
	}
	if !s.wants(q) || !s.roomIn(q, l, q.reserved) {
		return grant{}
	}
	var last grant
	for _, k := range s.sort(q) {
		own := &k.limits
		*own = s.limitsOf(k, l)
		g := s.ask(k, n, own, now)
		if g.got() {
			return g
		}
		if g.outcome == limited {
			last = g
			held := own.blocked
			if k.Leaf != nil {
				held = own.room
			}
			l.blocked = l.blocked.Add(s.Calc.Max(s.Cluster, held, unit.Resources{}))
		}
	}
	return last
}

// limitsOf are the limits of a child of the queue with limits l.
func (s *Scheduler) limitsOf(k *queue, l *limits) limits {
	q := k.Parent
	l.max = s.Calc.Min(s.Cluster, l.max, q.EffMax)
	return limits{max: s.Calc.Down(l.max.Sub(l.blocked).Sub(q.Used).Add(k.Used), s.MinA)}
}

// roomIn says whether q may get anything: it is below its limit, or would be if reservations were cancelled.
func (s *Scheduler) roomIn(q *queue, l *limits, couldGiveBack unit.Resources) bool {
	most := s.Calc.Min(s.Cluster, q.EffMax, l.max)
	l.room = most.Sub(q.Used)
	if s.Calc.Compare(s.Cluster, q.Used, most) < 0 {
		return true
	}
	return s.beat.ContinueLookingAtReserve && s.Calc.Compare(s.Cluster, couldGiveBack, unit.Resources{}) > 0 &&
		s.Calc.Compare(s.Cluster, q.Used.Sub(couldGiveBack), most) < 0
}

func (s *Scheduler) askLeaf(q *queue, n *node, l *limits, now unit.Time) grant {
	q.visited = s.Reach(&q.Queue, l.max)
	if !s.wants(q) {
		return grant{}
	}
	s.reorder(q)
	// Applications without requests are skipped, but the limits are checked and published at the first application, whether
	// it has requests or not.
	first, ok := q.active.Min()
	if !ok {
		return grant{}
	}
	check := true
	look := func(a *app) bool {
		if check {
			if !s.roomIn(q, l, a.reserved) {
				return false
			}
			check = s.beat.ContinueLookingAtReserve && !a.reserved.IsZero()
		}
		q.CurLimit = q.visited
		s.seenUpTo(q, a)
		return true
	}
	if a := s.apps[first]; a.table.Len() == 0 {
		if !look(a) {
			return grant{}
		}
		s.UserLimit(&q.Queue)
	}
	for q.walk.Start(&q.ready); ; q.walk.Next() {
		id, _, _, ok := q.walk.Peek()
		if !ok {
			s.seenUpTo(q, nil)
			return grant{}
		}
		a := s.apps[id]
		if !look(a) {
			return grant{}
		}
		if !s.mayHold(a, l) {
			continue
		}
		switch g := s.askApp(a, n, l, now); g.outcome {
		case skipped:
		default:
			return g
		}
	}
}

// seenUpTo marks all applications up to a (nil: all) as visited, whether they have requests or not.
func (s *Scheduler) seenUpTo(q *queue, a *app) {
	for {
		id, ok := q.unseen.Min()
		if !ok {
			return
		}
		x := s.apps[id]
		if a != nil && a != x {
			xk, xt := x.rank()
			if ak, at := a.rank(); xk > ak || xk == ak && xt > at {
				return
			}
		}
		x.seen = true
		q.unseen.Remove(id)
	}
}

// mayHold says whether the application's user is within its limit, or would be if the application cancelled reservations.
func (s *Scheduler) mayHold(a *app, l *limits) bool {
	limit := s.UserLimit(&a.q.Queue)
	l.owed = unit.Resources{}
	if s.Calc.Compare(s.Cluster, a.u.Used, limit) <= 0 {
		return true
	}
	if s.beat.ContinueLookingAtReserve && s.Calc.Compare(s.Cluster, a.u.Used.Sub(a.reserved), limit) <= 0 {
		l.owed = a.u.Used.Sub(limit)
		return true
	}
	return false
}
