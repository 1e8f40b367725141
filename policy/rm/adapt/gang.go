package adapt

import (
	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/policy/rm/request"
	"github.com/yardmaster/yardmaster/unit"
)

// gathering is the gang whose containers are being allocated. An AM holds them until the last one is there, so one gang is completed before another begins:
// two would wait for each other's half. It is offered each node first. After policy.GangPatience, nodes where it does not fit yet, as many as it needs, are
// offered to nobody else: smaller requests do not overtake it for ever.
type gathering struct {
	app      *app // nil: none
	priority int32
	got      int64
	since    unit.Time
	missing  int64
	reserved []int64 // by node: containers that it will have room for; 0: not reserved
	held     int64   // their sum
}

// gang is the number of tasks requested at a priority that start together.
func (a *app) gang(priority int32) int64 {
	for i := range a.rm.Stages {
		if s := &a.rm.Stages[i]; s.Priority == priority {
			return s.Gang
		}
	}
	return 0
}

// allows reports whether an application may get a container at a priority: another gang that is incomplete comes first.
func (g *gathering) allows(a *app, priority int32) bool {
	return g.app == nil || g.app == a && g.priority == priority || a.gang(priority) <= 1
}

// gave counts a container.
func (g *gathering) gave(a *app, row *request.Row, now unit.Time) {
	size := a.gang(row.Priority)
	if size <= 1 {
		return
	}
	if g.app == nil {
		g.app, g.priority, g.got, g.since = a, row.Priority, 0, now
	}
	g.got++
	if g.missing = min(size-g.got, row.Any()); g.missing <= 0 {
		g.end(a)
	}
}

// lost counts a container that the gang has no more: its AM gives it up, or was given too many.
func (g *gathering) lost(a *app, c *rm.Container) {
	if g.app != a || g.priority != c.Priority || c.Launched {
		return
	}
	g.missing++
	if g.got--; g.got <= 0 {
		g.end(a)
	}
}

// end ends the gathering of an application's gang.
func (g *gathering) end(a *app) {
	if g.app == a {
		clear(g.reserved)
		g.app, g.held = nil, 0
	}
}

// gather offers the node to the gang that gathers, and reports whether it is reserved for it.
func (s *scheduler) gather(now unit.Time) bool {
	g, n := &s.gathering, s.node.rm
	if g.app == nil {
		return false
	}
	row := g.app.table.Row(g.priority)
	if row == nil || row.Any() == 0 {
		return false
	}
	ask := row.Size()
	for g.app != nil && ask.Fits(n.Free) {
		s.node.view.Free = n.Free
		if !s.Order.Ranked(&s.offer, s.tryGang) {
			return false // a limit of the order, or its placement
		}
	}
	if g.app == nil || now-g.since < policy.GangPatience {
		return false
	}
	return g.reserve(n, ask)
}

// serveGang gives a container to the gang that gathers, and to nobody else.
func (s *scheduler) serveGang(j *policy.Job) policy.Verdict {
	if j != &s.gathering.app.job {
		return policy.Pass
	}
	if s.serve(j) == policy.Took {
		return policy.Took
	}
	return policy.Enough
}

// reserve reserves a node while the reserved ones do not suffice.
func (g *gathering) reserve(n *rm.Node, ask unit.Resources) bool {
	room := dense.At(&g.reserved, n.Index)
	if *room == 0 && g.held < g.missing {
		*room = n.Total.Count(ask)
		g.held += *room
	}
	return *room > 0
}
