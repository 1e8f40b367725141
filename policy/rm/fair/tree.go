package fair

import (
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/internal/heap"
	"github.com/yardmaster/yardmaster/policy/fair"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// queue is one queue of the tree.
type queue struct {
	standing
	parent *queue
	kids   []*queue
	leaf   bool
	kind   kind

	minimum, maximum        conf.Share
	maxChild                *conf.Share
	maxApps                 int
	amShare                 float64
	minTimeout, fairTimeout unit.Time // preemption timeouts
	threshold               float64
	keep                    bool // never preempted

	max       unit.Resources    // at least min
	rawDemand unit.Resources    // sum of the demands below, before capping at max
	share     unit.Resources    // instantaneous fair share, as of the last update
	runnable  int               // applications below that are not parked
	hungry    int               // runnable ones whose demand differs from what they hold
	order     heap.Heap[*queue] // kids during a descent, best first

	// Leaves.
	apps       []*app         // runnable, by arrival
	parked     []*app         // likewise
	line       []*app         // hungry, in the policy's order
	ams        unit.Resources // what AMs hold
	goneDemand unit.Resources // demand of applications that left since the last update
	leaver     bool           // in scheduler.leavers
	atMin      unit.Time      // when it last had its minimum share
}

// build builds the tree of the file.
func (s *scheduler) build(parent *queue, c *conf.FairQueue) error {
	if _, ok := kinds[c.Policy]; !ok {
		return fmt.Errorf("queue %s: policy %q: want fair, drf or fifo", c.Name, c.Policy)
	}
	q := s.add(parent, c.Name, c, !c.Parent)
	for _, k := range c.Children {
		if err := s.build(q, k); err != nil {
			return err
		}
	}
	return nil
}

// add makes a queue with the settings of c.
func (s *scheduler) add(parent *queue, name string, c *conf.FairQueue, leaf bool) *queue {
	q := &queue{
		parent: parent, leaf: leaf, kind: kinds[c.Policy],
		minimum: c.Min, maximum: c.Max, maxChild: c.MaxChild, maxApps: c.MaxApps, amShare: fair.Single(c.MaxAMShare),
		minTimeout: c.MinShareTimeout, fairTimeout: c.FairShareTimeout, threshold: fair.Single(c.FairShareThreshold),
		keep: c.KeepContainers, atMin: s.now,
	}
	q.order.Before = func(a, b *queue) bool { return q.kind.compare(&a.standing, &b.standing, s.total) < 0 }
	q.name, q.weight = name, fair.Single(c.Weight)
	q.resize(s.total)
	s.queues, s.names[name] = append(s.queues, q), q
	if parent == nil {
		s.root = q
		return q
	}
	parent.kids = append(parent.kids, q)
	if q.minTimeout < 0 {
		q.minTimeout = parent.minTimeout
	}
	if q.fairTimeout < 0 {
		q.fairTimeout = parent.fairTimeout
	}
	if q.threshold < 0 {
		q.threshold = parent.threshold
	}
	q.keep = q.keep || parent.keep
	return q
}

func (q *queue) resize(total unit.Resources) {
	q.min = q.minimum.Of(total)
	q.max = q.maximum.Of(total).Max(q.min)
}

func (q *queue) IsLeaf() bool { return q.leaf }

// find is the leaf with this full name, created if allowed; nil without an error: there is none.
func (s *scheduler) find(name string, create bool) (*queue, error) {
	return fair.FindLeaf(s.names, name, create, "applications", func(above *queue, name string, leaf bool) *queue {
		c := s.defaults
		if above.maxChild != nil {
			c.Max = *above.maxChild
		}
		return s.add(above, name, &c, leaf)
	})
}

// overMax is the first queue, from q up, whose maximum more would exceed; nil: none.
func (q *queue) overMax(more unit.Resources) *queue {
	for ; q != nil; q = q.parent {
		if !q.used.Add(more).Fits(q.max) {
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
	i, ok := slices.BinarySearchFunc(q.line, a, func(x, y *app) int { return q.kind.compare(&x.standing, &y.standing, s.total) })
	if !ok || q.line[i] != a {
		i = slices.Index(q.line, a)
	}
	q.line, a.lined = slices.Delete(q.line, i, i+1), false
}

// settle reinserts an application at its position.
func (s *scheduler) settle(a *app) {
	q := a.queue
	hungry := a.runnable && a.demand != a.used
	if hungry && !a.lined {
		i, _ := slices.BinarySearchFunc(q.line, a, func(x, y *app) int { return q.kind.compare(&x.standing, &y.standing, s.total) })
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
	for ; q != nil; q = q.parent {
		q.hungry += by
	}
}

// hold adds to what an application and its queues hold.
func (s *scheduler) hold(a *app, more unit.Resources) {
	s.lift(a)
	a.used = a.used.Add(more)
	for q := a.queue; q != nil; q = q.parent {
		q.used = q.used.Add(more)
	}
	s.settle(a)
	s.touch(a)
}
