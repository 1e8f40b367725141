package live

import (
	"context"
	"time"
)

// Clock is where a driver's time comes from.
type Clock interface {
	Now() time.Time
	// Wait lets the time pass. It ends early, with the context's error, when the context does.
	Wait(ctx context.Context, d time.Duration) error
}

// WallClock is the real time.
type WallClock struct{}

// Now implements Clock.
func (WallClock) Now() time.Time { return time.Now() }

// Wait implements Clock.
func (WallClock) Wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
