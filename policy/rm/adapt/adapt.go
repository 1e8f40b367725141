// Package adapt adapts a dispatch policy to the interface of a ResourceManager's scheduler, so that every policy runs with a YARN
// cluster's timing.
//
// Each heartbeat fills the node: the order is asked for the next job as long as one takes a container there, as YARN's
// FifoScheduler does. What the policy sees of an application:
//
//	Job.Stages       one per priority it requests at, in the order of first use; their tasks as far as known
//	Job.Pending      containers requested, at all priorities
//	Job.Front, Ask   stage and size of its most urgent request; a stage is a priority, numbered in the order of first use
//	Place.Score      how near the node is to the request's preferred places
//
// If that request cannot be served on the node, the next ones are tried if they are no larger: the order has accepted
// that size. For the policy a container ends when its application releases it or its node reports the end, whichever comes first.
//
// # What differs from YARN's own schedulers
//
// No reservations but for gangs, no rounding of sizes. AMs are limited only if the order limits them. The headroom that applications see is what is free
// on the cluster, or what the order says (Headroomer). A timer is polled at heartbeats. What an order claims (policy.Preemptor) is preempted in
// a round, once a second; Policy.Shifted matters only there, because every heartbeat offers its node again.
package adapt

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/internal/asks"
	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/policy/rm/request"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Headroomer is implemented by orders that know how much more a job could hold.
type Headroomer interface {
	Headroom(j *policy.Job) unit.Resources
}

// lookahead is the number of jobs that may pass on an offer before the node is given up, as in ideal time.
const lookahead = 200

type scheduler struct {
	policy.Policy
	nodes   []*node // by index; nil: gone
	racks   []int32 // by node, gone ones included
	working []int   // nodes that are not gone, by rack
	cluster policy.Cluster
	largest unit.Resources // of all nodes that there were, by component
	free    unit.Resources // on all nodes
	apps    []*app         // by index
	asks    asks.Set       // the smallest request of each application that waits
	tick    unit.Time      // when the timer is due
	nextID  int64
	chooses bool // the order chooses among a job's stages

	preemptor policy.Preemptor // nil: no preemption
	ticked    bool             // the timer was called since the last round
	claims    []policy.Claim

	gangs bool // gangs start together; an order that decides by node sees single requests, which an AM gathers
	hold  hold
	seats []seat // of the current gang
	// freedTimes counts what may let a gang fit: containers released, other nodes, holds that ended.
	freedTimes int64

	// The current heartbeat.
	offer   policy.Offer
	event   policy.Event
	node    *node
	passed  int
	granted []*rm.Container
	try     func(*policy.Job) policy.Verdict
}

type node struct {
	rm   *rm.Node
	view policy.Node
}

type app struct {
	job    policy.Job
	rm     *rm.App
	table  request.Table
	stages []int32 // priorities
	live   []*rm.Container
	minAsk unit.Resources // lower bound of its requests, by component; asks.None: it has none
	edges  bool           // its stages show what they pass to one another
	gangs  bool           // some of its requests are gangs
	holdAt unit.Time      // from when room is held for its gang; 0: it has not lacked room at its turn
	lacked int64          // freedTimes + 1 when its gang last lacked room; 0: it has not
}

var (
	_ rm.Scheduler = (*scheduler)(nil)
	_ rm.Gauges    = (*scheduler)(nil)
	_ rm.Foreseer  = (*scheduler)(nil)
	_ rm.Networked = (*scheduler)(nil)
	_ rm.Knobs     = steerable{}

	_ rm.TaskWatcher = (*scheduler)(nil)
)

// Gives is what a policy gets behind the adapter. Blocks of input are not placed by schedulers of YARN, and what of a job runs again is its AM's
// decision.
const Gives = policy.Everything &^ (policy.InputPlacement | policy.Restarts)

// New adapts a policy, for one run. It refuses one that needs more than a ResourceManager's scheduler has.
func New(p policy.Policy) (rm.Scheduler, error) {
	if err := p.Check("a YARN clock", Gives); err != nil {
		return nil, err
	}
	s := &scheduler{Policy: p, tick: unit.Never, asks: asks.New()}
	s.try, s.gangs = s.serve, !p.ByNode
	s.preemptor, _ = p.Order.(policy.Preemptor)
	if p.Timer != nil {
		s.tick = 0
	}
	if s.chooses = p.Choose != nil; s.chooses {
		p.Choose(storage{s})
	}
	if k, ok := p.Order.(policy.Knobs); ok {
		return steerable{s, k}, nil
	}
	return s, nil
}

// Notifications to the policy. The view is up to date before each call.

func (s *scheduler) arrived(a *app, now unit.Time) error { return s.Order.Arrived(now, &a.job) }
func (s *scheduler) changed(a *app, now unit.Time)       { s.Order.Changed(now, &a.job) }

func (s *scheduler) started(a *app, stage int, c *rm.Container) {
	s.event = policy.Event{Now: s.offer.Now, Job: &a.job, Stage: stage, Node: &s.node.view, Size: c.Size}
	s.Order.Started(&s.event)
	if s.Place != nil && stage >= 0 {
		s.Place.Placed(&a.job, stage, &s.node.view, c.Near)
	}
}

func (s *scheduler) ended(a *app, stage int, c *rm.Container, now unit.Time) {
	s.event = policy.Event{Now: now, Job: &a.job, Stage: stage, Size: c.Size, Held: now - c.At, Worked: c.Worked, Why: c.End}
	if n := s.nodes[c.Node.Index]; n != nil {
		s.event.Node = &n.view
	}
	s.Order.Ended(&s.event)
}

func (s *scheduler) left(a *app, now unit.Time) {
	s.Order.Left(now, &a.job)
	if s.Place != nil {
		s.Place.Left(now, &a.job)
	}
}

// suits says whether the policy takes the node for a task of a stage.
func (s *scheduler) suits(a *app, stage int, near policy.Near) bool {
	if s.Place == nil || stage < 0 || s.Place.Score(s.offer.Now, &a.job, stage, &s.node.view, near) >= 0 {
		return true
	}
	s.Place.Skipped(s.offer.Now, &a.job, stage)
	return false
}

// poll calls the timer if it is due.
func (s *scheduler) poll(now unit.Time) {
	if now >= s.tick {
		s.tick, _ = s.Timer.Tick(now) // what changes is offered with the next heartbeats
		s.ticked = true
	}
}

func (s *scheduler) NodeAdded(n *rm.Node, now unit.Time) {
	n.Free = n.Total
	*dense.At(&s.nodes, n.Index) = &node{n, *n.View()}
	s.free, s.largest = s.free.Add(n.Total), s.largest.Max(n.Total)
	*dense.At(&s.racks, n.Index) = n.Rack
	*dense.At(&s.working, n.Rack)++
	s.resize(now)
}

func (s *scheduler) NodeRemoved(n *rm.Node, now unit.Time) {
	s.nodes[n.Index] = nil
	s.free = s.free.Sub(n.Free)
	s.working[n.Rack]--
	s.resize(now)
}

func (s *scheduler) resize(now unit.Time) {
	s.cluster = policy.Cluster{Racks: s.racks, Working: s.working}
	for _, n := range s.nodes {
		if n != nil {
			s.cluster.Total, s.cluster.Max = s.cluster.Total.Add(n.rm.Total), s.cluster.Max.Max(n.rm.Total)
			s.cluster.Nodes++
		}
	}
	s.cluster.Room = func(i int32, slot uint8) (none unit.Resources) {
		if slot == policy.MapSlot && int(i) < len(s.nodes) && s.nodes[i] != nil {
			return s.nodes[i].rm.Total
		}
		return none
	}
	s.cluster.Kind = func(i int32) string {
		if int(i) < len(s.nodes) && s.nodes[i] != nil {
			return s.nodes[i].rm.Kind
		}
		return ""
	}
	s.hold.app = nil // its nodes are chosen anew
	s.freedTimes++
	s.Order.Resized(now, s.cluster)
}

func (s *scheduler) Foresee(size func(*rm.App) unit.Time) {
	if f := s.Policy.Foresee; f != nil {
		f(func(j *policy.Job) unit.Time { return size(s.apps[j.Index].rm) })
	}
}

func (s *scheduler) Watch(n policy.Network) error { return policy.Watch(s.Place, n) }

func (s *scheduler) Added(r *rm.App, now unit.Time) error {
	s.poll(now)
	a := &app{rm: r, minAsk: asks.None, edges: s.chooses || s.preemptor != nil, job: *r.View()}
	*dense.At(&s.apps, r.Index) = a
	a.gangs = s.gangs && slices.ContainsFunc(r.Stages, func(s rm.Stage) bool { return s.Gang > 1 })
	if s.chooses {
		for _, x := range r.Shuffles {
			a.stage(x.From)
			a.stage(x.To)
		}
	}
	if s.preemptor != nil || r.Keeps != 0 || a.gangs {
		for _, st := range r.Stages {
			i := a.stage(st.Priority)
			if a.gangs {
				a.job.Stages[i].Gang = st.Gang
			}
			if a.job.Stages[i].Tasks = st.Tasks; r.Keeps != 0 {
				a.job.Stages[i].Pending, a.job.Stages[i].Later = st.Tasks, st.Tasks
			}
		}
	}
	return s.arrived(a, now)
}

func (s *scheduler) Asked(r *rm.App, asks []rm.Ask, release []*rm.Container, now unit.Time) error {
	a := s.apps[r.Index]
	for i := range asks {
		if !asks[i].Size.Fits(s.largest) {
			return fmt.Errorf("it asks for a container of %v: no node is that large", asks[i].Size)
		}
	}
	for _, c := range release {
		s.release(c, now)
	}
	for _, ask := range asks {
		a.table.Set(ask, ask.Size)
	}
	if s.refresh(a) {
		s.endHold(a) // it may want more or less
		a.lacked = 0
		s.changed(a, now)
	}
	return nil
}

// refresh updates the view of a job's requests and says whether it changed.
func (s *scheduler) refresh(a *app) bool {
	j := &a.job
	pending, front, ask := j.Pending, j.Front, j.Ask
	opened := false
	if row := a.table.First(); row != nil {
		if j.Front, j.Ask = a.stage(row.Priority), row.Size(); a.gangs {
			j.Ask = j.Ask.Times(a.together(row))
		}
	}
	j.Want(policy.MapSlot, a.table.Len()-pending)
	smallest := asks.None
	for _, row := range a.table.Rows() {
		if i := a.stage(row.Priority); i >= 0 {
			st := &j.Stages[i]
			opened = opened || s.chooses && st.Pending != row.Any()
			st.Pending, st.Ask = row.Any(), row.Size()
			st.Tasks = max(st.Tasks, st.Pending+st.Running+st.Done)
		}
		if row.Any() > 0 {
			smallest = asks.Lower(smallest, row.Size())
		}
	}
	s.book(a, smallest)
	return pending != j.Pending || front != j.Front || ask != j.Ask || opened
}

// book counts the smallest request of an application.
func (s *scheduler) book(a *app, smallest unit.Resources) {
	if smallest == a.minAsk {
		return
	}
	if a.minAsk != asks.None {
		s.asks.Remove(a.minAsk)
	}
	if a.minAsk = smallest; smallest != asks.None {
		s.asks.Add(smallest)
	}
}

// stage is the number of the stage that requests at a priority.
func (a *app) stage(priority int32) int {
	if priority == rm.AMPriority && !a.rm.AM.IsZero() {
		return policy.AMStage
	}
	if a.rm.Keeps != 0 && priority == a.rm.Keeps {
		return policy.KeptStage
	}
	i := slices.Index(a.stages, priority)
	if i < 0 {
		i = len(a.stages)
		a.stages = append(a.stages, priority)
		a.job.Stages = append(a.job.Stages, policy.Stage{})
		if a.edges {
			a.link(i)
		}
	}
	return i
}

// link adds the shuffles into stage i, which make the stages they come from known.
func (a *app) link(i int) {
	for _, x := range a.rm.Shuffles {
		if x.To == a.stages[i] {
			from := a.stage(x.From)
			a.job.Stages[i].After = append(a.job.Stages[i].After, workload.Edge{From: from, Shuffle: x.Bytes})
		}
	}
}

func (s *scheduler) Removed(r *rm.App, now unit.Time) {
	a := s.apps[r.Index]
	for len(a.live) > 0 {
		s.release(a.live[len(a.live)-1], now)
	}
	s.left(a, now)
	s.book(a, asks.None)
	s.endHold(a)
	s.apps[r.Index] = nil
}

func (s *scheduler) Ended(c *rm.Container, now unit.Time) {
	s.giveBack(c, now)
	s.freed(c)
}

// release releases a container; a running one holds its resources until its node reports the end.
func (s *scheduler) release(c *rm.Container, now unit.Time) {
	s.giveBack(c, now)
	if !c.Launched {
		s.freed(c)
	}
}

// giveBack takes a container from its application; idempotent.
func (s *scheduler) giveBack(c *rm.Container, now unit.Time) {
	if c.Gone {
		return
	}
	c.Gone = true
	a := s.apps[c.App.Index]
	last := a.live[len(a.live)-1]
	a.live[c.Slot], last.Slot = last, c.Slot
	a.live = a.live[:len(a.live)-1]
	a.job.Yield(now, c.At, c.Size)
	stage := a.stage(c.Priority)
	if stage >= 0 {
		st := &a.job.Stages[stage]
		st.Running--
		if c.End == policy.Done {
			st.Done++
			st.Worked += c.Worked
			a.job.Done++
		}
	}
	s.ended(a, stage, c, now)
}

const noSlot = -1

// freed returns a container's resources to its node; idempotent.
func (s *scheduler) freed(c *rm.Container) {
	if c.Slot == noSlot {
		return
	}
	c.Slot = noSlot
	c.Node.Free = c.Node.Free.Add(c.Size)
	s.free = s.free.Add(c.Size)
	s.freedTimes++
}

func (s *scheduler) Beat(n *rm.Node, now unit.Time) []*rm.Container {
	s.poll(now)
	s.granted = s.granted[:0]
	if s.node = s.nodes[n.Index]; s.node == nil {
		return nil
	}
	s.offer = policy.Offer{Now: now, Node: &s.node.view}
	if s.hold.has(n.Index) && !s.serveHeld() {
		return s.granted
	}
	for s.asks.Min.Fits(n.Free) {
		s.passed, s.node.view.Free = 0, n.Free
		if !s.Order.Ranked(&s.offer, s.try) {
			break
		}
	}
	return s.granted
}

// serve gives the job a container on the current node, if one of its requests suits it: the first, or one that may start where that does not fit.
func (s *scheduler) serve(j *policy.Job) policy.Verdict {
	a := s.apps[j.Index]
	n := s.node.rm
	if a.gangs {
		if row := a.table.First(); a.together(row) > 1 {
			return s.serveGang(a, row)
		}
	}
	for _, row := range a.table.Rows() {
		if row.Any() == 0 {
			continue
		}
		stage := a.stage(row.Priority)
		if s.chooses && stage != s.offer.Stage || !s.chooses && stage != j.Front && !j.Replaces(stage, j.Front) || a.gangs && a.together(row) > 1 {
			continue
		}
		near := nearness(row, n)
		size := row.SizeAt(near, n)
		ask := j.Ask
		if s.chooses {
			ask = row.Size()
		}
		if !size.Fits(ask) { // the request is larger here than elsewhere
			near, size = policy.OffRack, row.Size()
		}
		if size.Fits(ask) && size.Fits(n.Free) && s.suits(a, stage, near) {
			s.give(a, row, stage, near)
			return policy.Took
		}
	}
	return s.pass()
}

func (s *scheduler) pass() policy.Verdict {
	if s.passed++; s.passed >= lookahead {
		return policy.Enough
	}
	return policy.Pass
}

// nearness is the best locality that a container on n has for the row.
func nearness(row *request.Row, n *rm.Node) policy.Near {
	switch {
	case row.Wants(policy.NodeLocal, n):
		return policy.NodeLocal
	case row.Wants(policy.RackLocal, n):
		return policy.RackLocal
	case row.Places() > 1:
		return policy.OffRack
	}
	return policy.NoPreference
}

// storage is where requests prefer to run.
type storage struct{ *scheduler }

func (s storage) Near(j *policy.Job, i int, n *policy.Node) policy.Near {
	a := s.apps[j.Index]
	row := a.table.Row(a.stages[i])
	if row == nil || s.nodes[n.Index] == nil {
		return policy.NoPreference
	}
	return nearness(row, s.nodes[n.Index].rm)
}

func (s storage) Local(j *policy.Job, i int, n *policy.Node) bool {
	near := s.Near(j, i, n)
	return near == policy.NodeLocal || near == policy.NoPreference
}

// Racks is what the client declares: requests add up the tasks that prefer a rack.
func (s storage) Racks(j *policy.Job, i int, task int64, to []int32) []int32 {
	a := s.apps[j.Index]
	if a.rm.Racks == nil {
		return to[:0]
	}
	return a.rm.Racks(a.stages[i], task, to)
}

func (s *scheduler) give(a *app, row *request.Row, stage int, near policy.Near) {
	n := s.node.rm
	size := a.table.Take(row, near, n)
	s.nextID++
	c := &rm.Container{
		App: a.rm, Node: n, ID: s.nextID, Priority: row.Priority, Size: size, Near: near, At: s.offer.Now,
		AM: stage == policy.AMStage, Slot: int32(len(a.live)), End: policy.Taken,
	}
	a.live = append(a.live, c)
	s.granted = append(s.granted, c)
	n.Free, s.free = n.Free.Sub(size), s.free.Sub(size)
	s.node.view.Free = n.Free
	if stage >= 0 {
		a.job.Stages[stage].Running++
	}
	s.refresh(a)
	a.job.Hold(c.At, size)
	s.started(a, stage, c)
}

// TaskStarted notifies the policy of a task in a kept container.
func (s *scheduler) TaskStarted(c *rm.Container, priority int32, now unit.Time) {
	a := s.apps[c.App.Index]
	i := a.stage(priority)
	st := &a.job.Stages[i]
	st.Pending--
	st.Later--
	st.Running++
	s.event = policy.Event{Now: now, Job: &a.job, Stage: i, Node: &s.nodes[c.Node.Index].view}
	s.Order.Started(&s.event)
}

// TaskEnded notifies it of the end.
func (s *scheduler) TaskEnded(c *rm.Container, priority int32, start, now unit.Time, why policy.End) {
	a := s.apps[c.App.Index]
	if a == nil || a.rm != c.App {
		return // it has left
	}
	i := a.stage(priority)
	st := &a.job.Stages[i]
	st.Running--
	s.event = policy.Event{Now: now, Job: &a.job, Stage: i, Held: now - start, Worked: now - start, Why: why}
	if n := s.nodes[c.Node.Index]; n != nil {
		s.event.Node = &n.view
	}
	if why == policy.Done {
		st.Done++
		st.Worked += now - start
		a.job.Done++
	} else {
		st.Pending++
		st.Later++
	}
	s.Order.Ended(&s.event)
}

// TaskRedone corrects the view; the order learns of it with the next change, as in ideal time.
func (s *scheduler) TaskRedone(r *rm.App, priority int32) {
	a := s.apps[r.Index]
	if a == nil || a.rm != r {
		return // it has left
	}
	st := &a.job.Stages[a.stage(priority)]
	st.Worked -= st.Worked / unit.Time(st.Done) // the mean stays
	st.Done--
	st.Pending++
	st.Later++
	a.job.Done--
}

// Every is a second for an order that preempts.
func (s *scheduler) Every() unit.Time {
	if s.preemptor == nil {
		return 0
	}
	return unit.Second
}

// Round preempts what the order claims, if it has changed by itself since the last one.
func (s *scheduler) Round(now unit.Time) (notice rm.Notice) {
	s.poll(now)
	if shifted := s.Shifted != nil && s.Shifted(); !shifted && !s.ticked {
		return notice
	}
	s.ticked = false
	s.claims = s.preemptor.Victims(now, s.claims[:0])
	for i := range s.claims {
		notice.Killed = s.preempt(&s.claims[i], now, notice.Killed)
	}
	return notice
}

// preempt preempts what is claimed, last allocated first, and appends it. Containers whose work has ended are about to leave anyway.
func (s *scheduler) preempt(claim *policy.Claim, now unit.Time, to []*rm.Container) []*rm.Container {
	a := s.apps[claim.Job.Index]
	stage := claim.Stage
	if a.rm.Keeps != 0 && stage >= 0 {
		stage = policy.KeptStage // its tasks hold nothing of their own
	}
	var list []*rm.Container
	for _, c := range a.live {
		if a.stage(c.Priority) == stage && c.End == policy.Taken && (claim.Node == nil || claim.Node.Index == c.Node.Index) {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(x, y *rm.Container) int { return cmp.Compare(y.ID, x.ID) })
	for _, c := range list[:min(claim.Count, int64(len(list)))] {
		c.Claim = claim
		s.release(c, now)
		if !c.Acquired { // its AM does not know of it, and will not request it again
			a.table.Restore(c.Priority, c.Near, c.Node, c.Size)
			s.refresh(a)
			s.changed(a, now)
		}
		to = append(to, c)
	}
	return to
}

func (s *scheduler) Headroom(r *rm.App) unit.Resources {
	if h, ok := s.Order.(Headroomer); ok {
		return h.Headroom(&s.apps[r.Index].job)
	}
	return s.free
}

func (s *scheduler) Leaf(r *rm.App) string {
	j := &s.apps[r.Index].job
	if g, ok := s.Order.(policy.Gauges); ok {
		return g.QueueOf(j)
	}
	return j.Queue
}

func (s *scheduler) Minimum() unit.Resources { return unit.Resources{} }

// CountsCores tells AMs that vcores limit them as memory does: a node never overcommits either.
func (s *scheduler) CountsCores() bool { return true }

func (s *scheduler) NotModelled() []string { return s.Policy.NotModelled }

func (s *scheduler) Gauges(to []policy.Gauge) []policy.Gauge {
	if g, ok := s.Order.(policy.Gauges); ok {
		return g.Gauges(to)
	}
	return to
}

// Active applications are those that have got a container.
func (s *scheduler) Active(r *rm.App) bool { j := &s.apps[r.Index].job; return j.Running+j.Done > 0 }

func (s *scheduler) AMOf(r *rm.App) unit.Resources { return r.AM }

// steerable is a policy whose order can be changed at run time.
type steerable struct {
	*scheduler
	knobs policy.Knobs
}

func (s steerable) SetPriority(r *rm.App, priority int, _ unit.Time) {
	j := &s.apps[r.Index].job
	old := j.Priority
	j.Priority = priority
	s.knobs.SetPriority(j, old)
}

func (s steerable) Move(r *rm.App, queue string, _ unit.Time) error {
	j := &s.apps[r.Index].job
	if err := s.knobs.Move(j, queue); err != nil {
		return err
	}
	j.Queue = queue
	return nil
}

func (s steerable) SetQueue(queue, property string, value float64, _ unit.Time) (float64, error) {
	return s.knobs.SetQueue(queue, property, value)
}

func (s steerable) Property(queue, property string) (float64, error) {
	return s.knobs.Property(queue, property)
}
