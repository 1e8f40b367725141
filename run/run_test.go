package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/transfer"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// lines are records as text.
type lines []string

func (l *lines) Job(r *sim.JobRecord) {
	*l = append(*l, fmt.Sprint(r.Job.ID, r.Outcome, r.Start, r.Finish, r.Alone, r.Service))
}
func (l *lines) Sample(s *sim.Sample) { *l = append(*l, fmt.Sprint(*s)) }

func spec(t *testing.T, onYARN bool, tasks int64) Spec {
	t.Helper()
	fresh, _, err := all.Load(all.Policies, "fair")
	if err != nil {
		t.Fatal(err)
	}
	var jobs workload.Slice
	for i := range 20 {
		jobs = append(jobs, &workload.Job{
			ID: fmt.Sprintf("j%d", i), User: fmt.Sprint("u", i%3), Queue: "default", Submit: unit.Time(i) * unit.Second,
			Stages: []workload.Stage{{Kind: workload.Map, Tasks: tasks, Ask: cluster.Unit, Length: workload.Lengths{Kind: workload.Exponential, A: 10 * unit.Second}}},
		})
	}
	s := Spec{Cluster: cluster.Uniform(4, 1, cluster.Unit.Times(3)), Workload: Jobs(jobs), Scheduler: Scheduler{Name: "fair", New: fresh}, Seed: 7}
	if onYARN {
		hadoop := yarn.Hadoop()
		s.Timing = &hadoop
	}
	return s
}

func TestTheSameSpecGivesTheSameRecords(t *testing.T) {
	for _, onYARN := range []bool{false, true} {
		s := spec(t, onYARN, 5)
		var first, again lines
		s.Sink = &first
		a, err := Play(context.Background(), &s)
		if err != nil || a.Finished != 20 {
			t.Fatalf("%+v, %v", a, err)
		}
		s.Sink = &again
		b, err := Play(context.Background(), &s)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(a, b); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(first, again); d != "" {
			t.Error(d)
		}
	}
}

func TestAPartialRunIsAnError(t *testing.T) {
	why := errors.New("enough")
	ctx, stop := context.WithCancelCause(context.Background())
	stop(why)
	for _, onYARN := range []bool{false, true} {
		s := spec(t, onYARN, 10_000) // enough to notice that it is to end
		if sum, err := Play(ctx, &s); !errors.Is(err, why) || !sum.Partial {
			t.Errorf("partial %v, %v", sum.Partial, err)
		}
		if r, err := Result(ctx, s); err != nil || !r.Partial {
			t.Errorf("a result shows what there is: %v", err)
		}
	}
}

func TestRefusals(t *testing.T) {
	nas := func(s *Spec) {
		s.Scheduler.New = func() (policy.Policy, error) { return all.Policies.New(policy.Spec{Name: "nas"}) }
	}
	for name, c := range map[string]struct {
		onYARN bool
		change func(*Spec)
		want   string
	}{
		"YARN's own scheduler in ideal time": {false, func(s *Spec) {
			s.Scheduler = Scheduler{RM: func() (rm.Scheduler, error) { return nil, nil }}
		}, "takes a policy"},
		"a log in ideal time": {false, func(s *Spec) { s.Log = &Log{} }, "replays no log"},
		"a network on YARN: fine": {true, func(s *Spec) {
			s.Cluster.Network, _ = cluster.ParseNetwork("star:1Gbit")
			s.NewWorker = func() (sim.Worker, error) { return transfer.New(transfer.Options{}), nil }
		}, ""},
		"replicas on YARN: fine":       {true, func(s *Spec) { s.Model.Replicas, s.Model.Placement = 2, "random" }, ""},
		"following jobs on YARN":       {true, func(s *Spec) { s.Follow = func(*sim.JobRecord) []*workload.Job { return nil } }, "because jobs arrive there at the times of the workload"},
		"slots on YARN":                {true, func(s *Spec) { s.Cluster.Slots = true }, "no fixed slots"},
		"speeds on YARN: fine":         {true, func(s *Spec) { s.Cluster.Nodes[1].Speed = &cluster.Speed{Small: 2} }, ""},
		"failures on YARN: fine":       {true, func(s *Spec) { s.Model.FailTask, s.Model.Stragglers = 0.1, sim.Stragglers{Share: 0.1, Factor: 2} }, ""},
		"a network that is not played": {false, nas, "none is played"},
		"nor on YARN":                  {true, nas, "none is played"},
		"a plan on YARN": {true, func(s *Spec) {
			s.Scheduler = Scheduler{New: func() (policy.Policy, error) {
				return policy.Policy{Order: fifo.New(), Input: func(*policy.Job) (first, others []int32) { return nil, nil }}, nil
			}}
		}, "it places the input of jobs, and on a cluster the file system does"},
		"copies on YARN":            {true, func(s *Spec) { s.Model.Speculate = sim.SpeculateLATE }, "no speculative copies"},
		"speeds in ideal time":      {false, func(s *Spec) { s.Cluster.Nodes[1].Speed = &cluster.Speed{Small: 2} }, ""},
		"heartbeats of ideal time":  {true, func(s *Spec) { s.Model.Heartbeat = unit.Second }, "own heartbeats"},
		"a timeline's period: fine": {true, func(s *Spec) { s.Model.Sample = unit.Minute }, ""},
	} {
		s := spec(t, c.onYARN, 5)
		c.change(&s)
		_, played := Play(context.Background(), &s)
		for _, err := range []error{s.Check(), played} {
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		}
	}
}

func TestEach(t *testing.T) {
	for _, workers := range []int{0, 1, 3, 100} {
		done := make([]atomic.Int64, 50)
		Each(context.Background(), len(done), workers, func(i int) { done[i].Add(1) })
		for i := range done {
			if done[i].Load() != 1 {
				t.Errorf("%d workers: %d was done %d times", workers, i, done[i].Load())
			}
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	var n int
	Each(ctx, 50, 1, func(int) {
		if n++; n == 3 {
			stop()
		}
	})
	if n != 3 {
		t.Errorf("%d were done after the end of the third", n)
	}
}
