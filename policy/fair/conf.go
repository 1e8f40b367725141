package fair

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fair/queues"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// FromConf builds the queue tree of a fair-scheduler.xml. c is not modified: it can serve many runs.
func FromConf(c *conf.Fair) (policy.Policy, error) { return fromConf(c, false) }

// FromConfV2 is FromConf with Hadoop 2's AM limit: only memory counts, and the limit is rounded down.
func FromConfV2(c *conf.Fair) (policy.Policy, error) { return fromConf(c, true) }

func fromConf(c *conf.Fair, v2 bool) (policy.Policy, error) {
	t := &Tree{
		v2:    v2,
		users: queues.Users[user]{New: func(name string) *user { return &user{most: c.MaxAppsOf(name)} }},
		lanes: lanes{byKey: map[laneKey]*lane{}},
	}
	if err := t.Build(c, "jobs", t.newQueue); err != nil {
		return policy.Policy{}, err
	}
	t.Resized(0, policy.Cluster{})
	return policy.Policy{Order: t, NotModelled: slices.Clone(c.NotModelled)}, nil
}

// newQueue creates a queue and ranks it among its siblings.
func (t *Tree) newQueue(common queues.Queue[*queue], _ *conf.FairQueue) *queue {
	q := &queue{Queue: common}
	q.limit(t.Total)
	q.classify()
	t.hasMin = t.hasMin || q.Minimum != conf.Share{}
	if p := q.Parent; p != nil {
		q.slot = int32(len(p.Kids))
		p.enlist(q)
		t.rerank(p, q)
	}
	return q
}

// rerank numbers the children of a queue by name, with a new one. Numbers leave gaps, so that a new name rarely moves the others.
func (t *Tree) rerank(p, q *queue) {
	i, _ := slices.BinarySearchFunc(p.sorted, q, func(a, b *queue) int { return cmp.Compare(a.Name, b.Name) })
	p.sorted = slices.Insert(p.sorted, i, q)
	low, high := int64(0), int64(maxRank)
	if i > 0 {
		low = p.sorted[i-1].rank
	}
	if i+1 < len(p.sorted) {
		high = p.sorted[i+1].rank
	}
	if q.rank = low + (high-low)/2; q.rank > low {
		return
	}
	step := int64(maxRank) / int64(len(p.sorted)+1)
	for i, k := range p.sorted {
		k.rank = int64(i+1) * step
	}
	for _, k := range p.sorted {
		t.place(k)
	}
}

const maxRank = 1 << 41
