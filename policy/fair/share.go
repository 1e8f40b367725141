package fair

import (
	"math"

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
	classes []Class
	index   map[Claim]int32
	version int64
}

// Claim is what decides a queue's, or a job's, share of what is above it.
type Claim struct {
	Weight   float64
	Min, Max unit.Resources
}

// Class is a number of queues, or jobs, with the same claim.
type Class struct {
	Claim
	Active int64          // those that have runnable jobs
	Share  unit.Resources // of each of them
}

// classify sorts q's children into classes.
func (q *queue) classify() {
	q.shares = shares{index: map[Claim]int32{}, version: -1}
	for _, k := range q.kids {
		q.enlist(k)
	}
}

func (q *queue) enlist(k *queue) {
	key := Claim{k.weight, k.min, k.max}
	c, ok := q.shares.index[key]
	if !ok {
		c = int32(len(q.shares.classes))
		q.shares.index[key] = c
		q.shares.classes = append(q.shares.classes, Class{Claim: key})
	}
	k.class = c
	if k.runnable > 0 {
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
	p := q.parent
	if p == nil {
		return t.total
	}
	if p.shares.version != t.version {
		all := t.share(p)
		ComputeShares(p.shares.classes, all, p.kind == drfKind)
		p.shares.version = t.version
	}
	if q.runnable == 0 {
		return unit.Resources{}
	}
	return p.shares.classes[q.class].Share
}

func memory(r *unit.Resources) *int64 { return &r.Mem }
func vcores(r *unit.Resources) *int64 { return &r.Cores }

// ComputeShares computes the shares of memory, and of vcores if cores is set.
func ComputeShares(classes []Class, total unit.Resources, cores bool) {
	computeShare(classes, total.Mem, memory)
	if cores {
		computeShare(classes, total.Cores, vcores)
	}
}

// computeShare computes one component of the classes' shares.
func computeShare(classes []Class, total int64, of func(*unit.Resources) *int64) {
	left, most := float64(total), 0.0
	for i := range classes {
		c := &classes[i]
		*of(&c.Share) = 0
		switch {
		case c.Active == 0 || *of(&c.Max) <= 0:
		case c.Weight <= 0:
			*of(&c.Share) = *of(&c.Min)
			left -= float64(c.Active) * float64(*of(&c.Min))
		default:
			most += float64(c.Active) * float64(*of(&c.Max))
		}
	}
	left = max(min(left, most), 0)
	at := func(c *Class, r float64) float64 {
		return math.Trunc(min(max(c.Weight*r, float64(*of(&c.Min))), float64(*of(&c.Max))))
	}
	sum := func(r float64) float64 {
		s := 0.0
		for i := range classes {
			if c := &classes[i]; c.Active > 0 && c.Weight > 0 && *of(&c.Max) > 0 {
				s += float64(c.Active) * at(c, r)
			}
		}
		return s
	}
	high := 1.0
	for sum(high) < left && !math.IsInf(high, 1) {
		high *= 2
	}
	low := 0.0
	for range 25 {
		mid := (low + high) / 2
		s := sum(mid)
		if s >= left {
			high = mid
		} else {
			low = mid
		}
		if s == left {
			break
		}
	}
	for i := range classes {
		if c := &classes[i]; c.Active > 0 && c.Weight > 0 && *of(&c.Max) > 0 {
			*of(&c.Share) = int64(at(c, high))
		}
	}
}

// amLimit is what the AMs of a leaf may hold together. Where the fair share is 0 (vcores under policy fair), what
// is free on the whole cluster is used instead, within the leaf's maximum.
func (t *Tree) amLimit(q *queue) unit.Resources {
	if q.amShare < 0 {
		return unit.Resources{Mem: math.MaxInt64 / 2, Cores: math.MaxInt64 / 2}
	}
	s := t.share(q)
	if s.Mem == 0 {
		s.Mem = min(t.total.Mem-t.used.Mem, q.max.Mem)
	}
	if t.v2 {
		return unit.Resources{Mem: t.memoryLimit(q, s.Mem), Cores: math.MaxInt64 / 2}
	}
	if s.Cores == 0 {
		s.Cores = min(t.total.Cores-t.used.Cores, q.max.Cores)
	}
	return unit.Resources{Mem: t.memoryLimit(q, s.Mem), Cores: ceil(s.Cores, q.amShare)}
}

// memoryLimit is the AMs' part of a leaf's memory.
func (t *Tree) memoryLimit(q *queue, share int64) int64 {
	if t.v2 {
		return int64(float64(share) * q.amShare)
	}
	return ceil(share, q.amShare)
}

func ceil(v int64, by float64) int64 { return int64(math.Ceil(float64(v) * by)) }

// amsFull says whether no waiting AM fits the memory that the leaf's AMs may hold, as long as the shares
// stay as they are. (The vcores may depend on what is currently free: serve checks them.)
func (t *Tree) amsFull(q *queue) bool {
	if q.amShare < 0 {
		return false
	}
	s := t.share(q)
	return s.Mem > 0 && q.ams.Mem+q.lane.am.minAsk.Mem > t.memoryLimit(q, s.Mem)
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
