package yarn

import (
	"errors"
	"fmt"

	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// State is what a run starts from in place of an empty cluster: the applications present at an instant, as on a live one.
type State struct {
	At   unit.Time // the run starts then; Config.Source submits nothing earlier
	Apps []Present // in order of submission
}

// Present is an application that was submitted before the run starts. In each stage, the tasks that are done have the first numbers, then
// come those that run, in the order of Held, then those that wait.
type Present struct {
	Job  *workload.Job // all of it, with what is done; submitted at State.At or before; keeps no containers
	Up   bool          // its AM has registered
	Done []int64       // tasks that are done, by stage; nil: none
	Held []Held        // its containers
}

// Held is a container that an application holds. Its size is what its stage, or its AM, asks for.
type Held struct {
	Stage int       // policy.AMStage: its AM
	Node  int32     // index in Cluster.Nodes
	Since unit.Time // allocated; its task ends as if it had run since then, but not before the start of the run
}

// validate says why a run cannot start from the state.
func (s *State) validate(nodes int) error {
	if s.At < 0 || s.At > workload.MaxSubmit {
		return fmt.Errorf("the run starts at %v: it must be between 0 and %v", s.At, workload.MaxSubmit)
	}
	last := unit.Time(0)
	for i := range s.Apps {
		p := &s.Apps[i]
		if err := p.Job.Validate(); err != nil {
			return err
		}
		if p.Job.Submit < last || p.Job.Submit > s.At {
			return fmt.Errorf("job %s was submitted at %v: applications must be in order of submission, before %v", p.Job.ID, p.Job.Submit, s.At)
		}
		if p.Job.Keep != nil {
			return fmt.Errorf("job %s keeps containers: a run cannot start while it does", p.Job.ID)
		}
		last = p.Job.Submit
		if err := p.validate(nodes); err != nil {
			return fmt.Errorf("job %s: %w", p.Job.ID, err)
		}
	}
	return nil
}

func (p *Present) validate(nodes int) error {
	first := make([]int64, len(p.Job.Stages))
	if len(p.Done) > len(first) {
		return fmt.Errorf("tasks of %d stages are done, and it has %d", len(p.Done), len(first))
	}
	copy(first, p.Done)
	am := p.Job.AM.IsZero()
	for _, h := range p.Held {
		switch {
		case h.Node < 0 || int(h.Node) >= nodes || h.Stage < policy.AMStage || h.Stage >= len(first):
			return fmt.Errorf("it holds a container of stage %d on node %d: there is none", h.Stage, h.Node)
		case h.Stage == policy.AMStage && am:
			return errors.New("its AM holds two containers, or should hold none")
		case h.Stage == policy.AMStage:
			am = true
		default:
			first[h.Stage]++
		}
	}
	for i, n := range first {
		if n < 0 || n > p.Job.Stages[i].Tasks || p.Done != nil && i < len(p.Done) && p.Done[i] < 0 {
			return fmt.Errorf("%d tasks of stage %d run or are done, of %d", n, i, p.Job.Stages[i].Tasks)
		}
	}
	if !am && (p.Up || len(p.Held) > 0) {
		return errors.New("it runs, but its AM holds no container")
	}
	return nil
}

// begin sets up the applications that are present at the start. Those that hold containers are added first: what they hold counts
// when the scheduler decides which of the others become active.
func (e *engine) begin() error {
	s := e.cfg.Start
	if s == nil {
		return nil
	}
	recoverer, ok := e.sched.(rm.Recoverer)
	switch {
	case !ok:
		return errors.New("this scheduler cannot start from a live state: use YARN's own, capacity or fair")
	case e.timing.AMs == SLSAMs || e.cfg.Worker != nil || e.cfg.Script != nil:
		return errors.New("a run that starts from a live state has the AMs of a real cluster: no SLS, no network model, no log")
	}
	if err := s.validate(len(e.nodes)); err != nil {
		return err
	}
	e.now, e.key, e.progress = s.At, s.At<<classBits, s.At
	e.line.From, e.line.To = s.At, s.At+e.line.To
	apps := make([]*app, len(s.Apps))
	for i := range s.Apps {
		apps[i] = e.submit(s.Apps[i].Job)
	}
	for i, a := range apps {
		if len(s.Apps[i].Held) > 0 {
			e.enter(a, &s.Apps[i])
		}
	}
	for i, a := range apps {
		if a.life == accepted && e.apps[a.rm.Index] == a { // not refused
			e.hold(a, &s.Apps[i], recoverer)
		}
	}
	rm.Refresh(e.sched, int32(len(e.nodes)), e.now)
	for i, a := range apps {
		if len(s.Apps[i].Held) == 0 {
			e.enter(a, &s.Apps[i])
		}
	}
	for i, a := range apps {
		if s.Apps[i].Up && e.apps[a.rm.Index] == a {
			a.life = running
			e.tick(a, false) // its requests stand with the ResourceManager
			e.nextTick(a, e.now+unit.Time(workload.Uniform01(workload.Seed(e.cfg.Seed, seedCalls), uint64(i))*float64(e.timing.AMHeartbeat)))
		}
	}
	return nil
}

const seedCalls = 0x79a2

// enter adds an application to the scheduler.
func (e *engine) enter(a *app, p *Present) {
	for i, n := range p.Done {
		a.stages[i].done, a.stages[i].first = n, n
		a.left -= n
	}
	for _, h := range p.Held {
		if h.Stage >= 0 {
			a.stages[h.Stage].first++
		}
	}
	e.added(a, a.src.Submit, !p.Up && len(p.Held) == 0)
}

// hold gives an application the containers that it holds.
func (e *engine) hold(a *app, p *Present, recoverer rm.Recoverer) {
	next := make([]int64, len(a.stages))
	copy(next, p.Done)
	for _, h := range p.Held {
		if h.Stage == policy.AMStage {
			c := e.recover(a, h, recoverer, rm.Ask{Priority: rm.AMPriority, Size: a.rm.AM})
			a.am, c.task = c, task{stage: policy.AMStage, num: -1}
			if !p.Up {
				start := e.timing.AMStart
				if a.src.AMStart > 0 {
					start = a.src.AMStart
				}
				e.horizon = max(e.horizon, h.Since+start)
				e.push(max(e.now, h.Since+start), thenLives, evUp|uint64(a.rm.Index), a.serial)
			}
			continue
		}
		ask := rm.Ask{Priority: a.m.priority(a, h.Stage), Size: a.stages[h.Stage].src.Ask}
		c := e.recover(a, h, recoverer, ask)
		c.task = task{int32(h.Stage), next[h.Stage]}
		next[h.Stage]++
		a.m.adopt(a, c)
	}
}

// recover registers a container that an application holds with the scheduler and its node.
func (e *engine) recover(a *app, h Held, by rm.Recoverer, ask rm.Ask) *cont {
	rc := by.Recover(&a.rm, &e.nodes[h.Node].rm, ask, h.Since)
	rc.Acquired = true
	c := e.newCont(rc, h.Since)
	c.acquired, c.started = h.Since, h.Since+e.timing.ContainerStart
	if m, plain := a.m.(*plainAM); !plain || !m.unmanaged { // an unmanaged AM starts no process
		c.onNode, rc.Launched = true, true
		c.node.running = append(c.node.running, c)
	}
	return c
}

// resume continues the task of a container that was held at the start.
func (e *engine) resume(a *app, c *cont) {
	if !a.released(c.task.stage) {
		a.held = append(a.held, c)
		return
	}
	e.doneAt(c, max(e.now, c.started+e.works(c)))
}

// newCont records a container allocated at an instant.
func (e *engine) newCont(rc *rm.Container, instant unit.Time) *cont {
	a := e.apps[rc.App.Index]
	e.serial++
	c := e.conts.New()
	*c = cont{
		rc: rc, app: a, node: &e.nodes[rc.Node.Index], serial: e.serial, task: noTask, near: rc.Near, size: rc.Size, priority: rc.Priority,
		allocated: instant, acquired: -1, started: -1, ended: -1, end: unit.Never,
	}
	c.slot = e.slotNumbers.Take()
	*dense.At(&e.slots, c.slot) = c
	c.index = len(a.conts)
	a.conts = append(a.conts, c)
	e.live++
	q := &e.line.Queues[a.queue]
	q.Hold(e.now-e.line.From, c.size.Mem)
	e.line.Named(1, c.size.Extra, e.now)
	a.rec.Containers++
	if a.rec.Start < 0 {
		a.rec.Start = instant
		q.Waiting--
		q.Running++
	}
	a.rec.Start = min(a.rec.Start, instant)
	return c
}
