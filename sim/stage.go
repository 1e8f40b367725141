package sim

import (
	"math"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// stage is the state of one stage.
//
// Invariants: Done + Running + Pending == Tasks before redo is counted: a lost task becomes pending again.
// open implies that the stages it needs are done as far as slow-start requires, and settled unless they are in another pool or an AM
// holds its tasks back. 0 <= Later <= Pending; the job requests the other pending tasks.
type stage struct {
	*policy.Stage // counts and ask, as the policy sees them

	mark     int64     // done count at which a later stage may change state
	next     int64     // number of the next task that was never started
	open     bool      // may take containers
	released bool      // every stage it needs is complete: its tasks may work
	settled  bool      // it, and every stage it needs, has started all its tasks
	freed    unit.Time // when it was released
	waits    int32     // list of tasks that hold a container and wait for other stages; -1: none
	fixed    unit.Time // task length, if equal for all; -1 otherwise
	near     *nearness
	copies   *copies // of its tasks; nil: no speculation
	length   *workload.Lengths
	seed     uint64
	redo     []again
}

// again is a task that must run again.
type again struct {
	number  int64
	attempt uint16
}

func (s *stage) complete() bool { return s.released && s.Done == s.Tasks }

// refresh determines which stages may now take containers and which waiting tasks may begin. It is called when a stage's
// done count reaches its mark and when a stage has started its last task; both are rare in a job's life.
func (e *engine) refresh(j *job) {
	if !j.ready {
		return
	}
	for i := range j.stages {
		s := &j.stages[i]
		s.mark = s.Tasks
		s.settled = true
		if s.complete() {
			continue
		}
		open, released, settled := true, true, true
		for _, edge := range s.After {
			source := &j.stages[edge.From]
			if source.complete() {
				continue
			}
			released = false
			need := int64(math.Ceil(edge.SlowStart * float64(source.Tasks)))
			if source.Done < need {
				open = false
				source.mark = min(source.mark, need)
			}
			if !source.settled {
				settled = false
				// A reduce in its own kind of slot takes nothing from the maps it waits for, which wait for nothing.
				open = open && (j.ramps || j.overlaps || s.Slot == policy.ReduceSlot && source.Slot == policy.MapSlot && source.released)
			}
		}
		s.settled = settled && s.Pending == 0
		if released && !s.released {
			s.released, s.freed = true, e.now
			e.release(j, i)
		}
		if open && !s.open {
			s.open = true
			e.openStage(j, i)
		}
	}
	if j.ramps {
		e.updateAM(j)
	}
}

// openStage lets a stage take containers.
func (e *engine) openStage(j *job, i int) {
	s := &j.stages[i]
	if s.Pending == 0 {
		return
	}
	s.near = e.newNearness(j, i)
	if j.ramps && len(s.After) > 0 {
		return // the AM asks for its tasks: see ramp
	}
	s.Later = 0
	e.want(j, s.Slot, s.Pending)
}

// want adds n containers to a job's requests in a pool; a negative n withdraws.
func (e *engine) want(j *job, pool uint8, n int64) {
	p, v := e.pools[pool], &j.view
	waited, ask, front := v.Waiting[pool] > 0, v.Ask, v.Front
	v.Want(pool, n)
	e.line.Queues[j.queue].Pending += n
	p.advance(j)
	if n > 0 || v.Ask != ask {
		p.due = true
		p.changed()
	}
	if !waited || n < 0 || e.chooses || v.Ask != ask || (v.Front < 0) != (front < 0) {
		e.order.Changed(e.now, v)
	}
}

// advance books what the job wants next of the pool, after a change.
func (p *pool) advance(j *job) {
	k, v := p.id, &j.view
	p.unpark(j)
	booked, old, next := j.booked[k], unit.Resources{}, unit.Resources{}
	if booked {
		old = j.booking(k)
	}
	if j.booked[k] = v.Waiting[k] > 0; j.booked[k] {
		j.front[k] = int16(j.first(k))
		if j.mixed {
			j.minAsk = j.smallest(int(j.front[k]))
		}
		next = j.booking(k)
	}
	if booked && (!j.booked[k] || next != old) {
		p.asks.Remove(old)
		p.waiting--
	}
	if j.booked[k] && (!booked || next != old) {
		p.asks.Add(next)
		p.waiting++
	}
	if v.Waiting[policy.MapSlot] == 0 {
		k = policy.ReduceSlot
	} else {
		k = policy.MapSlot
	}
	if v.Pending > 0 {
		v.Front = int(j.front[k])
		v.Ask = j.asks(v.Front)
		if n := j.together(v.Front); n > 1 {
			v.Ask = v.Ask.Times(n)
		}
	}
	if h := &p.hold; h.job == j && (!j.booked[p.id] || int(j.front[p.id]) != h.stage || j.together(h.stage) != h.tasks) {
		p.release() // it no longer wants that
	}
}

// booking is the smallest ask of the job in a pool, as booked.
func (j *job) booking(pool uint8) unit.Resources {
	if j.mixed {
		return j.minAsk
	}
	return j.asks(int(j.front[pool]))
}

// smallest is the componentwise min of the asks of the front stage and those that may start in its place.
func (j *job) smallest(front int) unit.Resources {
	minAsk := j.asks(front)
	if front < 0 {
		return minAsk
	}
	for i := j.beside(front, 0, minAsk); i >= 0; i = j.beside(front, i+1, j.stages[front].Ask) {
		minAsk = minAsk.Min(j.stages[i].Ask)
	}
	return minAsk
}

// first is what the job wants next from a pool: its AM, a container to keep, or a task of the first stage that has one to start.
// Reduces that an AM requests outrank maps.
func (j *job) first(pool uint8) int {
	switch {
	case !j.view.AM.IsZero() && j.am < 0:
		return policy.AMStage
	case j.kept != nil:
		return policy.KeptStage
	}
	found := -1
	for i := range j.stages {
		s := &j.stages[i]
		if s.Slot != pool || s.Open() == 0 && !s.copies.asked() || found >= 0 && len(s.After) == 0 {
			continue
		}
		if found = i; !j.ramps || len(s.After) > 0 {
			break
		}
	}
	if found < 0 {
		return int(j.front[pool])
	}
	return found
}

// together is the number of tasks of a stage that must start at once.
func (j *job) together(stage int) int64 {
	if stage < 0 || j.stages[stage].Gang <= 1 {
		return 1
	}
	s := &j.stages[stage]
	return min(s.Gang, s.Open())
}

// asks is the container size of a task of a stage, an AM or a kept container.
func (j *job) asks(stage int) unit.Resources {
	switch {
	case stage >= 0:
		return j.stages[stage].Ask
	case stage == policy.AMStage:
		return j.view.AM
	}
	return j.src.Keep.Ask
}

// release starts the work of the tasks that held a container and waited.
func (e *engine) release(j *job, i int) {
	s := &j.stages[i]
	if e.spec != nil {
		e.spec.watch(j, s)
	}
	t := s.waits
	s.waits = -1
	for t >= 0 {
		tk := &e.tasks[t]
		next := tk.next
		tk.flags &^= taskWaits
		if e.cfg.Worker == nil {
			e.schedule(j, i, t)
		}
		t = next
	}
	if e.cfg.Worker != nil {
		e.cfg.Worker.Released(j.rec.Seq, i)
	}
}
