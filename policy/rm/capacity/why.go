package capacity

import (
	"errors"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity/arith"
	"github.com/yardmaster/yardmaster/policy/rank"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/policy/rm/request"
	"github.com/yardmaster/yardmaster/unit"
)

// Why implements rm.Scheduler, in the order in which the scheduler checks: the number of applications, AMs, the queues' maxima, the user's limit, the
// nodes; then who comes first.
func (s *Scheduler) Why(r *rm.App, _ unit.Time, to []policy.Reason) []policy.Reason {
	from := len(to)
	if int(r.Index) >= len(s.apps) || s.apps[r.Index] == nil || s.apps[r.Index].App != r {
		to = s.whyRefused(r, to)
	} else {
		a := s.apps[r.Index]
		state := *a.q.Leaf // computing limits changes when they are computed next
		to = s.why(a, to)
		*a.q.Leaf = state
	}
	for i := from; i < len(to) && s.Calc != arith.Dominant; i++ { // vcores are not limited
		to[i].Held.Cores, to[i].Max.Cores, to[i].Size.Cores = 0, 0, 0
	}
	return to
}

func (s *Scheduler) whyRefused(r *rm.App, to []policy.Reason) []policy.Reason {
	q, err := s.Resolve(r.Queue)
	if err == nil {
		err = s.Admit(q, r.User, q.appsOf(r.User))
	}
	if many, ok := errors.AsType[*arith.TooMany](err); ok {
		to = append(to, policy.Reason{Limit: "maximum-applications", Queue: many.Queue, User: many.User, Count: int64(many.Apps), MaxCount: int64(many.Max)})
	}
	return to
}

func (s *Scheduler) why(a *app, to []policy.Reason) []policy.Reason {
	if !a.active {
		m, r := s.amLimitsOf(a.q), policy.Reason{Limit: "maximum-am-resource-percent", Queue: a.q.Path, Size: a.am}
		switch s.overAM(a, &m) {
		case nil:
			r = policy.Reason{Queue: a.q.Path} // activated at the next opportunity
		case &m.all:
			r.Held, r.Max = a.q.AMUsed, m.all
		case &m.user:
			r.User, r.Held, r.Max = a.u.name, a.u.AM, m.user
		}
		s.precede(&r, &a.q.waiting, a, nil)
		return append(to, r)
	}
	row := s.nextRow(a)
	kept := row == nil // all that it wants is reserved
	if kept {
		row = a.table.First()
	}
	if row == nil {
		return to
	}
	l, room := s.limitsAt(a.q, a)
	held, full := len(to), false
	if !room || !s.fitsRoom(a, row, &l) {
		over := s.overMax(a.q, row.Size().Sub(a.reserved))
		if over == nil { // rounded limits
			over = a.q
		}
		for p := over.Parent; p != nil && s.Calc.Fits(p.EffMax, over.EffMax); p = p.Parent { // the maximum is that of the queue above
			over = p
		}
		if full = s.Calc.Fits(s.Cluster, over.EffMax); !full {
			to = append(to, over.reason(row))
		}
	}
	if !s.mayHold(a, &l) {
		to = append(to, s.overUser(a, row))
	}
	look, near := policy.Search{Size: row.Size(), Fits: s.Calc.Fits}, false
	for _, n := range s.nodes {
		if n == nil {
			continue
		}
		by, own := "", false
		if n.reservation != nil {
			by, own = n.reservation.a.ID, n.reservation.a == a
		}
		if kept && !own {
			continue
		}
		inRack, _ := row.At(rm.OnRack(n.Rack))
		near = near || inRack > 0 && s.Calc.Fits(row.Size(), n.Free)
		size, allowed := row.Size(), false
		for _, near := range localities {
			if s.mayBe(row, n.Node, near) && (!allowed || s.Calc.Fits(row.SizeAt(near, n.Node), n.Free)) {
				size, allowed = row.SizeAt(near, n.Node), true
			}
		}
		if own {
			r := n.reservation.row
			i := slices.IndexFunc(localities[:], func(near policy.Near) bool { return near == policy.OffRack || s.mayBe(r, n.Node, near) })
			size, allowed, look.Full = r.SizeAt(localities[i], n.Node), true, false
		} else {
			back, ok := s.exchange(a, row, size, &l)
			look.Full = full || !ok || !s.granted(a, size, back)
		}
		look.Offer(&policy.Node{Name: n.Name, Total: n.Total, Free: n.Free}, size, by, own, allowed)
	}
	locality := policy.Reason{Limit: "node-locality-delay", Count: row.Missed, MaxCount: s.rackAfter()}
	if !near {
		locality.Limit, locality.MaxCount = "rack-locality-additional-delay", int64(s.anywhereAfter(row))
	}
	to = look.Append(to, locality)
	limited := len(to) > held && to[held].Limit != policy.NodeRoom
	r := policy.Reason{Queue: a.q.Path}
	s.precede(&r, &a.q.ready, a, func(x *app) bool { return s.mayHold(x, &l) || !s.roomIn(a.q, &l, x.reserved) })
	if r.Ahead > 0 {
		to = append(to, r)
	}
	if limited {
		return to
	}
	if to = s.whyQueues(a.q, to); len(to) > held || look.Open || s.granted(a, row.Size(), nil) {
		return to
	}
	if over := s.overMax(a.q, row.Size()); over != nil { // it would have to cancel more reservations than it has
		return append(to, over.reason(row))
	}
	return append(to, s.overUser(a, row))
}

func (q *queue) reason(row *request.Row) policy.Reason {
	return policy.Reason{Limit: "maximum-capacity", Queue: q.Path, Held: q.Used, Max: q.EffMax, Size: row.Size()}
}

// limitsAt are the limits that a walk would find at q for a, and whether it would get there.
func (s *Scheduler) limitsAt(q *queue, a *app) (l limits, room bool) {
	room = true
	if l.max = s.Cluster; q.Parent != nil {
		above, ok := s.limitsAt(q.Parent, a)
		l, room = s.limitsOf(q, &above), ok
	}
	back := q.reserved
	if q.Leaf != nil { // the first application decides for all, unless it has reservations
		first, _ := q.active.Min()
		if back = s.apps[first].reserved; !back.IsZero() {
			back = a.reserved
		}
	}
	return l, s.roomIn(q, &l, back) && room
}

func (s *Scheduler) overUser(a *app, row *request.Row) policy.Reason {
	return policy.Reason{Limit: s.userSetting(a.q), Queue: a.q.Path, User: a.u.name, Held: a.u.Used, Max: s.UserLimit(&a.q.Queue), Size: row.Size()}
}

// userSetting is the setting that the limit of a leaf's users is at: the factor, unless a larger one would not raise it.
func (s *Scheduler) userSetting(q *queue) string {
	more := *q.Leaf
	more.UserFactor, more.Stale = 1e6, true
	if s.Calc.Compare(s.Cluster, more.UserLimit(s.Calc, s.Cluster, s.MinA, &q.Bounds), s.UserLimit(&q.Queue)) > 0 {
		return "user-limit-factor"
	}
	return "minimum-user-limit-percent"
}

// precede counts the applications of a list that come before a (nil: all) and may be served (nil: all may).
func (s *Scheduler) precede(r *policy.Reason, h *rank.Heap, a *app, may func(*app) bool) {
	h.Walk(func(id int32) bool {
		x := s.apps[id]
		if x != a && (may == nil || may(x)) {
			r.Precede(x.ID)
		}
		return x != a
	})
}

// whyQueues appends the sibling queue, of q or of a queue above it, that is served first: Held is what it uses, and Max what it is guaranteed.
func (s *Scheduler) whyQueues(q *queue, to []policy.Reason) []policy.Reason {
	for ; q.Parent != nil; q = q.Parent {
		for _, k := range s.sort(q.Parent) {
			if k == q {
				break
			}
			if !s.wants(k) {
				continue
			}
			r := policy.Reason{Queue: k.Path, Held: k.Used, Max: k.EffMin}
			for _, leaf := range s.Leaves {
				for p := leaf; p != nil; p = p.Parent {
					if p == k {
						s.precede(&r, &leaf.ready, nil, nil)
					}
				}
			}
			if r.Ahead > 0 {
				return append(to, r)
			}
		}
	}
	return to
}
