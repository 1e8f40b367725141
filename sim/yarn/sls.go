package yarn

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim"
)

// slsAM is the AM of a mapreduce job under SLS (Hadoop's MRAMSimulator).
//
// A call handles the response to the previous call, then sends its requests and keeps the new response for the next one. All
// maps are requested in the first call, all reduces in the call that counts the last map. Containers go to waiting tasks in
// list order, whatever their host and size. A task whose container was killed is requested again together with all that
// wait; since these include tasks whose container is in transit, more containers may come than there are tasks: they are
// held, unused, until the job ends.
type slsAM struct {
	e           *engine
	maps        phase
	reduces     phase
	stored      bool // a response is stored
	got, exited []*cont
}

// phase is the maps or the reduces of a job.
type phase struct {
	priority    int32
	total, done int64
	waiting     pile // requested, without a container
	failed      []task
	asked       bool
}

// Priorities of requests: those of RMContainerAllocator.
const (
	failedMapPriority int32 = 5
	reducePriority    int32 = 10
	mapPriority       int32 = 20
)

func newSLSAM(e *engine, a *app, maps, reduces []int32) *slsAM {
	m := &slsAM{e: e}
	m.maps = phase{priority: mapPriority, waiting: newPile(a, maps)}
	m.reduces = phase{priority: reducePriority, waiting: newPile(a, reduces)}
	m.maps.total, m.reduces.total = m.maps.waiting.n, m.reduces.waiting.n
	return m
}

func (m *slsAM) call(a *app) {
	if m.stored && m.handle(a) {
		m.e.over(a, sim.Finished, "")
		return
	}
	asks := m.ask(a)
	got, exited, ok := m.e.allocate(a, asks, nil)
	if !ok {
		return
	}
	m.got, m.exited, m.stored = got, exited, true
}

// handle handles the stored response and reports whether the job is done.
func (m *slsAM) handle(a *app) bool {
	m.stored = false
	for _, c := range m.exited {
		p := m.phaseOf(a, c.task)
		switch {
		case p == nil: // never used
		case c.killed:
			p.failed = append(p.failed, c.task)
		default:
			p.done++
			m.e.taskDone(a, c.task)
		}
	}
	if m.maps.done >= m.maps.total && m.reduces.done >= m.reduces.total {
		return true
	}
	for _, c := range m.got {
		p := &m.maps
		if !p.asked || p.waiting.n == 0 {
			if p = &m.reduces; !p.asked || p.waiting.n == 0 {
				continue // surplus
			}
		}
		m.start(a, c, p.waiting.take())
	}
	m.got, m.exited = nil, nil
	return false
}

// phaseOf is the phase of a task; nil: the container was never used.
func (m *slsAM) phaseOf(a *app, t task) *phase {
	switch {
	case t.stage < 0:
		return nil
	case a.stages[t.stage].isReduce():
		return &m.reduces
	}
	return &m.maps
}

// start runs a task in a container, from now on.
func (m *slsAM) start(a *app, c *cont, t task) {
	e := m.e
	c.task = t
	if len(a.stages[t.stage].row(t.num)) == 0 {
		c.near = policy.NoPreference
	}
	a.rec.Near[c.near]++
	e.want(a, -1)
	e.launch(c)
	switch {
	case !c.onNode:
	case e.cfg.Worker != nil:
		e.beginAt(c, e.cause())
	default:
		e.endAt(c, e.cause()+e.works(c))
	}
}

// ask returns the call's requests: everything that waits, if something new does.
func (m *slsAM) ask(a *app) []rm.Ask {
	p := &m.maps
	if p.done == p.total {
		if p = &m.reduces; p.done == p.total {
			return nil
		}
	}
	switch {
	case !p.asked && p.waiting.n > 0:
		p.asked = true
		m.e.want(a, p.waiting.n)
	case len(p.failed) > 0:
		m.e.want(a, int64(len(p.failed)))
		for _, t := range p.failed {
			p.waiting.put(t)
		}
		p.failed = p.failed[:0]
	default:
		return nil
	}
	m.e.wishes.reset()
	p.waiting.count(&m.e.wishes)
	return m.e.wishes.send(p.priority)
}

func (m *slsAM) priority(a *app, stage int) int32 {
	return m.phaseOf(a, task{stage: int32(stage)}).priority
}

// adopt is never called: State is refused.
func (*slsAM) adopt(*app, *cont) {}

// worked ends the process: only the ResourceManager's response counts.
func (m *slsAM) worked(_ *app, c *cont) { m.e.endAt(c, m.e.now) }
