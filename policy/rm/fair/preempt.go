package fair

import (
	"slices"

	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
)

// claim is a starved application's claim on resources being freed on a node.
type claim struct {
	app  *app
	room unit.Resources
}

// killBatch is a set of containers to kill at a deadline, unless they end by themselves.
type killBatch struct {
	at         unit.Time
	containers []*rm.Container
}

// kill kills containers that were warned long enough ago.
func (s *scheduler) kill(now unit.Time) {
	for len(s.doomed) > 0 && s.doomed[0].at <= now {
		for _, c := range s.doomed[0].containers {
			if !c.Gone {
				s.giveBack(c)
				s.notice.Killed = append(s.notice.Killed, c)
			}
		}
		s.doomed = s.doomed[1:]
	}
}

// preempt selects containers to preempt for a starved application, and has them warned.
func (s *scheduler) preempt(a *app, now unit.Time) {
	var chosen []*rm.Container
	serves := a.app.View()
	for _, w := range s.needs(a) {
		for range w.count {
			v := s.best(w)
			if len(v.containers) == 0 {
				continue
			}
			n := s.nodes[v.containers[0].Node.Index]
			room := unit.Resources{}
			for _, c := range v.containers {
				c.Claim = rm.NewClaim(c)
				c.Claim.For = serves
				x := s.apps[c.App.Index]
				x.marked = x.marked.Add(c.Size)
				room = room.Add(c.Size)
			}
			n.marked = append(n.marked, v.containers...)
			n.claim(a, room)
			chosen = append(chosen, v.containers...)
		}
	}
	if len(chosen) > 0 {
		s.doomed = append(s.doomed, killBatch{now + s.site.Fair.WaitBeforeKill, chosen})
		s.notice.Warned = append(s.notice.Warned, chosen...)
	}
}

// need is a number of containers that a starved application lacks at a place.
type need struct {
	place rm.Place
	count int64
	size  unit.Resources
}

// needs are the requests that the application's deficit would satisfy. Each request is counted once: where nodes of a rack
// are named, the rack is not, and where any of them is, anywhere is not.
func (s *scheduler) needs(a *app) []need {
	var list []need
	rest := a.lackFair.Add(a.lackMin)
	for _, r := range a.table.Rows() {
		seen := visited{}
		r.Each(func(p rm.Place, count int64, size unit.Resources) {
			if rest.IsZero() || !seen.visit(s, p, size) || size.Mem <= 0 {
				return
			}
			fit := int64(float32(rest.Mem) / float32(size.Mem))
			if count = min(count, fit); fit == 0 {
				return
			}
			list = append(list, need{p, count, size})
			rest = less(rest, size.Times(count))
		})
	}
	return list
}

// visited records which racks' requests were counted, for each container size.
type visited map[visit]bool

type visit struct {
	size  unit.Resources
	rack  int32
	nodes bool // nodes of the rack, or the rack itself
}

// anyRack stands for all racks.
const anyRack = -1

func (v visited) visit(s *scheduler, p rm.Place, size unit.Resources) bool {
	if i, ok := p.Node(); ok {
		if int(i) >= len(s.nodes) || s.nodes[i] == nil {
			return false
		}
		v[visit{size, s.nodes[i].Rack, true}], v[visit{size, anyRack, true}] = true, true
		return true
	}
	if rack, ok := p.Rack(); ok {
		if int(rack) >= len(s.inRack) || s.inRack[rack] == 0 || v[visit{size, rack, true}] {
			return false
		}
		v[visit{size, anyRack, true}] = true
		return true
	}
	return !v[visit{size, anyRack, true}]
}

// victims are containers on one node that together make room.
type victims struct {
	containers []*rm.Container
	ams        int
	ok         bool
}

// best finds victims for one container at the requested place, or elsewhere if that would cost an AM there.
func (s *scheduler) best(w need) victims {
	v := s.among(w, func(n *node) bool { return at(n, w.place) })
	if w.place != rm.Anywhere && v.ok && v.ams > 0 {
		if o := s.among(w, func(n *node) bool { return !at(n, w.place) }); o.ok && o.ams < v.ams {
			return o
		}
	}
	return v
}

func at(n *node, p rm.Place) bool {
	return p == rm.Anywhere || p == rm.OnNode(n.Index) || p == rm.OnRack(n.Rack)
}

// among picks the first node that costs no AM, or the one that costs fewest.
func (s *scheduler) among(w need, in func(*node) bool) victims {
	var v victims
	for _, n := range s.nodes {
		if n == nil || !in(n) {
			continue
		}
		if o := s.victimsOn(n, w.size, v); o.ok {
			if v = o; v.ams == 0 {
				break
			}
		}
	}
	return v
}

// victimsOn selects containers on n, newest first and AMs last, whose applications keep their fair share without them,
// until size fits; or none, if that takes as many AMs as the best choice so far.
func (s *scheduler) victimsOn(n *node, size unit.Resources, best victims) victims {
	var v victims
	room := less(n.Free, n.kept.size.Add(n.claimed))
	for _, ams := range [...]bool{false, true} {
		for k := range n.held {
			c := n.held[k] // AMs are in the order of allocation
			if !ams {
				c = n.held[len(n.held)-1-k]
			}
			if c.AM != ams || slices.Contains(n.marked, c) {
				continue
			}
			if s.mayTake(c, v.containers) {
				if c.AM {
					if v.ams++; best.ok && v.ams >= best.ams {
						return victims{}
					}
				}
				v.containers = append(v.containers, c)
				room = room.Add(c.Size)
			}
			if size.Fits(room) {
				v.ok = true
				return v
			}
		}
	}
	return victims{}
}

// mayTake says whether a container's application, without it and those chosen already, is not below its fair share.
func (s *scheduler) mayTake(c *rm.Container, chosen []*rm.Container) bool {
	if c.Gone {
		return false
	}
	a := s.apps[c.App.Index]
	if a.queue.keep {
		return false
	}
	left := a.Used.Sub(a.marked).Sub(c.Size)
	for _, o := range chosen {
		if o.App == c.App {
			left = left.Sub(o.Size)
		}
	}
	return !below(a.queue.Kind, left, a.share, s.Total)
}

// unmark clears a container's preemption mark.
func (s *scheduler) unmark(a *app, c *rm.Container) {
	n := s.nodes[c.Node.Index]
	if n == nil || len(n.marked) == 0 {
		return
	}
	if i := slices.Index(n.marked, c); i >= 0 {
		n.marked = slices.Delete(n.marked, i, i+1)
		a.marked = a.marked.Sub(c.Size)
	}
}

func (n *node) claim(a *app, room unit.Resources) {
	n.claimed = n.claimed.Add(room)
	for i := range n.claims {
		if n.claims[i].app == a {
			n.claims[i].room = n.claims[i].room.Add(room)
			return
		}
	}
	n.claims = append(n.claims, claim{a, room})
}

func (n *node) claimedBy(a *app) bool {
	return slices.ContainsFunc(n.claims, func(c claim) bool { return c.app == a })
}

// fulfil subtracts what a was allocated here from its claim.
func (n *node) fulfil(a *app, size unit.Resources) {
	for i := range n.claims {
		if c := &n.claims[i]; c.app == a {
			met := c.room.Min(size)
			c.room, n.claimed = c.room.Sub(met), n.claimed.Sub(met)
			if c.room.IsZero() {
				n.claims = slices.Delete(n.claims, i, i+1)
			}
			return
		}
	}
}

// serveClaims serves the applications with claims on the node first, and drops claims no longer needed.
func (s *scheduler) serveClaims(n *node) {
	n.claims = slices.DeleteFunc(n.claims, func(c claim) bool {
		over := c.app.stopped || !s.isStarved(c.app) || c.app.lackFair.IsZero() && c.app.lackMin.IsZero()
		if over {
			n.claimed = n.claimed.Sub(c.room)
		}
		return over
	})
	for _, c := range slices.Clone(n.claims) {
		for rest := c.room; !rest.IsZero(); {
			size, what := s.serve(c.app, n)
			if what != given {
				break
			}
			rest = less(rest, size)
		}
	}
}
