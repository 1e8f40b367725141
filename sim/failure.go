package sim

import (
	"fmt"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// failsAt decides whether this attempt of a task fails and after which share of its work. The answer depends on the task
// and the number of the attempt alone, so every policy meets the same failures.
func (e *engine) failsAt(j *job, i int, tk *task) (share float64, fails bool) {
	seed := workload.Seed(workload.Seed(e.cfg.Seed, seedFailures), uint64(j.rec.Seq)<<16|uint64(i))
	at := uint64(tk.number)<<8 | uint64(tk.attempt)
	if workload.Uniform01(seed, at) >= e.model.FailTask {
		return 0, false
	}
	return workload.Uniform01(^seed, at), true
}

// retry puts a task that was lost back among the pending ones. Its record is still valid; its container is given back.
func (e *engine) retry(j *job, t int32) {
	tk := &e.tasks[t]
	i := int(tk.stage)
	if int(tk.attempt)+1 >= e.model.Attempts {
		j.rec.Reason = fmt.Sprintf("a task of stage %d failed %d times", i, e.model.Attempts)
		tk.flags |= taskDead // its container is back already
		e.killTasks(j)
		e.done(j, Failed)
		return
	}
	e.again(j, i, again{tk.number, tk.attempt + 1})
	e.yieldToRedo(j, i)
}

// again makes a task of stage i pending once more.
func (e *engine) again(j *job, i int, a again) {
	s := &j.stages[i]
	s.pending++
	s.redo = append(s.redo, a)
	if s.near != nil {
		s.near.untaken(a.number)
	}
	if j.kept == nil {
		e.want(j, s.pool, 1)
	}
}

// takeRedo removes a task from those to run again and returns the number of its attempt.
func (s *stage) takeRedo(number int64) uint8 {
	for i, r := range s.redo {
		if r.number == number {
			s.redo = append(s.redo[:i], s.redo[i+1:]...)
			return r.attempt
		}
	}
	return 0
}

// yieldToRedo takes back one container from a later stage that waits for stage i, as Hadoop's application master does for
// maps that hang: otherwise tasks that wait for a lost one could hold every container, for ever.
func (e *engine) yieldToRedo(j *job, i int) {
	if len(e.pools) > 1 {
		return // reduces have slots of their own
	}
	for k := len(j.stages) - 1; k > i; k-- {
		s := &j.stages[k]
		if s.waits < 0 {
			continue
		}
		t := s.waits
		s.waits = e.tasks[t].next
		e.kill(j, t)
		e.freeRecord(t)
		return
	}
}

// kill takes a task's container away and makes the task pending again. The caller frees or marks the record.
func (e *engine) kill(j *job, t int32) {
	tk := &e.tasks[t]
	s := &j.stages[tk.stage]
	s.running--
	e.giveBackRecord(j, t, true)
	e.again(j, int(tk.stage), again{tk.number, tk.attempt}) // killed, not failed: the attempt does not count
}

// killTasks ends all that a job runs, when the job itself is to end. Rare, so it looks at every record.
func (e *engine) killTasks(j *job) {
	for t := range e.tasks {
		tk := &e.tasks[t]
		if tk.flags&(taskUnset|taskDead) != 0 || tk.job != j.index || tk.stage < 0 {
			continue
		}
		j.stages[tk.stage].running--
		e.giveBackRecord(j, int32(t), true)
		if tk.flags&taskWaits != 0 {
			e.freeRecord(int32(t))
		} else {
			tk.flags |= taskDead
		}
	}
}

func (e *engine) planLosses() error {
	e.lossOf = make([]int32, len(e.cfg.Cluster.Nodes))
	for i, l := range e.model.Losses {
		if e.nodeByName(l.Node) < 0 {
			return fmt.Errorf("node %q is to be lost and is not in the cluster", l.Node)
		}
		if l.At < 0 || l.For < 0 {
			return fmt.Errorf("node %q is to be lost at %v for %v", l.Node, l.At, l.For)
		}
		e.q.push(l.At, evLost|uint64(i), 0)
		if l.For > 0 {
			e.q.push(l.At+l.For, evBack|uint64(i), 0)
		}
	}
	return nil
}

func (e *engine) nodeByName(name string) int32 {
	for i := range e.cfg.Cluster.Nodes {
		if e.cfg.Cluster.Nodes[i].Name == name {
			return int32(i)
		}
	}
	return -1
}

// lose takes a node away with all that runs on it.
func (e *engine) lose(i int) {
	n := e.nodeByName(e.model.Losses[i].Node)
	if e.lossOf[n]++; e.lossOf[n] > 1 {
		return
	}
	for _, p := range e.pools {
		p.nodes[n].Total, p.nodes[n].Free = unit.Resources{}, unit.Resources{}
		p.rooms.touch(n)
		p.resized()
	}
	// First the tasks, then masters and kept containers: what those own must be gone before.
	for pass := range 2 {
		for t := range e.tasks {
			tk := &e.tasks[t]
			if tk.node != n || tk.flags&(taskUnset|taskDead) != 0 || (tk.stage < 0) != (pass == 1) {
				continue
			}
			j := e.jobs[tk.job]
			switch {
			case tk.stage >= 0:
				e.loseTask(j, int32(t))
			case tk.stage == policy.KeptStage:
				e.loseKept(j, int32(t))
			default:
				e.loseMaster(j, int32(t))
			}
		}
	}
	for _, j := range e.jobs {
		if j != nil && j.kept != nil {
			e.fillKept(j) // lost tasks may run in its other containers
		}
	}
	for _, p := range e.pools {
		p.due = true
	}
}

func (e *engine) loseTask(j *job, t int32) {
	tk := &e.tasks[t]
	waits := tk.flags&taskWaits != 0
	if waits {
		e.unlink(&j.stages[tk.stage].waits, t)
	}
	stage := int(tk.stage)
	e.kill(j, t)
	if waits {
		e.freeRecord(t)
	} else {
		tk.flags |= taskDead
	}
	e.yieldToRedo(j, stage)
}

// loseKept loses a container that is kept; its tasks are gone already. The job asks for another one.
func (e *engine) loseKept(j *job, t int32) {
	k := j.kept
	tk := &e.tasks[t]
	e.unlink(&k.first, t)
	k.turn = 0
	e.giveBackRecord(j, t, true)
	if tk.flags&taskUp != 0 {
		k.up--
		k.idle -= k.slots
	}
	e.endStarting(t)
	k.want++
	e.want(j, 0, 1)
}

// loseMaster loses a job's master: another one is asked for. What runs goes on, as with work-preserving restart.
func (e *engine) loseMaster(j *job, t int32) {
	e.giveBackRecord(j, t, true)
	j.master = -1
	e.endStarting(t)
	e.want(j, 0, 1)
}

// unlink takes a record out of a list.
func (e *engine) unlink(head *int32, t int32) {
	for p := head; *p >= 0; p = &e.tasks[*p].next {
		if *p == t {
			*p = e.tasks[t].next
			return
		}
	}
}

// back returns a node.
func (e *engine) back(i int) {
	n := e.nodeByName(e.model.Losses[i].Node)
	if e.lossOf[n]--; e.lossOf[n] > 0 {
		return
	}
	for k, p := range e.pools {
		p.nodes[n].Total = e.roomOf(k, int(n))
		p.nodes[n].Free = p.nodes[n].Total
		p.rooms.touch(n)
		p.resized()
		p.due = true
	}
}
