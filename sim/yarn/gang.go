package yarn

import (
	"slices"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// gather starts the tasks of a stage that must start together, if there is a container for each: min(Gang, waiting) at a time. A ResourceManager has no
// gangs, so an AM holds what it is given, without a process, until the rest is there, as AMs of distributed training do. Two that wait for each
// other's containers would wait for ever: one that has held some for a while, and got no more, releases them, and asks again when others have had the chance to take them.
func (m *plainAM) gather(a *app, i int) {
	e, s := m.e, &m.stages[i]
	for {
		n := min(a.stages[i].src.Gang, s.waiting.n)
		if n == 0 || int64(len(s.gang)) < n || slices.ContainsFunc(s.gang, func(c *cont) bool { return c.gone }) {
			break
		}
		a.rec.BeginGang(e.now)
		for _, c := range s.gang[:n] {
			m.begin(a, c, &s.waiting)
		}
		s.gang, s.since, s.tries, a.gathers = s.gang[n:], e.now, 0, false
	}
	switch {
	case len(s.gang) == 0:
		s.gang, s.since = nil, 0
	case s.since == 0:
		s.since = e.now
	case e.now-s.since >= e.patience(a, s.tries):
		m.surplus, s.gang, s.since = append(m.surplus, s.gang...), nil, 0
		s.tries++
		s.closed, s.pause = true, e.now+3*e.timing.AMHeartbeat+2*e.timing.NodeHeartbeat // it is closed with the next call
		a.gathers = true
	}
}

const seedGangs = 0x79a3

// patience is how long an AM holds a part of a gang and gets no more of it: a minute, and twice as long after each time that it has given up, up to 8 minutes, below the 10 that a
// ResourceManager lets a container wait for its process. It is stretched by up to a quarter, differently for each application.
func (e *engine) patience(a *app, tries uint) unit.Time {
	long := unit.Minute << min(tries, 3)
	return long + unit.Time(workload.Uniform01(workload.Seed(e.cfg.Seed, seedGangs), uint64(a.rec.Seq)<<8|uint64(min(tries, 255)))*float64(long)/4)
}
