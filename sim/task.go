package sim

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// task is the record of a held container: an AM, a kept container, a task that waits for other stages or runs in a kept
// container; and, in a run in which tasks can fail or be killed, every running task.
type task struct {
	job     int32
	node    int32
	stage   int16 // or policy.AMStage, policy.KeptStage
	attempt uint16
	flags   uint16
	near    uint8
	next    int32 // in a list of waiting tasks, or of unused records; of a kept container, see kept
	partner int32 // the kept container that it runs in; or the other attempt of a task with a copy, copyAsked or copyGone
	number  int64 // of the task in its stage
	start   unit.Time
}

const (
	taskDead   uint16 = 1 << iota // killed; its record is freed when its event comes up
	taskInner                     // runs inside a kept container: holds no room of its own
	taskWaits                     // holds its container and waits for other stages; it has no event yet
	taskUp                        // an AM or kept container that has started up: it has no pending event
	taskUnset                     // record is not in use
	taskEnding                    // the worker has finished it; its end is still to be handled
	taskCopied                    // its task has or had a copy, or one is requested: it gets no other
	taskCopy                      // it is the copy
	taskCold                      // it is the first task of a slot in a kept container
)

// A plain task, whose stage is released and that can neither fail nor be killed, has no record: its event holds all that its end
// needs. On a large cluster that saves a cache miss, the most expensive step of a task.
const (
	nodeBits  = 20 // cluster.MaxNodes
	stageBits = 10 // workload.MaxStages
	jobBits   = 24 // a job with a larger index has records
)

// work queues the end of a plain task.
func (e *engine) work(j *job, i int, node int32, start unit.Time, number int64) {
	s := &j.stages[i]
	length := s.lengthOf(number)
	if e.model.Stragglers.Share > 0 || e.speeds != nil {
		length = e.lengthOf(j, i, node, number, uint64(number)<<16)
	}
	end := e.endKnown(s, node, max(start+e.model.StartUp, e.now)+length)
	e.q.Push(end, evPlainEnd|uint64(j.index)<<(nodeBits+stageBits)|uint64(node)<<stageBits|uint64(i), start)
}

// plainEnd handles the end of a plain task.
func (e *engine) plainEnd(arg uint64, start unit.Time) {
	node := int32(arg >> stageBits & (1<<nodeBits - 1))
	j := e.jobs[arg>>(nodeBits+stageBits)]
	i := int(arg & (1<<stageBits - 1))
	s := &j.stages[i]
	e.count(j, s)
	e.giveBack(j, i, s.Ask, s.Slot, node, start, policy.Done)
	e.after(j, s, node, false)
}

// startRecorded lets a task that has a record work or wait.
func (e *engine) startRecorded(j *job, i int, t int32, number int64, attempt uint16, flags uint16) {
	tk := &e.tasks[t]
	tk.number, tk.attempt, tk.flags = number, attempt, flags
	if e.spec != nil {
		e.spec.arm()
	}
	if e.cfg.Worker != nil {
		e.hand(j, i, t)
	} else if s := &j.stages[i]; s.released {
		e.schedule(j, i, t)
	} else {
		tk.flags |= taskWaits
		tk.next, s.waits = s.waits, t
	}
}

// schedule queues the end of a recorded task's work. The stage must be released.
func (e *engine) schedule(j *job, i int, t int32) {
	s, tk := &j.stages[i], &e.tasks[t]
	if j.plain {
		e.work(j, i, tk.node, tk.start, tk.number)
		e.freeRecord(t)
		return
	}
	kind, length := evTaskEnd, e.lengthOf(j, i, tk.node, tk.number, tk.key())
	if share, fails := e.model.FailsAt(e.cfg.Seed, j.rec.Seq, i, tk.key()); fails {
		kind, length = evTaskFail, unit.Time(share*float64(length))
	}
	var end unit.Time
	if tk.flags&taskInner != 0 { // its container is up, and the job knows at once
		end = max(tk.start, e.now) + length + e.warmUp(j, t)
	} else {
		end = e.endKnown(s, tk.node, max(tk.start+e.model.StartUp, e.now)+length)
	}
	e.q.Push(end, kind|uint64(t), 0)
}

// lengthOf is how long a task of the stage works.
func (s *stage) lengthOf(number int64) unit.Time {
	if s.fixed >= 0 {
		return s.fixed
	}
	return s.length.Draw(number, s.seed)
}

// endKnown is when the end of a task's work on a node becomes known: at once, or at the node's next heartbeat.
func (e *engine) endKnown(s *stage, node int32, end unit.Time) unit.Time {
	if e.model.EndOnBeat {
		return e.pools[s.Slot].beats.atOrAfter(node, end)
	}
	return end
}

// taskEnd handles the end of a recorded task's work, or its failure.
func (e *engine) taskEnd(t int32, failed bool) {
	tk := &e.tasks[t]
	if tk.flags&taskDead != 0 {
		e.freeRecord(t)
		return
	}
	j := e.jobs[tk.job]
	s := &j.stages[tk.stage]
	node, inner := tk.node, tk.flags&taskInner != 0
	if inner {
		j.kept.d.Ended(e.now, e.inner(t), failed)
	}
	switch {
	case !failed:
		if e.spec != nil {
			e.spec.won(j, t)
		}
		e.count(j, s)
		e.giveBackRecord(j, t, policy.Done)
	case tk.flags&taskCopied != 0 && e.spec.survivesFailure(j, t):
		e.giveBackRecord(j, t, policy.Failed)
	default:
		s.Running--
		e.giveBackRecord(j, t, policy.Failed)
		e.retry(j, t)
	}
	e.freeRecord(t)
	if j.gone {
		return // failed once too often
	}
	if !inner {
		e.after(j, s, node, failed)
		return
	}
	e.drive(j)
}

// count counts a finished task.
func (e *engine) count(j *job, s *stage) {
	s.Running--
	s.Done++
	j.left--
	j.view.Done++
	e.sum.Tasks++
}

// progress updates a job after the end of a task.
func (e *engine) progress(j *job, s *stage, failed bool) {
	switch {
	case j.left == 0:
		e.done(j, Finished)
	case s.Done >= s.mark || failed:
		e.refresh(j)
	case j.watches && (!j.ramped || s.Running == 0):
		e.updateAM(j)
	}
}

// after updates a job after the end of a task in a container of its own, and offers the container.
func (e *engine) after(j *job, s *stage, node int32, failed bool) {
	p := e.pools[s.Slot]
	e.progress(j, s, failed)
	switch {
	case p.waiting == 0:
	case p.beats != nil:
		p.nodeFreed(node)
	case !p.due:
		p.freed = p.freed[:0]
		p.offerNode(&p.nodes[node])
	case p.only(node):
		free := p.free
		if p.offerNode(&p.nodes[node]); p.free != free {
			p.cursor = node + 1
		}
		p.due = false
	}
}

// only reports whether all of the pool's free room is on one node and locality does not matter: a dispatch would find that node.
func (p *pool) only(node int32) bool {
	e := p.e
	return p.free == p.nodes[node].Free && p.hold.job == nil && len(e.pools) == 1 && e.place == nil && e.spec == nil && e.files == nil && e.hosts == nil
}

// giveBack releases the container of a task (or AM, or a kept one) on its node and notifies the policy.
func (e *engine) giveBack(j *job, stage int, ask unit.Resources, k uint8, node int32, start unit.Time, why policy.End) {
	j.rec.Service += e.now - start
	if stage == policy.KeptStage {
		j.rec.Kept += e.now - start
	}
	p := e.pools[k]
	v := &j.view
	n := &p.nodes[node]
	if !n.Total.IsZero() {
		n.Free, p.free = n.Free.Add(ask), p.free.Add(ask)
		p.rooms.touch(node)
		if p.parked > 0 {
			p.freed = append(p.freed, node)
		}
		if p.hold.job != nil {
			p.gather(n)
		}
	}
	v.Yield(e.now, start, ask)
	if e.steering != nil {
		e.steering.book(j, 1, ask)
	}
	e.line.Queues[j.queue].Yield(e.now-e.line.From, ask.Mem)
	e.line.Named(-1, ask.Uses(), e.now)
	p.changed()
	e.notifyEnded(j, stage, n, ask, start, e.model.StartUp, why)
}

// notifyEnded notifies the policy of the end of a container, or of a task in a kept one.
func (e *engine) notifyEnded(j *job, stage int, n *policy.Node, size unit.Resources, start, startUp unit.Time, why policy.End) {
	ev := &e.event
	ev.Now, ev.Job, ev.Stage, ev.Node, ev.Size, ev.Held, ev.Worked, ev.Why = e.now, &j.view, stage, n, size, e.now-start, 0, why
	if stage >= 0 {
		if s := &j.stages[stage]; s.released {
			ev.Worked = max(0, e.now-max(start+startUp, s.freed))
			if why == policy.Done {
				s.Worked += ev.Worked
			}
		}
	}
	e.order.Ended(ev)
}

// giveBackRecord releases what a record holds: a container, or a slot in a kept one.
func (e *engine) giveBackRecord(j *job, t int32, why policy.End) {
	tk := &e.tasks[t]
	if why != policy.Done {
		j.rec.Lost++
		e.sum.Lost++
	}
	if e.taskSink != nil {
		e.notifyTask(j, tk, why)
	}
	if tk.flags&taskInner != 0 {
		if why != policy.Done { // it waits again
			s := &j.stages[tk.stage]
			s.Pending++
			s.Later = s.Pending
		}
		e.notifyEnded(j, int(tk.stage), &e.pools[0].nodes[tk.node], unit.Resources{}, tk.start, 0, why)
		return
	}
	slot := uint8(policy.MapSlot)
	if tk.stage >= 0 {
		slot = j.stages[tk.stage].Slot
	}
	e.giveBack(j, int(tk.stage), j.asks(int(tk.stage)), slot, tk.node, tk.start, why)
}

func (e *engine) notifyTask(j *job, tk *task, why policy.End) {
	r := &e.taskRec
	r.Job, r.Seq, r.Stage, r.Number, r.Attempt = j.src, j.rec.Seq, int(tk.stage), tk.number, int(tk.attempt)
	r.Copy = tk.flags&taskCopy != 0
	r.Node, r.Near, r.Start, r.End, r.Why = e.cfg.Cluster.Nodes[tk.node].Name, policy.Near(tk.near), tk.start, e.now, why
	r.Kept, r.Up, r.Submitted = -1, -1, -1
	up := tk.flags&taskUp != 0
	switch {
	case tk.flags&taskInner != 0:
		r.Kept, r.Submitted = e.tasks[tk.partner].number, j.stages[tk.stage].freed
	case tk.stage == policy.KeptStage:
		if r.Kept = tk.number; up {
			r.Up = tk.start + e.keptStart(j)
		}
	case tk.stage == policy.AMStage && up:
		r.Up = tk.start + e.amStart(j)
	}
	e.taskSink.Task(r)
}

// up handles the end of start-up of an AM or a kept container.
func (e *engine) up(t int32) {
	tk := &e.tasks[t]
	if tk.flags&taskDead != 0 {
		e.freeRecord(t)
		return
	}
	j := e.jobs[tk.job]
	tk.flags |= taskUp
	if tk.stage == policy.KeptStage {
		e.upKept(j, t)
		return
	}
	e.begin(j)
}

// newRecord allocates a record for a container that starts now. (Field by field: a composite literal would be built and
// copied, which costs as much as a policy's decision.)
func (e *engine) newRecord(job, node int32, stage int16) int32 {
	t := e.freeTask
	if t < 0 {
		t = int32(len(e.tasks))
		e.tasks = append(e.tasks, task{next: -1})
	}
	tk := &e.tasks[t]
	e.freeTask = tk.next
	tk.job, tk.node, tk.stage = job, node, stage
	tk.attempt, tk.flags, tk.near, tk.next = 0, 0, 0, -1
	tk.number, tk.start = 0, e.now
	return t
}

// endStarting frees the record of an AM or a kept container whose room is released: at once, or when its start-up
// event comes up.
func (e *engine) endStarting(t int32) {
	if tk := &e.tasks[t]; tk.flags&taskUp == 0 {
		tk.flags |= taskDead
		return
	}
	e.freeRecord(t)
}

func (e *engine) freeRecord(t int32) {
	tk := &e.tasks[t]
	tk.flags, tk.next = taskUnset, e.freeTask
	e.freeTask = t
}
