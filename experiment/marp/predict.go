package marp

import (
	"context"
	"errors"
	"fmt"

	"github.com/yardmaster/yardmaster/sim/mapreduce"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Prediction is a batch that is run for real elsewhere, as far as it was measured: on one machine that carries all nodes, whose disk takes no time. Its
// Model and Jobs are made of the rest.
type Prediction struct {
	Batch
	Cores int
	Work  []Work
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
	b.Model.SortCycles, b.Model.MergeCycles, b.Model.ReduceSortCycles = 0, 0, 0 // they are in what was measured
	for i := range p.Work {
		w := &p.Work[i]
		if w.Process != first {
			return nil, fmt.Errorf("job %d: processes start in %v s, those of the first job in %v: one time holds for all", i+1, w.Process, first)
		}
		if w.Maps < 1 || w.Input < 1 || w.Reduces > 0 && w.Shuffle < 1 {
			return nil, fmt.Errorf("job %d: it needs maps with input, and reduces need something to reduce", i+1)
		}
		b.Jobs = append(b.Jobs, w.job(i))
	}
	return &b, b.Check()
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
