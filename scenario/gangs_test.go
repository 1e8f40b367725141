package scenario

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/workload/trace"
)

// gangs is when the workers of each gang began, and what all tasks held.
type gangs struct {
	sim.Sink
	began   map[int64]unit.Time
	workers map[int64]int64
	half    int     // gangs whose workers began at different times
	gpus    float64 // GPU-seconds held
}

func (g *gangs) note(seq, gang int64, began unit.Time) {
	if gang <= 1 {
		return
	}
	if first, ok := g.began[seq]; ok && first != began {
		g.half++
	}
	g.began[seq] = began
	g.workers[seq]++
}

func (g *gangs) held(ask unit.Resources, t unit.Time) {
	g.gpus += float64(ask.Extra.Of("nvidia.com/gpu")) * t.Seconds()
}

func (g *gangs) Task(r *sim.TaskRecord) {
	if r.Stage < 0 {
		return
	}
	stage := &r.Job.Stages[r.Stage]
	g.held(stage.Ask, r.End-r.Start)
	if r.Why == policy.Done {
		g.note(r.Seq, stage.Gang, r.Start)
	}
}

func (g *gangs) container(c *yarn.ContainerRecord) {
	g.held(c.Size, c.Freed-c.Allocated)
	if c.Stage >= 0 && !c.Killed {
		g.note(c.Seq, c.Job.Stages[c.Stage].Gang, c.Started)
	}
}

// trained writes synth:training as a workload file.
func trained(t *testing.T) string {
	t.Helper()
	src, err := trace.Open([]string{"synth:training"}, trace.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "jobs.parquet")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := jobfile.NewWriter(f, jobfile.NewMeta("test", "synth:training", nil))
	for {
		j, err := src.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err := errors.Join(err, w.Write(j)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// Gangs of GPUs from a workload file, on the cluster of the examples, on both clocks: none is half-started, and none is overtaken for ever, although
// single-GPU runs come all the time. What containers hold of GPUs is what the utilisation is computed from.
func TestGangsOfGPUs(t *testing.T) {
	file := trained(t)
	for _, clock := range []string{Ideal, Hadoop} {
		for _, scheduler := range []string{"fifo", "fair:resource=drf", "capacity:calculator=dominant,queues=models:60;research:30;data:10"} {
			t.Run(scheduler+", "+clock, func(t *testing.T) {
				s := Default()
				s.Workload, s.Cluster, s.Schedulers, s.Clock = []string{file}, filepath.Join("..", "docs", "examples", "gpus.yaml"), []string{scheduler}, clock
				setup, err := s.Resolve()
				if err != nil {
					t.Fatal(err)
				}
				r := setup.Runs()[0]
				g := &gangs{began: map[int64]unit.Time{}, workers: map[int64]int64{}}
				if r.Sink, r.NoAlone = g, true; clock != Ideal { // its records of containers say more
					r.Sink, r.Containers = struct{ sim.Sink }{g}, g.container
				}
				waits := map[int64]unit.Time{}
				g.Sink = jobs(func(j *sim.JobRecord) {
					first := &j.Job.Stages[0]
					if j.Outcome != sim.Finished || first.Gang > 1 && g.workers[j.Seq] != first.Gang {
						t.Errorf("%s of %s: %v %s (%d of a gang of %d)", j.Job.ID, j.Job.User, j.Outcome, j.Reason, g.workers[j.Seq], first.Gang)
					}
					if d := g.began[j.Seq] - j.Gang; first.Gang > 1 && (d < 0 || d > 2*unit.Second) { // of a container's start on YARN
						t.Errorf("the gang of %s starts at %v, its workers at %v", j.Job.ID, j.Gang, g.began[j.Seq])
					}
					if first.Gang > 1 {
						waits[j.Seq] = g.began[j.Seq] - j.Job.Submit
					}
				})
				sum, err := run.Play(t.Context(), &r)
				if err != nil {
					t.Fatal(err)
				}
				if len(waits) < 30 || g.half > 0 {
					t.Errorf("%d gangs, %d of them half-started", len(waits), g.half)
				}
				for seq, wait := range waits {
					if wait > 6*unit.Hour { // half of the span: single-GPU runs come all the time
						t.Errorf("gang %d waits for %v", seq, wait)
					}
				}
				if busy := sum.BusyNamed["nvidia.com/gpu"]; math.Abs(busy-g.gpus) > 1e-3 || busy < 1e6 {
					t.Errorf("%v GPU-seconds, want %v of the records", busy, g.gpus)
				}
			})
		}
	}
}

// jobs is a sink of job records.
type jobs func(*sim.JobRecord)

func (f jobs) Job(r *sim.JobRecord) { f(r) }
func (jobs) Sample(*sim.Sample)     {}
