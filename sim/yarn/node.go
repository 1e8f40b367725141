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
	serial int64     // of the queued report
	asleep bool      // no report is queued: no application is present
	soon   bool      // a report at this instant is queued
	lost   int       // losses that it has not returned from
	logged int64     // remaining reports in the script

	running []*cont   // with a process, oldest first
	first   unit.Time // lower bound of their earliest end; Never: none is known
	fresh   []*cont   // started since the last report
	orders  []*cont   // to be killed, order not yet sent
}

// layOut creates the nodes. They sleep until the first application arrives.
func (e *engine) layOut() {
	c, h := e.cfg.Cluster, e.timing.NodeHeartbeat
	seed := workload.Seed(e.cfg.Seed, seedPhases)
	e.nodes = make([]node, len(c.Nodes))
	for i := range c.Nodes {
		src, n := &c.Nodes[i], &e.nodes[i]
		n.rm = rm.Node{Index: int32(i), Rack: int32(src.Rack), Name: src.Name, Kind: src.Kind, Total: src.Room, Free: src.Room}
		if i < len(e.cfg.Ports) {
			n.rm.Port = e.cfg.Ports[i]
		}
		n.asleep, n.first = true, unit.Never
		if e.cfg.Phases != nil {
			n.last = e.cfg.Phases[i]
		} else {
			n.last = unit.Time(workload.Uniform01(seed, uint64(i)) * float64(h))
		}
		if n.last < -h { // its interval begins at most one interval before the start
			n.last += (-n.last - 1) / h * h
		}
		e.sched.NodeAdded(&n.rm, 0)
	}
}

const seedPhases = 0x79a1

// wake resumes nodes and the scheduler's rounds after a time without applications.
func (e *engine) wake() {
	var asleep []*node
	for i := range e.nodes {
		if n := &e.nodes[i]; n.asleep && n.logged == 0 && n.lost == 0 {
			asleep = append(asleep, n)
		}
	}
	// Nodes that report at the same instant do so in the order of their last reports. One of them that has made a report more than
	// another came before it: it did not know yet that no application was present.
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

// onGrid returns the first of origin + k*step that is not before an instant.
func onGrid(origin, step, instant unit.Time) unit.Time {
	if instant <= origin {
		return origin - (origin-instant)/step*step
	}
	return origin + (instant-origin+step-1)/step*step
}

// idle reports that no node has anything to report and there is no application to serve: until one arrives, reports and rounds
// would be no-ops and are skipped.
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

// beat is one report. again: the next one is an interval away.
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
		if at := e.now + e.timing.KillDelay; e.slots[c.slot] == c && at < c.end { // unless it ends by itself before
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

// reportEnds notifies the scheduler of the containers whose processes have ended, in order of their ends.
func (e *engine) reportEnds(n *node) {
	var ended []*cont
	kept := n.running[:0]
	n.first = unit.Never
	for _, c := range n.running {
		if c.end <= e.cause() {
			ended = append(ended, c)
			continue
		}
		kept = append(kept, c)
		n.first = min(n.first, c.end)
	}
	clear(n.running[len(kept):])
	n.running = kept
	slices.SortStableFunc(ended, func(a, b *cont) int { return cmp.Compare(a.end, b.end) })
	for _, c := range ended {
		e.reported(c)
	}
}

// endAt sets when a container's process ends on its node.
func (e *engine) endAt(c *cont, instant unit.Time) {
	c.end = instant
	c.node.first = min(c.node.first, instant)
	e.horizon = max(e.horizon, instant)
	if e.timing.OutOfBand {
		e.push(instant, firstEnds, evEnd|uint64(c.slot), c.serial)
	}
}
