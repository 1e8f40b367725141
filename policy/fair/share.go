package fair

import (
	"math"

	"github.com/yardmaster/yardmaster/policy/fair/queues"
	"github.com/yardmaster/yardmaster/unit"
)

// shares are the instantaneous fair shares of a queue's children: water-filling over those that have runnable jobs, by
// weight, each at least its minimum and at most its maximum:
//
//	share(r) = trunc(min(max(weight x r, minimum), maximum)),  r: the smallest found with sum share(r) >= what there is
//
// r doubles from 1 until the sum suffices and is then bisected 25 times, as ComputeFairShares does, so that the
// roundings agree. Children with the same weight, minimum and maximum have the same share: it is computed once per class,
// and a parent of thousands of identical queues costs no more than one of three.
type shares struct {
	classes []queues.Class
	index   map[queues.Claim]int32
	version int64
}

// classify sorts q's children into classes.
func (q *queue) classify() {
	q.shares = shares{index: map[queues.Claim]int32{}, version: -1}
	for _, k := range q.Kids {
		q.enlist(k)
	}
}

func (q *queue) enlist(k *queue) {
	key := queues.Claim{Weight: k.Weight, Min: k.Min, Max: k.Max}
	c, ok := q.shares.index[key]
	if !ok {
		c = int32(len(q.shares.classes))
		q.shares.index[key] = c
		q.shares.classes = append(q.shares.classes, queues.Class{Claim: key})
	}
	k.class = c
	if k.Runnable > 0 {
		q.shares.classes[c].Active++
	}
}

// changed invalidates the fair shares.
func (t *Tree) changed() {
	t.version++
	t.recheck = true
}

// share is a queue's fair share.
func (t *Tree) share(q *queue) unit.Resources {
	p := q.Parent
	if p == nil {
		return t.Total
	}
	if p.shares.version != t.version {
		all := t.share(p)
		queues.ComputeShares(p.shares.classes, all, p.Kind == queues.DRF)
		p.shares.version = t.version
	}
	if q.Runnable == 0 {
		return unit.Resources{}
	}
	return p.shares.classes[q.class].Share
}

// amLimit is what the AMs of a leaf may hold together. Where the fair share is 0 (vcores under policy fair), what
// is free on the whole cluster is used instead, within the leaf's maximum.
func (t *Tree) amLimit(q *queue) unit.Resources {
	if q.AMShare < 0 {
		return unit.Resources{Mem: math.MaxInt64 / 2, Cores: math.MaxInt64 / 2, Extra: t.Total.Extra}
	}
	s := t.share(q)
	if s.Mem == 0 {
		s.Mem = min(t.Total.Mem-t.used.Mem, q.Max.Mem)
	}
	if t.v2 {
		return unit.Resources{Mem: t.memoryLimit(q, s.Mem), Cores: math.MaxInt64 / 2, Extra: t.Total.Extra}
	}
	if s.Cores == 0 {
		s.Cores = min(t.Total.Cores-t.used.Cores, q.Max.Cores)
	}
	return unit.Resources{Mem: t.memoryLimit(q, s.Mem), Cores: ceil(s.Cores, q.AMShare), Extra: t.Total.Extra}
}

// memoryLimit is the AMs' part of a leaf's memory.
func (t *Tree) memoryLimit(q *queue, share int64) int64 {
	if t.v2 {
		return int64(float64(share) * q.AMShare)
	}
	return ceil(share, q.AMShare)
}

func ceil(v int64, by float64) int64 { return int64(math.Ceil(float64(v) * by)) }

// amsFull says whether no waiting AM fits the memory that the leaf's AMs may hold, as long as the shares
// stay as they are. (The vcores may depend on what is currently free: serve checks them.)
func (t *Tree) amsFull(q *queue) bool {
	if q.AMShare < 0 {
		return false
	}
	s := t.share(q)
	return s.Mem > 0 && q.AMs.Mem+q.lane.am.minAsk.Mem > t.memoryLimit(q, s.Mem)
}

// recheckAMs rechecks the leaves that were at their AM limit.
func (t *Tree) recheckAMs() {
	t.recheck = false
	old := len(t.barred)
	for i := range old {
		q := t.barred[i]
		q.barred = false
		t.climb(q) // may bar it again, at the end of the list
	}
	t.barred = t.barred[:copy(t.barred, t.barred[old:])]
}
