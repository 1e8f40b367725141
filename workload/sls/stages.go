package sls

import (
	"fmt"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

const (
	mapType    = "map"
	reduceType = "reduce"
)

// mapReduce says whether the job's master is that of MapReduce, which is also SLS's default. "am.type" is what SLS's
// own description calls the setting, "yarn.sls.am.type" what its code looks for.
func (p *parser) mapReduce() bool { return p.kind() == "mapreduce" }

func (p *parser) kind() string {
	switch {
	case p.amType != "":
		return p.amType
	case p.oldType != "":
		return p.oldType
	}
	return "mapreduce"
}

// stages makes stages of the groups: maps, then whatever else there is, then reduces.
func (p *parser) stages(c *counts) []workload.Stage {
	var out []workload.Stage
	var maps []int
	for pass, want := range []func(string) bool{
		func(t string) bool { return t == mapType },
		func(t string) bool { return t != mapType && t != reduceType },
		func(t string) bool { return t == reduceType },
	} {
		n := 0
		for i := range p.groups {
			g := &p.groups[i]
			if !want(g.typ) {
				continue
			}
			s := workload.Stage{Name: g.typ, Kind: kindOf(g.typ), Tasks: g.tasks, Ask: g.ask}
			if n++; n > 1 {
				s.Name = fmt.Sprintf("%s-%d", g.typ, n)
			}
			p.fill(&s, g)
			if pass == 0 {
				maps = append(maps, len(out))
			}
			if pass == 1 && p.mapReduce() {
				c.stray += g.tasks
			}
			if pass == 2 && p.mapReduce() {
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

// fill gives a stage its tasks' lengths and hosts. Like tasks are counted, others listed.
func (p *parser) fill(s *workload.Stage, g *group) {
	if len(g.runs) == 1 && g.runs[0].host < 0 {
		s.Length = workload.Fixed(unit.Time(g.runs[0].ms) * unit.Millisecond)
		return
	}
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
	s.Hosts = &workload.Hosts{Names: p.hosts, Of: make([][]int32, 0, g.tasks)}
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
