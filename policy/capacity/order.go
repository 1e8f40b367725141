package capacity

import (
	"math"

	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/internal/heap"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity/arith"
	"github.com/yardmaster/yardmaster/policy/capacity/queues"
	"github.com/yardmaster/yardmaster/unit"
)

// Order is a CapacityScheduler's order of jobs. Make one with New or from Entry.
type Order struct {
	queues.Tree[*queue]
	configured  arith.Calculator // Calc, unless the cluster is measured in vcores alone
	step        unit.Resources   // as configured; MinA is capped at the largest node
	maxPriority int
	plain       *arith.Leaf // set: queues are created on first use, with these settings

	apps  []app  // by policy.Job.Index
	users []user // by slot

	readyApps, waitingApps   forest           // by Job.Index
	readyUsers, waitingUsers forest           // by user slot
	frontier                 heap.Heap[int32] // of applications: see advance
}

var (
	_ policy.Order = (*Order)(nil)
	_ policy.Knobs = (*Order)(nil)
)

type state uint8

const (
	absent  state = iota
	waiting       // for activation
	active
)

// app is the state of a job.
type app struct {
	job      *policy.Job
	user     int32
	priority int
	state    state
	wants    bool // it waited for a container at its last event
	asking   bool // it makes its user active
	used     unit.Resources
	am       unit.Resources // charged to the AM limits
}

// Resized sets the size of the cluster.
func (o *Order) Resized(_ unit.Time, c policy.Cluster) {
	o.Cluster = c.Total
	o.Calc = o.configured
	if c.Total.Mem == 0 {
		o.Calc = arith.Dominant // a cluster measured in vcores alone
	}
	o.MinA = o.step
	if c.Max.Mem > 0 {
		o.MinA.Mem = min(o.MinA.Mem, c.Max.Mem)
	}
	o.recompute()
}

// Arrived admits a job to its queue.
func (o *Order) Arrived(_ unit.Time, j *policy.Job) error {
	q, err := o.resolve(j.Queue)
	if err != nil {
		return err
	}
	if err := o.Admit(q, j.User, o.appsOf(j.User, q)); err != nil {
		return err
	}
	*dense.At(&o.apps, j.Index) = app{job: j}
	o.enter(q, j.Index)
	return nil
}

// enter adds a job to a leaf: it is parked, activated if possible, then asks.
func (o *Order) enter(q *queue, id int32) {
	a := &o.apps[id]
	slot, ok := q.users[a.job.User]
	if !ok {
		slot = int32(len(o.users))
		o.users = append(o.users, user{q: q})
		q.users[a.job.User] = slot
		q.slots = append(q.slots, slot)
	}
	a.user = slot
	a.priority = o.capped(q, a.job.Priority)
	o.users[slot].apps++
	q.Apps++
	o.Total++
	if !a.used.IsZero() { // it was moved here
		o.hold(slot, a.used)
	}
	o.park(id)
	o.activate(q)
	o.updateWants(id)
}

// leave removes a job from its leaf, with all it holds.
func (o *Order) leave(id int32) *queue {
	a := &o.apps[id]
	u := &o.users[a.user]
	q := u.q
	o.withdraw(id)
	o.waitingApps.drop(&u.waiting, id)
	if a.state == active {
		o.count(a.user, -1, 0)
	} else {
		o.count(a.user, 0, -1)
	}
	o.releaseAM(a)
	if !a.used.IsZero() {
		o.hold(a.user, unit.Resources{}.Sub(a.used))
	}
	u.apps--
	q.Apps--
	o.Total--
	a.state = absent
	return q
}

func (o *Order) capped(q *queue, priority int) int {
	if priority == 0 {
		priority = q.DefaultPrio
	}
	return min(priority, o.maxPriority)
}

// Changed says that the job's requests changed. It stands for an AM's call with new asks, at which Hadoop updates
// the user limit.
func (o *Order) Changed(_ unit.Time, j *policy.Job) {
	o.updateWants(j.Index)
	if j.Pending > 0 && j.Front != policy.AMStage {
		o.UserLimit(&o.users[o.apps[j.Index].user].q.Queue)
	}
}

// Started says that a container was given to the job.
func (o *Order) Started(e *policy.Event) {
	a := &o.apps[e.Job.Index]
	a.used = a.used.Add(e.Size)
	o.hold(a.user, e.Size)
	o.moved(e.Job.Index)
}

// Ended says that a container was released. The end of an AM frees its share of the AM limits; a lost AM returns its
// application to those waiting for activation.
func (o *Order) Ended(e *policy.Event) {
	id := e.Job.Index
	a := &o.apps[id]
	a.used = a.used.Sub(e.Size)
	o.hold(a.user, unit.Resources{}.Sub(e.Size))
	if e.Stage == policy.AMStage && a.state == active {
		o.releaseAM(a)
		u := &o.users[a.user]
		if e.Why != policy.Done {
			o.withdraw(id)
			o.count(a.user, -1, 0)
			o.park(id)
		}
		o.activate(u.q)
	}
	o.moved(id)
}

// Left says that the job is gone. If it was still asking, its user counts as active while others are activated in its place,
// as in Hadoop.
func (o *Order) Left(_ unit.Time, j *policy.Job) {
	a := &o.apps[j.Index]
	user, asking := a.user, a.asking
	a.asking = false
	q := o.leave(j.Index)
	*a = app{}
	o.activate(q)
	if asking {
		o.ask(user, -1)
	}
}

// moved updates state after a change of what the job holds.
func (o *Order) moved(id int32) {
	o.updateWants(id)
	if a := &o.apps[id]; o.users[a.user].q.Fair && o.readyApps.has(id) {
		o.rankApp(id)
	}
}

// updateWants updates whether the job waits for containers.
func (o *Order) updateWants(id int32) {
	a := &o.apps[id]
	switch wants := a.job.Pending > 0; {
	case wants == a.wants:
	case !wants:
		o.withdraw(id)
	default:
		a.wants = true
		u := &o.users[a.user]
		o.want(u.q, 1)
		// A request that comes while its user has no activated application does not make the user active.
		if u.Active > 0 {
			a.asking = true
			o.ask(a.user, 1)
		}
		if a.state == active {
			o.rankApp(id)
		}
	}
}

// withdraw withdraws the job's requests.
func (o *Order) withdraw(id int32) {
	a := &o.apps[id]
	if !a.wants {
		return
	}
	u := &o.users[a.user]
	a.wants = false
	o.want(u.q, -1)
	if a.asking {
		a.asking = false
		o.ask(a.user, -1)
	}
	if o.readyApps.has(id) {
		o.readyApps.drop(&u.ready, id)
		o.rankReady(a.user)
	}
}

// rankApp ranks an activated waiting application among its user's, and its user among the leaf's.
func (o *Order) rankApp(id int32) {
	a := &o.apps[id]
	u := &o.users[a.user]
	key := float64(-a.priority)
	if u.q.Fair {
		key = fairKey(a, u.q.SizeWeight)
	}
	o.readyApps.put(&u.ready, id, key, a.job.Seq, values{})
	o.rankReady(a.user)
}

// fairKey is the memory an application holds, divided by log2(1 + demand) with size-based weight.
func fairKey(a *app, sizeWeight bool) float64 {
	mem := float64(a.used.Mem)
	if !sizeWeight || mem <= 0 {
		return mem
	}
	demand := mem + float64(a.job.Pending)*float64(a.job.Ask.Mem)
	return mem / (math.Log1p(demand) / math.Ln2)
}
