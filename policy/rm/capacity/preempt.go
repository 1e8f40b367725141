package capacity

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/policy/capacity/arith"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
)

// monitor preempts containers of queues above their guarantees for queues below theirs
// (ProportionalCapacityPreemptionPolicy). Each round it computes every queue's ideal assignment from guarantees and
// demand; selects, from the back of the leaves' orders, containers worth a part of the excess; and kills those
// that have been selected for long enough.
type monitor struct {
	ideals map[*queue]*ideal
	leaves []*queue                    // in the order in which containers are chosen
	marked map[*rm.Container]unit.Time // chosen, and since when
	chosen []*rm.Container
}

// ideal is a queue's current and ideal usage.
type ideal struct {
	used, guaranteed, max unit.Resources
	pending, net          unit.Resources // requested within user limits; the same less reservations
	untouchable, movable  unit.Resources // of what is above the guarantee: not preemptible, preemptible
	assigned              unit.Resources
	over                  unit.Resources // to be preempted
	part                  [2]float64     // of what is left, by resource
}

func (m *monitor) init(s *Scheduler) {
	m.ideals, m.marked = map[*queue]*ideal{}, map[*rm.Container]unit.Time{}
	var add func(q *queue)
	add = func(q *queue) {
		m.ideals[q] = &ideal{}
		for _, k := range q.Children {
			add(k)
		}
	}
	add(s.Root)
	m.leaves = leavesBelow(s.Root)
}

// Round implements rm.Scheduler.
func (s *Scheduler) Round(now unit.Time) rm.Notice {
	m, p := &s.monitor, &s.site.Preemption
	if !s.site.Monitor {
		return rm.Notice{}
	}
	s.snapshot(s.Root)
	m.ideals[s.Root].assigned = m.ideals[s.Root].guaranteed
	allowed := arith.MulFloor(s.Cluster, float64(p.PerRound))
	s.share(s.Root, allowed)

	m.chosen = m.chosen[:0]
	for _, q := range m.leaves {
		x := m.ideals[q]
		if q.noPreempt {
			continue
		}
		s.reorder(q) // whether or not anything is preempted
		if s.Calc.Compare(s.Cluster, x.used, arith.MulFloor(x.guaranteed, 1+p.IgnoredOver)) <= 0 {
			continue
		}
		if goal := s.Calc.MulUp(x.over, p.NaturalTermination, unit.Resources{Mem: 1, Cores: 1}); s.above(x.over) && s.above(goal) {
			s.choose(q, goal, &allowed)
		}
	}
	var out rm.Notice
	if !p.ObserveOnly {
		for _, c := range m.chosen {
			since, before := m.marked[c]
			switch {
			case !before:
				m.marked[c] = now
				c.Claim = rm.NewClaim(c)
				c.Claim.Queue = s.neediest()
				out.Warned = append(out.Warned, c)
			case since+p.WaitBeforeKill <= now:
				delete(m.marked, c)
				s.release(c)
				if !c.Acquired {
					s.rerequest(c)
				}
				out.Killed = append(out.Killed, c)
			}
		}
	}
	for c, since := range m.marked {
		if since+2*p.WaitBeforeKill < now {
			delete(m.marked, c)
		}
	}
	return out
}

// neediest is the leaf that lacks most of its ideal assignment: it is served first. Hadoop's monitor makes room for all that lack some.
func (s *Scheduler) neediest() (path string) {
	var most unit.Resources
	for _, q := range s.monitor.leaves {
		x := s.monitor.ideals[q]
		if lack := x.assigned.Sub(x.used); s.Calc.Compare(s.Cluster, lack, most) > 0 {
			path, most = q.Path, lack
		}
	}
	return path
}

func (s *Scheduler) above(r unit.Resources) bool {
	return s.Calc.Compare(s.Cluster, r, unit.Resources{}) > 0
}

// snapshot records usage and demand of q and the queues below it.
func (s *Scheduler) snapshot(q *queue) *ideal {
	x := s.monitor.ideals[q]
	*x = ideal{used: q.Used, guaranteed: q.EffMin, max: q.EffMax}
	extra := x.used.Sub(x.guaranteed)
	if s.Calc.Compare(s.Cluster, extra, unit.Resources{}) < 0 {
		extra = unit.Resources{}
	}
	if q.Leaf != nil {
		x.pending, x.net = s.demand(q)
		if q.noPreempt {
			x.untouchable = extra
		} else {
			x.movable = extra
		}
		return x
	}
	for _, k := range q.Children {
		y := s.snapshot(k)
		x.pending, x.net = x.pending.Add(y.pending), x.net.Add(y.net)
		x.movable = x.movable.Add(y.movable)
	}
	if s.Calc.Compare(s.Cluster, x.movable, extra) < 0 {
		x.untouchable = extra.Sub(x.movable)
	} else {
		x.movable = extra
	}
	return x
}

// demand is what the activated applications of a leaf request, each user up to its limit; net excludes reservations.
func (s *Scheduler) demand(q *queue) (all, net unit.Resources) {
	left := map[*user][2]unit.Resources{}
	take := func(room *unit.Resources, want unit.Resources) unit.Resources {
		got := unit.Resources{Mem: min(room.Mem, max(want.Mem, 0)), Cores: min(room.Cores, max(want.Cores, 0))}
		*room = room.Sub(got)
		return got
	}
	for q.walk.Start(&q.active); ; q.walk.Next() {
		id, _, _, ok := q.walk.Peek()
		if !ok {
			return all, net
		}
		a := s.apps[id]
		room, known := left[a.u]
		if !known {
			r := s.UserLimit(&q.Queue).Sub(a.u.Used) // not computed for a leaf without activated applications
			r = r.Max(unit.Resources{})
			room = [2]unit.Resources{r, r}
		}
		all = all.Add(take(&room[0], a.table.Pending()))
		net = net.Add(take(&room[1], a.table.Pending().Sub(a.reserved)))
		left[a.u] = room
	}
}

// choose selects containers of a leaf worth the goal, from the applications at the back of its order: first their
// reservations (cancelled at once), then the least urgent and newest containers; AMs last, and only those in excess of
// the leaf's AM limit.
func (s *Scheduler) choose(q *queue, goal unit.Resources, allowed *unit.Resources) {
	m := &s.monitor
	var apps []*app
	for q.walk.Start(&q.active); ; q.walk.Next() {
		id, _, _, ok := q.walk.Peek()
		if !ok {
			break
		}
		apps = append(apps, s.apps[id])
	}
	open := true
	try := func(size unit.Resources) bool {
		if !open || s.Calc.Fits(goal, unit.Resources{}) || !s.Calc.Fits(size, *allowed) {
			return false
		}
		positive := func(r unit.Resources) unit.Resources {
			return r.Max(unit.Resources{})
		}
		if s.Calc.Compare(s.Cluster, positive(goal.Sub(size)), positive(goal)) >= 0 {
			return false
		}
		goal, *allowed = goal.Sub(size), allowed.Sub(size)
		open = s.above(goal)
		return true
	}
	var ams []*rm.Container
	var amSize unit.Resources
	for i := len(apps) - 1; i >= 0 && open; i-- {
		a := apps[i]
		for _, r := range slices.Clone(a.reservations) {
			if !open {
				break
			}
			try(r.size)
			if !s.site.Preemption.ObserveOnly {
				s.unreserve(r)
			}
		}
		live := slices.Clone(a.live)
		slices.SortFunc(live, func(x, y *rm.Container) int {
			return cmp.Or(cmp.Compare(y.Priority, x.Priority), cmp.Compare(y.ID, x.ID))
		})
		for _, c := range live {
			switch {
			case !open:
			case c.AM:
				ams = append(ams, c)
				amSize = amSize.Add(c.Size)
			case try(c.Size):
				m.chosen = append(m.chosen, c)
			}
		}
	}
	for _, c := range ams {
		if !open || s.Calc.Compare(s.Cluster, amSize, arith.MulFloor(q.EffMin, float64(q.AMPercent))) <= 0 {
			break
		}
		if try(c.Size) {
			m.chosen = append(m.chosen, c)
			amSize = amSize.Sub(c.Size)
		}
	}
}
