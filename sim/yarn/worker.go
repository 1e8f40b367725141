package yarn

import (
	"errors"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/internal/near"
	"github.com/yardmaster/yardmaster/unit"
)

// host is the engine as its worker sees it. A task is Started when its container has, and its number is the container's slot.
type host struct{ *engine }

func (h host) Now() unit.Time              { return h.now }
func (h host) Cluster() *cluster.Cluster   { return h.cfg.Cluster }
func (h host) Described() *cluster.Cluster { return h.cfg.Cluster }
func (h host) Seed() uint64                { return h.cfg.Seed }
func (h host) Counts(int32) bool           { return true } // there are no copies

func (h host) At(at unit.Time, what uint64) {
	h.horizon = max(h.horizon, at)
	h.push(at, firstEnds, evWake|what, 0)
}

func (h host) Done(id int32) {
	c := h.slots[id]
	c.handed = false
	h.ended = append(h.ended, c)
}

func (h host) Replicas(id int32, buf []int32) []int32 {
	c := h.slots[id]
	return h.holders(&c.app.stages[c.task.stage], c.task.num, buf)
}

// bindWorker passes the network to the scheduler and the engine to the worker.
func (e *engine) bindWorker() error {
	w := e.cfg.Worker
	if s, ok := e.sched.(rm.Networked); ok {
		if err := s.Watch(sim.NetworkOf(w, e.cfg.Cluster)); err != nil {
			return err
		}
	}
	if _, fits := w.(sim.Fitter); fits {
		return errors.New("a YARN clock does not play processors and disks: leave out the phases, or use --clock ideal")
	}
	if w == nil {
		return nil
	}
	if e.model.FailTask > 0 {
		return sim.ErrFailingWork
	}
	return w.Bind(host{e})
}

func (e *engine) workerArrived(a *app) {
	if w := e.cfg.Worker; w != nil {
		w.Arrived(a.src, a.rec.Seq)
		e.unlock(a)
	}
}

func (e *engine) workerLeft(a *app) {
	if w := e.cfg.Worker; w != nil {
		w.Left(a.rec.Seq)
		for i := range a.stages {
			a.stages[i].released = false // for another attempt
		}
	}
}

// unlock reports to the worker which stages may work now.
func (e *engine) unlock(a *app) {
	for i := range a.stages {
		if s := &a.stages[i]; !s.released && a.released(int32(i)) {
			s.released = true
			e.cfg.Worker.Released(a.rec.Seq, i)
		}
	}
}

// beginAt lets the worker play a container's task from an instant on.
func (e *engine) beginAt(c *cont, at unit.Time) {
	e.horizon = max(e.horizon, at)
	e.push(at, firstEnds, evBegin|uint64(c.slot), c.serial)
}

// hand passes a task to the worker.
func (e *engine) hand(c *cont) {
	a, t, node := c.app, c.task, c.node.rm.Index
	s := &a.stages[t.stage]
	e.holderBuf = e.holders(s, t.num, e.holderBuf)
	c.handed = true
	_, slow := e.straggle(c)
	e.handed = sim.Task{
		ID: c.slot, Stage: int(t.stage), Node: node, Near: near.Level(e.holderBuf, e.places.rackOf, node),
		Job: a.rec.Seq, Number: t.num, Length: e.length(c), Slow: slow / e.speeds.Of(a.rates, node), Attempt: int(a.failures[t]),
	}
	e.cfg.Worker.Started(&e.handed)
}

// stop takes the task of a killed or released container from the worker.
func (e *engine) stop(c *cont) {
	if c.handed {
		c.handed = false
		e.cfg.Worker.Stopped(c.slot)
	}
}

// racksOf lists the racks that hold a task's input, each once. It overwrites buf.
func (e *engine) racksOf(s *stage, num int64, buf []int32) []int32 {
	return near.Racks(e.holders(s, num, buf), e.places.rackOf)
}
