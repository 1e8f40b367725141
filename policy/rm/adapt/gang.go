package adapt

import (
	"slices"

	"github.com/yardmaster/yardmaster/internal/gang"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/policy/rm/request"
	"github.com/yardmaster/yardmaster/unit"
)

// seat is what a container of the current gang takes.
type seat struct {
	node *node
	near policy.Near
}

// hold is room on some nodes that is kept for one gang, as in ideal time: nothing else gets a container there until the whole gang fits.
type hold struct {
	app   *app // nil: no hold
	nodes []int32
}

func (h *hold) has(node int32) bool { return h.app != nil && slices.Contains(h.nodes, node) }

// holder is the job that the room of a node is held for; nil: none.
func (h *hold) holder(node int32) *policy.Job {
	if h.has(node) {
		return &h.app.job
	}
	return nil
}

// endHold ends the hold, if it is for an application. Its nodes are offered again with their next heartbeats.
func (s *scheduler) endHold(a *app) {
	if s.hold.app == a {
		s.hold.app = nil
		s.freedTimes++
	}
}

// together is the number of containers that must be given at once at a priority.
func (a *app) together(row *request.Row) int64 {
	if a.gangs {
		for _, s := range a.rm.Stages {
			if s.Priority == row.Priority && s.Gang > 1 {
				return min(s.Gang, row.Any())
			}
		}
	}
	return 1
}

// serveGang gives a job the containers of a gang at once, on any nodes: all, or none. Each takes the node that suits it best, given the room that those before
// it leave. A gang's containers have one size.
func (s *scheduler) serveGang(a *app, row *request.Row) policy.Verdict {
	if s.hold.app == a {
		return s.pass() // see serveHeld
	}
	offered, n, stage, ask, refused := s.node, a.together(row), a.stage(row.Priority), row.Size(), false
	if a.lacked == s.freedTimes+1 { // nothing was freed since
		s.lackRoom(a, row, stage, false)
		return s.pass()
	}
	s.seats = s.seats[:0]
	for x := (seat{node: offered}); s.free.Count(ask) >= n && int64(len(s.seats)) < n; {
		if x, refused = s.seek(a, row, stage, x.node.rm.Index); x.node == nil {
			break
		}
		s.seats = append(s.seats, x)
		x.node.rm.Free = x.node.rm.Free.Sub(ask)
		a.table.Take(row, x.near, x.node.rm)
	}
	for _, x := range slices.Backward(s.seats) {
		x.node.rm.Free = x.node.rm.Free.Add(ask)
		a.table.Restore(row.Priority, x.near, x.node.rm, ask)
	}
	if int64(len(s.seats)) < n {
		if !refused { // which may change with time
			a.lacked = s.freedTimes + 1
		}
		s.lackRoom(a, row, stage, refused)
		return s.pass()
	}
	a.holdAt = 0
	for _, x := range s.seats {
		s.node = x.node
		s.give(a, row, stage, x.near)
	}
	s.node = offered
	return policy.Took
}

// seek returns the node that suits the next container of a gang best, the first among equals from a node on. refused: it takes none of those with room.
func (s *scheduler) seek(a *app, row *request.Row, stage int, from int32) (best seat, refused bool) {
	top := policy.Score(-1)
	for i := range s.nodes {
		n := s.nodes[(int(from)+i)%len(s.nodes)]
		if n == nil || s.hold.has(n.rm.Index) || !row.Size().Fits(n.rm.Free) {
			continue
		}
		near := nearness(row, n.rm)
		score := policy.Score(near)
		if n.view.Free = n.rm.Free; s.Place != nil {
			score = s.Place.Score(s.offer.Now, &a.job, stage, &n.view, near)
		}
		if refused = true; score > top {
			best, top = seat{n, near}, score
		}
		if top == policy.Best || s.Place == nil && (near == policy.NoPreference || near == policy.NodeLocal) {
			break
		}
	}
	if refused = refused && best.node == nil; refused {
		s.Place.Skipped(s.offer.Now, &a.job, stage)
	}
	return best, refused
}

// lackRoom notes that a gang lacks room at its turn, and holds room for it once that has lasted for policy.GangPatience: on nodes where it fits once every task
// there has ended that needs no room of others for that.
func (s *scheduler) lackRoom(a *app, row *request.Row, stage int, skipped bool) {
	now := s.offer.Now
	if a.holdAt == 0 {
		a.holdAt = now + policy.GangPatience
	}
	if now < a.holdAt || s.hold.app != nil {
		return
	}
	room := make([]unit.Resources, len(s.nodes))
	for i, n := range s.nodes {
		if n != nil {
			room[i] = n.rm.Total
		}
	}
	for _, other := range s.apps {
		if other != nil {
			for _, c := range other.live {
				if other.stays(c) {
					room[c.Node.Index] = room[c.Node.Index].Sub(c.Size)
				}
			}
		}
	}
	var score func(*policy.Node) policy.Score
	if s.Place != nil {
		score = func(n *policy.Node) policy.Score {
			return s.Place.Score(now, &a.job, stage, n, nearness(row, s.nodes[n.Index].rm))
		}
	}
	nodes, waits := gang.Hold(a.together(row), row.Size(), room, func(i int32) *policy.Node {
		n := s.nodes[i]
		if n == nil {
			return nil
		}
		n.view.Free = n.rm.Free
		return &n.view
	}, score)
	switch {
	case nodes != nil:
		s.hold = hold{a, nodes}
		return
	case !waits:
		a.holdAt = now + policy.GangPatience
		return
	case !skipped:
		s.Place.Skipped(now, &a.job, stage)
	}
	a.holdAt = now + unit.Second
}

// stays reports whether a container may need the gang's room in order to end: an AM, one that its job keeps, or one whose task may wait for other stages.
func (a *app) stays(c *rm.Container) bool {
	return a.stage(c.Priority) < 0 || slices.ContainsFunc(a.rm.Shuffles, func(x rm.Shuffle) bool {
		i := slices.Index(a.stages, x.From)
		return x.To == c.Priority && (i < 0 || a.job.Stages[i].Done < a.job.Stages[i].Tasks)
	})
}

// serveHeld proposes the gang that room is held for once all of it fits there, and reports whether the hold is over: given, or refused by now for a limit or by
// the placement; then others get the room.
func (s *scheduler) serveHeld() bool {
	a := s.hold.app
	row, fits := a.table.First(), int64(0)
	for _, i := range s.hold.nodes {
		fits += s.nodes[i].rm.Free.Count(row.Size())
	}
	if fits < a.together(row) {
		return false
	}
	a.holdAt = s.offer.Now + policy.GangPatience
	s.endHold(a)
	s.Order.Ranked(&s.offer, func(j *policy.Job) policy.Verdict {
		if j != &a.job {
			return policy.Pass
		}
		if s.serve(j) == policy.Took {
			return policy.Took
		}
		return policy.Enough
	})
	return true
}
