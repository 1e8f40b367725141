package sim

import (
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/internal/near"
	"github.com/yardmaster/yardmaster/unit"
)

// copies is a stage's state of speculative copies. It exists only in runs with speculation, from the stage's release.
//
// A task with a copy is one task: it counts once as running and once as done. Its two records point to each other (task.in). The
// first to succeed counts and the other is killed; if one fails or is lost, the other continues alone.
type copies struct {
	since unit.Time // when the stage's tasks could start work
	wants []int32   // records of tasks with a requested copy, most urgent first
	took  []float64 // durations of finished tasks, in seconds (LATE)
	inRow int       // length of its sorted prefix
	scan  int64     // the last scan that found one of its tasks old enough
	group int32     // its number in that scan
}

// Values of task.in for a task found slow, other than the record of its other attempt.
const (
	copyAsked int32 = -1 // a copy is requested
	copyGone  int32 = -2 // the other attempt is gone
)

// asked reports whether a copy waits for a container.
func (c *copies) asked() bool { return c != nil && len(c.wants) > 0 }

// watch lets a released stage's tasks get copies. Tasks in containers that a job keeps do not.
func (sp *speculation) watch(j *job, s *stage) {
	if j.kept == nil {
		s.copies = &copies{since: sp.e.now}
	}
}

// ask requests a container from the policy for a copy of a running task.
func (sp *speculation) ask(j *job, t int32) {
	tk := &sp.e.tasks[t]
	s := &j.stages[tk.stage]
	tk.flags |= taskCopied
	tk.partner = copyAsked
	s.copies.wants = append(s.copies.wants, t)
	sp.e.want(j, s.Slot, 1)
}

// withdraw cancels such a request.
func (sp *speculation) withdraw(j *job, t int32) {
	tk := &sp.e.tasks[t]
	s := &j.stages[tk.stage]
	s.copies.remove(t)
	tk.partner = copyGone
	sp.e.want(j, s.Slot, -1)
}

func (c *copies) remove(t int32) {
	c.wants = slices.DeleteFunc(c.wants, func(w int32) bool { return w == t })
}

// beside returns the first stage from k on, other than front, with a task for a container of the same kind, no larger than what front
// asks for, that fits into room; -1: none.
func (j *job) beside(front, k int, room unit.Resources) int {
	for ; k < len(j.stages); k++ {
		if j.view.Replaces(k, front) && j.stages[k].Ask.Fits(room) {
			return k
		}
	}
	return -1
}

// copyFor returns the record of a task of stage i whose copy may run on a node, and how near its input is; -1: none. The two attempts
// never share a node.
func (sp *speculation) copyFor(j *job, i int, node int32) (policy.Near, int64) {
	if sp.isSlow(node) {
		return policy.NoPreference, -1
	}
	for _, t := range j.stages[i].copies.wants {
		if tk := &sp.e.tasks[t]; tk.node != node {
			sp.buf = sp.e.replicas(j, i, tk.number, sp.buf)
			return near.Level(sp.buf, sp.e.nodeRack, node), int64(t)
		}
	}
	return policy.NoPreference, -1
}

// copyAnywhere is copyFor on any node.
func (sp *speculation) copyAnywhere(p *pool, j *job, i int) (how policy.Near, t int64, node int32) {
	ask, first := j.stages[i].Ask, int32(-1)
	for from := p.cursor; ; from = node + 1 {
		if node = p.rooms.find(ask, from); node < 0 || node == first {
			return policy.NoPreference, -1, -1
		}
		if first < 0 {
			first = node
		}
		if how, t = sp.copyFor(j, i, node); t >= 0 {
			return how, t, node
		}
	}
}

// start runs the copy of a task on a node.
func (sp *speculation) start(j *job, i int, node int32, how policy.Near, original int32) {
	e := sp.e
	j.stages[i].copies.remove(original)
	t := e.newRecord(j.index, node, int16(i))
	tk := &e.tasks[original]
	tk.partner = t
	e.tasks[t].partner, e.tasks[t].near = original, uint8(how)
	j.rec.Near[how]++
	e.startRecorded(j, i, t, tk.number, tk.attempt, taskCopied|taskCopy)
}

// won handles the first finished attempt of a task: the other is cancelled.
func (sp *speculation) won(j *job, t int32) {
	e, tk := sp.e, &sp.e.tasks[t]
	sp.note(j, t)
	if tk.flags&taskCopied == 0 {
		return
	}
	other := tk.partner
	switch tk.partner = copyGone; other {
	case copyGone:
		return
	case copyAsked:
		sp.withdraw(j, t)
		return
	}
	node, p := e.tasks[other].node, e.pools[j.stages[tk.stage].Slot]
	e.tasks[other].partner = copyGone
	e.giveBackRecord(j, other, policy.Taken)
	e.forget(other)
	switch {
	case p.waiting == 0:
	case p.beats != nil:
		p.nodeFreed(node)
	default:
		p.due = true
	}
}

// survives reports whether a task whose attempt is lost continues in its other attempt, alone.
func (sp *speculation) survives(j *job, t int32) bool {
	tk := &sp.e.tasks[t]
	other := tk.partner
	switch tk.partner = copyGone; other {
	case copyGone:
		return false
	case copyAsked:
		sp.withdraw(j, t)
		return false
	}
	sp.e.tasks[other].partner = copyGone
	return true
}

// survivesFailure is survives for a failed attempt: it counts against the task, as any failure does.
func (sp *speculation) survivesFailure(j *job, t int32) bool {
	tk := &sp.e.tasks[t]
	other, failures := tk.partner, tk.attempt+1
	if other >= 0 && int(failures) >= sp.e.model.Attempts || !sp.survives(j, t) {
		return false
	}
	o := &sp.e.tasks[other]
	o.attempt = max(o.attempt, failures)
	return true
}
