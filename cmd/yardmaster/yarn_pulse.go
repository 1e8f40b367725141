package main

import (
	"context"
	"time"

	"github.com/yardmaster/yardmaster/steer/drive/live"
)

// A steerer can stop without ending: by a signal, a debugger, a disk that hangs. Its driver therefore gives the guard a sign of life at every call of
// the engine and while it waits. They come from the driver's own goroutine: one that hangs gives none.

const (
	stalledAfter = time.Minute // without a sign of life; one call takes half of that at most
	beatsWithin  = 10          // signs of life in that time
)

// pulseClock is a clock whose waiters show that they are alive.
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
