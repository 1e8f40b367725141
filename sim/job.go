package sim

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// job is a job that is present.
type job struct {
	src    *workload.Job
	index  int32
	queue  int32
	seed   uint64
	views  [2]policy.Job // what the policy of each pool sees
	stages []stage
	left   int64 // tasks that are not done
	master int32 // its task record; -1: none
	ready  bool  // the master is up (or there is none): stages may take containers
	gone   bool
	plain  bool // its running tasks need no records
	kept   *kept
	rec    JobRecord
}

// stage is the state of one stage.
//
// Invariants: done + running + pending == total before redo is counted: a lost task becomes pending again.
// open implies that the stages it needs are done as far as slow-start says, and settled unless they are in another pool.
type stage struct {
	total, pending, running, done int64

	mark     int64 // done count at which a later stage may change state
	next     int64 // number of the next task that was never started
	pool     uint8
	open     bool      // may take containers
	released bool      // every stage it needs is complete: its tasks may work
	settled  bool      // it, and every stage it needs, has started all its tasks
	waits    int32     // list of tasks that hold a container and wait for other stages; -1: none
	fixed    unit.Time // task length, where all are alike; -1 otherwise
	near     *nearness
	length   *workload.Lengths
	ask      unit.Resources
	seed     uint64
	redo     []again
	after    []workload.Edge
}

// again is a task that must run again.
type again struct {
	number  int64
	attempt uint16
}

func (s *stage) complete() bool { return s.released && s.done == s.total }

func (e *engine) arrive() {
	src := e.next
	if e.sum.FirstSubmit < 0 {
		e.sum.FirstSubmit = src.Submit
	}
	e.sum.Submitted++
	j := e.admit(src)
	if err := e.readAhead(); err != nil {
		e.err = err
		return
	}
	if j == nil {
		return
	}
	if !j.ready {
		e.want(j, 0, 1)
		return
	}
	e.begin(j)
}

// begin lets a job's first stages take containers; a job without any task is done at once.
func (e *engine) begin(j *job) {
	j.ready = true
	e.refresh(j)
	if j.left == 0 {
		e.done(j, Finished)
	}
}

// admit makes the job's state and shows it to the policies; nil: it was refused.
func (e *engine) admit(src *workload.Job) *job {
	j := e.newJob(src)
	why := e.tooLarge(j)
	for k, p := range e.pools {
		if why != nil {
			break
		}
		if why = p.order.Arrived(&j.views[k]); why != nil {
			for i := range k {
				e.pools[i].order.Left(&j.views[i])
			}
		}
	}
	if why != nil {
		e.sum.Refused++
		j.rec.Outcome, j.rec.Reason = Refused, why.Error()
		e.cfg.Sink.Job(&j.rec)
		e.drop(j)
		return nil
	}
	e.present++
	e.queues[j.queue].waiting++
	if e.steering != nil {
		e.steering.byID[src.ID] = j
	}
	return j
}

func (e *engine) newJob(src *workload.Job) *job {
	var j *job
	if n := len(e.old); n > 0 {
		j, e.old = e.old[n-1], e.old[:n-1]
		j.gone = false
	} else {
		j = &job{}
	}
	if n := len(e.spare); n > 0 {
		j.index, e.spare = e.spare[n-1], e.spare[:n-1]
	} else {
		j.index = int32(len(e.jobs))
		e.jobs = append(e.jobs, nil)
	}
	e.jobs[j.index] = j
	seq := e.nextSeq
	e.nextSeq++
	j.src, j.master = src, -1
	j.seed = workload.Seed(workload.Seed(e.cfg.Seed, seedJobs), uint64(seq))
	j.queue = e.queueIndex(src.Queue)
	j.rec = JobRecord{Job: src, Seq: seq, Start: -1, Finish: -1}
	slots := e.cfg.Cluster.Slots
	var input unit.Bytes
	for i := range src.Stages {
		s := &src.Stages[i]
		st := stage{
			total: s.Tasks, pending: s.Tasks, ask: s.Ask, seed: workload.Seed(j.seed, uint64(i)), length: &s.Length,
			after: s.After, waits: -1, fixed: -1,
		}
		if l, ok := s.Length.IsConstant(); ok {
			st.fixed = l
		}
		if slots {
			st.ask = cluster.Unit
			if s.Kind == workload.Reduce {
				st.pool = 1
			}
		}
		j.left += s.Tasks
		input += s.Input
		j.stages = append(j.stages, st)
	}
	if src.Keep != nil && !slots {
		j.kept = &kept{ask: src.Keep.Ask, slots: src.Keep.Slots, want: src.Keep.Max}
	}
	j.ready = src.Master.IsZero() || slots // Hadoop 1 has no masters
	j.plain = !e.careful && j.kept == nil && j.index < 1<<jobBits
	for k := range e.pools {
		j.views[k] = policy.Job{
			Seq: seq, Index: j.index, ID: src.ID, User: src.User, Queue: e.queues[j.queue].name, Priority: src.Priority,
			Submitted: src.Submit, Deadline: src.Deadline, Master: src.Master, Tasks: j.left, Input: input,
		}
		if slots {
			j.views[k].Master = unit.Resources{}
		}
	}
	return j
}

// tooLarge finds a container that no node could ever hold.
func (e *engine) tooLarge(j *job) error {
	if e.cfg.Cluster.Slots {
		for i := range j.stages {
			k := j.stages[i].pool
			if j.stages[i].total > 0 && e.pools[k].empty {
				return fmt.Errorf("needs %v slots and the cluster has none", [...]string{"map", "reduce"}[k])
			}
		}
		return nil
	}
	fits := func(ask unit.Resources) bool {
		for _, r := range e.shapes {
			if ask.Fits(r) {
				return true
			}
		}
		return false
	}
	if !j.ready && !fits(j.src.Master) {
		return fmt.Errorf("its master asks for %v: no node is that large", j.src.Master)
	}
	if j.kept != nil {
		if !fits(j.kept.ask) {
			return fmt.Errorf("asks for containers of %v: no node is that large", j.kept.ask)
		}
		return nil
	}
	for i := range j.stages {
		if s := &j.stages[i]; s.total > 0 && !fits(s.ask) {
			return fmt.Errorf("asks for containers of %v: no node is that large", s.ask)
		}
	}
	return nil
}

// refresh works out which stages may now take containers and which waiting tasks may begin. It is called when a stage's
// done count reaches its mark and when a stage has started its last task; both happen a few times in a job's life.
func (e *engine) refresh(j *job) {
	if !j.ready {
		return
	}
	for i := range j.stages {
		s := &j.stages[i]
		s.mark = s.total
		s.settled = true
		if s.complete() {
			continue
		}
		open, released, settled := true, true, true
		for _, edge := range s.after {
			up := &j.stages[edge.From]
			if up.complete() {
				continue
			}
			released = false
			need := int64(math.Ceil(edge.SlowStart * float64(up.total)))
			if up.done < need {
				open = false
				up.mark = min(up.mark, need)
			}
			if !up.settled {
				settled = false
				// A reduce in a slot of its own takes nothing from the maps it waits for, which wait for nobody.
				open = open && s.pool == 1 && up.pool == 0 && up.released
			}
		}
		s.settled = settled && s.pending == 0
		if released && !s.released {
			s.released = true
			e.release(j, i)
		}
		if open && !s.open {
			s.open = true
			e.openStage(j, i)
		}
	}
	if j.kept != nil {
		e.fillKept(j)
	}
}

// openStage lets a stage take containers.
func (e *engine) openStage(j *job, i int) {
	s := &j.stages[i]
	if s.pending == 0 {
		return
	}
	if j.kept != nil {
		e.wantKept(j)
		return
	}
	s.near = e.newNearness(j, i)
	e.want(j, s.pool, s.pending)
}

// want adds n containers to what a job wants of a pool.
func (e *engine) want(j *job, pool uint8, n int64) {
	p, v := e.pools[pool], &j.views[pool]
	was, ask, front := v.Pending, v.Ask, v.Front
	v.Pending += n
	e.queues[j.queue].pending += n
	j.advance(pool)
	p.due = true
	p.changed()
	switch {
	case was == 0:
		p.waiting++
		p.asks.add(v.Ask)
		p.order.Ready(v)
	case v.Ask != ask || (v.Front < 0) != (front < 0):
		p.asks.remove(ask)
		p.asks.add(v.Ask)
		p.order.Ready(v)
	}
}

// advance points a view at what the job wants next: its master, a container to keep, or a task of the first stage that has
// one to start.
func (j *job) advance(pool uint8) {
	v := &j.views[pool]
	switch {
	case !v.Master.IsZero() && j.master < 0:
		v.Front, v.Ask = policy.MasterStage, v.Master
	case j.kept != nil:
		v.Front, v.Ask = policy.KeptStage, j.kept.ask
	default:
		for i := range j.stages {
			if s := &j.stages[i]; s.open && s.pending > 0 && s.pool == pool {
				v.Front, v.Ask = i, s.ask
				break
			}
		}
	}
}

// release starts the work of the tasks that held a container and waited.
func (e *engine) release(j *job, i int) {
	s := &j.stages[i]
	t := s.waits
	s.waits = -1
	for t >= 0 {
		tk := &e.tasks[t]
		next := tk.next
		tk.flags &^= taskWaits
		e.schedule(j, i, t)
		t = next
	}
}

// done ends a job's life.
func (e *engine) done(j *job, o Outcome) {
	j.gone = true
	j.rec.Outcome = o
	if o == Finished {
		j.rec.Finish = e.now
		if j.rec.Start < 0 { // it had no task to wait for
			j.rec.Start = e.now
			e.queues[j.queue].waiting--
			e.queues[j.queue].running++
		}
		if !e.cfg.NoAlone {
			j.rec.Alone = e.alone.Of(j.src, j.rec.Seq)
		}
		e.sum.Finished++
		e.sum.LastFinish = e.now
	} else {
		e.sum.Failed++
	}
	why := policy.Done
	if o != Finished {
		why = policy.Taken
	}
	if j.kept != nil {
		e.freeKept(j, why)
	}
	if j.master >= 0 {
		e.giveBackRecord(j, j.master, why)
		e.endStarting(j.master)
		j.master = -1
	}
	for k, p := range e.pools {
		v := &j.views[k]
		if v.Pending > 0 {
			e.queues[j.queue].pending -= v.Pending
			v.Pending = 0
			p.waiting--
			p.asks.remove(v.Ask)
		}
		p.order.Left(v)
		if p.place != nil {
			p.place.Left(v)
		}
		p.due = true
	}
	if j.rec.Start < 0 {
		e.queues[j.queue].waiting--
	} else {
		e.queues[j.queue].running--
	}
	e.present--
	e.cfg.Sink.Job(&j.rec)
	e.drop(j)
}

// drop frees a job's index and keeps its memory for the next one.
func (e *engine) drop(j *job) {
	if e.steering != nil && e.steering.byID[j.src.ID] == j {
		delete(e.steering.byID, j.src.ID)
	}
	clear(j.stages) // with what they point to
	*j = job{index: j.index, gone: j.gone, stages: j.stages[:0]}
	e.jobs[j.index] = nil
	e.spare = append(e.spare, j.index)
	e.old = append(e.old, j)
}
