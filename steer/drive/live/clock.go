package live

import (
	"context"
	"time"
)

// Clock is the driver's time source.
type Clock interface {
	Now() time.Time
	// Wait sleeps. It returns early, with the context's error, when the context ends.
	Wait(ctx context.Context, d time.Duration) error
}

// WallClock is real time.
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
