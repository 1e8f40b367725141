package result

import (
	"cmp"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

// groups are the queues, users or classes of a run, in order of first appearance.
type groups struct {
	list   []*group
	byName map[string]*group
	others *group // set once there are too many
}

type group struct {
	name                    string
	jobs, tasks             int64
	service                 unit.Time
	wait, elapsed, slowdown series
	over                    overs
}

func (gs *groups) of(name string) *group {
	if g := gs.byName[name]; g != nil {
		return g
	}
	if len(gs.byName) >= maxGroups {
		if gs.others == nil {
			gs.others = &group{name: Others}
			gs.list = append(gs.list, gs.others)
		}
		return gs.others
	}
	if gs.byName == nil {
		gs.byName = map[string]*group{}
	}
	g := &group{name: name}
	gs.byName[name] = g
	gs.list = append(gs.list, g)
	return g
}

func (g *group) add(r *sim.JobRecord, f *figures, exact bool) {
	g.jobs++
	g.service += r.Service
	if r.Outcome != sim.Finished {
		return
	}
	g.tasks += r.Job.Tasks()
	g.wait.add(f.wait)
	g.elapsed.add(f.elapsed)
	g.over.add(f.elapsed)
	g.slowdown.addKnown(f.slowdown)
	if !exact {
		g.toSketch()
	}
}

// toSketch switches to sketches once they are smaller. Small groups stay exact.
func (g *group) toSketch() {
	for _, s := range []*series{&g.wait, &g.elapsed, &g.slowdown} {
		s.shrink()
	}
}

// figures lists the groups by usage, largest first.
func (gs *groups) figures() []Group {
	order := slices.Clone(gs.list)
	slices.SortFunc(order, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.service, a.service), strings.Compare(a.name, b.name))
	})
	list := make([]Group, len(order))
	for i, g := range order {
		list[i] = Group{
			Name: g.name, Jobs: g.jobs, Tasks: g.tasks, ContainerHours: round(g.service.Seconds() / 3600),
			Wait: g.wait.stats(), Elapsed: g.elapsed.stats(), Slowdown: g.slowdown.stats(), Service: g.over.figures(),
		}
	}
	return list
}

// jain is Jain's index over the groups' mean slowdown. Groups without a finished job are excluded.
func (gs *groups) jain() float64 {
	var sum, squares, n float64
	for _, g := range gs.list {
		if g.slowdown.n > 0 {
			x := g.slowdown.sum / float64(g.slowdown.n)
			sum, squares, n = sum+x, squares+x*x, n+1
		}
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (n * squares)
}
