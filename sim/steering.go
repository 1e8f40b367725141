package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/internal/timeline"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// steering lets a steering policy watch and change the run: the simulated yard. What it sees is as old as Delays.Sense
// says, what it does takes effect after Delays.Job or Delays.Queue.
type steering struct {
	e        *engine
	who      steer.Steerer
	delays   steer.Delays
	seen     steer.Snapshot  // as sensed for the next look
	todo     []steer.Receipt // by number of the action
	receipts []steer.Receipt
	byID     map[string]*job // jobs present
	still    int             // looks in a row at which nothing else was going to happen
}

var _ steer.Yard = (*steering)(nil)

func newSteering(e *engine, who steer.Steerer, d steer.Delays) *steering {
	return &steering{e: e, who: who, delays: d, byID: map[string]*job{}}
}

// plan arranges a look: what is seen is sensed so much earlier, but not in the past.
func (s *steering) plan(at unit.Time) {
	sense := max(at-s.delays.Sense, s.e.now)
	s.e.lookAt(sense, evSense)
	s.e.lookAt(sense+s.delays.Sense, evSteer)
}

func (s *steering) sense() {
	s.e.looks--
	s.seen, _ = s.Snapshot(context.Background())
}

// step shows what was sensed and plans what the policy answers.
func (s *steering) step() {
	e := s.e
	e.looks--
	if s.still++; e.ahead() {
		s.still = 0
	}
	s.seen.Age = e.now - s.seen.Now
	do, again := s.who.Step(&s.seen)
	for _, a := range do {
		delay := s.delays.Job
		if a.Kind == steer.SetQueue {
			delay = s.delays.Queue
		}
		s.todo = append(s.todo, steer.Receipt{Action: a, Asked: e.now})
		e.q.Push(e.now+delay, evAction|uint64(len(s.todo)-1), 0)
	}
	if again > 0 && (e.present > 0 || e.next != nil || e.coming > 0) && s.still < patience {
		s.plan(e.now + again)
	}
}

func (s *steering) act(i int) {
	r, _ := s.Apply(context.Background(), s.todo[i].Action)
	r.Asked = s.todo[i].Asked
	s.receipts = append(s.receipts, r)
}

// Snapshot is what can be seen from outside now.
func (s *steering) Snapshot(context.Context) (steer.Snapshot, error) {
	e := s.e
	snap := steer.Snapshot{Now: e.now, CPUIdle: -1}
	for i := range e.cfg.Cluster.Nodes {
		up := false
		for _, p := range e.pools {
			n := &p.nodes[i]
			up = up || !n.Total.IsZero()
			snap.Total = snap.Total.Add(n.Total)
			snap.Used = snap.Used.Add(n.Total.Sub(n.Free))
		}
		if up {
			snap.Nodes++
		}
	}
	queues := make([]steer.Queue, len(e.line.Queues))
	for i := range e.line.Queues {
		q := &e.line.Queues[i]
		queues[i] = steer.Queue{Name: q.Name, Containers: q.Containers, Running: int(q.Running), Waiting: int(q.Waiting)}
	}
	for _, j := range e.byArrival() {
		sj := steer.Job{
			ID: j.src.ID, User: j.src.User, Queue: e.line.Queues[j.queue].Name, Priority: j.views[0].Priority,
			Submitted: j.src.Submit, Started: j.rec.Start >= 0, Tasks: j.views[0].Tasks, Master: j.views[0].Master,
		}
		for k := range e.pools {
			v := &j.views[k]
			sj.Done += v.Done
			sj.Pending += v.Pending
			sj.Running += v.Running
			queues[j.queue].Used = queues[j.queue].Used.Add(v.Used)
		}
		snap.Jobs = append(snap.Jobs, sj)
	}
	slices.SortFunc(queues, func(a, b steer.Queue) int { return cmp.Compare(a.Name, b.Name) })
	snap.Queues = queues
	return snap, nil
}

// byArrival lists the jobs present in the order in which they came.
func (e *engine) byArrival() []*job {
	out := make([]*job, 0, e.present)
	for _, j := range e.jobs {
		if j != nil {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b *job) int { return cmp.Compare(a.rec.Seq, b.rec.Seq) })
	return out
}

// Apply makes a change at once and says what stood before.
func (s *steering) Apply(_ context.Context, a steer.Action) (steer.Receipt, error) {
	r := steer.Receipt{Action: a, InForce: s.e.now, New: a.Value}
	r.Err = s.apply(a, &r)
	for _, p := range s.e.pools {
		p.due = true
		p.changed()
	}
	return r, r.Err
}

// apply changes all pools, or none.
func (s *steering) apply(a steer.Action, r *steer.Receipt) error {
	e := s.e
	j := s.byID[a.Job]
	switch {
	case a.Kind > steer.KillJob:
		return fmt.Errorf("action %d is not known", a.Kind)
	case a.Kind != steer.SetQueue && j == nil:
		return fmt.Errorf("job %s is not there (any more)", a.Job)
	case a.Kind == steer.KillJob:
		j.rec.Reason = "killed: " + a.Why
		e.killJob(j)
		return nil
	}
	knobs := make([]policy.Knobs, len(e.pools))
	for i, p := range e.pools {
		var ok bool
		if knobs[i], ok = p.order.(policy.Knobs); !ok {
			return fmt.Errorf("this scheduler cannot be changed while it runs")
		}
	}
	for i, k := range knobs {
		if err := s.turn(k, i, j, a, r); err != nil {
			for n, before := range knobs[:i] { // put back what was changed
				old := steer.Action{Kind: a.Kind, Job: a.Job, Queue: a.Queue, Property: a.Property, Value: r.Old}
				if a.Kind == steer.MoveJob {
					old.Queue = r.OldQueue
				}
				_ = s.turn(before, n, j, old, &steer.Receipt{})
			}
			return err
		}
	}
	if a.Kind == steer.MoveJob {
		e.moveCounts(j, e.line.Index(a.Queue))
	}
	return nil
}

// turn moves one knob of one pool's scheduler and writes the old value down.
func (s *steering) turn(k policy.Knobs, pool int, j *job, a steer.Action, r *steer.Receipt) (err error) {
	if a.Kind == steer.SetQueue {
		r.Old, err = k.SetQueue(a.Queue, a.Property, a.Value)
		return err
	}
	v := &j.views[pool]
	if a.Kind == steer.SetPriority {
		old := v.Priority
		r.Old = float64(old)
		v.Priority = int(a.Value)
		k.SetPriority(v, old)
		return nil
	}
	r.OldQueue = v.Queue
	if err := k.Move(v, a.Queue); err != nil {
		return err
	}
	v.Queue = a.Queue
	return nil
}

// moveCounts carries what a job holds and wants over to another queue's counters.
func (e *engine) moveCounts(j *job, to int32) {
	a, b := &e.line.Queues[j.queue], &e.line.Queues[to]
	if a == b {
		return
	}
	for k := range e.pools {
		v := &j.views[k]
		timeline.Shift(a, b, e.now-e.line.From, v.Running, v.Used.Mem)
		a.Pending -= v.Pending
		b.Pending += v.Pending
	}
	if j.rec.Start < 0 {
		a.Waiting--
		b.Waiting++
	} else {
		a.Running--
		b.Running++
	}
	j.queue = to
}
