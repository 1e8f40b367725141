package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/internal/helm"
	"github.com/yardmaster/yardmaster/sim/internal/timeline"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// steering is the simulated yard that a steering policy watches and changes.
type steering struct {
	e    *engine
	helm *helm.Helm
	byID map[string]*job // jobs present
	eyes eyes
}

var _ helm.Engine = (*steering)(nil)

func newSteering(e *engine, who steer.Steerer, d steer.Delays) *steering {
	s := &steering{e: e, byID: map[string]*job{}}
	s.helm = helm.New(s, who, d, workload.Seed(e.cfg.Seed, seedPolls))
	return s
}

// Now implements helm.Engine.
func (s *steering) Now() unit.Time { return s.e.now }

// Over implements helm.Engine.
func (s *steering) Over() bool { return s.e.present == 0 && s.e.next == nil && s.e.coming == 0 }

// Ahead implements helm.Engine.
func (s *steering) Ahead() bool { return s.e.ahead() }

// LookAt implements helm.Engine.
func (s *steering) LookAt(sense, step unit.Time) {
	s.e.lookAt(sense, evSense)
	s.e.lookAt(step, evSteer)
}

// ActAt implements helm.Engine.
func (s *steering) ActAt(at unit.Time, i int) { s.e.q.Push(at, evAction|uint64(i), 0) }

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

func (s *steering) apply(a steer.Action, r *steer.Receipt) (err error) {
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
	knobs, ok := e.order.(policy.Knobs)
	if !ok {
		return fmt.Errorf("this scheduler cannot be changed while it runs")
	}
	switch a.Kind {
	case steer.SetQueue:
		r.Old, err = knobs.SetQueue(a.Queue, a.Property, a.Value)
		r.Old = helm.Decimal(r.Old)
	case steer.SetPriority:
		old := j.view.Priority
		r.Old = float64(old)
		j.view.Priority = int(a.Value)
		knobs.SetPriority(&j.view, old)
	default:
		r.OldQueue = j.view.Queue
		if err = knobs.Move(&j.view, a.Queue); err == nil {
			j.view.Queue = a.Queue
			e.moveCounts(j, e.line.Index(helm.AsBooked(&e.line, a.Queue)))
		}
	}
	return err
}

// moveCounts carries what a job holds and wants over to another queue's counters.
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
