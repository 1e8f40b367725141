package fair

import (
	"math"

	"github.com/yardmaster/yardmaster/policy/fair/queues"
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
		was := a.Demand
		now := a.Used.Add(a.table.Pending())
		if now == was {
			continue
		}
		s.lift(a)
		a.Demand = now
		if a.weighed {
			a.Weight = queues.Single(math.Log1p(float64(now.Mem)) / math.Ln2)
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
		s.Root.share = s.Total
		s.recomputeShares(s.Root)
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
		q = q.Parent
	}
}

// demand caps q's raw demand at its maximum, and says whether it changed.
func (s *scheduler) demand(q *queue) bool {
	was := q.Demand
	if q.Demand = q.rawDemand.Min(q.Max); q.Demand == was {
		return false
	}
	if q.Parent != nil {
		q.Parent.rawDemand = q.Parent.rawDemand.Add(q.Demand).Sub(was)
	}
	return true
}

// recomputeShares divides q's share among its children.
func (s *scheduler) recomputeShares(q *queue) {
	if q.Leaf {
		s.shareApps(q)
		return
	}
	switch q.Kind {
	case queues.FIFO:
		if len(q.Kids) > 0 {
			q.Kids[0].share = q.share
		}
	default:
		s.classes = s.classes[:0]
		for _, k := range q.Kids {
			s.classes = append(s.classes, queues.Class{
				Claim:  queues.Claim{Weight: k.Weight, Min: k.Min, Max: k.Max},
				Active: int64(min(k.Runnable, 1)), Share: k.share,
			})
		}
		s.computeShares(q)
		for i, k := range q.Kids {
			k.share = s.classes[i].Share
		}
	}
	for _, k := range q.Kids {
		s.recomputeShares(k)
	}
}

func (s *scheduler) computeShares(q *queue) {
	queues.ComputeShares(s.classes, q.share, q.Kind == queues.DRF)
}

// unbounded is the maximum share of an application.
var unbounded = unit.Resources{Mem: 1 << 60, Cores: 1 << 60}

// shareApps divides a leaf's share among its applications. Unless weights go by size, all have the same share.
func (s *scheduler) shareApps(q *queue) {
	if len(q.apps) == 0 {
		return
	}
	if q.Kind == queues.FIFO { // the earliest gets all, and the others keep what they had
		first := q.apps[0]
		for _, a := range q.apps {
			if a.Start < first.Start {
				first = a
			}
		}
		first.share = q.share
		return
	}
	if !s.site.Fair.SizeBasedWeight {
		s.classes = append(s.classes[:0], queues.Class{Claim: queues.Claim{Weight: 1, Max: unbounded}, Active: int64(len(q.apps))})
		s.computeShares(q)
		for _, a := range q.apps {
			a.share = s.classes[0].Share
		}
		return
	}
	s.classes = s.classes[:0]
	for _, a := range q.apps {
		s.classes = append(s.classes, queues.Class{Claim: queues.Claim{Weight: a.Weight, Max: unbounded}, Active: 1})
	}
	s.computeShares(q)
	for i, a := range q.apps {
		a.share = s.classes[i].Share
	}
}
