package yarn

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// node is one NodeManager.
type node struct {
	rm     rm.Node
	last   unit.Time // its last report: the next one is an interval later
	serial int64     // of the report that is on the queue
	asleep bool      // no report is on the queue: nobody is there
	soon   bool      // a report at this very instant is on the queue
	logged int64     // reports still to come from the script

	on     []*cont   // with a process, first started first
	first  unit.Time // earliest end of those, or earlier; Never: none is known
	fresh  []*cont   // started since the last report
	orders []*cont   // to be killed, not yet told
}

// layOut makes the nodes. They sleep until the first application comes.
func (e *engine) layOut() {
	c, h := e.cfg.Cluster, e.timing.NodeHeartbeat
	seed := workload.Seed(e.cfg.Seed, seedPhases)
	e.nodes = make([]node, len(c.Nodes))
	for i := range c.Nodes {
		src, n := &c.Nodes[i], &e.nodes[i]
		n.rm = rm.Node{Index: int32(i), Rack: int32(src.Rack), Name: src.Name, Total: src.Room, Free: src.Room}
		if i < len(e.cfg.Ports) {
			n.rm.Port = e.cfg.Ports[i]
		}
		n.asleep, n.first = true, unit.Never
		if e.cfg.Phases != nil {
			n.last = e.cfg.Phases[i]
		} else {
			n.last = unit.Time(workload.Uniform01(seed, uint64(i)) * float64(h))
		}
		if n.last < -h { // its interval begins within one before the start
			n.last += (-n.last - 1) / h * h
		}
		e.sched.NodeAdded(&n.rm, 0)
	}
}

const seedPhases = 0x79a1

// wake lets nodes and the scheduler's rounds go on after a time in which no application was there.
func (e *engine) wake() {
	var asleep []*node
	for i := range e.nodes {
		if n := &e.nodes[i]; n.asleep && n.logged == 0 {
			asleep = append(asleep, n)
		}
	}
	// Nodes that report at the same instant do so in the order of their last reports. One of them that has made a report more than
	// another came before it: it did not know yet that nobody was there.
	slices.SortStableFunc(asleep, func(a, b *node) int { return cmp.Or(cmp.Compare(b.last, a.last), cmp.Compare(a.serial, b.serial)) })
	for _, n := range asleep {
		n.asleep = false
		if behind := e.now - n.last - 1; behind >= 0 {
			n.last += behind / e.timing.NodeHeartbeat * e.timing.NodeHeartbeat
		}
		e.nextBeat(n)
	}
	if r := &e.round; r.asleep && r.every > 0 && r.logged == 0 {
		r.asleep = false
		e.nextRound(onGrid(e.cfg.RoundPhase, r.every, e.now))
	}
}

// onGrid is the first instant from + k*step that is not before at.
func onGrid(from, step, at unit.Time) unit.Time {
	if at <= from {
		return from - (from-at)/step*step
	}
	return from + (at-from+step-1)/step*step
}

// idle says that no node could tell anything and that there is nobody to serve: until an application comes, reports and rounds
// would change nothing and are left out.
func (e *engine) idle() bool {
	return e.present == 0 && e.live == 0 && (!e.restless || e.next == nil)
}

func (e *engine) nextBeat(n *node) {
	e.serial++
	n.serial, n.soon = e.serial, false
	e.push(max(n.last+e.timing.NodeHeartbeat, e.now), thenBeats, evBeat|uint64(n.rm.Index), n.serial)
}

// outOfBand makes a node report now.
func (e *engine) outOfBand(n *node) {
	if n.soon || n.logged > 0 {
		return
	}
	e.serial++
	n.serial, n.soon, n.asleep = e.serial, true, false
	e.push(e.now, thenBeats, evBeat|uint64(n.rm.Index), n.serial)
}

// beat is one report. again says that the next one is an interval away.
func (e *engine) beat(n *node, again bool) {
	n.last, n.soon = e.now, false
	for _, c := range n.fresh {
		c.rc.Launched = c.rc.Launched || !c.gone
	}
	n.fresh = n.fresh[:0]
	if n.first <= e.cause() {
		e.reportEnds(n)
	}
	for _, c := range n.orders {
		if at := e.now + e.timing.KillDelay; e.slots[c.slot] == c && at < c.end { // unless it ends by itself before that
			e.endAt(c, at)
		}
	}
	n.orders = n.orders[:0]
	for _, rc := range e.sched.Beat(&n.rm, e.now) {
		e.allocated(rc)
	}
	for _, a := range e.leaving {
		e.remove(a)
	}
	e.leaving = e.leaving[:0]
	switch {
	case !again:
	case e.idle():
		n.asleep = true
	default:
		e.nextBeat(n)
	}
}

// reportEnds tells the scheduler of the containers whose processes have ended, in the order in which they did.
func (e *engine) reportEnds(n *node) {
	var ended []*cont
	kept := n.on[:0]
	n.first = unit.Never
	for _, c := range n.on {
		if c.end <= e.cause() {
			ended = append(ended, c)
			continue
		}
		kept = append(kept, c)
		n.first = min(n.first, c.end)
	}
	clear(n.on[len(kept):])
	n.on = kept
	slices.SortStableFunc(ended, func(a, b *cont) int { return cmp.Compare(a.end, b.end) })
	for _, c := range ended {
		e.reported(c)
	}
}

// endAt says when a container's process ends on its node.
func (e *engine) endAt(c *cont, at unit.Time) {
	c.end = at
	c.node.first = min(c.node.first, at)
	e.horizon = max(e.horizon, at)
	if e.timing.OutOfBand {
		e.push(at, firstEnds, evEnd|uint64(c.slot), c.serial)
	}
}
