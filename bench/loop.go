package bench

import (
	"context"
	"fmt"
	"runtime"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

// LoopResult compares the simulator with an empty event loop: the same number of events through the same queue at the
// same length.
type LoopResult struct {
	Scheduler string `json:"scheduler"` // of the headline figures
	// BareEventsPerSecond and SimEventsPerSecond are medians over the rounds.
	BareEventsPerSecond float64   `json:"bare_events_per_second"`
	SimEventsPerSecond  float64   `json:"sim_events_per_second"`
	Ratio               float64   `json:"ratio"` // median of the rounds' ratios
	Rows                []LoopRow `json:"schedulers"`
	Load                Load      `json:"load"`
	QueueLength         int       `json:"queue_length"`
	Rounds              int       `json:"rounds"`
	Aim                 float64   `json:"aim"`
	Met                 bool      `json:"met"`
}

// LoopRow is one kind of job under one scheduler.
type LoopRow struct {
	Scheduler           string  `json:"scheduler"`
	BareEventsPerSecond float64 `json:"bare_events_per_second"`
	SimEventsPerSecond  float64 `json:"sim_events_per_second"`
	Ratio               float64 `json:"ratio"`
	Jobs                string  `json:"jobs"`
	Load                Load    `json:"load"`
	// NanosPerTask compares builds: unlike the rates it does not depend on a build's number of events, such as heartbeats.
	NanosPerTask float64 `json:"nanoseconds_a_task"`
}

// loopLoads are the loads that Loop plays. The first gives the headline figures.
var loopLoads = []struct {
	jobs       string
	load       Load
	schedulers []string
}{
	{"single-stage", Load{Jobs: 200, Tasks: 25_000, Nodes: 600, Each: 6}, Schedulers},
	{"MapReduce", Load{Jobs: 1_000, Tasks: 2_500, Nodes: 600, Each: 6, Reduces: 500}, Schedulers},
	// Fair is the baseline for delay, which adds placement to the same order.
	{"replicas", Load{Jobs: 200, Tasks: 2_500, Nodes: 600, Each: 6, Replicas: 3}, []string{"fair", "delay", "delay:node=3s"}},
	{"replicas, half load", Load{Jobs: 500, Tasks: 1_000, Nodes: 600, Each: 6, Replicas: 3, Over: 2_800}, []string{"fair", "delay", "delay:node=3s"}},
}

// Loop measures event rates. Each round runs the simulator and then the bare loop, so that both see the same load on a
// shared machine.
func Loop(ctx context.Context, rounds int) (*LoopResult, error) {
	first := loopLoads[0].load
	length := first.Nodes * first.Each
	table := lengths()
	delays := make([]unit.Time, 1<<16)
	for i := range delays {
		delays[i] = table.Draw(int64(i), 1)
	}
	r := &LoopResult{Load: first, QueueLength: length, Rounds: rounds, Aim: 0.5}
	for _, l := range loopLoads {
		for _, s := range l.schedulers {
			var bare, run, ratio, cost []float64
			for range rounds {
				took, sum, err := play(ctx, l.load, s)
				if err != nil {
					return nil, fmt.Errorf("measure %s jobs under %s: %w", l.jobs, s, err)
				}
				runtime.GC()
				runtime.LockOSThread()
				begin := cpuTime()
				sim.BareLoop(sum.Events, length, delays)
				idle := cpuTime() - begin
				runtime.UnlockOSThread()
				bare = append(bare, float64(sum.Events)/idle.Seconds())
				run = append(run, float64(sum.Events)/took.Seconds())
				ratio = append(ratio, idle.Seconds()/took.Seconds())
				cost = append(cost, float64(took.Nanoseconds())/float64(sum.Tasks))
			}
			r.Rows = append(r.Rows, LoopRow{s, median(bare), median(run), median(ratio), l.jobs, l.load, median(cost)})
		}
	}
	head := r.Rows[0]
	r.Scheduler, r.BareEventsPerSecond, r.SimEventsPerSecond, r.Ratio = head.Scheduler, head.BareEventsPerSecond, head.SimEventsPerSecond, head.Ratio
	r.Met = r.Ratio >= r.Aim
	return r, nil
}
