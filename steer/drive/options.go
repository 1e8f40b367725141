package drive

import (
	"cmp"
	"errors"
	"time"

	"github.com/yardmaster/yardmaster/steer"
)

// Rules are what a driver goes by.
type Rules struct {
	Scheme  Scheme                        // of the scheduler
	New     func() (steer.Steerer, error) // a fresh policy, at the start and after a long silence
	Act     bool                          // false: decide and tell, change nothing
	Journal *Journal                      // open and locked; nil only when !Act
	// Bound keeps a value within what is allowed and says so in a few words; nil: anything goes. What was found at the start is
	// always allowed.
	Bound func(Knob, float64) (float64, string)
	// Queues are those whose properties and jobs may be touched, and to which jobs may be moved; nil: all. It does not hold for putting back.
	Queues []string
	// Allow says why a knob must not be turned; nil: every one may be that the engine has. It does not hold for putting back.
	Allow   func(Knob) error
	Spacing time.Duration // least time between writes of a knob (the larger of this and the engine's)
	PerHour int           // most writes in any hour; 0: 120. Putting back is not counted
	Silence time.Duration // no snapshot, or none that the policy can use, for so long: restore and wait; 0: 60 s
	Settle  time.Duration // good snapshots for so long before acting again; 0: 15 s
	Verify  time.Duration // a write must be in force after so long; 0: 20 s
	Restore time.Duration // how long to try to put things back when leaving; 0: 30 s
}

// ErrLost is why a driver stops that has lost its lock.
var ErrLost = errors.New("the lock is lost: nothing is changed any more, and what was changed is left to the next holder")

func (r Rules) withDefaults() (Rules, error) {
	switch {
	case r.Scheme == nil:
		return r, errors.New("drive: no engine")
	case r.New == nil:
		return r, errors.New("drive: no policy")
	case r.Act && r.Journal == nil:
		return r, errors.New("drive: changes need a journal")
	}
	r.PerHour = cmp.Or(max(r.PerHour, 0), 120)
	r.Silence = cmp.Or(max(r.Silence, 0), time.Minute)
	r.Settle = cmp.Or(max(r.Settle, 0), 15*time.Second)
	r.Verify = cmp.Or(max(r.Verify, 0), 20*time.Second)
	r.Restore = cmp.Or(max(r.Restore, 0), 30*time.Second)
	return r, nil
}
