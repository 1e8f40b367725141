package marp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/policy/capacity"
	"github.com/yardmaster/yardmaster/policy/fair"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/sim/mapreduce"
	"github.com/yardmaster/yardmaster/steer"
	control "github.com/yardmaster/yardmaster/steer/marp"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Scheduler decides when AMs may start.
type Scheduler uint8

// The schedulers.
const (
	// Fair is the Fair Scheduler of Hadoop 2, which polls its allocation file.
	Fair Scheduler = iota
	// Capacity is the Capacity Scheduler, which applies a new share immediately.
	Capacity
	// Fair3 is Fair with the rule of Hadoop 3.
	Fair3
)

func (s Scheduler) String() string {
	return [...]string{"Fair Scheduler", "Capacity Scheduler", "Fair Scheduler of Hadoop 3"}[s]
}

// Rule is its AM limit.
func (s Scheduler) Rule() amlimit.Limit {
	return [...]amlimit.Limit{amlimit.FairV2, amlimit.Capacity, amlimit.Fair}[s]
}

// Delays are the delays until a changed share takes effect.
func (s Scheduler) Delays() steer.Delays {
	if s == Capacity {
		return steer.AtOnce()
	}
	return steer.FairFile()
}

// perBeat is how many containers a node gets per heartbeat by default: one from the Fair Scheduler (assignmultiple is off), as many as
// fit from the Capacity Scheduler of Hadoop 3.
func (s Scheduler) perBeat() int {
	if s == Capacity {
		return 0
	}
	return 1
}

// Queue is the only queue of a batch.
const Queue = "root.default"

// Batch is a set of jobs submitted together, with their cluster, scheduler and controller.
type Batch struct {
	Nodes     int
	Node      unit.Resources // capacity of each node
	Model     mapreduce.Model
	Jobs      workload.Slice
	Scheduler Scheduler
	Delays    *steer.Delays // nil: those of the scheduler
	// Share is the configured AM share.
	Share         float64
	MinAllocation unit.Resources // the Capacity Scheduler's minimum allocation; zero: 1024 MB and a core
	// Controller names one of steer/marp's controllers; "": the share stays fixed. Settings are its settings; Settings.Seed is set for each run.
	Controller string
	Settings   control.Settings
	// Steerer, if set, makes the steering policy instead and overrides Controller.
	Steerer func() steer.Steerer
}

// Play runs the batch once. Equal seeds give equal outcomes and the same noise in the jobs.
func (b *Batch) Play(ctx context.Context, seed uint64) (*Outcome, error) {
	worker, err := mapreduce.New(b.Model)
	if err != nil {
		return nil, err
	}
	inner, err := b.steerer(seed)
	if err != nil {
		return nil, err
	}
	delays := b.Scheduler.Delays()
	if b.Delays != nil {
		delays = *b.Delays
	}
	rec := newRecorder(b, worker, inner)
	sum, err := run.Play(ctx, &run.Spec{
		Cluster: b.cluster(), Workload: run.Jobs(b.Jobs), Seed: seed, Sink: rec, NoAlone: true,
		Scheduler: run.Scheduler{New: b.policy, Steer: &steer.Rehearsal{Delays: delays, New: func(uint64) (steer.Steerer, error) { return rec, nil }}},
		NewWorker: func() (sim.Worker, error) { return worker, nil },
		// The study was calibrated with reduces that are requested once every map has a container.
		Model: sim.Model{Heartbeat: unit.Second, PerBeat: b.Scheduler.perBeat(), Application: am.MapsFirst},
	})
	if err != nil {
		return nil, err
	}
	return rec.outcome(&sum)
}

func (b *Batch) steerer(seed uint64) (steer.Steerer, error) {
	if b.Steerer != nil {
		return b.Steerer(), nil
	}
	if b.Controller == "" {
		return nil, nil //nolint:nilnil // no steering
	}
	s := b.Settings
	s.Seed = seed
	return control.New(b.Controller, s)
}

func (b *Batch) cluster() *cluster.Cluster {
	return cluster.Uniform(b.Nodes, 1, b.Node)
}

func (b *Batch) policy() (policy.Policy, error) {
	share := strconv.FormatFloat(b.Share, 'f', -1, 64)
	if b.Scheduler != Capacity {
		file, err := conf.ReadFair(strings.NewReader(
			`<allocations><queue name="default"><maxAMShare>`+share+`</maxAMShare></queue>`+
				`<queuePlacementPolicy><rule name="default" queue="default"/></queuePlacementPolicy></allocations>`), "fair-scheduler.xml")
		if err != nil {
			return policy.Policy{}, err
		}
		if b.Scheduler == Fair3 {
			return fair.FromConf(file)
		}
		return fair.FromConfV2(file)
	}
	property := "<property><name>" + conf.Prefix + "%s</name><value>%s</value></property>"
	file, err := conf.ReadCapacity(strings.NewReader(fmt.Sprintf("<configuration>"+strings.Repeat(property, 3)+"</configuration>",
		"root.queues", "default", "root.default.capacity", "100", "root.default.maximum-am-resource-percent", share)), "capacity-scheduler.xml")
	if err != nil {
		return policy.Policy{}, err
	}
	if file.MinAllocation = b.MinAllocation; b.MinAllocation.IsZero() {
		file.MinAllocation = unit.Resources{Mem: 1024, Cores: 1}
	}
	return capacity.New(file)
}

// Check validates a batch without running it.
func (b *Batch) Check() error {
	switch {
	case b.Nodes < 1 || b.Node.Mem < 1 || b.Node.Cores < 1:
		return errors.New("a batch needs nodes with memory and cores")
	case len(b.Jobs) == 0:
		return errors.New("a batch needs jobs")
	case !(b.Share > 0 && b.Share <= 1):
		return fmt.Errorf("AM share %v is not between 0 and 1", b.Share)
	}
	return b.Model.Validate()
}

// The source's cluster: three nodes on one host, and AMs of 1536 MB that are allocated 2 GiB.
const sourceNodes = 3

var (
	sourceNode = unit.Resources{Mem: 17 * 1024, Cores: 17}
	sourceAM   = unit.Resources{Mem: 2048, Cores: 1}
	sourceTask = unit.Resources{Mem: 1024, Cores: 1}
	sourceMin  = unit.Resources{Mem: 1024, Cores: 1}
)

// amShare is one AM's share of the cluster's memory.
func amShare() float64 { return float64(sourceAM.Mem) / float64(sourceNodes*sourceNode.Mem) }

// batch is n jobs of a benchmark on the source's cluster; the AM share is not set yet.
func (b *bench) batch(n int, seed uint64) Batch {
	return Batch{Nodes: sourceNodes, Node: sourceNode, Model: b.model(), Jobs: b.jobs(n, seed)}
}

// under sets the variant of a batch: fifo, prj, prj-K, share-S or a controller's name, on a scheduler.
//
// Controllers start at the source's 0.050 and move by its steps; kalman-mem starts at its own 0.1.
func (b Batch) under(name string, on Scheduler) Batch {
	b.Scheduler = on
	kind, arg, _ := strings.Cut(name, "-")
	switch {
	case name == "fifo":
		b.Share = control.SourceFIFO
	case name == "prj":
		if b.Share = control.SourcePRJ; len(b.Jobs) > 6 {
			b.Share = control.PRJ(amShare(), len(b.Jobs))
		}
	case kind == "prj":
		k, err := strconv.ParseInt(arg, 10, 64)
		if err != nil {
			panic("marp: " + name)
		}
		b.Share = control.SlotShare(amShare(), k)
	case kind == "share":
		share, err := strconv.ParseFloat(arg, 64)
		if err != nil {
			panic("marp: " + name)
		}
		b.Share = share
	default:
		b.Controller, b.Settings = name, control.Defaults(name, Queue)
		b.Settings.Limit, b.Settings.AM, b.Settings.Minimum = on.Rule(), sourceAM, sourceMin
		b.Settings.Headroom = false // as published: it uses the processors of the whole cluster, which has one queue
		b.Share = control.SourceFIFO
		if name == "kalman-mem" {
			b.Share = b.Settings.Min
		} else {
			b.Settings.Steps = control.SourceSteps()
		}
	}
	return b
}

func (b Batch) with(change func(*control.Settings)) Batch {
	change(&b.Settings)
	return b
}

// undelayed applies a new share immediately.
func (b Batch) undelayed() Batch {
	b.Delays = &steer.Delays{}
	return b
}

// title is a variant's display name.
func title(name string) string {
	if t, ok := map[string]string{"fifo": "FIFO", "prj": "PRJ", "cbt": "CBT", "cbtws": "CBTwS", "cbtwat": "CBTwAT"}[name]; ok {
		return t
	}
	if k, ok := strings.CutPrefix(name, "prj-"); ok {
		return fmt.Sprintf("PRJ-%s", k)
	}
	return name
}

// Prediction is a batch that runs live elsewhere, described by what was measured there: one machine that hosts all nodes, with a disk that
// takes no time. Its Model and Jobs are derived from the other fields.
type Prediction struct {
	Batch
	Cores int
	Work  []Work
	Noise float64 // sigma of the logarithm of each work item; 0: 0.1
}

// Work is one job. Seconds are of one core, measured on the otherwise idle machine.
type Work struct {
	Submit          unit.Time // after the clients were started
	AM, Task        unit.Resources
	AMStart         unit.Time // from the AM's container to its first request
	Maps, Reduces   int64
	Input           unit.Bytes // of all maps
	Shuffle, Output unit.Bytes // of all maps and of all reduces
	Process         float64    // seconds to start a task's process
	Map, Reduce     float64    // seconds of one map and one reduce beyond that
}

// Predict runs the batch with each seed.
func Predict(ctx context.Context, p Prediction, seeds []uint64) ([]*Outcome, error) {
	b, err := p.batch()
	if err != nil {
		return nil, err
	}
	all := make([]*Outcome, 0, len(seeds))
	for _, seed := range seeds {
		o, err := b.Play(ctx, seed)
		if err != nil {
			return nil, fmt.Errorf("seed %d: %w", seed, err)
		}
		all = append(all, o)
	}
	return all, nil
}

// cycle is the speed of a core in a prediction: work is given in seconds.
const cycle = 1e9

func (p *Prediction) batch() (*Batch, error) {
	if len(p.Work) == 0 {
		return nil, errors.New("a prediction needs jobs")
	}
	b := p.Batch
	b.Model = mapreduce.MRPERF2010()
	b.Model.PerMachine = p.Nodes
	b.Model.Machine.Hertz, b.Model.Machine.Cores = cycle, p.Cores
	b.Model = b.Model.AllCached()
	if p.Noise > 0 {
		b.Model.Noise, b.Model.ReduceNoise = p.Noise, p.Noise
	}
	first := p.Work[0].Process
	b.Model.JVMCycles = first * cycle
	b.Model.SortCycles, b.Model.MergeCycles, b.Model.ReduceSortCycles = 0, 0, 0 // included in the measurements
	for i := range p.Work {
		w := &p.Work[i]
		if w.Process != first {
			return nil, fmt.Errorf("job %d: process start time %v s differs from the first job's %v s; all jobs share one", i+1, w.Process, first)
		}
		if w.Maps < 1 || w.Input < 1 || w.Reduces > 0 && w.Shuffle < 1 {
			return nil, fmt.Errorf("job %d: needs maps with input, and reduces need shuffle data", i+1)
		}
		b.Jobs = append(b.Jobs, w.job(i))
	}
	return &b, b.Check()
}

func (w *Work) job(i int) *workload.Job {
	j := &workload.Job{
		ID: fmt.Sprintf("job-%d", i+1), User: "batch", Queue: "default", Submit: w.Submit, AM: w.AM, AMStart: w.AMStart,
		Stages: []workload.Stage{{
			Name: "map", Kind: workload.Map, Tasks: w.Maps, Ask: w.Task, Length: workload.Fixed(unit.Second), Input: w.Input,
			CyclesPerByte: w.Map * cycle * float64(w.Maps) / float64(w.Input),
		}},
	}
	if w.Reduces > 0 {
		j.Stages = append(j.Stages, workload.Stage{
			Name: "reduce", Kind: workload.Reduce, Tasks: w.Reduces, Ask: w.Task, Length: workload.Fixed(unit.Second), Output: w.Output,
			CyclesPerByte: w.Reduce * cycle * float64(w.Reduces) / float64(w.Shuffle),
			After:         []workload.Edge{{From: 0, Shuffle: w.Shuffle, SlowStart: 0.05}},
		})
	}
	return j
}
