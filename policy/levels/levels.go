// Package levels is the order that the size-based policies share: jobs wait in queues, the first queue is served first, and each queue is
// first in, first out. If a queue has nothing to start on an offer, the next queue gets it.
//
// With shares, the nodes are divided into partitions of whole nodes, by node index, and each queue has its own:
//
//	partition k    round(share of k x nodes) nodes, at least one; the last one has the rest
//	queue k        starts tasks in partition k only; with borrow, also in partitions whose queue has nothing to start
//
// With fewer nodes than queues, the last queues share a partition. If a job's next container fits no node of its partition, the first
// partition with a large enough node serves it; otherwise it would wait forever. Jobs with gangs are refused: a gang may need nodes of several
// partitions at once.
//
// Invariants: a present job is in one queue; the heap of its partition and of a kind of slot contains it if and only if it waits for such a
// slot and may take one. A decision is O(log n) in waiting jobs and does not allocate.
package levels

import (
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/keyed"
	"github.com/yardmaster/yardmaster/policy/rank"
	"github.com/yardmaster/yardmaster/policy/sizes"
	"github.com/yardmaster/yardmaster/unit"
)

// Queues is an order that leaves the choice of a job's queue to the policy. A policy embeds it, and calls Enter when a job arrives and when it moves to another
// queue.
type Queues struct {
	shares  []float64 // of the nodes; nil: one partition
	borrow  bool
	cluster policy.Cluster
	nodes   int // max so far: a lost node keeps its index
	parts   []part
	mixed   bool          // nodes differ in size
	jobs    []*policy.Job // by Index
	places  []place
	entered int64
	shifted bool                // see Shifted
	saved   map[string]Standing // of jobs that were present before a restart
}

type part struct {
	waiting [policy.Slots]rank.Heap
	end     int32 // index of the first node after it
	held    unit.Resources
	busy    unit.Time
	busyMem float64                        // MiB x seconds
	rooms   [policy.Slots][]unit.Resources // sizes of its nodes
}

// place is where a job waits.
type place struct {
	queue  int32
	part   [policy.Slots]int32
	entry  int64
	defers bool // do not propose it for reduce slots
}

// New returns empty queues with len(shares)+1 partitions.
func New(shares []float64, borrow bool) *Queues {
	return &Queues{shares: shares, borrow: borrow, parts: make([]part, len(shares)+1)}
}

// ReadShares reads the shares of all partitions except the last.
func ReadShares(p policy.Params, otherwise string, queues int) ([]float64, error) {
	shares, err := p.Floats("shares", otherwise)
	if err != nil {
		return nil, err
	}
	sum := 0.0
	for _, s := range shares {
		if sum += s; !(s > 0) || sum >= 1 {
			return nil, fmt.Errorf("shares=%v: each must be above 0, and their sum below 1", shares)
		}
	}
	if len(shares) != queues-1 {
		return nil, fmt.Errorf("shares=%v: %d queues need %d shares; the last queue has the rest", shares, queues, queues-1)
	}
	return shares, nil
}

// ReadLimits reads the limits between queues.
func ReadLimits(p policy.Params, otherwise string) ([]unit.Time, error) {
	seconds, err := p.Floats("limits", otherwise)
	if err != nil {
		return nil, err
	}
	limits := make([]unit.Time, len(seconds))
	for i, s := range seconds {
		limits[i] = unit.FromSeconds(s)
		if !(s > 0 && s <= 1e12) || i > 0 && s <= seconds[i-1] {
			return nil, fmt.Errorf("limits=%v: want ascending seconds above 0", seconds)
		}
	}
	if len(limits) == 0 {
		return nil, fmt.Errorf("limits: want one for each queue except the last")
	}
	return limits, nil
}

// Resized divides the nodes again if there are more than ever before.
func (q *Queues) Resized(_ unit.Time, c policy.Cluster) {
	q.cluster = c
	if c.Nodes <= q.nodes {
		return
	}
	q.nodes, q.mixed = c.Nodes, false
	node := int32(0)
	for i, n := range sizes.Partition(q.shares, c.Nodes) {
		p := &q.parts[i]
		p.end = node + int32(n)
		for s := range p.rooms {
			p.rooms[s] = p.rooms[s][:0]
			for k := node; k < p.end && c.Room != nil; k++ {
				if r := c.Room(k, uint8(s)); !slices.Contains(p.rooms[s], r) {
					p.rooms[s] = append(p.rooms[s], r)
				}
			}
			q.mixed = q.mixed || i > 0 && len(p.rooms[s]) > 1 || n > 0 && !slices.Equal(p.rooms[s], q.parts[0].rooms[s])
		}
		node = p.end
	}
	for _, j := range q.jobs {
		if j != nil {
			q.rank(j)
		}
	}
}

// partition is the index of a node's partition.
func (q *Queues) partition(n *policy.Node) int32 {
	k := 0
	for k < len(q.parts)-1 && n.Index >= q.parts[k].end {
		k++
	}
	return int32(k)
}

// home is the partition that serves a queue.
func (q *Queues) home(queue int32) int32 {
	return max(0, min(queue, int32(min(len(q.parts), q.nodes))-1))
}

// serving is the partition that serves a job: its queue's, unless no node there is large enough.
func (q *Queues) serving(j *policy.Job, slot int) int32 {
	home := q.home(q.places[j.Index].queue)
	if !q.mixed || q.parts[home].fits(slot, j.Ask) {
		return home
	}
	for k := range q.parts {
		if q.parts[k].fits(slot, j.Ask) {
			return int32(k)
		}
	}
	return home
}

func (p *part) fits(slot int, ask unit.Resources) bool {
	return slices.ContainsFunc(p.rooms[slot], ask.Fits)
}

// Enter appends a job to a queue: one that arrives, or one that moves.
func (q *Queues) Enter(j *policy.Job, queue int) error {
	job, at := dense.At(&q.jobs, j.Index), dense.At(&q.places, j.Index)
	if *job == nil {
		for i := range j.Stages {
			if n := j.Stages[i].Gang; n > 1 && len(q.parts) > 1 {
				return fmt.Errorf("%d tasks of a stage start together, which a scheduler with partitions does not support", n)
			}
		}
		*job, *at = j, place{}
	}
	at.queue, at.entry = int32(queue), q.entered
	q.entered++
	q.rank(j)
	return nil
}

// Shifted reports whether, since the last call, jobs have moved to other partitions or there may be claims: see policy.Policy.
func (q *Queues) Shifted() bool {
	shifted := q.shifted
	q.shifted = false
	return shifted
}

// Shift makes the next call of Shifted return true.
func (q *Queues) Shift() { q.shifted = true }

// Queue is the index of a job's queue.
func (q *Queues) Queue(j *policy.Job) int { return int(q.places[j.Index].queue) }

// rank updates the heaps for a job.
func (q *Queues) rank(j *policy.Job) {
	at := &q.places[j.Index]
	for s := range policy.Slots {
		waits := j.Waiting[s] > 0 && !(at.defers && s == policy.ReduceSlot)
		k := at.part[s]
		if waits {
			k = q.serving(j, s)
		}
		if k != at.part[s] || !waits {
			q.parts[at.part[s]].waiting[s].Remove(j.Index)
			q.shifted = q.shifted || k != at.part[s]
			at.part[s] = k
		}
		if waits {
			q.parts[k].waiting[s].Set(j.Index, float64(at.queue), at.entry)
		}
	}
}

// Defer sets whether the job is kept from taking reduce slots.
func (q *Queues) Defer(j *policy.Job, defers bool) {
	if at := &q.places[j.Index]; at.defers != defers {
		at.defers = defers
		q.rank(j)
	}
}

// Changed ranks the job again.
func (q *Queues) Changed(_ unit.Time, j *policy.Job) { q.rank(j) }

// Started removes a job that no longer waits. A job's rank does not depend on what it holds.
func (q *Queues) Started(e *policy.Event) {
	j := e.Job
	if len(q.parts) > 1 {
		q.hold(e, e.Size)
		if q.mixed {
			q.rank(j)
		}
	}
	for s := range policy.Slots {
		if j.Waiting[s] == 0 {
			q.parts[q.places[j.Index].part[s]].waiting[s].Remove(j.Index)
		}
	}
}

// Ended updates what is held in the partition.
func (q *Queues) Ended(e *policy.Event) {
	if len(q.parts) > 1 {
		q.hold(e, unit.Resources{}.Sub(e.Size))
	}
}

func (q *Queues) hold(e *policy.Event, r unit.Resources) {
	if e.Node != nil && !r.IsZero() {
		p := &q.parts[q.partition(e.Node)]
		p.held = p.held.Add(r)
		p.busy += e.Held
		p.busyMem += e.Held.Seconds() * float64(e.Size.Mem)
	}
}

// Busy is the container-time of a partition's ended containers.
func (q *Queues) Busy(partition int) unit.Time { return q.parts[partition].busy }

// Partitions implements policy.Partitioned.
func (q *Queues) Partitions(to []policy.Partition) []policy.Partition {
	if len(q.parts) < 2 {
		return to
	}
	first := int32(0)
	for k := range q.parts {
		p := &q.parts[k]
		to = append(to, policy.Partition{Nodes: int(p.end - first), Room: q.room(int32(k)), Busy: p.busyMem})
		first = p.end
	}
	return to
}

// Left removes the job.
func (q *Queues) Left(_ unit.Time, j *policy.Job) {
	for s := range policy.Slots {
		q.parts[q.places[j.Index].part[s]].waiting[s].Remove(j.Index)
	}
	q.jobs[j.Index] = nil
}

// Ranked proposes the jobs that the node's partition serves; without a node, those of all partitions.
func (q *Queues) Ranked(o *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	own := int32(0)
	if len(q.parts) > 1 {
		if own = -1; o.Node != nil {
			own = q.partition(o.Node)
		}
	}
	if own >= 0 {
		p := &q.parts[own]
		if p.waiting[o.Slot].Len() == 0 && !q.borrow {
			o.Next = p.end
			return false
		}
		v := keyed.Propose(&p.waiting[o.Slot], q.jobs, try)
		if v != policy.Pass || !q.borrow {
			return v == policy.Took
		}
	}
	for k := range q.parts {
		if int32(k) == own {
			continue
		}
		if v := keyed.Propose(&q.parts[k].waiting[o.Slot], q.jobs, try); v != policy.Pass {
			return v == policy.Took
		}
	}
	return false
}

// First is the job to which a free container of a slot kind is offered first; nil: none, or that depends on the node.
func (q *Queues) First(slot uint8) *policy.Job {
	if id, ok := q.parts[0].waiting[slot].Min(); ok && len(q.parts) == 1 {
		return q.jobs[id]
	}
	return nil
}

// Why names the job's queue and partition, and counts the jobs ahead.
func (q *Queues) Why(_ unit.Time, j *policy.Job, to []policy.Reason) []policy.Reason {
	slot := policy.MapSlot
	if j.Waiting[slot] == 0 {
		slot = policy.ReduceSlot
	}
	k := q.places[j.Index].part[slot]
	r := policy.Reason{Queue: fmt.Sprintf("queue %d", q.Queue(j)+1)}
	keyed.Ahead(&r, &q.parts[k].waiting[slot], j.Index, q.jobs)
	if len(q.parts) > 1 {
		r.Limit, r.Queue, r.Held = "shares", fmt.Sprintf("%s, partition %d", r.Queue, k+1), q.parts[k].held
		r.Max = q.room(k)
	}
	return append(to, r)
}

// room is the total capacity of a partition.
func (q *Queues) room(k int32) (sum unit.Resources) {
	first := int32(0)
	if k > 0 {
		first = q.parts[k-1].end
	}
	for n := first; n < q.parts[k].end && q.cluster.Room != nil; n++ {
		for s := range uint8(policy.Slots) {
			sum = sum.Add(q.cluster.Room(n, s))
		}
	}
	return sum
}
