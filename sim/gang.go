package sim

import (
	"github.com/yardmaster/yardmaster/internal/gang"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// seat is what a task of the current gang takes.
type seat struct {
	node   int32
	near   policy.Near
	number int64 // of the task chosen for its locality; -1: the next one
}

// hold is room set aside for one gang, which smaller jobs would otherwise overtake for ever. All room on its nodes is held, and what is freed
// there is added to it; other jobs continue on other nodes.
//
// The nodes are chosen so that the gang fits once every task there has ended, not counting the room of AMs, kept containers and tasks that wait for
// other stages: those may need this very room to end. So a hold lasts no longer than the longest task on its nodes. There is one at a time, so
// two gangs never wait for each other's half.
type hold struct {
	job       *job // nil: no hold
	stage     int
	tasks     int64 // that start together
	ask       unit.Resources
	nodes     []int32
	isHeld    []bool           // by node
	room      []unit.Resources // by node: what is held there
	fit       int64            // tasks that fit into the held room
	mem       int64            // held, MiB
	accounted unit.Time        // up to when Summary.HeldMem includes it
}

func (h *hold) complete() bool { return h.job != nil && h.fit >= h.tasks }

// holder is the job that the room of a node is held for; nil: none.
func (p *pool) holder(node int32) *policy.Job {
	if h := &p.hold; h.job != nil && h.isHeld[node] {
		return &h.job.view
	}
	return nil
}

// tryGang starts the tasks of a stage that must start together: all, or none. Each takes the node that suits it best, given the room that those
// before it leave. An offer of one node may start a gang on any nodes: orders that divide the nodes refuse gangs.
func (p *pool) tryGang(j *job, s int) policy.Verdict {
	if p.hold.job == j {
		return p.pass() // see startHeld
	}
	e, st, v := p.e, &j.stages[s], &j.view
	n, cursor, t := j.together(s), p.cursor, seat{node: -1}
	p.gang = p.gang[:0]
	for p.free.Count(st.Ask) >= n && int64(len(p.gang)) < n {
		if e.place == nil && st.near == nil {
			t = seat{p.rooms.find(st.Ask, p.cursor), policy.NoPreference, -1}
		} else {
			t.near, t.number, t.node = p.seek(j, s)
		}
		if t.node < 0 || e.unfit(t.node) {
			break
		}
		p.gang = append(p.gang, t)
		p.cursor = t.node + 1
		p.nodes[t.node].Free = p.nodes[t.node].Free.Sub(st.Ask)
		p.rooms.touch(t.node)
		if t.number >= 0 {
			st.near.Take(t.number)
		}
	}
	p.numbers = p.numbers[:0]
	for _, r := range p.gang {
		p.nodes[r.node].Free = p.nodes[r.node].Free.Add(st.Ask)
		p.rooms.touch(r.node)
		if r.number >= 0 {
			p.numbers = append(p.numbers, r.number)
		}
	}
	if len(p.numbers) > 0 {
		st.near.Put(p.numbers...)
	}
	if int64(len(p.gang)) < n {
		p.cursor = cursor
		p.lackRoom(j, s, t.node == refused)
		return p.pass()
	}
	j.holdAt = 0
	j.rec.BeginGang(e.now)
	ask := v.Ask
	for _, t := range p.gang {
		e.start(p, j, s, &p.nodes[t.node], t.near, t.number)
	}
	if v.Waiting[p.id] > 0 {
		p.advance(j)
	}
	if v.Pending > 0 && v.Ask != ask { // fewer tasks than a gang are left, or none
		for _, other := range e.pools {
			other.changed()
			other.due = true
		}
		e.order.Changed(e.now, v)
	}
	return policy.Took
}

// lackRoom notes that a gang lacks room at its turn, and holds room for it once that has lasted for policy.GangPatience.
func (p *pool) lackRoom(j *job, s int, skipped bool) {
	switch now := p.e.now; {
	case j.holdAt == 0:
		j.holdAt = now + policy.GangPatience
	case j.holdAt <= now && p.hold.job == nil:
		p.holdFor(j, s, skipped)
	}
}

// holdFor chooses nodes for a gang and holds their room: those with the most free room first, and none that it can do without. If the nodes that
// the placement policy accepts are not enough, nothing is held for now.
func (p *pool) holdFor(j *job, s int, skipped bool) {
	e, h, st := p.e, &p.hold, &j.stages[s]
	if h.isHeld == nil {
		h.isHeld, h.room = make([]bool, len(p.nodes)), make([]unit.Resources, len(p.nodes))
	}
	for i := range p.nodes {
		h.room[i] = p.nodes[i].Total
	}
	for t := range e.tasks {
		if tk := &e.tasks[t]; tk.flags&(taskUnset|taskDead|taskInner) == 0 {
			if other := e.jobs[tk.job]; tk.stage < 0 || other.stages[tk.stage].Slot == p.id && !other.stages[tk.stage].released {
				h.room[tk.node] = h.room[tk.node].Sub(other.asks(int(tk.stage)))
			}
		}
	}
	var score func(*policy.Node) policy.Score
	if e.place != nil {
		score = func(n *policy.Node) policy.Score {
			how := policy.NoPreference
			if st.near != nil {
				how, _ = st.near.Best(n.Index, n.Rack)
			}
			return e.place.Score(e.now, &j.view, s, n, how)
		}
	}
	var waits bool
	h.tasks = j.together(s)
	h.nodes, waits = gang.Hold(h.tasks, st.Ask, h.room, func(i int32) *policy.Node {
		if e.unfit(i) {
			return nil
		}
		return &p.nodes[i]
	}, score)
	if h.nodes == nil {
		if j.holdAt = e.now + policy.GangPatience; waits {
			j.holdAt = e.now + unit.Second
			if !skipped {
				p.skip(j, s, choice{})
			}
		}
		return
	}
	h.job, h.stage, h.ask, h.fit = j, s, st.Ask, 0
	for _, i := range h.nodes {
		h.isHeld[i], h.room[i] = true, unit.Resources{}
		p.gather(&p.nodes[i])
	}
}

// gather adds the free room of a held node to the hold.
func (p *pool) gather(n *policy.Node) {
	h := &p.hold
	if !h.isHeld[n.Index] {
		return
	}
	p.account(n.Free.Mem)
	room := &h.room[n.Index]
	h.fit -= room.Count(h.ask)
	*room = room.Add(n.Free)
	h.fit += room.Count(h.ask)
	p.free, n.Free = p.free.Sub(n.Free), unit.Resources{}
	p.rooms.touch(n.Index)
	p.due = p.due || h.complete()
}

// release ends the hold, if there is one.
func (p *pool) release() {
	h := &p.hold
	if h.job == nil {
		return
	}
	p.account(-h.mem)
	for _, i := range h.nodes {
		h.isHeld[i] = false
		if n := &p.nodes[i]; !n.Total.IsZero() { // otherwise it is lost
			n.Free, p.free = n.Free.Add(h.room[i]), p.free.Add(h.room[i])
			p.rooms.touch(i)
			if p.parked > 0 {
				p.freed = append(p.freed, i)
			}
		}
	}
	h.job = nil
	p.changed()
	p.due = true
}

// account adds what was held until now to the summary; from now on mem MiB more are held.
func (p *pool) account(mem int64) {
	h, now := &p.hold, p.e.now
	p.e.sum.HeldMem += float64(h.mem) * (now - h.accounted).Seconds()
	h.mem, h.accounted = h.mem+mem, now
}

// startHeld starts the gang that room is held for: all of it fits. The order may refuse it by now, for a limit, or the placement policy: then
// others get the room.
func (p *pool) startHeld() {
	e, h := p.e, &p.hold
	j := h.job
	j.holdAt = e.now + policy.GangPatience
	if p.offer.Now, p.offer.Node = e.now, nil; e.byNode || p.beats != nil {
		p.offer.Node = &p.nodes[h.nodes[0]]
	}
	p.release()
	e.order.Ranked(&p.offer, func(v *policy.Job) policy.Verdict {
		if v != &j.view {
			return policy.Pass
		}
		if v := p.tryGang(j, int(j.front[p.id])); v == policy.Took {
			return v
		}
		return policy.Enough
	})
}

// slots is the number of slots of a kind.
func (e *engine) slots(kind uint8) (n int64) {
	for i := range e.cfg.Cluster.Nodes {
		n += e.roomOf(int(kind), i).Cores
	}
	return n
}
