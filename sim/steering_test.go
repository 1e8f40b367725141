package sim_test

import (
	"context"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policy/capacity"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// impatient raises the priority of a job that has waited too long. It is a whole steering policy: a pure step from what is
// seen to what to do.
type impatient struct {
	waitLimit unit.Time
	raised    map[string]bool
	seen      []steer.Snapshot
}

func (p *impatient) Step(s *steer.Snapshot) (do []steer.Action, again unit.Time) {
	p.seen = append(p.seen, *s)
	for _, j := range s.Jobs {
		if !j.Started && s.Now-j.Submitted >= p.waitLimit && !p.raised[j.ID] {
			p.raised[j.ID] = true
			do = append(do, steer.Action{Kind: steer.SetPriority, Job: j.ID, Value: float64(j.Priority + 10), Why: "waited too long"})
		}
	}
	return do, 10 * unit.Second
}

func oneStage(id string, at unit.Time, tasks int64, length unit.Time) *workload.Job {
	return &workload.Job{ID: id, Submit: at, Stages: []workload.Stage{{Tasks: tasks, Ask: cluster.Unit, Length: workload.Fixed(length)}}}
}

func TestSteeringWithDelays(t *testing.T) {
	// One container. "long" has 100 tasks of 10 s; "short" comes at 5 s and would wait for all of them.
	jobs := workload.Slice{oneStage("long", 0, 100, 10*unit.Second), oneStage("short", 5*unit.Second, 1, unit.Second)}
	play := func(s steer.Steerer, d steer.Delays) (map[string]sim.JobRecord, sim.Summary) {
		sink := &policytest.Ledger{}
		sum, err := sim.Run(context.Background(), sim.Config{
			Cluster: cluster.Uniform(1, 1, cluster.Unit), Source: jobs.Source(), Sink: sink, Steerer: s, Delays: d,
			NewPolicy: func() (policy.Policy, error) { return all.Policies.New(policy.Spec{Name: "fifo"}) },
		})
		if err != nil {
			t.Fatal(err)
		}
		by := map[string]sim.JobRecord{}
		for _, r := range sink.Records {
			by[r.Job.ID] = r
		}
		return by, sum
	}
	alone, _ := play(nil, steer.Delays{})
	if got := alone["short"].Start; got != 1000*unit.Second {
		t.Fatalf("without steering the short job starts at %v, want 1000 s", got)
	}
	// Looks at 0, 10, 20 s: at 20 s it has waited 15 s. With no delay it gets the container that ends at 20 s or 30 s.
	p := &impatient{waitLimit: 15 * unit.Second, raised: map[string]bool{}}
	steered, sum := play(p, steer.Delays{})
	if got := steered["short"].Start; got != 30*unit.Second {
		t.Errorf("steered at once, the short job starts at %v, want 30 s", got)
	}
	if len(sum.Receipts) != 1 || sum.Receipts[0].Err != nil || sum.Receipts[0].Old != 0 || sum.Receipts[0].New != 10 || sum.Receipts[0].InForce != 20*unit.Second {
		t.Errorf("receipts %+v", sum.Receipts)
	}
	// What is seen is 12 s old and what is done takes 25 s more.
	p = &impatient{waitLimit: 15 * unit.Second, raised: map[string]bool{}}
	late, sum := play(p, steer.Delays{Sense: 12 * unit.Second, Job: 25 * unit.Second})
	if got, at := late["short"].Start, sum.Receipts[0].InForce; at != sum.Receipts[0].Asked+25*unit.Second || got < at || got > at+10*unit.Second {
		t.Errorf("with delays: in force at %v, short job starts at %v", at, got)
	}
	for _, s := range p.seen[1:] {
		if s.Total != cluster.Unit || s.Nodes != 1 {
			t.Fatalf("snapshot %+v", s)
		}
	}
	// The same policy cannot change what is not there, and hears so.
	ghost := steer.Func(func(s *steer.Snapshot) ([]steer.Action, unit.Time) {
		return []steer.Action{{Kind: steer.SetPriority, Job: "ghost"}, {Kind: steer.SetQueue, Queue: "q", Property: "capacity", Value: 1}}, 0
	})
	_, sum = play(ghost, steer.Delays{})
	if len(sum.Receipts) != 2 || sum.Receipts[0].Err == nil || sum.Receipts[1].Err == nil {
		t.Errorf("receipts %+v", sum.Receipts)
	}
}

// A job is moved; to kill one could not be undone, and is refused as it is live.
func TestSteeringMoves(t *testing.T) {
	jobs := workload.Slice{oneStage("a", 0, 10, 10*unit.Second), oneStage("b", 0, 10, 10*unit.Second)}
	jobs[0].Queue, jobs[1].Queue = "left", "left"
	n := 0
	s := steer.Func(func(s *steer.Snapshot) ([]steer.Action, unit.Time) {
		n++
		switch n {
		case 3:
			return []steer.Action{{Kind: steer.MoveJob, Job: "a", Queue: "right"}, {Kind: steer.KillJob, Job: "b", Why: "test"}}, unit.Second
		default:
			return nil, unit.Second
		}
	})
	sink := &policytest.Ledger{}
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: cluster.Uniform(2, 1, cluster.Unit), Source: jobs.Source(), Sink: sink, Steerer: s,
		NewPolicy: func() (policy.Policy, error) { return all.Policies.New(policy.Spec{Name: "fair"}) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Finished != 2 {
		t.Errorf("%d finished", sum.Finished)
	}
	if r := sum.Receipts; len(r) != 2 || r[0].Err != nil || r[0].OldQueue != "left" || r[1].Err == nil {
		t.Errorf("%+v", r)
	}
	moved := false
	for _, x := range sink.Samples {
		moved = moved || len(x.Queues) == 2 && x.Queues[1].Name == "right" && x.Queues[1].Containers > 0
	}
	if !moved {
		t.Errorf("%+v", sink.Samples)
	}
}

// Capacities of siblings change together, in sum as before, in the queues that a person has named; at the end they are put back together.
func TestSteeringCapacities(t *testing.T) {
	jobs := workload.Slice{oneStage("a", 0, 10, 10*unit.Second), oneStage("b", 0, 10, 10*unit.Second)}
	jobs[0].Queue, jobs[1].Queue = "x", "y"
	shares := func(x, y float64) steer.Action {
		return steer.SetCapacities("test", steer.Share{Queue: "root.x", Value: x}, steer.Share{Queue: "root.y", Value: y})
	}
	n := 0
	s := steer.Func(func(s *steer.Snapshot) ([]steer.Action, unit.Time) {
		n++
		return map[int][]steer.Action{
			2: {shares(70, 20)},
			3: {shares(70, 40)},                                                                                                // in sum more than before
			4: {steer.SetCapacities("test", steer.Share{Queue: "root.x", Value: 60}, steer.Share{Queue: "root.z", Value: 20})}, // not named
			5: {steer.SetCapacities("test", steer.Share{Queue: "root.x", Value: 60}, steer.Share{Queue: "root.x.y", Value: 30})},
			6: {{Kind: steer.MoveJob, Job: "a", Queue: "root.z"}},
		}[n], unit.Second
	})
	conf, err := conf.ReadCapacity(strings.NewReader(`<configuration><property><name>yarn.scheduler.capacity.root.queues</name><value>x,y,z</value></property>
		<property><name>yarn.scheduler.capacity.root.x.capacity</name><value>50</value></property><property><name>yarn.scheduler.capacity.root.y.capacity</name><value>40</value></property>
		<property><name>yarn.scheduler.capacity.root.z.capacity</name><value>10</value></property></configuration>`), "capacity-scheduler.xml")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: cluster.Uniform(2, 1, cluster.Unit), Source: jobs.Source(), Sink: &policytest.Ledger{}, Steerer: s, Bounds: steer.Bounds{Queues: []string{"root.x", "root.y"}},
		NewPolicy: func() (policy.Policy, error) { return capacity.New(conf) },
	})
	if err != nil {
		t.Fatal(err)
	}
	r := sum.Receipts
	if len(r) != 6 || r[0].Err != nil || r[0].OldQueue != "x=50,y=40,z=10" || !r[5].Back || r[5].OldQueue != "x=70,y=20,z=10" || r[5].Err != nil {
		t.Fatalf("%+v", r)
	}
	for _, refused := range r[1:5] {
		if refused.Err == nil {
			t.Errorf("%+v", refused)
		}
	}
}
