// Package steer defines the interface between steering policies and engines. A steering policy is a controller outside the engine: it watches a
// running scheduler through its sensors and changes its knobs.
//
// A Steerer is a pure step function: a snapshot goes in; actions and the time of the next sample come out. The engine (the simulator,
// a real ResourceManager, a Kubernetes cluster) has the clock, the sensors, the actuators and their delays; steer/drive stands in between. The same
// Steerer and the same driver run in virtual time and live.
package steer

import (
	"log/slog"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
)

// Snapshot is what a steering policy sees. It holds nothing that a live engine could not know.
type Snapshot struct {
	Now    unit.Time
	Total  unit.Resources // of the nodes that are up
	Used   unit.Resources
	Nodes  int
	Queues []Queue // by name
	Jobs   []Job   // present ones, in order of arrival
	// Finished are the jobs that have ended since the policy's previous sample, in the order of their ends; none in its first.
	Finished []Finished
	// CPUIdle is the share of processor time that is idle, 0 to 1; negative without such a sensor.
	CPUIdle float64
	// Age is how old the oldest reading in it was when it was handed over; 0: current.
	Age unit.Time
}

// Queue is a queue as seen from outside.
type Queue struct {
	Name       string
	Used       unit.Resources
	Containers int64
	Running    int // jobs that hold at least one container
	Waiting    int // jobs that hold none yet
	// Capacity is what the queue may use now: its fair share, or the greater of its guarantee and its limit. Zero: unknown.
	Capacity unit.Resources
	// Ceiling is the max that the queue could hold now: its maximum and its ancestors', less what others hold of them; at least 1 in each
	// component. Ceiling less Used is its headroom. Zero: the scheduler does not limit that component, or it is unknown.
	Ceiling unit.Resources
	AMs     unit.Resources // held by the AMs of jobs that have not ended; zero: none, or unknown
	// AMShare is the share of Capacity that AMs may take, 0 to 1. Zero: unknown; negative: no limit.
	AMShare float64
}

// Job is a job as seen from outside.
type Job struct {
	ID, User, Queue string
	Priority        int
	Submitted       unit.Time
	Started         bool
	Tasks, Done     int64
	Pending         int64 // containers requested and not allocated yet
	Running         int64
	Progress        float64        // as the engine reports it, in percent; 0 until known
	Maps            float64        // share of its maps' work that is done, 0 to 1; 0 until known
	AM              unit.Resources // size of its AM, as allocated; zero: unknown
	Held            unit.Resources // by its containers now, including the AM's
	Service         Service        // attained so far
	// Tags are set by its user, separated by commas, such as deadline:1700000000 (in seconds, as Now). Do not trust them: the user can write
	// anything.
	Tags string
}

// Service is container-time, weighted by the containers' resources, as YARN counts it.
type Service struct{ MemSeconds, CoreSeconds int64 } // MiB-seconds, vcore-seconds

// Finished is a job that has ended.
type Finished struct {
	ID, User, Queue string
	Status          string    // as YARN has it: SUCCEEDED, FAILED, KILLED
	Elapsed         unit.Time // since it was submitted
	Service         Service
}

// Kind is the kind of an Action.
type Kind uint8

// Kinds of actions.
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

// Capacities is a property of a parent queue: the capacities, in percent, of its child queues. A scheduler accepts them only if their sum stays the
// same, so they are changed together, and restored together.
const Capacities = "capacities"

// MinCapacity is the smallest capacity, in percent, that a policy gives to a queue: with none at all it would need other limits, too.
const MinCapacity = 0.1

// Share is the capacity of a queue.
type Share struct {
	Queue string
	Value float64 // percent
}

// SetCapacities changes the capacities of some children of one parent. The others stay as they are.
func SetCapacities(why string, shares ...Share) Action {
	a := Action{Kind: SetQueue, Property: Capacities, Shares: shares, Why: why}
	if len(shares) > 0 {
		a.Queue = Parent(shares[0].Queue)
	}
	return a
}

// Backoff is the wait before the next attempt at what was refused so many times in a row: it doubles with each, up to an hour.
func Backoff(interval unit.Time, refusals int) unit.Time {
	return min(interval<<min(refusals, 20), unit.Hour)
}

// Parent is the parent of a queue.
func Parent(queue string) string {
	if i := strings.LastIndexByte(queue, '.'); i >= 0 {
		return queue[:i]
	}
	return "root"
}

// SamePath reports whether two full paths name the same queue. A leading "root." may be missing; short names do not match: b is not root.a.b.
func SamePath(a, b string) bool {
	return strings.TrimPrefix(a, "root.") == strings.TrimPrefix(b, "root.")
}

// Receipt is the outcome of an action.
type Receipt struct {
	Action   Action
	Asked    unit.Time
	InForce  unit.Time // when it took effect
	Old, New float64
	OldQueue string
	Back     bool  // the driver restored it on exit; the policy did not ask for it
	Err      error // refused: nothing was changed
}

// Steerer decides. Step is called with a sample; it returns actions and how long to wait before the next sample
// (0: no further one). It keeps its own state between steps and touches nothing else.
type Steerer interface {
	Step(seen *Snapshot) (do []Action, again unit.Time)
}

// Func is a Steerer as a function.
type Func func(seen *Snapshot) (do []Action, again unit.Time)

// Step implements [Steerer].
func (f Func) Step(seen *Snapshot) ([]Action, unit.Time) { return f(seen) }

// Delays are an engine's delays between an action and its effect.
type Delays struct {
	Sense unit.Time // age of a snapshot when it is seen
	Job   unit.Time // priority, move, kill
	Queue unit.Time // a queue's property: duration of a reload
	// Poll is the period at which a file with the queues' properties is polled. A changed file is reloaded once its last
	// change is more than Age old: each change restarts that wait, and replaces what was written before and not loaded yet.
	// 0: there is no file, and Queue applies.
	Poll, Age unit.Time
	// Spacing is the min time between two changes of a queue's property that a driver makes. One that comes sooner waits; the next one of the
	// same property replaces it.
	Spacing unit.Time
	// PerHour is how many changes a driver makes in any hour, moves of jobs excepted; further ones are refused. 0: no limit.
	PerHour int
}

// FairFile are the delays of a Fair Scheduler's allocation file: 5 to 15 s for a queue's property.
func FairFile() Delays { return Delays{Poll: 10 * unit.Second, Age: 5 * unit.Second} }

// FileSpacing is the min time between changes of such a file: if changed more often, it would never be old enough to be loaded.
const FileSpacing = 5 * unit.Second

// PerHour is the default limit on a driver's changes per hour, moves of jobs excepted.
const PerHour = 120

// MovesPerSample is how many jobs a driver moves after one sample; further moves are refused. They do not count as changes per hour.
const MovesPerSample = 100

// AtOnce are the delays of a Capacity Scheduler, which applies a queue's property during the request: none.
func AtOnce() Delays { return Delays{} }

// Explainer is a Steerer that can describe what its last step saw and decided, as pairs for a log line. Keys are lower-case words;
// "decision" and "why" come last.
type Explainer interface {
	Explain() []slog.Attr
}

// Decisions are the decisions that engines and reports know; policies may use others. Refuse says that the sample cannot be
// acted on.
var Decisions = []string{"wait", Refuse, "raise", "lower", "set", "restore"}

// Refuse is the decision of a policy that cannot act on a sample.
const Refuse = "refuse"

// Decided splits off the last two pairs of an explanation.
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

// Line formats an explanation as one line of key=value pairs, after the time.
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

// Describer is a Steerer that can describe, before it starts, what it found and which bounds it keeps.
type Describer interface {
	// Found describes the current value of the knob, given the queue.
	Found(q *Queue) string
	// Bounds describes which values it may write.
	Bounds() string
}

// Refuser is a Steerer that can report that its last step could not act on the sample. If that lasts too long, a driver restores everything.
type Refuser interface {
	Refused() bool
}

// Renewer is a Steerer that can make a fresh one, for a rehearsal in which the driver has lost sight of the scheduler.
type Renewer interface {
	Renew() (Steerer, error)
}

// Declarer is a Steerer that knows which knobs were declared for it; a rehearsal refuses others, as a live driver does.
type Declarer interface {
	Allow(kind Kind, property string) error
}

// Corrector is a Steerer that is notified when a change it asked for was not made, or has not come into force: its idea of the
// current value is wrong then.
type Corrector interface {
	NotMade(a Action)
}
