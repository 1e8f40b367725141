package fair

import (
	"math"

	"github.com/yardmaster/yardmaster/policy/fair"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
)

// Round kills containers that were warned long enough ago, and updates.
func (s *scheduler) Round(now unit.Time) rm.Notice {
	s.now = now
	s.kill(now)
	s.update(now)
	notice := s.notice
	s.notice = rm.Notice{}
	return notice
}

// update is one iteration of Hadoop's update thread: demands, fair shares, starvation. It is incremental.
func (s *scheduler) update(now unit.Time) {
	for _, a := range s.dirty {
		a.dirty = false
		if a.stopped {
			continue
		}
		was := a.demand
		now := a.used.Add(a.table.Pending())
		if now == was {
			continue
		}
		s.lift(a)
		a.demand = now
		if a.weighed {
			a.weight = fair.Single(math.Log1p(float64(now.Mem)) / math.Ln2)
			s.stale = true
		}
		s.settle(a)
		a.queue.rawDemand = a.queue.rawDemand.Add(now).Sub(was)
		s.climb(a.queue)
	}
	s.dirty = s.dirty[:0]
	for _, q := range s.leavers {
		q.rawDemand, q.goneDemand, q.leaver = q.rawDemand.Sub(q.goneDemand), unit.Resources{}, false
		s.climb(q)
	}
	s.leavers = s.leavers[:0]
	if s.stale {
		s.stale = false
		s.root.share = s.total
		s.recomputeShares(s.root)
	}
	s.refresh()
	if s.site.Fair.Preemption {
		s.starvation(now)
	}
}

// touch marks an application whose demand may have changed.
func (s *scheduler) touch(a *app) {
	if !a.dirty {
		a.dirty = true
		s.dirty = append(s.dirty, a)
	}
}

// climb updates the demands of a queue and of those above it.
func (s *scheduler) climb(q *queue) {
	for q != nil && s.demand(q) {
		q = q.parent
	}
}

// demand caps q's raw demand at its maximum, and says whether it changed.
func (s *scheduler) demand(q *queue) bool {
	was := q.demand
	if q.demand = q.rawDemand.Min(q.max); q.demand == was {
		return false
	}
	if q.parent != nil {
		q.parent.rawDemand = q.parent.rawDemand.Add(q.demand).Sub(was)
	}
	return true
}

// recomputeShares divides q's share among its children.
func (s *scheduler) recomputeShares(q *queue) {
	if q.leaf {
		s.shareApps(q)
		return
	}
	switch q.kind {
	case fifoKind:
		if len(q.kids) > 0 {
			q.kids[0].share = q.share
		}
	default:
		s.classes = s.classes[:0]
		for _, k := range q.kids {
			s.classes = append(s.classes, fair.Class{
				Claim:  fair.Claim{Weight: k.weight, Min: k.min, Max: k.max},
				Active: int64(min(k.runnable, 1)), Share: k.share,
			})
		}
		s.computeShares(q)
		for i, k := range q.kids {
			k.share = s.classes[i].Share
		}
	}
	for _, k := range q.kids {
		s.recomputeShares(k)
	}
}

func (s *scheduler) computeShares(q *queue) {
	fair.ComputeShares(s.classes, q.share, q.kind == drfKind)
}

// unbounded is the maximum share of an application.
var unbounded = unit.Resources{Mem: 1 << 60, Cores: 1 << 60}

// shareApps divides a leaf's share among its applications. Unless weights go by size, all have the same share.
func (s *scheduler) shareApps(q *queue) {
	if len(q.apps) == 0 {
		return
	}
	if q.kind == fifoKind { // the earliest gets all, and the others keep what they had
		first := q.apps[0]
		for _, a := range q.apps {
			if a.start < first.start {
				first = a
			}
		}
		first.share = q.share
		return
	}
	if !s.site.Fair.SizeBasedWeight {
		s.classes = append(s.classes[:0], fair.Class{Claim: fair.Claim{Weight: 1, Max: unbounded}, Active: int64(len(q.apps))})
		s.computeShares(q)
		for _, a := range q.apps {
			a.share = s.classes[0].Share
		}
		return
	}
	s.classes = s.classes[:0]
	for _, a := range q.apps {
		s.classes = append(s.classes, fair.Class{Claim: fair.Claim{Weight: a.weight, Max: unbounded}, Active: 1})
	}
	s.computeShares(q)
	for i, a := range q.apps {
		a.share = s.classes[i].Share
	}
}
