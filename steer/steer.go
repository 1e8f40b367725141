// Package steer holds the steering seam: a controller outside the engine that watches a running scheduler through its
// sensors and moves its knobs.
//
// A Steerer is a pure step: what is seen goes in, what to do and when to look again comes out. The engine (the simulator,
// a real ResourceManager, a Kubernetes cluster) has the clock, the sensors, the actuators and their delays; steer/drive stands in between. The same
// Steerer and the same driver run in virtual time and live.
package steer

import (
	"log/slog"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
)

// Snapshot is what a steering policy sees. It holds nothing that a live engine could not tell.
type Snapshot struct {
	Now    unit.Time
	Total  unit.Resources // of the nodes that are up
	Used   unit.Resources
	Nodes  int
	Queues []Queue // by name
	Jobs   []Job   // present ones, by order of arrival
	// Finished are the jobs that have ended since the sample before, as the policy saw it; none in its first.
	Finished []Finished
	// CPUIdle is the share of processor time that is idle, 0 to 1; negative when the yard has no such sensor.
	CPUIdle float64
	// Age is how old the oldest reading in it was when it was handed over; 0: of this instant.
	Age unit.Time
}

// Queue is a queue as seen from outside.
type Queue struct {
	Name       string
	Used       unit.Resources
	Containers int64
	Running    int // jobs that hold at least one container
	Waiting    int // jobs that hold none yet
	// Capacity is what the queue may use now: its fair share, or the greater of its guarantee and its limit. Zero: not known.
	Capacity unit.Resources
	// Ceiling is the most that the queue could hold now: its maximum and those above it, less what others hold of them; at least 1 in each
	// component. Ceiling less Used is its headroom. Zero: the scheduler does not limit by that component, or it is not known.
	Ceiling unit.Resources
	AMs     unit.Resources // held by the AMs of jobs that have not ended; zero: none, or not known
	// AMShare is the share of Capacity that AMs may take, 0 to 1. Zero: not known; negative: no limit.
	AMShare float64
}

// Job is a job as seen from outside.
type Job struct {
	ID, User, Queue string
	Priority        int
	Submitted       unit.Time
	Started         bool
	Tasks, Done     int64
	Pending         int64 // containers that it asks for and has not been given
	Running         int64
	Progress        float64        // as the engine reports it, in percent; 0 until something is known
	Maps            float64        // share of its maps' work that is done, 0 to 1; 0 until something is known
	AM              unit.Resources // size of its AM, as allocated; zero: not known
	Held            unit.Resources // by its containers now, the AM's included
	Service         Service        // attained so far
	// Tags are what its user has given it, separated by commas, such as deadline:1700000000 (in seconds, as Now). They say nothing that the user could
	// not make up.
	Tags string
}

// Service is container-time, weighed by what the containers hold, as YARN counts it.
type Service struct{ MemSeconds, CoreSeconds int64 } // MiB-seconds, vcore-seconds

// Finished is a job that has ended.
type Finished struct {
	ID, User, Queue string
	Status          string    // as YARN has it: SUCCEEDED, FAILED, KILLED
	Elapsed         unit.Time // since it was submitted
	Service         Service
}

// Kind says what an Action does.
type Kind uint8

// Things a steering policy can do.
const (
	SetPriority Kind = iota // of Job, to Value
	MoveJob                 // Job to Queue
	SetQueue                // Property of Queue to Value, or Capacities to Shares
	KillJob                 // Job
)

// Action is one change of one knob.
type Action struct {
	Kind     Kind
	Job      string // ID
	Queue    string
	Property string
	Value    float64
	Shares   []Share // Property is Capacities
	Why      string  // one line for the log
}

// Capacities is a property of a parent queue: the capacities, in percent, of the queues in it. A scheduler takes them only if they add up to what they
// added up to before, so that they are changed together, and put back together.
const Capacities = "capacities"

// Share is the capacity of a queue.
type Share struct {
	Queue string
	Value float64 // percent
}

// SetCapacities changes the capacities of some of the queues of one parent. Those that are not named stay as they are.
func SetCapacities(why string, shares ...Share) Action {
	a := Action{Kind: SetQueue, Property: Capacities, Shares: shares, Why: why}
	if len(shares) > 0 {
		a.Queue = Parent(shares[0].Queue)
	}
	return a
}

// Parent is the queue that a queue is in.
func Parent(queue string) string {
	if i := strings.LastIndexByte(queue, '.'); i >= 0 {
		return queue[:i]
	}
	return "root"
}

// SameQueue tells whether two names mean one queue: the root may be left out.
func SameQueue(a, b string) bool {
	return strings.TrimPrefix(a, "root.") == strings.TrimPrefix(b, "root.")
}

// Receipt says what became of an action.
type Receipt struct {
	Action   Action
	Asked    unit.Time
	InForce  unit.Time // when it took effect
	Old, New float64
	OldQueue string
	Back     bool  // the driver has put it back as it left; the policy did not ask for it
	Err      error // refused: nothing was changed
}

// Steerer decides. Step is called with what is seen now; it answers what to do and how long to wait before the next look
// (0: never again). It keeps its own state between steps and touches nothing else.
type Steerer interface {
	Step(seen *Snapshot) (do []Action, again unit.Time)
}

// Func is a function that decides.
type Func func(seen *Snapshot) (do []Action, again unit.Time)

// Step implements [Steerer].
func (f Func) Step(seen *Snapshot) ([]Action, unit.Time) { return f(seen) }

// Delays are the times an engine takes between an action and its effect.
type Delays struct {
	Sense unit.Time // age of a snapshot when it is seen
	Job   unit.Time // priority, move, kill
	Queue unit.Time // a queue's property: a reload that takes a time of its own
	// Poll is the period at which a file with the queues' properties is looked at. One that changed is read again once its last
	// change is more than Age old: each change starts that wait anew, and replaces what was written before and not read yet.
	// 0: there is no file, and Queue holds.
	Poll, Age unit.Time
	// Spacing is the least time between two changes of a queue's property that a driver makes. One that comes sooner waits; the next one of the
	// same property takes its place.
	Spacing unit.Time
	// PerHour is how many changes of queues' properties a driver makes in any hour; the others are refused. 0: as many as are asked for.
	PerHour int
}

// FairFile are the delays of a Fair Scheduler's allocation file: 5 to 15 s for a queue's property.
func FairFile() Delays { return Delays{Poll: 10 * unit.Second, Age: 5 * unit.Second} }

// FileSpacing is how often such a file is changed at most by a driver that wants to be heard: more often, and it would never be old enough.
const FileSpacing = 5 * unit.Second

// PerHour is the number of changes an hour that a driver makes unless it is told another.
const PerHour = 120

// AtOnce are the delays of a Capacity Scheduler, which takes over a queue's property while it is asked to: none.
func AtOnce() Delays { return Delays{} }

// Explainer is a Steerer that can say what its last step saw and decided, as pairs for a line of a log. A pair's key is a word in
// lower case; "decision" and "why" come last.
type Explainer interface {
	Explain() []slog.Attr
}

// Decisions are the words for what a policy decides that engines and reports know; others may follow. Refuse says that what was seen cannot be
// acted on.
var Decisions = []string{"wait", Refuse, "raise", "lower", "set", "restore"}

// Refuse is the decision of a policy that cannot act on what it sees.
const Refuse = "refuse"

// Decided splits the last two pairs off what a policy explains.
func Decided(attrs []slog.Attr) (decision, why string) {
	for _, a := range attrs {
		switch a.Key {
		case "decision":
			decision = a.Value.String()
		case "why":
			why = a.Value.String()
		}
	}
	return decision, why
}

// Line is what a policy explains as one line of key=value pairs, after the time.
func Line(now unit.Time, attrs []slog.Attr) string {
	var b strings.Builder
	b.WriteString("t=" + strconv.FormatFloat(now.Seconds(), 'f', -1, 64))
	for _, a := range attrs {
		b.WriteString(" " + a.Key + "=")
		switch {
		case a.Value.Kind() == slog.KindFloat64:
			b.WriteString(strconv.FormatFloat(a.Value.Float64(), 'f', -1, 64))
		case a.Key == "why":
			b.WriteString(strconv.Quote(a.Value.String()))
		default:
			b.WriteString(a.Value.String())
		}
	}
	return b.String()
}

// Describer is a Steerer that can tell a person, before it begins, what it found and what it keeps to.
type Describer interface {
	// Found describes the present value of the knob, from a queue as seen.
	Found(q *Queue) string
	// Bounds describes which values it may write.
	Bounds() string
}

// Refuser is a Steerer that can tell whether its last step could not act on what it saw. For too long, and a driver puts everything back.
type Refuser interface {
	Refused() bool
}

// Renewer is a Steerer of which a fresh one can be made, for a rehearsal in which the driver has lost sight of the scheduler.
type Renewer interface {
	Renew() (Steerer, error)
}

// Declarer is a Steerer that knows which knobs were declared for it; a rehearsal refuses the others, as a live driver does.
type Declarer interface {
	Allow(kind Kind, property string) error
}

// Corrector is a Steerer that wants to know when a change it asked for was not made, or has not come into force: what it takes for the
// present value is not.
type Corrector interface {
	NotMade(a Action)
}
