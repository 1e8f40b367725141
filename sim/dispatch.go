package sim

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// dispatch looks at the whole pool after something changed: work arrived, a stage opened, a job left its share to others.
// With heartbeats it only makes sure that the next free node will be heard.
func (p *pool) dispatch() {
	p.due = false
	for _, i := range p.freed {
		p.offerNode(&p.nodes[i]) // parked jobs are not asked below
	}
	p.freed = p.freed[:0]
	if p.waiting == 0 {
		return
	}
	if p.beats != nil {
		p.nextBeat()
		return
	}
	p.offer.Now, p.offer.Node = p.e.now, nil
	p.failed = p.failed[:0]
	if p.e.byNode {
		p.offerAll()
		return
	}
	for p.waiting > p.parked && p.asks.least.Fits(p.free) && p.rooms.may(p.asks.least) {
		p.refused = 0
		if !p.e.order.Ranked(&p.offer, p.anyNode) {
			break
		}
	}
	p.due = false // starts may have set it; everything was offered just now
}

// offerAll offers every node with room, but for those that the order has nothing for.
func (p *pool) offerAll() {
	for from := int32(0); p.waiting > 0 && int(from) < len(p.nodes); {
		at := p.rooms.find(p.asks.least, from)
		if at < from {
			break // none, or it has gone around
		}
		p.offer.Next = 0
		p.offerNode(&p.nodes[at])
		from = max(at+1, p.offer.Next)
	}
	p.due = false
}

// offerNode hands out the free room of one node.
func (p *pool) offerNode(n *policy.Node) {
	if p.e.unfit(n.Index) || p.parked == p.waiting && !p.wanted(n) {
		return
	}
	p.offer.Now, p.offer.Node = p.e.now, n
	for given := 1; p.waiting > 0 && p.asks.least.Fits(n.Free); given++ {
		p.refused = 0
		if !p.e.order.Ranked(&p.offer, p.onNode) || given == p.e.model.PerBeat {
			break
		}
	}
}

// tryOnNode starts the job's next task on the offered node, if it fits.
func (p *pool) tryOnNode(v *policy.Job) policy.Verdict {
	n, e := p.offer.Node, p.e
	if v.Waiting[p.id] <= 0 {
		return policy.Pass // it waits for the other kind of slot
	}
	if e.gangs && e.jobs[v.Index].together(v.Front) > 1 {
		return p.tryGang(v)
	}
	j, s := e.jobs[v.Index], v.Front
	if !v.Ask.Fits(n.Free) {
		if !j.mixed || !j.least.Fits(n.Free) {
			return p.pass()
		}
		if s = j.beside(s, 0, n.Free); s < 0 {
			return p.pass()
		}
	}
	if e.cfg.Cluster.Slots {
		s = int(j.front[p.id])
	}
	near, number := policy.NoPreference, int64(-1)
	if s >= 0 {
		if j.stages[s].Open() == 0 {
			if near, number = e.spec.copyFor(j, s, n.Index); number < 0 {
				if s = j.beside(s, s+1, n.Free); s < 0 {
					return p.pass()
				}
			}
		}
		if st := &j.stages[s]; st.near != nil && st.Open() > 0 {
			if j.parked && j.floor >= policy.RackLocal && st.near.FirstAt(&st.near.Nodes, n.Index) < 0 {
				return policy.Pass
			}
			near, number = st.near.Best(n.Index, n.Rack)
		}
		if e.place != nil {
			if j.parked && near <= j.floor {
				return policy.Pass
			}
			if !p.suits(j, s, n, near) {
				return p.pass()
			}
		}
	}
	e.start(p, j, s, n, near, number)
	return policy.Took
}

// tryAnyNode finds a node for the job's next task, the nearest to its input that has room.
func (p *pool) tryAnyNode(v *policy.Job) policy.Verdict {
	if v.Waiting[p.id] <= 0 {
		return policy.Pass
	}
	e := p.e
	j := e.jobs[v.Index]
	if j.parked {
		return policy.Pass
	}
	if e.gangs && j.together(v.Front) > 1 {
		return p.tryGang(v)
	}
	near, number, at := policy.NoPreference, int64(-1), int32(-1)
	s := v.Front
	if e.cfg.Cluster.Slots {
		s = int(j.front[p.id])
	}
	if s >= 0 && j.stages[s].Open() == 0 {
		if near, number, at = e.spec.copyAnywhere(p, j, s); at < 0 {
			if s = j.beside(s, s+1, v.Ask); s < 0 {
				return p.pass()
			}
		}
	}
	if at >= 0 { // a copy
		if e.place != nil && !p.suits(j, s, &p.nodes[at], near) {
			return p.pass()
		}
	} else {
		near, number, at = p.seek(j, s)
	}
	for i, front := 0, s; at == -1 && j.mixed && j.least != v.Ask; i++ {
		if i = j.beside(front, i, v.Ask); i < 0 {
			break
		}
		s = i
		near, number, at = p.seek(j, s)
	}
	if at < 0 || e.unfit(at) {
		return p.pass()
	}
	p.cursor = at + 1
	e.start(p, j, s, &p.nodes[at], near, number)
	return policy.Took
}

// seek finds a node for a task of a stage, or for what a job wants before its stages: where the place likes it best, or else the
// nearest to its input that has room.
func (p *pool) seek(j *job, s int) (policy.Near, int64, int32) {
	switch {
	case s >= 0 && p.e.place != nil:
		return p.best(j, s)
	case s >= 0 && j.stages[s].near != nil:
		return j.stages[s].near.choose(p, j.stages[s].Ask)
	}
	return policy.NoPreference, -1, p.findRoom(j.asks(s))
}

// tryGang starts as many tasks of the job's next stage as must start together, wherever there is room; or none.
func (p *pool) tryGang(v *policy.Job) policy.Verdict {
	e, j, stage := p.e, p.e.jobs[v.Index], v.Front
	n, ask := j.together(stage), j.asks(stage)
	p.gang = p.gang[:0]
	for int64(len(p.gang)) < n {
		at := p.rooms.find(ask, p.cursor)
		if at < 0 || e.unfit(at) {
			break
		}
		p.cursor = at + 1
		p.gang = append(p.gang, at)
		p.nodes[at].Free = p.nodes[at].Free.Sub(ask)
		p.rooms.touch(at)
	}
	for _, at := range p.gang {
		p.nodes[at].Free = p.nodes[at].Free.Add(ask)
		p.rooms.touch(at)
	}
	if int64(len(p.gang)) < n {
		return p.pass()
	}
	for _, at := range p.gang {
		e.start(p, j, stage, &p.nodes[at], policy.NoPreference, -1)
	}
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

// start gives the job a container: its master, one it keeps, or a task of a stage. number is the task chosen
// for its nearness, or -1 for the next one. Where no task is left to start it is a copy that was asked for: number is then the
// record of the task that it races.
func (e *engine) start(p *pool, j *job, front int, n *policy.Node, near policy.Near, number int64) {
	v := &j.view
	if j.parked {
		p.unpark(j)
		p.due = true // it may begin to wait for its next one now
	}
	ask := j.asks(front)
	n.Free, p.free = n.Free.Sub(ask), p.free.Sub(ask)
	p.rooms.touch(n.Index)
	p.changed()
	v.Want(p.id, -1)
	v.Hold(e.now, ask)
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
	case front >= 0 && j.stages[front].Open() == 0:
		copied = true
		e.spec.start(j, front, n.Index, near, int32(number))
	case front >= 0:
		s := &j.stages[front]
		number, attempt := s.take(number)
		j.rec.Near[near]++
		dry = s.Open() == 0
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
	if v.Waiting[p.id] == 0 || dry || copied || front == policy.MasterStage || e.spec != nil {
		p.advance(j)
	}
	e.started(v, front, n, ask)
	if e.place != nil && front >= 0 {
		e.place.Placed(v, front, n, near)
	}
	switch {
	case !dry:
	case j.stages[front].Later > 0:
		e.look(j) // the AM may ask for another reduce
	default:
		e.refresh(j) // the last task of a stage has started: the next stage may open
	}
}

// started notifies the policy of a container, or of a task in one that is kept.
func (e *engine) started(v *policy.Job, stage int, n *policy.Node, size unit.Resources) {
	ev := &e.event
	ev.Now, ev.Job, ev.Stage, ev.Node, ev.Size, ev.Held, ev.Worked, ev.Why = e.now, v, stage, n, size, 0, 0, policy.Done
	e.order.Started(ev)
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
	s.Pending--
	s.Running++
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
