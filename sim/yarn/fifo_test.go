package yarn

import (
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/policy/rm/request"
	"github.com/yardmaster/yardmaster/unit"
)

// fifo is the smallest scheduler that still behaves as a ResourceManager at a node's report: applications in the order of
// submission, at most one off-switch container a report, any number of local ones, and the CapacityScheduler's wait for
// locality (RegularContainerAllocator). It has no queues, no limits and no reservations.
type fifo struct {
	nodes  []*rm.Node
	apps   []*fifoApp // in order of submission
	ids    int64
	out    []*rm.Container
	max    unit.Resources
	every  unit.Time
	rounds []unit.Time
	round  func(now unit.Time) rm.Notice // nil: nothing
	check  func(format string, args ...any)
}

type fifoApp struct {
	a     *rm.App
	table request.Table
	held  []*rm.Container
	used  unit.Resources
}

func newFIFO() *fifo {
	return &fifo{max: unit.Resources{Mem: 8192, Cores: 4}, check: func(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }}
}

func (f *fifo) NodeAdded(n *rm.Node, _ unit.Time) { f.nodes = append(f.nodes, n) }
func (f *fifo) NodeRemoved(n *rm.Node, _ unit.Time) {
	if !remove(&f.nodes, n) || n.Free != n.Total {
		f.check("node %s is removed with %v free of %v", n.Name, n.Free, n.Total)
	}
}
func (f *fifo) Every() unit.Time        { return f.every }
func (f *fifo) Leaf(*rm.App) string     { return "root.default" }
func (f *fifo) Minimum() unit.Resources { return unit.Resources{Mem: 1, Cores: 1} }
func (f *fifo) NotModelled() []string   { return nil }
func (f *fifo) Headroom(*rm.App) (r unit.Resources) { // what is free
	for _, n := range f.nodes {
		r = r.Add(n.Free)
	}
	return r
}

func (f *fifo) Round(now unit.Time) rm.Notice {
	f.rounds = append(f.rounds, now)
	if f.round == nil {
		return rm.Notice{}
	}
	n := f.round(now)
	for _, c := range n.Killed {
		f.drop(c)
		if !c.Acquired {
			f.find(c.App).table.Restore(c.Priority, c.Near, c.Node, c.Size)
		}
	}
	return n
}

func (f *fifo) find(a *rm.App) *fifoApp {
	for _, x := range f.apps {
		if x.a == a {
			return x
		}
	}
	f.check("application %s is not known", a.ID)
	return nil
}

func (f *fifo) Added(a *rm.App, _ unit.Time) error {
	if a.Queue == "closed" {
		return fmt.Errorf("queue %s is stopped", a.Queue)
	}
	f.apps = append(f.apps, &fifoApp{a: a})
	return nil
}

func (f *fifo) Asked(a *rm.App, asks []rm.Ask, release []*rm.Container, _ unit.Time) error {
	x := f.find(a)
	for _, k := range asks {
		if !k.Size.Fits(f.max) {
			return fmt.Errorf("a container of %v is more than %v", k.Size, f.max)
		}
	}
	for _, k := range asks {
		x.table.Set(k, k.Size)
	}
	for _, c := range release {
		f.drop(c)
	}
	return nil
}

// drop gives a container back to the application's account, and its room unless its node has to tell first.
func (f *fifo) drop(c *rm.Container) {
	if c.Gone {
		f.check("container %d is given back twice", c.ID)
	}
	c.Gone = true
	x := f.find(c.App)
	x.used = x.used.Sub(c.Size)
	if !remove(&x.held, c) {
		f.check("container %d is not held", c.ID)
	}
	if !c.Launched {
		f.free(c)
	}
}

func (f *fifo) free(c *rm.Container) {
	if c.Slot == 1 {
		f.check("room of container %d is freed twice", c.ID)
	}
	c.Slot = 1
	if c.Node.Free = c.Node.Free.Add(c.Size); !c.Node.Free.Fits(c.Node.Total) {
		f.check("node %s has %v free of %v", c.Node.Name, c.Node.Free, c.Node.Total)
	}
}

func (f *fifo) Removed(a *rm.App, _ unit.Time) {
	x := f.find(a)
	for len(x.held) > 0 {
		f.drop(x.held[0])
	}
	remove(&f.apps, x)
}

func (f *fifo) Ended(c *rm.Container, _ unit.Time) {
	if !c.Gone {
		c.Launched = true // its room is freed below
		f.drop(c)
	}
	f.free(c)
}

func (f *fifo) Beat(n *rm.Node, now unit.Time) []*rm.Container {
	f.out = f.out[:0]
	if !slices.Contains(f.nodes, n) {
		f.check("node %s reports and is lost", n.Name)
	}
	for off := 0; off == 0; {
		c := f.one(n, now)
		if c == nil {
			break
		}
		f.out = append(f.out, c)
		if c.Near == policy.OffRack {
			off++
		}
	}
	return f.out
}

func (f *fifo) one(n *rm.Node, now unit.Time) *rm.Container {
	for _, x := range f.apps {
		r := x.table.First()
		if r == nil {
			continue
		}
		near, ok := f.near(r, n)
		if !ok {
			continue
		}
		if !r.SizeAt(near, n).Fits(n.Free) {
			return nil // it keeps its place
		}
		size := x.table.Take(r, near, n)
		n.Free = n.Free.Sub(size)
		f.ids++
		c := &rm.Container{App: x.a, Node: n, ID: f.ids, Priority: r.Priority, Size: size, Near: near, AM: r.Priority == rm.AMPriority, At: now}
		x.held = append(x.held, c)
		x.used = x.used.Add(size)
		return c
	}
	return nil
}

// near is how near a container of a row may be given on a node now.
func (f *fifo) near(r *request.Row, n *rm.Node) (policy.Near, bool) {
	nodes := float32(len(f.nodes))
	r.Missed++
	switch {
	case r.Wants(policy.NodeLocal, n):
		r.Missed = 0
		return policy.NodeLocal, true
	case r.Wants(policy.RackLocal, n) && float32(r.Missed) > min(nodes, 40):
		r.Missed = 0
		return policy.RackLocal, true
	case r.Places() == 1, float32(r.Missed) > min(nodes, float32(r.Any())*min(float32(r.Places()-1)/nodes, 1)):
		return policy.OffRack, true
	}
	return 0, false
}

func (f *fifo) Why(_ *rm.App, _ unit.Time, to []policy.Reason) []policy.Reason { return to }

var _ rm.Scheduler = (*fifo)(nil)
