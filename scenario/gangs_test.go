package scenario

import (
	"path/filepath"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
)

// gangs is when the workers of each gang began.
type gangs struct {
	sim.Sink
	began map[int64]unit.Time
	half  int // gangs whose workers began at different times
}

func (g *gangs) note(seq int64, gang int64, began unit.Time) {
	if gang <= 1 {
		return
	}
	if first, ok := g.began[seq]; ok && first != began {
		g.half++
	}
	g.began[seq] = began
}

func (g *gangs) Task(r *sim.TaskRecord) {
	if r.Stage >= 0 && r.Why == policy.Done {
		g.note(r.Seq, r.Job.Stages[r.Stage].Gang, r.Start)
	}
}

// Gangs of GPUs on the cluster of the examples, on both clocks: none is half-started, and none is overtaken for ever, although single-GPU runs come all the time.
func TestGangsOfGPUs(t *testing.T) {
	for _, clock := range []string{Ideal, Hadoop} {
		for _, scheduler := range []string{"fifo", "fair:resource=drf", "capacity:calculator=dominant,queues=models:60;research:30;data:10"} {
			t.Run(scheduler+", "+clock, func(t *testing.T) {
				s := Default()
				s.Workload, s.Cluster, s.Schedulers, s.Yarn.Clock = []string{"synth:training"}, filepath.Join("..", "docs", "examples", "gpus.yaml"), []string{scheduler}, clock
				setup, err := s.Resolve()
				if err != nil {
					t.Fatal(err)
				}
				r := setup.Runs()[0]
				g := &gangs{Sink: result.Tee(), began: map[int64]unit.Time{}}
				if r.Sink, r.NoAlone = g, true; clock != Ideal {
					r.Containers = func(c *yarn.ContainerRecord) {
						if c.Stage >= 0 && !c.Killed {
							g.note(c.Seq, c.Job.Stages[c.Stage].Gang, c.Started)
						}
					}
				}
				waits := map[int64]unit.Time{}
				g.Sink = jobs(func(j *sim.JobRecord) {
					if j.Outcome != sim.Finished {
						t.Errorf("%s of %s: %v %s (gang of %d)", j.Job.ID, j.Job.User, j.Outcome, j.Reason, j.Job.Stages[0].Gang)
					}
					if began, ok := g.began[j.Seq]; ok {
						waits[j.Seq] = began - j.Job.Submit
					}
				})
				if _, err := run.Play(t.Context(), &r); err != nil {
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
			})
		}
	}
}

// jobs is a sink of job records.
type jobs func(*sim.JobRecord)

func (f jobs) Job(r *sim.JobRecord) { f(r) }
func (jobs) Sample(*sim.Sample)     {}
