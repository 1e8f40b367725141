package yarn

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

// plainAM requests all tasks of a stage as soon as the stage may begin, each stage at its own priority, and killed ones
// again; surplus is released with the next call.
//
// With a container of its own it works as other engines do: a task reports its end. Without one (an unmanaged AM) no process is
// ever started: a container is held for its task's length from the call that brought it, and released with the first call
// after that; its room is free at once. The job ends with the call that releases the last one.
type plainAM struct {
	e         *engine
	unmanaged bool
	stages    []plainStage
	surplus   []*cont
	holding   []*cont // by an unmanaged AM
}

type plainStage struct {
	open    bool
	waiting waitingPart
	changed bool // its request is sent with the next call
	closed  bool // likewise: it is withdrawn

	// A gang gathers: its containers are held until it is complete.
	gang  []*cont
	since unit.Time // when the first one came
	tries uint      // how often it was given up
	pause unit.Time // nothing is requested before this
}

// priority of a stage's requests: earlier stages first.
func plainPriority(stage int) int32 { return int32(stage) + 1 }

func newPlainAM(e *engine, a *app) *plainAM {
	m := &plainAM{e: e, unmanaged: a.rm.AM.IsZero(), stages: make([]plainStage, len(a.stages))}
	for i := range m.stages {
		m.stages[i].waiting = waitingPart{stage: int32(i), n: a.stages[i].waiting(), rest: newPile(a, []int32{int32(i)})}
		if e.cfg.Worker != nil { // it matters which task reads where
			m.stages[i].waiting = e.newWaiting(a, int32(i))
		}
	}
	return m
}

func (m *plainAM) call(a *app) {
	e := m.e
	release := m.surplus
	m.surplus = nil
	if m.unmanaged {
		if release = m.due(a, release); a.life == ended { // a task failed too often
			return
		}
	}
	got, exited, ok := e.allocate(a, m.ask(a), release)
	if !ok {
		return
	}
	for _, c := range exited {
		m.ended(a, c)
	}
	for _, c := range got {
		p := int(c.priority) - 1
		if p < 0 || p >= len(m.stages) || !m.stages[p].open || m.stages[p].waiting.n <= int64(len(m.stages[p].gang)) {
			m.surplus = append(m.surplus, c)
		} else if a.stages[p].src.Gang > 1 {
			m.stages[p].gang, m.stages[p].since = append(m.stages[p].gang, c), 0
		} else {
			m.begin(a, c, &m.stages[p].waiting)
		}
	}
	for i := range m.stages {
		if m.stages[i].gang != nil {
			m.gather(a, i)
		}
	}
	if a.left == 0 && (m.unmanaged || a.src.Tasks() == 0) && len(m.surplus) == 0 {
		e.over(a, sim.Finished, "")
	}
}

// begin starts a waiting task of a stage in a container.
func (m *plainAM) begin(a *app, c *cont, w *waitingPart) {
	w.n--
	if w.near == nil {
		m.start(a, c, w.rest.take())
		return
	}
	how, t := w.near.Best(c.node.rm.Index, c.node.rm.Rack)
	w.near.Take(t)
	c.near = how
	m.start(a, c, task{w.stage, t})
}

// due adds to release the containers whose tasks are done.
func (m *plainAM) due(a *app, release []*cont) []*cont {
	kept := m.holding[:0]
	for _, c := range m.holding {
		if c.end > m.e.cause() || c.gone { // or just killed: the response will report it
			kept = append(kept, c)
			continue
		}
		release = append(release, c)
		if c.fails {
			m.again(a, c)
			if m.e.fail(c); a.life == ended {
				return nil
			}
			continue
		}
		c.worked, c.rc.End, c.rc.Worked = true, policy.Done, m.e.length(c)
		m.e.taskDone(a, c.task)
	}
	clear(m.holding[len(kept):])
	m.holding = kept
	return release
}

// ask opens the stages that may begin and returns the requests of those that want more than before.
func (m *plainAM) ask(a *app) []rm.Ask {
	var asks []rm.Ask
	for i := range m.stages {
		s := &m.stages[i]
		if !s.open && m.mayOpen(a, int32(i)) {
			s.open, s.changed = true, s.waiting.n > 0
			m.e.want(a, s.waiting.n)
		}
		if s.pause > 0 && s.pause <= m.e.now {
			s.pause, s.changed = 0, true
		}
		if s.closed && (!s.open || s.pause > 0) {
			asks = append(asks, rm.Ask{Priority: plainPriority(i), Place: rm.Anywhere})
		}
		s.closed = false
		if !s.changed || !s.open || s.pause > 0 {
			continue
		}
		s.changed = false
		m.e.wishes.reset()
		s.waiting.count(&m.e.wishes, &a.stages[i])
		asks = append(asks, m.e.wishes.send(plainPriority(i))...)
		asks[len(asks)-1].Count -= int64(len(s.gang)) // a gang holds these
	}
	return asks
}

// mayOpen reports whether a stage may take containers: the stages that it needs are done or, for tasks that can wait in their
// containers, done as far as slow-start requires and with all their containers allocated.
func (m *plainAM) mayOpen(a *app, i int32) bool {
	for _, edge := range a.stages[i].src.After {
		source := &a.stages[edge.From]
		switch {
		case a.complete(int32(edge.From)):
		case m.unmanaged, !m.stages[edge.From].open, m.stages[edge.From].waiting.n > 0, float64(source.done) < edge.SlowStart*float64(source.src.Tasks):
			return false
		}
	}
	return true
}

// ended handles the end of a container; a task that was not done is requested again.
func (m *plainAM) ended(a *app, c *cont) {
	if m.unmanaged {
		remove(&m.holding, c)
	}
	if p := int(c.priority) - 1; c.task.stage < 0 && p >= 0 && p < len(m.stages) && remove(&m.stages[p].gang, c) {
		m.stages[p].changed = true // its gang needs another one
	}
	if c.task.stage < 0 || c.worked {
		return
	}
	m.again(a, c)
	if c.lost || c.rc.End == policy.Failed {
		m.stepBack(a, c.task.stage)
	}
}

// again makes the task of a container wait for another one.
func (m *plainAM) again(a *app, c *cont) {
	s := &m.stages[c.task.stage]
	s.waiting.put(c.task)
	s.changed = true
	if s.open {
		m.e.want(a, 1)
	}
}

// stepBack closes the stages whose tasks would wait in their containers for a lost task, which may need that room.
func (m *plainAM) stepBack(a *app, lost int32) {
	for i := int(lost) + 1; i < len(m.stages); i++ {
		s := &m.stages[i]
		if !s.open || m.mayOpen(a, int32(i)) {
			continue
		}
		s.open, s.closed = false, true
		m.surplus, s.gang, s.since = append(m.surplus, s.gang...), nil, 0
		m.e.want(a, -s.waiting.n)
		for _, c := range a.conts {
			if c.task.stage == int32(i) && !c.worked && !c.killed {
				m.e.abort(c)
			}
		}
	}
}

func (m *plainAM) start(a *app, c *cont, t task) {
	e := m.e
	near := c.near
	if len(a.stages[t.stage].row(t.num)) == 0 {
		near = policy.NoPreference
	}
	if !m.unmanaged {
		e.work(a, c, t, near)
		return
	}
	c.task, c.near, c.started = t, near, e.now
	if start := max(e.now, e.script.answer); e.cfg.Worker != nil {
		e.beginAt(c, start)
	} else {
		c.end = start + e.works(c)
		e.horizon = max(e.horizon, c.end)
	}
	a.rec.Near[near]++
	e.want(a, -1)
	m.holding = append(m.holding, c)
}

func (*plainAM) priority(_ *app, stage int) int32 { return plainPriority(stage) }

// adopt opens the stage too: it has containers.
func (m *plainAM) adopt(a *app, c *cont) {
	if s := &m.stages[c.task.stage]; !s.open {
		s.open, s.changed = true, s.waiting.n > 0
		m.e.want(a, s.waiting.n)
	}
	if !m.unmanaged {
		m.e.resume(a, c)
		return
	}
	c.started = c.acquired
	c.end = max(m.e.now, c.started+m.e.works(c))
	m.e.horizon = max(m.e.horizon, c.end)
	m.holding = append(m.holding, c)
}

func (m *plainAM) worked(a *app, c *cont) {
	if m.unmanaged {
		c.end = m.e.now // its next call releases it
		return
	}
	m.e.workDone(a, c)
}
