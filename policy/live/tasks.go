package live

import (
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// See says in which state the cluster shows a task. It may be said any number of times, and late. since is when a task got its node, and for a task that was over
// before Start how long it held it.
func (c *Core) See(x Task, in Job, s State, on string, since unit.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step()
	if o, ok := c.others[x.ID]; ok { // it stays one, or its room would count twice
		if s == Over {
			delete(c.others, x.ID)
			c.lend(o.node, unit.Resources{}.Sub(o.size))
		}
		return
	}
	if t := c.tasks[x.ID]; t != nil {
		t.job.Owned = t.job.Owned || in.Owned && in.Key == t.job.Key // the owner may be known after its tasks
		switch t.Ref = x.Ref; {
		case s == Bound:
			c.bind(t, on)
		case s == Released && t.state == Held: // not by us
			c.held--
			t.job.stages[t.stage].waiting.drop()
			c.release(t)
			c.changed(t.job, t.job.view.Pending, false)
		}
		return
	}
	if s == Over && c.started {
		return
	}
	t := c.join(x, in, s)
	j := t.job
	before := j.view.Pending
	switch s {
	case Held:
		c.held++
		j.stages[t.stage].waiting.put(t)
	case Bound:
		t.node, t.start = c.at(on), since
		c.use(t.node, t.Size)
	case Released:
		t.start = since
	case Over:
		t.spent, t.Ref = since, nil
		return
	}
	c.log("see", t)
	if !c.started {
		if s == Released {
			c.release(t)
		}
		return
	}
	if s == Held {
		c.refresh(j, t.stage)
	}
	if !j.arrived {
		c.arrive(j)
	}
	switch s {
	case Released:
		c.release(t)
	case Bound:
		c.take(t)
	}
	c.changed(j, before, true)
}

// release takes a task out of those that are held, and notes that the policy has started it.
func (c *Core) release(t *task) {
	c.seq++
	t.seq = c.seq
	t.turn(Released)
	c.outstanding++
	c.unbound = c.unbound.Add(t.Size)
	if c.started {
		c.take(t)
	}
}

func (t *task) turn(s State) {
	t.job.in[t.state]--
	t.job.in[s]++
	t.state = s
}

// take tells the policy of a start.
func (c *Core) take(t *task) {
	j := t.job
	j.view.Stages[t.stage].Running++
	c.refresh(j, t.stage)
	j.view.Hold(c.now, t.Size)
	t.start = c.now
	if j.refused != nil {
		return
	}
	c.event = policy.Event{Now: c.now, Job: &j.view, Stage: t.stage, Size: t.Size}
	c.pol.Order.Started(&c.event)
	c.shifted()
}

// back tells the policy of an end.
func (c *Core) back(t *task, why policy.End, worked unit.Time) {
	j := t.job
	if !c.started {
		return
	}
	s := &j.view.Stages[t.stage]
	s.Running--
	if why == policy.Undone {
		j.view.Undo(t.start, t.Size)
	} else {
		j.view.Yield(c.now, t.start, t.Size)
	}
	if why == policy.Done {
		s.Done++
		s.Worked += worked
		j.view.Done++
	}
	if j.refused == nil {
		c.event = policy.Event{Now: c.now, Job: &j.view, Stage: t.stage, Size: t.Size, Held: c.now - t.start, Worked: worked, Why: why}
		if t.node != nil {
			c.event.Node = &t.node.Node
		}
		c.pol.Order.Ended(&c.event)
		c.shifted()
	}
}

// State is the state of a task that is visible.
func (c *Core) State(id string) (s State, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tasks[id]
	if t == nil {
		return 0, false
	}
	return t.state, true
}

// Bind says that a released task got a node.
func (c *Core) Bind(id, on string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.tasks[id]; t != nil {
		c.step()
		c.bind(t, on)
	}
}

func (c *Core) bind(t *task, on string) {
	j := t.job
	switch t.state {
	case Released:
		c.unplaced(t)
	case Held: // by somebody else
		c.held--
		j.stages[t.stage].waiting.drop()
		if c.started {
			c.take(t)
		}
	case stranded:
		c.take(t)
	default:
		return
	}
	t.turn(Bound)
	t.node = c.at(on)
	c.use(t.node, t.Size)
	c.log("bind", t)
	if s := j.stages[t.stage].shape; s.parked {
		s.parked = false
		delete(c.parked, s)
		c.turn(s, false, 0)
	}
	c.changed(j, j.view.Pending, false)
}

// unplaced takes a task out of those that are released without a node.
func (c *Core) unplaced(t *task) {
	c.outstanding--
	c.unbound = c.unbound.Sub(t.Size)
}

// End says that a task is over, whatever state it was in: its room is free again. It stays visible until it is Gone.
func (c *Core) End(id string, why policy.End, worked unit.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.tasks[id]; t != nil {
		c.step()
		c.end(t, why, worked)
	}
}

func (c *Core) end(t *task, why policy.End, worked unit.Time) {
	j, before := t.job, t.job.view.Pending
	was := t.state
	t.turn(Over)
	t.Ref = nil
	switch was {
	case Over:
		return
	case Held:
		c.held--
		j.stages[t.stage].waiting.drop()
		j.view.Stages[t.stage].Tasks--
		j.known--
	case Released:
		c.unplaced(t)
		if why != policy.Done {
			why = policy.Undone
		}
		c.back(t, why, worked)
	case Bound:
		c.use(t.node, unit.Resources{}.Sub(t.Size))
		t.spent = t.earlier + c.now - t.start
		c.back(t, why, worked)
	}
	c.log("end", t)
	c.verdict(t)
	c.refresh(j, t.stage)
	c.changed(j, before, false)
	j.tasks--
	c.idle(j)
}

// Gone says that a task, or another that takes room, is no longer visible. If it had not ended, it was deleted.
func (c *Core) Gone(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step()
	if o, ok := c.others[id]; ok {
		delete(c.others, id)
		c.lend(o.node, unit.Resources{}.Sub(o.size))
		return
	}
	if t := c.tasks[id]; t != nil {
		c.end(t, policy.Taken, 0)
		t.job.gone += t.spent
		t.job.in[Over]--
		delete(c.tasks, id)
	}
}

// Refusal is why a released task has no node.
type Refusal uint8

// Refusals.
const (
	NotBound Refusal = iota // a node was found, and the binding failed; after some times that is as good as no node
	NoRoom                  // no node has room for its size
	NoNode                  // what else it asks for rules out all nodes
)

// TakeBack says that the engine holds a released task again, and why. It reports whether the task was released and had no node.
func (c *Core) TakeBack(id string, why Refusal) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tasks[id]
	if t == nil || t.state != Released {
		return false
	}
	c.step()
	j := t.job
	before := j.view.Pending
	c.counted.TakenBack++
	c.unplaced(t)
	c.back(t, policy.Undone, 0)
	t.turn(Held)
	c.held++
	j.stages[t.stage].waiting.put(t)
	c.log("take back", t)
	if why == NotBound {
		t.failed++
	}
	switch {
	case why == NoRoom && !c.packs(t.Size, 1, freeOf):
		j.stages[t.stage].tight = true // from now on, a node needs to have room
		c.verdict(t)
	case why != NotBound || t.failed > bindings:
		c.park(t, false)
	default:
		c.verdict(t)
	}
	c.refresh(j, t.stage)
	c.changed(j, before, true)
	return true
}

// Strand says that a released task finds no node and that the engine cannot hold it again. Others get its room until it is bound.
func (c *Core) Strand(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tasks[id]
	if t == nil || t.state != Released {
		return
	}
	c.step()
	c.counted.Strandings++
	c.unplaced(t)
	c.back(t, policy.Undone, 0)
	t.turn(stranded)
	c.log("strand", t)
	c.park(t, true)
	c.refresh(t.job, t.stage)
	c.changed(t.job, t.job.view.Pending, true)
}

// shape is what tasks have in common that are placed alike.
type shape struct {
	stages map[place]bool
	parked bool // a task of it found no node, and none has since
	closed bool // none is released. A parked shape that is open has a trial
	tries  int
	until  unit.Time // when it opens again
}

type place struct {
	job   *job
	stage int
}

// park closes the shape of a task that found no node: for a pause that doubles, or until the task is bound or gone.
func (c *Core) park(t *task, wait bool) {
	s := t.job.stages[t.stage].shape
	if s.closed && !t.trial { // released before it was parked
		return
	}
	t.trial = wait
	if !s.parked {
		s.parked, s.tries = true, 0
		c.parked[s] = true
	}
	until := unit.Never
	if !wait {
		until = c.now + min(firstPause<<min(s.tries, 20), lastPause)
	}
	s.tries++
	c.retry = min(c.retry, until)
	c.turn(s, true, until)
}

// verdict is called when a trial is over without a node: the next one may begin.
func (c *Core) verdict(t *task) {
	if s := t.job.stages[t.stage].shape; t.trial && s.closed {
		c.turn(s, false, unit.Never)
	}
	t.trial = false
}

// unpark opens parked shapes that have waited until now, or all.
func (c *Core) unpark(all bool) {
	if !all && c.now < c.retry {
		return
	}
	c.retry = unit.Never
	for s := range c.parked {
		switch {
		case s.closed && (all || s.until <= c.now):
			c.turn(s, false, unit.Never)
		case s.closed:
			c.retry = min(c.retry, s.until)
		}
	}
}

// turn closes or opens the stages of a shape.
func (c *Core) turn(s *shape, closed bool, until unit.Time) {
	s.closed, s.until = closed, until
	for x := range s.stages {
		before := x.job.view.Pending
		c.refresh(x.job, x.stage)
		c.changed(x.job, before, false)
	}
}

// Unpark lets every parked shape have a trial: something has changed that may help, such as the taints of a node.
func (c *Core) Unpark() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step()
	c.unpark(true)
}

// queue has the waiting tasks of a stage, oldest first. Entries of tasks that no longer wait are skipped.
type queue struct {
	again []*task // those that were taken back
	first []*task
	n     int
}

func (q *queue) put(t *task) {
	q.n++
	if t.queued {
		return
	}
	t.queued = true
	if t.seq > 0 {
		q.again = append(q.again, t)
	} else {
		q.first = append(q.first, t)
	}
}

// drop notes that one of the tasks, which is in another state or is about to be, waits no more. Their entries must not outnumber those of tasks that wait.
func (q *queue) drop() {
	if q.n--; len(q.first)+len(q.again) <= 2*q.n+64 {
		return
	}
	gone := func(t *task) bool {
		if t.state != Held {
			t.queued = false
		}
		return t.state != Held
	}
	q.first, q.again = slices.DeleteFunc(q.first, gone), slices.DeleteFunc(q.again, gone)
}

// take returns the next of n > 0 tasks.
func (q *queue) take() *task {
	for {
		from := &q.again
		if len(*from) == 0 {
			from = &q.first
		}
		t := (*from)[0]
		(*from)[0] = nil
		*from = (*from)[1:]
		t.queued = false
		if t.state == Held {
			q.n--
			return t
		}
	}
}

func (q *queue) sort() {
	slices.SortStableFunc(q.first, func(a, b *task) int {
		if d := compare(a.Created, b.Created); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
}
