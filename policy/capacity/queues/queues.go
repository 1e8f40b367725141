// Package queues is the queue tree of YARN's CapacityScheduler: shares and limits, names, admission, knobs and gauges. The order for ideal engines
// (policy/capacity) and the scheduler of a modelled ResourceManager (policy/rm/capacity) both build on it; each adds how it serves the queues.
package queues

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity/arith"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Queue is a node of the tree: first settings, then what is derived from them and the cluster, then state. A scheduler embeds it in its own type of queue,
// a pointer to which is Q.
type Queue[Q any] struct {
	Path, Name string
	Parent     Q
	Children   []Q
	Index      int32 // in Parent.Children

	arith.Share // as configured
	Stopped     bool
	ByPriority  bool // parents: priority-utilization
	Priority    int

	arith.Bounds
	Base unit.Resources // what the used ratio is measured against: max(EffMin, minimum allocation)
	Tie  int64          // position among siblings when used ratios are equal

	Used        unit.Resources
	*arith.Leaf // nil for parents
}

// Common is the part of a queue that this package knows.
func (q *Queue[Q]) Common() *Queue[Q] { return q }

// Node is a scheduler's own type of queue.
type Node[Q any] interface {
	comparable
	Common() *Queue[Q]
}

// Tree is the queues of one scheduler, and what their limits depend on.
type Tree[Q Node[Q]] struct {
	Calc           arith.Calculator
	MinA           unit.Resources // minimum allocation, the step that limits are rounded to
	Cluster        unit.Resources
	MaxApps        int // in the whole scheduler; -1: any number
	GlobalQueueMax int

	Root   Q
	Leaves []Q
	Total  int // applications present

	names map[string][]Q // leaves by path, path without "root.", and short name
}

// Build makes the queues of a file, parents first. own makes a scheduler's queue of the common part.
func (t *Tree[Q]) Build(c *conf.Queue, parent Q, own func(common Queue[Q], c *conf.Queue) Q) Q {
	common := Queue[Q]{
		Path: c.Path, Name: c.Name, Parent: parent, Share: arith.Share{Capacity: c.Capacity, Maximum: c.MaxCapacity},
		Stopped: c.Stopped, Priority: c.Priority, ByPriority: c.Ordering == "priority-utilization",
	}
	if c.Leaf() {
		leaf := arith.LeafOf(c)
		common.Leaf = &leaf
	}
	q := own(common, c)
	t.Add(q)
	for _, k := range c.Children {
		t.Build(k, q, own)
	}
	return q
}

// Add adds a queue below its parent. One without a parent is the root.
func (t *Tree[Q]) Add(q Q) {
	var none Q
	c := q.Common()
	if c.Parent == none {
		t.Root = q
	} else {
		p := c.Parent.Common()
		c.Index, p.Children = int32(len(p.Children)), append(p.Children, q)
	}
	if c.Leaf == nil {
		return
	}
	t.Leaves = append(t.Leaves, q)
	if t.names == nil {
		t.names = map[string][]Q{}
	}
	for _, name := range slices.Compact([]string{c.Path, strings.TrimPrefix(c.Path, "root."), c.Name}) {
		t.names[name] = append(t.names[name], q)
	}
}

// Named reports whether a leaf has a name.
func (t *Tree[Q]) Named(name string) bool { return t.names[name] != nil }

// Resolve finds the leaf that an application names: by its full path, with or without "root.", or by its own name when only one leaf has it.
// No name is "default".
func (t *Tree[Q]) Resolve(name string) (q Q, err error) {
	if name == "" {
		name = "default"
	}
	switch found := t.names[name]; len(found) {
	case 0:
		return q, fmt.Errorf("there is no leaf queue %q: there are %s", name, paths(t.Leaves))
	case 1:
		return found[0], nil
	default:
		if i := slices.IndexFunc(found, func(q Q) bool { return q.Common().isPath(name) }); i >= 0 {
			return found[i], nil
		}
		return q, fmt.Errorf("queue %q could be %s: give the full path", name, paths(found))
	}
}

func (q *Queue[Q]) isPath(name string) bool { return q.Path == name || q.Path == "root."+name }

// MissingQueue says why no application can be submitted to a queue; nil: one can.
func (t *Tree[Q]) MissingQueue(name string) error {
	_, err := t.Resolve(name)
	return err
}

// Find finds a queue by name, parents included.
func (t *Tree[Q]) Find(name string) (q Q, err error) {
	if found := t.names[name]; len(found) == 1 {
		return found[0], nil
	}
	var none Q
	var below func(q Q) Q
	below = func(q Q) Q {
		if q.Common().isPath(name) {
			return q
		}
		for _, k := range q.Common().Children {
			if found := below(k); found != none {
				return found
			}
		}
		return none
	}
	if q = below(t.Root); q == none {
		err = fmt.Errorf("there is no queue %q: there are %s", name, paths(t.Leaves))
	}
	return q, err
}

func paths[Q Node[Q]](queues []Q) string {
	var list []string
	for i, q := range queues {
		if i == 12 {
			list = append(list, fmt.Sprintf("and %d more", len(queues)-i))
			break
		}
		list = append(list, q.Common().Path)
	}
	return strings.Join(list, ", ")
}

// Admit refuses an application that Hadoop would reject at submission. Its user has userApps in the leaf already.
func (t *Tree[Q]) Admit(leaf Q, user string, userApps int) error {
	q := leaf.Common()
	if q.Stopped {
		return fmt.Errorf("queue %s is STOPPED and takes no applications", q.Path)
	}
	return q.Admit(q.Path, user, userApps, t.Total, t.MaxApps)
}

// AdmitMoved is Admit for an application that is in another leaf.
func (t *Tree[Q]) AdmitMoved(leaf Q, user string, userApps int) error {
	t.Total-- // it is already counted
	err := t.Admit(leaf, user, userApps)
	t.Total++
	return err
}

// Recompute derives absolute capacities, effective minima and maxima of the whole tree. It is called when the cluster, a capacity or the set of queues
// changes. ranked is called for each parent when the ties of its children are known; then reset for each leaf, with what it could reach: it activates
// applications, as Hadoop does.
func (t *Tree[Q]) Recompute(ranked func(parent Q), reset func(leaf Q)) {
	r := t.Root.Common()
	r.Bounds = arith.Whole(t.Cluster)
	r.Base = t.Calc.Max(t.Cluster, r.EffMin, t.MinA)
	t.below(t.Root, t.Cluster, ranked, reset)
}

func (t *Tree[Q]) below(q Q, limit unit.Resources, ranked, reset func(Q)) {
	c := q.Common()
	if c.Leaf != nil {
		c.LimitCounts(t.GlobalQueueMax, t.MaxApps, c.AbsCap, c.Capacity.Kind == conf.Absolute)
		c.CurLimit = t.Reach(c, limit)
		reset(q)
		return
	}
	var s arith.Siblings
	for _, k := range c.Children {
		s.Add(k.Common().Share)
	}
	shares, bounds := make([]arith.Share, len(c.Children)), make([]arith.Bounds, len(c.Children))
	for i, child := range c.Children {
		k := child.Common()
		k.Bounds = t.Calc.Below(t.Cluster, c.Bounds, k.Share, &s)
		k.Base = t.Calc.Max(t.Cluster, k.EffMin, t.MinA)
		shares[i], bounds[i] = k.Share, k.Bounds
	}
	for place, i := range arith.TieOrder(shares, bounds) {
		c.Children[i].Common().Tie = int64(place)
	}
	ranked(q)
	limit = t.Calc.Min(t.Cluster, limit, c.EffMax)
	for _, k := range c.Children {
		t.below(k, t.Calc.Down(limit.Sub(c.Used).Add(k.Common().Used), t.MinA), ranked, reset)
	}
}

// Reach is what a leaf can reach under the limit of its parent.
func (t *Tree[Q]) Reach(leaf *Queue[Q], limit unit.Resources) unit.Resources {
	return t.Calc.Min(t.Cluster, t.Calc.Down(leaf.EffMax, t.MinA), limit)
}

// UserLimit is the usage above which a user of a leaf gets no more.
func (t *Tree[Q]) UserLimit(leaf *Queue[Q]) unit.Resources {
	return leaf.UserLimit(t.Calc, t.Cluster, t.MinA, &leaf.Bounds)
}

// LeafAMLimit is what the AMs of all activated applications of a leaf may hold together.
func (t *Tree[Q]) LeafAMLimit(leaf *Queue[Q]) unit.Resources {
	return t.Calc.AMLimit(leaf.CurLimit, leaf.EffMin, leaf.AMPercent, t.MinA)
}

// UserAMLimit is what those of one user may hold, of what all may.
func (t *Tree[Q]) UserAMLimit(leaf *Queue[Q], all unit.Resources) unit.Resources {
	users := leaf.ActiveUsers + leaf.PendingCached
	return t.Calc.UserAMLimit(t.Cluster, all, leaf.EffMin, leaf.AMPercent, leaf.UserPercent, leaf.UserFactor, users, t.MinA)
}

// FirstAM reports whether a leaf's AMs hold nothing: the first application always passes the limits.
func (t *Tree[Q]) FirstAM(leaf *Queue[Q]) bool {
	return leaf.ActiveApps < 1 || t.Calc.Compare(t.Cluster, leaf.AMUsed, unit.Resources{}) <= 0
}

// Gauges reports what the leaves' AM limits are measured against, and what the AMs of activated applications are charged.
func (t *Tree[Q]) Gauges(list []policy.Gauge) []policy.Gauge {
	for _, leaf := range t.Leaves {
		q := leaf.Common()
		usable := q.CurLimit
		if !t.Calc.Fits(q.EffMin, usable) {
			usable = q.EffMin
		}
		ceiling := t.ceiling(q)
		if t.Calc != arith.Dominant { // limits are of memory alone
			ceiling.Cores = 0
		}
		list = append(list, policy.Gauge{Queue: q.Path, Capacity: usable, Ceiling: ceiling, AMs: q.AMUsed, AMShare: float64(q.AMPercent)})
	}
	return list
}

// ceiling is the maximum a queue could hold now. CurLimit dates from the last visit of the queue: others may have grown since.
func (t *Tree[Q]) ceiling(q *Queue[Q]) unit.Resources {
	var none Q
	if q.Parent == none {
		return t.Cluster
	}
	p := q.Parent.Common()
	return q.EffMax.Min(t.ceiling(p).Sub(p.Used).Add(q.Used)).Max(unit.Resources{Mem: 1, Cores: 1})
}

// Property reads what Set sets, or says why the queue does not have it.
func (q *Queue[Q]) Property(property string) (value float64, why string) {
	at, why := q.knob(property)
	if why != "" {
		return 0, why
	}
	return float64(*at), ""
}

// knob points to a property's value, or says why the queue does not have it. Of its share it is a copy.
func (q *Queue[Q]) knob(property string) (at *float32, why string) {
	if v, why, ok := q.Share.Property(property); ok {
		if q.Path == "root" {
			why = "the root always has 100"
		}
		return &v, why
	}
	if q.Leaf == nil {
		return nil, "it is a property of leaf queues"
	}
	switch property {
	case "maximum-am-resource-percent":
		return &q.AMPercent, ""
	case "user-limit-factor":
		return &q.UserFactor, ""
	case "minimum-user-limit-percent":
		return &q.UserPercent, ""
	}
	return nil, "there are capacity, weight, maximum-capacity, maximum-am-resource-percent, user-limit-factor, minimum-user-limit-percent"
}

// Set sets a property of a queue: capacity (the percentage or weight it has), maximum-capacity (percent; -1: none), maximum-am-resource-percent (0 to 1),
// user-limit-factor, minimum-user-limit-percent; or says why not. The caller must ensure that the percentages of siblings sum to 100 in the end, and
// recomputes the tree.
func (q *Queue[Q]) Set(property string, value float64) (old float64, why string) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return 0, "it is not a number"
	}
	at, why := q.knob(property)
	if why != "" {
		return 0, why
	}
	old = float64(*at)
	v := float32(value)
	switch {
	case property == "maximum-am-resource-percent" && (v < 0 || v > 1):
		return 0, "want a number from 0 to 1"
	case property == "user-limit-factor" && v < 0 && v != -1:
		return 0, "want a positive number, or -1 for no limit"
	case property == "minimum-user-limit-percent" && (v < 0 || v > 100):
		return 0, "want a percentage from 0 to 100"
	}
	if _, _, share := q.Share.Property(property); share {
		return old, q.SetProperty(property, v)
	}
	*at = v
	return old, ""
}
