package yarn

import (
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/internal/sensors"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// listed reports whether a ResourceManager lists an application as waiting or running. One that has ended is not, though its AM may
// still hold a container and its position in the queue.
func (a *app) listed() bool { return a.life == accepted || a.life == running }

// Sense implements rehearse.Run: it shows what a ResourceManager would report now. Its cost is linear in queues, applications and containers.
func (s *steering) Sense(snap *steer.Snapshot) {
	e := s.e
	for i := range e.nodes {
		if e.nodes[i].lost > 0 {
			continue
		}
		snap.Nodes++
		snap.Total = snap.Total.Add(e.nodes[i].rm.Total)
	}
	gauges, _ := e.sched.(rm.Gauges)
	var tasks int64 // cores
	apps := e.byArrival()
	snap.Jobs = make([]steer.Job, 0, len(apps))
	for _, a := range apps {
		if a.life == submitted {
			continue
		}
		j := steer.Job{Queue: e.sched.Leaf(&a.rm), Running: int64(len(a.conts))}
		for _, c := range a.conts {
			j.Held = j.Held.Add(c.size)
			if c != a.am {
				tasks += c.size.Cores
			}
		}
		if !a.listed() {
			if q := s.Hold(snap, j.Queue, j.Held, j.Running); a.am != nil { // it outlives its job
				q.AMs = q.AMs.Sub(a.am.size).Max(unit.Resources{})
			}
			continue
		}
		j.ID, j.User, j.Priority, j.Submitted, j.Started = a.src.ID, a.src.User, a.rm.Priority, a.src.Submit, a.life == running || len(a.conts) > 0
		j.Tasks, j.Pending, j.AM, j.Service = a.src.Tasks(), a.pending, a.rm.AM, s.service(a)
		j.Tags = sensors.Tags(&a.tags, a.src, e.cfg.Sizes, a.rm.Input, func() unit.Time { return sim.CoreTimeOf(a.src, e.cfg.Seed, a.rm.Seq) })
		active := j.Started
		if gauges != nil {
			active, j.AM = gauges.Active(&a.rm), gauges.AMOf(&a.rm)
		}
		for i := range a.stages {
			j.Done += a.stages[i].done
		}
		j.Progress, j.Maps = e.progressOf(a)
		s.List(snap, &j, active)
	}
	snap.CPUIdle = sensors.Idle(tasks, snap.Total.Cores)
}

// recount is how old a ResourceManager's count of what running containers have used may be. The end of a container clears it.
const recount = 3 * unit.Second

// service is an application's attained service, as a ResourceManager reports it.
func (s *steering) service(a *app) steer.Service {
	if a.counted == 0 || s.e.now-a.counted > recount {
		a.running, a.counted = unit.Resources{}, s.e.now
		for _, c := range a.conts {
			a.running = a.running.Add(c.service(s.e.now))
		}
	}
	sum := a.booked.Add(a.running)
	return steer.Service{MemSeconds: sum.Mem / 1000, CoreSeconds: sum.Cores / 1000}
}

// service is the container's, in MiB and vcores times milliseconds.
func (c *cont) service(now unit.Time) unit.Resources {
	t := int64((now - c.allocated) / unit.Millisecond)
	return unit.Resources{Mem: t * c.size.Mem, Cores: t * c.size.Cores}
}

// progressOf returns a job's progress in percent and the share of its maps' work that is done, both 0 until its AM has registered.
func (e *engine) progressOf(a *app) (percent, maps float64) {
	if a.life != running {
		return 0, 0
	}
	var done [2]float64
	var total [2]int64
	for i := range a.stages {
		st := &a.stages[i]
		side := sensors.Side(len(st.src.After))
		done[side] += float64(st.done)
		total[side] += st.src.Tasks
	}
	add := func(list []*cont) {
		for _, c := range list {
			if c.task.stage >= 0 && !c.worked && !c.killed {
				done[sensors.Side(len(a.stages[c.task.stage].src.After))] += e.workOf(c)
			}
		}
	}
	add(a.conts)
	if m, ok := a.m.(*slsAM); ok { // tasks ended but not counted yet
		add(a.exited)
		add(m.exited)
	}
	return sensors.Progress(done, total)
}

// workOf is the share of a task's work that is done.
func (e *engine) workOf(c *cont) float64 {
	if c.handed {
		return e.cfg.Worker.Progress(c.slot)
	}
	ends := c.due
	if ends == 0 { // its process does nothing else
		ends = c.end
	}
	if ends == unit.Never {
		return 0 // it waits for other stages
	}
	length := e.length(c)
	ends += length - e.works(c) // if it would not fail before
	length = max(1, length)
	return min(max(1-float64(ends-e.now)/float64(length), 0), 1)
}
