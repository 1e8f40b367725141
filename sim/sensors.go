package sim

import (
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/internal/sensors"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// Sense implements rehearse.Run. Its cost is linear in queues, jobs and running tasks.
func (s *steering) Sense(snap *steer.Snapshot) {
	e := s.e
	s.measure()
	s.sumProgress()
	snap.Total, snap.Nodes = s.total, s.nodes
	if s.Gauges() == nil { // the queues that jobs have named
		for i := range e.line.Queues {
			s.Queue(snap, e.line.Queues[i].Name)
		}
	}
	var ams int64 // cores
	for _, j := range e.byArrival() {
		sj := steer.Job{
			ID: j.src.ID, User: j.src.User, Queue: s.queueOf(j), Priority: j.view.Priority,
			Held: j.view.Used, Service: s.service(j), Submitted: j.src.Submit, Started: j.rec.Start >= 0, Tasks: j.view.Tasks, AM: j.view.AM, Done: j.view.Done, Pending: j.view.Pending, Running: j.view.Running,
		}
		sj.Tags = sensors.Tags(&j.tags, j.src, e.cfg.Sizes, j.view.Input, func() unit.Time { return CoreTimeOf(j.src, e.cfg.Seed, j.view.Seq) })
		if j.am >= 0 {
			ams += j.src.AM.Cores
		}
		sj.Progress, sj.Maps = s.progress(j)
		s.List(snap, &sj, sj.Started)
	}
	if w, ok := e.cfg.Worker.(Idler); ok {
		snap.CPUIdle = w.CPUIdle()
	} else {
		snap.CPUIdle = sensors.Idle(snap.Used.Cores-ams, snap.Total.Cores)
	}
}

// queueOf is the queue's name in samples.
func (s *steering) queueOf(j *job) string {
	if g, ok := s.e.order.(policy.Gauges); ok {
		return g.QueueOf(&j.view)
	}
	return s.e.line.Queues[j.queue].Name
}

// measure sums the nodes, once per change.
func (s *steering) measure() {
	if s.sized {
		return
	}
	s.sized, s.total, s.nodes = true, unit.Resources{}, 0
	for i := range s.e.cfg.Cluster.Nodes {
		up := false
		for _, p := range s.e.pools {
			n := &p.nodes[i]
			up = up || !n.Total.IsZero()
			s.total = s.total.Add(n.Total)
		}
		if up {
			s.nodes++
		}
	}
}

// sumProgress sums the progress of running tasks by job.
func (s *steering) sumProgress() {
	e := s.e
	s.parts = slices.Grow(s.parts[:0], len(e.jobs))[:len(e.jobs)]
	clear(s.parts)
	for t := range e.tasks {
		tk := &e.tasks[t]
		if tk.stage < 0 || tk.flags&(taskUnset|taskDead) != 0 {
			continue
		}
		done := e.progressOf(int32(t))
		if tk.flags&taskCopied != 0 && tk.partner >= 0 { // the better of the two attempts counts
			if tk.flags&taskCopy != 0 {
				continue
			}
			done = max(done, e.progressOf(tk.partner))
		}
		s.parts[tk.job][e.jobs[tk.job].stages[tk.stage].side()] += done
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
	done := s.parts[j.index]
	for i := range j.stages {
		st := &j.stages[i]
		done[st.side()] += float64(st.Done)
		total[st.side()] += st.Tasks
	}
	return sensors.Progress(done, total)
}
