package capacity

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/internal/slab"
	"github.com/yardmaster/yardmaster/policy/capacity/arith"
	"github.com/yardmaster/yardmaster/policy/capacity/queues"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/policy/rm/request"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Scheduler is one CapacityScheduler.
type Scheduler struct {
	queues.Tree[*queue]
	conf *conf.Capacity
	site conf.Site
	beat conf.Heartbeat

	containers slab.Slab[rm.Container]

	maxAlloc unit.Resources // configured maximum allocation
	maxA     unit.Resources // maxAlloc, capped at the largest node

	nodes []*node // by index; nil: gone
	alive int
	apps  []*app // by index
	old   []*app
	next  int64 // container id

	monitor  monitor
	out      []*rm.Container
	entering []int32
}

var (
	_ rm.Scheduler = (*Scheduler)(nil)
	_ rm.Recoverer = (*Scheduler)(nil)
)

// node is what the scheduler keeps of a node besides its room.
type node struct {
	*rm.Node
	reservation *reservation // nil: not reserved
	bucket      uint32       // order among the nodes of an application's reservations
}

// reservation reserves a node for a request that does not fit there yet.
type reservation struct {
	id   int64 // of the container that it is for
	a    *app
	n    *node
	row  *request.Row
	size unit.Resources
}

// app is one application.
type app struct {
	*rm.App
	q            *queue
	u            *user
	priority     int
	am           unit.Resources // charged against the limits on AMs
	active       bool
	asking       bool
	seen         bool    // a walk has visited it
	hasAM        bool    // its AM holds a container
	moved        bool    // its position in a fair leaf is stale
	share        float64 // sort key in a fair leaf
	table        request.Table
	used         unit.Resources
	reserved     unit.Resources
	live         []*rm.Container
	reservations []*reservation // by the buckets of their priorities, then of their nodes, then by age
}

// New makes the scheduler of a capacity-scheduler.xml and a yarn-site.xml.
func New(c *conf.Capacity, site conf.Site) (rm.Scheduler, error) {
	if c == nil || c.Root == nil {
		return nil, errors.New("capacity: no queues are configured")
	}
	s := &Scheduler{conf: c, site: site, beat: c.Heartbeat, maxAlloc: site.MaxAllocation, maxA: site.MaxAllocation}
	s.MinA, s.MaxApps, s.GlobalQueueMax = site.MinAllocation, c.MaximumApplications, c.GlobalQueueMaxApplications
	if c.Dominant {
		s.Calc = arith.Dominant
	}
	if s.MinA.Mem < 1 || s.MinA.Cores < 1 || s.maxAlloc.Mem < s.MinA.Mem || s.maxAlloc.Cores < s.MinA.Cores {
		return nil, fmt.Errorf("capacity: containers from [%v] to [%v]: the minimum must be positive, and the maximum no smaller", s.MinA, s.maxAlloc)
	}
	s.Build(c.Root, nil, newQueue)
	s.monitor.init(s)
	s.recompute()
	return s, nil
}

// NodeAdded implements rm.Scheduler.
func (s *Scheduler) NodeAdded(n *rm.Node, _ unit.Time) {
	n.Free = n.Total
	*dense.At(&s.nodes, n.Index) = &node{Node: n, bucket: nodeBucket(n)}
	s.alive++
	s.resize()
}

// NodeRemoved implements rm.Scheduler.
func (s *Scheduler) NodeRemoved(n *rm.Node, _ unit.Time) {
	if x := s.nodes[n.Index]; x != nil {
		if x.reservation != nil {
			s.unreserve(x.reservation)
		}
		s.nodes[n.Index] = nil
		s.alive--
		s.resize()
	}
}

func (s *Scheduler) resize() {
	s.Cluster = unit.Resources{}
	var largest unit.Resources
	for _, n := range s.nodes {
		if n != nil {
			s.Cluster = s.Cluster.Add(n.Total)
			largest = largest.Max(n.Total)
		}
	}
	if s.maxA = s.maxAlloc; s.alive > 0 {
		s.maxA = s.maxA.Min(largest)
	}
	s.recompute()
}

// Added implements rm.Scheduler.
func (s *Scheduler) Added(r *rm.App, _ unit.Time) error {
	q, err := s.Resolve(r.Queue)
	if err == nil {
		err = s.Admit(q, r.User, q.appsOf(r.User))
	}
	if err == nil {
		err = rm.CheckSize(r.AM)
	}
	if err != nil {
		return err
	}
	a := s.newApp(r)
	a.q = q
	a.priority = min(max(r.Priority, 0), s.site.MaxApplicationPriority)
	if r.Priority == 0 {
		a.priority = min(q.DefaultPrio, s.site.MaxApplicationPriority)
	}
	a.am = s.Calc.Normalise(r.AM, s.MinA, s.maxA)
	a.u = q.userOf(r.User)
	a.u.count(0, 1)
	q.Apps++
	s.Total++
	q.wait(a)
	s.activate(q)
	return nil
}

func (s *Scheduler) newApp(r *rm.App) *app {
	a := &app{}
	if n := len(s.old); n > 0 {
		a, s.old = s.old[n-1], s.old[:n-1]
	}
	a.table.Clear()
	*a = app{App: r, table: a.table, live: a.live[:0], reservations: a.reservations[:0]}
	*dense.At(&s.apps, r.Index) = a
	return a
}

// Asked implements rm.Scheduler.
func (s *Scheduler) Asked(r *rm.App, asks []rm.Ask, release []*rm.Container, _ unit.Time) error {
	a := s.apps[r.Index]
	for i := range asks {
		if ask := &asks[i]; ask.Size.Mem > s.maxA.Mem || ask.Size.Cores > s.maxA.Cores {
			return fmt.Errorf("it asks for a container of [%v], and the largest there may be is [%v]", ask.Size, s.maxA)
		} else if err := rm.CheckSize(ask.Size); err != nil {
			return err
		}
	}
	for _, c := range release {
		s.release(c)
	}
	was := a.table.Pending()
	for _, ask := range asks {
		if a.table.Set(ask, s.Calc.Normalise(ask.Size, s.MinA, s.maxA)) {
			s.asks(a)
		}
	}
	if len(asks) > 0 {
		s.changed(a, was)
		if a.q.SizeWeight {
			s.moved(a)
		}
	}
	return nil
}

// changed updates state after a change of an application's requests.
func (s *Scheduler) changed(a *app, was unit.Resources) {
	a.q.want(a.table.Pending().Sub(was))
	if a.table.Len() == 0 {
		s.stopAsking(a)
	}
	s.rank(a)
}

// Removed implements rm.Scheduler.
func (s *Scheduler) Removed(r *rm.App, _ unit.Time) {
	a := s.apps[r.Index]
	for len(a.live) > 0 {
		s.release(a.live[len(a.live)-1])
	}
	for len(a.reservations) > 0 {
		s.unreserve(a.reservations[len(a.reservations)-1])
	}
	a.q.want(unit.Resources{}.Sub(a.table.Pending()))
	s.leave(a)
	s.Total--
	s.apps[r.Index] = nil
	s.old = append(s.old, a)
	s.activate(a.q)
	s.stopAsking(a) // only now: its user still counts when others are activated in its place
}

// leave removes an application from its leaf, but not what it holds and requests.
func (s *Scheduler) leave(a *app) {
	q, u := a.q, a.u
	if a.active {
		q.AMUsed = q.AMUsed.Sub(a.am)
		u.AM = u.AM.Sub(a.am)
		u.count(-1, 0)
		q.active.Remove(a.Index)
		q.ready.Remove(a.Index)
		q.unseen.Remove(a.Index)
	} else {
		u.count(0, -1)
		q.waiting.Remove(a.Index)
	}
	if u.Active+u.Pending == 0 {
		q.drop(u)
	}
	q.Apps--
}

// Ended implements rm.Scheduler.
func (s *Scheduler) Ended(c *rm.Container, _ unit.Time) {
	s.giveBack(c)
	s.free(c)
}

// release returns a container to the queue; its node's resources are freed at once only if it never ran there.
func (s *Scheduler) release(c *rm.Container) {
	s.giveBack(c)
	if !c.Launched {
		s.free(c)
	}
}

// giveBack removes a container from its application, user and queues; idempotent.
func (s *Scheduler) giveBack(c *rm.Container) {
	if c.Gone {
		return
	}
	c.Gone = true
	a := s.apps[c.App.Index]
	last := len(a.live) - 1
	a.live[c.Slot] = a.live[last]
	a.live[c.Slot].Slot = c.Slot
	a.live = a.live[:last]
	minus := unit.Resources{}.Sub(c.Size)
	a.used = a.used.Add(minus)
	s.hold(a.u, minus)
	a.q.charge(minus)
	s.moved(a)
}

// free returns a container's resources to its node; idempotent.
func (s *Scheduler) free(c *rm.Container) {
	if c.Slot == freed {
		return
	}
	c.Slot = freed
	c.Node.Free = c.Node.Free.Add(c.Size)
}

// rerequest restores the request of a container that was preempted before its AM knew about it: nobody else will
// (AbstractYarnScheduler.recoverResourceRequestForContainer).
func (s *Scheduler) rerequest(c *rm.Container) {
	a := s.apps[c.App.Index]
	was := a.table.Pending()
	rose := a.table.Count(c.Priority, rm.Anywhere) == 0
	a.table.Restore(c.Priority, c.Near, c.Node, c.Size)
	if rose {
		s.asks(a)
	}
	s.changed(a, was)
	if c.AM {
		a.hasAM = false
	}
}

// freed is the slot of a container whose resources are back with its node.
const freed = math.MinInt32

// Every implements rm.Scheduler.
func (s *Scheduler) Every() unit.Time {
	if !s.site.Monitor {
		return 0
	}
	return s.site.Preemption.Interval
}

// Headroom implements rm.Scheduler.
func (s *Scheduler) Headroom(r *rm.App) unit.Resources {
	a := s.apps[r.Index]
	if !a.seen { // nothing is computed for it, so user limits stay as they are
		return unit.Resources{}
	}
	limit := s.UserLimit(&a.q.Queue)
	left := func(of func(unit.Resources) int64) int64 {
		return max(0, min(of(limit)-of(a.u.Used), of(a.q.CurLimit)-of(a.q.Used)))
	}
	mem := func(r unit.Resources) int64 { return r.Mem }
	cores := func(r unit.Resources) int64 { return r.Cores }
	room := s.Calc.Down(unit.Resources{Mem: left(mem), Cores: left(cores)}, s.MinA)
	// The smaller of the two by the calculator's comparison is taken whole, and only memory is clamped at 0.
	room = s.Calc.Min(s.Cluster, s.Cluster.Sub(s.Root.Used), room)
	return unit.Resources{Mem: max(0, room.Mem), Cores: room.Cores}
}

// Leaf implements rm.Scheduler.
func (s *Scheduler) Leaf(r *rm.App) string { return s.apps[r.Index].q.Path }

// Minimum implements rm.Scheduler.
func (s *Scheduler) Minimum() unit.Resources { return s.MinA }

// CountsCores says whether vcores count as well as memory; AMs are told.
func (s *Scheduler) CountsCores() bool { return s.Calc == arith.Dominant }

// NotModelled implements rm.Scheduler.
func (s *Scheduler) NotModelled() []string {
	return slices.Concat(s.conf.NotModelled, s.conf.Warnings)
}

func sizeWeighted(used float64, a *app) float64 {
	demand := a.used.Add(a.table.Pending()).Mem
	if demand <= 0 {
		return used
	}
	return used / math.Log2(1+float64(demand))
}
