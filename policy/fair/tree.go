package fair

import (
	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fair/queues"
	"github.com/yardmaster/yardmaster/policy/rank"
	"github.com/yardmaster/yardmaster/unit"
)

// Tree is Hadoop's FairScheduler as its allocation file describes it.
//
// From the root down, each queue chooses among its children, and each leaf among its jobs, by its own policy:
//
//	fair  below min(minimum share, demand) first, by usage/that; then by usage/weight (memory); then by name
//	drf   dominant usage below the minimum first, by usage/minimum of both; then by dominant share/weight, then the other share/weight; then by name
//	fifo  by name; jobs by arrival
//
// Jobs have weight 1 and no minimum; equals go by arrival. A container is given only if usage + ask fits the maximum of
// the leaf and of every queue above it, and a job's AM only if the AMs of its leaf together fit
// ceil(maxAMShare x the leaf's fair share), or floor of the memory alone as in Hadoop 2; see share.go. Jobs beyond maxRunningApps are parked; see admit.go.
//
// Source: Hadoop 3.4, FairScheduler (FairSharePolicy, DominantResourceFairnessPolicy, FifoPolicy, ComputeFairShares,
// MaxRunningAppsEnforcer). What differs: usage, demand and fair shares are known at once instead of every half second;
// a job's demand is what it could start at its last event; there is no preemption and no reservation of nodes;
// of two queues with exactly the same dominant share, the other shares are compared to a millionth.
//
// A child is in its parent's heaps exactly while something below it could start within its own maximum, as far as a
// lower bound of the waiting asks (minAsk) tells, so a queue at its maximum costs nothing however many jobs wait in it.
type Tree struct {
	queues.Tree[*queue]
	used  unit.Resources
	apps  []app // by Job.Index
	users queues.Users[user]
	lanes lanes

	v2        bool     // Hadoop 2's AM limit
	hasMin    bool     // some queue has a minimum share: demand is tracked
	version   int64    // of the fair shares: rises when the set of active queues, a weight or the cluster changes
	barred    []*queue // leaves out of their parent's heaps because their AMs are at the limit
	recheck   bool     // the shares changed: recheck barred
	fruitless []*queue // visited without a proposal in the current walk, children before parents
	visited   int64    // jobs visited: the cost of walks, for tests
}

type queue struct {
	queues.Queue[*queue]
	sorted []*queue       // kids, by name
	slot   int32          // index in Parent.Kids
	rank   int64          // by name among its siblings
	asked  unit.Resources // outstanding demand, kept only if there are minimum shares

	needy, sated rank.Heap // kids, by slot, that could start something
	cur          rank.Cursor
	minAsk       unit.Resources // lower bound of the waiting asks below, by component
	lane         leaf
	shares       shares // of the kids
	class        int32  // in parent.shares
	barred       bool   // in Tree.barred
}

// leaf is the part of a queue that only leaves have: jobs, in two heaps so that a full AM share hides all jobs that wait for theirs.
type leaf struct {
	jobs  []*policy.Job // by slot
	slots dense.Numbers
	am    jobHeap
	task  jobHeap
	fresh bool           // a job changed since the last walk
	stuck bool           // the last walk found nothing although minAsk fitted,
	room  unit.Resources // in this room: nothing will fit a smaller one until a job changes
}

type jobHeap struct {
	heap   rank.Heap // of slots
	cur    rank.Cursor
	minAsk unit.Resources
	tight  unit.Resources // exact minAsk, as seen by the current walk
}

func (c *jobHeap) set(slot int32, a float64, b int64, ask unit.Resources) {
	if c.heap.Len() == 0 {
		c.minAsk = ask
	} else {
		c.minAsk = c.minAsk.Min(ask)
	}
	c.heap.Set(slot, a, b)
}

type app struct {
	job    *policy.Job
	queue  *queue
	user   *user
	slot   int32
	asked  unit.Resources // outstanding demand, as counted in its queues
	am     unit.Resources // its AM's container, while it holds it
	parked bool
}

var (
	_ policy.Order = (*Tree)(nil)
	_ policy.Knobs = (*Tree)(nil)
)

// limit computes a queue's minimum and maximum of a cluster.
func (q *queue) limit(total unit.Resources) {
	q.Resize(total)
	q.Max.Extra = total.Extra // which no file limits
}

// Resized recomputes all that depends on the cluster.
func (t *Tree) Resized(_ unit.Time, c policy.Cluster) {
	t.Total = c.Total
	for _, q := range t.Queues {
		q.needy, q.sated = rank.Heap{}, rank.Heap{}
		q.lane.am, q.lane.task, q.lane.stuck = jobHeap{}, jobHeap{}, false
		q.limit(t.Total)
	}
	for _, q := range t.Queues {
		q.classify()
	}
	t.changed()
	for i := range t.apps {
		if a := &t.apps[i]; a.job != nil {
			t.refresh(a)
		}
	}
	for i := len(t.Queues) - 1; i >= 0; i-- {
		t.place(t.Queues[i])
	}
}

// Changed adds the job to those waiting, or removes it.
func (t *Tree) Changed(_ unit.Time, j *policy.Job) {
	a := &t.apps[j.Index]
	t.refresh(a)
	t.climb(a.queue)
}

// Started adds to the usage of the job's leaf and all queues above it.
func (t *Tree) Started(e *policy.Event) { t.held(e.Job, e.Stage, e.Size) }

// Ended subtracts it.
func (t *Tree) Ended(e *policy.Event) { t.held(e.Job, e.Stage, unit.Resources{}.Sub(e.Size)) }

func (t *Tree) held(j *policy.Job, s int, more unit.Resources) {
	a := &t.apps[j.Index]
	t.used = t.used.Add(more)
	for q := a.queue; q != nil; q = q.Parent {
		q.Used = q.Used.Add(more)
	}
	if s == policy.AMStage {
		a.am = a.am.Add(more)
		a.queue.AMs = a.queue.AMs.Add(more)
	}
	t.refresh(a)
	t.climb(a.queue)
}

// refresh reranks a job in its leaf. The queues above are left to climb.
func (t *Tree) refresh(a *app) {
	j, q := a.job, a.queue
	l := &q.lane
	if t.hasMin {
		t.demand(a)
	}
	l.stuck, l.fresh = false, true
	switch {
	case a.parked || j.Pending <= 0:
		l.am.heap.Remove(a.slot)
		l.task.heap.Remove(a.slot)
		return
	case j.Front == policy.AMStage:
		l.task.heap.Remove(a.slot)
		key, second := t.appKey(q.Kind, j)
		l.am.set(a.slot, key, second, j.Ask)
	default:
		l.am.heap.Remove(a.slot)
		key, second := t.appKey(q.Kind, j)
		l.task.set(a.slot, key, second, j.Ask)
	}
}

// demand updates what the job could start now, capped at the size of the cluster, beyond which it makes no difference.
func (t *Tree) demand(a *app) {
	var now unit.Resources
	if n := a.job.Pending; n > 0 {
		now.Mem = t.Total.Mem
		if ask := a.job.Ask.Mem; ask <= 0 || n <= t.Total.Mem/ask {
			now.Mem = ask * n
		}
	}
	if now == a.asked {
		return
	}
	for q := a.queue; q != nil; q = q.Parent {
		q.asked = q.asked.Add(now).Sub(a.asked)
	}
	a.asked = now
}

// climb reranks a queue and all above it.
func (t *Tree) climb(q *queue) {
	for ; q.Parent != nil; q = q.Parent {
		t.place(q)
	}
}

// place ranks a queue in its parent's heaps by usage, or removes it.
func (t *Tree) place(q *queue) {
	p := q.Parent
	if p == nil {
		return
	}
	if !t.open(q) {
		p.needy.Remove(q.slot)
		p.sated.Remove(q.slot)
		return
	}
	if p.needy.Len()+p.sated.Len() == 0 {
		p.minAsk = q.minAsk
	} else {
		p.minAsk = p.minAsk.Min(q.minAsk)
	}
	needy, a, b := t.queueKey(p.Kind, q)
	if needy {
		p.sated.Remove(q.slot)
		p.needy.Set(q.slot, a, b)
	} else {
		p.needy.Remove(q.slot)
		p.sated.Set(q.slot, a, b)
	}
}

// open says whether something below q might start within q's own limits, and updates q.minAsk.
func (t *Tree) open(q *queue) bool {
	room := q.Max.Sub(q.Used)
	if !q.Leaf {
		return q.needy.Len()+q.sated.Len() > 0 && q.minAsk.Fits(room)
	}
	l := &q.lane
	task := l.task.heap.Len() > 0 && l.task.minAsk.Fits(room)
	am := l.am.heap.Len() > 0 && l.am.minAsk.Fits(room)
	if am && t.amsFull(q) {
		am = false
		if !task && !q.barred {
			q.barred = true
			t.barred = append(t.barred, q)
		}
	}
	switch {
	case task && l.am.heap.Len() > 0:
		q.minAsk = l.task.minAsk.Min(l.am.minAsk) // AMs may become eligible without an event
	case task:
		q.minAsk = l.task.minAsk
	case am:
		q.minAsk = l.am.minAsk
	}
	return task || am
}
