package drive

import (
	"context"
	"errors"
	"time"

	"github.com/yardmaster/yardmaster/steer"
)

// Knob names one setting of a running scheduler.
type Knob struct {
	Kind     steer.Kind // SetQueue, SetPriority or MoveJob
	Queue    string     // SetQueue
	Property string     // SetQueue
	Job      string     // SetPriority, MoveJob
}

// Value is a setting as the scheduler's configuration has it.
type Value struct {
	Text string `json:"text"`
	// Set says that the configuration names it. If not, a default or a parent's value holds, and that is what it goes back to.
	Set    bool    `json:"set"`
	Number float64 `json:"number"` // what it amounts to, inherited or not
	// Mark is what a driver leaves beside a value of its own, where the engine has a place for it: whose it is. Written and removed with the value.
	Mark string `json:"mark,omitempty"`
}

// Engine is a running scheduler that can be watched and changed: sensors, and knobs that can be read, written and put back as they
// were. Its calls give up when their context ends.
type Engine interface {
	Scheme
	// Snapshot is what is seen now. Its Now counts from the Unix epoch. What a sensor cannot tell is left as unknown; an error
	// means that nothing in it may be acted on.
	Snapshot(ctx context.Context) (steer.Snapshot, error)
	// Read tells how a knob is configured at present. A knob that is not there any more gives ErrGone.
	Read(ctx context.Context, k Knob) (Value, error)
	// Write changes one knob. On an error that is ErrOutcomeUnknown it may or may not have been changed; on any other it was not.
	Write(ctx context.Context, k Knob, v Value) error
	// InForce tells whether the scheduler goes by a value already: configured and taken over may lie seconds apart.
	InForce(ctx context.Context, k Knob, v Value) (bool, error)
}

// Scheme is what a driver has to know of a scheduler beforehand.
type Scheme interface {
	// Identity names the scheduler: two drivers of the same one, wherever they run, get the same text.
	Identity() string
	// Value is what to write for an action.
	Value(k Knob, number float64) Value
	// Spacing is the least time between two writes of a knob.
	Spacing(k Knob) time.Duration
}

// ErrOutcomeUnknown is an error of a write that may have been carried out. The knob has to be read back.
var ErrOutcomeUnknown = errors.New("it is not known whether the change was made")

// ErrEnded is an error of a knob whose job has ended, for certain: there is nothing to put back.
var ErrEnded = errors.New("the job has ended")

// ErrGone is an error of a knob that is not there: its queue was removed, or a scheduler that has just started does not know it yet. If it stays
// away there is nothing to put back.
var ErrGone = errors.New("it is not there any more")
