package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// job is a job that is present.
type job struct {
	src    *workload.Job
	index  int32
	queue  int32
	seed   uint64
	view   policy.Job // what the policy sees
	stages []stage
	shown  []policy.Stage      // the stages in the view
	front  [policy.Slots]int16 // by pool: what it wants next
	booked [policy.Slots]bool  // whether it wants anything
	left   int64               // tasks not done
	rates  []float64           // speeds of the kinds of machines for its tasks; see speeds

	attained unit.Resources // see steering.book
	tags     string         // see sensors.Tags
	am       int32          // its task record; -1: none
	ready    bool           // the AM is up (or there is none): stages may take containers
	gone     bool
	plain    bool // its running tasks need no records
	ramps    bool // it is MapReduce with Hadoop's AM, which holds reduces back while maps wait
	overlaps bool // it is MapReduce and requests reduces while maps wait, from slow-start on
	calls    bool // a call of its AM is queued: see call
	mixed    bool // its stages ask for containers of several sizes
	parked   bool // it waits for a node nearer than floor: see parking
	floor    policy.Near
	again    unit.Time      // when it is offered containers again
	holdAt   unit.Time      // from when room is held for its gang; 0: it has not lacked room at its turn
	minAsk   unit.Resources // componentwise min of what it wants next, if mixed
	// Its AM is updated when a map ends: maps wait, and reduces may be requested, withdrawn or killed.
	watches bool
	ramped  bool // every reduce has its container: its AM changes nothing unless maps hang
	kept    *kept
	racks   [2][]int32 // of the first replica of its input, and of the others; none: any
	rec     JobRecord
}

func (e *engine) arrive() {
	src := e.next
	if e.err = e.readAhead(e.now, &e.q); e.err == nil {
		e.submit(src)
	}
}

// submit admits a job and lets it begin.
func (e *engine) submit(src *workload.Job) {
	if e.sum.FirstSubmit < 0 {
		e.sum.FirstSubmit = src.Submit
	}
	e.sum.Submitted++
	j := e.admit(src)
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
	if j.kept != nil {
		j.kept.d.Begin(e.now)
		e.drive(j)
		return
	}
	e.refresh(j)
	if j.left == 0 {
		e.done(j, Finished)
	}
}

// admit creates the job's state and passes it to the policies; nil: refused.
func (e *engine) admit(src *workload.Job) *job {
	j := e.newJob(src)
	refusal := e.tooLarge(j)
	if refusal == nil {
		refusal = e.order.Arrived(e.now, &j.view)
	}
	if refusal != nil {
		e.sum.Refused++
		j.rec.Outcome, j.rec.Reason = Refused, refusal.Error()
		e.cfg.Sink.Job(&j.rec)
		e.drop(j)
		return nil
	}
	if e.present++; e.present == 1 {
		e.sum.Present -= e.now
	}
	if e.cfg.Worker != nil {
		e.cfg.Worker.Arrived(src, j.rec.Seq)
		if e.policy.Gathers != nil && e.policy.Gathers(&j.view) {
			e.cfg.Worker.(Gatherer).Gather(j.rec.Seq)
		}
	}
	if e.policy.Input != nil {
		j.racks[0], j.racks[1] = e.policy.Input(&j.view)
	}
	e.line.Queues[j.queue].Waiting++
	if e.steering != nil {
		e.steering.byID[src.ID] = j
	}
	return j
}

func (e *engine) newJob(src *workload.Job) *job {
	j := e.enter()
	seq := e.nextSeq
	e.nextSeq++
	j.src, j.am, j.attained = src, -1, unit.Resources{}
	j.seed = jobSeed(e.cfg.Seed, seq)
	j.queue = e.line.Index(src.Queue)
	j.rec = JobRecord{Job: src, Seq: seq, Start: -1, Finish: -1, Gang: -1}
	slots := e.cfg.Cluster.Slots
	var input unit.Bytes
	gangs := false
	j.shown = slices.Grow(j.shown, len(src.Stages))[:len(src.Stages)]
	for i := range src.Stages {
		s := &src.Stages[i]
		j.shown[i] = policy.Stage{Tasks: s.Tasks, Pending: s.Tasks, Later: s.Tasks, Ask: s.Ask, After: s.After, Gang: s.Gang}
		gangs = gangs || s.Gang > 1
		st := stage{Stage: &j.shown[i], seed: workload.Seed(j.seed, uint64(i)), length: &s.Length, waits: -1, fixed: -1}
		if l, ok := s.Length.IsConstant(); ok {
			st.fixed = l
		}
		if slots {
			st.Ask = cluster.Unit
			if s.Kind == workload.Reduce {
				st.Slot = policy.ReduceSlot
			}
		}
		j.mixed = j.mixed || st.Ask != j.shown[0].Ask
		j.left += s.Tasks
		input += s.Input
		j.stages = append(j.stages, st)
	}
	e.gangs = e.gangs || gangs
	if src.Keep != nil && !slots {
		j.kept = newKept(src)
	}
	j.rates = e.speeds.Rates(src, j.rates)
	j.mixed = j.mixed && j.kept == nil
	if !slots && src.Keep == nil && len(src.Stages) > 1 && am.IsMapReduce(src) {
		j.overlaps = e.model.Application == am.Overlap
		j.ramps = e.model.Application != am.MapsFirst && !j.overlaps && !gangs // a gang is requested at once
	}
	j.ready = src.AM.IsZero() || slots // Hadoop 1 has no AMs
	j.plain = !e.careful && j.kept == nil && j.index < 1<<jobBits
	j.view = policy.Job{
		Seq: seq, Index: j.index, ID: src.ID, User: src.User, Queue: e.line.Queues[j.queue].Name, Class: src.Class, Priority: src.Priority,
		Submitted: src.Submit, Deadline: src.Deadline, AM: src.AM, Tasks: j.left, Input: input, Stages: j.shown,
	}
	if slots {
		j.view.AM = unit.Resources{}
	}
	return j
}

// tooLarge reports a container that no node could ever hold, or a gang that would never fit.
func (e *engine) tooLarge(j *job) error {
	if e.cfg.Cluster.Slots {
		for i := range j.stages {
			s := &j.stages[i]
			name := [...]string{"map", "reduce"}[s.Slot]
			if s.Tasks > 0 && e.pools[s.Slot].empty {
				return fmt.Errorf("needs %v slots and the cluster has none", name)
			}
			if n := min(s.Gang, s.Tasks); n > 1 && n > e.slots(s.Slot) {
				return fmt.Errorf("asks for %d %s slots at once: the cluster has %d", n, name, e.slots(s.Slot))
			}
		}
		return nil
	}
	if !j.ready && !e.fits(j.src.AM) {
		return fmt.Errorf("its AM asks for %v: no node is that large", j.src.AM)
	}
	if j.kept != nil {
		if !e.fits(j.src.Keep.Ask) {
			return fmt.Errorf("asks for containers of %v: no node is that large", j.src.Keep.Ask)
		}
		return CheckGangs(e.cfg.Cluster, j.src)
	}
	for i := range j.stages {
		s := &j.stages[i]
		if s.Tasks > 0 && !e.fits(s.Ask) {
			return fmt.Errorf("asks for containers of %v: no node is that large", s.Ask)
		}
	}
	return CheckGangs(e.cfg.Cluster, j.src)
}

// CheckGangs is for engines: it reports a gang that the cluster could never hold beside the job's AM.
func CheckGangs(c *cluster.Cluster, j *workload.Job) error {
	for i := range j.Stages {
		s := &j.Stages[i]
		n := min(s.Gang, s.Tasks)
		if n <= 1 {
			continue
		}
		if j.Keep != nil {
			return errors.New("its tasks start together (a gang), and it runs them in containers that it keeps: these start one by one")
		}
		room, cost := c.Containers(s.Ask), int64(math.MaxInt64) // of the AM, where it takes the place of the fewest
		for k := range c.Nodes {
			if r := c.Nodes[k].Room; j.AM.Fits(r) {
				cost = min(cost, r.Count(s.Ask)-r.Sub(j.AM).Count(s.Ask))
			}
		}
		if cost < math.MaxInt64 && n > room-cost {
			return fmt.Errorf("asks for %d containers of %v at once: the cluster has room for %d", n, s.Ask, room-cost)
		}
	}
	return nil
}

// done ends a job.
func (e *engine) done(j *job, o Outcome) {
	j.gone = true
	e.sum.End(&j.rec, o, e.now)
	if s := e.steering; s != nil {
		s.JobEnded(j.src, s.queueOf(j), o == Finished, s.service(j))
		if s.byID[j.src.ID] == j {
			delete(s.byID, j.src.ID)
		}
	}
	reason := policy.Taken
	if o == Finished {
		reason = policy.Done
		if j.rec.Start < 0 { // it had no task to wait for
			j.rec.Start = e.now
			e.line.Queues[j.queue].Waiting--
			e.line.Queues[j.queue].Running++
		}
		if !e.cfg.NoAlone {
			j.rec.Alone = e.alone.Of(j.src, j.rec.Seq)
		}
		for i := range j.shown {
			j.rec.Size += j.shown[i].Worked
		}
	}
	if j.kept != nil {
		e.freeKept(j, reason)
	}
	if j.am >= 0 {
		e.giveBackRecord(j, j.am, reason)
		e.endStarting(j.am)
		j.am = -1
	}
	e.line.Queues[j.queue].Pending -= j.view.Pending
	j.view.Pending, j.view.Waiting = 0, [policy.Slots]int64{}
	e.order.Left(e.now, &j.view)
	if e.place != nil {
		e.place.Left(e.now, &j.view)
	}
	for _, p := range e.pools {
		p.advance(j)
		p.changed()
		p.due = true
	}
	if j.rec.Start < 0 {
		e.line.Queues[j.queue].Waiting--
	} else {
		e.line.Queues[j.queue].Running--
	}
	if e.present--; e.present == 0 {
		e.sum.Present += e.now
	}
	if e.cfg.Worker != nil {
		e.cfg.Worker.Left(j.rec.Seq)
	}
	e.cfg.Sink.Job(&j.rec)
	if o == Finished && e.err == nil && e.cfg.Follow != nil {
		e.err = e.follow(e.cfg.Follow(&j.rec), e.now, &e.q)
	}
	e.drop(j)
}
