package slowdown

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/unit"
)

// playing is a run of W-1121.
type playing struct {
	load       float64
	definition string
	scheduler  string
}

// cache has the workloads of seeds and the figures of runs on them.
type cache = x.Cache[*w1121, playing]

func newCache() *cache {
	return &cache{
		Make: func(seed uint64) (*w1121, error) { return newW1121(seed), nil },
		Run: func(ctx context.Context, seed uint64, w *w1121, p playing) (x.Metrics, error) {
			o := outcome{size: func(r *sim.JobRecord) float64 { return w.sizes[r.Seq] }}
			sum, err := o.play(ctx, &run.Spec{Cluster: w.cluster, Workload: run.Jobs(w.at(p.load, p.definition)), Seed: seed, Alone: w.alone}, p.scheduler)
			if err != nil {
				return nil, fmt.Errorf("%s at %g: %w", p.scheduler, p.load, err)
			}
			return o.figures(sum.LastFinish), nil
		},
	}
}

// outcome collects the slowdowns of a run.
type outcome struct {
	size      func(*sim.JobRecord) float64     // of a job, in seconds; nil: not needed
	skip      int64                            // jobs not counted: the first to arrive
	slowdowns []float64                        // in the order of ends
	sizes     []float64                        // the same order
	busy      interface{ Busy(int) unit.Time } // nil: the policy has no partitions
}

// Job implements sim.Sink.
func (o *outcome) Job(r *sim.JobRecord) {
	if r.Seq < o.skip {
		return
	}
	o.slowdowns = append(o.slowdowns, (r.Finish-r.Job.Submit).Seconds()/r.Alone.Seconds())
	if o.size != nil {
		o.sizes = append(o.sizes, o.size(r))
	}
}

// Sample implements sim.Sink.
func (*outcome) Sample(*sim.Sample) {}

func (o *outcome) play(ctx context.Context, spec *run.Spec, scheduler string) (sim.Summary, error) {
	fresh, _, err := all.Load(all.Policies, scheduler)
	if err != nil {
		return sim.Summary{}, err
	}
	spec.Sink = o
	spec.Scheduler = run.Scheduler{Name: scheduler, New: func() (policy.Policy, error) {
		made, err := fresh()
		if made.ByNode {
			o.busy, _ = made.Order.(interface{ Busy(int) unit.Time })
		}
		return made, err
	}}
	sum, err := run.Play(ctx, spec)
	if err == nil && sum.Finished != sum.Submitted {
		err = fmt.Errorf("%d of %d jobs finished", sum.Finished, sum.Submitted)
	}
	return sum, err
}

// firstClass and lastClass are the size classes of W-1121: 100 s to 316,000 s.
const firstClass, lastClass = 2, 8

// smallJob is the size, in seconds, of jobs that should never be among the most delayed.
const smallJob = 4_000

// variabilities are the percentiles of V besides 95.
var variabilities = []int{60, 75, 90, 98, 99}

// figures are the figures of a run of W-1121 that ended then.
func (o *outcome) figures(end unit.Time) x.Metrics {
	m := o.basic()
	for _, q := range variabilities {
		m[fmt.Sprint("v", q)] = result.Variability(o.slowdowns, float64(q)/100)
	}
	m["p99"] = result.Quantile(o.slowdowns, 0.99)
	means := o.classes()
	for c := firstClass; c <= lastClass; c++ {
		m[fmt.Sprint("class/", c)] = means[c]
	}
	m["spread"] = slices.Max(slices.Collect(maps.Values(means))) / slices.Min(slices.Collect(maps.Values(means)))
	var late []float64
	small, far := 0.0, 0.0
	for i, s := range o.slowdowns {
		if s > m["p95"] {
			late = append(late, o.sizes[i])
			if o.sizes[i] < smallJob {
				small++
			}
		}
		if s > 10*m["median"] {
			far++
		}
	}
	m["late-size"] = result.Quantile(late, 0.5) / result.Quantile(o.sizes, 0.5)
	m["late-small"] = small / float64(len(o.slowdowns))
	m["far"] = far / float64(len(o.slowdowns))
	if o.busy != nil {
		first, second := o.busy.Busy(0).Seconds(), o.busy.Busy(1).Seconds()
		m["work1"] = first / (first + second)
		m["busy"] = (first + second) / (end.Seconds() * nodes * (mapSlots + reduceSlots))
	}
	return m
}

// classes are the mean slowdowns by size class.
func (o *outcome) classes() map[int]float64 {
	by, means := map[int][]float64{}, map[int]float64{}
	for i, s := range o.slowdowns {
		c := result.SizeClass(unit.FromSeconds(o.sizes[i]))
		by[c] = append(by[c], s)
	}
	for c, list := range by {
		means[c] = result.Mean(list).Mean
	}
	return means
}

// basic are the figures of any run.
func (o *outcome) basic() x.Metrics {
	return x.Metrics{
		"median": result.Quantile(o.slowdowns, 0.5), "p95": result.Quantile(o.slowdowns, 0.95), "v": result.Variability(o.slowdowns, 0.95),
	}
}
