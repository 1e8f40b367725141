package sim

import (
	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// dispatch offers the whole pool after a change: work arrived, a stage opened, a job left its share to others.
// With heartbeats it only queues the next beat of a free node.
func (p *pool) dispatch() {
	if p.hold.complete() {
		p.startHeld()
	}
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
	for p.waiting > p.parked && p.asks.Min.Fits(p.free) && p.rooms.may(p.asks.Min, p.cursor) {
		p.refused = 0
		if !p.e.order.Ranked(&p.offer, p.anyNode) {
			break
		}
	}
	p.due = p.hold.complete() // starts may have set it, but everything has just been offered
}

// offerAll offers every node with room, except those that the order has nothing for.
func (p *pool) offerAll() {
	for start := int32(0); p.waiting > 0 && int(start) < len(p.nodes); {
		node := p.rooms.find(p.asks.Min, start)
		if node < start {
			break // none, or the search wrapped around
		}
		p.offer.Next = 0
		p.offerNode(&p.nodes[node])
		start = max(node+1, p.offer.Next)
	}
	p.due = p.hold.complete()
}

// offerNode offers the free room of one node.
func (p *pool) offerNode(n *policy.Node) {
	if p.e.unfit(n.Index) || p.parked == p.waiting && !p.wanted(n) {
		return
	}
	p.offer.Now, p.offer.Node = p.e.now, n
	for given := 1; p.waiting > 0 && p.asks.Min.Fits(n.Free); given++ {
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
	j, s := e.jobs[v.Index], v.Front
	if front := int(j.front[p.id]); e.gangs && j.together(front) > 1 {
		return p.tryGang(j, front)
	}
	if e.chooses {
		if s = p.offer.Stage; !j.asks(s).Fits(n.Free) || s >= 0 && j.stages[s].Slot != p.id {
			return p.pass()
		}
	} else if !v.Ask.Fits(n.Free) && !(e.cfg.Cluster.Slots && cluster.Unit.Fits(n.Free)) { // Ask may be that of a gang for the other kind of slot
		if !j.mixed || !j.minAsk.Fits(n.Free) {
			return p.pass()
		}
		if s = j.beside(s, 0, n.Free); s < 0 {
			return p.pass()
		}
	}
	if e.cfg.Cluster.Slots && !e.chooses {
		s = int(j.front[p.id])
	}
	near, number := policy.NoPreference, int64(-1)
	if s >= 0 {
		if j.stages[s].Open() == 0 {
			if near, number = e.spec.copyFor(j, s, n.Index); number < 0 {
				if e.chooses {
					return p.pass()
				}
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

// tryAnyNode starts the job's next task on the node with room nearest to its input.
func (p *pool) tryAnyNode(v *policy.Job) policy.Verdict {
	if v.Waiting[p.id] <= 0 {
		return policy.Pass
	}
	e := p.e
	j := e.jobs[v.Index]
	if j.parked {
		return policy.Pass
	}
	if front := int(j.front[p.id]); e.gangs && j.together(front) > 1 {
		return p.tryGang(j, front)
	}
	near, number, node := policy.NoPreference, int64(-1), int32(-1)
	s := v.Front
	if e.cfg.Cluster.Slots {
		s = int(j.front[p.id])
	}
	if s >= 0 && j.stages[s].Open() == 0 {
		if near, number, node = e.spec.copyAnywhere(p, j, s); node < 0 {
			if s = j.beside(s, s+1, v.Ask); s < 0 {
				return p.pass()
			}
		}
	}
	if node >= 0 { // a copy
		if e.place != nil && !p.suits(j, s, &p.nodes[node], near) {
			return p.pass()
		}
	} else {
		near, number, node = p.seek(j, s)
	}
	for i, front := 0, s; node == -1 && j.mixed && j.minAsk != v.Ask; i++ {
		if i = j.beside(front, i, v.Ask); i < 0 {
			break
		}
		s = i
		near, number, node = p.seek(j, s)
	}
	if node < 0 || e.unfit(node) {
		return p.pass()
	}
	p.cursor = node + 1
	e.start(p, j, s, &p.nodes[node], near, number)
	return policy.Took
}

// seek finds a node for a task of a stage, or for what a job wants before its stages: the one that the placement policy scores highest,
// or else the one with room nearest to its input.
func (p *pool) seek(j *job, s int) (policy.Near, int64, int32) {
	switch {
	case s >= 0 && p.e.place != nil:
		return p.best(j, s)
	case s >= 0 && j.stages[s].near != nil:
		return j.stages[s].near.choose(p, j.stages[s].Ask)
	}
	return policy.NoPreference, -1, p.findRoom(j.asks(s))
}

// findRoom returns a node with room for ask; -1: none. Within one dispatch room only shrinks, so an ask no smaller than a failed one
// fails too.
func (p *pool) findRoom(ask unit.Resources) int32 {
	for _, f := range p.failed {
		if f.Fits(ask) {
			return -1
		}
	}
	node := p.rooms.find(ask, p.cursor)
	if node < 0 && len(p.failed) < 16 {
		p.failed = append(p.failed, ask)
	}
	return node
}

func (p *pool) pass() policy.Verdict {
	if p.refused++; p.refused >= p.e.model.Lookahead {
		return policy.Enough
	}
	return policy.Pass
}

// start gives the job a container: for its AM, one it keeps, or for a task of a stage. number is the task chosen for its locality,
// or -1 for the next one. If no task is left to start, it is for a requested copy: number is then the record of the task that it
// races.
func (e *engine) start(p *pool, j *job, front int, n *policy.Node, near policy.Near, number int64) {
	v := &j.view
	if j.parked {
		p.unpark(j)
		p.due = true // it may now begin to wait for its next one
	}
	ask := j.asks(front)
	n.Free, p.free = n.Free.Sub(ask), p.free.Sub(ask)
	p.rooms.touch(n.Index)
	p.changed()
	v.Want(p.id, -1)
	v.Hold(e.now, ask)
	if e.steering != nil {
		e.steering.book(j, -1, ask)
	}
	q := &e.line.Queues[j.queue]
	q.Hold(e.now-e.line.From, ask.Mem)
	e.line.Named(1, ask.Uses(), e.now)
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
	case front == policy.AMStage:
		j.am = e.newRecord(j.index, n.Index, int16(front))
		e.q.Push(e.now+e.amStart(j), evUp|uint64(j.am), 0)
	default:
		e.startKept(j, e.newRecord(j.index, n.Index, int16(front)))
	}
	if v.Waiting[p.id] == 0 || dry || copied || front == policy.AMStage || e.spec != nil {
		p.advance(j)
	}
	e.started(v, front, n, ask)
	if e.place != nil && front >= 0 {
		e.place.Placed(v, front, n, near)
	}
	switch {
	case !dry:
	case j.stages[front].Later > 0:
		e.updateAM(j) // the AM may ask for another reduce
	default:
		e.refresh(j) // the last task of a stage has started: the next stage may open
	}
}

// started notifies the policy of a new container, or of a task in a kept one.
func (e *engine) started(v *policy.Job, stage int, n *policy.Node, size unit.Resources) {
	ev := &e.event
	ev.Now, ev.Job, ev.Stage, ev.Node, ev.Size, ev.Held, ev.Worked, ev.Why = e.now, v, stage, n, size, 0, 0, policy.Done
	e.order.Started(ev)
}

// amStart is the time from the allocation of an AM's container to its first request. If a worker plays the tasks, or the job keeps its containers, the
// job may set it; otherwise an AM starts as any container does.
func (e *engine) amStart(j *job) unit.Time {
	if (e.cfg.Worker != nil || j.kept != nil) && j.src.AMStart > 0 {
		return j.src.AMStart
	}
	return e.model.StartUp
}

// take removes one pending task: the chosen one, one that must run again, or the next.
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
