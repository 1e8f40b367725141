package live

import (
	"context"
	"time"

	"github.com/yardmaster/yardmaster/steer/drive"
)

// Options configure a live driver.
type Options struct {
	drive.Rules // their Scheme is the engine's
	Engine      drive.Engine
	// Lock is a further lock for drivers that cannot see each other's journals; nil: none. When it is lost the driver stops immediately,
	// changes nothing more and leaves its journal open.
	Lock    Lock
	Observe func(drive.Event) // one call per event, never concurrent
	Clock   Clock             // nil: the real one
	Alive   func()            // called before and after every call that may hang; nil: not called
	// Trace receives every request of the machine with its response, starting with an empty one with the start time; nil: not traced. A machine that is
	// fed these responses makes the same requests.
	Trace func(drive.Request, drive.Answer)
}

// Lock excludes other drivers from the same scheduler.
type Lock interface {
	Acquire(ctx context.Context) error // waits until it is held
	Lost() <-chan struct{}             // closed when it is no longer held
	Release() error
}

// Recover restores all open knobs of the journal and returns their number. It tries until the context ends.
func Recover(ctx context.Context, e drive.Engine, j *drive.Journal, observe func(drive.Event)) (restored int, err error) {
	return Recovery{Engine: e, Journal: j, Observe: observe}.Run(ctx)
}

// Recovery restores what a driver has changed. It is idempotent and works from any point at which a driver ended.
type Recovery struct {
	Engine  drive.Engine
	Journal *drive.Journal
	Force   bool          // also restores what somebody else has changed since
	Gone    time.Duration // a knob missing from every reading for this long counts as removed; 0: a minute
	Observe func(drive.Event)
	Clock   Clock // nil: the real one
}

// Run tries until everything is restored or the context ends.
func (r Recovery) Run(ctx context.Context) (restored int, err error) {
	m := drive.NewRecovery(r.Engine, r.Journal, r.Force, r.Gone)
	l := &Runner{Engine: r.Engine, Journal: r.Journal, Observe: r.Observe, Clock: r.Clock}
	err = l.Run(ctx, m)
	return m.Restored(), err
}
