package sim

import (
	"math"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// stage is the state of one stage.
//
// Invariants: done + running + pending == total before redo is counted: a lost task becomes pending again.
// open implies that the stages it needs are done as far as slow-start says, and settled unless they are in another pool or an AM holds
// its tasks back. 0 <= back <= pending; the job asks for pending - back of its tasks.
type stage struct {
	total, pending, running, done int64

	back     int64 // pending tasks that are not asked for
	mark     int64 // done count at which a later stage may change state
	next     int64 // number of the next task that was never started
	pool     uint8
	open     bool      // may take containers
	released bool      // every stage it needs is complete: its tasks may work
	settled  bool      // it, and every stage it needs, has started all its tasks
	freed    unit.Time // when it was released
	waits    int32     // list of tasks that hold a container and wait for other stages; -1: none
	fixed    unit.Time // task length, where all are alike; -1 otherwise
	near     *nearness
	copies   *copies // of its tasks; nil: there can be none
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
				open = open && (j.ramps || s.pool == 1 && up.pool == 0 && up.released)
			}
		}
		s.settled = settled && s.pending == 0
		if released && !s.released {
			s.released, s.freed = true, e.now
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
	if j.ramps {
		if hangs, _ := e.ramp(j); hangs {
			e.call(j, true)
		}
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
	if j.ramps && len(s.after) > 0 {
		return // the AM asks for its tasks: see ramp
	}
	s.back = 0
	e.want(j, s.pool, s.pending)
}

// want adds n containers to what a job wants of a pool.
func (e *engine) want(j *job, pool uint8, n int64) {
	p, v := e.pools[pool], &j.views[pool]
	was, ask, front := v.Pending, v.Ask, v.Front
	v.Pending += n
	e.line.Queues[j.queue].Pending += n
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

// wantLess takes back a wish for n containers of a pool.
func (e *engine) wantLess(j *job, pool uint8, n int64) {
	p, v := e.pools[pool], &j.views[pool]
	ask := v.Ask
	v.Pending -= n
	e.line.Queues[j.queue].Pending -= n
	if v.Pending == 0 {
		p.waiting--
		p.asks.remove(ask)
		return // the policy hears of it when it hears what became of the task
	}
	if j.advance(pool); v.Ask != ask {
		p.asks.remove(ask)
		p.asks.add(v.Ask)
		p.due = true
		p.order.Ready(v)
	}
}

// advance points a view at what the job wants next: its master, a container to keep, or a task of the first stage that has
// one to start. Reduces that an AM asks for outrank maps.
func (j *job) advance(pool uint8) {
	v := &j.views[pool]
	switch {
	case !v.Master.IsZero() && j.master < 0:
		v.Front, v.Ask = policy.MasterStage, v.Master
	case j.kept != nil:
		v.Front, v.Ask = policy.KeptStage, j.kept.ask
	default:
		found := false
		for i := range j.stages {
			s := &j.stages[i]
			if s.pool != pool || s.pending == s.back && !s.copies.asked() || found && len(s.after) == 0 {
				continue
			}
			v.Front, v.Ask, found = i, s.ask, true
			if !j.ramps || len(s.after) > 0 {
				break
			}
		}
	}
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
