package steering

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/marp"
	"github.com/yardmaster/yardmaster/studies/experiment"
	predict "github.com/yardmaster/yardmaster/studies/experiment/marp"
	"github.com/yardmaster/yardmaster/unit"
)

// facts are all records of a scheduler.
type facts struct {
	Scheduler string
	size      Size
	Arms      []Arm // that have records
	batches   map[string][]*Batch

	// For the report.
	Model               *model
	Measured, Simulated figures // by arm and repetition, or seed
	Unsaid              error   // error that prevented the prediction
}

func newFacts(s Size, scheduler string, list []*Batch) *facts {
	f := &facts{Scheduler: scheduler, size: s, batches: map[string][]*Batch{}}
	for _, b := range list {
		for i := range b.Writes {
			b.Writes[i].Took = b.took(i)
		}
		f.batches[b.Arm] = append(f.batches[b.Arm], b)
	}
	for _, a := range s.arms(sweeps(scheduler)) {
		if l := f.batches[a.Name]; len(l) > 0 {
			slices.SortFunc(l, func(x, y *Batch) int { return x.Repetition - y.Repetition })
			f.Arms = append(f.Arms, a)
		}
	}
	return f
}

// all are its batches, in the order in which they ran.
func (f *facts) all() []*Batch {
	var list []*Batch
	for _, a := range f.Arms {
		list = append(list, f.batches[a.Name]...)
	}
	slices.SortFunc(list, func(x, y *Batch) int { return x.At.Compare(y.At) })
	return list
}

func median(list []float64) float64 { return result.Quantile(list, 0.5) }

// busy is the CPU time that the cluster used in a batch, in core-seconds: all but idle, nice and iowait.
func (b *Batch) busy() float64 { return b.spent(0, 2) }

// idle is the idle CPU time between the first job's arrival and the last one's end, in core-seconds. Time of nice processes
// counts as idle: they are not the cluster's. Waiting for a disk does not.
func (b *Batch) idle() float64 { return b.spent(1, 3) }

func (b *Batch) spent(one, other int) float64 {
	sum := int64(0)
	for _, c := range b.CPU {
		if c.At > 0 && float64(c.At) <= b.span()*1000+500 {
			sum += c.Spent[one] + c.Spent[other]
		}
	}
	return float64(sum) / 100
}

// others is the share of CPU time that nice processes took: other work on the computer.
func (b *Batch) others() float64 {
	sum, all := int64(0), int64(0)
	for _, c := range b.CPU {
		sum += c.Spent[1]
		for _, v := range c.Spent {
			all += v
		}
	}
	if all == 0 {
		return 0
	}
	return float64(sum) / float64(all)
}

// maxAMs is the maximum number of concurrent AMs.
func (b *Batch) maxAMs(containerMB int) int {
	most := int64(0)
	for _, l := range b.Limits {
		most = max(most, l.UsedMB)
	}
	return int(most) / containerMB
}

// raises are the writes that raised the share.
func (b *Batch) raises() []Write {
	return slices.DeleteFunc(slices.Clone(b.Writes), func(w Write) bool { return w.New <= w.Old })
}

// admitted are the instants at which the controller decided to admit a job. The write may come later: it waits its turn.
func (b *Batch) admitted() (at []int64) {
	for _, l := range b.Lines {
		if word, _ := l.Text["decision"].(string); l.Kind == "decided" && word == "raise" {
			at = append(at, l.At)
		}
	}
	return at
}

// behind is the time from the end of a job to the launch of the next in a sequential batch, in seconds.
func behind(list []*Batch) float64 {
	var each []float64
	for _, b := range list {
		jobs := b.byLaunch()
		for i := 1; i < len(jobs); i++ {
			each = append(each, float64(jobs[i].Launched-jobs[i-1].Ended)/1000)
		}
	}
	return median(each)
}

func (b *Batch) byLaunch() []Job {
	return slices.SortedFunc(slices.Values(b.Jobs), func(x, y Job) int { return int(x.Launched - y.Launched) })
}

// between is the CPU time per second that the cluster used between two jobs of a sequential batch: the daemons' load. It is
// the median of whole seconds, to exclude occasional other work on the computer.
func between(list []*Batch) float64 {
	var each []float64
	for _, b := range list {
		jobs := b.byLaunch()
		for i := 1; i < len(jobs); i++ {
			for k := 1; k < len(b.CPU); k++ {
				if c, before := b.CPU[k], b.CPU[k-1].At; before > jobs[i-1].Ended+1000 && c.At < jobs[i].Launched && c.At > before {
					each = append(each, float64(c.Spent[0]+c.Spent[2])*10/float64(c.At-before))
				}
			}
		}
	}
	if len(each) == 0 {
		return 0
	}
	return median(each)
}

// firstMap is when a job's first map began; -1: it has none.
func (j *Job) firstMap() int64 {
	first := int64(-1)
	for _, t := range j.Tasks {
		if !t.Reduce() && (first < 0 || t.Start() < first) {
			first = t.Start()
		}
	}
	return first
}

// gaps are the times from each decision to admit a job to the launch of the next job and to its first map, in seconds. A decision
// without a further job, or with the next decision first, has none; nor has one that was not in effect when the job started: that job took the
// room of another.
func (b *Batch) gaps() (launch, work []float64) {
	rs := b.raises()
	for i, w := range rs {
		until := int64(math.MaxInt64)
		if i+1 < len(rs) {
			until = rs[i+1].Asked
		}
		var next *Job
		for k := range b.Jobs {
			if j := &b.Jobs[k]; j.Launched > w.Asked && j.Launched < until && (next == nil || j.Launched < next.Launched) {
				next = j
			}
		}
		if next != nil && next.firstMap() >= 0 && w.Took >= 0 && w.Asked+w.Took <= next.Launched+twoSamples {
			launch = append(launch, float64(next.Launched-w.Asked)/1000)
			work = append(work, float64(next.firstMap()-w.Asked)/1000)
		}
	}
	return launch, work
}

// twoSamples is two sampling intervals of the limit, in ms: events closer together cannot be distinguished.
const twoSamples = int64(2 * limitEvery / time.Millisecond)

// overs counts AMs admitted although the limit that was read did not allow it. Limit and usage are read together; usage that grew
// may belong to the limit before or to the one after.
func (b *Batch) overs() (in, over int) {
	for i := 1; i < len(b.Limits); i++ {
		l, before := b.Limits[i], b.Limits[i-1]
		if l.UsedMB <= before.UsedMB {
			continue
		}
		in++
		most := max(l.MB, before.MB)
		if i+1 < len(b.Limits) && b.Limits[i+1].At-l.At <= twoSamples {
			most = max(most, b.Limits[i+1].MB)
		}
		if l.UsedMB > most {
			over++
		}
	}
	return in, over
}

// seeds of the simulations.
const seeds = 20

// model is the cluster and the jobs for the simulator, calibrated on the sequential batches alone; the other arms are not used.
//
// The simulator's AMs take time to start but no CPU, and are gone when their job ends. On this cluster an AM takes several
// CPU-seconds and stays some seconds after its job. So all CPU time of a job is attributed to its tasks, in proportion to
// their lengths, and the rest of the time between two jobs is the AM's start. The daemons' constant load belongs to no job.
type model struct {
	Daemons     float64   // processors kept busy by the daemons
	Map, Reduce float64   // core-seconds per task
	Start       unit.Time // of an AM
	fifo        float64   // measured; Start is calibrated on it
}

// calibrate makes the model.
func (f *facts) calibrate(ctx context.Context) (*model, error) {
	list := f.batches["fifo"]
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: no sequential batch to calibrate the model on", f.Scheduler)
	}
	var mapS, reduceS, busy, span float64
	var maps, reduces int
	for _, b := range list {
		for i := range b.Jobs {
			for _, t := range b.Jobs[i].Tasks {
				if d := float64(t.End()-t.Start()) / 1000; t.Reduce() {
					reduceS, reduces = reduceS+d, reduces+1
				} else {
					mapS, maps = mapS+d, maps+1
				}
			}
		}
		busy += b.busy() / float64(len(list)*f.size.Jobs)
		span += b.span() / float64(len(list))
	}
	daemons := between(list)
	busy -= daemons * span / float64(f.size.Jobs)
	mapS, reduceS = mapS/float64(maps), reduceS/float64(reduces)
	scale := busy / (mapS*float64(f.size.Maps) + reduceS*float64(f.size.Reduces))
	m := &model{Daemons: daemons, Map: mapS * scale, Reduce: reduceS * scale, fifo: span}
	without, err := f.predicted(ctx, m, f.size.arm("fifo"))
	if err != nil {
		return nil, err
	}
	m.Start = unit.Time(max(0, (span-result.Mean(without).Mean)/float64(f.size.Jobs)) * float64(unit.Second))
	return m, nil
}

// predicted are the simulated times of a batch under an arm, in seconds.
func (f *facts) predicted(ctx context.Context, m *model, a Arm) ([]float64, error) {
	s := f.size
	p := predict.Prediction{Cores: cores, Batch: predict.Batch{
		Nodes: s.Nodes, Node: unit.Resources{Mem: int64(s.NodeMB), Cores: int64(s.NodeVcores)}, Share: a.Share, Controller: a.Policy, Scheduler: predict.Capacity, MinAllocation: unit.Resources{Mem: int64(s.MinMB), Cores: 1},
	}}
	if f.Scheduler == "fair" {
		d := steer.FairFile()
		d.Spacing = steer.FileSpacing
		p.Scheduler, p.Delays = predict.Fair3, &d
	}
	if a.Policy != "" {
		p.Settings = s.settings(a.Policy, f.Scheduler, p.Scheduler.Rule())
	}
	one := unit.Resources{Mem: int64(s.ContainerMB), Cores: 1}
	for range s.Jobs {
		p.Work = append(p.Work, predict.Work{
			AM: one, Task: one, AMStart: m.Start, Maps: int64(s.Maps), Reduces: int64(s.Reduces), Input: unit.Bytes(s.Bytes * int64(s.Maps)),
			Shuffle: unit.Bytes(s.Bytes), Output: unit.Bytes(s.Bytes), Map: m.Map, Reduce: m.Reduce,
		})
	}
	all, err := predict.Predict(ctx, p, experiment.Seeds(1, seeds))
	if err != nil {
		return nil, fmt.Errorf("simulating %s: %w", a.Name, err)
	}
	times := make([]float64, len(all))
	for i, o := range all {
		first, last := o.Jobs[0].Submitted, 0.0
		for _, j := range o.Jobs {
			first, last = min(first, j.Submitted), max(last, j.End)
		}
		times[i] = last - first
	}
	return times, nil
}

// settings are a controller's settings for the simulator: the same numbers that the command gets.
func (s Size) settings(policy, scheduler string, rule amlimit.Limit) marp.Settings {
	d := marp.Defaults(policy, queue).On(rule)
	d.Minimum = unit.Resources{Mem: int64(s.MinMB), Cores: 1}
	d.Max = 0.9
	for name, w := range s.waits(policy, scheduler) {
		*waitsOf(&d)[name] = unit.Time(w.Microseconds())
	}
	d = d.AsService()
	d.ForceAfter, d.Headroom = 0, false // as in the source
	return d
}

// cores of the computer that the study was made on.
const cores = 2
