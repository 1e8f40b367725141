package sim

import (
	"slices"
	"sort"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// beats are the heartbeats of the nodes: node i reports free room at phase[i] + k*period. The engine numbers its nodes in
// the order of their phases (see inPhase), so the next heartbeat of a node with room is one search in the tree of rooms.
//
// Only a heartbeat that can change something is an event: the next one of a node with room, while a job waits. When every
// node with room has reported once without a start and nothing has changed, there are none until something does; a placement
// policy that counts skipped scheduling opportunities gets many rounds first.
type beats struct {
	period  unit.Time
	phase   []unit.Time // rising
	due     unit.Time   // of the queued beat; Never: none
	node    int32
	serial  uint64 // of the queued beat: superseded ones are ignored
	idle    int    // beats since the last change
	maxIdle int    // of idle

	lastBeat unit.Time // the last beat, and whose it was
	lastNode int32
}

// maxIdleRounds is how many rounds a placement policy may skip while nothing else happens.
const maxIdleRounds = 1000

func newBeats(period unit.Time, phase []unit.Time, manyRounds bool) *beats {
	b := &beats{period: period, phase: phase, due: unit.Never, maxIdle: len(phase), lastBeat: -1}
	if manyRounds {
		b.maxIdle *= maxIdleRounds
	}
	return b
}

// inPhase draws a phase for every node and returns the nodes in that order, and the number of each node there.
func inPhase(c *cluster.Cluster, period unit.Time, seed uint64) (sorted *cluster.Cluster, phase []unit.Time, number []int32) {
	n := len(c.Nodes)
	draw := make([]unit.Time, n)
	order := make([]int, n)
	for i := range order {
		order[i] = i
		draw[i] = unit.Time(workload.Uniform01(seed, uint64(i)) * float64(period))
	}
	sort.SliceStable(order, func(a, b int) bool { return draw[order[a]] < draw[order[b]] })
	sorted = &cluster.Cluster{Racks: c.Racks, Slots: c.Slots, Network: c.Network, Nodes: make([]cluster.Node, n)}
	phase, number = make([]unit.Time, n), make([]int32, n)
	for i, o := range order {
		sorted.Nodes[i], number[o] = c.Nodes[o], int32(i)
		phase[i] = draw[o]
		if i > 0 {
			phase[i] = max(phase[i], phase[i-1]+1) // distinct, so that a search by time finds each
		}
	}
	return sorted, phase, number
}

// after returns the first beat of node i after t.
func (b *beats) after(i int32, t unit.Time) unit.Time {
	base := t - t%b.period
	if b.phase[i] > t-base {
		return base + b.phase[i]
	}
	return base + b.period + b.phase[i]
}

// atOrAfter returns the first beat of node i at t or later.
func (b *beats) atOrAfter(i int32, t unit.Time) unit.Time {
	if t == 0 {
		return b.phase[i]
	}
	return b.after(i, t-1)
}

// nextBeat queues the next useful beat, unless one as early is queued.
func (p *pool) nextBeat() {
	b := p.beats
	if p.waiting == 0 || b.idle >= b.maxIdle {
		return
	}
	now := p.e.now
	from, _ := slices.BinarySearch(b.phase, now%b.period+1)
	if i := p.rooms.find(p.asks.Min, int32(from)); i >= 0 {
		if at := b.after(i, now); at < b.due {
			p.putBeat(i, at)
		}
	}
}

func (p *pool) putBeat(i int32, due unit.Time) {
	b := p.beats
	b.due, b.node = due, i
	b.serial++
	p.e.q.Push(due, evBeat|uint64(p.id)|b.serial<<1, 0)
}

// changed notes a change that may make a beat useful again.
func (p *pool) changed() {
	if p.beats != nil {
		p.beats.idle = 0
	}
}

// nodeFreed notes that a node has room again: its beat may precede the queued one.
func (p *pool) nodeFreed(i int32) {
	p.changed()
	if at := p.beats.atOrAfter(i, p.e.now); at < p.beats.due {
		p.putBeat(i, at)
	}
}

func (p *pool) beat(serial uint64) {
	b := p.beats
	if serial != b.serial {
		return
	}
	b.due = unit.Never
	if b.lastBeat != p.e.now || b.lastNode != b.node {
		b.idle++ // a second beat of a node at one instant is the same heartbeat: the scheduler may have reached its limit per heartbeat
	}
	b.lastBeat, b.lastNode = p.e.now, b.node
	p.offerNode(&p.nodes[b.node]) // a start resets idle
	p.nextBeat()
}
