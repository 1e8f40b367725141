package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// GrowthResult reports how the cost per task grows with the size of the run, along one axis at a time.
type GrowthResult struct {
	Axes []Axis  `json:"axes"`
	Aim  float64 `json:"aim"` // largest cost over smallest, along each axis
	Met  bool    `json:"met"`
}

// Axis is one series of runs.
type Axis struct {
	Name      string  `json:"name"`
	Scheduler string  `json:"scheduler"`
	Points    []Point `json:"points"`
	Growth    float64 `json:"growth"` // largest cost per task over smallest
}

// Point is one run.
type Point struct {
	Size          int64   `json:"size"`
	Load          Load    `json:"load"`
	NanosPerTask  float64 `json:"nanoseconds_a_task"`
	EventsPerTask float64 `json:"events_a_task"`
}

// GrowthOptions limits the measurement.
type GrowthOptions struct {
	MaxTasks int64 // of a run; 10^8 takes a few minutes
	Rounds   int   // runs per point; the minimum counts, since the machine may be shared
	Progress func(done, total int, what string)
}

// Growth measures 10^5 to MaxTasks tasks, 10^2 to 10^5 waiting jobs and 10^2 to 10^4 nodes.
func Growth(ctx context.Context, opt GrowthOptions) (*GrowthResult, error) {
	type run struct {
		size int64
		load Load
	}
	axes := []struct {
		name string
		runs []run
	}{{name: "tasks"}, {name: "waiting jobs"}, {name: "nodes"}}
	for n := int64(100_000); n <= opt.MaxTasks; n *= 10 {
		axes[0].runs = append(axes[0].runs, run{n, Load{Jobs: 100, Tasks: n / 100, Nodes: 100, Each: 6}})
	}
	for n := int64(100); n <= 100_000; n *= 10 {
		axes[1].runs = append(axes[1].runs, run{n, Load{Jobs: n, Tasks: min(10_000_000, opt.MaxTasks) / n, Nodes: 100, Each: 6}})
	}
	for n := 100; n <= 10_000; n *= 10 {
		axes[2].runs = append(axes[2].runs, run{int64(n), Load{Jobs: 100, Tasks: min(4_000_000, opt.MaxTasks) / 100, Nodes: n, Each: 6}})
	}
	total := 0
	for _, a := range axes {
		total += len(a.runs) * len(Schedulers) * opt.Rounds
	}
	r := &GrowthResult{Aim: 2, Met: true}
	done := 0
	for _, a := range axes {
		for _, s := range Schedulers {
			axis := Axis{Name: a.name, Scheduler: s}
			var costs []float64
			for _, p := range a.runs {
				best, events := time.Duration(math.MaxInt64), int64(0)
				for range opt.Rounds {
					if opt.Progress != nil {
						opt.Progress(done, total, fmt.Sprintf("%s, %d %s", s, p.size, a.name))
					}
					done++
					took, sum, err := play(ctx, p.load, s)
					if err != nil {
						return nil, fmt.Errorf("measure %s with %d %s: %w", s, p.size, a.name, err)
					}
					best, events = min(best, took), sum.Events
				}
				tasks := float64(p.load.Jobs * p.load.Tasks)
				cost := float64(best.Nanoseconds()) / tasks
				axis.Points = append(axis.Points, Point{p.size, p.load, cost, float64(events) / tasks})
				costs = append(costs, cost)
			}
			axis.Growth = slices.Max(costs) / slices.Min(costs)
			r.Met = r.Met && axis.Growth <= r.Aim
			r.Axes = append(r.Axes, axis)
		}
	}
	return r, nil
}
