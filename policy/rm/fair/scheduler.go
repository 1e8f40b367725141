package fair

import (
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/internal/slab"
	"github.com/yardmaster/yardmaster/policy/fair/queues"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/policy/rm/request"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

type scheduler struct {
	queues.Tree[*queue]
	site      conf.Site
	users     queues.Users[user]
	apps      []*app // by Index
	nodes     []*node
	present   int            // nodes
	inRack    []int          // nodes of each rack
	available unit.Resources // free on all nodes, as the queue metrics show it: refreshed at certain moments only
	largest   unit.Resources // node, by component
	enough    unit.Resources // smaller requests are not worth a reservation

	now        unit.Time
	dirty      []*app   // demand may have changed since the last update
	leavers    []*queue // leaves that applications left since then
	stale      bool     // fair shares may have changed
	recovered  bool     // containers, since the last update
	classes    []queues.Class
	granted    []*rm.Container // by the present beat
	containers slab.Slab[rm.Container]
	nextID     int64

	starved []*app
	doomed  []killBatch
	notice  rm.Notice
	notes   []string
}

var (
	_ rm.Scheduler = (*scheduler)(nil)
	_ rm.Knobs     = (*scheduler)(nil)
	_ rm.Recoverer = (*scheduler)(nil)
)

// app is one application.
type app struct {
	queues.Standing
	app      *rm.App
	queue    *queue
	user     *user
	table    request.Table
	weighed  bool // by size: weight follows demand
	share    unit.Resources
	managed  bool // its first container is its AM
	started  bool // it has its AM
	am       unit.Resources
	runnable bool
	stopped  bool
	hungry   bool // counted in its queues
	lined    bool // in its leaf's line
	dirty    bool
	live     []*rm.Container
	reserved []*node

	marked            unit.Resources // of its containers marked for preemption
	atFair, nextCheck unit.Time
	lackFair, lackMin unit.Resources
}

// node is one node.
type node struct {
	*rm.Node
	held    []*rm.Container // in the order of allocation
	kept    reservation
	marked  []*rm.Container // marked for preemption
	claims  []claim         // of the applications it is freed for
	claimed unit.Resources
}

// New builds the scheduler of a fair-scheduler.xml and the matching yarn-site.xml settings. f is not modified.
func New(f *conf.Fair, site conf.Site) (rm.Scheduler, error) {
	if site.Increment.Mem <= 0 || site.Increment.Cores <= 0 {
		return nil, fmt.Errorf("the increments of an allocation are %v: both must be at least 1", site.Increment)
	}
	s := &scheduler{
		site:   site,
		users:  queues.Users[user]{New: func(name string) *user { return &user{most: f.MaxAppsOf(name)} }},
		enough: times(site.Increment, queues.Single(site.Fair.ReservationMultiple)),
	}
	if err := s.Build(f, "applications", s.newQueue); err != nil {
		return nil, err
	}
	for _, text := range f.NotModelled {
		if !slices.Contains(f.Preemption, text) {
			s.notes = append(s.notes, text)
		}
	}
	return s, nil
}

func (s *scheduler) NodeAdded(n *rm.Node, now unit.Time) {
	s.now = now
	n.Free = n.Total
	*dense.At(&s.nodes, n.Index) = &node{Node: n}
	*dense.At(&s.inRack, n.Rack)++
	s.present++
	s.Total = s.Total.Add(n.Total)
	s.resized(now)
}

func (s *scheduler) NodeRemoved(n *rm.Node, now unit.Time) {
	s.now = now
	x := s.nodes[n.Index]
	if x.kept.app != nil {
		s.unreserve(x)
	}
	for _, c := range slices.Clone(x.held) {
		s.Ended(c, now)
	}
	s.nodes[n.Index] = nil
	s.inRack[n.Rack]--
	s.present--
	s.Total = s.Total.Sub(n.Total)
	s.resized(now)
}

// resized recomputes what depends on the cluster, and updates at once.
func (s *scheduler) resized(now unit.Time) {
	s.largest = unit.Resources{}
	for _, n := range s.nodes {
		if n != nil {
			s.largest = s.largest.Max(n.Total)
		}
	}
	for _, q := range s.Queues {
		q.Resize(s.Total)
		slices.SortFunc(q.line, func(a, b *app) int { return compare(q.Kind, &a.Standing, &b.Standing, s.Total) })
	}
	for i := len(s.Queues) - 1; i >= 0; i-- {
		s.demand(s.Queues[i])
	}
	s.stale = true
	s.update(now)
}

func (s *scheduler) Added(a *rm.App, now unit.Time) error {
	s.now = now
	q, err := s.Place(a.ID, a.User, a.Queue)
	if err == nil {
		err = rm.CheckSize(a.AM)
	}
	if err != nil {
		return err
	}
	if bad := missing(a.AM, q.Max); bad != "" {
		return fmt.Errorf("application %s: its AM asks for %s, and queue %s may have none", a.ID, bad, q.Name)
	}
	x := &app{
		app: a, queue: q, user: s.users.Get(a.User), managed: !a.AM.IsZero(), weighed: s.site.Fair.SizeBasedWeight,
		atFair: now,
	}
	x.Name, x.Start, x.Weight = fmt.Sprintf("application_%04d", a.Seq), int64(now/unit.Millisecond), 1
	if x.weighed {
		x.Weight = 0
	}
	*dense.At(&s.apps, a.Index) = x
	s.enter(x)
	return nil
}

// missing names a requested resource whose queue maximum is 0.
func missing(ask, most unit.Resources) string {
	switch {
	case ask.Mem > 0 && most.Mem == 0:
		return "memory"
	case ask.Cores > 0 && most.Cores == 0:
		return "vcores"
	}
	return ""
}

func (s *scheduler) Asked(ref *rm.App, asks []rm.Ask, release []*rm.Container, now unit.Time) error {
	s.now = now
	a := s.apps[ref.Index]
	most := s.maximum()
	for i := range asks {
		size := asks[i].Size
		if err := rm.CheckSize(size); err != nil {
			return err
		}
		if !size.Fits(most) {
			return fmt.Errorf("application %s asks for a container of %v: at most %v are given", ref.ID, size, most)
		}
		if bad := missing(size, a.queue.Max); bad != "" {
			return fmt.Errorf("application %s asks for %s, and queue %s may have none", ref.ID, bad, a.queue.Name)
		}
	}
	for _, c := range release {
		s.giveBack(c)
	}
	for i := range asks {
		a.table.Set(asks[i], s.normal(asks[i].Size, most))
	}
	s.touch(a)
	return nil
}

// normal rounds a size up to the increments, from the minimum to the maximum.
func (s *scheduler) normal(size, most unit.Resources) unit.Resources {
	size = size.Max(s.site.MinAllocation)
	step := s.site.Increment
	size = unit.Resources{
		Mem:   (size.Mem + step.Mem - 1) / step.Mem * step.Mem,
		Cores: (size.Cores + step.Cores - 1) / step.Cores * step.Cores,
	}
	return size.Min(most)
}

func (s *scheduler) Removed(ref *rm.App, now unit.Time) {
	s.now = now
	a := s.apps[ref.Index]
	for len(a.live) > 0 {
		s.giveBack(a.live[len(a.live)-1])
	}
	for len(a.reserved) > 0 {
		s.unreserve(a.reserved[len(a.reserved)-1])
	}
	a.stopped = true
	ran := a.runnable
	s.leave(a)
	if ran {
		s.release(a.queue, a.user)
	}
	s.apps[ref.Index] = nil
}

func (s *scheduler) Ended(c *rm.Container, now unit.Time) {
	s.now = now
	s.giveBack(c)
	s.vacate(c)
	s.refresh()
}

// giveBack removes a container from its application and queues. If its node has not reported it running, its resources are freed too.
func (s *scheduler) giveBack(c *rm.Container) {
	if c.Gone {
		return
	}
	c.Gone = true
	a := s.apps[c.App.Index]
	last := len(a.live) - 1
	a.live[c.Slot] = a.live[last]
	a.live[c.Slot].Slot = c.Slot
	a.live = a.live[:last]
	s.unmark(a, c)
	s.hold(a, unit.Resources{}.Sub(c.Size))
	if !c.Launched {
		s.vacate(c)
	}
	s.refresh()
}

// vacate frees a container's resources on its node.
func (s *scheduler) vacate(c *rm.Container) {
	n := s.nodes[c.Node.Index]
	if n == nil {
		return
	}
	if i := slices.Index(n.held, c); i >= 0 {
		n.held = slices.Delete(n.held, i, i+1)
		n.Free = n.Free.Add(c.Size)
	}
}

// refresh updates available, as the metrics of the root queue show it.
func (s *scheduler) refresh() { s.available = s.Total.Sub(s.Root.Used) }

func (s *scheduler) Every() unit.Time { return s.site.Fair.UpdateInterval }

func (s *scheduler) Headroom(ref *rm.App) unit.Resources {
	q := s.apps[ref.Index].queue
	most := s.Total.Sub(s.Root.Used).Min(q.Max.Sub(q.Used))
	rest := less(q.share, q.Used)
	if q.Kind != queues.DRF {
		rest.Cores = most.Cores
	}
	return most.Min(rest) // negative when the queue is above its maximum, as in Hadoop
}

func (s *scheduler) Leaf(a *rm.App) string { return s.apps[a.Index].queue.Name }

func (s *scheduler) Minimum() unit.Resources { return s.site.MinAllocation }

// CountsCores says that vcores count as well as memory, whatever the queues' policies; AMs are told.
func (s *scheduler) CountsCores() bool { return true }

// maximum is the largest container that may be asked for.
func (s *scheduler) maximum() unit.Resources {
	if s.present == 0 {
		return s.site.MaxAllocation
	}
	return s.site.MaxAllocation.Min(s.largest)
}

func (s *scheduler) NotModelled() []string { return slices.Clone(s.notes) }
