package sls

import (
	"cmp"
	"fmt"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

const (
	mapType    = "map"
	reduceType = "reduce"
)

// kind is that of the job's AM; without one it is that of MapReduce, SLS's default. "am.type" is what SLS's own description calls
// the setting, "yarn.sls.am.type" what its code looks for.
func (p *parser) kind() string { return cmp.Or(p.amType, p.oldType, "mapreduce") }

// stages turns the groups into stages: maps, then others, then reduces.
func (p *parser) stages(c *counts) []workload.Stage {
	var out []workload.Stage
	var maps []int
	mapReduce := p.kind() == "mapreduce"
	for _, kind := range []workload.Kind{workload.Map, workload.Other, workload.Reduce} {
		n := 0
		for i := range p.groups {
			g := &p.groups[i]
			if kindOf(g.typ) != kind {
				continue
			}
			s := workload.Stage{Name: g.typ, Kind: kind, Tasks: g.tasks, Ask: g.ask}
			if n++; n > 1 {
				s.Name = fmt.Sprintf("%s-%d", g.typ, n)
			}
			p.fill(&s, g)
			switch {
			case kind == workload.Map:
				maps = append(maps, len(out))
			case kind == workload.Other && mapReduce:
				c.stray += g.tasks
			case kind == workload.Reduce && mapReduce:
				s.After = after(maps)
			}
			out = append(out, s)
		}
	}
	return out
}

// after makes a stage wait for all of some earlier ones.
func after(stages []int) []workload.Edge {
	var edges []workload.Edge
	for _, m := range stages {
		edges = append(edges, workload.Edge{From: m, SlowStart: 1})
	}
	return edges
}

func kindOf(typ string) workload.Kind {
	switch typ {
	case mapType:
		return workload.Map
	case reduceType:
		return workload.Reduce
	}
	return workload.Other
}

// fill sets a stage's task lengths and hosts. Identical tasks are counted, others listed.
func (p *parser) fill(s *workload.Stage, g *group) {
	same, hosts := true, false
	for _, r := range g.runs {
		same = same && r.ms == g.runs[0].ms
		hosts = hosts || r.host >= 0
	}
	if same {
		s.Length = workload.Fixed(unit.Time(g.runs[0].ms) * unit.Millisecond)
	} else {
		values := make([]unit.Time, 0, g.tasks)
		for _, r := range g.runs {
			for range r.count {
				values = append(values, unit.Time(r.ms)*unit.Millisecond)
			}
		}
		s.Length = workload.Lengths{Kind: workload.List, Values: values}
	}
	if !hosts {
		return
	}
	s.Hosts = &workload.Hosts{Names: p.hosts.List, Of: make([][]int32, 0, g.tasks)}
	for _, r := range g.runs {
		var row []int32
		if r.host >= 0 {
			row = []int32{r.host}
		}
		for range r.count {
			s.Hosts.Of = append(s.Hosts.Of, row)
		}
	}
}
