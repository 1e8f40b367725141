package sim_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// ofSizes is a cluster of one rack with nodes of so many units each.
func ofSizes(sizes ...int64) *cluster.Cluster {
	c := cluster.Uniform(len(sizes), 1, cluster.Unit)
	for i, n := range sizes {
		c.Nodes[i].Room = cluster.Unit.Times(n)
	}
	return c
}

func sized(j *workload.Job, sizes ...int64) *workload.Job {
	for i, n := range sizes {
		j.Stages[i].Ask = cluster.Unit.Times(n)
	}
	return j
}

// After a node is lost, tasks that wait for its tasks may hold all the room there is. They give way, whatever sizes, AMs
// and kinds of slots are in play, and the work is done in the end.
func TestWaitingTasksGiveWayAfterALoss(t *testing.T) {
	gone := sim.Model{Losses: []sim.Loss{{At: 5 * unit.Second, Node: "node1"}}}
	other := mapReduce("b", unit.Second, 1, 1, 0)
	other.AM = cluster.Unit
	slots, err := cluster.Parse("2x1+1")
	if err != nil {
		t.Fatal(err)
	}
	chain := mapReduce("chain", 0, 1, 1, 0)
	chain.Stages[0].Kind = workload.Reduce
	for _, c := range []struct {
		name      string
		scheduler string
		cluster   *cluster.Cluster
		jobs      []*workload.Job
	}{
		{"waiting task on the lost node", "fifo", ofSizes(2, 1), []*workload.Job{mapReduce("a", 0, 1, 2, 0)}},
		{"one waiting task is not room enough", "fifo", ofSizes(3, 3), []*workload.Job{sized(mapReduce("a", 0, 1, 3, 0), 3, 1)}},
		{"another job's AM is quicker", "fair", ofSizes(1, 1, 1), []*workload.Job{mapReduce("a", 0, 1, 2, 0), other}},
		{"two stages in reduce slots", "fifo", slots, []*workload.Job{chain}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, sum, err := play(t, c.cluster, gone, c.scheduler, c.jobs...)
			if err != nil || sum.Finished != int64(len(c.jobs)) {
				t.Errorf("finished %d of %d, %d stuck, %v", sum.Finished, len(c.jobs), sum.Stuck, err)
			}
		})
	}
}

// A job that can never be served ends the run with a reason, with heartbeats too: they stop when nothing can change.
func TestNothingWaitsForEver(t *testing.T) {
	for _, beat := range []unit.Time{0, unit.Second} {
		for _, scheduler := range []string{"fifo", "delay"} {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			l := &policytest.Ledger{}
			sum, err := sim.Run(ctx, sim.Config{
				Cluster: ofSizes(4, 1), Sink: l,
				Source:    workload.Slice{oneStage("small", 0, 1, unit.Second), sized(oneStage("big", 10*unit.Second, 1, unit.Second), 4)}.Source(),
				Model:     sim.Model{Heartbeat: beat, Losses: []sim.Loss{{At: 5 * unit.Second, Node: "node1"}}},
				NewPolicy: func() (policy.Policy, error) { return all.Policies.New(policy.Spec{Name: scheduler}) },
			})
			if err != nil || sum.Partial || sum.Stuck != 1 || !strings.Contains(l.Records[1].Reason, "no node has room for a container of 4096 MiB") {
				t.Errorf("%s, heartbeat %v: %v, partial %v, %d stuck, %q", scheduler, beat, err, sum.Partial, sum.Stuck, l.Records[len(l.Records)-1].Reason)
			}
		}
	}
}

// What a job takes alone does not depend on which job was asked about before, and a job that cannot finish alone (its AM
// takes the only large node) has no such time.
func TestAloneStandsAlone(t *testing.T) {
	c := ofSizes(1, 3, 1)
	job := mapReduce("a", 0, 2, 1, 1)
	sized(job, 1, 3)
	first := sim.NewAlone(c, sim.Model{}, 1).Of(job, 7)
	again := sim.NewAlone(c, sim.Model{}, 1)
	again.Of(sized(mapReduce("b", 0, 1, 1, 1), 1, 3), 6)
	if second := again.Of(job, 7); first != second {
		t.Errorf("%v asked first, %v asked second", first, second)
	}
	crowded := sized(oneStage("c", 0, 1, unit.Second), 4)
	crowded.AM = cluster.Unit
	if got := sim.NewAlone(ofSizes(4, 1), sim.Model{}, 1).Of(crowded, 0); got != 0 {
		t.Errorf("a job that cannot finish alone takes %v", got)
	}
}

// Losing a container that is kept loses the tasks in it, and only those; no slot ever runs two.
func TestKeptContainersLost(t *testing.T) {
	j := oneStage("j", 0, 2, 0)
	j.Stages[0].Length = workload.Lengths{Kind: workload.List, Values: []unit.Time{100 * unit.Second, 90 * unit.Second}}
	j.Keep = &workload.Keep{Ask: cluster.Unit, Slots: 1, Max: 2}
	for _, node := range []string{"node1", "node2"} {
		l, _, err := play(t, ofSizes(1, 1), sim.Model{Losses: []sim.Loss{{At: 5 * unit.Second, Node: node}}}, "fifo", j)
		if err != nil {
			t.Fatal(err)
		}
		if r := l.Records[0]; r.Finish < 190*unit.Second || r.Lost != 2 {
			t.Errorf("%s lost: one slot ran 190 s of work in %v, %d lost", node, r.Finish, r.Lost)
		}
	}
}

// A steering policy sees what is exactly as old as the sensors are slow, however often it samples.
func TestSensorsHaveAnAge(t *testing.T) {
	for _, every := range []unit.Time{unit.Minute, unit.Second / 2} {
		var seen []unit.Time
		s := steer.Func(func(s *steer.Snapshot) ([]steer.Action, unit.Time) {
			seen = append(seen, s.Now)
			return []steer.Action{{Kind: steer.KillJob, Job: "nobody"}}, every // its receipt tells when the step was
		})
		sum, err := sim.Run(context.Background(), sim.Config{
			Cluster: ofSizes(1), Source: workload.Slice{oneStage("j", 0, 30, 10*unit.Second)}.Source(), Sink: &policytest.Ledger{}, Steerer: s,
			Delays:    steer.Delays{Sense: unit.Second},
			NewPolicy: func() (policy.Policy, error) { return all.Policies.New(policy.Spec{Name: "fifo"}) },
		})
		if err != nil || len(seen) < 5 {
			t.Fatal(err, len(seen))
		}
		for i, r := range sum.Receipts {
			if age := r.Asked - seen[i]; age != unit.Second {
				t.Fatalf("looking every %v, step %d sees what is %v old", every, i, age)
			}
		}
	}
}

// Numbers that would overflow the clock or a counter are refused or held in bounds.
func TestBounds(t *testing.T) {
	if _, _, err := play(t, ofSizes(1), sim.Model{}, "fifo", oneStage("j", 0, 1, unit.Never)); err == nil {
		t.Error("a task that never ends is taken")
	}
	slow := oneStage("j", 0, 1, 0)
	slow.Stages[0].Length = workload.Lengths{Kind: workload.Cost, Work: 1 << 60, Rate: 1e-9}
	if l, _, err := play(t, ofSizes(1), sim.Model{}, "fifo", slow); err != nil || l.Records[0].Finish <= 0 {
		t.Errorf("an endless cost: %v", err)
	}
	for _, m := range []sim.Model{{StartUp: -1}, {Attempts: 1 << 20}, {FailTask: 1}, {PerBeat: 1}, {Heartbeat: 1}} {
		if _, _, err := play(t, ofSizes(1), m, "fifo", oneStage("j", 0, 1, unit.Second)); err == nil {
			t.Errorf("%+v is taken", m)
		}
	}
	// 4,000 nodes of 256 GiB, held for six hours without an event.
	big := cluster.Uniform(4000, 1, unit.Resources{Mem: 256 * 1024, Cores: 1})
	j := oneStage("j", 0, 4000, 6*unit.Hour)
	j.Stages[0].Ask = big.Nodes[0].Room
	if _, sum, err := play(t, big, sim.Model{}, "fifo", j); err != nil || sum.BusyMem != 4000*256*1024*6*3600 {
		t.Errorf("%v, %v MiB seconds", err, sum.BusyMem)
	}
	// Many attempts are many different attempts.
	if _, sum, err := play(t, ofSizes(1), sim.Model{FailTask: 0.99, Attempts: 60_000}, "fifo", oneStage("j", 0, 20, unit.Second)); err != nil || sum.Finished != 1 {
		t.Errorf("%v, finished %d", err, sum.Finished)
	}
}

// A job hears of tasks in its own containers at once, even where nodes report only on heartbeats.
func TestKeptContainersNeedNoHeartbeat(t *testing.T) {
	j := oneStage("j", 0, 100, 10*unit.Millisecond)
	j.Keep = &workload.Keep{Ask: cluster.Unit, Slots: 1, Max: 1}
	l, _, err := play(t, ofSizes(1), sim.Model{Heartbeat: 3 * unit.Second, EndOnBeat: true}, "fifo", j)
	if err != nil {
		t.Fatal(err)
	}
	if r := l.Records[0]; r.Finish-r.Start != unit.Second {
		t.Errorf("100 tasks of 10 ms take %v", r.Finish-r.Start)
	}
}

// One tiny ask early in a run does not make later offers dear, with heartbeats or without.
func TestLeastAskRisesAgain(t *testing.T) {
	var jobs []*workload.Job
	tiny := oneStage("tiny", 0, 1, unit.Second)
	tiny.Stages[0].Ask = unit.Resources{Mem: 1, Cores: 1}
	jobs = append(jobs, tiny)
	for i := range 100 {
		jobs = append(jobs, sized(oneStage(string(rune('a'+i%26)), unit.Minute, 100, 10*unit.Second), 2))
	}
	_, sum, err := play(t, cluster.Uniform(50, 1, cluster.Unit.Times(3)), sim.Model{Heartbeat: unit.Second}, "fifo", jobs...)
	if err != nil {
		t.Fatal(err)
	}
	if sum.Events > 5*sum.Tasks {
		t.Errorf("%d events for %d tasks: nodes report room that nobody wants", sum.Events, sum.Tasks)
	}
}
