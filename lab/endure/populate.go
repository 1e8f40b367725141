package endure

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/lab/hadoop"
)

// crowd submits applications over REST. Their masters are unmanaged and never come: each waits for room among the masters of its
// queue, or has it and shows as ACCEPTED until it is ended.
type crowd struct {
	rm   string // web address
	web  *http.Client
	ids  []string
	user string
}

func newCrowd(rm, user string) *crowd {
	t := &http.Transport{MaxIdleConnsPerHost: workers, MaxConnsPerHost: workers}
	return &crowd{rm: rm, user: user, web: &http.Client{Timeout: time.Minute, Transport: t}}
}

// workers is how many submit at a time.
const workers = 8

// each calls f for 0 to n-1, several at a time, and answers the first error.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range next {
				if err := f(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

// submit adds n applications to a queue and waits until all are known.
func (c *crowd) submit(ctx context.Context, queue string, n int) error {
	ids := make([]string, n)
	err := each(ctx, n, func(ctx context.Context, i int) error {
		var id struct {
			ID string `json:"application-id"`
		}
		if err := c.ask(ctx, http.MethodPost, "/ws/v1/cluster/apps/new-application", nil, &id); err != nil {
			return err
		}
		ids[i] = id.ID
		return c.ask(ctx, http.MethodPost, "/ws/v1/cluster/apps", map[string]any{
			"application-id": id.ID, "application-name": "crowd", "queue": queue, "unmanaged-AM": true, "max-app-attempts": 1,
			"am-container-spec": map[string]any{"commands": map[string]string{"command": "true"}},
			"resource":          map[string]int{"memory": 1024, "vCores": 1}, "application-type": "CROWD",
		}, nil)
	})
	if err != nil {
		return fmt.Errorf("submitting applications to %s: %w", queue, err)
	}
	c.ids = append(c.ids, ids...)
	return nil
}

// end kills the oldest n applications that are left, and waits until the ResourceManager has it done.
func (c *crowd) end(ctx context.Context, n int) error {
	n = min(n, len(c.ids))
	old := c.ids[:n]
	c.ids = c.ids[n:]
	err := each(ctx, n, func(ctx context.Context, i int) error {
		return c.ask(ctx, http.MethodPut, "/ws/v1/cluster/apps/"+old[i]+"/state", map[string]string{"state": "KILLED"}, nil)
	})
	if err != nil {
		return fmt.Errorf("ending applications: %w", err)
	}
	return nil
}

func (c *crowd) ask(ctx context.Context, method, path string, body, answer any) error {
	return hadoop.Ask(ctx, c.web, method, c.rm+path+"?user.name="+c.user, body, answer)
}
