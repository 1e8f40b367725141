package capacity1

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// part hands out one kind of slot.
type part struct {
	*state
	kind    int
	slots   int64 // in the cluster
	nodes   int64
	idle    int64    // slots that may be borrowed: shares of queues without jobs
	waiting int64    // jobs that may be proposed
	spell   uint64   // number of times that nobody waited any more, plus one
	order   []*queue // as last sorted
	beat    beat
	perBeat int // tasks a heartbeat; -1: any number
	walk    walk
}

var (
	_ policy.Order = (*part)(nil)
	_ policy.Knobs = (*part)(nil)
)

// beat is what a node was given in the heartbeat at hand.
type beat struct {
	now    unit.Time
	node   int32 // none: no heartbeat
	given  int
	after  int  // tasks that may still follow one off switch
	off    bool // one off switch was given
	closed bool // no more in this heartbeat
}

const none int32 = -1

// Resized tells how many slots of this kind there are.
func (p *part) Resized(_ unit.Time, c policy.Cluster) {
	p.slots, p.nodes = c.Total.Cores, int64(c.Nodes)
	p.size(p.kind)
}

// Arrived submits a job; the second part to hear of it only notes how it sees the job.
func (p *part) Arrived(_ unit.Time, v *policy.Job) error {
	if p.kind == mapSlots {
		return p.arrived(v)
	}
	j := p.job(v)
	j.view[p.kind] = v
	p.show(j, p.kind)
	return nil
}

// Changed lets an initialised job that wants slots be proposed.
func (p *part) Changed(_ unit.Time, v *policy.Job) {
	if j := &p.jobs[v.Index]; v.Pending > 0 {
		p.show(j, p.kind)
	} else {
		p.hide(j, p.kind)
	}
}

// slotsOf is what a container counts. With fixed slots it is one.
func slotsOf(stage int, ask unit.Resources) int64 {
	if stage == policy.MasterStage {
		return 0
	}
	return ask.Cores
}

// Started counts the slots.
func (p *part) Started(e *policy.Event) { p.hold(e, +1) }

// Ended counts them off.
func (p *part) Ended(e *policy.Event) { p.hold(e, -1) }

func (p *part) hold(e *policy.Event, tasks int64) {
	if e.Size.IsZero() {
		return // a task in a container that its job keeps
	}
	v, slots := e.Job, tasks*slotsOf(e.Stage, e.Size)
	j := &p.jobs[v.Index]
	j.held[p.kind] += slots
	j.running[p.kind] += tasks
	p.charge(j, p.kind, slots, tasks)
	if v.Pending == 0 {
		p.hide(j, p.kind)
	}
}

// Left forgets the job. Both parts are told, one after the other, before anything else happens.
func (p *part) Left(_ unit.Time, v *policy.Job) {
	j := &p.jobs[v.Index]
	if j.queue != nil {
		p.leave(v.Index)
	}
	*j = job{}
}

// Ranked proposes jobs: queues in their order, jobs in theirs.
func (p *part) Ranked(o *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	if p.waiting == 0 {
		return false
	}
	if b := &p.beat; o.Node == nil {
		*b = beat{node: none, after: p.cfg.TasksAfterOffSwitch}
	} else if b.node != o.Node.Index || b.now != o.Now {
		*b = beat{now: o.Now, node: o.Node.Index, after: p.cfg.TasksAfterOffSwitch}
	} else if b.closed {
		return false
	}
	p.sort()
	for _, q := range p.order {
		switch p.visit(q, try) {
		case policy.Took:
			p.gave()
			return true
		case policy.Enough:
			return false
		}
	}
	return false
}

// gave closes the heartbeat when the node has been given what it may.
func (p *part) gave() {
	b := &p.beat
	b.given++
	switch {
	case b.given == p.perBeat:
		b.closed = true
	case b.off && b.after == 0:
		b.closed = true
	case b.off:
		b.after--
	}
}

// sort brings the queues in order. The list stays as it is from one time to the next, as Hadoop's does, so that ties are
// broken by the order of before; and it is nearly in order already.
func (p *part) sort() {
	for i, q := range p.order {
		u := &q.use[p.kind]
		u.key = p.cfg.QueueOrder(Use{Capacity: u.capacity, Occupied: u.occupied, Running: u.running})
		for ; i > 0 && p.order[i-1].use[p.kind].key > u.key; i-- {
			p.order[i], p.order[i-1] = p.order[i-1], p.order[i]
		}
	}
}

// visit proposes the jobs of one queue whose users are within their limit.
func (p *part) visit(q *queue, try func(*policy.Job) policy.Verdict) policy.Verdict {
	use := &q.use[p.kind]
	if use.ready.Len() == 0 {
		return policy.Pass
	}
	w := &p.walk
	for w.start(p, q); ; w.next() {
		id := w.job()
		if id == none {
			return policy.Pass
		}
		j := &p.jobs[id]
		v := j.view[p.kind]
		if v.Pending <= 0 || !w.within(j.user, slotsOf(v.Front, v.Ask)) {
			continue
		}
		if verdict := try(v); verdict != policy.Pass {
			return verdict
		}
	}
}
