package yarn

import (
	"fmt"

	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim/internal/rehearse"
	"github.com/yardmaster/yardmaster/sim/internal/timeline"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// steering is the simulated ResourceManager that a steering policy senses and changes.
type steering struct {
	rehearse.Panel
	e *engine
}

const seedPolls = 0x79a2

// steer starts steering, if there is a policy.
func (e *engine) steer() error {
	d := &e.cfg.Delays
	if min(d.Sense, d.Job, d.Queue, d.Poll, d.Age) < 0 {
		return fmt.Errorf("delays of %+v: none may be negative", *d)
	}
	if e.cfg.Steerer == nil {
		return nil
	}
	e.steering = &steering{e: e}
	return e.steering.Start(e.steering, e.cfg.Steerer, *d, e.cfg.Bounds, workload.Seed(e.cfg.Seed, seedPolls))
}

func (s *steering) Now() unit.Time { return s.e.now }
func (s *steering) Over() bool     { return s.e.present == 0 && s.e.next == nil }
func (s *steering) Ahead() bool    { return s.e.q.Len() > s.Polls }

func (s *steering) QueueStep(instant unit.Time, step uint64) {
	s.e.push(instant, thenSteering, evSteer|step, 0)
}

func (*steering) Changed() {} // seen at the next report or call

func (s *steering) Gauges() rehearse.Gauges {
	g, _ := s.e.sched.(rm.Gauges)
	return g
}

func (s *steering) Knobs() rehearse.Knobs {
	if k, ok := s.e.sched.(rm.Knobs); ok {
		return knobs{k, s.e.now}
	}
	return nil
}

// knobs are a scheduler's at an instant.
type knobs struct {
	rm.Knobs
	now unit.Time
}

func (k knobs) SetQueue(queue, property string, value float64) (old float64, err error) {
	return k.Knobs.SetQueue(queue, property, value, k.now)
}

// Job scans: few jobs are present.
func (s *steering) Job(id string) (rehearse.Job, bool) {
	for _, a := range s.e.apps {
		if a != nil && a.src.ID == id && a.listed() {
			return steered{s.e, a}, true
		}
	}
	return nil, false
}

// steered is an application of a scheduler with knobs.
type steered struct {
	e *engine
	a *app
}

func (s steered) Priority() int { return s.a.rm.Priority }

func (s steered) SetPriority(priority int) {
	s.a.rm.Priority = priority
	s.e.sched.(rm.Knobs).SetPriority(&s.a.rm, priority, s.e.now)
}

func (s steered) Queue() string { return s.e.sched.Leaf(&s.a.rm) }

func (s steered) Move(queue string) error {
	e, a := s.e, s.a
	if err := e.sched.(rm.Knobs).Move(&a.rm, queue, e.now); err != nil {
		return err
	}
	a.rm.Queue = queue // for another attempt
	part := timeline.Part{Containers: int64(len(a.conts)), Pending: a.pending, Started: a.rec.Start >= 0}
	for _, c := range a.conts {
		part.Mem += c.size.Mem
	}
	a.queue = e.line.Move(a.queue, queue, e.now, part)
	return nil
}
