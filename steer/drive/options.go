package drive

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/yardmaster/yardmaster/steer"
)

// Options say what to drive, and how.
type Options struct {
	Engine  Engine
	New     func() (steer.Steerer, error) // a fresh policy, at the start and after a long silence
	Act     bool                          // false: decide and tell, change nothing
	Journal *Journal                      // open and locked; nil only when !Act
	// Lock is a further lock for drivers that cannot see each other's journals; nil: none. When it is lost the driver stops at once,
	// changes nothing any more and leaves its journal open.
	Lock Lock
	// Bound keeps a value within what is allowed and says so in a few words; nil: anything goes. What was found at the start is
	// always allowed.
	Bound   func(Knob, float64) (float64, string)
	Spacing time.Duration // least time between writes of a knob (the larger of this and the engine's)
	PerHour int           // most writes in any hour; 0: 120. Putting back is not counted
	Silence time.Duration // no snapshot, or none that the policy can use, for so long: restore and wait; 0: 60 s
	Settle  time.Duration // good snapshots for so long before acting again; 0: 15 s
	Verify  time.Duration // a write must be in force after so long; 0: 20 s
	Restore time.Duration // how long to try to put things back when leaving; 0: 30 s
	Observe func(Event)   // one call an event, one at a time
	Clock   Clock         // nil: the real one
}

// Lock keeps other drivers away from the same scheduler.
type Lock interface {
	Acquire(ctx context.Context) error // waits until it is held
	Lost() <-chan struct{}             // closed when it is not held any more
	Release() error
}

// ErrLost is why a driver stops that has lost its lock.
var ErrLost = errors.New("the lock is lost: nothing is changed any more, and what was changed is left to the next holder")

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Engine == nil:
		return o, errors.New("drive: no engine")
	case o.New == nil:
		return o, errors.New("drive: no policy")
	case o.Act && o.Journal == nil:
		return o, errors.New("drive: changes need a journal")
	}
	o.PerHour = cmp.Or(max(o.PerHour, 0), 120)
	o.Silence = cmp.Or(max(o.Silence, 0), time.Minute)
	o.Settle = cmp.Or(max(o.Settle, 0), 15*time.Second)
	o.Verify = cmp.Or(max(o.Verify, 0), 20*time.Second)
	o.Restore = cmp.Or(max(o.Restore, 0), 30*time.Second)
	if o.Clock == nil {
		o.Clock = WallClock{}
	}
	if o.Observe == nil {
		o.Observe = func(Event) {}
	}
	return o, nil
}
