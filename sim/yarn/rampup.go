package yarn

import (
	"github.com/yardmaster/yardmaster/unit"
)

// reduces decides, after a call, how many reduces are asked for (RMContainerAllocator.preemptReducesIfNeeded and
// scheduleReduces). Reduces outrank maps at the ResourceManager, so the master holds them back instead.
func (m *mrMaster) reduces(a *app, headroom unit.Resources) {
	if m.makeRoom(a, headroom) {
		return
	}
	if m.pending.n == 0 || m.slow(a) {
		return
	}
	if m.waiting.n == 0 {
		m.rampUp(a, m.pending.n)
		return
	}
	done := float32(1)
	if m.totalMaps > 0 {
		done = float32(m.doneMaps(a)) / float32(m.totalMaps)
	}
	wantMaps := m.waiting.n + m.heldMaps
	limit := m.limit(headroom)
	ideal := times(limit, min(done, float32(m.e.timing.RampUpLimit)))
	forMaps := limit.Sub(ideal)
	most := ideal
	if m.containers(forMaps, m.mapSize) >= wantMaps { // maps do not need all of their part
		most = ideal.Add(forMaps.Sub(m.mapSize.Times(wantMaps)))
	}
	asked := int64(len(m.asked) + len(m.heldReduces))
	switch n := m.containers(most.Sub(m.reduceSize.Times(asked)), m.reduceSize); {
	case n > 0:
		m.rampUp(a, min(n, m.pending.n))
	case n < 0:
		m.rampDown(a, min(-n, int64(len(m.asked))))
	}
}

// limit is all that the job could hold: its headroom and what its tasks hold.
func (m *mrMaster) limit(headroom unit.Resources) unit.Resources {
	return headroom.Add(m.mapSize.Times(m.heldMaps)).Add(m.reduceSize.Times(int64(len(m.heldReduces))))
}

// times multiplies in the arithmetic of Resources.multiply: towards zero, each part by itself.
func times(r unit.Resources, by float32) unit.Resources {
	return unit.Resources{Mem: int64(float64(r.Mem) * float64(by)), Cores: int64(float64(r.Cores) * float64(by))}
}

// coresCount is implemented by schedulers that count cores as well as memory (DominantResourceCalculator, FairScheduler). A master learns it
// when it registers.
type coresCount interface{ CountsCores() bool }

// containers is how many containers of a size are in some room; negative where too many are there already.
func (m *mrMaster) containers(room, size unit.Resources) int64 {
	n := room.Mem / max(1, size.Mem)
	if s, ok := m.e.sched.(coresCount); ok && s.CountsCores() {
		n = min(n, room.Cores/max(1, size.Cores))
	}
	return n
}

func (m *mrMaster) rampUp(a *app, n int64) {
	for range n {
		t := m.pending.take()
		m.asked = append(m.asked, t)
		m.ledger.task(reducePriority, &a.stages[t.stage], t.num, 1)
	}
	m.e.want(a, n)
}

func (m *mrMaster) rampDown(a *app, n int64) {
	for _, t := range m.asked[:n] {
		m.pending.put(t)
		m.ledger.task(reducePriority, &a.stages[t.stage], t.num, -1)
	}
	m.asked = m.asked[n:]
	m.e.want(a, -n)
}

// makeRoom kills reduces where all that the job holds is reduces, and maps hang.
func (m *mrMaster) makeRoom(a *app, headroom unit.Resources) bool {
	if m.heldMaps > 0 || m.waiting.n == 0 {
		return false
	}
	waited, timing := m.e.now-m.began, &m.e.timing
	if waited <= timing.UnconditionalPreemptDelay {
		forMap := headroom.Sub(m.reduceSize.Times(int64(len(m.asked))))
		if m.containers(forMap, m.mapSize) > 0 || timing.PreemptDelay > 0 && waited <= timing.PreemptDelay {
			return false
		}
	}
	m.rampDown(a, int64(len(m.asked)))
	ceil := func(room unit.Resources) int64 { return (room.Mem + m.reduceSize.Mem - 1) / max(1, m.reduceSize.Mem) }
	n := min(max(ceil(m.mapSize), ceil(times(m.limit(headroom), float32(timing.PreemptionLimit)))), ceil(m.mapSize.Times(m.waiting.n)))
	for k := len(m.heldReduces) - 1; k >= 0 && n > 0; k-- { // the one started last has done least
		c := m.heldReduces[k]
		if c.killed || c.worked || c.gone {
			continue
		}
		n--
		c.killed = true
		c.ended = m.e.now
		a.rec.Lost++
		m.e.sum.Lost++
		m.e.endAt(c, m.e.now+timing.KillDelay)
	}
	return true
}
