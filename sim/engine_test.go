package sim_test

import (
	"context"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

func play(t *testing.T, c *cluster.Cluster, m sim.Model, scheduler string, jobs ...*workload.Job) (*policytest.Ledger, sim.Summary, error) {
	t.Helper()
	spec, err := policy.ParseSpec(scheduler)
	if err != nil {
		t.Fatal(err)
	}
	l := &policytest.Ledger{}
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: c, Source: workload.Slice(jobs).Source(), Model: m, Seed: 1, Sink: l,
		NewPolicy: func() (policy.Policy, error) { return all.Policies.New(spec) },
	})
	return l, sum, err
}

func mapReduce(id string, at unit.Time, maps, reduces int64, slowStart float64) *workload.Job {
	return &workload.Job{ID: id, Submit: at, Stages: []workload.Stage{
		{Kind: workload.Map, Tasks: maps, Ask: cluster.Unit, Length: workload.Fixed(10 * unit.Second)},
		{
			Kind: workload.Reduce, Tasks: reduces, Ask: cluster.Unit, Length: workload.Fixed(5 * unit.Second),
			After: []workload.Edge{{From: 0, SlowStart: slowStart}},
		},
	}}
}

// What one job does on a small cluster, worked out by hand.
func TestOneJob(t *testing.T) {
	withMaster := mapReduce("master", 0, 4, 1, 0.05)
	withMaster.AM = cluster.Unit
	chain := &workload.Job{ID: "chain"}
	for i := range 5 {
		s := workload.Stage{Tasks: 2, Ask: cluster.Unit, Length: workload.Fixed(unit.Second)}
		if i > 0 {
			s.After = []workload.Edge{{From: i - 1, SlowStart: 1}}
		}
		chain.Stages = append(chain.Stages, s)
	}
	kept := mapReduce("kept", 0, 6, 2, 1)
	kept.Keep = &workload.Keep{Ask: unit.Resources{Mem: 2048, Cores: 2}, Slots: 2, Max: 2}
	for _, c := range []struct {
		name    string
		cluster string
		model   sim.Model
		job     *workload.Job
		want    unit.Time
		service unit.Time
	}{
		{"one wave", "2x2", sim.Model{}, mapReduce("j", 0, 4, 1, 1), 15 * unit.Second, 45 * unit.Second},
		{"two waves", "2x2", sim.Model{}, mapReduce("j", 0, 5, 1, 1), 25 * unit.Second, 55 * unit.Second},
		// The reduce takes a container at 10 s, when the fifth map starts, and holds it for 10 s before it works.
		{"early reduce holds its container", "2x2", sim.Model{}, mapReduce("j", 0, 5, 1, 0.05), 25 * unit.Second, 65 * unit.Second},
		{"start-up", "2x2", sim.Model{StartUp: 2 * unit.Second}, mapReduce("j", 0, 4, 1, 1), 19 * unit.Second, 55 * unit.Second},
		{"start-up of an early reduce is hidden", "2x2", sim.Model{StartUp: 2 * unit.Second}, mapReduce("j", 0, 5, 1, 0.05), 29 * unit.Second, 77 * unit.Second},
		// An AM of its own container: three are left, so two waves of maps; it is held to the end.
		{"master", "2x2", sim.Model{StartUp: unit.Second}, withMaster, 28 * unit.Second, 28*unit.Second + 4*11*unit.Second + 16*unit.Second},
		{"five stages", "1x1", sim.Model{}, chain, 10 * unit.Second, 10 * unit.Second},
		// Two executors of two slots run six maps in two waves, then two reduces; both are held throughout.
		{"kept containers", "2x2", sim.Model{}, kept, 25 * unit.Second, 50 * unit.Second},
		{"fixed slots", "2x2+1", sim.Model{}, mapReduce("j", 0, 5, 3, 0.05), 30 * unit.Second, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl, err := cluster.Parse(c.cluster)
			if err != nil {
				t.Fatal(err)
			}
			l, sum, err := play(t, cl, c.model, "fifo", c.job)
			if err != nil {
				t.Fatal(err)
			}
			r := l.Records[0]
			if r.Finish != c.want || c.service > 0 && r.Service != c.service {
				t.Errorf("finished at %v with %v of container time, want %v and %v", r.Finish, r.Service, c.want, c.service)
			}
			if sum.Tasks != c.job.Tasks() || r.Alone != r.Finish {
				t.Errorf("%d tasks, alone %v", sum.Tasks, r.Alone)
			}
		})
	}
}

// A reduce takes its container when slow-start's share of the maps, rounded up to whole maps, is done. Ten maps take 1 to 10 s, side by side; the
// reduce works for 5 s after the last, and holds its container from the moment that slow-start says.
func TestSlowStartIsRoundedUp(t *testing.T) {
	for slowStart, from := range map[float64]int64{0: 0, 0.001: 1, 0.1: 1, 0.2: 2, 0.21: 3, 0.29: 3, 0.3: 3, 0.91: 10, 1: 10} {
		j := mapReduce("j", 0, 10, 1, slowStart)
		j.Stages[0].Length = workload.Lengths{Kind: workload.List}
		var maps unit.Time
		for s := unit.Second; s <= 10*unit.Second; s += unit.Second {
			j.Stages[0].Length.Values = append(j.Stages[0].Length.Values, s)
			maps += s
		}
		l, _, err := play(t, cluster.Uniform(1, 1, cluster.Unit.Times(11)), sim.Model{}, "fifo", j)
		if err != nil {
			t.Fatal(err)
		}
		if want := maps + 15*unit.Second - unit.Time(from)*unit.Second; l.Records[0].Service != want {
			t.Errorf("slow-start %v: %v of container time, want %v: the reduce is to start with %d maps done", slowStart, l.Records[0].Service, want, from)
		}
	}
}

// With heartbeats a job waits for a node's heartbeat, and never longer than a period for each step.
func TestHeartbeats(t *testing.T) {
	cl := cluster.Uniform(1, 1, cluster.Unit.Times(4))
	m := sim.Model{Heartbeat: 10 * unit.Second}
	l, _, err := play(t, cl, m, "fifo", mapReduce("j", 100*unit.Second, 4, 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	r := l.Records[0]
	phase := r.Start % (10 * unit.Second)
	if r.Start < 100*unit.Second || r.Start > 110*unit.Second {
		t.Errorf("starts at %v", r.Start)
	}
	if want := r.Start + 10*unit.Second + 5*unit.Second; r.Finish != want {
		t.Errorf("finishes at %v, want %v: maps end on the node's beat, so the reduce starts with it", r.Finish, want)
	}
	m.PerBeat = 1
	l, _, _ = play(t, cl, m, "fifo", mapReduce("j", 100*unit.Second, 4, 1, 1))
	if got := l.Records[0].Finish - l.Records[0].Start; got != 45*unit.Second {
		t.Errorf("one container a beat: takes %v, want 45 s", got)
	}
	m = sim.Model{Heartbeat: 10 * unit.Second, EndOnBeat: true}
	l, _, _ = play(t, cl, m, "fifo", oneStage("j", 100*unit.Second, 1, unit.Second))
	if got := l.Records[0].Finish; got != l.Records[0].Start+10*unit.Second || got%(10*unit.Second) != phase {
		t.Errorf("an end that is known on the beat is at %v, start %v", got, l.Records[0].Start)
	}
}

func TestLostNodeRunsItsTasksAgain(t *testing.T) {
	cl := cluster.Uniform(2, 1, cluster.Unit)
	m := sim.Model{Losses: []sim.Loss{{Node: "node2", At: 5 * unit.Second, For: 20 * unit.Second}}}
	l, sum, err := play(t, cl, m, "fifo", oneStage("j", 0, 2, 10*unit.Second))
	if err != nil {
		t.Fatal(err)
	}
	if r := l.Records[0]; r.Finish != 20*unit.Second || r.Lost != 1 || sum.Lost != 1 || r.Service != 25*unit.Second {
		t.Errorf("finish %v, lost %d, service %v: want 20 s, 1, 25 s", r.Finish, r.Lost, r.Service)
	}
	m.Losses[0].Node = "nodeX"
	if _, _, err := play(t, cl, m, "fifo", oneStage("j", 0, 2, 10*unit.Second)); err == nil || !strings.Contains(err.Error(), "nodeX") {
		t.Errorf("a loss of an unknown node: %v", err)
	}
}

func TestTaskFailures(t *testing.T) {
	cl := cluster.Uniform(10, 1, cluster.Unit)
	l, sum, err := play(t, cl, sim.Model{FailTask: 0.2}, "fifo", oneStage("j", 0, 1000, 10*unit.Second))
	if err != nil {
		t.Fatal(err)
	}
	// 0.2^4 = 0.0016 a task: with a thousand tasks the job fails more often than not; with 20 attempts never.
	_, many, err := play(t, cl, sim.Model{FailTask: 0.2, Attempts: 20}, "fifo", oneStage("j", 0, 1000, 10*unit.Second))
	if err != nil {
		t.Fatal(err)
	}
	if many.Finished != 1 || many.Tasks != 1000 || many.Lost < 200 || many.Lost > 300 {
		t.Errorf("finished %d, %d tasks, %d lost: about 250 of 1250 attempts should fail", many.Finished, many.Tasks, many.Lost)
	}
	if sum.Finished == 0 && !strings.Contains(l.Records[0].Reason, "failed 4 times") {
		t.Errorf("reason %q", l.Records[0].Reason)
	}
}

// Jobs that can never run are refused with a reason; those that crowd each other out for ever are an error, not a hang.
func TestRefusalsAndDeadlock(t *testing.T) {
	cl := cluster.Uniform(2, 1, cluster.Unit.Times(2))
	big := oneStage("big", 0, 1, unit.Second)
	big.Stages[0].Ask = unit.Resources{Mem: 4096, Cores: 1}
	l, sum, err := play(t, cl, sim.Model{}, "fifo", big, oneStage("ok", 0, 1, unit.Second))
	if err != nil {
		t.Fatal(err)
	}
	if sum.Refused != 1 || sum.Finished != 1 || !strings.Contains(l.Records[0].Reason, "no node is that large") {
		t.Errorf("refused %d, finished %d, reason %q", sum.Refused, sum.Finished, l.Records[0].Reason)
	}
	var jobs []*workload.Job
	for _, id := range []string{"a", "b", "c", "d"} {
		j := oneStage(id, 0, 1, unit.Second)
		j.AM = cluster.Unit
		jobs = append(jobs, j)
	}
	l, sum, err = play(t, cl, sim.Model{StartUp: unit.Second}, "fifo", jobs...)
	if err != nil || sum.Stuck != 4 || !strings.Contains(l.Records[0].Reason, "the AMs of jobs hold 4096 of 4096 MiB") {
		t.Errorf("four AMs in four containers: %v, %d stuck, %q", err, sum.Stuck, l.Records[0].Reason)
	}
}

// Delay scheduling waits for the nodes that hold a job's input, and trades wait for locality.
func TestLocality(t *testing.T) {
	cl := cluster.Uniform(20, 4, cluster.Unit.Times(2))
	var jobs []*workload.Job
	for i := range 30 {
		j := oneStage(string(rune('a'+i)), unit.Time(i)*unit.Second, 20, 10*unit.Second)
		j.Stages[0].Input = unit.GiB
		jobs = append(jobs, j)
	}
	near := func(scheduler string, m sim.Model) (node float64) {
		l, _, err := play(t, cl, m, scheduler, jobs...)
		if err != nil {
			t.Fatal(err)
		}
		var n [4]int64
		for _, r := range l.Records {
			for k := range n {
				n[k] += r.Near[k]
			}
		}
		if n[policy.NoPreference] != 0 || n[1]+n[2]+n[3] != 600 {
			t.Errorf("%s: %v starts", scheduler, n)
		}
		return float64(n[policy.NodeLocal]) / 600
	}
	m := sim.Model{Replicas: 3, Heartbeat: unit.Second}
	fair, delay := near("fair", m), near("delay", m)
	t.Logf("node-local: fair %.2f, delay %.2f", fair, delay)
	if delay <= fair {
		t.Errorf("delay scheduling starts %.2f of the tasks on their node, fair %.2f", delay, fair)
	}
	m.Heartbeat = 0
	if timed, fair := near("delay:node=10s", m), near("fair", m); timed <= fair {
		t.Errorf("without heartbeats: delay scheduling starts %.2f of the tasks on their node, fair %.2f", timed, fair)
	}
}

// A run that is cut off says so and still reports every job.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	l := &policytest.Ledger{}
	sum, err := sim.Run(ctx, sim.Config{
		Cluster: cluster.Uniform(1, 1, cluster.Unit), Source: workload.Slice{oneStage("j", 0, 10_000_000, unit.Second)}.Source(), Sink: l,
		NewPolicy: func() (policy.Policy, error) { return all.Policies.New(policy.Spec{Name: "fifo"}) },
		Progress:  func(sim.Progress) { cancel() },
	})
	if err != nil || !sum.Partial || len(l.Records) != 1 || l.Records[0].Outcome != sim.Unfinished {
		t.Errorf("cancelled: %v, partial %v, records %v", err, sum.Partial, l.Records)
	}
}

func TestUnsortedWorkload(t *testing.T) {
	_, _, err := play(t, cluster.Uniform(1, 1, cluster.Unit), sim.Model{}, "fifo",
		oneStage("late", 10*unit.Second, 1, unit.Second), oneStage("early", 5*unit.Second, 1, unit.Second))
	if err == nil || !strings.Contains(err.Error(), "job early") {
		t.Errorf("an unsorted workload: %v", err)
	}
}
