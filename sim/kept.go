package sim

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// kept is the state of a job that runs its tasks inside containers it keeps (Spark executors): it asks the cluster for
// containers, and hands its tasks to their slots itself.
type kept struct {
	ask   unit.Resources
	slots int64 // a container
	want  int64 // containers still to be asked for
	up    int64 // containers that have started up
	idle  int64 // free slots in them
	asked bool  // the wish is known to the policy
	first int32 // list of its containers' records, up or not
	turn  int32 // the container that takes the next task
}

// wantKept asks for the job's containers, once.
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
	e.tasks[t].next, k.first = k.first, t
	k.want--
	e.q.push(e.now+e.model.StartUp, evUp|uint64(t), 0)
}

func (e *engine) upKept(j *job) {
	k := j.kept
	k.up++
	k.idle += k.slots
	e.fillKept(j)
}

// fillKept starts tasks in the free slots of the job's own containers. Which container runs which task matters only when
// a node is lost, so they take turns.
func (e *engine) fillKept(j *job) {
	k := j.kept
	for i := 0; i < len(j.stages) && k.idle > 0; i++ {
		s := &j.stages[i]
		for s.open && s.pending > 0 && k.idle > 0 {
			k.idle--
			number, attempt := s.take(-1)
			j.rec.Near[policy.NoPreference]++
			e.startRecorded(j, i, e.hostOfNext(k), number, attempt, taskInner)
			if s.pending == 0 {
				e.refresh(j) // may come back here for the next stage
			}
		}
	}
}

// hostOfNext takes the job's containers in turn and returns the next one's node.
func (e *engine) hostOfNext(k *kept) int32 {
	for range k.up + k.want + 1 {
		if k.turn <= 0 || e.tasks[k.turn-1].stage != policy.KeptStage {
			k.turn = k.first + 1
		} else if k.turn = e.tasks[k.turn-1].next + 1; k.turn == 0 {
			k.turn = k.first + 1
		}
		if e.tasks[k.turn-1].flags&taskUp != 0 {
			break
		}
	}
	return e.tasks[k.turn-1].node
}

// freeKept gives all containers back when the job ends.
func (e *engine) freeKept(j *job) {
	k := j.kept
	for t := k.first; t >= 0; {
		next := e.tasks[t].next
		e.giveBackRecord(j, t, false)
		e.endStarting(t)
		t = next
	}
	k.first = -1
}
