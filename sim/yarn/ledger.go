package yarn

import (
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
)

// ledger is a MapReduce AM's table of outstanding requests (RMContainerRequestor's table): counts by priority and place,
// and which of them have changed since its last call. It counts tasks, not what the ResourceManager has allocated
// meanwhile. A count sent while containers are in transit therefore requests some of them twice; they arrive as surplus and
// are released.
type ledger struct {
	lines   []line
	index   map[ledgerKey]int
	changed []int
	asks    []rm.Ask
}

type ledgerKey struct {
	priority int32
	place    rm.Place
}

type line struct {
	rm.Ask
	changed bool
}

// add changes the count at one place.
func (l *ledger) add(priority int32, place rm.Place, size unit.Resources, n int64) {
	k := ledgerKey{priority, place}
	i, ok := l.index[k]
	if !ok {
		if l.index == nil {
			l.index = map[ledgerKey]int{}
		}
		i = len(l.lines)
		l.index[k] = i
		l.lines = append(l.lines, line{Ask: rm.Ask{Priority: priority, Place: place}})
	}
	x := &l.lines[i]
	if n > 0 {
		x.Size = size
	}
	x.Count = max(0, x.Count+n)
	if !x.changed {
		x.changed = true
		l.changed = append(l.changed, i)
	}
}

// task changes the counts for one task: at its hosts, in their racks and in all.
func (l *ledger) task(priority int32, s *stage, num, n int64) {
	row := s.row(num)
	for k, h := range row {
		l.add(priority, s.hosts[h].node, s.src.Ask, n)
		if !earlierRack(s, row[:k], s.hosts[h].rack) {
			l.add(priority, s.hosts[h].rack, s.src.Ask, n)
		}
	}
	l.add(priority, rm.Anywhere, s.src.Ask, n)
}

// send returns what has changed.
func (l *ledger) send() []rm.Ask {
	l.asks = l.asks[:0]
	for _, i := range l.changed {
		l.lines[i].changed = false
		l.asks = append(l.asks, l.lines[i].Ask)
	}
	l.changed = l.changed[:0]
	return l.asks
}
