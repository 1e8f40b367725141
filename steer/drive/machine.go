package drive

import (
	"context"
	"iter"
	"time"

	"github.com/yardmaster/yardmaster/steer"
)

// Op is what a machine asks for.
type Op uint8

// Things that a machine asks for.
const (
	Wait   Op = iota // until Request.Until, or until it is told to stop
	Sample           // a snapshot
	Read             // how a knob is configured
	Write            // a value into a knob
	Check            // whether a knob's value is in force
	Log              // an entry into the journal
	Tell             // an event to whoever watches
)

// Request is one thing that a machine asks for.
type Request struct {
	Op    Op
	Knob  Knob
	Value Value
	Entry Entry // Log: the line. Write: the one that announces it, if the policy asked for it
	Event Event
	Until time.Time // Wait: when it is over. Others: when to give up
	Next  time.Time // Wait: when the next sample is wanted; zero: not known
	Quiet bool      // Wait: no write is due then
	Since time.Time // Write: when the policy asked for it; zero: it is put back
	Final bool      // it is to be carried out, or waited for, though the machine is told to stop
}

// Answer is what became of a request.
type Answer struct {
	Now      time.Time // when it was answered; never earlier than before
	Stop     bool      // the machine is to leave
	Lost     bool      // it must not change anything any more
	Err      error
	Snapshot steer.Snapshot // Sample
	Value    Value          // Read
	InForce  bool           // Check
}

// Machine is a driver, or a recovery, as a step machine: no clock, no I/O. It asks for one thing at a time, and goes by nothing but the answers. Package live
// carries its requests out on a live scheduler, the simulator in virtual time; the same answers give the same requests.
//
// Inside it is a coroutine, so that the driver's code reads in the order in which things happen. A machine that is not asked any further leaves
// everything as it is at that point, as a process that is killed does.
type Machine struct {
	in   Answer
	next func() (Request, bool)
	stop func()
	err  error

	restored int
}

// NewMachine makes a driver. Answers are given to Next.
func NewMachine(r Rules) (*Machine, error) {
	r, err := r.withDefaults()
	if err != nil {
		return nil, err
	}
	return machine(func(p *port) error {
		d := &driver{port: p, Rules: r, start: p.now(), mode: "observe", knobs: map[Knob]*knob{}, missing: map[Knob]absence{}}
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

// Next takes the answer to the last request, or at first only the time, and gives the next request; none: the machine is done.
func (m *Machine) Next(a Answer) (Request, bool) {
	m.in = a
	return m.next()
}

// Err is why a machine that is done has failed.
func (m *Machine) Err() error { return m.err }

// Restored is how many knobs a recovery that is done has put back.
func (m *Machine) Restored() int { return m.restored }

// Abandon frees a machine that is not asked any further.
func (m *Machine) Abandon() { m.stop() }

// port is a machine from inside.
type port struct {
	in    *Answer // to the last request
	yield func(Request) bool
	until time.Time // when to give up what is to be done though told to stop; zero: when told to stop
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

// within is when to give up a reading.
func (p *port) within() time.Time {
	at := p.now().Add(sensing)
	if p.leaving() {
		at = earliest(at, p.until)
	}
	return at
}

// Limits of time for one request.
const (
	sensing = 15 * time.Second // for a reading
	writing = 30 * time.Second // for a write: a command may have to be started for it
)

// wait lets time pass before something is put back, and ends early when told to stop.
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
func (p *port) tell(e Event)      { p.ask(Request{Op: Tell, Event: e}) }
