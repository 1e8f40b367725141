package capacity

import (
	"cmp"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/internal/heap"
	"github.com/yardmaster/yardmaster/policy/capacity/arith"
	"github.com/yardmaster/yardmaster/unit"
)

// share divides q's ideal assignment among the queues below it, and computes the excess of each.
func (s *Scheduler) share(q *queue, allowed unit.Resources) {
	if q.Leaf != nil {
		return
	}
	m := &s.monitor
	total := m.ideals[q].assigned
	must := needy{Before: func(a, b *queue) bool { return s.needier(q, total, a, b) < 0 }}
	left := total
	for _, guaranteed := range []bool{true, false} {
		if !guaranteed && s.Calc.Compare(total, left, unit.Resources{}) <= 0 {
			break // queues without a guarantee are assigned nothing, whatever they hold
		}
		must.Items = must.Items[:0]
		for _, k := range q.Children {
			x := m.ideals[k]
			if (s.Calc.Compare(total, x.guaranteed, unit.Resources{}) > 0) != guaranteed {
				continue
			}
			x.assigned = x.used
			if s.Calc.Compare(total, x.used, x.guaranteed) > 0 {
				x.assigned = x.guaranteed.Min(x.used).Add(x.untouchable)
			}
			left = left.Sub(x.assigned)
			if s.Calc.Compare(total, x.assigned, x.used.Add(x.pending)) < 0 {
				must.Push(k)
			}
		}
		left = s.distribute(&must, total, left, guaranteed)
	}
	var needed unit.Resources
	for _, k := range q.Children {
		if x := m.ideals[k]; s.Calc.Compare(total, x.used, x.assigned) > 0 {
			needed = needed.Add(x.used.Sub(x.assigned))
		}
	}
	scale := float32(1)
	if s.Calc.Compare(total, needed, allowed) > 0 {
		scale = s.Calc.Divide(total, allowed, needed)
	}
	for _, k := range q.Children {
		x := m.ideals[k]
		keep := s.Calc.Max(total, s.Calc.Min(total, x.used.Add(x.pending), x.guaranteed), x.assigned)
		x.over = unit.Resources{}
		if s.Calc.Compare(total, x.used, keep) > 0 {
			x.over = arith.MulFloor(x.used.Sub(keep), float64(scale))
		}
		s.share(k, allowed)
	}
}

// needy holds the queues with unmet demand, neediest first. The order of equals affects rounding:
// Hadoop's java.util.PriorityQueue moves them as this heap does.
type needy = heap.Heap[*queue]

// distribute offers what is left to the queues with unmet demand, furthest below their guarantees first, until none
// takes any or nothing is left. It returns what Hadoop continues with: only the first queue's part is subtracted
// (AbstractPreemptableResourceCalculator continues on a copy after that).
func (s *Scheduler) distribute(must *needy, total, left unit.Resources, guaranteed bool) (after unit.Resources) {
	after = left
	for first := true; len(must.Items) > 0 && s.Calc.Compare(total, left, unit.Resources{}) > 0; {
		s.parts(must.Items, guaranteed)
		served := []*queue{must.Pop()}
		for len(must.Items) > 0 && !must.Before(served[len(served)-1], must.Items[0]) {
			served = append(served, must.Pop())
		}
		offered := left
		for _, k := range served {
			if s.Calc.Fits(left, unit.Resources{}) {
				break
			}
			got := s.offer(k, s.portion(k, offered, left), total)
			if s.Calc.Compare(total, got, unit.Resources{}) > 0 {
				must.Push(k)
			}
			left = left.Sub(got)
			if first {
				first, after = false, left
			}
			left = left.Max(unit.Resources{})
		}
	}
	return after
}

// parts sets every queue's portion of the distribution: equal among queues without a guarantee; else by guarantee, one
// resource at a time. If a guarantee was rounded down to 0, all go by their share of the cluster.
func (s *Scheduler) parts(queues []*queue, guaranteed bool) {
	even := 1 / float32(len(queues))
	var sum unit.Resources
	var shares float32
	for _, k := range queues {
		sum = sum.Add(s.monitor.ideals[k].guaranteed)
		shares += k.AbsCap
	}
	kind := func(i int, of func(unit.Resources) int64) {
		rounded := of(sum) != 0 && slices.ContainsFunc(queues, func(k *queue) bool {
			return k.AbsCap != 0 && of(s.monitor.ideals[k].guaranteed) == 0
		})
		for _, k := range queues {
			x := s.monitor.ideals[k]
			part := even
			switch {
			case !guaranteed:
			case rounded:
				part = k.AbsCap / shares
			case shares != 0 && of(sum) != 0:
				part = float32(of(x.guaranteed)) / float32(of(sum))
			}
			x.part[i] = float64(part)
		}
	}
	kind(0, func(r unit.Resources) int64 { return r.Mem })
	kind(1, func(r unit.Resources) int64 { return r.Cores })
}

// portion is what a queue is offered, rounded up to whole units, at most what is left. Unlike limits, it is not computed
// via float32.
func (s *Scheduler) portion(k *queue, of, left unit.Resources) unit.Resources {
	part := s.monitor.ideals[k].part
	r := unit.Resources{Mem: int64(math.Ceil(float64(of.Mem) * part[0])), Cores: int64(math.Ceil(float64(of.Cores) * part[1]))}
	if s.Calc == arith.Default {
		r = s.Calc.MulUp(of, part[0], unit.Resources{Mem: 1, Cores: 1})
	}
	return r.Min(left)
}

// needier orders queues by the assigned share of their guarantee, smallest first; by priority first where that counts.
func (s *Scheduler) needier(parent *queue, total unit.Resources, a, b *queue) int {
	part := func(q *queue) float64 {
		x := s.monitor.ideals[q]
		if s.Calc.Compare(total, x.guaranteed, unit.Resources{}) <= 0 {
			return 1 << 31
		}
		return float64(s.Calc.Divide(total, x.assigned, x.guaranteed))
	}
	pa, pb := part(a), part(b)
	if parent.ByPriority && a.Priority != b.Priority && (pa < 1) == (pb < 1) {
		return cmp.Compare(b.Priority, a.Priority)
	}
	return cmp.Compare(pa, pb)
}

// offer assigns a queue as much of r as it can use: below its maximum, within its demand, and for a leaf
// not beyond what it holds or is guaranteed. It returns what was taken.
func (s *Scheduler) offer(k *queue, r, total unit.Resources) unit.Resources {
	x := s.monitor.ideals[k]
	room := x.max.Sub(x.assigned)
	got := s.Calc.Min(total, r, x.used.Add(x.net).Sub(x.assigned))
	got = unit.Resources{Mem: min(got.Mem, max(room.Mem, 0)), Cores: min(got.Cores, max(room.Cores, 0))}
	if k.Leaf != nil {
		rest := s.Calc.Max(total, s.Calc.Max(total, x.used, x.guaranteed).Sub(x.assigned), unit.Resources{})
		got = s.Calc.Min(total, got, rest)
	}
	got = unit.Resources{Mem: min(max(got.Mem, 0), r.Mem), Cores: min(max(got.Cores, 0), r.Cores)}
	x.assigned = x.assigned.Add(got)
	return got
}
