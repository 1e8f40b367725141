package sim

import (
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// kept is the state of a job that runs its tasks inside containers it keeps (Spark executors): it requests containers from
// the cluster and assigns its tasks to their slots itself.
type kept struct {
	ask   unit.Resources
	slots int64   // per container
	want  int64   // containers still to be requested
	asked bool    // the policy knows of the request
	all   []int32 // records of its containers, up or not
	free  []int32 // by free slot: the record of its container, which is up
	low   int     // every stage before this one is complete
}

// wantKept requests the job's containers, once.
func (e *engine) wantKept(j *job) {
	k := j.kept
	if k.asked {
		return
	}
	k.asked = true
	k.want = min(k.want, max(1, (j.left+k.slots-1)/k.slots))
	e.want(j, 0, k.want)
}

func (e *engine) startKept(j *job, t int32) {
	k := j.kept
	k.all = append(k.all, t)
	k.want--
	e.tasks[t].number = j.rec.Containers // distinguishes containers started at one instant
	e.q.Push(e.now+e.model.StartUp, evUp|uint64(t), 0)
}

func (e *engine) upKept(j *job, t int32) {
	k := j.kept
	for range k.slots {
		k.free = append(k.free, t)
	}
	e.fillKept(j)
}

// fillKept starts tasks in the free slots of the job's own containers.
func (e *engine) fillKept(j *job) {
	k := j.kept
	for k.low < len(j.stages) && j.stages[k.low].complete() {
		k.low++
	}
	for i := k.low; i < len(j.stages) && len(k.free) > 0; i++ {
		s := &j.stages[i]
		for s.open && s.Pending > 0 && len(k.free) > 0 {
			container := k.free[len(k.free)-1]
			k.free = k.free[:len(k.free)-1]
			number, attempt := s.take(-1)
			s.Later = s.Pending
			j.rec.Near[policy.NoPreference]++
			t := e.newRecord(j.index, e.tasks[container].node, int16(i))
			e.tasks[t].partner = container
			e.startRecorded(j, i, t, number, attempt, taskInner)
			e.started(&j.view, i, &e.pools[0].nodes[e.tasks[container].node], unit.Resources{})
			if s.Pending == 0 {
				e.refresh(j) // may re-enter for the next stage
			}
		}
	}
}

// freeKept releases all containers when the job ends.
func (e *engine) freeKept(j *job, why policy.End) {
	for _, t := range j.kept.all {
		e.giveBackRecord(j, t, why)
		e.endStarting(t)
	}
	j.kept.all, j.kept.free = nil, nil
}

// loseKept handles the loss of a kept container, with the tasks in it. The job requests another one.
func (e *engine) loseKept(j *job, t int32) {
	k := j.kept
	for _, inner := range e.held(func(tk *task) bool { return tk.flags&taskInner != 0 && tk.job == j.index && tk.partner == t }) {
		if e.kill(j, inner, policy.Lost); j.gone {
			return // its last task was done, only the notification was pending
		}
	}
	k.all = slices.DeleteFunc(k.all, func(x int32) bool { return x == t })
	k.free = slices.DeleteFunc(k.free, func(x int32) bool { return x == t })
	e.giveBackRecord(j, t, policy.Lost)
	e.endStarting(t)
	k.want++
	e.want(j, 0, 1)
}
