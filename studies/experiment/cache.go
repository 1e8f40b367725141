package experiment

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// Cache lets the experiments of a study share runs: it holds the workloads of the last seeds, with the figures of runs on them. A plan runs
// all experiments of a seed before the next seed.
type Cache[W any, K comparable] struct {
	Make func(seed uint64) (W, error)                                       // the workload of a seed
	Run  func(ctx context.Context, seed uint64, w W, of K) (Metrics, error) // one run of it

	mu    sync.Mutex
	seeds []*cached[W, K] // the last ones used, newest first
}

// cached are the runs of one seed.
type cached[W any, K comparable] struct {
	seed  uint64
	made  sync.Once
	w     W
	err   error
	mu    sync.Mutex
	known map[K]*sharedRun
}

type sharedRun struct {
	mu sync.Mutex
	Metrics
}

// cachedSeeds is one more than the seeds that two workers use at once at the end of a seed.
const cachedSeeds = 3

// Workload is the workload of a seed.
func (c *Cache[W, K]) Workload(seed uint64) (W, error) {
	s := c.of(seed)
	return s.w, s.err
}

func (c *Cache[W, K]) of(seed uint64) *cached[W, K] {
	c.mu.Lock()
	i := slices.IndexFunc(c.seeds, func(s *cached[W, K]) bool { return s.seed == seed })
	s := &cached[W, K]{seed: seed, known: map[K]*sharedRun{}}
	if i >= 0 {
		s = c.seeds[i]
		c.seeds = slices.Delete(c.seeds, i, i+1)
	}
	c.seeds = slices.Insert(c.seeds, 0, s)
	c.seeds = c.seeds[:min(len(c.seeds), cachedSeeds)]
	c.mu.Unlock()
	s.made.Do(func() { s.w, s.err = c.Make(seed) })
	return s
}

// Get returns the figures of runs, each under the prefix that names the run. Runs that another experiment is busy with come last. A run that fails or is
// cancelled is not kept.
func (c *Cache[W, K]) Get(ctx context.Context, seed uint64, of map[string]K) (Metrics, error) {
	s := c.of(seed)
	if s.err != nil {
		return nil, s.err
	}
	all, left := Metrics{}, slices.Sorted(maps.Keys(of))
	for _, wait := range []bool{false, true} {
		var busy []string
		for _, prefix := range left {
			got, err := s.run(of[prefix]).get(wait, func() (Metrics, error) { return c.Run(ctx, seed, s.w, of[prefix]) })
			if err != nil {
				return nil, err
			}
			if got == nil {
				busy = append(busy, prefix)
			}
			all.Add(prefix, got)
		}
		left = busy
	}
	return all, nil
}

func (s *cached[W, K]) run(of K) *sharedRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[of] == nil {
		s.known[of] = &sharedRun{}
	}
	return s.known[of]
}

// get returns the figures; nil: another goroutine is busy with them, and wait is not set.
func (r *sharedRun) get(wait bool, run func() (Metrics, error)) (Metrics, error) {
	if wait {
		r.mu.Lock()
	} else if !r.mu.TryLock() {
		return nil, nil
	}
	defer r.mu.Unlock()
	if r.Metrics == nil {
		m, err := run()
		if err != nil {
			return nil, err
		}
		r.Metrics = m
	}
	return r.Metrics, nil
}
