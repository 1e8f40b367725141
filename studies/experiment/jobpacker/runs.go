package jobpacker

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policy/plan"
	"github.com/yardmaster/yardmaster/policy/planned"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/sim/transfer"
	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/experiment/facebook"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/swim"
	"github.com/yardmaster/yardmaster/workload/synth"
)

// site is a cluster with its jobs.
type site struct {
	cluster    string
	containers int64
	racks      float64
	node       int // Gbit/s
	uplink     int // Gbit/s
	jobs       int
	span       unit.Time // in which jobs arrive
	heartbeat  unit.Time
	scale      int // of what tasks read and write in the same time
}

// The simulated cluster, and the emulated one. The source divides the sizes of emulated jobs and the threshold of circuits by 100. Here all rates are
// 100 times as high, those of links and of tasks, which is the same.
var (
	simulated = &site{cluster: "600x20/20", containers: 12_000, racks: 20, node: 10, uplink: 30, jobs: 1000, span: 90 * unit.Minute, heartbeat: unit.Second, scale: 1}
	emulated  = &site{cluster: "10x10/10", containers: 100, racks: 10, node: 100, uplink: 10, jobs: 200, span: 20 * unit.Minute, heartbeat: 50 * unit.Millisecond, scale: 100}
)

// heavy is the shuffle of a heavy job: the source's threshold.
const heavy = 1.125e9

// The schedulers.
const (
	jobPacker = plan.JobPacker
	corral    = plan.Corral
	fHybrid   = "f-hybrid" // Fair on the same network
	fEPS      = "f-eps"    // Fair on packet switches as fast as circuits
	noNetwork = "none"     // Fair where data moves in no time
)

// setting is a run.
type setting struct {
	*site
	scheduler string
	batch     bool
	uplink    float64    // Gbit/s; 0: the site's
	random    bool       // a random sample of all jobs; otherwise of heavy ones
	few       bool       // as few reduces as SWIM's replay tool gives
	all       bool       // as many maps and reduces as before the division by 100
	bySize    bool       // planned jobs go by size
	interval  unit.Time  // of the circuit switch
	reduce    unit.Bytes // of shuffle and output for one reduce; 0: 10^9
	figure    bool       // task lengths as in the source's figure 4.6
	slowStart float64
	over      float64
	batches   int
	forecast  plan.Errors
	limit     bool // jobs outside the plan have few racks too
}

// machines is the number of machines by which SWIM's replay tool bounds reduces.
const machines = 600

// mix is the share of jobs that recur where not all do.
const mix = 0.5

// standard are the source's settings.
func standard(at *site, scheduler string, batch bool) setting {
	return setting{site: at, scheduler: scheduler, batch: batch, interval: unit.Second, slowStart: 0.7, batches: 5}
}

// sample are the jobs of a seed: of heavy ones, and of all.
type sample map[*site][2]workload.Slice

// draw samples jobs for both clusters from the same source.
func draw(from facebook.Source) func(seed uint64) (sample, error) {
	return func(seed uint64) (sample, error) {
		trace, err := from(swim.Default())
		if err != nil {
			return nil, err
		}
		selected := slices.DeleteFunc(slices.Clone(trace), func(j *workload.Job) bool { return shuffled(j) < heavy })
		s := sample{}
		for _, at := range []*site{simulated, emulated} {
			var both [2]workload.Slice
			for i, from := range []workload.Slice{selected, trace} {
				r := synth.Resampling{Jobs: min(at.jobs, len(from)), Arrivals: synth.Respread{How: "uniform", Time: at.span}}
				if both[i], err = r.Apply(from, seed); err != nil {
					return nil, err
				}
			}
			s[at] = both
		}
		return s, nil
	}
}

// shuffled are the bytes that a job shuffles.
func shuffled(j *workload.Job) unit.Bytes {
	if last := &j.Stages[len(j.Stages)-1]; len(last.After) > 0 {
		return last.After[0].Shuffle
	}
	return 0
}

// of are the jobs of a run, as drawn.
func (s *setting) of(drawn sample) workload.Slice {
	if s.random {
		return drawn[s.site][1]
	}
	return drawn[s.site][0]
}

// swim is the model of tasks.
func (s *setting) swim() swim.Model {
	m := swim.Default()
	m.SlowStart, m.ReduceCap = s.slowStart, s.containers
	if s.figure {
		facebook.Replayed(&m)
	}
	if s.few {
		m.Replay = swim.Replay{Machines: machines, Traced: machines}
	}
	if s.reduce > 0 {
		m.BytesPerReduce = s.reduce
	}
	if !s.all {
		m.Block, m.MapRate, m.ReduceRate = m.Block*unit.Bytes(s.scale), m.MapRate*float64(s.scale), m.ReduceRate*float64(s.scale)
	}
	return m
}

// workload are the jobs of a run.
func (s *setting) workload(jobs workload.Slice) workload.Slice {
	m := s.swim()
	out := make(workload.Slice, len(jobs))
	for i, job := range jobs {
		j := *job
		if j.Stages = m.Stages(job.Stages[0].Input, shuffled(job), job.Stages[len(job.Stages)-1].Output); s.batch {
			j.Submit = 0
		}
		out[i] = &j
	}
	return out
}

// network describes the network; "": none.
func (s *setting) network() string {
	uplink := cmp.Or(s.uplink, float64(s.site.uplink))
	switch s.scheduler {
	case noNetwork:
		return ""
	case fEPS:
		return fmt.Sprintf("racks:node=%dGbit,uplink=100Gbit", s.node)
	}
	return fmt.Sprintf("racks:node=%dGbit,uplink=%gGbit,circuit=100Gbit,interval=%gs", s.node, uplink, s.interval.Seconds())
}

// play makes a plan if the scheduler needs one, and runs it.
func play(ctx context.Context, seed uint64, drawn sample, s setting) (x.Metrics, error) {
	c, err := cluster.Parse(s.cluster)
	if err != nil {
		return nil, err
	}
	jobs := s.workload(s.of(drawn))
	o := &outcome{recurs: map[string]bool{}}
	spec := &run.Spec{
		Cluster: c, Workload: run.Jobs(jobs), Seed: seed, NoAlone: true, Sink: o,
		Model: sim.Model{Heartbeat: s.heartbeat, Replicas: 3, Application: am.MapsFirst, Sample: unit.Hour},
	}
	if text := s.network(); text != "" {
		if c.Network, err = cluster.ParseNetwork(text); err != nil {
			return nil, err
		}
		spec.NewWorker = func() (sim.Worker, error) { return transfer.New(transfer.Options{Racks: true}), nil }
	}
	for _, j := range plan.Forecast(jobs, 0, plan.Errors{Recurring: mix, Seed: seed}) {
		o.recurs[j.ID] = true
	}
	if s.scheduler == jobPacker || s.scheduler == corral {
		s.forecast.Seed = seed
		p, err := plan.New(ctx, plan.Of(c, cluster.Unit), plan.Forecast(jobs, 0, s.forecast), plan.Settings{Planner: s.scheduler, Online: !s.batch, Batches: s.batches, Over: s.over, Seed: seed, InOrder: !s.bySize})
		if err != nil {
			return nil, err
		}
		if s.limit {
			p.LimitAdHoc()
		}
		spec.Scheduler.New = func() (policy.Policy, error) { return planned.New(p), nil }
	} else if spec.Scheduler.New, _, err = all.Load(all.Policies, "fair"); err != nil {
		return nil, err
	}
	sum, err := run.Play(ctx, spec)
	if err == nil && sum.Finished != sum.Submitted {
		err = fmt.Errorf("%s: %d of %d jobs finished", s.scheduler, sum.Finished, sum.Submitted)
	}
	if err != nil {
		return nil, err
	}
	return o.figures(&sum), nil
}

// outcome collects the completion times of a run, those of jobs that recur in a mix first.
type outcome struct {
	recurs map[string]bool
	times  [2][]float64
	waits  []float64
}

// Job implements sim.Sink.
func (o *outcome) Job(r *sim.JobRecord) {
	kind := 1
	if o.recurs[r.Job.ID] {
		kind = 0
	}
	o.times[kind] = append(o.times[kind], (r.Finish - r.Job.Submit).Seconds())
	o.waits = append(o.waits, (r.Start - r.Job.Submit).Seconds())
}

// Sample implements sim.Sink.
func (*outcome) Sample(*sim.Sample) {}

func (o *outcome) figures(sum *sim.Summary) x.Metrics {
	m := x.Metrics{"makespan": sum.LastFinish.Seconds(), "wait": result.Mean(o.waits).Mean}
	both := slices.Concat(o.times[0], o.times[1])
	m["mean"] = result.Mean(both).Mean
	for _, p := range percentiles {
		m[fmt.Sprint("p", p)] = result.Quantile(both, float64(p)/100)
	}
	m["recurring"], m["ad-hoc"] = result.Quantile(o.times[0], 0.5), result.Quantile(o.times[1], 0.5)
	if t := sum.Traffic; t != nil {
		m["terabytes"], m["ocs"] = t.CrossRack/1e12, 100*t.Optical/max(1, t.CrossRack)
	}
	return m
}

// percentiles are those of completion times.
var percentiles = []int{5, 25, 50, 75, 95}

// statistics are what a sample asks of its cluster, and what no scheduler can beat: bound is the least makespan, even if data moves in no time (the
// work over all containers, or the longest job), alone the median time of jobs on the empty cluster. Uplinks is how long the uplinks need for all
// shuffles, from everywhere to everywhere.
func (s *setting) statistics(jobs workload.Slice) x.Metrics {
	m := x.Metrics{"jobs": float64(len(jobs))}
	var times []float64
	work, longest := 0.0, 0.0
	for _, j := range plan.Forecast(s.workload(jobs), 0, plan.Errors{}) {
		waves := func(n int64) float64 { return float64((n + s.containers - 1) / s.containers) }
		times = append(times, waves(j.Maps)*j.MapTime+waves(j.Reduces)*j.RedTime)
		longest = max(longest, times[len(times)-1])
		work += float64(j.Maps)*j.MapTime + float64(j.Reduces)*j.RedTime
		if m["shuffle"] += j.Shuffle / 1e12; j.Shuffle >= heavy {
			m["heavy"]++
		}
		m["maps"] += float64(j.Maps)
		m["reduces"] += float64(j.Reduces)
	}
	m["bound"], m["alone"] = max(work/float64(s.containers), longest), result.Quantile(times, 0.5)
	m["uplinks"] = m["shuffle"] * 1e12 * (s.racks - 1) / s.racks / (s.racks * cmp.Or(s.uplink, float64(s.site.uplink)) * 1e9 / 8)
	m["load"], m["uplink-load"] = work/float64(s.containers)/s.span.Seconds(), m["uplinks"]/s.span.Seconds()
	return m
}
