package yarn

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim"
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
	waiting pile
	changed bool // its request is sent with the next call
}

// priority of a stage's requests: earlier stages first.
func plainPriority(stage int) int32 { return int32(stage) + 1 }

func newPlainAM(e *engine, a *app) *plainAM {
	m := &plainAM{e: e, unmanaged: a.rm.AM.IsZero(), stages: make([]plainStage, len(a.stages))}
	for i := range m.stages {
		m.stages[i].waiting = newPile(a, []int32{int32(i)})
	}
	return m
}

func (m *plainAM) call(a *app) {
	e := m.e
	release := m.surplus
	m.surplus = nil
	if m.unmanaged {
		release = m.due(a, release)
	}
	got, told, ok := e.allocate(a, m.ask(a), release)
	if !ok {
		return
	}
	for _, c := range told {
		m.ended(a, c)
	}
	for _, c := range got {
		p := int(c.priority) - 1
		if p < 0 || p >= len(m.stages) || m.stages[p].waiting.n == 0 {
			m.surplus = append(m.surplus, c)
			continue
		}
		m.start(a, c, m.stages[p].waiting.take())
	}
	if a.left == 0 && (m.unmanaged || a.src.Tasks() == 0) && len(m.surplus) == 0 {
		e.over(a, sim.Finished, "")
	}
}

// due adds to release the containers whose tasks are done.
func (m *plainAM) due(a *app, release []*cont) []*cont {
	kept := m.holding[:0]
	for _, c := range m.holding {
		if c.end > m.e.cause() || c.gone { // or just killed: the response will report it
			kept = append(kept, c)
			continue
		}
		c.worked, c.rc.Done, c.rc.Worked = true, true, a.length(c.task)
		m.e.taskDone(a, c.task)
		release = append(release, c)
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
		if !s.changed {
			continue
		}
		s.changed = false
		m.e.wishes.reset()
		s.waiting.count(&m.e.wishes)
		asks = append(asks, m.e.wishes.send(plainPriority(i))...)
	}
	return asks
}

// mayOpen reports whether a stage may take containers: the stages that it needs are done or, for tasks that can wait in their
// containers, done as far as slow-start requires and with all their containers allocated.
func (m *plainAM) mayOpen(a *app, i int32) bool {
	for _, edge := range a.stages[i].src.After {
		from := &a.stages[edge.From]
		switch {
		case a.complete(int32(edge.From)):
		case m.unmanaged, !m.stages[edge.From].open, m.stages[edge.From].waiting.n > 0, float64(from.done) < edge.SlowStart*float64(from.src.Tasks):
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
	if c.task.stage < 0 || c.worked {
		return
	}
	s := &m.stages[c.task.stage]
	s.waiting.put(c.task)
	s.changed = true
	m.e.want(a, 1)
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
	c.task, c.near = t, near
	c.started, c.end = e.now, max(e.now, e.script.answer)+a.length(t)
	a.rec.Near[near]++
	e.want(a, -1)
	e.horizon = max(e.horizon, c.end)
	m.holding = append(m.holding, c)
}

func (m *plainAM) worked(a *app, c *cont) { m.e.workDone(a, c) }
