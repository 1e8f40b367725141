package sim

import (
	"cmp"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/driver"
	"github.com/yardmaster/yardmaster/sim/internal/radix"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// kept is the state of a job that runs its tasks inside containers it keeps (Spark executors). Its driver decides, the engine acts.
//
// The record of such a container has its number at the driver in partner, once it is up, and its index in all in next; that of a task in it has the
// container's record in partner.
type kept struct {
	keep  *workload.Keep
	d     *driver.Driver
	asked int64     // containers requested and not yet given
	all   []int32   // records of its containers, up or not
	at    []int32   // the same by their number at the driver; -1: gone
	wake  unit.Time // of the queued event; Never: none
}

func newKept(j *workload.Job) *kept {
	return &kept{keep: j.Keep, d: driver.New(j), wake: unit.Never}
}

// drive lets a job's driver act.
func (e *engine) drive(j *job) {
	k := j.kept
	k.d.Step(e.now)
	for ok := true; ok; {
		for _, i := range k.d.Submitted() {
			s := &j.stages[i]
			s.open, s.released, s.freed = true, true, e.now
			e.release(j, i)
		}
		var t driver.Task
		if t, ok = k.d.Next(e.now); ok {
			e.startInner(j, &t)
			k.d.Step(e.now)
		}
	}
	if k.d.Over(e.now) {
		e.done(j, Finished)
		return
	}
	for x, ok := k.d.Release(e.now); ok; x, ok = k.d.Release(e.now) {
		e.dropKept(j, k.at[x], policy.Done)
		e.pools[0].due = true
	}
	if more := max(k.d.Target()-int64(len(k.all)), 0) - k.asked; more != 0 {
		k.asked += more
		e.want(j, 0, more)
	}
	if at := k.d.Wake(); at < k.wake {
		k.wake = max(at, e.now)
		e.q.Push(k.wake, evDrive|uint64(j.index), unit.Time(j.rec.Seq))
	}
}

// awaits reports whether a driver still waits for the instant of an event.
func (e *engine) awaits(index uint64, ev radix.Event) bool {
	j := e.jobs[index]
	return j != nil && j.kept != nil && j.rec.Seq == int64(ev.Start) && j.kept.wake == ev.At
}

func (e *engine) startKept(j *job, t int32) {
	k, tk := j.kept, &e.tasks[t]
	tk.number, tk.partner, tk.next = j.rec.Containers, -1, int32(len(k.all)) // the number distinguishes containers started at one instant
	k.all = append(k.all, t)
	k.asked--
	e.q.Push(e.now+e.keptStart(j), evUp|uint64(t), 0)
}

// keptStart is the time from the start of a kept container until its slots take tasks.
func (e *engine) keptStart(j *job) unit.Time { return cmp.Or(j.kept.keep.Start, e.model.StartUp) }

func (e *engine) upKept(j *job, t int32) {
	k := j.kept
	x := k.d.Up(e.now)
	e.tasks[t].partner = x
	k.at = append(k.at, t)
	e.drive(j)
}

// startInner starts a task in one of its job's containers.
func (e *engine) startInner(j *job, t *driver.Task) {
	s, container := &j.stages[t.Stage], j.kept.at[t.In]
	s.Pending--
	s.Running++
	s.Later = s.Pending
	j.rec.Near[policy.NoPreference]++
	r := e.newRecord(j.index, e.tasks[container].node, int16(t.Stage))
	e.tasks[r].partner = container
	flags := taskInner
	if t.Cold {
		flags |= taskCold
	}
	e.startRecorded(j, t.Stage, r, t.Number, t.Attempt, flags)
	e.started(&j.view, t.Stage, &e.pools[0].nodes[e.tasks[container].node], unit.Resources{})
}

// inner is a task in a kept container as its driver knows it.
func (e *engine) inner(t int32) *driver.Task {
	tk := &e.tasks[t]
	return &driver.Task{Stage: int(tk.stage), Number: tk.number, In: e.tasks[tk.partner].partner}
}

// warmUp is what a task's start in a fresh slot costs.
func (e *engine) warmUp(j *job, t int32) unit.Time {
	if e.tasks[t].flags&taskCold != 0 {
		return j.kept.keep.Warm
	}
	return 0
}

// freeKept releases all containers when the job ends.
func (e *engine) freeKept(j *job, why policy.End) {
	for _, t := range j.kept.all {
		e.giveBackRecord(j, t, why)
		e.endStarting(t)
	}
	j.kept.all = nil
}

// dropKept releases one container, in which no task runs.
func (e *engine) dropKept(j *job, t int32, why policy.End) {
	k, tk := j.kept, &e.tasks[t]
	last := k.all[len(k.all)-1]
	k.all[tk.next], e.tasks[last].next = last, tk.next
	k.all = k.all[:len(k.all)-1]
	if tk.partner >= 0 {
		k.at[tk.partner] = -1
	}
	e.giveBackRecord(j, t, why)
	e.endStarting(t)
}

// killInner kills tasks in kept containers that are about to be lost.
func (e *engine) killInner(why policy.End, match func(*task) bool) {
	for _, t := range e.held(func(tk *task) bool { return tk.flags&taskInner != 0 && match(tk) }) {
		e.kill(e.jobs[e.tasks[t].job], t, why)
	}
}

// loseKept takes a kept container from its job, with what its tasks left there. Its driver wants another one.
func (e *engine) loseKept(j *job, t int32, why policy.End) {
	x := e.tasks[t].partner
	e.dropKept(j, t, why)
	if x >= 0 {
		j.kept.d.Lost(e.now, x, func(stage int) { e.rerun(j, &j.stages[stage]) })
	}
}

// rerun makes a finished task pending again. The view keeps the mean of what finished tasks worked.
func (e *engine) rerun(j *job, s *stage) {
	s.Worked -= s.Worked / unit.Time(s.Done)
	s.Done--
	s.Pending++
	s.Later = s.Pending
	j.left++
	j.view.Done--
	e.sum.Tasks--
}

// restartKept gives a job that starts over a new driver, with the containers it has.
func (e *engine) restartKept(j *job) {
	k := j.kept
	k.d, k.at, k.wake = driver.New(j.src), k.at[:0], unit.Never
	if j.ready {
		k.d.Begin(e.now)
	}
	for _, t := range k.all {
		if tk := &e.tasks[t]; tk.flags&taskUp != 0 {
			tk.partner = k.d.Up(e.now)
			k.at = append(k.at, t)
		}
	}
	e.drive(j)
}
