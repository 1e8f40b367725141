// Package helm lets a steering policy watch and change a simulated run: when it looks, how old that is which it sees, when that which
// it does takes effect. The engines of package sim and package sim/yarn have their own sensors and knobs, and this in common.
package helm

import (
	"context"
	"errors"
	"slices"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Engine is a run that is steered: sensors and knobs that act at once, and a queue of events.
type Engine interface {
	steer.Yard
	Now() unit.Time
	// Over says that no job is there and none is to come.
	Over() bool
	// Ahead says whether anything is going to happen besides looks, which must not keep each other going.
	Ahead() bool
	// LookAt puts on the queue that Helm.Sense is to be called, and later Helm.Step.
	LookAt(sense, step unit.Time)
	// ActAt puts on the queue that Helm.Act is to be called, with a number.
	ActAt(at unit.Time, i int)
}

// Helm is where a policy stands. What it sees is as old as Delays.Sense says; what it does takes effect after Delays.Job or Delays.Queue,
// or when a file is polled.
type Helm struct {
	e        Engine
	who      steer.Steerer
	delays   steer.Delays
	seen     steer.Snapshot // as sensed for the next look
	last     bool           // when it was sensed, no job was there and none was to come
	todo     []task         // by number of the action
	receipts []steer.Receipt
	still    int // looks in a row at which nothing else was going to happen
	waits    []wait
	recent   []unit.Time // of changes of a property, in the last hour
	file     file
}

// task is an action, with what is known of it so far.
type task struct {
	steer.Receipt
	over bool // nothing comes of it any more
}

// wait is a property that was changed, and the change that waits until it may be changed again.
type wait struct {
	queue, property string
	until           unit.Time
	i               int // -1: none
}

// patience is how many of those there may be.
const patience = 1000

// New plans the first look. The polls' phase is drawn from seed.
func New(e Engine, who steer.Steerer, d steer.Delays, seed uint64) *Helm {
	h := &Helm{e: e, who: who, delays: d}
	if d.Poll > 0 {
		h.file.phase = unit.Time(workload.Uniform01(seed, 0) * float64(d.Poll))
	}
	h.plan(0)
	return h
}

// plan arranges a look: what is seen is sensed so much earlier, but not in the past.
func (h *Helm) plan(at unit.Time) {
	sense := max(at-h.delays.Sense, h.e.Now())
	h.e.LookAt(sense, sense+h.delays.Sense)
}

// Sense reads the sensors for the next look.
func (h *Helm) Sense() {
	h.seen, _ = h.e.Snapshot(context.Background())
	h.last = h.e.Over()
}

// Step shows what was sensed and plans what the policy answers. The last look is one at a yard that will stay empty: there a policy
// can put back what it found.
func (h *Helm) Step() {
	now := h.e.Now()
	if h.still++; h.e.Ahead() {
		h.still = 0
	}
	h.seen.Age = now - h.seen.Now
	do, again := h.who.Step(&h.seen)
	for _, a := range do {
		i, at := h.note(a)
		h.e.ActAt(at, i)
	}
	if again > 0 && !h.last && h.still < patience {
		h.plan(now + again)
	}
}

// note gives an action a number and says when it will take effect, as far as is known now.
func (h *Helm) note(a steer.Action) (i int, at unit.Time) {
	now := h.e.Now()
	i, h.todo = len(h.todo), append(h.todo, task{Receipt: steer.Receipt{Action: a, Asked: now, New: a.Value}})
	if a.Kind != steer.SetQueue {
		return i, now + h.delays.Job
	}
	if w := h.wait(&a); w != nil {
		if w.i >= 0 {
			h.drop(w.i, errOvertaken)
		}
		if w.i = -1; now < w.until {
			w.i = i
			return i, w.until
		}
		w.until = now + h.delays.Spacing
	}
	if h.tooMany(i) {
		return i, now
	}
	return i, h.put(i)
}

// tooMany refuses a change of a property beyond those of an hour, as a live driver does.
func (h *Helm) tooMany(i int) bool {
	if h.delays.PerHour <= 0 {
		return false
	}
	now := h.e.Now()
	h.recent = slices.DeleteFunc(h.recent, func(at unit.Time) bool { return at <= now-unit.Hour })
	if len(h.recent) < h.delays.PerHour {
		h.recent = append(h.recent, now)
		return false
	}
	h.drop(i, errTooMany)
	if who, ok := h.who.(steer.Corrector); ok {
		who.NotMade(h.todo[i].Action)
	}
	return true
}

// put makes the change of a property, and says when it will take effect if nothing is changed before.
func (h *Helm) put(i int) (at unit.Time) {
	if h.delays.Poll > 0 {
		return h.write(i)
	}
	return h.e.Now() + h.delays.Queue
}

// wait finds the turn of a property; nil: changes may follow each other at once.
func (h *Helm) wait(a *steer.Action) *wait {
	if h.delays.Spacing <= 0 {
		return nil
	}
	for k := range h.waits {
		if w := &h.waits[k]; w.queue == a.Queue && w.property == a.Property {
			return w
		}
	}
	h.waits = append(h.waits, wait{queue: a.Queue, property: a.Property, i: -1})
	return &h.waits[len(h.waits)-1]
}

// drop tells that nothing came of a change.
func (h *Helm) drop(i int, err error) {
	lost := &h.todo[i]
	lost.InForce, lost.Err, lost.over = h.e.Now(), err, true
	h.receipts = append(h.receipts, lost.Receipt)
}

// Act carries out an action whose time has come. Of those that were written to a file, all that it holds are taken over by the first
// poll that finds it old enough.
func (h *Helm) Act(i int) {
	now, t := h.e.Now(), &h.todo[i]
	if t.over {
		return
	}
	if t.Action.Kind == steer.SetQueue {
		if w := h.wait(&t.Action); w != nil && w.i == i { // it is its turn
			if w.i, w.until = -1, now+h.delays.Spacing; h.tooMany(i) {
				return
			}
			if at := h.put(i); at > now {
				h.e.ActAt(at, i)
				return
			}
		}
	}
	if t.Action.Kind != steer.SetQueue || h.delays.Poll == 0 {
		h.carryOut(i, now)
		return
	}
	if now <= h.file.changed+h.delays.Age {
		return // it was written again since: a later poll will do
	}
	for _, w := range h.file.holds {
		h.carryOut(w, now)
	}
	h.file.holds = h.file.holds[:0]
}

func (h *Helm) carryOut(i int, inForce unit.Time) {
	r, _ := h.e.Apply(context.Background(), h.todo[i].Action)
	r.Asked, r.InForce = h.todo[i].Asked, inForce
	if who, ok := h.who.(steer.Corrector); ok && r.Err != nil {
		who.NotMade(r.Action)
	}
	h.receipts = append(h.receipts, r)
}

// file is the one that a scheduler polls for its queues' properties.
type file struct {
	phase   unit.Time // of the polls
	changed unit.Time // last
	holds   []int     // numbers of the actions that were written and not taken over yet, one a property
}

// write puts an action into the file, and says at which poll it will be read if nothing is written before.
func (h *Helm) write(i int) (at unit.Time) {
	f, a, now := &h.file, &h.todo[i].Action, h.e.Now()
	f.changed = now
	at = f.phase // the first poll
	if late := f.changed + h.delays.Age - at; late >= 0 {
		at += (late/h.delays.Poll + 1) * h.delays.Poll
	}
	for n, w := range f.holds {
		if old := &h.todo[w]; old.Action.Queue == a.Queue && old.Action.Property == a.Property {
			h.drop(w, errWrittenOver)
			f.holds[n] = i
			return at
		}
	}
	f.holds = append(f.holds, i)
	return at
}

var (
	errOvertaken   = errors.New("the policy has changed its mind before it could be written")
	errWrittenOver = errors.New("written over before the scheduler read it")
	errTooMany     = errors.New("there were as many changes in the last hour as may be")
	errTooLate     = errors.New("the run ended before it took effect")
)

// Finish lets a policy put back, at the end of a run, what it has not put back itself. That takes its time, too; nothing happens in
// it any more. It returns what became of every action.
func (h *Helm) Finish() []steer.Receipt {
	for _, w := range h.file.holds { // the run was cut off
		h.drop(w, errTooLate)
	}
	for _, w := range h.waits {
		if w.i >= 0 {
			h.drop(w.i, errTooLate)
		}
	}
	h.file.holds, h.waits, h.delays.Spacing, h.delays.PerHour = nil, nil, 0, 0
	if who, ok := h.who.(steer.Restorer); ok {
		for _, a := range who.Restore() {
			i, at := h.note(a)
			h.carryOut(i, at)
		}
	}
	return h.receipts
}
