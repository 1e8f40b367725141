package yarn

import (
	"math"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/internal/near"
	"github.com/yardmaster/yardmaster/unit"
)

// mapReduceAM is Hadoop's MapReduce AM (MRAppMaster, RMContainerAllocator).
//
// A call sends the changes of its ledger, and assigns the containers of the response in the same call: reduces take those of
// their priority, maps take those on their hosts, then in their racks, then any. Surplus is released with the next call.
// All maps are requested at once; the number of reduces is decided after every call (reduces). A task reports its own end; its
// container counts as held until the ResourceManager reports its end.
//
// A map that failed is requested again anywhere, before all others (PRIORITY_FAST_FAIL_MAP).
//
// Not modelled: speculation, uber jobs.
type mapReduceAM struct {
	e       *engine
	ledger  ledger
	surplus []*cont

	began     unit.Time // when maps were requested; -1: not yet
	maps      []int32
	totalMaps int64
	waiting   mapsWaiting
	failed    []task // maps that failed and wait again, oldest first
	heldMaps  int64  // containers
	mapSize   unit.Resources

	pending     pile   // reduces not requested
	asked       []task // reduces requested, oldest first
	heldReduces []*cont
	reduceSize  unit.Resources
	slowStart   float64
	started     bool // slow start has been reached
}

func newMapReduceAM(e *engine, a *app, maps, reduces []int32) *mapReduceAM {
	m := &mapReduceAM{e: e, began: -1, maps: maps, pending: newPile(a, reduces)}
	m.waiting.init(e, a, maps)
	for _, i := range maps {
		m.totalMaps += a.stages[i].src.Tasks
	}
	if len(maps) > 0 {
		m.mapSize = a.stages[maps[0]].src.Ask
	}
	for k, i := range reduces {
		if k == 0 {
			m.reduceSize = a.stages[i].src.Ask
		}
		for _, edge := range a.stages[i].src.After {
			m.slowStart = max(m.slowStart, edge.SlowStart)
		}
	}
	return m
}

func (m *mapReduceAM) call(a *app) {
	e := m.e
	if a.left == 0 && a.src.Tasks() == 0 { // a job without tasks commits at once
		e.over(a, sim.Finished, "")
		return
	}
	if m.began < 0 {
		m.began = e.now
		m.waiting.askAll(&m.ledger)
		e.want(a, m.waiting.n)
	}
	surplus := m.surplus
	m.surplus = nil
	got, exited, ok := e.allocate(a, m.ledger.send(), surplus)
	if !ok {
		return
	}
	for _, c := range exited {
		m.ended(a, c)
	}
	m.assign(a, got)
	if m.pending.n > 0 || len(m.asked) > 0 || m.mapsWaiting() > 0 && len(m.heldReduces) > 0 { // reduces that hold all the room may have to be killed
		m.reduces(a, e.sched.Headroom(&a.rm))
	}
}

// ended removes a container; a task that was not done is requested again.
func (m *mapReduceAM) ended(a *app, c *cont) {
	if c.task.stage < 0 {
		return
	}
	if a.stages[c.task.stage].isReduce() {
		remove(&m.heldReduces, c)
		if !c.worked {
			m.pending.put(c.task)
		}
		return
	}
	m.heldMaps--
	switch {
	case c.worked:
	case c.rc.End == policy.Failed:
		m.failed = append(m.failed, c.task)
		m.ledger.add(failedMapPriority, rm.Anywhere, a.stages[c.task.stage].src.Ask, 1)
		m.e.want(a, 1)
	default:
		m.waiting.put(c.task)
		m.ledger.task(mapPriority, &a.stages[c.task.stage], c.task.num, 1)
		m.e.want(a, 1)
	}
}

// assign assigns the containers of one response to tasks.
func (m *mapReduceAM) assign(a *app, got []*cont) {
	var forMaps []*cont
	for _, c := range got {
		switch {
		case c.priority == failedMapPriority && len(m.failed) > 0:
			t := m.failed[0]
			m.failed = m.failed[1:]
			s := &a.stages[t.stage]
			m.ledger.add(failedMapPriority, rm.Anywhere, s.src.Ask, -1)
			m.heldMaps++
			m.e.holderBuf = m.e.holders(s, t.num, m.e.holderBuf)
			m.e.work(a, c, t, near.Level(m.e.holderBuf, m.e.places.rackOf, c.node.rm.Index))
		case c.priority != reducePriority:
			forMaps = append(forMaps, c)
		case len(m.asked) == 0:
			m.surplus = append(m.surplus, c)
		default:
			t := m.asked[0]
			m.asked = m.asked[1:]
			m.ledger.task(reducePriority, &a.stages[t.stage], t.num, -1)
			m.heldReduces = append(m.heldReduces, c)
			m.e.work(a, c, t, policy.NoPreference)
		}
	}
	for _, nearest := range []policy.Near{policy.NodeLocal, policy.RackLocal, policy.NoPreference} {
		rest := forMaps[:0]
		for _, c := range forMaps {
			t, how, ok := m.waiting.take(c.node.rm.Index, c.node.rm.Rack, nearest)
			if !ok {
				rest = append(rest, c)
				continue
			}
			m.ledger.task(mapPriority, &a.stages[t.stage], t.num, -1)
			m.heldMaps++
			m.e.work(a, c, t, how)
		}
		forMaps = rest
	}
	m.surplus = append(m.surplus, forMaps...)
}

func (*mapReduceAM) priority(a *app, stage int) int32 {
	if a.stages[stage].isReduce() {
		return reducePriority
	}
	return mapPriority
}

func (m *mapReduceAM) adopt(a *app, c *cont) {
	if a.stages[c.task.stage].isReduce() {
		m.heldReduces = append(m.heldReduces, c)
	} else {
		m.heldMaps++
	}
	m.e.resume(a, c)
}

func (m *mapReduceAM) worked(a *app, c *cont) { m.e.workDone(a, c) }

// mapsWaiting is the number of maps that wait for a container.
func (m *mapReduceAM) mapsWaiting() int64 { return m.waiting.n + int64(len(m.failed)) }

// doneMaps is the number of maps that are done.
func (m *mapReduceAM) doneMaps(a *app) (n int64) {
	for _, i := range m.maps {
		n += a.stages[i].done
	}
	return n
}

// mapsWaiting is the maps that wait for a container, by the location of their input.
type mapsWaiting struct {
	a     *app
	n     int64
	parts []waitingPart
}

// waitingPart is those of one stage.
type waitingPart struct {
	stage int32
	n     int64
	near  *near.Tasks // nil: input has no location
	rest  pile        // then
}

// newWaiting returns all tasks of a stage.
func (e *engine) newWaiting(a *app, i int32) waitingPart {
	s := &a.stages[i]
	p := waitingPart{stage: i, n: s.waiting(), rest: newPile(a, []int32{i})}
	if s.hosts == nil || s.src.Tasks > math.MaxInt32 {
		return p
	}
	var where []near.At
	var buf []int32
	for t := range s.src.Tasks {
		buf = e.holders(s, t, buf)
		for _, node := range buf {
			where = append(where, near.At{Place: node, Task: int32(t)})
		}
	}
	if len(where) > 0 {
		p.near = near.New(where, e.places.rackOf, s.src.Tasks)
		for t := range s.first {
			p.near.Take(t)
		}
	}
	return p
}

func (w *mapsWaiting) init(e *engine, a *app, stages []int32) {
	w.a = a
	for _, i := range stages {
		p := e.newWaiting(a, i)
		w.n += p.n
		w.parts = append(w.parts, p)
	}
}

// askAll adds all maps to the ledger.
func (w *mapsWaiting) askAll(l *ledger) {
	for _, p := range w.parts {
		s := &w.a.stages[p.stage]
		if s.hosts == nil {
			if p.n > 0 {
				l.add(mapPriority, rm.Anywhere, s.src.Ask, p.n)
			}
			continue
		}
		for t := s.first; t < s.src.Tasks; t++ {
			l.task(mapPriority, s, t, 1)
		}
	}
}

// take finds a map for a container on a node, with at least the locality nearest.
func (w *mapsWaiting) take(node, rack int32, nearest policy.Near) (task, policy.Near, bool) {
	for k := range w.parts {
		p := &w.parts[k]
		if p.n == 0 {
			continue
		}
		if p.near == nil {
			if nearest > policy.NoPreference {
				continue
			}
			p.n--
			w.n--
			return p.rest.take(), policy.NoPreference, true
		}
		var how policy.Near
		var t int64
		switch nearest {
		case policy.NodeLocal:
			how, t = policy.NodeLocal, p.near.FirstAt(&p.near.Nodes, node)
		case policy.RackLocal:
			how, t = policy.RackLocal, p.near.FirstAt(&p.near.Racks, rack)
		default:
			how, t = p.near.Any()
		}
		if t >= 0 {
			p.near.Take(t)
			p.n--
			w.n--
			return task{p.stage, t}, how, true
		}
	}
	return task{}, 0, false
}

// put makes a map wait again.
func (w *mapsWaiting) put(t task) {
	for k := range w.parts {
		if p := &w.parts[k]; p.stage == t.stage {
			p.put(t)
			w.n++
		}
	}
}

func (p *waitingPart) put(t task) {
	p.n++
	if p.near != nil {
		p.near.Put(t.num)
	} else {
		p.rest.put(t)
	}
}
