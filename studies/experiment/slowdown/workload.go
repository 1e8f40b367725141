package slowdown

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// The cluster of all simulations.
const nodes, mapSlots, reduceSlots = 100, 6, 2

// Load definitions: what a load of 1 means.
const (
	total      = "total"      // the mean size of jobs over the mean gap fills all slots
	bottleneck = "bottleneck" // map work fills the map slots, or reduce work the reduce slots
)

// W-1121: a body of lognormal sizes, a tail of large jobs, and a few jobs with one long reduce.
const (
	jobs               = 1121
	tailJobs, longJobs = 146, 30
	bodyMu, bodySigma  = 8.366, 0.97 // of the logarithm of seconds
	bodyMin, bodyMax   = 20, 50_000
	tailMu, tailSigma  = 11.87, 0.12
	longMean           = 3800 // seconds
	mapShare           = 0.88
	mapMean, mapSigma  = 13, 0.6 // of the mean length of a job's maps
	mapMin             = 5
	taskSigma          = 0.2 // of task lengths within a job
	mapsPerReduce      = 8
	maxReduces         = 150
	reduceMin          = 6
	blockSize          = 128 * unit.MiB
	slowStart          = 0.05
)

// w1121 is the workload of one seed.
type w1121 struct {
	jobs             workload.Slice // by arrival, without submit times
	gaps             []float64      // before each job, in mean gaps
	sizes            []float64      // by arrival, in seconds
	reference        []float64      // run time on the empty cluster, in seconds
	mapWork, allWork float64
	cluster          *cluster.Cluster
	alone            *sim.Alone
	tasks            []float64 // of each job
}

// quantile is a quantile of the lognormal distribution.
func quantile(p, mu, sigma float64) float64 {
	return math.Exp(mu + sigma*math.Sqrt2*math.Erfinv(2*p-1))
}

// newW1121 draws the workload of a seed. Sizes are stratified, so that their statistics hardly depend on it.
func newW1121(seed uint64) *w1121 {
	r := rand.New(rand.NewPCG(seed, 1121))
	lognormal := func(mean, sigma float64) float64 { return mean * math.Exp(sigma*r.NormFloat64()-sigma*sigma/2) }
	const body = jobs - tailJobs
	cut := (1 + math.Erf((math.Log(bodyMax)-bodyMu)/bodySigma/math.Sqrt2)) / 2
	target := make([]float64, jobs)
	for i := range target {
		if i < body {
			target[i] = max(bodyMin, quantile((float64(i)+0.5)/body*cut, bodyMu, bodySigma))
		} else {
			target[i] = quantile((float64(i-body)+0.5)/tailJobs, tailMu, tailSigma)
		}
	}
	long := make([]float64, jobs)
	for k, i := range r.Perm(body)[:longJobs] {
		long[i] = -longMean * math.Log(1-(float64(k)+0.5)/longJobs)
	}
	w := &w1121{cluster: cluster.WithSlots(nodes, 1, mapSlots, reduceSlots)}
	lengths := func(n int64, mean float64) (list []unit.Time) {
		for range n {
			list = append(list, unit.FromSeconds(lognormal(mean, taskSigma)))
		}
		return list
	}
	for i, size := range target {
		each := max(mapMin, lognormal(mapMean, mapSigma))
		maps := int64(max(1, math.Round(mapShare*size/each)))
		if maps == 1 {
			each = max(3, min(each, mapShare*size))
		}
		reduces := min(max(int64(math.Round(float64(maps)/mapsPerReduce)), 1), maxReduces)
		reduce := reduceMin + (1-mapShare)*size/float64(reduces)
		if long[i] > 0 {
			reduce, reduces = reduce+long[i], 1
		}
		w.jobs = append(w.jobs, mapReduce(strconv.Itoa(i), lengths(maps, each), lengths(reduces, reduce)))
	}
	r.Shuffle(jobs, func(i, k int) { w.jobs[i], w.jobs[k] = w.jobs[k], w.jobs[i] })
	w.alone = sim.NewAlone(w.cluster, sim.Model{}, seed)
	for i, j := range w.jobs {
		maps, size := 0.0, 0.0
		for k := range j.Stages {
			for _, t := range j.Stages[k].Length.Values {
				size += t.Seconds()
			}
			if k == 0 {
				maps = size
			}
		}
		w.mapWork, w.allWork = w.mapWork+maps, w.allWork+size
		w.sizes = append(w.sizes, size)
		w.reference = append(w.reference, w.alone.Of(j, int64(i)).Seconds())
		w.gaps = append(w.gaps, r.ExpFloat64())
		w.tasks = append(w.tasks, float64(j.Stages[0].Tasks+j.Stages[1].Tasks))
	}
	w.gaps[0] = 0
	return w
}

// mapReduce is a job of two stages.
func mapReduce(id string, maps, reduces []unit.Time) *workload.Job {
	list := func(values []unit.Time) workload.Lengths {
		return workload.Lengths{Kind: workload.List, Values: values}
	}
	return &workload.Job{ID: id, Stages: []workload.Stage{
		{Kind: workload.Map, Tasks: int64(len(maps)), Ask: cluster.Unit, Input: unit.Bytes(len(maps)) * blockSize, Length: list(maps)},
		{Kind: workload.Reduce, Tasks: int64(len(reduces)), Ask: cluster.Unit, Length: list(reduces), After: []workload.Edge{{SlowStart: slowStart}}},
	}}
}

// gap is the mean time between arrivals at a load.
func (w *w1121) gap(load float64, definition string) float64 {
	busy := w.allWork / (nodes * (mapSlots + reduceSlots))
	if definition == bottleneck {
		busy = max(w.mapWork/(nodes*mapSlots), (w.allWork-w.mapWork)/(nodes*reduceSlots))
	}
	return busy / jobs / load
}

// at is the workload at a load.
func (w *w1121) at(load float64, definition string) workload.Slice {
	out := make(workload.Slice, len(w.jobs))
	now, gap := 0.0, w.gap(load, definition)
	for i, j := range w.jobs {
		now += gap * w.gaps[i]
		submitted := *j
		submitted.Submit = unit.FromSeconds(now)
		out[i] = &submitted
	}
	return out
}

// topLoad is the share of the work in the largest 8 % of jobs.
func (w *w1121) topLoad() float64 {
	sorted := slices.Sorted(slices.Values(w.sizes))
	return sum(sorted[len(sorted)-int(math.Round(0.08*jobs)):]) / w.allWork
}

func sum(values []float64) (s float64) {
	for _, v := range values {
		s += v
	}
	return s
}
