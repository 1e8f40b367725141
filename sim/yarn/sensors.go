package yarn

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/internal/sensors"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// sensorState is what the sensors keep between samples.
type sensorState struct {
	gauges []policy.Gauge
	index  map[string]int // of the queues in a snapshot
	apps   []*app
}

// listed reports whether a ResourceManager lists an application as waiting or running. One that has ended is not, though its AM may
// still hold a container and its position in the queue.
func (a *app) listed() bool { return a.life == accepted || a.life == running }

// Snapshot is what a ResourceManager would report now. Its cost is linear in queues, applications and containers.
func (s *steering) Snapshot() steer.Snapshot {
	e := s.e
	snap := steer.Snapshot{Finished: s.ended, Now: e.now, CPUIdle: -1}
	for i := range e.nodes {
		if e.nodes[i].lost > 0 {
			continue
		}
		snap.Nodes++
		snap.Total = snap.Total.Add(e.nodes[i].rm.Total)
	}
	s.ended = nil
	tells, _ := e.sched.(rm.Gauges)
	s.queues(&snap, tells)
	var tasks int64 // cores
	apps := s.byArrival()
	snap.Jobs = make([]steer.Job, 0, len(apps))
	for _, a := range apps {
		name := e.sched.Leaf(&a.rm)
		q := s.queue(&snap, name)
		for _, c := range a.conts {
			q.Used = q.Used.Add(c.size)
			snap.Used = snap.Used.Add(c.size)
			if c != a.am {
				tasks += c.size.Cores
			}
		}
		q.Containers += int64(len(a.conts))
		if !a.listed() {
			if a.am != nil { // it outlives its job
				q.AMs = q.AMs.Sub(a.am.size).Max(unit.Resources{})
			}
			continue
		}
		j := steer.Job{
			ID: a.src.ID, User: a.src.User, Queue: name, Priority: a.rm.Priority, Submitted: a.src.Submit, Started: a.life == running || len(a.conts) > 0,
			Tasks: a.src.Tasks(), Pending: a.pending, Running: int64(len(a.conts)), AM: a.rm.AM, Service: s.service(a), Tags: s.tags(a),
		}
		active := j.Started
		if tells != nil {
			active, j.AM = tells.Active(&a.rm), tells.AMOf(&a.rm)
		}
		if active {
			q.Running++
		} else {
			q.Waiting++
		}
		for _, c := range a.conts {
			j.Held = j.Held.Add(c.size)
		}
		for i := range a.stages {
			j.Done += a.stages[i].done
		}
		j.Progress, j.Maps = e.progressOf(a)
		snap.Jobs = append(snap.Jobs, j)
	}
	if total := snap.Total.Cores; total > 0 {
		snap.CPUIdle = max(0, 1-float64(tasks)/float64(total)) // a scheduler may overcommit cores
	}
	sensors.ByName(snap.Queues)
	return snap
}

// tags are a job's tags; sizes are computed once.
func (s *steering) tags(a *app) string {
	if s.e.cfg.Sizes && a.tags == "" {
		a.tags = sensors.Sized(sensors.Tags(a.src), a.rm.Input, sim.CoreTimeOf(a.src, s.e.cfg.Seed, a.rm.Seq))
	}
	if a.tags != "" {
		return a.tags
	}
	return sensors.Tags(a.src)
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

// finish keeps a finished application for the next sample.
func (s *steering) finish(a *app, good bool) {
	a.counted = 0 // the sum of a job that has ended is exact
	s.ended = append(s.ended, steer.Finished{
		ID: a.src.ID, User: a.src.User, Queue: s.e.sched.Leaf(&a.rm), Status: sensors.Status(good), Elapsed: s.e.now - a.src.Submit, Service: s.service(a),
	})
}

// queues lists the scheduler's queues.
func (s *steering) queues(snap *steer.Snapshot, tells rm.Gauges) {
	s.sensors.index = map[string]int{}
	if tells == nil {
		return
	}
	s.sensors.gauges = tells.Gauges(s.sensors.gauges[:0])
	for _, g := range s.sensors.gauges {
		q := s.queue(snap, g.Queue)
		q.Capacity, q.Ceiling, q.AMs, q.AMShare = g.Capacity, g.Ceiling, g.AMs, sensors.Decimal(g.AMShare)
	}
}

// queue returns a queue of a snapshot by name. It is valid until the next call.
func (s *steering) queue(snap *steer.Snapshot, name string) *steer.Queue {
	i, ok := s.sensors.index[name]
	if !ok {
		i = len(snap.Queues)
		s.sensors.index[name] = i
		snap.Queues = append(snap.Queues, steer.Queue{Name: name})
	}
	return &snap.Queues[i]
}

// byArrival lists the applications that the scheduler knows, in order of arrival.
func (s *steering) byArrival() []*app {
	s.sensors.apps = s.sensors.apps[:0]
	for _, a := range s.e.apps {
		if a != nil && a.life != submitted {
			s.sensors.apps = append(s.sensors.apps, a)
		}
	}
	slices.SortFunc(s.sensors.apps, func(a, b *app) int { return cmp.Compare(a.rec.Seq, b.rec.Seq) })
	return s.sensors.apps
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
				done[sensors.Side(len(a.stages[c.task.stage].src.After))] += e.workOf(a, c)
			}
		}
	}
	add(a.conts)
	if m, ok := a.m.(*slsAM); ok { // tasks ended but not counted yet
		add(a.told)
		add(m.told)
	}
	return sensors.Progress(done, total)
}

// workOf is the share of a task's work that is done.
func (e *engine) workOf(a *app, c *cont) float64 {
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
	length := max(1, a.length(c.task))
	return min(max(1-float64(ends-e.now)/float64(length), 0), 1)
}
