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

// NetworkResult says how far the short cuts of the network are from playing every pair of nodes exactly, and what they save.
type NetworkResult struct {
	Jobs int          `json:"jobs"`
	Rows []NetworkRow `json:"rows"` // the first is the yardstick
}

// NetworkRow is one way of playing the same work.
type NetworkRow struct {
	Name     string  `json:"name"`
	Seconds  float64 `json:"cpu_seconds"`
	Flows    int64   `json:"flows"`
	Makespan float64 `json:"makespan"`
	// Differences of jobs' elapsed times from the yardstick's, relative.
	MeanError   float64 `json:"mean_error"`   // mean of the differences with their sign
	MedianError float64 `json:"median_error"` // of their sizes
	P95Error    float64 `json:"p95_error"`
}

// Network plays a set of shuffling jobs on 600 nodes in 30 racks, 250 Mbit/s a node and 1 Gbit/s a rack.
func Network(ctx context.Context, jobs int) (*NetworkResult, error) {
	c, err := cluster.Parse("600x6/30")
	if err != nil {
		return nil, err
	}
	if c.Network, err = cluster.ParseNetwork("racks:node=250Mbit,uplink=1Gbit"); err != nil {
		return nil, err
	}
	out := &NetworkResult{Jobs: jobs}
	var yardstick []float64
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
		if yardstick == nil {
			yardstick = times
		}
		row.compare(times, yardstick)
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

// elapsed keeps how long each job took, by its number.
type elapsed []float64

func (e elapsed) Job(r *sim.JobRecord) { e[r.Seq] = (r.Finish - r.Job.Submit).Seconds() }
func (e elapsed) Sample(*sim.Sample)   {}

func (r *NetworkRow) compare(times, yardstick []float64) {
	var sizes []float64
	for i := range times {
		d := times[i]/yardstick[i] - 1
		r.MeanError += d / float64(len(times))
		sizes = append(sizes, math.Abs(d))
	}
	slices.Sort(sizes)
	r.MedianError, r.P95Error = sizes[len(sizes)/2], sizes[len(sizes)*95/100]
}

// shuffling makes jobs whose maps are spread over four orders of magnitude, as those of a large cluster are, and that pass on
// between a tenth and twice what they read.
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
