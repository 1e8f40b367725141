package whatif

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/synth"
)

// defaultInMemory is how many jobs are worth keeping: a few hundred megabytes.
const defaultInMemory = 300_000

// cache keeps what the runs of a seed share: its jobs, if they are few enough, and their times on the empty cluster. Jobs are read for the
// first run of the seed and dropped after its last one; jobs that do not depend on the seed stay.
type cache struct {
	mu        sync.Mutex
	seeds     []uint64
	left      []int         // remaining runs, by seed
	first     *run.Workload // of the first variant
	perturb   bool          // see Plan.perturbs
	spanned   sync.Once
	span      unit.Time // of the first variant's history
	jobs      map[jobsKey]*jobs
	perturbed map[jobsKey]*jobs // those of perturbed replays
	alone     map[aloneKey]*sim.Alone
}

// jobsKey identifies the jobs of a seed; seed is -1 where all seeds have the same.
type jobsKey struct {
	of   *run.Workload
	seed int
}

// aloneKey is what times on the empty cluster depend on.
type aloneKey struct {
	of          jobsKey
	cluster     *cluster.Cluster
	startUp     unit.Time
	application string
}

// jobs is a workload that is read at most once.
type jobs struct {
	once sync.Once
	kept workload.Slice // nil: too many to keep
	said *run.Described
	err  error
}

func newCache(p Plan) *cache {
	c := &cache{
		seeds: p.Seeds, first: p.Variants[0].Workload, perturb: p.perturbs(),
		jobs: map[jobsKey]*jobs{}, perturbed: map[jobsKey]*jobs{}, alone: map[aloneKey]*sim.Alone{},
	}
	for range p.Seeds {
		c.left = append(c.left, len(p.Variants))
	}
	return c
}

// read returns the jobs of a workload, with the seed if they depend on it.
func (c *cache) read(ctx context.Context, w *run.Workload, seed int) *jobs {
	key := jobsKey{w, -1}
	if w.Drawn {
		key.seed = seed
	}
	c.mu.Lock()
	if c.jobs[key] == nil {
		c.jobs[key] = &jobs{}
	}
	js := c.jobs[key]
	c.mu.Unlock()
	js.once.Do(func() { js.err = js.read(ctx, w, c.seeds[seed]) })
	return js
}

// fill gives a run what it shares with others, and returns the number of its jobs; 0: unknown.
func (c *cache) fill(ctx context.Context, s *run.Spec, seed int) (total int64, err error) {
	js, err := c.replayed(ctx, s.Workload, seed)
	if err != nil {
		return 0, err
	}
	key := aloneKey{jobsKey{s.Workload, seed}, s.Cluster, s.Model.StartUp, s.Model.Application}
	c.mu.Lock()
	if c.alone[key] == nil {
		c.alone[key] = sim.NewAlone(s.Cluster, s.Model, s.Seed)
	}
	s.Alone = c.alone[key]
	c.mu.Unlock()
	w := *s.Workload
	s.Workload = &w
	if js.kept != nil {
		w.Open = func(uint64) (workload.Source, error) {
			return &run.Described{Source: js.kept.Source(), Noted: js.said.Noted, Assumed: js.said.Assumed}, nil
		}
		return int64(len(js.kept)), nil
	}
	src, err := w.Open(s.Seed)
	if err != nil {
		return 0, err
	}
	total = cmp.Or(w.Jobs, run.Describe(src).Count)
	if c.perturb && s.Seed != 1 {
		within, err := c.within(ctx)
		if err != nil {
			return 0, err
		}
		said := run.Describe(src)
		said.Source = synth.Jittered(src, within, s.Seed-1)
		src = said
	}
	w.Open = func(uint64) (workload.Source, error) { return src, nil }
	return total, nil
}

// read collects a workload if it is small enough.
func (js *jobs) read(ctx context.Context, w *run.Workload, seed uint64) error {
	most := cmp.Or(w.InMemory, defaultInMemory)
	if most < 0 || w.Jobs > int64(most) {
		return nil
	}
	src, err := w.Open(seed)
	if err != nil {
		return err
	}
	if c, ok := src.(io.Closer); ok {
		defer c.Close()
	}
	kept := workload.Slice{}
	for {
		j, err := src.Next()
		if errors.Is(err, io.EOF) {
			js.kept, js.said = kept, run.Describe(src)
			return nil
		}
		if err != nil {
			return err
		}
		if kept = append(kept, j); len(kept) > most {
			return nil
		}
		if len(kept)%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// done says that a run of a seed is over.
func (c *cache) done(seed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left[seed]--; c.left[seed] > 0 {
		return
	}
	for _, kept := range []map[jobsKey]*jobs{c.jobs, c.perturbed} {
		for key := range kept {
			if key.seed == seed {
				delete(kept, key)
			}
		}
	}
	for key := range c.alone {
		if key.of.seed == seed {
			delete(c.alone, key)
		}
	}
}
