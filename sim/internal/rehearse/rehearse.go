// Package rehearse steps the live driver (steer/drive) in virtual time, on a simulated scheduler. The rules are the driver's own; this package models
// sensor age, actuation delay and the scheduler's file.
package rehearse

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Engine is a steered run: sensors, knobs that take effect at once, and an event queue.
type Engine interface {
	Now() unit.Time
	Snapshot() steer.Snapshot
	// Get reads a knob: a number, or as text a job's queue or capacities. It returns drive.ErrEnded for a job that has ended.
	Get(k drive.Knob) (number float64, text string, err error)
	Set(k drive.Knob, number float64, text string) error
	// Over reports that no job is present and none will arrive.
	Over() bool
	// Ahead reports whether events other than samples are queued; samples must not keep each other going.
	Ahead() bool
	// SenseAt, WakeAt and ActAt queue calls of Driver.Sense, Wake and Act. The first two count as samples.
	SenseAt(at unit.Time)
	WakeAt(at unit.Time)
	ActAt(at unit.Time, i int)
}

// Driver is the live driver in virtual time.
type Driver struct {
	e       Engine
	delays  steer.Delays
	m       *drive.Machine
	journal *drive.Journal
	asked   drive.Request // not answered yet
	done    bool

	planned unit.Time // when the next sample is wanted
	sensed  bool      // it has been taken
	ready   unit.Time // when it becomes visible
	seen    steer.Snapshot
	last    bool // when it was taken, the run was Over
	idle    int  // consecutive samples without other queued events

	changes  []change // by number
	latest   map[drive.Knob]int
	receipts []steer.Receipt
	file     file
	over     bool      // the run has ended; restoring settings takes its own time
	clock    unit.Time // then
}

// change is a write and its state so far.
type change struct {
	steer.Receipt
	knob drive.Knob
	text string    // a job's queue, or capacities
	due  unit.Time // when it takes effect, if nothing else is written before
	done bool      // it has taken effect or been dropped
}

// maxIdleSamples limits consecutive samples without other queued events.
const maxIdleSamples = 1000

// New starts the driver. The phase of the file's polls is drawn from seed.
func New(e Engine, steerer steer.Steerer, d steer.Delays, b steer.Bounds, seed uint64) (*Driver, error) {
	r := &Driver{e: e, delays: d, journal: drive.MemoryJournal("rehearsal"), latest: map[drive.Knob]int{}}
	if d.Poll > 0 {
		r.file.phase = unit.Time(workload.Uniform01(seed, 0) * float64(d.Poll))
	}
	fresh := func() (steer.Steerer, error) { return steerer, nil }
	rules := drive.Rules{Scheme: r, Act: true, Queues: b.Queues, Journal: r.journal, PerHour: d.PerHour}
	rules.New = func() (steer.Steerer, error) {
		now, err := fresh()
		if again, ok := now.(steer.Renewer); ok {
			fresh = again.Renew
		}
		return now, err
	}
	if a, ok := steerer.(steer.Declarer); ok {
		rules.Allow = func(k drive.Knob) error { return a.Allow(k.Kind, k.Property) }
	}
	if d.PerHour <= 0 {
		rules.PerHour = math.MaxInt
	}
	if b.Max > 0 {
		rules.Bound = drive.Within(b.Min, b.Max)
	}
	var err error
	if r.m, err = drive.NewMachine(rules); err != nil {
		return nil, err
	}
	r.ready = d.Sense
	r.e.SenseAt(0)
	r.e.WakeAt(r.ready)
	return r, nil
}

// Identity implements drive.Scheme.
func (r *Driver) Identity() string { return "rehearsal" }

// Value implements drive.Scheme.
func (r *Driver) Value(_ drive.Knob, x float64) drive.Value {
	return drive.Value{Text: strconv.FormatFloat(x, 'g', -1, 64), Set: true, Number: x}
}

// Spacing implements drive.Scheme.
func (r *Driver) Spacing(k drive.Knob) time.Duration {
	if k.Kind != steer.SetQueue {
		return 0
	}
	return time.Duration(r.delays.Spacing) * time.Microsecond
}

func (r *Driver) now() unit.Time {
	if r.over {
		return r.clock
	}
	return r.e.Now()
}

func wall(t unit.Time) time.Time    { return time.UnixMicro(int64(t)).UTC() }
func virtual(t time.Time) unit.Time { return unit.Time(t.UnixMicro()) }

// Sense reads the sensors for the next sample.
func (r *Driver) Sense() {
	if r.sensed {
		return
	}
	unseen := r.seen.Finished
	r.seen, r.last, r.sensed = r.e.Snapshot(), r.e.Over(), true
	r.seen.Finished = append(unseen, r.seen.Finished...)
}

// Wake resumes the driver if its time has come.
func (r *Driver) Wake() {
	switch now := r.now(); {
	case r.done:
	case r.asked.Op == drive.Wait && (r.asked.Until.IsZero() || !wall(now).Before(r.asked.Until)):
		r.run(drive.Answer{})
	case r.asked.Op == drive.Sample && r.sensed && now >= r.ready:
		r.run(r.sample(now))
	}
}

// run steps the driver until it has to wait.
func (r *Driver) run(a drive.Answer) {
	for {
		a.Now, a.Stop = wall(r.now()), r.over
		var more bool
		if r.asked, more = r.m.Next(a); !more {
			r.done = true
			r.m.Abandon()
			return
		}
		var answered bool
		if a, answered = r.do(&r.asked); !answered {
			return
		}
	}
}

// do carries out a request, or schedules it.
func (r *Driver) do(q *drive.Request) (a drive.Answer, answered bool) {
	switch q.Op {
	case drive.Wait:
		return a, r.wait(q)
	case drive.Sample:
		return r.take()
	case drive.Read:
		a.Value, a.Err = r.configured(q.Knob)
	case drive.Check:
		number, queue, err := r.e.Get(q.Knob)
		if a.Err = err; err == nil {
			a.InForce = drive.Same(q.Knob, r.value(q.Knob, number, queue), q.Value)
		}
	case drive.Write:
		return a, r.write(q)
	case drive.Log:
		a.Err = r.journal.Append(q.Entry)
	case drive.Tell:
		r.onEvent(&q.Event)
	}
	return a, true
}

// wait schedules the end of a wait. A sample wanted then is taken earlier by the sensor age, but not in the past. The last one is of a scheduler
// that will stay empty: after it the driver runs only for due writes, and restores what it found when the run is over.
func (r *Driver) wait(q *drive.Request) (answered bool) {
	now, until := r.now(), virtual(q.Until)
	if r.over {
		r.pass(until)
		return true
	}
	wake := until
	if parked := r.last || r.idle >= maxIdleSamples; parked && q.Quiet {
		return false
	} else if !parked && !q.Next.IsZero() {
		if next := virtual(q.Next); next != r.planned {
			r.planned, r.sensed = next, false
			sense := max(next-r.delays.Sense, now)
			r.ready = sense + r.delays.Sense
			r.e.SenseAt(sense)
			r.e.WakeAt(r.ready)
		}
		if until >= r.planned {
			wake = r.ready
		}
	}
	if wake != r.ready || wake == now {
		r.e.WakeAt(max(wake, now))
	}
	return false
}

// take passes a sample to the driver.
func (r *Driver) take() (a drive.Answer, answered bool) {
	now := r.now()
	switch {
	case r.over:
		return drive.Answer{Err: errOver}, true
	case r.sensed && now >= r.ready:
		return r.sample(now), true
	case r.planned < 0 || !r.sensed && now >= r.ready: // not scheduled before
		r.planned, r.sensed, r.ready = now, false, now+r.delays.Sense
		r.e.SenseAt(now)
		r.e.WakeAt(r.ready)
	}
	return a, false
}

func (r *Driver) sample(now unit.Time) drive.Answer {
	if r.idle++; r.e.Ahead() {
		r.idle = 0
	}
	r.sensed, r.planned = false, -1
	seen := r.seen
	seen.Age, r.seen.Finished = now-seen.Now, nil
	return drive.Answer{Snapshot: seen}
}

var (
	errOver        = errors.New("the run is over")
	errWrittenOver = errors.New("written over before the scheduler read it")
)

func (r *Driver) value(k drive.Knob, number float64, text string) drive.Value {
	if k.Kind == steer.MoveJob || k.Property == steer.Capacities {
		return drive.Value{Text: text, Set: true, Number: number}
	}
	return r.Value(k, number)
}

// configured is the last written value of a knob; it may not be in effect yet.
func (r *Driver) configured(k drive.Knob) (drive.Value, error) {
	if i, ok := r.latest[k]; ok && !r.changes[i].done {
		c := &r.changes[i]
		return r.value(k, c.New, c.text), nil
	}
	number, queue, err := r.e.Get(k)
	if err != nil {
		return drive.Value{}, err
	}
	return r.value(k, number, queue), nil
}

// write makes a change, or schedules it.
func (r *Driver) write(q *drive.Request) (answered bool) {
	k, now := q.Knob, r.now()
	if was, err := r.configured(k); err == nil && drive.Same(k, was, q.Value) {
		return true // nothing to change
	}
	a := steer.Action{Kind: k.Kind, Job: k.Job, Queue: k.Queue, Property: k.Property, Value: q.Value.Number, Why: q.Entry.Why}
	if k.Kind == steer.MoveJob {
		a.Queue = q.Value.Text
	} else if k.Property == steer.Capacities {
		a.Shares, _, _ = q.Value.Shares() // the driver has already parsed them
	}
	asked, back := virtual(q.Since), q.Since.IsZero()
	if back {
		was, _ := r.configured(k) // it was just read
		a.Why, asked = fmt.Sprintf("put back the value found (%v -> %v)", was, q.Value), now
	}
	i := len(r.changes)
	r.changes = append(r.changes, change{knob: k, text: q.Value.Text, due: now + r.delays.Job, Receipt: steer.Receipt{Action: a, Asked: asked, Back: back, New: q.Value.Number}})
	r.latest[k] = i
	c := &r.changes[i]
	switch {
	case k.Kind != steer.SetQueue:
	case r.delays.Poll > 0:
		c.due = r.put(i)
	default:
		c.due = now + r.delays.Queue
	}
	if r.over {
		return true
	}
	r.e.ActAt(c.due, i)
	return c.due > now // an immediate change is made before anything else
}

// Act carries out a due change. Changes written to the file are all loaded by the first poll that finds it old enough.
func (r *Driver) Act(i int) {
	now, c := r.now(), &r.changes[i]
	switch {
	case c.done:
	case c.knob.Kind != steer.SetQueue || r.delays.Poll == 0:
		err := r.carryOut(i, now)
		if q := &r.asked; !r.done && q.Op == drive.Write && q.Knob == c.knob && c.due == now { // the driver waits for it
			r.run(drive.Answer{Err: err})
		}
	case now > r.file.changed+r.delays.Age: // else it was written again since: a later poll will load it
		holds := r.file.holds
		r.file.holds = nil
		for _, w := range holds {
			_ = r.carryOut(w, now) // its receipt reports the error
		}
	}
}

func (r *Driver) carryOut(i int, now unit.Time) error {
	c := &r.changes[i]
	c.done, c.InForce = true, now
	var err error
	if c.Old, c.OldQueue, err = r.e.Get(c.knob); err == nil {
		err = r.e.Set(c.knob, c.New, c.text)
	}
	if err == nil || c.due > c.Asked { // the driver reports a failed write itself: see onEvent
		c.Err = err
		r.receipts = append(r.receipts, c.Receipt)
	}
	return err
}

// drop records that a change did not take effect.
func (r *Driver) drop(i int, err error) {
	c := &r.changes[i]
	c.InForce, c.Err, c.done = r.now(), err, true
	r.receipts = append(r.receipts, c.Receipt)
}

// onEvent records what the driver did not write.
func (r *Driver) onEvent(e *drive.Event) {
	if e.Kind == drive.Refused || e.Kind == drive.Kept {
		r.receipts = append(r.receipts, steer.Receipt{Action: e.Action, Asked: virtual(e.Since), InForce: r.now(), Old: e.Old, New: e.New, Err: e.Err})
	}
}

// file is the file that a scheduler polls for its queues' properties.
type file struct {
	phase   unit.Time // of the polls
	changed unit.Time // last
	holds   []int     // changes written and not loaded yet, one per knob
}

// put writes a change into the file, and returns the poll that will read it if nothing else is written before.
func (r *Driver) put(i int) (poll unit.Time) {
	f := &r.file
	f.changed = r.now()
	poll = f.phase // the first poll
	if late := f.changed + r.delays.Age - poll; late >= 0 {
		poll += (late/r.delays.Poll + 1) * r.delays.Poll
	}
	for n, w := range f.holds {
		if r.changes[w].knob == r.changes[i].knob {
			r.drop(w, errWrittenOver)
			f.holds[n] = i
			return poll
		}
	}
	f.holds = append(f.holds, i)
	return poll
}

// pass advances time after the run, in which only the driver's writes happen.
func (r *Driver) pass(until unit.Time) {
	for {
		next := -1
		for i := range r.changes {
			if c := &r.changes[i]; !c.done && c.due <= until && (next < 0 || c.due < r.changes[next].due) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		r.clock = max(r.clock, r.changes[next].due)
		if r.Act(next); !r.changes[next].done { // the file was written again since
			r.changes[next].due = unit.Never
		}
	}
	r.clock = max(r.clock, until)
}

// Finish stops the driver, lets it restore what it has not restored yet, and returns a receipt for every change.
func (r *Driver) Finish() []steer.Receipt {
	r.clock = r.e.Now()
	if r.over = true; !r.done {
		var a drive.Answer
		if r.asked.Op == drive.Sample {
			a.Err = errOver
		}
		r.run(a)
	}
	r.pass(unit.Never - 1)
	return r.receipts
}
