package sim

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// CheckAttempts is for engines: it reports invalid values of what concerns the attempts of tasks, and sets the default number of them.
func (m *Model) CheckAttempts() error {
	if m.Attempts <= 0 {
		m.Attempts = 4
	}
	if m.Attempts > math.MaxUint16 {
		return fmt.Errorf("%d attempts of a task: at most %d", m.Attempts, math.MaxUint16)
	}
	if m.FailTask < 0 || m.FailTask >= 1 {
		return fmt.Errorf("the probability that a task fails is %v: it must be at least 0 and less than 1", m.FailTask)
	}
	return m.Stragglers.validate()
}

// ErrFailingWork refuses a worker together with Model.FailTask.
var ErrFailingWork = errors.New("tasks that fail at random are not played together with a model of what tasks do; leave out one of them")

// FailsAt is for engines: whether an attempt of a task in stage i of the job that arrived as number seq fails, and after which share of its work.
// The result depends only on the task and the attempt number, so every policy and every clock sees the same failures.
func (m *Model) FailsAt(seed uint64, seq int64, i int, key uint64) (share float64, fails bool) {
	if m.FailTask == 0 {
		return 0, false
	}
	seed = workload.Seed(workload.Seed(seed, seedFailures), uint64(seq)<<16|uint64(i))
	if workload.Uniform01(seed, key) >= m.FailTask {
		return 0, false
	}
	return workload.Uniform01(^seed, key), true
}

// TooOften is for engines: why a job fails.
func (m *Model) TooOften(stage int) string {
	return fmt.Sprintf("a task of stage %d failed %d times", stage, m.Attempts)
}

// retry makes a failed task pending again. Its record is still valid; its container is released.
func (e *engine) retry(j *job, t int32) {
	tk := &e.tasks[t]
	i := int(tk.stage)
	if int(tk.attempt)+1 >= e.model.Attempts {
		j.rec.Reason = e.model.TooOften(i)
		tk.flags |= taskDead // its container is already released
		e.killJob(j)
		return
	}
	e.again(j, i, again{tk.number, tk.attempt + 1})
}

// again makes a task of stage i pending again.
func (e *engine) again(j *job, i int, a again) {
	if j.kept != nil {
		return // its driver knows
	}
	s := &j.stages[i]
	s.Pending++
	s.settled, j.ramped = false, false
	s.redo = append(s.redo, a)
	if s.near != nil {
		s.near.Put(a.number)
		if s.near.j != nil {
			for _, n := range e.replicas(j, i, a.number, nil) {
				e.pools[0].list(s.near, []int32{n}, []int32{e.nodeRack[n]})
			}
		}
	}
	switch {
	case j.ramps && j.mapsWait(s):
		s.Later++
	default:
		e.want(j, s.Slot, 1)
		if j.ramps {
			e.call(j, true)
		}
	}
}

// takeRedo removes a task from those to run again and returns its attempt number.
func (s *stage) takeRedo(number int64) uint16 {
	for i, r := range s.redo {
		if r.number == number {
			s.redo = append(s.redo[:i], s.redo[i+1:]...)
			return r.attempt
		}
	}
	return 0
}

// kill takes a recorded task's container and makes the task pending again. The attempt does not count as a failure of the
// task.
func (e *engine) kill(j *job, t int32, why policy.End) {
	tk := &e.tasks[t]
	i, a := int(tk.stage), again{tk.number, tk.attempt}
	s := &j.stages[i]
	if tk.flags&taskEnding != 0 { // its work is done, only the notification is pending
		if e.spec != nil {
			e.spec.won(j, t)
		}
		e.count(j, s)
		e.giveBackRecord(j, t, policy.Done)
		tk.flags |= taskDead
		if tk.flags&taskInner != 0 {
			j.kept.d.Ended(e.now, e.inner(t), false)
			return
		}
		e.progress(j, s, false)
		return
	}
	if tk.flags&taskCopied != 0 && e.spec.survives(j, t) {
		e.giveBackRecord(j, t, why)
		e.forget(t)
		return
	}
	s.Running--
	e.giveBackRecord(j, t, why)
	if tk.flags&taskInner != 0 {
		j.kept.d.Killed(e.now, e.inner(t))
	}
	if tk.flags&taskWaits != 0 {
		e.unlink(&s.waits, t)
	}
	e.forget(t)
	e.again(j, i, a)
}

// forget frees the record of a task whose container was taken: at once, or when its event comes up.
func (e *engine) forget(t int32) {
	tk := &e.tasks[t]
	switch {
	case e.cfg.Worker != nil && tk.flags&taskEnding == 0:
		e.cfg.Worker.Stopped(t)
		e.freeRecord(t)
	case tk.flags&taskWaits != 0:
		e.freeRecord(t)
	default:
		tk.flags |= taskDead // its event is still to come
	}
}

// held lists the matching records in use, in start order. A record's index depends on when others were freed, and must not affect
// decisions. It is rare, so it scans every record.
func (e *engine) held(match func(*task) bool) []int32 {
	var list []int32
	for t := range e.tasks {
		if tk := &e.tasks[t]; tk.flags&(taskUnset|taskDead) == 0 && match(tk) {
			list = append(list, int32(t))
		}
	}
	slices.SortStableFunc(list, func(a, b int32) int {
		x, y := &e.tasks[a], &e.tasks[b]
		return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(e.jobs[x.job].rec.Seq, e.jobs[y.job].rec.Seq),
			cmp.Compare(x.stage, y.stage), cmp.Compare(x.number, y.number))
	})
	return list
}

// preempt kills what the policy claims, and reports whether there was anything.
func (e *engine) preempt() bool {
	if e.preemptor == nil {
		return false
	}
	e.claims = e.preemptor.Victims(e.now, e.claims[:0])
	for _, c := range e.claims {
		j := e.jobs[c.Job.Index]
		if j == nil {
			continue // it ended with a task killed before
		}
		if c.Restart {
			held := j.view.Running
			e.restart(j)
			e.cfg.Why.Claimed(e.now, &c, held-j.view.Running)
			continue
		}
		stage := c.Stage
		if j.kept != nil && stage >= 0 {
			stage = policy.KeptStage // its tasks hold nothing of their own
		}
		list := e.held(func(tk *task) bool {
			return tk.job == j.index && int(tk.stage) == stage && tk.flags&taskInner == 0 && (c.Node == nil || c.Node.Index == tk.node)
		})
		list = list[max(0, len(list)-int(c.Count)):]
		e.cfg.Why.Claimed(e.now, &c, int64(len(list)))
		if stage == policy.KeptStage {
			taken := map[int32]bool{}
			for _, t := range list {
				taken[t] = true
			}
			e.killInner(policy.Taken, func(tk *task) bool { return taken[tk.partner] })
		}
		for _, t := range slices.Backward(list) {
			if stage == policy.KeptStage {
				e.loseKept(j, t, policy.Taken)
			} else {
				e.kill(j, t, policy.Taken)
			}
			if j.gone {
				break // its last task was done, only the notification was pending
			}
		}
		if j.kept != nil && !j.gone {
			e.drive(j)
		}
	}
	return len(e.claims) > 0
}

// killJob kills all of a job's containers, and the job.
func (e *engine) killJob(j *job) {
	e.stop(j)
	e.done(j, Failed)
}

// restart kills all tasks of a job and discards its finished ones: it starts over, with the same tasks.
func (e *engine) restart(j *job) {
	e.stop(j)
	v := &j.view
	e.sum.Tasks -= v.Done
	e.sum.Lost += v.Done
	j.rec.Lost += v.Done
	v.Done, j.left, j.watches = 0, v.Tasks, false
	for i := range j.stages {
		s := &j.stages[i]
		if s.near != nil {
			*s.near = nearness{} // it may still be in an index
		}
		*s = stage{Stage: s.Stage, seed: s.seed, length: s.length, fixed: s.fixed, waits: -1}
		s.Pending, s.Later, s.Running, s.Done, s.Worked = s.Tasks, s.Tasks, 0, 0, 0
	}
	for k, n := range v.Waiting {
		switch {
		case j.kept != nil:
			n = 0
		case k == 0 && !v.AM.IsZero() && j.am < 0:
			n--
		}
		if n > 0 {
			e.want(j, uint8(k), -n)
		}
	}
	if w := e.cfg.Worker; w != nil {
		w.Left(j.rec.Seq)
		w.Arrived(j.src, j.rec.Seq)
	}
	e.order.Changed(e.now, v)
	if j.kept != nil {
		e.restartKept(j)
		return
	}
	e.refresh(j)
}

// stop kills all running tasks of a job.
func (e *engine) stop(j *job) {
	for _, t := range e.held(func(tk *task) bool { return tk.job == j.index && tk.stage >= 0 }) {
		if tk := &e.tasks[t]; tk.flags&taskCopied != 0 && tk.partner >= 0 {
			e.tasks[tk.partner].partner = copyGone // the two count as one
		} else {
			j.stages[tk.stage].Running--
		}
		e.giveBackRecord(j, t, policy.Taken)
		e.forget(t)
	}
}

// unblock resolves a deadlock after failures: tasks that hold containers while they wait for a lost task may hold all the room
// that it needs. They release their containers, as Hadoop's AM makes reduces do for maps that hang, and the earlier stages go
// first. It reports whether there was anything to release.
func (e *engine) unblock() bool {
	if !e.careful || e.unblocked == e.sum.Tasks+1 {
		return false // the last attempt did not help
	}
	e.unblocked = e.sum.Tasks + 1
	gave := false
	for _, j := range e.byArrival() {
		for i := range j.stages {
			for s := &j.stages[i]; s.waits >= 0; gave = true {
				e.kill(j, s.waits, policy.Taken)
			}
		}
	}
	return gave
}

func (e *engine) planLosses() error {
	e.lossOf = make([]int32, len(e.cfg.Cluster.Nodes))
	return PlanLosses(e.model.Losses, e.cfg.Cluster, func(l *Loss, node int32) {
		e.q.Push(l.At, evLost|uint64(node), 0)
		if l.For > 0 {
			e.q.Push(l.At+l.For, evBack|uint64(node), 0)
		}
	})
}

// PlanLosses is for engines: it calls queue for each loss, with the number of its node in the cluster.
func PlanLosses(losses []Loss, c *cluster.Cluster, queue func(l *Loss, node int32)) error {
	for i := range losses {
		l := &losses[i]
		node := slices.IndexFunc(c.Nodes, func(n cluster.Node) bool { return n.Name == l.Node })
		if node < 0 {
			return fmt.Errorf("loss of node %q, which is not in the cluster", l.Node)
		}
		if l.At < 0 || l.For < 0 || l.At > workload.MaxSubmit || l.For > workload.MaxSubmit {
			return fmt.Errorf("loss of node %q at %v for %v: out of range", l.Node, l.At, l.For)
		}
		queue(l, int32(node))
	}
	return nil
}

// lose removes a node with all that runs on it.
func (e *engine) lose(n int32) {
	if e.lossOf[n]++; e.lossOf[n] > 1 {
		return
	}
	for _, p := range e.pools {
		p.free = p.free.Sub(p.nodes[n].Free)
		p.nodes[n].Total, p.nodes[n].Free = unit.Resources{}, unit.Resources{}
		p.rooms.touch(n)
	}
	e.resized()
	e.killInner(policy.Lost, func(tk *task) bool { return tk.node == n })
	for _, t := range e.held(func(tk *task) bool { return tk.node == n && tk.flags&taskInner == 0 }) {
		tk := &e.tasks[t]
		if tk.node != n || tk.flags&(taskUnset|taskDead|taskInner) != 0 {
			continue // it ended with its job, whose last task was done; the record may be reused by now
		}
		switch j := e.jobs[tk.job]; {
		case tk.stage >= 0:
			e.kill(j, t, policy.Lost)
		case tk.stage == policy.KeptStage:
			e.loseKept(j, t, policy.Lost)
		default:
			e.loseAM(j, t)
		}
	}
	for _, j := range e.jobs {
		if j != nil && j.kept != nil {
			e.drive(j) // lost tasks may run in its other containers
		}
	}
	for _, p := range e.pools {
		p.due = true
	}
}

// loseAM handles the loss of a job's AM: a new one is requested. Running tasks continue, as with work-preserving restart.
func (e *engine) loseAM(j *job, t int32) {
	e.giveBackRecord(j, t, policy.Lost)
	j.am = -1
	e.endStarting(t)
	e.want(j, 0, 1)
}

// unlink removes a record from a list.
func (e *engine) unlink(head *int32, t int32) {
	for p := head; *p >= 0; p = &e.tasks[*p].next {
		if *p == t {
			*p = e.tasks[t].next
			return
		}
	}
}

// back restores a node.
func (e *engine) back(n int32) {
	if e.lossOf[n]--; e.lossOf[n] > 0 {
		return
	}
	for k, p := range e.pools {
		p.nodes[n].Total = e.roomOf(k, int(n))
		p.nodes[n].Free = p.nodes[n].Total
		p.free = p.free.Add(p.nodes[n].Free)
		p.rooms.touch(n)
		if p.parked > 0 {
			p.freed = append(p.freed, n)
		}
		p.due = true
	}
	e.resized()
}
