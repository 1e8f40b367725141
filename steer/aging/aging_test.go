package aging

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

func TestStep(t *testing.T) {
	p, err := Entry.New(&steer.Setup{Queue: "q", Set: []string{"after=60s", "max=3"}})
	if err != nil {
		t.Fatal(err)
	}
	see := func(now unit.Time, jobs ...steer.Job) string {
		do, again := p.Step(&steer.Snapshot{Now: now * unit.Second, Jobs: jobs})
		if again != 10*unit.Second {
			t.Errorf("again in %v", again)
		}
		out := ""
		for _, a := range do {
			out += fmt.Sprintf("%s=%v ", a.Job, a.Value)
		}
		return out
	}
	waits := steer.Job{ID: "a", Queue: "q"}
	for _, c := range []struct {
		now  unit.Time
		job  steer.Job
		want string
	}{
		{0, waits, ""},
		{59, waits, ""},
		{60, waits, "a=1 "},
		{70, waits, "a=1 "}, // it was not made
		{80, steer.Job{ID: "a", Queue: "q", Priority: 1}, ""},
		{600, steer.Job{ID: "a", Queue: "q", Priority: 1}, "a=3 "},
		{610, steer.Job{ID: "a", Queue: "q", Priority: 3, Started: true}, "a=0 "},
		{620, steer.Job{ID: "a", Queue: "q", Started: true}, ""},
		{900, steer.Job{ID: "b", Queue: "another"}, ""},
		{1000, steer.Job{ID: "d", Queue: "q"}, "d=3 "},
		{1010, steer.Job{ID: "d", Queue: "q", Priority: 7, Started: true}, ""}, // a user has set it
		{900, steer.Job{ID: "c", Queue: "q", Priority: 9}, ""},                 // it has more than aging gives
	} {
		if got := see(c.now, c.job); got != c.want {
			t.Errorf("at %d s: %q, want %q", c.now, got, c.want)
		}
	}
	for _, set := range []string{"after=0s", "step=0", "max=x", "colour=red"} {
		_, err := Entry.New(&steer.Setup{Set: []string{set}})
		if wrong := (*steer.SettingError)(nil); !errors.As(err, &wrong) {
			t.Errorf("%s: %v", set, err)
		}
	}
}

// A job of low priority gets its turn among those that keep coming, and nothing is left of it at the end.
func TestInTheSimulator(t *testing.T) {
	var jobs workload.Slice
	for i := range 40 {
		j := &workload.Job{ID: fmt.Sprint("j", i), Queue: "root.default", Submit: unit.Time(max(0, i-5)) * 50 * unit.Second, Priority: 3,
			Stages: []workload.Stage{{Tasks: 1, Ask: cluster.Unit, Length: workload.Fixed(60 * unit.Second)}}}
		if i == 1 {
			j.Priority = 0
		}
		jobs = append(jobs, j)
	}
	starts := func(who steer.Steerer) (unit.Time, sim.Summary) {
		sink := &sink{}
		sum, err := sim.Run(context.Background(), sim.Config{
			Cluster: cluster.Uniform(1, 1, cluster.Unit), Source: jobs.Source(), NoAlone: true, Sink: sink, Steerer: who,
			NewPolicy: func() (policy.Policy, error) { return all.Policies.New(policy.Spec{Name: "fifo"}) },
		})
		if err != nil {
			t.Fatal(err)
		}
		return sink.low, sum
	}
	alone, _ := starts(nil)
	p, err := Entry.New(&steer.Setup{Queue: "root.default", Set: []string{"after=60s"}})
	if err != nil {
		t.Fatal(err)
	}
	aged, sum := starts(p)
	if alone < 2000*unit.Second || aged > 500*unit.Second {
		t.Errorf("the low one starts at %v alone and at %v with aging", alone, aged)
	}
	for _, r := range sum.Receipts {
		if r.Err != nil && r.Action.Why != "it runs" {
			t.Errorf("%+v", r)
		}
	}
}

type sink struct{ low unit.Time }

func (s *sink) Job(r *sim.JobRecord) {
	if r.Job.ID == "j1" {
		s.low = r.Start
	}
}
func (*sink) Sample(*sim.Sample) {}
