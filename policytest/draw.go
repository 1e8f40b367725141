package policytest

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/sim/hdfs"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Cluster draws a cluster of up to eight nodes: of containers of any size, or with slots.
func Cluster(t *rapid.T) *cluster.Cluster {
	racks := rapid.IntRange(1, 3).Draw(t, "racks")
	n := rapid.IntRange(racks, 8).Draw(t, "nodes")
	c := cluster.Uniform(n, racks, unit.Resources{Mem: 4096, Cores: 4})
	if rapid.IntRange(0, 4).Draw(t, "slots") == 0 {
		c.Slots = true
		for i := range c.Nodes {
			c.Nodes[i].MapSlots = rapid.Int64Range(1, 3).Draw(t, "maps")
			c.Nodes[i].ReduceSlots = rapid.Int64Range(0, 2).Draw(t, "reduces")
		}
		return c
	}
	for i := range c.Nodes {
		// A little more than the tasks can use, for AMs: they must not crowd out all tasks, which is a true deadlock.
		c.Nodes[i].Room = unit.Resources{Mem: 1024*rapid.Int64Range(1, 6).Draw(t, "mem") + 64, Cores: rapid.Int64Range(1, 6).Draw(t, "cores")}
	}
	return c
}

func lengths(t *rapid.T, tasks int64) workload.Lengths {
	a := unit.Time(rapid.Int64Range(0, 20).Draw(t, "length")) * unit.Second
	switch rapid.IntRange(0, 4).Draw(t, "lengths") {
	case 0:
		return workload.Lengths{Kind: workload.Exponential, A: a}
	case 1:
		l := workload.Lengths{Kind: workload.List, Values: make([]unit.Time, tasks)}
		for i := range l.Values {
			l.Values[i] = unit.Time(rapid.Int64Range(0, 30).Draw(t, "value")) * unit.Second
		}
		return l
	case 2:
		return workload.Lengths{Kind: workload.Uniform, A: a, B: a + unit.Minute}
	}
	return workload.Fixed(a)
}

// Jobs draws up to twelve jobs of up to five stages, some of them gangs.
func Jobs(t *rapid.T) workload.Slice {
	var jobs workload.Slice
	at := unit.Time(0)
	for i := range rapid.IntRange(1, 12).Draw(t, "jobs") {
		at += unit.Time(rapid.Int64Range(0, 15).Draw(t, "gap")) * unit.Second
		j := &workload.Job{
			ID: fmt.Sprint("j", i), Submit: at, Priority: rapid.IntRange(0, 2).Draw(t, "priority"),
			User: rapid.SampledFrom([]string{"ann", "bob", "eve"}).Draw(t, "user"), Queue: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "queue"),
		}
		if rapid.IntRange(0, 2).Draw(t, "master") == 0 {
			j.AM = unit.Resources{Mem: 1}
		}
		for s := range rapid.IntRange(1, 5).Draw(t, "stages") {
			n := rapid.Int64Range(0, 12).Draw(t, "tasks")
			st := workload.Stage{
				Tasks: n, Ask: unit.Resources{Mem: 512 * rapid.Int64Range(1, 6).Draw(t, "ask"), Cores: rapid.Int64Range(1, 2).Draw(t, "askcores")},
				Length: lengths(t, n), Kind: workload.Map, Input: unit.Bytes(rapid.Int64Range(0, 1).Draw(t, "input")),
			}
			if n > 1 && rapid.IntRange(0, 5).Draw(t, "gangs") == 0 {
				st.Gang = rapid.Int64Range(2, n).Draw(t, "gang")
			}
			if s > 0 {
				st.Kind = workload.Kind(rapid.IntRange(0, 1).Draw(t, "kind"))
				for up := range s {
					if up == s-1 || rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
						st.After = append(st.After, workload.Edge{From: up, SlowStart: rapid.SampledFrom([]float64{0, 0.05, 0.5, 1}).Draw(t, "slow")})
					}
				}
			}
			j.Stages = append(j.Stages, st)
		}
		if rapid.IntRange(0, 4).Draw(t, "keep") == 0 {
			Executors(t, j, unit.Resources{Mem: 1024, Cores: 1})
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// Executors makes a job keep containers of a size for its tasks, as Spark does, in one of many ways.
func Executors(t *rapid.T, j *workload.Job, ask unit.Resources) {
	num := func(name string, low, high int64) int64 { return rapid.Int64Range(low, high).Draw(t, name) }
	span := func(name string, high int64) unit.Time { return unit.Time(num(name, 0, high)) * unit.Second }
	k := &workload.Keep{Ask: ask, Slots: num("kslots", 1, 3), Max: num("kmax", 1, 4)}
	if j.Keep = k; rapid.Bool().Draw(t, "plain executors") {
		return
	}
	k.Start, k.Warm, k.Tail, k.ReadyWait, k.LocalityWait = span("kstart", 3), span("warm", 2), span("tail", 3), span("patience", 9), span("locality", 3)
	k.Batch, k.Pending, k.Every = num("batch", 0, 2), num("pending", 0, 2), span("every", 2)
	k.Ready = float64(num("ready", 0, 4)) / 4
	k.Fair, k.External = rapid.Bool().Draw(t, "fair"), rapid.Bool().Draw(t, "external")
	if rapid.Bool().Draw(t, "dynamic") {
		d := &workload.Dynamic{
			Min: num("min", 0, k.Max), Ratio: float64(num("ratio", 0, 2)) / 2, Backlog: span("backlog", 2), Sustained: span("sustained", 2),
			Idle: span("idle", 10), CachedIdle: span("cached", 10), ShuffleIdle: span("shuffled", 10),
		}
		d.Initial = num("initial", d.Min, k.Max)
		k.Dynamic = d
	}
	for i := range j.Stages {
		s := &j.Stages[i]
		s.Delay, s.Pool = span("delay", 3), rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "pool")
		for e := range s.After {
			s.After[e].Shuffle = unit.Bytes(num("shuffle", 0, 1))
		}
		if i > 0 && s.Tasks == j.Stages[0].Tasks && rapid.Bool().Draw(t, "cached") {
			s.Cached = 1
		}
	}
}

// Model draws the settings of a simulator: heartbeats, stragglers, speculation, failures, losses.
func Model(t *rapid.T, c *cluster.Cluster) sim.Model {
	m := sim.Model{Sample: unit.Time(rapid.Int64Range(1, 20).Draw(t, "sample")) * unit.Second}
	if rapid.Bool().Draw(t, "beats") {
		m.Heartbeat = unit.Second * unit.Time(rapid.Int64Range(1, 3).Draw(t, "heartbeat"))
		m.PerBeat = rapid.IntRange(0, 2).Draw(t, "perbeat")
		m.EndOnBeat = rapid.Bool().Draw(t, "endonbeat")
	}
	m.StartUp = unit.Time(rapid.Int64Range(0, 3).Draw(t, "startup")) * unit.Second
	m.Application = rapid.SampledFrom(am.Names()).Draw(t, "application")
	m.Replicas = rapid.IntRange(0, 3).Draw(t, "replicas")
	m.Placement = rapid.SampledFrom(hdfs.Names()).Draw(t, "placement")
	if rapid.IntRange(0, 3).Draw(t, "stragglers") == 0 {
		m.Stragglers = sim.Stragglers{Share: 0.2, Factor: 10}
	}
	if rapid.IntRange(0, 3).Draw(t, "speculates") == 0 {
		m.Speculate = rapid.SampledFrom(sim.Speculations()).Draw(t, "speculate")
	}
	if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
		m.FailTask = 0.1
	}
	if rapid.IntRange(0, 3).Draw(t, "losses") == 0 {
		for range rapid.IntRange(1, 3).Draw(t, "nlosses") {
			m.Losses = append(m.Losses, sim.Loss{
				Node: c.Nodes[rapid.IntRange(0, len(c.Nodes)-1).Draw(t, "lost")].Name,
				At:   unit.Time(rapid.Int64Range(0, 100).Draw(t, "lossat")) * unit.Second, For: unit.Time(rapid.Int64Range(0, 60).Draw(t, "lossfor")) * unit.Second,
			})
		}
	}
	return m
}
