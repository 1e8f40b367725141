package yarn

import (
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/unit"
)

// coresCount is implemented by schedulers that count cores as well as memory (DominantResourceCalculator, FairScheduler). An AM is
// informed when it registers.
type coresCount interface{ CountsCores() bool }

// reduces changes, after a call, how many reduces are requested.
func (m *mapReduceAM) reduces(a *app, headroom unit.Resources) {
	s, ok := m.e.sched.(coresCount)
	state := am.State{
		Map: m.mapSize, Reduce: m.reduceSize, Headroom: headroom, Cores: ok && s.CountsCores(),
		Maps: m.totalMaps, MapsDone: m.doneMaps(a), MapsWaiting: m.mapsWaiting(), MapsHeld: m.heldMaps, Waited: m.e.now - m.began,
		Pending: m.pending.n, Asked: int64(len(m.asked)), ReduceHeld: int64(len(m.heldReduces)),
	}
	m.started = m.started || am.Reached(m.slowStart, state.MapsDone, state.Maps)
	state.Started = m.started
	d := m.e.timing.Reduces(&state)
	m.ramp(a, d.Ask)
	m.kill(d.Kill)
}

// ramp requests n more reduces, or withdraws the oldest requests.
func (m *mapReduceAM) ramp(a *app, n int64) {
	for range n {
		t := m.pending.take()
		m.asked = append(m.asked, t)
		m.ledger.task(reducePriority, &a.stages[t.stage], t.num, 1)
	}
	for range -n {
		t := m.asked[0]
		m.asked = m.asked[1:]
		m.pending.put(t)
		m.ledger.task(reducePriority, &a.stages[t.stage], t.num, -1)
	}
	m.e.want(a, n)
}

// kill makes room for maps: the reduce that started last has done the least.
func (m *mapReduceAM) kill(n int64) {
	for k := len(m.heldReduces) - 1; k >= 0 && n > 0; k-- {
		c := m.heldReduces[k]
		if c.killed || c.worked || c.gone {
			continue
		}
		n--
		m.e.abort(c)
	}
}
