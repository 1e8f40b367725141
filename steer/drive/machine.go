package drive

import (
	"context"
	"iter"
	"time"

	"github.com/yardmaster/yardmaster/steer"
)

// Op is a kind of request.
type Op uint8

// Kinds of requests.
const (
	Wait    Op = iota // until Request.Until, or until stopped
	Sample            // a snapshot
	Read              // a knob's configured value
	Write             // a value into a knob
	Check             // whether a knob's value is in force
	Log               // an entry into the journal
	Tell              // an event to the observer
	Measure           // what a trial is judged by
)

// Request is one request of a machine.
type Request struct {
	Op    Op
	Knob  Knob
	Value Value
	Entry Entry // Log: the entry. Write: the entry that announces it, if the policy asked for it
	Event Event
	Until time.Time     // Wait: when it ends. Others: deadline
	Next  time.Time     // Wait: time of the next sample; zero: unknown
	Quiet bool          // Wait: no write is due at Until
	Since time.Time     // Write: when the policy asked for it; zero: a restore
	Span  time.Duration // Measure: since the change was in force
	Final bool          // to be completed even if the machine is told to stop
}

// Answer is the response to a request.
type Answer struct {
	Now      time.Time // time of the response; monotonic
	Stop     bool      // the machine must restore and exit
	Lost     bool      // the lock is lost: no further changes
	Err      error
	Snapshot steer.Snapshot // Sample
	Value    Value          // Read
	InForce  bool           // Check
	Broken   string         // Measure: the bound that is broken, and how; "": none
}

// Machine is a driver, or a recovery, as a step machine: no clock, no I/O. It makes one request at a time and depends on nothing but the responses. Package
// live executes the requests on a live scheduler, the simulator in virtual time; the same responses give the same requests.
//
// Internally it is a coroutine, so that the driver's code reads in the order in which things happen. A machine that is no longer stepped leaves
// everything as it is at that point, like a killed process.
type Machine struct {
	in   Answer
	next func() (Request, bool)
	stop func()
	err  error

	restored int
}

// NewMachine makes a driver. Its responses go to Next.
func NewMachine(r Rules) (*Machine, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	return machine(func(p *port) error {
		d := &driver{port: p, Rules: r.withDefaults(), start: p.now(), mode: "observe", knobs: map[Knob]*knob{}, missing: map[Knob]absence{}}
		return d.run()
	}), nil
}

func machine(run func(*port) error) *Machine {
	m := &Machine{}
	m.next, m.stop = iter.Pull(func(yield func(Request) bool) {
		defer func() {
			if p := recover(); p != nil && p != (abandoned{}) {
				panic(p)
			}
		}()
		m.err = run(&port{in: &m.in, yield: yield})
	})
	return m
}

// Next takes the response to the last request (initially only the time) and returns the next request; false: the machine is done.
func (m *Machine) Next(a Answer) (Request, bool) {
	m.in = a
	return m.next()
}

// Err is why a finished machine has failed.
func (m *Machine) Err() error { return m.err }

// Restored is how many knobs a finished recovery has restored.
func (m *Machine) Restored() int { return m.restored }

// Abandon frees a machine that will not be stepped again.
func (m *Machine) Abandon() { m.stop() }

// port is a machine from inside.
type port struct {
	in    *Answer // to the last request
	yield func(Request) bool
	until time.Time // deadline for what must be completed after a stop; zero: end on a stop
}

type abandoned struct{}

func (p *port) ask(r Request) Answer {
	if !p.yield(r) {
		panic(abandoned{})
	}
	return *p.in
}

func (p *port) now() time.Time { return p.in.Now }
func (p *port) isLost() bool   { return p.in.Lost }
func (p *port) ended() bool    { return p.in.Stop && !p.leaving() }
func (p *port) leaving() bool  { return !p.until.IsZero() }

// within is the deadline for a read.
func (p *port) within() time.Time {
	at := p.now().Add(sensing)
	if p.leaving() {
		at = earliest(at, p.until)
	}
	return at
}

// Timeouts for one request.
const (
	sensing   = 15 * time.Second // for a read
	writing   = 30 * time.Second // for a write: it may have to run a command
	measuring = 30 * time.Second // for a measurement: it may have to list all jobs
)

// wait sleeps before the next restore attempt, and returns early when told to stop.
func (p *port) wait(until time.Time) error {
	if p.leaving() {
		if until = earliest(until, p.until); !p.now().Before(until) {
			return context.DeadlineExceeded
		}
	}
	return p.ask(Request{Op: Wait, Until: until, Final: p.leaving()}).Err
}

func (p *port) read(k Knob) (Value, error) {
	a := p.ask(Request{Op: Read, Knob: k, Until: p.within(), Final: p.leaving()})
	return a.Value, a.Err
}

func (p *port) write(r Request) error {
	r.Op, r.Until, r.Final = Write, p.now().Add(writing), true
	return p.ask(r).Err
}

func (p *port) inForce(k Knob, v Value) (bool, error) {
	a := p.ask(Request{Op: Check, Knob: k, Value: v, Until: p.within(), Final: p.leaving()})
	return a.InForce && a.Err == nil, a.Err
}

func (p *port) log(e Entry) error { return p.ask(Request{Op: Log, Entry: e}).Err }
func (p *port) notify(e Event)    { p.ask(Request{Op: Tell, Event: e}) }
