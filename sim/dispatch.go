package sim

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// dispatch looks at the whole pool after something changed: work arrived, a stage opened, a job left its share to others.
// With heartbeats it only makes sure that the next free node will be heard.
func (p *pool) dispatch() {
	p.due = false
	if p.waiting == 0 {
		return
	}
	if p.beats != nil {
		p.nextBeat()
		return
	}
	p.offer.Now, p.offer.Node = p.e.now, nil
	p.failed = p.failed[:0]
	for p.waiting > 0 && p.asks.least.Fits(p.rooms.largest()) {
		p.refused = 0
		if !p.order.Ranked(&p.offer, p.anyNode) {
			break
		}
	}
	p.due = false // starts may have set it; everything was offered just now
}

// offerNode hands out the free room of one node.
func (p *pool) offerNode(n *policy.Node) {
	if p.e.unfit(n.Index) {
		return
	}
	p.offer.Now, p.offer.Node = p.e.now, n
	for given := 1; p.waiting > 0 && p.asks.least.Fits(n.Free); given++ {
		p.refused = 0
		if !p.order.Ranked(&p.offer, p.onNode) || given == p.e.model.PerBeat {
			break
		}
	}
}

// tryOnNode starts the job's next task on the offered node, if it fits.
func (p *pool) tryOnNode(v *policy.Job) policy.Verdict {
	n := p.offer.Node
	if !v.Ask.Fits(n.Free) || v.Pending <= 0 {
		return p.pass()
	}
	e := p.e
	j := e.jobs[v.Index]
	near, number := policy.NoPreference, int64(-1)
	if s := v.Front; s >= 0 {
		if j.stages[s].pending == 0 {
			if near, number = e.spec.copyFor(j, s, n.Index); number < 0 {
				if s = j.beside(s); s < 0 {
					return p.pass()
				}
			}
		}
		if st := &j.stages[s]; st.near != nil && st.pending > 0 {
			near, number = st.near.Best(n.Index, n.Rack)
		}
		if p.place != nil && p.place.Fit(v, s, n, near) < 0 {
			p.place.Skipped(v, s)
			return p.pass()
		}
		v.Front = s
	}
	e.start(p, j, n, near, number)
	return policy.Took
}

// tryAnyNode finds a node for the job's next task, the nearest to its input that has room.
func (p *pool) tryAnyNode(v *policy.Job) policy.Verdict {
	if v.Pending <= 0 {
		return p.pass()
	}
	e := p.e
	j := e.jobs[v.Index]
	near, number, at := policy.NoPreference, int64(-1), int32(-1)
	s := v.Front
	if s >= 0 && j.stages[s].pending == 0 {
		if near, number, at = e.spec.copyAnywhere(p, j, s); at < 0 {
			if s = j.beside(s); s < 0 {
				return p.pass()
			}
		}
	}
	switch {
	case at >= 0: // a copy
	case s >= 0 && j.stages[s].near != nil:
		near, number, at = j.stages[s].near.choose(p, v.Ask)
	default:
		at = p.findRoom(v.Ask)
	}
	if at < 0 || e.unfit(at) {
		return p.pass()
	}
	n := &p.nodes[at]
	if p.place != nil && s >= 0 && p.place.Fit(v, s, n, near) < 0 {
		p.place.Skipped(v, s)
		return p.pass()
	}
	v.Front = s
	p.cursor = at + 1
	e.start(p, j, n, near, number)
	return policy.Took
}

// findRoom is a node with room for ask; -1: none. Within one look at the pool room only shrinks, so what is no smaller than
// an ask that failed fails too.
func (p *pool) findRoom(ask unit.Resources) int32 {
	for _, f := range p.failed {
		if f.Fits(ask) {
			return -1
		}
	}
	at := p.rooms.find(ask, p.cursor)
	if at < 0 && len(p.failed) < 16 {
		p.failed = append(p.failed, ask)
	}
	return at
}

func (p *pool) pass() policy.Verdict {
	if p.refused++; p.refused >= p.e.model.Lookahead {
		return policy.Enough
	}
	return policy.Pass
}

// start gives the job's next container: its master, one it keeps, or a task of its front stage. number is the task chosen
// for its nearness, or -1 for the next one. Where no task is left to start it is a copy that was asked for: number is then the
// record of the task that it races.
func (e *engine) start(p *pool, j *job, n *policy.Node, near policy.Near, number int64) {
	v := &j.views[p.id]
	ask, front := v.Ask, v.Front
	n.Free, p.free = n.Free.Sub(ask), p.free.Sub(ask)
	p.rooms.touch(n.Index)
	p.changed()
	v.Pending--
	v.Running++
	v.Used = v.Used.Add(ask)
	q := &e.line.Queues[j.queue]
	q.Hold(e.now-e.line.From, ask.Mem)
	e.sum.Decisions++
	j.rec.Containers++
	if j.rec.Start < 0 {
		j.rec.Start = e.now
		q.Waiting--
		q.Running++
	}
	q.Pending--
	dry, copied := false, false
	switch {
	case front >= 0 && j.stages[front].pending == 0:
		copied = true
		e.spec.start(j, front, n.Index, near, int32(number))
	case front >= 0:
		s := &j.stages[front]
		number, attempt := s.take(number)
		j.rec.Near[near]++
		dry = s.pending == s.back
		if s.released && j.plain {
			e.work(j, front, n.Index, e.now, number)
		} else {
			t := e.newRecord(j.index, n.Index, int16(front))
			e.tasks[t].near = uint8(near)
			e.startRecorded(j, front, t, number, attempt, 0)
		}
	case front == policy.MasterStage:
		j.master = e.newRecord(j.index, n.Index, int16(front))
		e.q.Push(e.now+e.masterStart(j), evUp|uint64(j.master), 0)
	default:
		e.startKept(j, e.newRecord(j.index, n.Index, int16(front)))
	}
	if v.Pending == 0 {
		p.waiting--
		p.asks.remove(ask)
	} else if dry || copied || front == policy.MasterStage || e.spec != nil {
		if j.advance(uint8(p.id)); v.Ask != ask {
			p.asks.remove(ask)
			p.asks.add(v.Ask)
		}
	}
	p.order.Started(v, front, ask)
	if p.place != nil && front >= 0 {
		p.place.Placed(v, front, n, near)
	}
	if dry {
		e.refresh(j) // the last task of a stage that is asked for has started: the next stage may open
	}
}

// masterStart is how long a job's master takes from its container to its first request. Where a worker plays the tasks, a job may
// say it; otherwise a master starts as any container does.
func (e *engine) masterStart(j *job) unit.Time {
	if e.cfg.Worker != nil && j.src.MasterStart > 0 {
		return j.src.MasterStart
	}
	return e.model.StartUp
}

// take removes one task from those pending: the one that was chosen, one that must run again, or the next.
func (s *stage) take(chosen int64) (number int64, attempt uint16) {
	s.pending--
	s.running++
	switch k := len(s.redo); {
	case chosen >= 0:
		s.near.Take(chosen)
		if k > 0 {
			attempt = s.takeRedo(chosen)
		}
		return chosen, attempt
	case k > 0:
		a := s.redo[k-1]
		s.redo = s.redo[:k-1]
		return a.number, a.attempt
	}
	s.next++
	return s.next - 1, 0
}
