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
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
)

// Plan is what to compare: every variant is run with every seed. The first variant is the baseline. A variant
// that has listeners of its own (Sink, SteerLog) is run with one seed.
type Plan struct {
	Variants []run.Spec
	Seeds    []uint64
	// Touched names what each variant changes, by variant; nil: nothing in particular. The answer is about these first.
	Touched [][]Subject
	// Pictures asks for what a report shows of the first seed's runs.
	Pictures bool
	// BySize asks for rows about slowdowns by the size of jobs.
	BySize bool
	// Workers is the number of runs at once; 0: as many as there are processors.
	Workers int
	// Note, if set, is called before any work is done if less of it is needed than was requested.
	Note func(string)
	// Progress, if set, is called with the share of all the work that is done (negative: unknown) and the number of jobs that have
	// finished in all runs. It must not block; several goroutines call it.
	Progress func(done float64, jobs int64)
}

// Subject is a queue, user or class of jobs that a question is about.
type Subject struct {
	Kind string `json:"kind"` // queue, user or class
	Name string `json:"name"`
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
	Rows       []Row
	Answers    []Answer  // what a person would repeat: one per variant, or of a single run
	Groups     []Group   // queues, users and classes: of each kind, who loses comes first
	Notes      []string  // caveats
	Pictures   []Picture // of the first seed, by scheduler; nil unless asked for
	// Unfinished are the schedulers under which no job finished, in at least one seed, though there were jobs: they have no figures
	// and no verdict, and Notes says why.
	Unfinished []string
	Partial    bool

	labels  []string // of the schedulers, in sentences
	touched [][]Subject
	common  int      // rows that all comparisons have, and the share of met deadlines
	read    []string // notes of the workload's reader, for the first seed
	drawn   string   // what each seed draws for itself; "": the jobs are the same
	other   []bool   // by scheduler: it has another workload than the first
	fixed   bool     // seeds make no difference, so one was run
	alike   bool     // several seeds gave the same figures
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
		if len(p.Seeds) > 1 && (v.Sink != nil || v.SteerLog != nil) {
			return nil, fmt.Errorf("%s: %d seeds cannot share one listener", c.names[i], len(p.Seeds))
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if len(p.Seeds) > 1 && c.deterministic(ctx) {
		p.Seeds = p.Seeds[:1]
		if c.plan, c.fixed = p, true; p.Note != nil {
			p.Note(fixedNote)
		}
	}
	c.progress = make([]gauge, len(p.Variants)*len(p.Seeds))
	c.runs = make([][]*result.Run, len(p.Variants))
	for i := range c.runs {
		c.runs[i] = make([]*result.Run, len(p.Seeds))
	}
	c.pictures = make([]Picture, len(p.Variants))

	// Seed by seed, so that a seed's jobs and times on the empty cluster can be dropped once its runs are done.
	run.Each(ctx, len(c.progress), p.Workers, func(i int) {
		if err := c.run(ctx, i%len(p.Variants), i/len(p.Variants)); err != nil {
			c.fail(i, err)
			stop()
		}
	})
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
	// fixed says that seeds make no difference, so that one is run.
	fixed bool
	// Each of these is written by the goroutine that ran it.
	runs     [][]*result.Run
	pictures []Picture
	read     []string // notes of the first run's reader

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
	var paint *painter
	if p.Pictures && seed == 0 {
		paint = newPainter()
		s.Sink = result.Tee(paint.timeline, paint.byJob, paint.jobs, s.Sink)
	}
	at := seed*len(p.Variants) + variant
	s.Progress = func(g sim.Progress) { c.update(at, share(g.Finished, total), g.Finished) }
	got, err := run.Result(ctx, s)
	if err != nil {
		return wrap(err)
	}
	c.runs[variant][seed] = got.Run
	if variant == 0 && seed == 0 {
		c.read = got.Notes
	}
	if paint != nil {
		c.pictures[variant] = paint.picture(got.Curves)
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
