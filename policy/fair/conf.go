package fair

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// limits are a queue's settings.
type limits struct {
	weight           float64
	minimum, maximum conf.Share
	maxChild         *conf.Share
	maxApps          int
	amShare          float64
	policy           kind
}

// FromConf builds the queue tree of a fair-scheduler.xml. c is not modified: it can serve many runs.
func FromConf(c *conf.Fair) (policy.Policy, error) { return fromConf(c, false) }

// FromConfV2 is FromConf with Hadoop 2's AM limit: only memory counts, and the limit is rounded down.
func FromConfV2(c *conf.Fair) (policy.Policy, error) { return fromConf(c, true) }

func fromConf(c *conf.Fair, v2 bool) (policy.Policy, error) {
	t := &Tree{
		v2:    v2,
		names: map[string]*queue{},
		users: users{byName: map[string]*user{}, most: c.MaxAppsOf},
		lanes: lanes{byKey: map[laneKey]*lane{}},
		rules: PlacementOf(c),
	}
	d, err := limitsOf(&c.Default)
	if err != nil {
		return policy.Policy{}, err
	}
	t.defaults = d
	if err := t.build(nil, c.Root); err != nil {
		return policy.Policy{}, err
	}
	t.Resized(0, policy.Cluster{})
	return policy.Policy{Order: t, NotModelled: slices.Clone(c.NotModelled)}, nil
}

func limitsOf(q *conf.FairQueue) (limits, error) {
	l := limits{weight: Single(q.Weight), minimum: q.Min, maximum: q.Max, maxChild: q.MaxChild,
		maxApps: q.MaxApps, amShare: Single(q.MaxAMShare)}
	switch q.Policy {
	case "fair":
		l.policy = fairKind
	case "drf":
		l.policy = drfKind
	case "fifo":
		l.policy = fifoKind
	default:
		return l, fmt.Errorf("queue %s: policy %q: want fair, drf or fifo", q.Name, q.Policy)
	}
	return l, nil
}

// Single rounds to the precision in which Hadoop keeps weights and AM shares: ceil(10240 x 0.1) is 1025 there.
func Single(v float64) float64 { return float64(float32(v)) }

func (t *Tree) build(parent *queue, c *conf.FairQueue) error {
	l, err := limitsOf(c)
	if err != nil {
		return err
	}
	q := t.add(parent, c.Name, l, !c.Parent)
	for _, k := range c.Children {
		if err := t.build(q, k); err != nil {
			return err
		}
	}
	return nil
}

// add creates a queue and ranks it among its siblings.
func (t *Tree) add(parent *queue, name string, l limits, leaf bool) *queue {
	q := &queue{name: name, parent: parent, limits: l, kind: l.policy, leaf: leaf}
	q.limit(t.total)
	q.classify()
	t.hasMin = t.hasMin || q.minimum != conf.Share{}
	t.queues, t.names[name] = append(t.queues, q), q
	if parent == nil {
		t.root = q
		return q
	}
	q.slot, parent.kids = int32(len(parent.kids)), append(parent.kids, q)
	parent.enlist(q)
	t.rerank(parent)
	return q
}

// rerank numbers the children of a queue by name. Numbers leave gaps, so that a new name rarely moves the others.
func (t *Tree) rerank(p *queue) {
	at, _ := slices.BinarySearchFunc(p.sorted, p.kids[len(p.kids)-1], func(a, b *queue) int { return cmp.Compare(a.name, b.name) })
	q := p.kids[len(p.kids)-1]
	p.sorted = slices.Insert(p.sorted, at, q)
	low, high := int64(0), int64(maxRank)
	if at > 0 {
		low = p.sorted[at-1].rank
	}
	if at+1 < len(p.sorted) {
		high = p.sorted[at+1].rank
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

// undeclared are the settings of a queue that the file does not name, inside p.
func (t *Tree) undeclared(p *queue) limits {
	l := t.defaults
	if p.maxChild != nil {
		l.maximum = *p.maxChild
	}
	return l
}
