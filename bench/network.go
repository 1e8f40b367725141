package bench

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/transfer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// NetworkResult reports the error of the network model's approximations against an exact simulation of every pair of nodes, and
// their cost.
type NetworkResult struct {
	Jobs int          `json:"jobs"`
	Rows []NetworkRow `json:"rows"` // the first is the baseline
}

// NetworkRow is one set of approximations on the same workload.
type NetworkRow struct {
	Name     string  `json:"name"`
	Seconds  float64 `json:"cpu_seconds"`
	Flows    int64   `json:"flows"`
	Makespan float64 `json:"makespan"`
	// Relative differences of jobs' elapsed times from the baseline's.
	MeanError   float64 `json:"mean_error"`   // mean of the signed differences
	MedianError float64 `json:"median_error"` // of the absolute differences
	P95Error    float64 `json:"p95_error"`
}

// Network plays shuffle-heavy jobs on 600 nodes in 30 racks, with 250 Mbit/s per node and 1 Gbit/s per rack.
func Network(ctx context.Context, jobs int) (*NetworkResult, error) {
	c, err := cluster.Parse("600x6/30")
	if err != nil {
		return nil, err
	}
	if c.Network, err = cluster.ParseNetwork("racks:node=250Mbit,uplink=1Gbit"); err != nil {
		return nil, err
	}
	out := &NetworkResult{Jobs: jobs}
	var baseline []float64
	for _, way := range []struct {
		name string
		opt  transfer.Options
	}{
		{"every pair of nodes, exact", transfer.Options{Pairs: -1, Tolerance: -1}},
		{"every pair of nodes, tolerance 0.01", transfer.Options{Pairs: -1}},
		{"racks, 5 connections, exact", transfer.Options{Tolerance: -1}},
		{"racks, 5 connections, tolerance 0.001", transfer.Options{Tolerance: 0.001}},
		{"racks, 5 connections, tolerance 0.01", transfer.Options{}},
		{"racks, 30 connections, tolerance 0.01", transfer.Options{Copiers: 30}},
	} {
		times := make(elapsed, jobs)
		took, sum, err := timed(ctx, "fair", run.Spec{
			Cluster: c, Workload: run.Jobs(shuffling(jobs)), Sink: times, Model: sim.Model{Replicas: 3},
			NewWorker: func() (sim.Worker, error) { return transfer.New(way.opt), nil },
		})
		if err != nil {
			return nil, err
		}
		row := NetworkRow{Name: way.name, Seconds: took.Seconds(), Flows: sum.Traffic.Flows, Makespan: sum.LastFinish.Seconds()}
		if baseline == nil {
			baseline = times
		}
		row.compare(times, baseline)
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

// elapsed records each job's elapsed time by arrival number.
type elapsed []float64

func (e elapsed) Job(r *sim.JobRecord) { e[r.Seq] = (r.Finish - r.Job.Submit).Seconds() }
func (e elapsed) Sample(*sim.Sample)   {}

func (r *NetworkRow) compare(times, baseline []float64) {
	var sizes []float64
	for i := range times {
		d := times[i]/baseline[i] - 1
		r.MeanError += d / float64(len(times))
		sizes = append(sizes, math.Abs(d))
	}
	slices.Sort(sizes)
	r.MedianError, r.P95Error = sizes[len(sizes)/2], sizes[len(sizes)*95/100]
}

// shuffling makes jobs whose map counts span three orders of magnitude, as on a large cluster, and that shuffle between a tenth
// and twice their input.
func shuffling(n int) workload.Slice {
	var jobs workload.Slice
	for i := range n {
		draw := func(k uint64) float64 { return workload.Uniform01(7, uint64(i)<<8|k) }
		maps := int64(math.Pow(1000, draw(0)))
		input := unit.Bytes(maps) * 128 << 20
		passed := unit.Bytes(float64(input) * 0.1 * math.Pow(20, draw(1)))
		reduces := max(1, min(100, int64(passed>>30)))
		jobs = append(jobs, &workload.Job{ID: fmt.Sprint(i), User: fmt.Sprint("u", i%20), Submit: unit.Time(i) * 6 * unit.Second, Stages: []workload.Stage{
			{Kind: workload.Map, Tasks: maps, Ask: cluster.Unit, Input: input, Length: workload.Fixed(10 * unit.Second)},
			{
				Kind: workload.Reduce, Tasks: reduces, Ask: cluster.Unit, Length: workload.Fixed(10 * unit.Second),
				After: []workload.Edge{{Shuffle: passed, SlowStart: 0.05}},
			},
		}})
	}
	return jobs
}
