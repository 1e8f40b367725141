package capacity1

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// part allocates one kind of slot.
type part struct {
	*state
	kind    int
	slots   int64 // in the cluster
	nodes   int64
	idle    int64    // slots that may be borrowed: shares of queues without jobs
	waiting int64    // jobs that may be proposed
	epoch   uint64   // number of times that the waiting set became empty, plus one
	order   []*queue // as last sorted
	beat    beat
	perBeat int // tasks a heartbeat; -1: any number
	walk    walk
}

var (
	_ policy.Order = (*state)(nil)
	_ policy.Knobs = (*state)(nil)
)

// beat is what a node got in the current heartbeat.
type beat struct {
	now    unit.Time
	node   int32 // none: no heartbeat
	given  int
	after  int  // tasks that may still follow one off switch
	off    bool // one off switch was given
	closed bool // no more in this heartbeat
}

const none int32 = -1

// Resized sets the number of slots of each kind. On a cluster without slots a vcore is a map slot.
func (s *state) Resized(_ unit.Time, c policy.Cluster) {
	if c.Slots == [kinds]int64{} {
		c.Slots[mapSlots] = c.Total.Cores
	}
	for k, p := range s.parts {
		p.slots, p.nodes = c.Slots[k], int64(c.Nodes)
		s.size(k)
	}
}

// Arrived submits a job.
func (s *state) Arrived(_ unit.Time, v *policy.Job) error { return s.arrived(v) }

// Changed lets an initialised job that wants slots be proposed.
func (s *state) Changed(_ unit.Time, v *policy.Job) {
	for k, n := range v.Waiting {
		if j := &s.jobs[v.Index]; n > 0 {
			s.show(j, k)
		} else {
			s.hide(j, k)
		}
	}
}

// slotsOf is what a container counts. With fixed slots it is one.
func slotsOf(stage int, ask unit.Resources) int64 {
	if stage == policy.AMStage {
		return 0
	}
	return ask.Cores
}

// Started counts the slots.
func (s *state) Started(e *policy.Event) { s.hold(e, +1) }

// Ended counts them off.
func (s *state) Ended(e *policy.Event) { s.hold(e, -1) }

func (s *state) hold(e *policy.Event, tasks int64) {
	if e.Size.IsZero() {
		return // a task in a container that its job keeps
	}
	kind := mapSlots
	if e.Stage >= 0 {
		kind = int(e.Job.Stages[e.Stage].Slot)
	}
	j, slots := &s.jobs[e.Job.Index], tasks*slotsOf(e.Stage, e.Size)
	j.held[kind] += slots
	j.running[kind] += tasks
	s.charge(j, kind, slots, tasks)
	if e.Job.Waiting[kind] == 0 {
		s.hide(j, kind)
	}
}

// Left forgets the job.
func (s *state) Left(_ unit.Time, v *policy.Job) {
	s.leave(v.Index)
	s.jobs[v.Index] = job{}
}

// Ranked proposes jobs for a slot of the kind that is offered.
func (s *state) Ranked(o *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	return s.parts[o.Slot].ranked(o, try)
}

// ranked proposes jobs: queues in their order, jobs in theirs.
func (p *part) ranked(o *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
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

// gave closes the heartbeat when the node has reached its limit.
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

// sort sorts the queues. The list persists between calls, as Hadoop's does, so that ties are
// broken by the previous order; and it is nearly sorted already.
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
		v := j.view
		if v.Waiting[p.kind] <= 0 || !w.within(j.user, slotsOf(v.Front, v.Ask)) {
			continue
		}
		if verdict := try(v); verdict != policy.Pass {
			return verdict
		}
	}
}
