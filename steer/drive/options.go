package drive

import (
	"cmp"
	"errors"
	"time"

	"github.com/yardmaster/yardmaster/steer"
)

// Rules configure a driver.
type Rules struct {
	Scheme  Scheme                        // of the scheduler
	New     func() (steer.Steerer, error) // makes a fresh policy, at the start and after an outage longer than Silence
	Act     bool                          // false: decide and report, change nothing
	Journal *Journal                      // open and locked; nil only when !Act
	// Bound clamps a value and says so in a few words; nil: no bounds. The value found at the start is
	// always allowed.
	Bound func(Knob, float64) (float64, string)
	// Queues are those whose properties and jobs may be touched, and to which jobs may be moved; nil: all. Restores ignore it.
	Queues []string
	// Allow says why a knob must not be changed; nil: all of the engine's knobs may be. Restores ignore it.
	Allow   func(Knob) error
	Spacing time.Duration // min time between writes of a knob (the larger of this and the engine's)
	PerHour int           // max writes in any hour; 0: 120. Restores and moves of jobs do not count: see steer.MovesPerSample
	Silence time.Duration // timeout without a snapshot that the policy can use: restore and wait; 0: 60 s
	Settle  time.Duration // how long snapshots must be good before acting again; 0: 15 s
	Verify  time.Duration // timeout for a write to be in force; 0: 20 s
	Restore time.Duration // timeout for restoring on exit; 0: 30 s
}

// ErrLost is the error of a driver that has lost its lock.
var ErrLost = errors.New("the lock is lost: nothing is changed any more, and what was changed is left to the next holder")

func (r Rules) check() error {
	switch {
	case r.Scheme == nil:
		return errors.New("drive: no engine")
	case r.New == nil:
		return errors.New("drive: no policy")
	case r.Act && r.Journal == nil:
		return errors.New("drive: changes need a journal")
	}
	return nil
}

func (r Rules) withDefaults() Rules {
	r.PerHour = cmp.Or(max(r.PerHour, 0), 120)
	r.Silence = cmp.Or(max(r.Silence, 0), time.Minute)
	r.Settle = cmp.Or(max(r.Settle, 0), 15*time.Second)
	r.Verify = cmp.Or(max(r.Verify, 0), 20*time.Second)
	r.Restore = cmp.Or(max(r.Restore, 0), 30*time.Second)
	return r
}
