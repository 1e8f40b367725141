package live

import (
	"context"
	"time"

	"github.com/yardmaster/yardmaster/steer/drive"
)

// Options say what to drive live, and how.
type Options struct {
	drive.Rules // their Scheme is the engine's
	Engine      drive.Engine
	// Lock is a further lock for drivers that cannot see each other's journals; nil: none. When it is lost the driver stops at once,
	// changes nothing any more and leaves its journal open.
	Lock    Lock
	Observe func(drive.Event) // one call an event, one at a time
	Clock   Clock             // nil: the real one
	Alive   func()            // called before and after everything that may hang; nil: nobody wants to know
	// Trace is shown every request of the machine with its answer, at first none with the time at the start; nil: not kept. A machine that is given these
	// answers asks the same again.
	Trace func(drive.Request, drive.Answer)
}

// Lock keeps other drivers away from the same scheduler.
type Lock interface {
	Acquire(ctx context.Context) error // waits until it is held
	Lost() <-chan struct{}             // closed when it is not held any more
	Release() error
}

// Recover puts back all that the journal says is open and tells how many knobs that were. It tries until the context ends.
func Recover(ctx context.Context, e drive.Engine, j *drive.Journal, observe func(drive.Event)) (restored int, err error) {
	return Recovery{Engine: e, Journal: j, Observe: observe}.Run(ctx)
}

// Recovery puts back what a driver has changed. It may be done again at any time, and from any point at which a driver ended.
type Recovery struct {
	Engine  drive.Engine
	Journal *drive.Journal
	Force   bool          // puts back also what somebody else has changed since
	Gone    time.Duration // a knob that is missing from every reading for so long counts as removed; 0: a minute
	Observe func(drive.Event)
	Clock   Clock // nil: the real one
}

// Run tries until everything is put back or the context ends.
func (r Recovery) Run(ctx context.Context) (restored int, err error) {
	m := drive.NewRecovery(r.Engine, r.Journal, r.Force, r.Gone)
	l := &live{engine: r.Engine, journal: r.Journal, observe: r.Observe, clock: r.Clock}
	err = l.run(ctx, m)
	return m.Restored(), err
}
