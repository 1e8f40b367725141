package capacity1

import (
	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// locality places maps: near their input, or after a while anywhere.
type locality struct{ p *part }

// placement places tasks, by the kind of slot that they take.
type placement struct {
	maps    locality
	reduces *spread // nil: anywhere
}

var _ policy.Place = placement{}

func isReduce(j *policy.Job, s int) bool { return j.Stages[s].Slot == reduceSlots }

// Score applies the rule of the task's slot kind.
func (t placement) Score(now unit.Time, j *policy.Job, s int, n *policy.Node, near policy.Near) policy.Score {
	switch {
	case !isReduce(j, s):
		return t.maps.Score(now, j, s, n, near)
	case t.reduces != nil:
		return t.reduces.Score(now, j, s, n, near)
	}
	return policy.Any
}

// Skipped counts a skipped opportunity.
func (t placement) Skipped(_ unit.Time, j *policy.Job, s int) unit.Time {
	if isReduce(j, s) {
		t.reduces.skipped()
	} else {
		t.maps.p.jobs[j.Index].opportunities++
	}
	return unit.Never
}

// Placed records a start.
func (t placement) Placed(j *policy.Job, s int, n *policy.Node, near policy.Near) {
	if !isReduce(j, s) {
		t.maps.Placed(j, s, n, near)
	} else if t.reduces != nil {
		t.reduces.Placed(j, s, n, near)
	}
}

// Unplaced takes a map's start back. A node that was about to run a reduce may be skipped again, as any other.
func (t placement) Unplaced(j *policy.Job, s int, _ *policy.Node, _ policy.Near) {
	if !isReduce(j, s) {
		state := &t.maps.p.jobs[j.Index]
		taken, _ := state.ended.Take()
		state.opportunities += taken
	}
}

// Counts says whether tasks that take a kind of slot may be made to wait.
func (t placement) Counts(slot uint8) bool { return slot == mapSlots || t.reduces != nil }

// Left is a no-op: the order drops the job.
func (placement) Left(unit.Time, *policy.Job) {}

// Score accepts a node that is near enough for the opportunities the job has had, the current one included.
func (l locality) Score(_ unit.Time, v *policy.Job, _ int, _ *policy.Node, near policy.Near) policy.Score {
	opportunities := l.p.jobs[v.Index].opportunities + 1
	switch near {
	case policy.NoPreference:
		return policy.Any
	case policy.NodeLocal:
		return policy.Score(near)
	case policy.RackLocal:
		if opportunities > l.nodeDelay() {
			return policy.Score(near)
		}
	default:
		if !l.p.beat.off && opportunities > l.nodeDelay() && l.anywhere(v, opportunities) {
			return policy.Score(near)
		}
	}
	return policy.Wait
}

// nodeDelay is capped at one opportunity per node, as in the versions that have it.
func (l locality) nodeDelay() int64 { return min(int64(l.p.cfg.NodeDelay), l.p.nodes) }

// anywhere says whether that many opportunities are enough for a task off switch.
func (l locality) anywhere(v *policy.Job, opportunities int64) bool {
	c := &l.p.cfg
	switch {
	case c.RackDelay > 0:
		return opportunities > min(int64(c.RackDelay), l.nodeDelay()+l.p.nodes)
	case c.OffSwitch == PastMissed:
		return float64(min(v.Waiting[mapSlots], l.p.nodes))*c.LocalityWaitFactor < float64(opportunities)
	}
	return opportunities > l.p.nodes
}

// Placed resets the count, unless the task is off switch: then the next one may be too, in another heartbeat.
func (l locality) Placed(v *policy.Job, _ int, _ *policy.Node, near policy.Near) {
	j := &l.p.jobs[v.Index]
	before := j.opportunities
	switch near {
	case policy.NodeLocal, policy.RackLocal:
		j.opportunities = 0
	case policy.OffRack:
		j.opportunities++
		l.p.beat.off = true
	}
	j.ended.Keep(before - j.opportunities)
}

// spread places reduces when they avoid busy nodes. A node that runs a reduce is skipped once. If it is offered again while
// somebody has waited all the time, every other node with a free slot has been offered in between, and would have taken the reduce
// if it ran none.
type spread struct {
	p      *part
	passed []pass // by node
}

type pass struct {
	epoch uint64 // in which the node was skipped; 0: it was not
	beat  beat
}

// Score prefers nodes that run no reduce.
func (s *spread) Score(_ unit.Time, _ *policy.Job, _ int, n *policy.Node, _ policy.Near) policy.Score {
	if n.Free == n.Total {
		return 1
	}
	if int(n.Index) < len(s.passed) {
		if p := s.passed[n.Index]; p.epoch == s.p.epoch && (p.beat.node != s.p.beat.node || p.beat.now != s.p.beat.now) {
			return policy.Any
		}
	}
	return policy.Wait
}

func (s *spread) of(node int32) *pass { return dense.At(&s.passed, node) }

// skipped records that the current node was skipped.
func (s *spread) skipped() {
	if n := s.p.beat.node; n != none {
		if p := s.of(n); p.epoch != s.p.epoch {
			*p = pass{epoch: s.p.epoch, beat: s.p.beat}
		}
	}
}

// Placed lets the node be skipped again.
func (s *spread) Placed(_ *policy.Job, _ int, n *policy.Node, _ policy.Near) { *s.of(n.Index) = pass{} }
