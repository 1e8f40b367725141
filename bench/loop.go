package bench

import (
	"context"
	"fmt"
	"runtime"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

// LoopResult compares the simulator with an event loop that does nothing else: the same number of events through the same
// queue at the same length.
type LoopResult struct {
	Scheduler string `json:"scheduler"` // the headline figures are for it
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

// LoopRow is one scheduler's part.
type LoopRow struct {
	Scheduler           string  `json:"scheduler"`
	BareEventsPerSecond float64 `json:"bare_events_per_second"`
	SimEventsPerSecond  float64 `json:"sim_events_per_second"`
	Ratio               float64 `json:"ratio"`
}

// Loop measures. Each round plays the simulator and the bare loop one after the other, so that both meet the same
// neighbours on a shared machine.
func Loop(ctx context.Context, rounds int) (*LoopResult, error) {
	l := Load{Jobs: 200, Tasks: 25_000, Nodes: 600, Each: 6}
	length := l.Nodes * l.Each
	table := lengths()
	delays := make([]unit.Time, 1<<16)
	for i := range delays {
		delays[i] = table.Draw(int64(i), 1)
	}
	r := &LoopResult{Load: l, QueueLength: length, Rounds: rounds, Aim: 0.5}
	for _, s := range Schedulers {
		var bare, run, ratio []float64
		for range rounds {
			took, sum, err := play(ctx, l, s)
			if err != nil {
				return nil, fmt.Errorf("measure %s: %w", s, err)
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
		}
		r.Rows = append(r.Rows, LoopRow{s, median(bare), median(run), median(ratio)})
	}
	first := r.Rows[0]
	r.Scheduler, r.BareEventsPerSecond, r.SimEventsPerSecond, r.Ratio = first.Scheduler, first.BareEventsPerSecond, first.SimEventsPerSecond, first.Ratio
	r.Met = r.Ratio >= r.Aim
	return r, nil
}
