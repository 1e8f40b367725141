package rehearse

import (
	"errors"
	"fmt"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/internal/sensors"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Run is a simulated run, on any clock, whose scheduler is steered.
type Run interface {
	Now() unit.Time
	Over() bool
	Ahead() bool
	// QueueStep queues a call of Panel.Step.
	QueueStep(instant unit.Time, step uint64)
	// Gauges are the scheduler's; nil: it has none.
	Gauges() Gauges
	// Knobs are those of the scheduler's queues; nil: it cannot be changed while it runs.
	Knobs() Knobs
	// Job finds a job that is listed.
	Job(id string) (Job, bool)
	// Sense adds nodes, jobs and what queues hold to a snapshot with the scheduler's queues.
	Sense(snap *steer.Snapshot)
	// Changed is called after a knob was written.
	Changed()
}

// Gauges lists a scheduler's leaf queues.
type Gauges interface {
	Gauges(buf []policy.Gauge) []policy.Gauge
}

// Knobs are the properties of a scheduler's queues.
type Knobs interface {
	Property(queue, property string) (float64, error)
	SetQueue(queue, property string, value float64) (old float64, err error)
}

// Job is a job whose queue and priority can be changed.
type Job interface {
	Priority() int
	SetPriority(priority int)
	Queue() string
	Move(queue string) error
}

// Panel is the Engine of a Run: its sensors and knobs, and the driver that uses them.
type Panel struct {
	Run
	Polls int // queued steps that only poll

	driver *Driver
	ended  []steer.Finished // since the last sample
	gauges []policy.Gauge
	index  map[string]int // of the queues in the current snapshot
}

// Start lets the driver of a run begin.
func (p *Panel) Start(r Run, s steer.Steerer, d steer.Delays, b steer.Bounds, seed uint64) (err error) {
	p.Run, p.index = r, map[string]int{}
	p.driver, err = New(p, s, d, b, seed)
	return err
}

// Finish ends steering and returns the receipts.
func (p *Panel) Finish() []steer.Receipt { return p.driver.Finish() }

// Steps of the driver: two that poll, and one for each action.
const (
	senseStep = iota
	wakeStep
	firstAction
)

// Step carries out a queued step.
func (p *Panel) Step(step uint64) {
	switch step {
	case senseStep:
		p.Polls--
		p.driver.Sense()
	case wakeStep:
		p.Polls--
		p.driver.Wake()
	default:
		p.driver.Act(int(step - firstAction))
	}
}

// SenseAt implements Engine.
func (p *Panel) SenseAt(instant unit.Time) { p.poll(instant, senseStep) }

// WakeAt implements Engine.
func (p *Panel) WakeAt(instant unit.Time) { p.poll(instant, wakeStep) }

func (p *Panel) poll(instant unit.Time, step uint64) {
	p.Polls++
	p.QueueStep(instant, step)
}

// ActAt implements Engine.
func (p *Panel) ActAt(instant unit.Time, i int) { p.QueueStep(instant, firstAction+uint64(i)) }

// Snapshot implements Engine.
func (p *Panel) Snapshot() steer.Snapshot {
	snap := steer.Snapshot{Finished: p.ended, Now: p.Now(), CPUIdle: -1}
	p.ended = nil
	clear(p.index)
	if scheduler := p.Gauges(); scheduler != nil {
		p.gauges = scheduler.Gauges(p.gauges[:0])
		for _, g := range p.gauges {
			q := p.Queue(&snap, g.Queue)
			q.Capacity, q.Ceiling, q.AMs, q.AMShare = g.Capacity, g.Ceiling, g.AMs, sensors.Decimal(g.AMShare)
		}
	}
	p.Sense(&snap)
	sensors.ByName(snap.Queues)
	return snap
}

// Queue returns a queue of the current snapshot by name. It is valid until the next call.
func (p *Panel) Queue(snap *steer.Snapshot, name string) *steer.Queue {
	i, ok := p.index[name]
	if !ok {
		i = len(snap.Queues)
		p.index[name] = i
		snap.Queues = append(snap.Queues, steer.Queue{Name: name})
	}
	return &snap.Queues[i]
}

// Hold adds a job's containers to a snapshot and to its queue, and returns the queue.
func (p *Panel) Hold(snap *steer.Snapshot, queue string, held unit.Resources, containers int64) *steer.Queue {
	q := p.Queue(snap, queue)
	q.Used, q.Containers = q.Used.Add(held), q.Containers+containers
	snap.Used = snap.Used.Add(held)
	return q
}

// List adds a job that is listed, with its containers. active: its queue counts it as running.
func (p *Panel) List(snap *steer.Snapshot, j *steer.Job, active bool) {
	if q := p.Hold(snap, j.Queue, j.Held, j.Running); active {
		q.Running++
	} else {
		q.Waiting++
	}
	snap.Jobs = append(snap.Jobs, *j)
}

// JobEnded keeps a job that has ended for the next sample.
func (p *Panel) JobEnded(j *workload.Job, queue string, good bool, service steer.Service) {
	status := "FAILED" // as YARN names it
	if good {
		status = "SUCCEEDED"
	}
	p.ended = append(p.ended, steer.Finished{ID: j.ID, User: j.User, Queue: queue, Status: status, Elapsed: p.Now() - j.Submit, Service: service})
}

// knob resolves a knob; the job is nil for a queue's property.
func (p *Panel) knob(k drive.Knob) (Knobs, Job, error) {
	knobs := p.Knobs()
	if knobs == nil {
		return nil, nil, errors.New("this scheduler cannot be changed while it runs")
	}
	if k.Kind == steer.SetQueue {
		return knobs, nil, nil
	}
	j, ok := p.Job(k.Job)
	if !ok {
		return nil, nil, fmt.Errorf("job %s is not there: %w", k.Job, drive.ErrEnded)
	}
	return knobs, j, nil
}

// Get implements Engine.
func (p *Panel) Get(k drive.Knob) (number float64, text string, err error) {
	knobs, j, err := p.knob(k)
	switch {
	case err != nil:
	case k.Kind == steer.SetQueue && k.Property == steer.Capacities:
		if scheduler := p.Gauges(); scheduler != nil {
			text, err = sensors.Capacities(scheduler.Gauges(nil), k.Queue, knobs.Property)
		}
	case k.Kind == steer.SetQueue:
		number, err = knobs.Property(k.Queue, k.Property)
		number = sensors.Decimal(number)
	case k.Kind == steer.SetPriority:
		number = float64(j.Priority())
	default:
		text = j.Queue()
	}
	return number, text, err
}

// Set implements Engine.
func (p *Panel) Set(k drive.Knob, number float64, text string) error {
	knobs, j, err := p.knob(k)
	switch {
	case err != nil:
	case k.Kind == steer.SetQueue && k.Property == steer.Capacities:
		err = sensors.SetCapacities(k.Queue, text, knobs.SetQueue)
	case k.Kind == steer.SetQueue:
		_, err = knobs.SetQueue(k.Queue, k.Property, number)
	case k.Kind == steer.SetPriority:
		j.SetPriority(int(number))
	default:
		err = j.Move(text)
	}
	p.Changed()
	return err
}
