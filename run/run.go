// Package run is the one way to run a scenario. A Spec is everything that a run depends on: cluster, jobs, scheduler, clock, application
// model, work model, steering and seed. Play runs it on the engine of its clock; Result also computes the figures to show.
//
// A run is one goroutine and deterministic: the same Spec gives the same Summary and the same records, in the same order. Loops over seeds,
// schedulers or settings (package whatif, the studies of package experiment, the benchmarks) are loops around Play and Result.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/policy/rm/adapt"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/kube"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Spec describes one run.
type Spec struct {
	Name      string // of the variant; "": its scheduler's
	Cluster   *cluster.Cluster
	Workload  *Workload
	Scheduler Scheduler
	Seed      uint64
	// Timing is the clock of a YARN cluster; nil: ideal time. Model is the application model and what ideal time assumes; on a YARN clock,
	// whose Timing has its own application model, only its replicas, their placement, its losses, the failures of tasks, its stragglers and its timeline period are used.
	Timing *yarn.Timing
	Model  sim.Model
	// Kubernetes is the clock of a Kubernetes cluster; nil: another one. Of Model only the timeline period is used.
	Kubernetes *kube.Timing
	// NewWorker makes the work model; nil: tasks take the lengths of their stages. NoAlone leaves slowdowns out: they are not needed, or tasks
	// have no length of their own.
	NewWorker func() (sim.Worker, error)
	NoAlone   bool
	Alone     *sim.Alone                           // times on the empty cluster, shared by runs with the same seed, cluster and jobs; nil: made for this run
	Follow    func(*sim.JobRecord) []*workload.Job // jobs submitted when one has finished; nil: none
	Log       *Log                                 // times of a real run to replay on a YARN clock; nil: none
	Deadlines Deadlines
	Start     *yarn.State // what a run on a YARN clock starts from; nil: an empty cluster

	// Listeners; nil: none.
	Sink       sim.Sink
	Containers func(*yarn.ContainerRecord) // on a YARN clock
	Progress   func(sim.Progress)
	Why        *sim.Why  // a question to the run
	SteerLog   io.Writer // the decisions of the steering policy, one per line; used by Result

	// About and Assumptions go into the result; used by Result.
	About       func(seed uint64) result.Scenario
	Assumptions []string
}

// Scheduler is a scheduler with its steering policy. Exactly one of New and RM is set: a policy runs on every clock, YARN's own schedulers on a YARN clock.
type Scheduler struct {
	Name  string // as typed
	New   func() (policy.Policy, error)
	RM    func() (rm.Scheduler, error)
	Steer *steer.Rehearsal // nil: not steered
}

// Title names the scheduler and its steering policy.
func (s *Scheduler) Title() string {
	if s.Steer == nil {
		return s.Name
	}
	return s.Name + " + " + s.Steer.Name
}

// Log is what is known of the times of a real run; see yarn.Config.
type Log struct {
	Phases []unit.Time
	Ports  []int32
	Script *yarn.Script
}

// Play runs s on the engine of its clock. If ctx ends first, it returns what there is, with Partial set, and the cause as the error.
func Play(ctx context.Context, s *Spec) (sim.Summary, error) {
	src, err := s.Workload.Open(s.Seed)
	if err != nil {
		return sim.Summary{}, err
	}
	defer closeSource(src)
	return s.play(ctx, src)
}

func (s *Spec) play(ctx context.Context, src workload.Source) (sum sim.Summary, err error) {
	if err := s.refused(); err != nil {
		return sum, err
	}
	sink := s.Sink
	if sink == nil {
		sink = result.Tee()
	}
	if s.Why != nil {
		sink = result.Tee(sink, s.Why)
	}
	alone := s.Alone
	if d := s.Deadlines; d.Factor > 0 || len(d.Classes) > 0 {
		if alone == nil && !s.NoAlone {
			model := s.Model
			if s.Timing != nil {
				model = sim.Model{}
			} else if s.Kubernetes != nil {
				model = sim.Model{StartUp: s.Kubernetes.StartUp}
			}
			alone = sim.NewAlone(s.Cluster, model, s.Seed)
		}
		src = &dueSource{Source: src, Deadlines: d, alone: alone}
	}
	var steerer steer.Steerer
	var delays steer.Delays
	var bounds steer.Bounds
	sizes := false
	if rehearsal := s.Scheduler.Steer; rehearsal != nil {
		if steerer, err = rehearsal.New(s.Seed); err != nil {
			return sum, err
		}
		delays, bounds, sizes = rehearsal.Delays, rehearsal.Bounds, rehearsal.Needs.Sizes
	}
	var worker sim.Worker
	if s.NewWorker != nil {
		if worker, err = s.NewWorker(); err != nil {
			return sum, err
		}
	}
	switch {
	case s.Kubernetes != nil:
		sum, err = kube.Run(ctx, kube.Config{
			Cluster: s.Cluster, Source: src, NewPolicy: s.Scheduler.New, Timing: *s.Kubernetes, Seed: s.Seed, Sink: sink, Sample: s.Model.Sample, Alone: alone, NoAlone: s.NoAlone,
			Progress: s.Progress, Why: s.Why,
		})
	case s.Timing != nil:
		c := yarn.Config{
			Cluster: s.Cluster, Source: src, NewScheduler: s.Scheduler.forYARN, Timing: *s.Timing, Seed: s.Seed, Sink: sink, Alone: alone, NoAlone: s.NoAlone,
			Sample: s.Model.Sample, Worker: worker, Replicas: s.Model.Replicas, Placement: s.Model.Placement, Losses: s.Model.Losses, FailTask: s.Model.FailTask, Attempts: s.Model.Attempts, Stragglers: s.Model.Stragglers, Start: s.Start, Containers: s.Containers, Progress: s.Progress, Why: s.Why, Steerer: steerer, Delays: delays, Bounds: bounds, Sizes: sizes,
		}
		if s.Log != nil {
			c.Phases, c.Ports, c.Script = s.Log.Phases, s.Log.Ports, s.Log.Script
		}
		sum, err = yarn.Run(ctx, c)
	default:
		c := sim.Config{
			Cluster: s.Cluster, Source: src, NewPolicy: s.Scheduler.New, Model: s.Model, Seed: s.Seed, Sink: sink, Alone: alone, NoAlone: s.NoAlone,
			Worker: worker, Follow: s.Follow, Progress: s.Progress, Why: s.Why, Steerer: steerer, Delays: delays, Bounds: bounds, Sizes: sizes,
		}
		sum, err = sim.Run(ctx, c)
	}
	if err == nil && sum.Partial {
		err = context.Cause(ctx)
	}
	return sum, err
}

// Check says why s cannot be run, as far as that is known in advance.
func (s *Spec) Check() (err error) {
	if err := s.refused(); err != nil {
		return err
	}
	if s.Timing != nil {
		if _, err = s.Scheduler.forYARN(); err != nil || s.Scheduler.RM != nil {
			return err
		}
	}
	made, err := s.Scheduler.New()
	if err == nil && s.Kubernetes != nil {
		return kube.Check(&made)
	}
	if err == nil && (s.NewWorker == nil || s.Cluster.Network == nil) {
		err = policy.Watch(made.Place, nil)
	}
	return err
}

// ErrCopies refuses speculative execution on a YARN clock.
var ErrCopies = errors.New("a YARN clock plays no speculative copies of tasks, because its AMs request none: leave out speculate, or use --clock ideal")

// refused names an unsupported combination.
func (s *Spec) refused() error {
	if s.Deadlines.Factor > 0 && s.NoAlone {
		return errors.New("a deadline factor needs the times of jobs on the empty cluster, and tasks have no lengths here")
	}
	if s.Kubernetes != nil {
		return s.refusedByKubernetes()
	}
	if s.Timing == nil {
		if s.Start != nil {
			return errors.New("a run that starts from a live state needs the clock of a YARN cluster")
		}
		if s.Scheduler.New == nil || s.Log != nil || s.Containers != nil {
			return errors.New("ideal time takes a policy, and replays no log of a YARN cluster")
		}
		return nil
	}
	ideal := s.Model
	ideal.Application, ideal.Sample, ideal.Replicas, ideal.Placement, ideal.Losses = "", 0, 0, "", nil
	ideal.FailTask, ideal.Attempts, ideal.Stragglers = 0, 0, sim.Stragglers{}
	switch {
	case s.Follow != nil:
		return errors.New("a YARN clock plays no jobs that follow others, because jobs arrive there at the times of the workload: use --clock ideal")
	case s.Cluster.Slots:
		return errors.New("a YARN cluster has no fixed slots")
	case s.Model.Speculate != "":
		return ErrCopies
	case !reflect.DeepEqual(ideal, sim.Model{}):
		return errors.New("a YARN clock has its own heartbeats and delays: the model of ideal time sets others")
	}
	return nil
}

func (s *Spec) refusedByKubernetes() error {
	m := s.Model
	m.Application, m.Sample = "", 0
	switch {
	case s.Scheduler.New == nil || s.Start != nil || s.Log != nil || s.Containers != nil || s.Timing != nil:
		return errors.New("the Kubernetes clock takes a policy, and replays no log of a YARN cluster")
	case s.Scheduler.Steer != nil:
		return errors.New("the Kubernetes clock plays no steering: its scheduler runs the policy itself")
	case s.Follow != nil || s.NewWorker != nil || !reflect.DeepEqual(m, sim.Model{}):
		return errors.New("the Kubernetes clock plays tasks of given lengths on nodes that stay: leave out phases, networks, losses, failures, stragglers and speculation, or use --clock ideal")
	}
	return nil
}

// forYARN makes the scheduler for a YARN clock. A policy is adapted to a ResourceManager's scheduler.
func (s *Scheduler) forYARN() (rm.Scheduler, error) {
	if s.RM != nil {
		return s.RM()
	}
	made, err := s.New()
	if err != nil {
		return nil, err
	}
	adapted, err := adapt.New(made)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: use --clock ideal", s.Name, err)
	}
	return adapted, nil
}

// build makes a new scheduler or policy.
func (s *Scheduler) build() (any, error) {
	if s.RM != nil {
		return s.RM()
	}
	one, err := s.New()
	return one.Order, err
}

// MissingQueue is a function that says why no job can be submitted to a queue; nil: the scheduler takes every name.
func (s *Scheduler) MissingQueue() (func(queue string) error, error) {
	scheduler, err := s.build()
	if err != nil {
		return nil, err
	}
	if has, ok := scheduler.(interface{ MissingQueue(string) error }); ok {
		return has.MissingQueue, nil
	}
	return nil, nil
}

// Publishes is what the scheduler exposes to steering: its AM limit, its minimum allocation and its leaf queues.
func (s *Scheduler) Publishes() (limit amlimit.Limit, minimum unit.Resources, leaves []string, err error) {
	minimum = unit.Resources{Mem: 1024, Cores: 1} // unless the scheduler has its own
	scheduler, err := s.build()
	if err != nil {
		return limit, minimum, nil, err
	}
	if made, ok := scheduler.(rm.Scheduler); ok {
		if least := made.Minimum(); !least.IsZero() {
			minimum = least
		}
	}
	if has, ok := scheduler.(amlimit.Limited); ok {
		limit = has.AMLimit()
	}
	if limit == amlimit.Fair {
		minimum = unit.Resources{} // sizes are not rounded
	}
	if gauges, ok := scheduler.(interface {
		Gauges([]policy.Gauge) []policy.Gauge
	}); ok {
		for _, g := range gauges.Gauges(nil) {
			leaves = append(leaves, g.Queue)
		}
	}
	slices.Sort(leaves)
	return limit, minimum, leaves, nil
}
