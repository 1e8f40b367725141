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
	// Set says that the configuration names it. If not, a default or inherited value holds, and restoring means removing the setting.
	Set    bool    `json:"set"`
	Number float64 `json:"number"` // effective value, inherited or not
	// Mark identifies the driver that wrote the value, where the engine can store it. It is written and removed with the value.
	Mark string `json:"mark,omitempty"`
}

// Mark says that a driver has changed a setting and not restored it, by what the scheduler's configuration has.
type Mark struct {
	Queue, Property string
	Value           string // of the setting now; "": unset, or several settings
	Journal         string // which has the old value: machine:folder
	Name            string // of the mark in the configuration
}

// Engine is a running scheduler that can be observed and changed: sensors, and knobs that can be read, written and restored. Its calls
// return when their context ends.
type Engine interface {
	Scheme
	// Snapshot is the current state. Its Now counts from the Unix epoch. What a sensor cannot measure is left as unknown; an error
	// means that nothing in it may be acted on.
	Snapshot(ctx context.Context) (steer.Snapshot, error)
	// Read returns a knob's configured value, or ErrGone if the knob no longer exists.
	Read(ctx context.Context, k Knob) (Value, error)
	// Write changes one knob. On ErrOutcomeUnknown the change may or may not have been made; on any other error it was not.
	Write(ctx context.Context, k Knob, v Value) error
	// InForce reports whether the scheduler already uses a value: configuring and applying it may be seconds apart.
	InForce(ctx context.Context, k Knob, v Value) (bool, error)
}

// Scheme is what a driver must know about a scheduler in advance.
type Scheme interface {
	// Identity names the scheduler: two drivers of the same one get the same text, wherever they run.
	Identity() string
	// Value is what to write for an action.
	Value(k Knob, number float64) Value
	// Spacing is the min time between two writes of a knob.
	Spacing(k Knob) time.Duration
}

// ErrOutcomeUnknown is the error of a write that may have been carried out. The knob must be read back.
var ErrOutcomeUnknown = errors.New("it is not known whether the change was made")

// ErrEnded is the error of a knob whose job has certainly ended: there is nothing to restore.
var ErrEnded = errors.New("the job has ended")

// ErrGone is the error of a knob that does not exist: its queue was removed, or a scheduler that has just started does not know it yet. If it stays
// missing there is nothing to restore.
var ErrGone = errors.New("it is not there any more")
