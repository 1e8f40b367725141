package rest

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// pace spaces requests evenly: no second ever sees more of them than the rate.
type pace struct {
	every time.Duration
	mu    sync.Mutex
	next  time.Time
}

func newPace(rate float64) *pace {
	if rate <= 0 {
		return nil
	}
	return &pace{every: time.Duration(float64(time.Second) / rate)}
}

func (p *pace) wait(ctx context.Context) error {
	if p == nil {
		return ctx.Err()
	}
	p.mu.Lock()
	now := time.Now()
	turn := p.next
	if turn.Before(now) {
		turn = now
	}
	p.next = turn.Add(p.every)
	p.mu.Unlock()
	return sleep(ctx, turn.Sub(now))
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
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

// backoff is the pause before attempt n (from 1): doubled each time, with jitter of up to a half, so that many
// clients of one server do not come back together.
func backoff(first time.Duration, n int) time.Duration {
	d := first << min(n-1, 5)
	return d - rand.N(d/2+1)
}
