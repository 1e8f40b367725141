package marp

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/steer"
	control "github.com/yardmaster/yardmaster/steer/marp"
	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/unit"
)

// The variants of the experiments. The first four are the source's.
var (
	steered  = []string{"cbt", "cbtws", "cbtwat"}
	compared = []string{"prj", "cbt", "cbtws", "cbtwat", "ahead", "kalman-mem", "fifo", "prj-2", "prj-3", "prj-4", "prj-5"}
	ours     = []string{"ahead", "kalman-mem", "fifo", "prj-2", "prj-3", "prj-4", "prj-5"}
)

// six is the number of jobs of the source's batches.
const six = 6

// runner runs one seed of an experiment.
type runner func(ctx context.Context, seed uint64, m x.Metrics) error

func (r runner) run(ctx context.Context, seed uint64) (x.Metrics, error) {
	m := x.Metrics{}
	if err := r(ctx, seed, m); err != nil {
		return nil, err
	}
	return m, nil
}

// each runs a batch under several variants and passes each outcome to take.
func each(b *bench, n int, on Scheduler, names []string, take func(name string, b *Batch, o *Outcome, m x.Metrics)) runner {
	return func(ctx context.Context, seed uint64, m x.Metrics) error {
		for _, name := range names {
			batch := b.batch(n, seed).under(name, on)
			o, err := batch.Play(ctx, seed)
			if err != nil {
				return fmt.Errorf("%s under %s: %w", b.Name, name, err)
			}
			o.figures(m, name)
			if take != nil {
				take(name, &batch, o, m)
			}
		}
		return nil
	}
}

// runners run E0 to E20, numbered as in the source, and our own E21 and E22.
func runners() map[string]runner {
	terasorts := func(n int, names []string, take func(name string, b *Batch, o *Outcome, m x.Metrics)) runner {
		return each(&teraSort, n, Fair, names, take)
	}
	all := map[string]runner{
		"E0": singleJob, "E1": terasorts(six, []string{"fifo", "prj"}, nil), "E2": terasorts(4, []string{"fifo", "prj"}, nil), "E3": aloneAndSix, "E4": sweep,
		"E5": terasorts(six, []string{"cbt"}, traced), "E6": smoothing,
		"E10": terasorts(six, sourceNames, func(name string, _ *Batch, o *Outcome, m x.Metrics) { curve(m, "curve/"+name, o.rates()) }),
		"E11": pageCache,
		"E12": terasorts(six, sourceNames, func(name string, _ *Batch, o *Outcome, m x.Metrics) {
			curve(m, "disk-curve/"+name, o.sampled(func(s *Second) float64 { return s.Disk / 1e9 }))
			m["disk-end/"+name] = o.Seconds[len(o.Seconds)-1].Disk / 1e9
		}),
		"E13": zeroDelay, "E14": terasorts(six, []string{"cbt"}, states), "E15": terasorts(8, []string{"prj", "cbtws"}, nil), "E16": onCapacity,
		"E17": terasorts(six, append([]string{"prj", "prj-2", "prj-3"}, steered...), nil), "E18": terasorts(six, []string{"cbtws", "cbtwat"}, traced),
		"E19": delays, "E20": sensitivity, "E21": processorsOnly, "E22": balanced,
	}
	for _, b := range benches() {
		all[b.Experiment] = each(b, six, Fair, compared, nil)
	}
	return all
}

// traced records how jobs were admitted, and the first seeds' curves.
func traced(name string, _ *Batch, o *Outcome, m x.Metrics) {
	o.pattern(m, name)
	o.gantt(m, name)
	curve(m, "share/"+name, o.sampled(func(s *Second) float64 { return s.Share }))
}

// singleJob is the profile of one job.
func singleJob(ctx context.Context, seed uint64, m x.Metrics) error {
	batch := teraSort.batch(1, seed).under("fifo", Fair)
	o, err := batch.Play(ctx, seed)
	if err != nil {
		return err
	}
	o.figures(m, "one")
	j := &o.Jobs[0]
	m["start-up"] = j.FirstMap - j.Start
	m["maps"], m["reduces"] = j.LastMap-j.FirstMap, j.End-j.LastMap
	m["idle-map"], m["idle-reduce"] = 100*o.idleShare(j.FirstMap, j.LastMap), 100*o.idleShare(j.LastMap, j.End)
	m["progress"] = o.at(math.Ceil(j.LastMap)).Progress[0]
	above := func(from, to float64) float64 { // share of the samples in a phase with more than 15 % idle
		n, all := 0.0, 0.0
		for i := range o.Seconds {
			if s := &o.Seconds[i]; s.At > from && s.At <= to {
				if all++; s.CPU.Idle > 0.15 {
					n++
				}
			}
		}
		return 100 * n / all
	}
	m["reduce-above"] = above(j.LastMap, j.End)
	curve(m, "idle-curve", o.sampled(func(s *Second) float64 { return 100 * s.CPU.Idle }))
	return nil
}

// aloneAndSix compares a job's progress per 10 s, alone and as the mean of six concurrent jobs, from the first map until the
// single job has ended.
func aloneAndSix(ctx context.Context, seed uint64, m x.Metrics) error {
	var rates [2][]float64
	maps := 0 // samples until the single job's maps are done
	for i, n := range []int{1, six} {
		batch := teraSort.batch(n, seed).under("prj", Fair)
		o, err := batch.Play(ctx, seed)
		if err != nil {
			return err
		}
		first := math.Inf(1)
		for _, j := range o.Jobs {
			first = min(first, j.FirstMap)
		}
		for t := first; t+sampling <= o.Makespan; t += sampling {
			a, z := o.at(t), o.at(t+sampling)
			sum := 0.0
			for k := range z.Progress {
				sum += z.Progress[k] - a.Progress[k]
			}
			rates[i] = append(rates[i], sum/float64(n))
		}
		if n == 1 {
			maps = min(int((o.Jobs[0].LastMap-first)/sampling)+1, len(rates[0]))
		}
		curve(m, fmt.Sprintf("curve/%d", n), rates[i])
	}
	count := func(from, to int) float64 {
		slower := 0.0
		for i := from; i < to; i++ {
			if rates[1][i] < rates[0][i] {
				slower++
			}
		}
		return 100 * slower / float64(to-from)
	}
	m["slower"], m["slower-map"], m["slower-reduce"] = count(0, len(rates[0])), count(0, maps), count(maps, len(rates[0]))
	return nil
}

// pageCache runs a batch whose input is read from disk, and one whose maps never wait for the disk: the model's closest match to a page
// cache that still holds the input of the previous batch.
func pageCache(ctx context.Context, seed uint64, m x.Metrics) error {
	for _, name := range []string{"cleared", "kept"} {
		batch := teraSort.batch(4, seed).under("prj", Fair)
		if name == "kept" {
			batch.Model.Cached.Map = 1
		}
		if err := batch.time(ctx, seed, m, name); err != nil {
			return err
		}
	}
	return nil
}

// The sweep: enough jobs to reach the AM limit at every share, and the source's number.
var sweepCounts = []int{24, six}

func sweepName(n int, share float64) string { return fmt.Sprintf("%d/%.1f", n, share) }

func sweep(ctx context.Context, seed uint64, m x.Metrics) error {
	for _, n := range sweepCounts {
		b := &teraSort
		if n > six {
			b = &smallSort
		}
		for _, s := range control.Sweep() {
			if err := b.batch(n, seed).under(fmt.Sprintf("share-%.1f", s.Value), Fair).time(ctx, seed, m, sweepName(n, s.Value)); err != nil {
				return err
			}
		}
	}
	return nil
}

// smoothing applies both smoothing methods to one run's series of means.
func smoothing(ctx context.Context, seed uint64, m x.Metrics) error {
	batch := teraSort.batch(six, seed).under("cbtws", Fair)
	o, err := batch.Play(ctx, seed)
	if err != nil {
		return err
	}
	ema, sma := smoothed(o.series(), &batch.Settings)
	m["samples"] = float64(len(ema))
	if len(ema) > 1 {
		m["var/ema"], m["var/sma"] = result.Variance(ema), result.Variance(sma)
	}
	return nil
}

// zeroDelay runs CBT with and without the actuation delay, and without the wait that covers it; and with and without
// the delay on a disk that takes no time.
func zeroDelay(ctx context.Context, seed uint64, m x.Metrics) error {
	for _, b := range benches() {
		cbt := b.batch(six, seed).under("cbt", Fair)
		fast := b.diskless(1).batch(six, seed).under("cbt", Fair)
		for name, batch := range map[string]Batch{
			"prj": b.batch(six, seed).under("prj", Fair), "cbt": cbt, "zero": cbt.undelayed(), "fast-cbt": fast, "fast-zero": fast.undelayed(),
			"zero-15": cbt.undelayed().with(func(s *control.Settings) { *s = s.On(amlimit.Capacity); s.Limit = amlimit.FairV2 }),
		} {
			o, err := batch.Play(ctx, seed)
			if err != nil {
				return err
			}
			m["makespan/"+b.Short+"/"+name] = o.Makespan
			if name == "cbt" {
				m["admitted/"+b.Short] = float64(len(o.admissions()))
			}
		}
	}
	return nil
}

// states records CPU time by state before and after the first job's maps were done.
func states(name string, _ *Batch, o *Outcome, m x.Metrics) {
	first := &o.Jobs[0]
	before, after := o.cpu(first.FirstMap, first.LastMap), o.cpu(first.LastMap, o.Makespan)
	m["wait-map"], m["wait-reduce"] = 100*before.Wait/(first.LastMap-first.FirstMap), 100*after.Wait/(o.Makespan-first.LastMap)
	curve(m, "busy/"+name, o.sampled(func(s *Second) float64 { return 100 * s.CPU.Busy }))
	curve(m, "waits/"+name, o.sampled(func(s *Second) float64 { return 100 * s.CPU.Wait }))
}

// onCapacity repeats E7 on the Capacity Scheduler, with the source's wait after an increase and with half of it.
func onCapacity(ctx context.Context, seed uint64, m x.Metrics) error {
	for _, name := range append([]string{"prj"}, steered...) {
		batch := teraSort.batch(six, seed).under(name, Capacity)
		o, err := batch.Play(ctx, seed)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		o.figures(m, name)
		o.pattern(m, name)
		m["over/"+name] = o.over(&batch)
		m["jobs/"+name] = float64(len(o.Jobs))
		if name == "prj" {
			continue
		}
		if err := teraSort.quicker(name, seed).time(ctx, seed, m, name+"-15"); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) quicker(name string, seed uint64) Batch {
	return b.batch(six, seed).under(name, Capacity).with(func(s *control.Settings) { *s = s.On(amlimit.Capacity) })
}

// time runs a batch and records its makespan.
func (b Batch) time(ctx context.Context, seed uint64, m x.Metrics, name string) error {
	o, err := b.Play(ctx, seed)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	m["makespan/"+name] = o.Makespan
	return nil
}

// once writes one value at an instant.
type once struct {
	at    unit.Time
	value float64
	rule  amlimit.Limit
	done  bool
}

func (o *once) Step(seen *steer.Snapshot) ([]steer.Action, unit.Time) {
	if !o.done && seen.Now >= o.at {
		o.done = true
		return []steer.Action{{Kind: steer.SetQueue, Queue: Queue, Property: o.rule.Property, Value: o.value, Why: "one change"}}, unit.Minute
	}
	return nil, max(o.at-seen.Now, unit.Second)
}

// delays measures the delay of one change: on an idle cluster, whose share admits no AM before it, and while a job runs maps.
func delays(ctx context.Context, seed uint64, m x.Metrics) error {
	for _, c := range []struct {
		name, latency string
		on            Scheduler
		from, to      float64
		at            unit.Time
	}{
		{"idle", "fair", Fair, 0.02, 0.05, 30 * unit.Second},
		{"busy", "fair-busy", Fair, 0.05, 0.09, 40 * unit.Second},
		{"capacity", "capacity", Capacity, 0.05, 0.09, 40 * unit.Second},
	} {
		batch := teraSort.batch(2, seed)
		batch.Scheduler, batch.Share = c.on, c.from
		batch.Steerer = func() steer.Steerer { return &once{at: c.at, value: c.to, rule: c.on.Rule()} }
		o, err := batch.Play(ctx, seed)
		if err != nil {
			return err
		}
		change := o.Changes[0]
		m["latency/"+c.latency] = change.InForce - change.Asked
		j := &o.Jobs[0]
		if c.from > 0.04 {
			j = &o.Jobs[1]
		}
		m["room/"+c.name], m["delay/"+c.name] = micro(j.FirstMap-change.InForce), micro(j.FirstMap-change.Asked)
	}
	return nil
}

// micro rounds to the simulator's clock: differences of instants carry floating-point noise.
func micro(seconds float64) float64 { return math.Round(1e6*seconds) / 1e6 }

// parameter is a numeric setting of the controllers.
type parameter struct {
	Name, Values string   // before: halved, doubled, within its bounds
	of           []string // controllers
	half, double func(*control.Settings)
}

// Has reports whether a controller has it.
func (p parameter) Has(controller string) bool { return slices.Contains(p.of, controller) }

func scaled[T ~int | ~int64 | ~float64](name, values string, of []string, field func(*control.Settings) *T) parameter {
	return parameter{name, values, of, func(s *control.Settings) { *field(s) /= 2 }, func(s *control.Settings) { *field(s) *= 2 }}
}

func parameters() []parameter {
	return []parameter{
		scaled("start share", "0.05: 0.025, 0.1", steered, func(s *control.Settings) *float64 { return &s.Steps.Start }),
		scaled("increase", "0.04: 0.02, 0.08", steered, func(s *control.Settings) *float64 { return &s.Steps.Inc }),
		scaled("decrease", "0.03: 0.015, 0.06", steered, func(s *control.Settings) *float64 { return &s.Steps.Dec }),
		scaled("idle above", "15 %: 7, 30", steered, func(s *control.Settings) *int { return &s.IdleAbove }),
		{"almost done from", "96 (CBT), 90 %: halved, 99", steered,
			func(s *control.Settings) { s.DropFrom /= 2 }, func(s *control.Settings) { s.DropFrom = 99 }},
		{"counts from", "1 %: 0, 2", steered[1:],
			func(s *control.Settings) { s.CountFrom = 0 }, func(s *control.Settings) { s.CountFrom = 2 }},
		{"weight of the newest", "0.4: 0.2, 0.8", steered[1:],
			func(s *control.Settings) { s.Current, s.Previous = 0.2, 0.8 }, func(s *control.Settings) { s.Current, s.Previous = 0.8, 0.2 }},
		{"thresholds", "3: 1, 4", steered[2:],
			func(s *control.Settings) { s.Thresholds = 1 }, func(s *control.Settings) { s.Thresholds = 4 }},
		{"highest threshold", "4: 3, 8", steered[2:],
			func(s *control.Settings) { s.Highest = 3 }, func(s *control.Settings) { s.Highest = 8 }},
		{"samples per threshold", "3: 1, 6", steered[2:],
			func(s *control.Settings) { s.SamplesPerThreshold = 1 }, func(s *control.Settings) { s.SamplesPerThreshold = 6 }},
		scaled("epsilon", "10 %: 5, 20", steered[2:], func(s *control.Settings) *int { return &s.Epsilon }),
		scaled("wait after an increase", "30 s: 15, 60", steered, func(s *control.Settings) *unit.Time { return &s.AfterIncrease }),
		scaled("look", "1 s: 0.5, 2", steered, func(s *control.Settings) *unit.Time { return &s.Interval }),
		scaled("lockout", "15 s: 7.5, 30", steered[1:], func(s *control.Settings) *unit.Time { return &s.Lockout }),
		scaled("wait when nothing waits", "20 s: 10, 40", steered[1:], func(s *control.Settings) *unit.Time { return &s.NothingWaits }),
		scaled("first wait", "5 s: 2.5, 10", steered, func(s *control.Settings) *unit.Time { return &s.Settle }),
		scaled("second wait", "10 s (CBTwAT 5): halved, doubled", steered, func(s *control.Settings) *unit.Time { return &s.Warm }),
	}
}

// sensitivity runs each controller with each of its parameters halved and doubled.
func sensitivity(ctx context.Context, seed uint64, m x.Metrics) error {
	play := func(controller, name string, change func(*control.Settings)) error {
		batch := teraSort.batch(six, seed).under(controller, Fair).with(change)
		if name != "" && batch.Settings.Steps.Start != control.SourceSteps().Start {
			batch.Share = batch.Settings.Steps.Start
		}
		return batch.time(ctx, seed, m, controller+name)
	}
	for _, c := range steered {
		if err := play(c, "", func(*control.Settings) {}); err != nil {
			return err
		}
	}
	for _, p := range parameters() {
		for _, c := range p.of {
			if err := cmp.Or(play(c, "/"+p.Name+"/half", p.half), play(c, "/"+p.Name+"/double", p.double)); err != nil {
				return err
			}
		}
	}
	return nil
}

// processorsOnly runs the benchmarks with a disk that takes no time: unchanged, and with reduces slowed down until the batch takes as
// long as the source's.
func processorsOnly(ctx context.Context, seed uint64, m x.Metrics) error {
	for _, b := range benches() {
		for _, kind := range []struct {
			name string
			of   *bench
		}{{"plain", b.diskless(1)}, {"long", b.diskless(b.longer)}} {
			for _, name := range append([]string{"prj", "ahead"}, steered...) {
				if err := kind.of.batch(six, seed).under(name, Fair).time(ctx, seed, m, b.Short+"/"+kind.name+"/"+name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
