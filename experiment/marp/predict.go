package marp

import (
	"context"
	"errors"
	"fmt"

	"github.com/yardmaster/yardmaster/sim/mapreduce"
	"github.com/yardmaster/yardmaster/steer"
	control "github.com/yardmaster/yardmaster/steer/marp"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Prediction is a batch that is run for real elsewhere, as far as it was measured.
type Prediction struct {
	Cores int // of the one machine that carries all nodes, whose disk takes no time

	Nodes int
	Node  unit.Resources // that each offers

	Jobs      []Work
	Scheduler Scheduler
	Share     float64        // for masters, as configured when the batch begins
	Least     unit.Resources // the Capacity Scheduler's minimum allocation; zero: 1024 MB and a core

	Controller string // one of steer/marp's; "": the share stays
	Settings   control.Settings
	Delays     *steer.Delays // nil: those of the scheduler

	Noise float64 // sigma of the logarithm of each piece of work; 0: 0.1
}

// Work is one job. Seconds are of one core, as measured on the machine while nothing else ran.
type Work struct {
	Submit          unit.Time // after the clients were started
	Master, Task    unit.Resources
	MasterStart     unit.Time // from the master's container to its first request
	Maps, Reduces   int64
	Input           unit.Bytes // of all maps
	Shuffle, Output unit.Bytes // of all maps and of all reduces
	Process         float64    // seconds to start a task's process
	Map, Reduce     float64    // seconds of one map and one reduce beyond that
}

// Predict plays the batch with each seed.
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
	if len(p.Jobs) == 0 {
		return nil, errors.New("a prediction needs jobs")
	}
	b := &Batch{
		Nodes: p.Nodes, Node: p.Node, Scheduler: p.Scheduler, Share: p.Share, Least: p.Least, Delays: p.Delays, Controller: p.Controller, Settings: p.Settings,
		Model: mapreduce.MRPERF2010(),
	}
	b.Model.PerMachine = p.Nodes
	b.Model.Machine.Hertz, b.Model.Machine.Cores = cycle, p.Cores
	b.Model = b.Model.AllCached()
	if p.Noise > 0 {
		b.Model.Noise, b.Model.ReduceNoise = p.Noise, p.Noise
	}
	first := p.Jobs[0].Process
	b.Model.JVMCycles = first * cycle
	b.Model.SortCycles, b.Model.MergeCycles, b.Model.ReduceSortCycles = 0, 0, 0 // they are in what was measured
	for i := range p.Jobs {
		w := &p.Jobs[i]
		if w.Process != first {
			return nil, fmt.Errorf("job %d: processes start in %v s, those of the first job in %v: one time holds for all", i+1, w.Process, first)
		}
		if w.Maps < 1 || w.Input < 1 || w.Reduces > 0 && w.Shuffle < 1 {
			return nil, fmt.Errorf("job %d: it needs maps with input, and reduces need something to reduce", i+1)
		}
		b.Jobs = append(b.Jobs, w.job(i))
	}
	return b, b.Check()
}

func (w *Work) job(i int) *workload.Job {
	j := &workload.Job{
		ID: fmt.Sprintf("job-%d", i+1), User: "batch", Queue: "default", Submit: w.Submit, Master: w.Master, MasterStart: w.MasterStart,
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
