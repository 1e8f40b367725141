package fair

import (
	"slices"

	"github.com/yardmaster/yardmaster/internal/heap"
	"github.com/yardmaster/yardmaster/policy/fair/queues"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// queue is one queue of the tree.
type queue struct {
	queues.Queue[*queue]
	minTimeout, fairTimeout unit.Time // preemption timeouts
	threshold               float64
	keep                    bool // never preempted

	rawDemand unit.Resources    // sum of the demands below, before capping at max
	share     unit.Resources    // instantaneous fair share, as of the last update
	hungry    int               // runnable ones whose demand differs from what they hold
	order     heap.Heap[*queue] // kids during a descent, best first

	// Leaves.
	apps       []*app         // runnable, by arrival
	parked     []*app         // likewise
	line       []*app         // hungry, in the policy's order
	goneDemand unit.Resources // demand of applications that left since the last update
	leaver     bool           // in scheduler.leavers
	atMin      unit.Time      // when it last had its minimum share
}

func (s *scheduler) newQueue(common queues.Queue[*queue], c *conf.FairQueue) *queue {
	q := &queue{
		Queue: common, minTimeout: c.MinShareTimeout, fairTimeout: c.FairShareTimeout, threshold: queues.Single(c.FairShareThreshold),
		keep: c.KeepContainers, atMin: s.now,
	}
	q.order.Before = func(a, b *queue) bool { return compare(q.Kind, &a.Standing, &b.Standing, s.Total) < 0 }
	if p := q.Parent; p != nil {
		if q.minTimeout < 0 {
			q.minTimeout = p.minTimeout
		}
		if q.fairTimeout < 0 {
			q.fairTimeout = p.fairTimeout
		}
		if q.threshold < 0 {
			q.threshold = p.threshold
		}
		q.keep = q.keep || p.keep
	}
	return q
}

// overMax is the first queue, from q up, whose maximum more would exceed; nil: none.
func (q *queue) overMax(more unit.Resources) *queue {
	for ; q != nil; q = q.Parent {
		if !q.Used.Add(more).Fits(q.Max) {
			return q
		}
	}
	return nil
}

// lift removes an application from its leaf's line, before its sort key changes.
func (s *scheduler) lift(a *app) {
	if !a.lined {
		return
	}
	q := a.queue
	i, ok := slices.BinarySearchFunc(q.line, a, func(x, y *app) int { return compare(q.Kind, &x.Standing, &y.Standing, s.Total) })
	if !ok || q.line[i] != a {
		i = slices.Index(q.line, a)
	}
	q.line, a.lined = slices.Delete(q.line, i, i+1), false
}

// settle reinserts an application at its position.
func (s *scheduler) settle(a *app) {
	q := a.queue
	hungry := a.runnable && a.Demand != a.Used
	if hungry && !a.lined {
		i, _ := slices.BinarySearchFunc(q.line, a, func(x, y *app) int { return compare(q.Kind, &x.Standing, &y.Standing, s.Total) })
		q.line, a.lined = slices.Insert(q.line, i, a), true
	}
	if hungry == a.hungry {
		return
	}
	a.hungry = hungry
	by := 1
	if !hungry {
		by = -1
	}
	for ; q != nil; q = q.Parent {
		q.hungry += by
	}
}

// hold adds to what an application and its queues hold.
func (s *scheduler) hold(a *app, more unit.Resources) {
	s.lift(a)
	a.Used = a.Used.Add(more)
	for q := a.queue; q != nil; q = q.Parent {
		q.Used = q.Used.Add(more)
	}
	s.settle(a)
	s.touch(a)
}
