package sim

import (
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/internal/sensors"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// sensorState is what the sensors keep between samples.
type sensorState struct {
	sized  bool // total and nodes are up to date
	total  unit.Resources
	nodes  int
	gauges []policy.Gauge
	index  map[string]int // of the queues in a snapshot
	parts  [][2]float64   // by job: work done by running maps and reduces, in tasks
}

// Snapshot reads the sensors. Its cost is linear in queues, jobs and running tasks.
func (s *steering) Snapshot() steer.Snapshot {
	e := s.e
	s.measure()
	s.sumProgress()
	snap := steer.Snapshot{Finished: s.ended, Now: e.now, Total: s.sensors.total, Nodes: s.sensors.nodes, Queues: s.queues(), CPUIdle: -1}
	s.ended = nil
	var ams int64
	for _, j := range e.byArrival() {
		name := s.queueOf(j)
		sj := steer.Job{
			ID: j.src.ID, User: j.src.User, Queue: name, Priority: j.view.Priority,
			Held: j.view.Used, Service: s.service(j), Tags: s.tags(j), Submitted: j.src.Submit, Started: j.rec.Start >= 0, Tasks: j.view.Tasks, AM: j.view.AM, Done: j.view.Done, Pending: j.view.Pending, Running: j.view.Running,
		}
		q := &snap.Queues[s.sensors.index[name]]
		q.Used = q.Used.Add(j.view.Used)
		snap.Used = snap.Used.Add(j.view.Used)
		if q.Containers += sj.Running; sj.Started {
			q.Running++
		} else {
			q.Waiting++
		}
		if j.am >= 0 {
			ams += j.src.AM.Cores
		}
		sj.Progress, sj.Maps = s.progress(j)
		snap.Jobs = append(snap.Jobs, sj)
	}
	if w, ok := e.cfg.Worker.(Idler); ok {
		snap.CPUIdle = w.CPUIdle()
	} else if total := snap.Total.Cores; total > 0 {
		snap.CPUIdle = max(0, 1-float64(snap.Used.Cores-ams)/float64(total)) // a scheduler may overcommit cores
	}
	sensors.ByName(snap.Queues)
	return snap
}

// tags are a job's tags; sizes are computed once.
func (s *steering) tags(j *job) string {
	if s.e.cfg.Sizes && j.tags == "" {
		j.tags = sensors.Sized(sensors.Tags(j.src), j.view.Input, CoreTimeOf(j.src, s.e.cfg.Seed, j.view.Seq))
	}
	if j.tags != "" {
		return j.tags
	}
	return sensors.Tags(j.src)
}

func (s *steering) queueOf(j *job) string {
	if tells, ok := s.e.order.(policy.Gauges); ok {
		return tells.QueueOf(&j.view)
	}
	return s.e.line.Queues[j.queue].Name
}

// book starts (-1) or stops (1) accounting for a container of a job.
func (s *steering) book(j *job, sign int64, size unit.Resources) {
	t := sign * int64(s.e.now/unit.Millisecond)
	j.attained.Mem += t * size.Mem
	j.attained.Cores += t * size.Cores
}

// service is a job's attained service.
func (s *steering) service(j *job) steer.Service {
	t := int64(s.e.now / unit.Millisecond)
	return steer.Service{MemSeconds: (j.attained.Mem + t*j.view.Used.Mem) / 1000, CoreSeconds: (j.attained.Cores + t*j.view.Used.Cores) / 1000}
}

// finish keeps a finished job for the next sample.
func (s *steering) finish(j *job, o Outcome) {
	f := steer.Finished{ID: j.src.ID, User: j.src.User, Queue: s.queueOf(j), Status: sensors.Status(o == Finished), Elapsed: s.e.now - j.src.Submit, Service: s.service(j)}
	s.ended = append(s.ended, f)
}

// measure sums the nodes, once per change.
func (s *steering) measure() {
	if s.sensors.sized {
		return
	}
	s.sensors.sized, s.sensors.total, s.sensors.nodes = true, unit.Resources{}, 0
	for i := range s.e.cfg.Cluster.Nodes {
		up := false
		for _, p := range s.e.pools {
			n := &p.nodes[i]
			up = up || !n.Total.IsZero()
			s.sensors.total = s.sensors.total.Add(n.Total)
		}
		if up {
			s.sensors.nodes++
		}
	}
}

// queues lists the scheduler's queues, or else those that jobs have named.
func (s *steering) queues() []steer.Queue {
	e := s.e
	var out []steer.Queue
	if tells, ok := e.order.(policy.Gauges); ok {
		s.sensors.gauges = tells.Gauges(s.sensors.gauges[:0])
		for _, g := range s.sensors.gauges {
			out = append(out, steer.Queue{Name: g.Queue, Capacity: g.Capacity, Ceiling: g.Ceiling, AMs: g.AMs, AMShare: sensors.Decimal(g.AMShare)})
		}
	} else {
		for i := range e.line.Queues {
			out = append(out, steer.Queue{Name: e.line.Queues[i].Name})
		}
	}
	s.sensors.index = make(map[string]int, len(out))
	for i := range out {
		s.sensors.index[out[i].Name] = i
	}
	return out
}

// sumProgress sums the progress of running tasks by job.
func (s *steering) sumProgress() {
	e := s.e
	s.sensors.parts = slices.Grow(s.sensors.parts[:0], len(e.jobs))[:len(e.jobs)]
	clear(s.sensors.parts)
	for t := range e.tasks {
		tk := &e.tasks[t]
		if tk.stage < 0 || tk.flags&(taskUnset|taskDead) != 0 {
			continue
		}
		done := e.progressOf(int32(t))
		if tk.flags&taskCopied != 0 && tk.in >= 0 { // the better of the two attempts counts
			if tk.flags&taskCopy != 0 {
				continue
			}
			done = max(done, e.progressOf(tk.in))
		}
		s.sensors.parts[tk.job][e.jobs[tk.job].stages[tk.stage].side()] += done
	}
}

// side is the stage's side: maps or reduces.
func (s *stage) side() int { return sensors.Side(len(s.After)) }

// progressOf is the share of a running task's work that is done.
func (e *engine) progressOf(t int32) float64 {
	tk := &e.tasks[t]
	switch {
	case tk.flags&taskEnding != 0:
		return 1
	case e.cfg.Worker != nil:
		return e.cfg.Worker.Progress(t)
	case tk.flags&taskWaits != 0:
		return 0
	}
	j := e.jobs[tk.job]
	began := tk.start
	if tk.flags&taskInner == 0 {
		began += e.model.StartUp
	}
	began = max(began, j.stages[tk.stage].freed)
	if e.now <= began {
		return 0
	}
	return min(1, float64(e.now-began)/float64(max(1, e.lengthOf(j, int(tk.stage), tk.node, tk.number, tk.key()))))
}

// progress returns a job's progress in percent and the share of its maps' work that is done, both 0 until the job's AM is up.
func (s *steering) progress(j *job) (percent, maps float64) {
	if !j.ready || j.rec.Start < 0 {
		return 0, 0
	}
	var total [2]int64
	done := s.sensors.parts[j.index]
	for i := range j.stages {
		st := &j.stages[i]
		done[st.side()] += float64(st.Done)
		total[st.side()] += st.Tasks
	}
	return sensors.Progress(done, total)
}
