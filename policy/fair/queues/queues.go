// Package queues is the queue tree of Hadoop's FairScheduler: settings, placement rules, queues that are made on first use, fair shares, knobs and gauges.
// The order for ideal engines (policy/fair) and the scheduler of a modelled ResourceManager (policy/rm/fair) both build on it; each adds how it serves
// the queues.
package queues

import (
	"fmt"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Kind is a queue's scheduling policy: how its children are ordered and how resources are compared.
type Kind uint8

// Kinds.
const (
	Fair Kind = iota
	DRF
	FIFO
)

var kinds = map[string]Kind{"fair": Fair, "drf": DRF, "fifo": FIFO}

// Standing is the sort key of queues in a queue, and of applications in a leaf.
type Standing struct {
	Name   string
	Start  int64 // ms; 0 for queues
	Weight float64
	Min    unit.Resources // minimum share, of the current cluster; none for applications
	Demand unit.Resources // as of the last update, where there are updates
	Used   unit.Resources
}

// Queue is one queue of the tree. A scheduler embeds it in its own type of queue, a pointer to which is Q.
type Queue[Q any] struct {
	Standing
	Parent Q
	Kids   []Q
	Leaf   bool
	Kind   Kind

	Minimum, Maximum conf.Share
	maxChild         *conf.Share
	MaxApps          int
	AMShare          float64

	Max      unit.Resources // of the current cluster; at least Min
	AMs      unit.Resources // what AMs hold
	Runnable int            // applications below that are not parked
}

// Common is the part of a queue that this package knows.
func (q *Queue[Q]) Common() *Queue[Q] { return q }

// Resize computes a queue's minimum and maximum of a cluster.
func (q *Queue[Q]) Resize(total unit.Resources) {
	q.Min = q.Minimum.Of(total)
	q.Max = q.Maximum.Of(total).Max(q.Min)
}

// Single rounds to the precision in which Hadoop keeps weights and AM shares: ceil(10240 x 0.1) is 1025 there.
func Single(v float64) float64 { return float64(float32(v)) }

// Node is a scheduler's own type of queue.
type Node[Q any] interface {
	comparable
	Common() *Queue[Q]
}

// Tree is the queues of one scheduler.
type Tree[Q Node[Q]] struct {
	Total  unit.Resources // of the cluster
	Root   Q
	Queues []Q // parents before their children

	names    map[string]Q
	rules    []conf.FairRule
	defaults conf.FairQueue
	members  string // what leaves hold, for messages
	own      func(common Queue[Q], c *conf.FairQueue) Q
}

// Build makes the queues of a file, parents first. own makes a scheduler's queue of the common part; it is also called for queues made on first use. f is not
// modified.
func (t *Tree[Q]) Build(f *conf.Fair, members string, own func(common Queue[Q], c *conf.FairQueue) Q) error {
	t.names, t.rules, t.defaults, t.members, t.own = map[string]Q{}, f.Placement, f.Default, members, own
	if len(t.rules) == 0 {
		t.rules = []conf.FairRule{{Name: "specified", Create: true}, {Name: "user", Create: true}}
	}
	if _, ok := kinds[f.Default.Policy]; !ok {
		return unknownPolicy(&f.Default)
	}
	var none Q
	return t.build(none, f.Root)
}

func unknownPolicy(c *conf.FairQueue) error {
	return fmt.Errorf("queue %s: policy %q: want fair, drf or fifo", c.Name, c.Policy)
}

func (t *Tree[Q]) build(parent Q, c *conf.FairQueue) error {
	if _, ok := kinds[c.Policy]; !ok {
		return unknownPolicy(c)
	}
	q := t.add(parent, c.Name, c, !c.Parent)
	for _, k := range c.Children {
		if err := t.build(q, k); err != nil {
			return err
		}
	}
	return nil
}

// add makes a queue with the settings of c.
func (t *Tree[Q]) add(parent Q, name string, c *conf.FairQueue, leaf bool) Q {
	common := Queue[Q]{
		Standing: Standing{Name: name, Weight: Single(c.Weight)}, Parent: parent, Leaf: leaf, Kind: kinds[c.Policy],
		Minimum: c.Min, Maximum: c.Max, maxChild: c.MaxChild, MaxApps: c.MaxApps, AMShare: Single(c.MaxAMShare),
	}
	common.Resize(t.Total)
	q := t.own(common, c)
	t.Queues, t.names[name] = append(t.Queues, q), q
	var none Q
	if parent == none {
		t.Root = q
	} else {
		p := parent.Common()
		p.Kids = append(p.Kids, q)
	}
	return q
}

// Gauges reports the leaves, with their capacity and what their AMs hold.
func (t *Tree[Q]) Gauges(list []policy.Gauge, capacity func(leaf Q) unit.Resources) []policy.Gauge {
	for _, leaf := range t.Queues {
		if q := leaf.Common(); q.Leaf {
			list = append(list, policy.Gauge{Queue: q.Name, Capacity: capacity(leaf), Ceiling: t.ceiling(q), AMs: q.AMs, AMShare: q.AMShare})
		}
	}
	return list
}

// ceiling is the maximum a queue could hold now.
func (t *Tree[Q]) ceiling(q *Queue[Q]) unit.Resources {
	var none Q
	if q.Parent == none {
		return t.Total
	}
	p := q.Parent.Common()
	return q.Max.Min(t.ceiling(p).Sub(p.Used).Add(q.Used)).Max(unit.Resources{Mem: 1, Cores: 1})
}

// Users are the users of a scheduler by name. The first use of a name makes one.
type Users[U any] struct {
	New    func(name string) *U
	ByName map[string]*U
}

// Get is the user of a name.
func (u *Users[U]) Get(name string) *U {
	if x, ok := u.ByName[name]; ok {
		return x
	}
	if u.ByName == nil {
		u.ByName = map[string]*U{}
	}
	x := u.New(name)
	u.ByName[name] = x
	return x
}
