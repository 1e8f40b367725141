package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/internal/timeline"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// steering lets a steering policy watch and change the run: the simulated yard. What it sees is as old as Delays.Sense
// says; what it does takes effect after Delays.Job or Delays.Queue, or when a file is polled.
type steering struct {
	e        *engine
	who      steer.Steerer
	delays   steer.Delays
	seen     steer.Snapshot  // as sensed for the next look
	last     bool            // when it was sensed, no job was there and none was to come
	todo     []steer.Receipt // by number of the action
	receipts []steer.Receipt
	byID     map[string]*job // jobs present
	still    int             // looks in a row at which nothing else was going to happen
	file     file
	eyes     eyes
}

var _ steer.Yard = (*steering)(nil)

func newSteering(e *engine, who steer.Steerer, d steer.Delays) *steering {
	s := &steering{e: e, who: who, delays: d, byID: map[string]*job{}}
	if d.Poll > 0 {
		s.file.phase = unit.Time(workload.Uniform01(workload.Seed(e.cfg.Seed, seedPolls), 0) * float64(d.Poll))
	}
	return s
}

// plan arranges a look: what is seen is sensed so much earlier, but not in the past.
func (s *steering) plan(at unit.Time) {
	sense := max(at-s.delays.Sense, s.e.now)
	s.e.lookAt(sense, evSense)
	s.e.lookAt(sense+s.delays.Sense, evSteer)
}

func (s *steering) sense() {
	e := s.e
	e.looks--
	s.seen, _ = s.Snapshot(context.Background())
	s.last = e.present == 0 && e.next == nil && e.coming == 0
}

// step shows what was sensed and plans what the policy answers. The last look is one at a yard that will stay empty: there a policy
// can put back what it found.
func (s *steering) step() {
	e := s.e
	e.looks--
	if s.still++; e.ahead() {
		s.still = 0
	}
	s.seen.Age = e.now - s.seen.Now
	do, again := s.who.Step(&s.seen)
	for _, a := range do {
		s.ask(a)
	}
	if again > 0 && !s.last && s.still < patience {
		s.plan(e.now + again)
	}
}

// ask takes an action that is to take effect after its delay.
func (s *steering) ask(a steer.Action) {
	i, at := s.note(a)
	s.e.q.Push(at, evAction|uint64(i), 0)
}

// note gives an action a number and says when it will take effect, as far as is known now.
func (s *steering) note(a steer.Action) (i int, at unit.Time) {
	now := s.e.now
	i, s.todo = len(s.todo), append(s.todo, steer.Receipt{Action: a, Asked: now, New: a.Value})
	switch {
	case a.Kind != steer.SetQueue:
		return i, now + s.delays.Job
	case s.delays.Poll > 0:
		return i, s.write(i)
	}
	return i, now + s.delays.Queue
}

// act carries out an action whose time has come. Of those that were written to a file, all that it holds are taken over by the first
// poll that finds it old enough.
func (s *steering) act(i int) {
	if s.todo[i].Action.Kind != steer.SetQueue || s.delays.Poll == 0 {
		s.carryOut(i, s.e.now)
		return
	}
	if s.e.now <= s.file.changed+s.delays.Age {
		return // it was written again since: a later poll will do
	}
	for _, w := range s.file.holds {
		s.carryOut(w, s.e.now)
	}
	s.file.holds = s.file.holds[:0]
}

func (s *steering) carryOut(i int, inForce unit.Time) {
	r, _ := s.Apply(context.Background(), s.todo[i].Action)
	r.Asked, r.InForce = s.todo[i].Asked, inForce
	s.receipts = append(s.receipts, r)
}

// file is the one that a scheduler polls for its queues' properties.
type file struct {
	phase   unit.Time // of the polls
	changed unit.Time // last
	holds   []int     // numbers of the actions that were written and not taken over yet, one a property
}

// write puts an action into the file, and says at which poll it will be read if nothing is written before.
func (s *steering) write(i int) (at unit.Time) {
	f, a := &s.file, &s.todo[i].Action
	f.changed = s.e.now
	at = f.phase // the first poll
	if late := f.changed + s.delays.Age - at; late >= 0 {
		at += (late/s.delays.Poll + 1) * s.delays.Poll
	}
	for n, w := range f.holds {
		if old := &s.todo[w]; old.Action.Queue == a.Queue && old.Action.Property == a.Property {
			lost := *old
			lost.InForce, lost.Err = s.e.now, errWrittenOver
			s.receipts = append(s.receipts, lost)
			f.holds[n] = i
			return at
		}
	}
	f.holds = append(f.holds, i)
	return at
}

var (
	errWrittenOver = errors.New("written over before the scheduler read it")
	errTooLate     = errors.New("the run ended before it took effect")
)

// restore lets a policy put back, at the end of a run, what it has not put back itself. That takes its time, too; nothing happens in
// it any more.
func (s *steering) restore() {
	for _, w := range s.file.holds { // the run was cut off
		late := s.todo[w]
		late.InForce, late.Err = s.e.now, errTooLate
		s.receipts = append(s.receipts, late)
	}
	s.file.holds = nil
	who, ok := s.who.(steer.Restorer)
	if !ok {
		return
	}
	for _, a := range who.Restore() {
		i, at := s.note(a)
		s.carryOut(i, at)
	}
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
		e.moveCounts(j, e.line.Index(s.asBooked(a.Queue)))
	}
	return nil
}

// turn moves one knob of one pool's scheduler and writes the old value down.
func (s *steering) turn(k policy.Knobs, pool int, j *job, a steer.Action, r *steer.Receipt) (err error) {
	if a.Kind == steer.SetQueue {
		r.Old, err = k.SetQueue(a.Queue, a.Property, a.Value)
		r.Old = decimal(r.Old)
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

// asBooked is the name under which the timeline has a queue, which is the one that jobs gave: with the root or without.
func (s *steering) asBooked(name string) string {
	short := strings.TrimPrefix(name, "root.")
	for i := range s.e.line.Queues {
		if q := s.e.line.Queues[i].Name; q == name || strings.TrimPrefix(q, "root.") == short {
			return q
		}
	}
	return name
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
