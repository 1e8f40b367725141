package sim

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/internal/rehearse"
	"github.com/yardmaster/yardmaster/sim/internal/timeline"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// steering is the simulated scheduler that a steering policy senses and changes.
type steering struct {
	rehearse.Panel
	e     *engine
	byID  map[string]*job // jobs present
	sized bool            // total and nodes are up to date
	total unit.Resources
	nodes int
	parts [][2]float64 // by job: work done by running maps and reduces, in tasks
}

func newSteering(e *engine) (*steering, error) {
	s := &steering{e: e, byID: map[string]*job{}}
	return s, s.Start(s, e.cfg.Steerer, e.cfg.Delays, e.cfg.Bounds, workload.Seed(e.cfg.Seed, seedPolls))
}

func (s *steering) Now() unit.Time                           { return s.e.now }
func (s *steering) Over() bool                               { return s.e.present == 0 && s.e.over() }
func (s *steering) Ahead() bool                              { return s.e.ahead() }
func (s *steering) QueueStep(instant unit.Time, step uint64) { s.e.q.Push(instant, evSteer|step, 0) }
func (s *steering) Changed()                                 { s.e.offerAgain() }

func (s *steering) Gauges() rehearse.Gauges {
	g, _ := s.e.order.(policy.Gauges)
	return g
}

func (s *steering) Knobs() rehearse.Knobs {
	k, _ := s.e.order.(policy.Knobs)
	return k
}

func (s *steering) Job(id string) (rehearse.Job, bool) {
	j, ok := s.byID[id]
	return steered{s.e, j}, ok
}

// steered is a job of a scheduler with knobs.
type steered struct {
	e *engine
	j *job
}

func (s steered) Priority() int { return s.j.view.Priority }

func (s steered) SetPriority(priority int) {
	old := s.j.view.Priority
	s.j.view.Priority = priority
	s.e.order.(policy.Knobs).SetPriority(&s.j.view, old)
}

func (s steered) Queue() string {
	if g, ok := s.e.order.(policy.Gauges); ok { // the full path, as in a sample
		return g.QueueOf(&s.j.view)
	}
	return s.j.view.Queue
}

func (s steered) Move(queue string) error {
	j := s.j
	if err := s.e.order.(policy.Knobs).Move(&j.view, queue); err != nil {
		return err
	}
	j.view.Queue = queue
	j.queue = s.e.line.Move(j.queue, queue, s.e.now, timeline.Part{
		Containers: j.view.Running, Mem: j.view.Used.Mem, Pending: j.view.Pending, Started: j.rec.Start >= 0,
	})
	return nil
}

// book starts (-1) or stops (1) accounting for a container of a job.
func (s *steering) book(j *job, sign int64, size unit.Resources) {
	t := sign * int64(s.e.now/unit.Millisecond)
	j.attained.Mem += t * size.Mem
	j.attained.Cores += t * size.Cores
}

// service is a job's attained service.
func (s *steering) service(j *job) steer.Service {
	t := int64(s.e.now / unit.Millisecond)
	return steer.Service{MemSeconds: (j.attained.Mem + t*j.view.Used.Mem) / 1000, CoreSeconds: (j.attained.Cores + t*j.view.Used.Cores) / 1000}
}
