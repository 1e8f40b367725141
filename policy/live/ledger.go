package live

import (
	"fmt"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// ledger is the room of the cluster.
type ledger struct {
	nodes   map[string]*node
	list    []*node // by Index; nodes that are gone have no room
	others  map[string]other
	total   unit.Resources          // of all nodes, without what others take
	free    unit.Resources          // of all nodes, none less than nothing
	unbound unit.Resources          // of released tasks
	largest unit.Resources          // by component
	fit     map[unit.Resources]bool // whether a node without tasks is large enough, of sizes that were asked for since nodes changed
	vacant  []int32                 // indices of nodes that are gone
	stale   bool                    // the policy and the stages do not know of a change of the nodes
	helped  bool                    // a node itself has changed, so that parked shapes may have a trial: others' tasks come and go all the time
}

type node struct {
	policy.Node // Total is without what others take
	whole       unit.Resources
	used        unit.Resources // by tasks
	others      unit.Resources
}

// other is a task that is no business of the policy.
type other struct {
	node *node
	size unit.Resources
}

// room is what released tasks leave.
func (l *ledger) room() unit.Resources { return l.free.Sub(l.unbound) }

// use adds to what tasks use of a node.
func (l *ledger) use(n *node, size unit.Resources) {
	n.used = n.used.Add(size)
	l.tally(n)
}

// lend adds to what others use of a node.
func (l *ledger) lend(n *node, size unit.Resources) {
	n.others = n.others.Add(size)
	l.tally(n)
}

// tally brings up to date what a node has for tasks, and how much of it is free.
func (l *ledger) tally(n *node) {
	total, free := n.Total, n.Free
	if n.Total = (unit.Resources{}); !n.whole.IsZero() {
		n.Total = n.whole.Sub(n.others).Max(unit.Resources{})
	}
	n.Free = n.Total.Sub(n.used).Max(unit.Resources{})
	l.total, l.free = l.total.Add(n.Total).Sub(total), l.free.Add(n.Free).Sub(free)
	l.stale = l.stale || n.Total != total
	if l.nodes[n.Name] == n && n.whole.IsZero() && n.used.IsZero() && n.others.IsZero() { // gone, or a name that a pod has made up
		delete(l.nodes, n.Name)
		l.vacant = append(l.vacant, n.Index)
	}
}

// at returns a node, which may not be known yet.
func (l *ledger) at(name string) *node {
	n := l.nodes[name]
	if n == nil {
		n = &node{Node: policy.Node{Name: name, Index: int32(len(l.list))}}
		if k := len(l.vacant); k > 0 {
			n.Index, l.vacant = l.vacant[k-1], l.vacant[:k-1]
			l.list[n.Index] = n
		} else {
			l.list = append(l.list, n)
		}
		l.nodes[name] = n
	}
	return n
}

// SetNode adds or resizes a node. Without a total it takes no tasks: it is cordoned, not ready or gone. What runs there still counts.
func (c *Core) SetNode(name string, total unit.Resources, kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[name]
	switch {
	case n == nil && total.IsZero():
		return
	case n == nil:
		n = c.at(name)
	case n.whole == total && n.Kind == kind:
		return
	}
	n.whole, n.Kind, c.stale, c.helped = total, kind, true, true
	c.tally(n)
}

// Other says that a task that is no business of the policy is on a node, until it is Gone.
func (c *Core) Other(id, name string, size unit.Resources) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.others[id]; known || c.tasks[id] != nil {
		return
	}
	n := c.at(name)
	c.others[id] = other{n, size}
	c.lend(n, size)
}

// resized tells the policy of the nodes.
func (c *Core) resized() {
	c.stale, c.largest = false, unit.Resources{}
	clear(c.fit)
	cluster := policy.Cluster{Total: c.total}
	for _, n := range c.list {
		if !n.Total.IsZero() {
			cluster.Nodes++
			c.largest = c.largest.Max(n.Total)
		}
	}
	cluster.Max = c.largest
	cluster.Room = func(i int32, slot uint8) unit.Resources {
		if slot != policy.MapSlot || int(i) >= len(c.list) {
			return unit.Resources{}
		}
		return c.list[i].Total
	}
	cluster.Kind = func(i int32) string { return c.list[i].Kind }
	c.pol.Order.Resized(c.now, cluster)
	c.shifted()
}

// packs reports whether nodes have room for n tasks.
func (l *ledger) packs(ask unit.Resources, n int64, room func(*node) unit.Resources) bool {
	for _, x := range l.list {
		if n <= 0 {
			break
		}
		if r := room(x); ask.Fits(r) {
			n -= max(1, r.Count(ask))
		}
	}
	return n <= 0
}

// holds reports whether a node is large enough for a task.
func (l *ledger) holds(ask unit.Resources) bool {
	const most = 4096 // users choose sizes
	ok, known := l.fit[ask]
	if !known {
		if len(l.fit) >= most {
			clear(l.fit)
		}
		ok = l.packs(ask, 1, totalOf)
		l.fit[ask] = ok
	}
	return ok
}

// nearest is what to show of nodes none of which is large enough: the most of everything, or, if that would do, the most memory with enough processors.
func (l *ledger) nearest(ask unit.Resources) (most unit.Resources) {
	if !ask.Fits(l.largest) {
		return l.largest
	}
	for _, n := range l.list {
		if n.Total.Cores >= ask.Cores && n.Total.Mem > most.Mem {
			most = n.Total
		}
	}
	return most
}

func freeOf(n *node) unit.Resources  { return n.Free }
func totalOf(n *node) unit.Resources { return n.Total }

func (l *ledger) check(tasks map[string]*task) error {
	used, others := map[*node]unit.Resources{}, map[*node]unit.Resources{}
	for _, t := range tasks {
		if t.state == Bound {
			used[t.node] = used[t.node].Add(t.Size)
		}
	}
	for _, o := range l.others {
		others[o.node] = others[o.node].Add(o.size)
	}
	free, total := unit.Resources{}, unit.Resources{}
	for _, n := range l.list {
		if used[n] != n.used || others[n] != n.others {
			return fmt.Errorf("%s: %v and %v are used, %v and %v counted", n.Name, used[n], others[n], n.used, n.others)
		}
		free, total = free.Add(n.Free), total.Add(n.Total)
	}
	if free != l.free || total != l.total {
		return fmt.Errorf("%v of %v is free: %v of %v counted", free, total, l.free, l.total)
	}
	return nil
}
