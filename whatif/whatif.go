// Package whatif answers questions by loops around runs. Compare plays one workload under several schedulers, with several
// seeds, and says what differs.
//
// Every scheduler meets the same random numbers: a seed decides how long each task takes and which attempts fail, whoever
// starts them, so two schedulers are compared seed by seed and most of the noise drops out. A change in percent is the ratio of
// the two means, mean(b)/mean(a), less one, with a 95 % interval from the jackknife on its logarithm (result.Paired). Where a
// busy seed doubles the waits under both schedulers, that is not taken for doubt about the change. The difference itself, b - a, is
// given with the plain t interval of the seeds' differences.
//
// A run is one goroutine; as many run at once as there are processors. Results are put where they belong by scheduler and
// seed, so they do not depend on how many that are.
package whatif

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Scheduler is one of those compared.
type Scheduler struct {
	Name string // as typed
	New  func() (policy.Policy, error)
	RM   func() (rm.Scheduler, error) // instead of New, when the plan has a Timing

	Steer *steer.Rehearsal // who moves its settings while jobs run; nil: nobody
}

// Plan is what to compare. The first scheduler is the one that the others are compared with.
type Plan struct {
	Schedulers []Scheduler
	Seeds      []uint64
	Cluster    *cluster.Cluster
	Model      sim.Model
	NewWorker  func() sim.Worker // what plays the tasks of a run; nil: the lengths of their stages
	NoAlone    bool              // tasks have no length of their own: there are no slowdowns
	Timing     *yarn.Timing      // set: a YARN cluster is played, under the schedulers' RM; of Model only Sample is used then
	Workload   Workload

	Version string
	// Assumptions are those of the model and, as of the first seed, those of the workload. In the result of another seed the latter
	// make room for what the source of that seed says of itself, if it has a method Assumptions.
	Assumptions []string
	// Scenario is what the result of one run says that it is of.
	Scenario func(scheduler string, seed uint64) result.Scenario
	// Pictures asks for what a report shows of the first seed's runs.
	Pictures bool
	// Watch, if set, returns one more sink for a run (or nil), such as a folder to write into.
	Watch func(scheduler, seed int) sim.Sink
	// SteerLog, if set, returns where the decisions of a steered run are written, a line each, or nil.
	SteerLog func(scheduler, seed int) io.Writer
	// Workers is the number of runs at once; 0: as many as there are processors.
	Workers int
	// Note, if set, is told before any work is done that less of it is needed than was asked for.
	Note func(string)
	// Progress, if set, is told which share of all the work is done (negative when nobody knows) and how many jobs have
	// finished in all runs. It must not block; several goroutines call it.
	Progress func(done float64, jobs int64)
}

// Workload is where the jobs come from.
type Workload struct {
	// Open starts the workload afresh for a seed.
	Open func(seed uint64) (workload.Source, error)
	// Same says that every seed has the same jobs (task lengths may still be drawn).
	Same bool
	// Jobs is how many there are; 0 when nobody knows.
	Jobs int64
	// InMemory is the number of jobs up to which they are read once and shared by all runs; 0: 300,000; negative: never.
	InMemory int
}

// Comparison is the answer.
type Comparison struct {
	Schedulers []string
	Seeds      []uint64
	Runs       [][]*result.Run // by scheduler, then seed
	Rows       []Row
	Headline   string    // what a person would repeat
	Verdicts   []string  // one a metric
	Notes      []string  // what a reader should know of before believing the rest
	Pictures   []Picture // of the first seed, by scheduler; nil unless asked for
	// Unfinished are the schedulers under which no job finished, in one seed at least, though there were jobs: they have no figures
	// and no verdict, and Notes says why.
	Unfinished []string
	Partial    bool

	read  []string // what the reader of the workload had to say, of the first seed
	drawn bool     // each seed has its own jobs
	fixed bool     // seeds make no difference, so one was run
	alike bool     // several seeds gave the same figures
}

// Compare runs the plan. When ctx ends, it returns what there is with Partial set and no error; if not even one seed was
// finished under every scheduler, there is nothing to compare and Rows is empty.
func Compare(ctx context.Context, p Plan) (*Comparison, error) {
	if len(p.Schedulers) == 0 || len(p.Seeds) == 0 {
		return nil, fmt.Errorf("compare: needs at least one scheduler and one seed")
	}
	for _, s := range p.Schedulers { // a scheduler that cannot be made is told before any work is done
		if err := p.try(s); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c := &crew{plan: p, lots: newLots(p)}
	if len(p.Seeds) > 1 && c.deterministic(ctx) {
		p.Seeds = p.Seeds[:1]
		if c.plan, c.fixed = p, true; p.Note != nil {
			p.Note(fixedNote)
		}
	}
	c.progress = make([]gauge, len(p.Schedulers)*len(p.Seeds))
	c.runs = make([][]*result.Run, len(p.Schedulers))
	for i := range c.runs {
		c.runs[i] = make([]*result.Run, len(p.Seeds))
	}
	c.pictures = make([]Picture, len(p.Schedulers))

	// Seed by seed, so that a seed's jobs and times on the empty cluster can be dropped once its runs are done.
	type task struct{ scheduler, seed int }
	tasks := make(chan task)
	var wg sync.WaitGroup
	workers := unit.Positive(p.Workers, runtime.GOMAXPROCS(0))
	for range min(workers, len(p.Schedulers)*len(p.Seeds)) {
		wg.Go(func() {
			for t := range tasks {
				if err := c.run(ctx, t.scheduler, t.seed); err != nil {
					c.fail(t.seed*len(p.Schedulers)+t.scheduler, err)
					stop()
				}
			}
		})
	}
feed:
	for seed := range p.Seeds {
		for scheduler := range p.Schedulers {
			select {
			case tasks <- task{scheduler, seed}:
			case <-ctx.Done():
				break feed
			}
		}
	}
	close(tasks)
	wg.Wait()
	if c.err != nil {
		return nil, c.err
	}
	return c.compare(), nil
}

// crew runs a plan.
type crew struct {
	plan Plan
	lots *lots
	// fixed says that seeds make no difference, so that one is run.
	fixed bool
	// Each of these is written by the goroutine that ran it.
	runs     [][]*result.Run
	pictures []Picture
	read     []string // notes of the first run's reader

	mu       sync.Mutex
	err      error
	errAt    int // number of the run that failed: the first one's error is told, whoever was faster
	progress []gauge
}

func (c *crew) fail(at int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil || at < c.errAt {
		c.err, c.errAt = err, at
	}
}

// told notes how far one run is and tells how far all are.
func (c *crew) told(at int, done float64, jobs int64) {
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

// gauge is how far one run is.
type gauge struct {
	done  float64
	blind bool // nobody knows how many jobs there are
	jobs  int64
}

func (c *crew) run(ctx context.Context, scheduler, seed int) error {
	p := &c.plan
	who, number := p.Schedulers[scheduler], p.Seeds[seed]
	wrap := func(err error) error { return fmt.Errorf("%s, seed %d: %w", who.Name, number, err) }
	defer c.lots.done(seed)
	if ctx.Err() != nil {
		return nil
	}
	work, err := c.lots.open(ctx, seed)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return wrap(err)
	}
	collector := result.NewCollector(result.Options{Version: p.Version, TotalMem: p.Cluster.Total().Mem})
	sink := sim.Sink(collector)
	var paint *painter
	if p.Pictures && seed == 0 {
		paint = newPainter(number)
		sink = result.Tee(sink, paint.timeline, paint.jobs)
	}
	if p.Watch != nil {
		if w := p.Watch(scheduler, seed); w != nil {
			sink = result.Tee(sink, w)
		}
	}
	at := seed*len(p.Schedulers) + scheduler
	progress := func(g sim.Progress) { c.told(at, share(g.Finished, work.total), g.Finished) }
	helm, err := p.helm(scheduler, seed)
	if err != nil {
		return wrap(err)
	}
	sum, err := p.play(ctx, who, number, work, sink, helm, progress)
	notes := work.close()
	assumptions := append(slices.Clone(p.Assumptions), notes...)
	if err == nil && !sum.Partial {
		err = helm.missed()
	}
	if err != nil {
		return wrap(err)
	}
	var sc result.Scenario
	if p.Scenario != nil {
		sc = p.Scenario(who.Name, number)
	}
	run := collector.Finish(sum, sc, assumptions)
	if run.Steering, err = helm.finish(sum.Receipts); err != nil {
		return wrap(err)
	}
	c.runs[scheduler][seed] = run
	if scheduler == 0 && seed == 0 {
		c.read = notes
	}
	if paint != nil {
		c.pictures[scheduler] = paint.picture(collector.Curves())
	}
	c.told(at, 1, sum.Finished)
	return nil
}

// try makes a scheduler for nothing.
func (p *Plan) try(s Scheduler) (err error) {
	if p.Timing != nil {
		_, err = s.RM()
	} else {
		_, err = s.New()
	}
	return err
}

// play runs one scheduler with one seed in the engine that the plan asks for.
func (p *Plan) play(ctx context.Context, who Scheduler, seed uint64, work *opened, sink sim.Sink, at *helm, progress func(sim.Progress)) (sim.Summary, error) {
	if p.Timing != nil {
		c := yarn.Config{
			Cluster: p.Cluster, Source: work.src, NewScheduler: who.RM, Timing: *p.Timing, Seed: seed, Sink: sink, Alone: work.alone,
			Sample: p.Model.Sample, Progress: progress,
		}
		if at != nil {
			c.Steerer, c.Delays, c.Bounds = at, at.who.Delays, at.who.Bounds
		}
		return yarn.Run(ctx, c)
	}
	c := sim.Config{
		Cluster: p.Cluster, Source: work.src, NewPolicy: who.New, Model: p.Model, Seed: seed, Sink: sink, Alone: work.alone, Progress: progress,
		NoAlone: p.NoAlone,
	}
	if p.NewWorker != nil {
		c.Worker = p.NewWorker()
	}
	if at != nil {
		c.Steerer, c.Delays, c.Bounds = at, at.who.Delays, at.who.Bounds
	}
	return sim.Run(ctx, c)
}

// share is the part of total jobs that have finished; negative when nobody knows the total.
func share(finished, total int64) float64 {
	if total <= 0 {
		return -1
	}
	return min(1, float64(finished)/float64(total))
}
