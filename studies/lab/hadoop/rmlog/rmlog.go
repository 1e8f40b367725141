// Package rmlog parses what a ResourceManager logs about its decisions: every container's transitions, the states of
// applications, attempts and nodes, and, where their loggers are at DEBUG, the heartbeats of nodes, the calls of
// AMs and the rounds of preemption.
//
// It reads the logs of a separate ResourceManager and of one inside SLS alike. A line is
//
//	2026-01-31 12:00:00,123 INFO [thread] rmcontainer.RMContainerImpl: container_... Container Transitioned from NEW to ALLOCATED
//
// where the thread may be missing and the class may be long or short: log4j's %d{ISO8601} %p [%t] %c: %m. Instants are read
// as UTC, so the JVM must run with -Duser.timezone=UTC (the lab's daemons do). Irrelevant lines, stack
// traces and broken lines are skipped: a log may be truncated anywhere.
//
// What needs DEBUG, by logger (all under org.apache.hadoop.yarn.server.resourcemanager):
//
//	Beat      rmnode.RMNodeImpl
//	Tick      rmapp.attempt.RMAppAttemptImpl
//	Pass      scheduler.AbstractYarnScheduler
//	Placed    scheduler.fair.FSSchedulerNode (node and size; the CapacityScheduler logs them at INFO),
//	          scheduler.common.fica.FiCaSchedulerApp and scheduler.fair.FSAppAttempt (Near, and the host without its port)
//	Round     monitor.capacity.ProportionalCapacityPreemptionPolicy
//
// Everything else is at INFO.
package rmlog

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"
	"time"
)

// Kind says what an event is about, in one lower-case word.
type Kind string

// The kinds of events, with the fields that each of them sets besides At, Logger and Kind.
const (
	// Container is a transition of a container: Container, App, From, To (NEW, RESERVED, ALLOCATED, ACQUIRED, RUNNING,
	// COMPLETED, RELEASED, KILLED, EXPIRED).
	Container Kind = "container"
	// App is a change of an application's state: App, From, To, Cause (the RMAppEventType).
	App Kind = "app"
	// Attempt is a change of an attempt's state: App, Attempt, From, To, Cause.
	Attempt Kind = "attempt"
	// Node is a change of a node's state: Node, From, To.
	Node Kind = "node"
	// Accepted is an application that the scheduler accepted: App, User, Queue.
	Accepted Kind = "accepted"
	// Added is an attempt that was added to the scheduler: App, Attempt, User, Queue.
	Added Kind = "added"
	// Activated is an application whose AM may start (CapacityScheduler): App, User, Queue.
	Activated Kind = "activated"
	// Chosen is the scheduler's proposal to allocate a container to an application: App, Attempt, Queue, Near (NODE_LOCAL,
	// RACK_LOCAL, OFF_SWITCH). It may still be rejected; the transition to ALLOCATED follows if not. CapacityScheduler only.
	Chosen Kind = "chosen"
	// Granted is the audit line of an allocation: Container, App, User, Queue, Size.
	Granted Kind = "granted"
	// Placed says on which node a container is: Container, App, Node (host:port) and Size. DEBUG under the FairScheduler.
	// A second one for the same container, without Size but with Near, and with the node's host only, needs DEBUG.
	Placed Kind = "placed"
	// Beat is a node's report as it is handled by the node's own state machine: Node. DEBUG.
	Beat Kind = "beat"
	// Pass is the scheduler's handling of a node's report, after the completed containers in it: Node. DEBUG.
	Pass Kind = "pass"
	// Tick is a call of an application's AM: App, Attempt. DEBUG.
	Tick Kind = "tick"
	// Round is the end of a round of the preemption monitor. DEBUG.
	Round Kind = "round"
)

// Event is one relevant line of the log. Fields that a kind does not set are empty.
type Event struct {
	At     time.Time
	Kind   Kind
	Logger string // last part of the class that wrote it: RMContainerImpl

	App       string // application_..., also when the line names only a container or an attempt of it
	Attempt   string // appattempt_...
	Container string // container_...
	Node      string // host:port, as the node registered

	From, To string // states
	Cause    string // the event that caused the change
	User     string
	Queue    string // its last part or its whole path, as the line has it
	Near     string // NODE_LOCAL, RACK_LOCAL, OFF_SWITCH
	Size     string // <memory:512, vCores:1>
}

// maxLine is longer than any line of interest; the rest of a longer one (a queue's full configuration) is dropped.
const maxLine = 1 << 16

// Read calls f for every event of the log in the order of its lines, and stops at f's first error.
func Read(r io.Reader, f func(Event) error) error {
	return Lines(r, func(line []byte) error {
		if e, ok := Parse(line); ok {
			return f(e)
		}
		return nil
	})
}

// Lines calls f for every line of a log, without its end, and stops at f's first error. Lines too long to be of interest are skipped.
func Lines(r io.Reader, f func(line []byte) error) error {
	in := bufio.NewReaderSize(r, maxLine)
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) {
			line = nil
			_, err = in.ReadSlice('\n')
		}
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return fmt.Errorf("reading the ResourceManager's log, line %d: %w", n, err)
		}
		if len(line) > 0 {
			if err := f(bytes.TrimRight(line, "\r\n")); err != nil {
				return err
			}
		}
		if ended {
			return nil
		}
	}
}

var (
	// lines are log4j's, with or without a thread and a source location after the class.
	lines = regexp.MustCompile(`^([\d-]{10} [\d:,]{12}) +\S+ +(?:\[.*?\] )?(?:\S*\.)?(\w+)(?: \(\S+\))?: (.*)$`)
	ids   = regexp.MustCompile(`^(?:application|(?:app)?attempt|container(?:_e\d+)?)_(\d+)_(\d+)(?:_\w+)?$`)
)

// rule parses a message: the groups of its pattern are named after the fields of an Event.
type rule struct {
	kind Kind
	form *regexp.Regexp
}

// rules are by the last part of the class's name.
var rules = map[string][]rule{}

func init() {
	const schedulers = "CapacityScheduler FairScheduler SLSCapacityScheduler SLSFairScheduler"
	for _, r := range []struct {
		classes string
		kind    Kind
		form    string
	}{
		{"RMContainerImpl", Container, `(?P<Container>container_\S+) Container Transitioned from (?P<From>\S+) to (?P<To>\S+)`},
		{"RMAppImpl", App, `(?P<App>application_\S+) State change from (?P<From>\S+) to (?P<To>\S+)(?: on event = (?P<Cause>.*))?`},
		{"RMAppAttemptImpl", Attempt, `(?P<Attempt>appattempt_\S+) State change from (?P<From>\S+) to (?P<To>\S+)(?: on event = (?P<Cause>.*))?`},
		{"RMAppAttemptImpl", Tick, `Processing event for (?P<Attempt>appattempt_\S+) of type STATUS_UPDATE`},
		{"RMNodeImpl", Node, `(?P<Node>\S+) Node Transitioned from (?P<From>\S+) to (?P<To>\S+)`},
		{"RMNodeImpl", Beat, `Processing (?P<Node>\S+) of type STATUS_UPDATE`},
		{schedulers, Accepted, `Accepted application (?P<App>application_\S+) from user: (?P<User>[^ ,]+), in queue: (?P<Queue>[^ ,]+).*`},
		{schedulers, Added, `Added Application Attempt (?P<Attempt>appattempt_\S+) to scheduler from user:? (?P<User>[^ ,]+)(?: in queue (?P<Queue>[^ ,]+))?.*`},
		{schedulers + " AbstractYarnScheduler", Pass, `nodeUpdate: (?P<Node>[^ ,]+).*`},
		{"AbstractLeafQueue LeafQueue", Activated, `Application (?P<App>application_\S+) from user: (?P<User>\S+) activated in queue: (?P<Queue>[^ ,]+).*`},
		{"AbstractContainerAllocator", Chosen, `assignedContainer application attempt=(?P<Attempt>\S+) .*queue=(?P<Queue>\S+) .*type=(?P<Near>\S+).*`},
		{"RMAuditLogger", Granted, `USER=(?P<User>[^\t]*)\t(?:.*\t)?OPERATION=AM Allocated Container\t.*APPID=(?P<App>[^\t]*)\t.*CONTAINERID=(?P<Container>[^\t]+)(?:\tRESOURCE=(?P<Size>[^\t]*))?(?:\t.*?QUEUENAME=(?P<Queue>[^\t]*))?.*`},
		{"SchedulerNode FiCaSchedulerNode FSSchedulerNode", Placed, `Assigned container (?P<Container>container_\S+) of capacity (?P<Size><[^>]*>) on host (?P<Node>[^ ,]+).*`},
		{"FiCaSchedulerApp FSAppAttempt", Placed, `allocate: applicationAttemptId=(?P<Attempt>\S+) container=(?P<Container>container_\S+) host=(?P<Node>[^ ,]+)(?: type=(?P<Near>\S+))?.*`},
		{"ProportionalCapacityPreemptionPolicy", Round, `Total time used=.*`},
	} {
		for class := range strings.FieldsSeq(r.classes) {
			rules[class] = append(rules[class], rule{r.kind, regexp.MustCompile("^" + r.form + "$")})
		}
	}
}

// Parse parses one line; false if it is irrelevant.
func Parse(line []byte) (Event, bool) {
	l := lines.FindSubmatch(bytes.TrimRight(line, "\r\n"))
	if l == nil || rules[string(l[2])] == nil {
		return Event{}, false
	}
	at, err := time.Parse("2006-01-02 15:04:05,000", string(l[1]))
	if err != nil {
		return Event{}, false
	}
	for _, r := range rules[string(l[2])] {
		if found := r.form.FindSubmatch(l[3]); found != nil {
			e := Event{At: at, Kind: r.kind, Logger: string(l[2])}
			for i, name := range r.form.SubexpNames()[1:] {
				if name != "" {
					reflect.ValueOf(&e).Elem().FieldByName(name).SetString(string(found[i+1]))
				}
			}
			if id := cmp.Or(e.Attempt, e.Container); e.App == "" && id != "" {
				e.App = AppOf(id)
				return e, e.App != ""
			}
			return e, true
		}
	}
	return Event{}, false
}

// AppOf is the application of a container or attempt id; empty for other ids.
func AppOf(id string) string {
	parts := ids.FindStringSubmatch(id)
	if parts == nil {
		return ""
	}
	return "application_" + parts[1] + "_" + parts[2]
}
