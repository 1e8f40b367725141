package sim_test

import (
	"context"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// idler is a worker that never does a task.
type idler struct{ sim.Host }

func (w *idler) Bind(h sim.Host) error        { w.Host = h; return nil }
func (w *idler) Arrived(*workload.Job, int64) {}
func (w *idler) Released(int64, int)          {}
func (w *idler) Started(*sim.Task)            {}
func (w *idler) Stopped(int32)                {}
func (w *idler) Left(int64)                   {}
func (w *idler) Wake(uint64)                  {}
func (w *idler) Progress(int32) float64       { return 0.5 }

// A timer, a steerer and speculation each look again while anything is going to happen; another's look is nothing that happens. A
// run in which nothing else does comes to its end.
func TestLooksDoNotKeepEachOtherGoing(t *testing.T) {
	watch := steer.Func(func(*steer.Snapshot) ([]steer.Action, unit.Time) { return nil, 10 * unit.Second })
	for _, c := range []struct {
		name    string
		opens   int
		steerer steer.Steerer
		worker  sim.Worker
		rule    string
	}{
		{"timer and steerer", 1 << 30, watch, nil, ""},
		{"timer and speculation", 1, nil, &idler{}, sim.SpeculateHadoop},
		{"all three", 1, watch, &idler{}, sim.SpeculateLATE},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		g := &gate{open: c.opens}
		sum, err := sim.Run(ctx, sim.Config{
			Cluster: mustParse(t, "1x1/1"), Source: workload.Slice{mapReduce("a", unit.Second, 1, 0, 1)}.Source(), Sink: &policytest.Ledger{},
			Steerer: c.steerer, Worker: c.worker, Model: sim.Model{Speculate: c.rule},
			NewPolicy: func() (policy.Policy, error) { g.Order = fifo.New(); return policy.Policy{Order: g, Timer: g}, nil },
		})
		cancel()
		if err != nil || sum.Stuck != 1 || sum.Partial {
			t.Errorf("%s: %+v, %v", c.name, sum, err)
		}
	}
}

// A steerer goes on looking while no job is there but one is going to follow.
func TestSteeringWaitsForFollowers(t *testing.T) {
	var last unit.Time
	_, err := sim.Run(context.Background(), sim.Config{
		Cluster: mustParse(t, "1x1/1"), Source: workload.Slice{mapReduce("a", 0, 1, 0, 1)}.Source(), Sink: &policytest.Ledger{}, NewPolicy: maker(policy.Spec{Name: "fifo"}),
		Steerer: steer.Func(func(s *steer.Snapshot) ([]steer.Action, unit.Time) { last = s.Now; return nil, 3 * unit.Second }),
		Follow: func(r *sim.JobRecord) []*workload.Job {
			if r.Job.ID != "a" {
				return nil
			}
			return []*workload.Job{mapReduce("b", 20*unit.Second, 1, 0, 1)}
		},
	})
	if err != nil || last < 39*unit.Second {
		t.Errorf("the second job runs from 30 s to 40 s, and the last look was at %v: %v", last, err)
	}
}

// hasty does its other tasks when one is stopped: a worker may find out at that instant that their work is over.
type hasty struct {
	idler
	ids []int32
}

func (w *hasty) Started(t *sim.Task) { w.ids = append(w.ids, t.ID) }

func (w *hasty) Stopped(id int32) {
	for _, other := range w.ids {
		if other != id {
			w.Done(other)
		}
	}
	w.ids = nil
}

// A job whose last task is done at the instant at which its container is lost has finished.
func TestDoneAsItsContainerIsLost(t *testing.T) {
	a, b := mapReduce("a", 0, 1, 0, 1), mapReduce("b", 0, 1, 0, 1)
	b.Keep = &workload.Keep{Ask: cluster.Unit, Slots: 1, Max: 1}
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: mustParse(t, "1x2/1"), Source: workload.Slice{a, b}.Source(), Sink: &policytest.Ledger{}, NewPolicy: maker(policy.Spec{Name: "fifo"}),
		Worker: &hasty{}, Model: sim.Model{Losses: []sim.Loss{{Node: "node1", At: 5 * unit.Second, For: unit.Second}}},
	})
	if err != nil || sum.Finished != 1 || sum.Tasks != 1 || sum.Stuck != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
}

// A copy that finds no other node does not keep the tasks of other stages from containers.
func TestCopiesDoNotHoldOthersBack(t *testing.T) {
	for _, beat := range []unit.Time{0, unit.Second} {
		j := taking("j", 0, append(times(9, 10), 1000)...)
		j.Stages = append(j.Stages, workload.Stage{Tasks: 60, Ask: cluster.Unit, Length: workload.Fixed(20 * unit.Second)})
		l := &policytest.Ledger{}
		_, err := sim.Run(context.Background(), sim.Config{
			Cluster: mustParse(t, "1x4/1"), Source: workload.Slice{j}.Source(), Sink: l, NewPolicy: maker(policy.Spec{Name: "fifo"}),
			Model: sim.Model{Speculate: sim.SpeculateHadoop, Heartbeat: beat},
		})
		if got := l.Records[0].Finish; err != nil || got > 1030*unit.Second {
			t.Errorf("heartbeat %v: done after %v, the longest task takes 1000 s: %v", beat, got, err)
		}
	}
}

// A scheduler that gives one reduce a heartbeat has nothing more to give to a node whose task ended in the heartbeat it began in. The
// node still reports again, be it the only one.
func TestOneNodeIsHeardAgain(t *testing.T) {
	j := mapReduce("a", 0, 1, 6, 1)
	j.Stages[1].Length = workload.Fixed(0)
	_, sum, err := play(t, mustParse(t, "1x2+1/1"), sim.Model{}, "capacity1", j)
	if err != nil || sum.Finished != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
}
