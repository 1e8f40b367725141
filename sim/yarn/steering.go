package yarn

import (
	"context"
	"errors"
	"fmt"

	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim/internal/helm"
	"github.com/yardmaster/yardmaster/sim/internal/timeline"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// steering is the simulated ResourceManager that a steering policy watches and changes.
type steering struct {
	e     *engine
	helm  *helm.Helm
	looks int // events on the queue by which it only looks
	eyes  eyes
}

var _ helm.Engine = (*steering)(nil)

const seedPolls = 0x79a2

// steer begins the looks of a steering policy, if there is one.
func (e *engine) steer() error {
	d := &e.cfg.Delays
	if min(d.Sense, d.Job, d.Queue, d.Poll, d.Age) < 0 {
		return fmt.Errorf("delays of %+v: none may be negative", *d)
	}
	if e.cfg.Steerer != nil {
		e.steering = &steering{e: e}
		e.steering.helm = helm.New(e.steering, e.cfg.Steerer, *d, workload.Seed(e.cfg.Seed, seedPolls))
	}
	return nil
}

// Now implements helm.Engine.
func (s *steering) Now() unit.Time { return s.e.now }

// Over implements helm.Engine.
func (s *steering) Over() bool { return s.e.present == 0 && s.e.next == nil }

// Ahead implements helm.Engine.
func (s *steering) Ahead() bool { return s.e.q.Len() > s.looks }

// LookAt implements helm.Engine.
func (s *steering) LookAt(sense, step unit.Time) {
	s.looks += 2
	s.e.push(sense, thenLooks, evSense, 0)
	s.e.push(step, thenLooks, evSteer, 0)
}

// ActAt implements helm.Engine.
func (s *steering) ActAt(at unit.Time, i int) { s.e.push(at, thenLooks, evAction|uint64(i), 0) }

// take handles an event of its own.
func (s *steering) take(kind, arg uint64) {
	switch kind {
	case evSense:
		s.looks--
		s.helm.Sense()
	case evSteer:
		s.looks--
		s.helm.Step()
	case evAction:
		s.helm.Act(int(arg))
	}
}

// Apply makes a change at once and says what stood before.
func (s *steering) Apply(_ context.Context, a steer.Action) (steer.Receipt, error) {
	r := steer.Receipt{Action: a, InForce: s.e.now, New: a.Value}
	r.Err = s.apply(a, &r)
	return r, r.Err
}

func (s *steering) apply(do steer.Action, r *steer.Receipt) (err error) {
	e := s.e
	knobs, ok := e.sched.(rm.Knobs)
	switch {
	case !ok:
		return errors.New("this scheduler cannot be changed while it runs")
	case do.Kind == steer.SetQueue:
		r.Old, err = knobs.SetQueue(do.Queue, do.Property, do.Value, e.now)
		r.Old = helm.Decimal(r.Old)
		return err
	case do.Kind != steer.SetPriority && do.Kind != steer.MoveJob:
		return errors.New("a YARN clock has queues to set, and priorities and queues of jobs: other changes are played in ideal time")
	}
	a := s.find(do.Job)
	if a == nil {
		return fmt.Errorf("job %s is not there (any more)", do.Job)
	}
	if do.Kind == steer.SetPriority {
		r.Old = float64(a.rm.Priority)
		a.rm.Priority = int(do.Value)
		knobs.SetPriority(&a.rm, a.rm.Priority, e.now)
		return nil
	}
	r.OldQueue = e.sched.Leaf(&a.rm)
	if err := knobs.Move(&a.rm, do.Queue, e.now); err != nil {
		return err
	}
	a.rm.Queue = do.Queue // for another attempt
	e.moveCounts(a, e.line.Index(helm.AsBooked(&e.line, do.Queue)))
	return nil
}

// find is a job that is there, as a ResourceManager lists it.
func (s *steering) find(id string) *app {
	for _, a := range s.e.apps {
		if a != nil && a.src.ID == id && a.listed() {
			return a
		}
	}
	return nil
}

// moveCounts carries what an application holds and wants over to another queue's counters.
func (e *engine) moveCounts(a *app, to int32) {
	from, at := &e.line.Queues[a.queue], &e.line.Queues[to]
	if from == at {
		return
	}
	var mem int64
	for _, c := range a.conts {
		mem += c.size.Mem
	}
	timeline.Shift(from, at, e.now-e.line.From, int64(len(a.conts)), mem)
	from.Pending -= a.pending
	at.Pending += a.pending
	if a.rec.Start < 0 {
		from.Waiting--
		at.Waiting++
	} else {
		from.Running--
		at.Running++
	}
	a.queue = to
}
