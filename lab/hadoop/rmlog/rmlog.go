// Package rmlog reads what a ResourceManager wrote about its decisions: every container's transitions, the states of
// applications, attempts and nodes, and, where their loggers are at DEBUG, the beats of nodes, the calls of application
// masters and the rounds of preemption.
//
// It reads the logs of a separate ResourceManager and of one inside SLS alike. A line is
//
//	2026-01-31 12:00:00,123 INFO [thread] rmcontainer.RMContainerImpl: container_... Container Transitioned from NEW to ALLOCATED
//
// where the thread may be missing and the class may be long or short: log4j's %d{ISO8601} %p [%t] %c: %m. Instants are taken
// as UTC, so the JVM must run with -Duser.timezone=UTC (the lab's daemons do). Lines that say nothing of interest, stack
// traces and broken lines are passed over: a log may be cut anywhere.
//
// What needs DEBUG, by logger (all under org.apache.hadoop.yarn.server.resourcemanager):
//
//	Beat      rmnode.RMNodeImpl
//	Tick      rmapp.attempt.RMAppAttemptImpl
//	Pass      scheduler.AbstractYarnScheduler
//	Placed    scheduler.fair.FSSchedulerNode (node and size; the CapacityScheduler tells them at INFO),
//	          scheduler.common.fica.FiCaSchedulerApp and scheduler.fair.FSAppAttempt (Near, and the host without its port)
//	Round     monitor.capacity.ProportionalCapacityPreemptionPolicy
//
// Everything else is at INFO.
package rmlog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
)

// Kind says what an event is about.
type Kind uint8

// The kinds of events, with the fields that each of them sets beside At, Logger and Kind.
const (
	// Container is a transition of a container: Container, App, From, To (NEW, RESERVED, ALLOCATED, ACQUIRED, RUNNING,
	// COMPLETED, RELEASED, KILLED, EXPIRED).
	Container Kind = iota + 1
	// App is a change of an application's state: App, From, To, Cause (the RMAppEventType).
	App
	// Attempt is a change of an attempt's state: App, Attempt, From, To, Cause.
	Attempt
	// Node is a change of a node's state: Node, From, To.
	Node
	// Accepted is an application that the scheduler took: App, User, Queue.
	Accepted
	// Added is an attempt that the scheduler knows from now on: App, Attempt, User, Queue.
	Added
	// Activated is an application that may have its master (CapacityScheduler): App, User, Queue.
	Activated
	// Chosen is the scheduler's proposal to give a container to an application: App, Attempt, Queue, Near (NODE_LOCAL,
	// RACK_LOCAL, OFF_SWITCH). It may still be rejected; the transition to ALLOCATED follows if not. CapacityScheduler only.
	Chosen
	// Granted is the audit line of an allocation: Container, App, User, Queue, Size.
	Granted
	// Placed says on which node a container is: Container, App, Node (host:port) and Size. DEBUG under the FairScheduler.
	// A second one for the same container, without Size but with Near, and with the node's host only, needs DEBUG.
	Placed
	// Beat is a node's report as it is handled by the node's own state machine: Node. DEBUG.
	Beat
	// Pass is the scheduler's handling of a node's report, after the ends that it told: Node. DEBUG.
	Pass
	// Tick is a call of an application's master: App, Attempt. DEBUG.
	Tick
	// Round is the end of a round of the preemption monitor. DEBUG.
	Round
)

var kindNames = [...]string{"", "container", "app", "attempt", "node", "accepted", "added", "activated", "chosen", "granted",
	"placed", "beat", "pass", "tick", "round"}

// String names the kind in one lower-case word.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Event is one line of the log that said something. Fields that a kind does not set are empty.
type Event struct {
	At     time.Time
	Kind   Kind
	Logger string // last part of the class that wrote it: RMContainerImpl

	App       string // application_..., also when the line names only a container or an attempt of it
	Attempt   string // appattempt_...
	Container string // container_...
	Node      string // host:port, as the node registered

	From, To string // states
	Cause    string // the event that made the change
	User     string
	Queue    string // its last part or its whole path, as the line has it
	Near     string // NODE_LOCAL, RACK_LOCAL, OFF_SWITCH
	Size     string // <memory:512, vCores:1>
}

// maxLine is longer than any line of interest; the rest of a longer one (a queue's full configuration) is dropped.
const maxLine = 1 << 16

// Read calls f for every event of the log in the order of its lines, and stops at f's first error.
func Read(r io.Reader, f func(Event) error) error {
	br := bufio.NewReaderSize(r, maxLine)
	for n := 1; ; n++ {
		line, err := br.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) {
			line = nil // too long to be of interest
			_, err = br.ReadSlice('\n')
		}
		if err == nil || errors.Is(err, io.EOF) {
			if e, ok := Parse(line); ok {
				if err := f(e); err != nil {
					return err
				}
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading the ResourceManager's log, line %d: %w", n, err)
		}
	}
}

// Parse reads one line. It is false when the line says nothing of interest.
func Parse(line []byte) (Event, bool) {
	line = bytes.TrimRight(line, "\r\n")
	at, rest, ok := instant(line)
	if !ok {
		return Event{}, false
	}
	_, rest, ok = bytes.Cut(rest, []byte{' '}) // level
	if !ok {
		return Event{}, false
	}
	rest = bytes.TrimLeft(rest, " ")
	if len(rest) > 0 && rest[0] == '[' { // thread; its name may hold brackets and spaces
		i := bytes.Index(rest, []byte("] "))
		if i < 0 {
			return Event{}, false
		}
		rest = rest[i+2:]
	}
	class, msg, ok := bytes.Cut(rest, []byte(": "))
	if !ok || bytes.IndexByte(class, ' ') >= 0 && !knownSuffix(class) {
		return Event{}, false
	}
	class, _, _ = bytes.Cut(class, []byte{' '})
	if i := bytes.LastIndexByte(class, '.'); i >= 0 {
		class = class[i+1:]
	}
	parse, ok := parsers[string(class)]
	if !ok {
		return Event{}, false
	}
	e := Event{At: at, Logger: string(class)}
	if !parse(msg, &e) {
		return Event{}, false
	}
	return e, true
}

// knownSuffix allows log4j's place after the class: "RMContainerImpl (RMContainerImpl.java:handle(480))".
func knownSuffix(class []byte) bool { return bytes.Contains(class, []byte(" (")) }

// instant reads "2006-01-02 15:04:05,000 " as UTC.
func instant(b []byte) (time.Time, []byte, bool) {
	const form = "dddd-dd-dd dd:dd:dd,ddd "
	if len(b) < len(form) {
		return time.Time{}, nil, false
	}
	for i := range len(form) {
		if c := b[i]; form[i] == 'd' && (c < '0' || c > '9') || form[i] != 'd' && c != form[i] {
			return time.Time{}, nil, false
		}
	}
	num := func(from, to int) int {
		n := 0
		for _, c := range b[from:to] {
			n = n*10 + int(c-'0')
		}
		return n
	}
	month, day := num(5, 7), num(8, 10)
	if month < 1 || month > 12 || day < 1 || day > 31 {
		return time.Time{}, nil, false
	}
	at := time.Date(num(0, 4), time.Month(month), day, num(11, 13), num(14, 16), num(17, 19), num(20, 23)*1e6, time.UTC)
	return at, bytes.TrimLeft(b[len(form):], " "), true
}
