package session

import (
	"context"
	"time"

	"github.com/yardmaster/yardmaster/steer/drive/live"
)

// A steerer can hang without ending: by a signal, a debugger, a stuck disk. Its driver therefore sends the guard a heartbeat at every call of
// the engine and while it waits. They come from the driver's own goroutine: one that hangs sends none.

// StalledAfter is the default time without a heartbeat after which a guard kills its steerer; one call takes at most half of that.
const StalledAfter = time.Minute

const beatsWithin = 10 // heartbeats in that time

// pulseClock is a clock that sends heartbeats while it waits.
type pulseClock struct {
	live.WallClock
	each time.Duration
	beat func()
}

// Wait implements live.Clock.
func (p pulseClock) Wait(ctx context.Context, d time.Duration) error {
	for end := p.Now().Add(d); ; {
		p.beat()
		left := end.Sub(p.Now())
		if err := p.WallClock.Wait(ctx, min(left, p.each)); err != nil || left <= p.each {
			return err
		}
	}
}

func wait(ctx context.Context, d time.Duration) error { return live.WallClock{}.Wait(ctx, d) }
