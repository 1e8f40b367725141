package experiment

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
)

// A run is made once for each seed, and one that was cancelled is made again; the workloads of the last seeds are kept.
func TestCache(t *testing.T) {
	var mu sync.Mutex
	made, ran := 0, 0
	c := &Cache[float64, string]{
		Make: func(seed uint64) (float64, error) {
			mu.Lock()
			defer mu.Unlock()
			if made++; seed == 9 {
				return 0, errors.New("no such seed")
			}
			return float64(seed), nil
		},
		Run: func(ctx context.Context, _ uint64, w float64, of string) (Metrics, error) {
			mu.Lock()
			ran++
			mu.Unlock()
			return Metrics{of: w}, ctx.Err()
		},
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := c.Get(ctx, 1, map[string]string{"": "a"}); !errors.Is(err, context.Canceled) {
		t.Fatalf("a cancelled run: %v", err)
	}
	ran = 0
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			got, err := c.Get(context.Background(), 1, map[string]string{"": "a", "2/": "b", "3/": "c"})
			if err != nil || !maps.Equal(got, Metrics{"a": 1, "2/b": 1, "3/c": 1}) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	wait.Wait()
	if made != 1 || ran != 3 {
		t.Errorf("%d workloads and %d runs were made, want 1 and 3", made, ran)
	}
	for seed := range uint64(cachedSeeds) {
		if w, err := c.Workload(seed + 2); w != float64(seed+2) || err != nil {
			t.Error(w, err)
		}
	}
	if len(c.seeds) != cachedSeeds || slices.ContainsFunc(c.seeds, func(s *cached[float64, string]) bool { return s.seed == 1 }) {
		t.Errorf("%d seeds are kept", len(c.seeds))
	}
	if _, err := c.Get(context.Background(), 9, map[string]string{"": "a"}); err == nil {
		t.Error("a seed without a workload")
	}
}
