package slowdown

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// validated is a job of the source's validation on ten nodes: what it prints of it, and lengths of its tasks that follow from that.
type validated struct {
	name              string
	maps, reduces     int
	size              float64 // as printed; GREP of 50 maps: a decimal slip is mended
	simulated, real   float64 // run times in seconds, as printed
	count             int     // jobs of this kind
	mapLen, reduceLen float64
}

var validatedJobs = []validated{
	{"grep-2", 2, 1, 63.14, 36.10, 43.26, 26, 27.04, 9.06},
	{"sort-4", 4, 1, 60.20, 32.70, 39.97, 4, 9.17, 23.53},
	{"wcount-4", 4, 1, 126.14, 42.04, 49.73, 4, 28.03, 14.01},
	{"grep-50", 50, 5, 155.32, 42.83, 53.18, 4, 29.76, 13.07},
	{"wcount-100", 100, 10, 3790.46, 86.80, 93.62, 3, 36.53, 13.74},
	{"sort-200", 200, 20, 5194.64, 149.92, 156.89, 3, 18.30, 76.72},
	{"grep-400", 400, 40, 15697.18, 233.63, 239.21, 3, 27.5, 20.57},
	{"wcount-600", 600, 60, 26662.53, 579.73, 589.02, 3, 37.67, 67.68},
}

// jobOverhead is the time that a real job takes for set-up and clean-up, in seconds: the mean of the source's eight differences.
const jobOverhead = 7.6

func (v *validated) job() *workload.Job {
	lengths := func(n int, seconds float64) []unit.Time {
		return slices.Repeat([]unit.Time{unit.FromSeconds(seconds)}, n)
	}
	return mapReduce(v.name, lengths(v.maps, v.mapLen), lengths(v.reduces, v.reduceLen))
}

// validationSlots are the ten nodes.
func validationSlots() *cluster.Cluster { return cluster.WithSlots(10, 1, mapSlots, reduceSlots) }

// aloneTimes are the run times of the eight kinds of jobs on the empty cluster, and how far they are off.
func aloneTimes(context.Context, uint64) (x.Metrics, error) {
	m := x.Metrics{}
	for i := range validatedJobs {
		v := &validatedJobs[i]
		took := sim.NewAlone(validationSlots(), sim.Model{}, 1).Of(v.job(), 0).Seconds()
		m["time/"+v.name] = took
		m["off/"+v.name] = took/v.simulated - 1
		m["real-time/"+v.name] = took + jobOverhead
		m["real-seconds/"+v.name] = took + jobOverhead - v.real
		m["real-off/"+v.name] = (took+jobOverhead)/v.real - 1
	}
	return m, nil
}

// sequences is the number of arrival sequences per seed.
const sequences = 20

// validation plays the 50 jobs in random order at a load of 0.7. A figure is the mean of several sequences.
func validation(ctx context.Context, seed uint64) (x.Metrics, error) {
	m := x.Metrics{}
	var kinds []*validated
	work := 0.0
	for i := range validatedJobs {
		v := &validatedJobs[i]
		for range v.count {
			kinds = append(kinds, v)
			work += v.size
		}
	}
	gap := work / float64(len(kinds)*10*(mapSlots+reduceSlots)) / 0.7
	for k := range uint64(sequences) {
		r := rand.New(rand.NewPCG(seed, k))
		r.Shuffle(len(kinds), func(i, k int) { kinds[i], kinds[k] = kinds[k], kinds[i] })
		var jobs workload.Slice
		at := 0.0
		for i, v := range kinds {
			j := v.job()
			j.ID, j.Submit = strconv.Itoa(i), unit.FromSeconds(at)
			jobs = append(jobs, j)
			at += gap * r.ExpFloat64()
		}
		alone := sim.NewAlone(validationSlots(), sim.Model{}, seed)
		for _, s := range []scheduler{fifo(), fbq(160), tags(0.3, 120), sita(0.3, 160, 0, seed), comp(2, 0, seed)} {
			o := outcome{}
			if _, err := o.play(ctx, &run.Spec{Cluster: validationSlots(), Workload: run.Jobs(jobs), Seed: seed, Alone: alone}, s.spec); err != nil {
				return nil, fmt.Errorf("%s: %w", s.spec, err)
			}
			for name, v := range o.basic() {
				m[s.name+"/"+name] += v / sequences
			}
		}
	}
	return m, nil
}

// Processor sharing: many tiny tasks under Fair make one fast server that all jobs share.
const (
	sharedBy   = 30 // containers
	sharedJobs = 4000
	warmUp     = 500 // jobs
	sharedLoad = 0.7
	tinyTask   = 50 * unit.Millisecond
)

// processorSharing plays jobs of three size classes, 10 s to 316 s of work, on a server that shares itself among them.
func processorSharing(ctx context.Context, seed uint64) (x.Metrics, error) {
	r := rand.New(rand.NewPCG(seed, 5))
	var jobs workload.Slice
	const low, high = 7.0, 221.0 // tasks per container
	at, mean := 0.0, ((high-low)/math.Log(high/low)-0.5)*tinyTask.Seconds()
	for i := range sharedJobs {
		tasks := int64(low*math.Pow(high/low, r.Float64())) * sharedBy
		jobs = append(jobs, &workload.Job{ID: strconv.Itoa(i), Submit: unit.FromSeconds(at), Stages: []workload.Stage{
			{Tasks: tasks, Ask: cluster.Unit, Length: workload.Fixed(tinyTask)},
		}})
		at += mean / sharedLoad * r.ExpFloat64()
	}
	o := outcome{skip: warmUp, size: func(r *sim.JobRecord) float64 { return (unit.Time(r.Job.Stages[0].Tasks) * tinyTask).Seconds() }}
	spec := &run.Spec{Cluster: cluster.Uniform(sharedBy, 1, cluster.Unit), Workload: run.Jobs(jobs), Seed: seed}
	if _, err := o.play(ctx, spec, "fair"); err != nil {
		return nil, err
	}
	m := x.Metrics{"slowdown": result.Mean(o.slowdowns).Mean}
	for c, mean := range o.classes() {
		m[fmt.Sprint("class/", c)] = mean
	}
	return m, nil
}
