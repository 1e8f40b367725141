package yarn

import (
	"errors"
	"fmt"

	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim/internal/rehearse"
	"github.com/yardmaster/yardmaster/sim/internal/sensors"
	"github.com/yardmaster/yardmaster/sim/internal/timeline"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// steering is the simulated ResourceManager that a steering policy senses and changes.
type steering struct {
	e       *engine
	driver  *rehearse.Driver
	polls   int // queued events that only poll
	sensors sensorState
	ended   []steer.Finished // since the last sample
}

var _ rehearse.Engine = (*steering)(nil)

const seedPolls = 0x79a2

// steer starts steering, if there is a policy.
func (e *engine) steer() (err error) {
	d := &e.cfg.Delays
	if min(d.Sense, d.Job, d.Queue, d.Poll, d.Age) < 0 {
		return fmt.Errorf("delays of %+v: none may be negative", *d)
	}
	if e.cfg.Steerer != nil {
		e.steering = &steering{e: e}
		e.steering.driver, err = rehearse.New(e.steering, e.cfg.Steerer, *d, e.cfg.Bounds, workload.Seed(e.cfg.Seed, seedPolls))
	}
	return err
}

// Now implements rehearse.Engine.
func (s *steering) Now() unit.Time { return s.e.now }

// Over implements rehearse.Engine.
func (s *steering) Over() bool { return s.e.present == 0 && s.e.next == nil }

// Ahead implements rehearse.Engine.
func (s *steering) Ahead() bool { return s.e.q.Len() > s.polls }

// SenseAt implements rehearse.Engine.
func (s *steering) SenseAt(at unit.Time) { s.pollAt(at, evSense) }

// WakeAt implements rehearse.Engine.
func (s *steering) WakeAt(at unit.Time) { s.pollAt(at, evSteer) }

func (s *steering) pollAt(at unit.Time, what uint64) {
	s.polls++
	s.e.push(at, thenSteering, what, 0)
}

// ActAt implements rehearse.Engine.
func (s *steering) ActAt(at unit.Time, i int) { s.e.push(at, thenSteering, evAction|uint64(i), 0) }

// take handles a steering event.
func (s *steering) take(kind, arg uint64) {
	switch kind {
	case evSense:
		s.polls--
		s.driver.Sense()
	case evSteer:
		s.polls--
		s.driver.Wake()
	case evAction:
		s.driver.Act(int(arg))
	}
}

// knob resolves a knob; the job is nil for a queue's property.
func (s *steering) knob(k drive.Knob) (knobs rm.Knobs, a *app, err error) {
	knobs, ok := s.e.sched.(rm.Knobs)
	if !ok {
		return nil, nil, errors.New("this scheduler cannot be changed while it runs")
	}
	if k.Kind != steer.SetQueue {
		if a = s.find(k.Job); a == nil {
			return nil, nil, fmt.Errorf("job %s is not there: %w", k.Job, drive.ErrEnded)
		}
	}
	return knobs, a, nil
}

// Get implements rehearse.Engine.
func (s *steering) Get(k drive.Knob) (number float64, queue string, err error) {
	knobs, a, err := s.knob(k)
	switch {
	case err != nil:
	case k.Kind == steer.SetQueue && k.Property == steer.Capacities:
		if tells, ok := s.e.sched.(rm.Gauges); ok {
			queue, err = sensors.Capacities(tells.Gauges(nil), k.Queue, knobs.Property)
		}
	case k.Kind == steer.SetQueue:
		number, err = knobs.Property(k.Queue, k.Property)
		number = sensors.Decimal(number)
	case k.Kind == steer.SetPriority:
		number = float64(a.rm.Priority)
	default:
		queue = s.e.sched.Leaf(&a.rm)
	}
	return number, queue, err
}

// Set implements rehearse.Engine.
func (s *steering) Set(k drive.Knob, number float64, queue string) error {
	e := s.e
	knobs, a, err := s.knob(k)
	switch {
	case err != nil:
	case k.Kind == steer.SetQueue && k.Property == steer.Capacities:
		err = sensors.SetCapacities(k.Queue, queue, func(q, property string, x float64) (float64, error) { return knobs.SetQueue(q, property, x, e.now) })
	case k.Kind == steer.SetQueue:
		_, err = knobs.SetQueue(k.Queue, k.Property, number, e.now)
	case k.Kind == steer.SetPriority:
		a.rm.Priority = int(number)
		knobs.SetPriority(&a.rm, a.rm.Priority, e.now)
	default:
		if err = knobs.Move(&a.rm, queue, e.now); err == nil {
			a.rm.Queue = queue // for another attempt
			e.moveCounts(a, e.line.Index(sensors.AsBooked(&e.line, queue)))
		}
	}
	return err
}

// find returns a job that a ResourceManager would list.
func (s *steering) find(id string) *app {
	for _, a := range s.e.apps {
		if a != nil && a.src.ID == id && a.listed() {
			return a
		}
	}
	return nil
}

// moveCounts moves what an application holds and wants to another queue's counters.
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
