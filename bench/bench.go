// Package bench measures the simulator against a baseline in the same run: machines differ and are shared, so a
// ratio says more than a time.
package bench

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Schedulers lists those measured.
var Schedulers = []string{"fifo", "fair", "capacity"}

// Load is a synthetic benchmark workload: Jobs jobs arrive evenly over Over seconds (0: one), each with Tasks tasks whose
// lengths come from a quantile table, like those of an imported history (here: exponential, mean ten seconds).
type Load struct {
	Jobs     int64 `json:"jobs"`
	Tasks    int64 `json:"tasks_a_job"`
	Nodes    int   `json:"nodes"`
	Each     int   `json:"containers_a_node"`
	Reduces  int64 `json:"reduces_a_job,omitempty"` // of Tasks; with a slow-start of 5 %
	Replicas int   `json:"replicas,omitempty"`      // of each map's input block
	Over     int64 `json:"arrive_over_seconds,omitempty"`
}

func lengths() workload.Lengths {
	table := make([]unit.Time, 65)
	for k := range table {
		table[k] = unit.FromSeconds(-10 * math.Log(1-min(float64(k)/64, 0.999)))
	}
	return workload.Lengths{Kind: workload.Quantiles, Values: table}
}

// source streams the jobs, which differ only in number, user and queue.
type source struct {
	l    Load
	next int64
	ids  []string

	lengths workload.Lengths
}

func (s *source) Next() (*workload.Job, error) {
	if s.next == s.l.Jobs {
		return nil, io.EOF
	}
	i := s.next
	s.next++
	maps := s.l.Tasks - s.l.Reduces
	j := &workload.Job{
		ID: "job", User: s.ids[i%int64(len(s.ids))], Queue: "q" + s.ids[i%4],
		Submit: unit.Time(i*max(s.l.Over, 1)) * unit.Second / unit.Time(s.l.Jobs),
		Stages: []workload.Stage{{Tasks: maps, Ask: cluster.Unit, Length: s.lengths, Input: unit.Bytes(maps) * 128 * unit.MiB}},
	}
	if s.l.Reduces > 0 {
		j.Stages = append(j.Stages, workload.Stage{
			Kind: workload.Reduce, Tasks: s.l.Reduces, Ask: cluster.Unit, Length: s.lengths, After: []workload.Edge{{SlowStart: 0.05}},
		})
	}
	return j, nil
}

// play runs a load once and returns its processor time and summary.
func play(ctx context.Context, l Load, scheduler string) (time.Duration, sim.Summary, error) {
	ids := make([]string, 50)
	for i := range ids {
		ids[i] = fmt.Sprintf("u%02d", i)
	}
	took, sum, err := timed(ctx, scheduler, run.Spec{
		Cluster:  cluster.Uniform(l.Nodes, max(1, l.Nodes/20), cluster.Unit.Times(int64(l.Each))),
		Workload: &run.Workload{Open: func(uint64) (workload.Source, error) { return &source{l: l, ids: ids, lengths: lengths()}, nil }},
		Model:    sim.Model{Replicas: l.Replicas},
	})
	if err == nil && sum.Tasks != l.Jobs*l.Tasks {
		err = fmt.Errorf("%d of %d tasks finished", sum.Tasks, l.Jobs*l.Tasks)
	}
	return took, sum, err
}

// timed plays a run under a scheduler and returns its processor time.
func timed(ctx context.Context, scheduler string, s run.Spec) (took time.Duration, sum sim.Summary, err error) {
	if s.Scheduler.New, _, err = all.Load(all.Policies, scheduler); err != nil {
		return 0, sum, err
	}
	s.Seed, s.NoAlone = 1, true
	runtime.GC()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := cpuTime()
	sum, err = run.Play(ctx, &s)
	return cpuTime() - begin, sum, err
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}
