// Package whatif compares runs. Compare runs one workload under several schedulers, with several
// seeds, and says what differs.
//
// Every scheduler sees the same random numbers: a seed determines how long each task takes and which attempts fail, whoever
// starts them, so two schedulers are compared seed by seed and most of the noise cancels out. A change in percent is the ratio of
// the two means, mean(b)/mean(a), less one, with a 95 % interval from the jackknife on its logarithm (result.Paired). Where a
// busy seed doubles the waits under both schedulers, that does not widen the interval of the change. The difference itself, b - a, is
// given with the plain t interval of the seeds' differences.
//
// A run is one goroutine; as many run at once as there are processors. Results are stored by scheduler and
// seed, so they do not depend on that number.
package whatif

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/yardmaster/yardmaster/report"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

// Plan is what to compare: every variant is run with every seed. The first variant is the baseline. Listeners of a variant (Sink, SteerLog)
// hear its run with the first seed.
type Plan struct {
	Variants []run.Spec
	Seeds    []uint64
	Fit      bool // run no more seeds than fit ten seconds, but MinReplays at least
	// Touched names what each variant changes, by variant; nil: nothing in particular. The answer is about these first.
	Touched [][]verdict.Subject
	// Doubts are those about the history; see Doubt.
	Doubts Doubts
	// Meter, if set, returns a sink that hears the run of a variant with a seed, by their positions. Several goroutines call it.
	Meter func(variant, seed int) sim.Sink
	// Pictures asks for what a report shows of the first seed's runs.
	Pictures bool
	// BySize asks for rows about slowdowns by the size of jobs.
	BySize bool
	// Workers is the number of runs at once; 0: as many as there are processors.
	Workers int
	// Progress, if set, is called with the share of all the work that is done (negative: unknown) and the number of jobs that have
	// finished in all runs. It must not block; several goroutines call it.
	Progress func(done float64, jobs int64)
}

// names are those of the variants; duplicates are made distinct.
func (p *Plan) names() []string {
	seen := map[string]int{}
	names := make([]string, len(p.Variants))
	for i := range p.Variants {
		names[i] = cmp.Or(p.Variants[i].Name, p.Variants[i].Scheduler.Title())
		if seen[names[i]]++; seen[names[i]] > 1 {
			names[i] = fmt.Sprintf("%s (%d)", names[i], seen[names[i]])
		}
	}
	return names
}

// labels are short names for sentences: of variants their names, of schedulers what distinguishes them.
func (p *Plan) labels() []string {
	labels, names := report.Labels(p.names()), p.names()
	for i := range p.Variants {
		if p.Variants[i].Name != "" {
			labels[i] = names[i]
		}
	}
	return labels
}

// Comparison is the result of Compare.
type Comparison struct {
	Schedulers []string
	Seeds      []uint64
	Runs       [][]*result.Run // by scheduler, then seed
	Rows       []verdict.Row
	Answers    []Answer         // what a person would repeat: one per variant, or of a single run
	Groups     []verdict.Group  // queues, users and classes: of each kind, who loses comes first
	Warnings   []string         // why none of this may hold; they come first
	Notes      []string         // caveats
	Pictures   []report.Picture // of the first seed, by scheduler; nil unless asked for
	// Unfinished are the schedulers under which no job finished, in at least one seed, though there were jobs: they have no figures
	// and no verdict, and Notes says why.
	Unfinished []string
	Partial    bool

	stay    [][][]result.Group // see pool
	labels  []string           // of the schedulers, in sentences
	touched [][]verdict.Subject
	common  int       // rows that all comparisons have, and the share of met deadlines
	read    []string  // notes of the workload's reader, for the first seed
	drawn   string    // what each seed draws for itself; "": the jobs are the same
	other   []bool    // by scheduler: it has another workload than the first
	within  unit.Time // by how much submissions move in a perturbed replay; 0: they do not
	alike   bool      // several seeds gave the same figures
	batch   bool      // all jobs are there from the start: their makespan says something
	doubts  Doubts
	// bySize asks for rows about slowdowns by size.
	bySize bool
}

// Compare runs the plan. When ctx ends, it returns what there is with Partial set and no error; if not even one seed has
// finished under every scheduler, there is nothing to compare and Rows is empty.
func Compare(ctx context.Context, p Plan) (*Comparison, error) {
	if len(p.Variants) == 0 || len(p.Seeds) == 0 {
		return nil, fmt.Errorf("compare: needs at least one scheduler and one seed")
	}
	c := &pool{plan: p, names: p.names(), cache: newCache(p)}
	for i := range p.Variants { // reject invalid runs before any work is done
		v := &p.Variants[i]
		if err := v.Check(); err != nil {
			return nil, fmt.Errorf("%s: %w", c.names[i], err)
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	n := len(p.Seeds)
	if p.Fit {
		n = min(n, MinReplays) // at least
	}
	c.progress = make([]gauge, len(p.Variants)*n)
	c.runs = make([][]*result.Run, len(p.Variants))
	for i := range c.runs {
		c.runs[i] = make([]*result.Run, len(p.Seeds))
	}
	c.pictures = make([]report.Picture, len(p.Variants))
	if len(p.Variants) > 1 {
		if _, err := c.cache.within(ctx); err != nil && ctx.Err() == nil {
			return nil, fmt.Errorf("%s, seed %d: %w", c.names[0], p.Seeds[0], err)
		}
	}
	if c.findMoves(ctx); c.moved != nil {
		c.stay = make([][][]result.Group, len(p.Variants))
		for i := range c.stay {
			c.stay[i] = make([][]result.Group, len(p.Seeds))
		}
	}

	// Seed by seed, so that a seed's jobs and times on the empty cluster can be dropped once its runs are done.
	play := func(from, to int) {
		run.Each(ctx, (to-from)*len(p.Variants), p.Workers, func(i int) {
			i += from * len(p.Variants)
			if err := c.run(ctx, i%len(p.Variants), i/len(p.Variants)); err != nil {
				c.fail(i, err)
				stop()
			}
		})
	}
	from := 0
	if p.Fit {
		play(0, 1)
		from, n = 1, c.fit()
		c.progress = append(c.progress, make([]gauge, n*len(p.Variants)-len(c.progress))...)
		c.plan.Seeds = p.Seeds[:n]
	}
	play(from, n)
	if c.err != nil {
		return nil, c.err
	}
	return c.compare(), nil
}

// pool runs a plan.
type pool struct {
	plan  Plan
	names []string
	cache *cache
	// Each of these is written by the goroutine that ran it.
	runs     [][]*result.Run
	pictures []report.Picture
	stay     [][][]result.Group // by scheduler, then seed: queues without the jobs that a variant moves; nil: none moves any
	read     []string           // notes of the first run's reader

	moved map[string]bool // jobs that some variant moves to another queue; nil: none

	mu       sync.Mutex
	err      error
	errAt    int // index of the failed run: the error of the lowest one is reported, whichever failed first
	progress []gauge
}

func (c *pool) fail(at int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil || at < c.errAt {
		c.err, c.errAt = err, at
	}
}

// update records the progress of one run and reports that of all.
func (c *pool) update(at int, done float64, jobs int64) {
	if c.plan.Progress == nil {
		return
	}
	c.mu.Lock()
	if done >= 0 {
		c.progress[at].done = max(c.progress[at].done, done)
	} else {
		c.progress[at].blind = true
	}
	c.progress[at].jobs = max(c.progress[at].jobs, jobs)
	share, all, blind := 0.0, int64(0), false
	for _, g := range c.progress {
		share, all, blind = share+g.done, all+g.jobs, blind || g.blind && g.done < 1
	}
	if share /= float64(len(c.progress)); blind && len(c.progress) == 1 {
		share = -1
	}
	c.mu.Unlock()
	c.plan.Progress(share, all)
}

// gauge is the progress of one run.
type gauge struct {
	done  float64
	blind bool // the number of jobs is unknown
	jobs  int64
}

func (c *pool) run(ctx context.Context, variant, seed int) error {
	p, s := &c.plan, c.plan.Variants[variant]
	s.Seed = p.Seeds[seed]
	defer c.cache.done(seed)
	if ctx.Err() != nil {
		return nil
	}
	wrap := func(err error) error { return fmt.Errorf("%s, seed %d: %w", c.names[variant], s.Seed, err) }
	total, err := c.cache.fill(ctx, &s, seed)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return wrap(err)
	}
	if seed > 0 {
		s.Sink, s.SteerLog, s.Containers = nil, nil, nil
	}
	if p.Meter != nil {
		s.Sink = result.Tee(p.Meter(variant, seed), s.Sink)
	}
	var paint *painter
	if p.Pictures && seed == 0 {
		paint = newPainter()
		s.Sink = result.Tee(paint.timeline, paint.byJob, paint.jobs, s.Sink)
	}
	var stay *staying
	if c.moved != nil {
		stay = &staying{result.NewCollector(result.Options{}), c.moved}
		s.Sink = result.Tee(stay, s.Sink)
	}
	at := seed*len(p.Variants) + variant
	s.Progress = func(g sim.Progress) { c.update(at, share(g.Finished, total), g.Finished) }
	got, err := run.Result(ctx, s)
	if err != nil {
		return wrap(err)
	}
	if c.runs[variant][seed] = got.Run; stay != nil {
		c.stay[variant][seed] = stay.queues()
	}
	if variant == 0 && seed == 0 {
		c.read = got.Notes
	}
	if paint != nil {
		c.pictures[variant] = paint.picture(&s, got.Curves)
	}
	c.update(at, 1, got.Jobs.Finished)
	return nil
}

// share is the part of total jobs that have finished; negative if the total is unknown.
func share(finished, total int64) float64 {
	if total <= 0 {
		return -1
	}
	return min(1, float64(finished)/float64(total))
}
