package sim

import (
	"slices"
	"sort"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// beats are the instants at which nodes report free room: node i at phase[i] + k*period. The engine numbers its nodes in
// the order of their phases (see inPhase), so the next node to be heard that has room is one search in the tree of rooms.
//
// Only a beat that can change something is an event: the next one of a node with room, while a job waits. When every node
// with room was heard once in vain and nothing has changed meanwhile, there are none until something does; a placement
// that counts the chances it lets go gets many rounds first.
type beats struct {
	period unit.Time
	phase  []unit.Time // rising
	at     unit.Time   // of the beat that is on the queue; Never: none
	node   int32
	serial uint64 // of that beat: an earlier one that was overtaken is ignored
	vain   int    // beats since something changed
	most   int    // of those

	heard     unit.Time // when a node was heard last, and which
	heardNode int32
}

// patience is the number of rounds that a placement may let go by while nothing else happens.
const patience = 1000

func newBeats(period unit.Time, phase []unit.Time, patient bool) *beats {
	b := &beats{period: period, phase: phase, at: unit.Never, most: len(phase), heard: -1}
	if patient {
		b.most *= patience
	}
	return b
}

// inPhase draws a first phase for every node and returns the nodes in that order.
func inPhase(c *cluster.Cluster, period unit.Time, seed uint64) (*cluster.Cluster, []unit.Time) {
	n := len(c.Nodes)
	draw := make([]unit.Time, n)
	order := make([]int, n)
	for i := range order {
		order[i] = i
		draw[i] = unit.Time(workload.Uniform01(seed, uint64(i)) * float64(period))
	}
	sort.SliceStable(order, func(a, b int) bool { return draw[order[a]] < draw[order[b]] })
	sorted := &cluster.Cluster{Racks: c.Racks, Slots: c.Slots, Network: c.Network, Nodes: make([]cluster.Node, n)}
	phase := make([]unit.Time, n)
	for i, o := range order {
		sorted.Nodes[i] = c.Nodes[o]
		phase[i] = draw[o]
		if i > 0 {
			phase[i] = max(phase[i], phase[i-1]+1) // no two at one instant, so that a search by time finds each
		}
	}
	return sorted, phase
}

// after is the first beat of a node numbered i that comes later than an instant.
func (b *beats) after(i int32, t unit.Time) unit.Time {
	base := t - t%b.period
	if b.phase[i] > t-base {
		return base + b.phase[i]
	}
	return base + b.period + b.phase[i]
}

// atOrAfter is the first beat of a node that comes at an instant or later.
func (b *beats) atOrAfter(i int32, t unit.Time) unit.Time {
	if t == 0 {
		return b.phase[i]
	}
	return b.after(i, t-1)
}

// nextBeat puts the next beat that matters on the queue, if none as early is there.
func (p *pool) nextBeat() {
	b := p.beats
	if p.waiting == 0 || b.vain >= b.most {
		return
	}
	now := p.e.now
	from, _ := slices.BinarySearch(b.phase, now%b.period+1)
	if i := p.rooms.find(p.asks.least, int32(from)); i >= 0 {
		if at := b.after(i, now); at < b.at {
			p.putBeat(i, at)
		}
	}
}

func (p *pool) putBeat(i int32, at unit.Time) {
	b := p.beats
	b.at, b.node = at, i
	b.serial++
	p.e.q.Push(at, evBeat|uint64(p.id)|b.serial<<1, 0)
}

// changed says that something happened which may make a beat worth while again.
func (p *pool) changed() {
	if p.beats != nil {
		p.beats.vain = 0
	}
}

// nodeFreed says that a node has room again: it may be heard before the beat that is on the queue.
func (p *pool) nodeFreed(i int32) {
	p.changed()
	if at := p.beats.atOrAfter(i, p.e.now); at < p.beats.at {
		p.putBeat(i, at)
	}
}

func (p *pool) beat(serial uint64) {
	b := p.beats
	if serial != b.serial {
		return
	}
	b.at = unit.Never
	if b.heard != p.e.now || b.heardNode != b.node {
		b.vain++ // a second time at one instant is the same heartbeat: a scheduler may have given all that it gives in one
	}
	b.heard, b.heardNode = p.e.now, b.node
	p.offerNode(&p.nodes[b.node]) // a start sets vain back
	p.nextBeat()
}
