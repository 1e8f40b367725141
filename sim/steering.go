package sim

import (
	"context"
	"fmt"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// steering lets a steering policy watch and change the run: the simulated yard. What it sees is as old as Delays.Sense
// says, what it does takes effect after Delays.Job or Delays.Queue.
type steering struct {
	e        *engine
	who      steer.Steerer
	delays   steer.Delays
	seen     []steer.Snapshot // taken and not yet shown, oldest first
	todo     []steer.Receipt  // by number of the action
	receipts []steer.Receipt
}

var _ steer.Yard = (*steering)(nil)

func newSteering(e *engine, who steer.Steerer, d steer.Delays) *steering {
	return &steering{e: e, who: who, delays: d}
}

// step takes a snapshot, shows the newest one that is old enough, and plans what the policy answers.
func (s *steering) step() {
	e := s.e
	snap, _ := s.Snapshot(context.Background())
	s.seen = append(s.seen, snap)
	show := -1
	for i := range s.seen {
		if s.seen[i].Now+s.delays.Sense <= e.now {
			show = i
		}
	}
	if show < 0 { // nothing is old enough yet: look again when it is
		e.q.push(s.seen[0].Now+s.delays.Sense, evSteer, 0)
		return
	}
	seen := s.seen[show]
	s.seen = append(s.seen[:0], s.seen[show+1:]...)
	do, again := s.who.Step(&seen)
	for _, a := range do {
		delay := s.delays.Job
		if a.Kind == steer.SetQueue {
			delay = s.delays.Queue
		}
		s.todo = append(s.todo, steer.Receipt{Action: a, Asked: e.now})
		e.q.push(e.now+delay, evAction|uint64(len(s.todo)-1), 0)
	}
	if again > 0 && (e.present > 0 || e.next != nil) {
		e.q.push(e.now+again, evSteer, 0)
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
	for _, p := range e.pools {
		for i := range p.nodes {
			n := &p.nodes[i]
			if !n.Total.IsZero() {
				snap.Nodes++
				snap.Total = snap.Total.Add(n.Total)
				snap.Used = snap.Used.Add(n.Total.Sub(n.Free))
			}
		}
	}
	for i := range e.queues {
		q := &e.queues[i]
		snap.Queues = append(snap.Queues, steer.Queue{
			Name: q.name, Containers: q.containers, Used: unit.Resources{Mem: q.mem},
			Running: int(q.running), Waiting: int(q.waiting),
		})
	}
	for _, j := range e.byArrival() {
		sj := steer.Job{
			ID: j.src.ID, User: j.src.User, Queue: e.queues[j.queue].name, Priority: j.views[0].Priority,
			Submitted: j.src.Submit, Started: j.rec.Start >= 0, Tasks: j.views[0].Tasks,
		}
		for k := range e.pools {
			sj.Done += j.views[k].Done
			sj.Pending += j.views[k].Pending
			sj.Running += j.views[k].Running
		}
		snap.Jobs = append(snap.Jobs, sj)
	}
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
	sortJobs(out)
	return out
}

// Apply makes a change at once and says what stood before.
func (s *steering) Apply(_ context.Context, a steer.Action) (steer.Receipt, error) {
	r := steer.Receipt{Action: a, InForce: s.e.now, New: a.Value}
	r.Err = s.apply(a, &r)
	for _, p := range s.e.pools {
		p.due = true
	}
	return r, r.Err
}

func (s *steering) apply(a steer.Action, r *steer.Receipt) error {
	e := s.e
	if a.Kind == steer.SetQueue {
		for _, p := range e.pools {
			k, ok := p.order.(policy.Knobs)
			if !ok {
				return fmt.Errorf("this scheduler cannot be changed while it runs")
			}
			old, err := k.SetQueue(a.Queue, a.Property, a.Value)
			if err != nil {
				return err
			}
			r.Old = old
		}
		return nil
	}
	j := e.find(a.Job)
	if j == nil {
		return fmt.Errorf("job %s is not there (any more)", a.Job)
	}
	switch a.Kind {
	case steer.KillJob:
		j.rec.Reason = "killed: " + a.Why
		e.killTasks(j)
		e.done(j, Failed)
		return nil
	case steer.SetPriority:
		r.Old = float64(j.views[0].Priority)
	case steer.MoveJob:
		r.OldQueue = e.queues[j.queue].name
	default:
		return fmt.Errorf("action %d is not known", a.Kind)
	}
	for i, p := range e.pools {
		k, ok := p.order.(policy.Knobs)
		if !ok {
			return fmt.Errorf("this scheduler cannot be changed while it runs")
		}
		v := &j.views[i]
		if a.Kind == steer.SetPriority {
			old := v.Priority
			v.Priority = int(a.Value)
			k.SetPriority(v, old)
			continue
		}
		if err := k.Move(v, a.Queue); err != nil {
			return err
		}
		v.Queue = a.Queue
	}
	if a.Kind == steer.MoveJob {
		e.moveCounts(j, e.queueIndex(a.Queue))
	}
	return nil
}

// moveCounts carries what a job holds and wants over to another queue's counters.
func (e *engine) moveCounts(j *job, to int32) {
	from := j.queue
	since := e.now - e.samples.from
	for t := range e.tasks {
		tk := &e.tasks[t]
		if tk.flags&(taskUnset|taskDead|taskInner) != 0 || tk.job != j.index {
			continue
		}
		ask, _ := e.askOf(j, int(tk.stage))
		e.queues[from].yield(since, ask.Mem)
		e.queues[to].hold(since, ask.Mem)
	}
	a, b := &e.queues[from], &e.queues[to]
	for k := range e.pools {
		a.pending -= j.views[k].Pending
		b.pending += j.views[k].Pending
	}
	if j.rec.Start < 0 {
		a.waiting--
		b.waiting++
	} else {
		a.running--
		b.running++
	}
	j.queue = to
}

func (e *engine) find(id string) *job {
	for _, j := range e.jobs {
		if j != nil && j.src.ID == id {
			return j
		}
	}
	return nil
}
