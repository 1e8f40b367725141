package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/internal/rehearse"
	"github.com/yardmaster/yardmaster/sim/internal/sensors"
	"github.com/yardmaster/yardmaster/sim/internal/timeline"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// steering is the simulated scheduler that a steering policy senses and changes.
type steering struct {
	e       *engine
	driver  *rehearse.Driver
	byID    map[string]*job // jobs present
	sensors sensorState
	ended   []steer.Finished // since the last sample
}

var _ rehearse.Engine = (*steering)(nil)

func newSteering(e *engine) (s *steering, err error) {
	c := &e.cfg
	s = &steering{e: e, byID: map[string]*job{}}
	s.driver, err = rehearse.New(s, c.Steerer, c.Delays, c.Bounds, workload.Seed(c.Seed, seedPolls))
	return s, err
}

// Now implements rehearse.Engine.
func (s *steering) Now() unit.Time { return s.e.now }

// Over implements rehearse.Engine.
func (s *steering) Over() bool { return s.e.present == 0 && s.e.next == nil && s.e.coming == 0 }

// Ahead implements rehearse.Engine.
func (s *steering) Ahead() bool { return s.e.ahead() }

// SenseAt implements rehearse.Engine.
func (s *steering) SenseAt(at unit.Time) { s.e.pollAt(at, evSense) }

// WakeAt implements rehearse.Engine.
func (s *steering) WakeAt(at unit.Time) { s.e.pollAt(at, evSteer) }

// ActAt implements rehearse.Engine.
func (s *steering) ActAt(at unit.Time, i int) { s.e.q.Push(at, evAction|uint64(i), 0) }

// byArrival lists the jobs present in order of arrival.
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

// knob resolves a knob; the job is nil for a queue's property.
func (s *steering) knob(k drive.Knob) (policy.Knobs, *job, error) {
	knobs, ok := s.e.order.(policy.Knobs)
	j := s.byID[k.Job]
	switch {
	case !ok:
		return nil, nil, fmt.Errorf("this scheduler cannot be changed while it runs")
	case k.Kind != steer.SetQueue && j == nil:
		return nil, nil, fmt.Errorf("job %s is not there: %w", k.Job, drive.ErrEnded)
	}
	return knobs, j, nil
}

// Get implements rehearse.Engine.
func (s *steering) Get(k drive.Knob) (number float64, queue string, err error) {
	knobs, j, err := s.knob(k)
	switch {
	case err != nil:
	case k.Kind == steer.SetQueue && k.Property == steer.Capacities:
		if tells, ok := s.e.order.(policy.Gauges); ok {
			queue, err = sensors.Capacities(tells.Gauges(nil), k.Queue, knobs.Property)
		}
	case k.Kind == steer.SetQueue:
		number, err = knobs.Property(k.Queue, k.Property)
		number = sensors.Decimal(number)
	case k.Kind == steer.SetPriority:
		number = float64(j.view.Priority)
	default:
		queue = j.view.Queue
		if tells, ok := s.e.order.(policy.Gauges); ok { // the full path, as in a sample
			queue = tells.QueueOf(&j.view)
		}
	}
	return number, queue, err
}

// Set implements rehearse.Engine.
func (s *steering) Set(k drive.Knob, number float64, queue string) error {
	knobs, j, err := s.knob(k)
	switch {
	case err != nil:
	case k.Kind == steer.SetQueue && k.Property == steer.Capacities:
		err = sensors.SetCapacities(k.Queue, queue, knobs.SetQueue)
	case k.Kind == steer.SetQueue:
		_, err = knobs.SetQueue(k.Queue, k.Property, number)
	case k.Kind == steer.SetPriority:
		old := j.view.Priority
		j.view.Priority = int(number)
		knobs.SetPriority(&j.view, old)
	default:
		if err = knobs.Move(&j.view, queue); err == nil {
			j.view.Queue = queue
			s.e.moveCounts(j, s.e.line.Index(sensors.AsBooked(&s.e.line, queue)))
		}
	}
	for _, p := range s.e.pools {
		p.due = true
		p.changed()
	}
	return err
}

// moveCounts moves what a job holds and wants to another queue's counters.
func (e *engine) moveCounts(j *job, to int32) {
	a, b := &e.line.Queues[j.queue], &e.line.Queues[to]
	if a == b {
		return
	}
	timeline.Shift(a, b, e.now-e.line.From, j.view.Running, j.view.Used.Mem)
	a.Pending -= j.view.Pending
	b.Pending += j.view.Pending
	if j.rec.Start < 0 {
		a.Waiting--
		b.Waiting++
	} else {
		a.Running--
		b.Running++
	}
	j.queue = to
}
