package sizeinterval

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/policy/sizes"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

var entries = policy.Registry{SITA, COMP}

func fresh(spec string) (policy.Policy, error) {
	s, err := policy.ParseSpec(spec)
	if err != nil {
		return policy.Policy{}, err
	}
	return entries.New(s)
}

func TestParameters(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"sita", ""},
		{"sita:limits=4000,10000,shares=0.2,0.3,borrow=yes,a=-10,b=0.9", ""},
		{"sita:predictor=oracle,noise=0.3,seed=5", ""},
		{"comp:queues=4,predictor=oracle", ""},
		{"comp:queues=1", "want 2 to 1000"},
		{"comp:queues=two", "whole number"},
		{"comp:limits=10", "no parameter limits"},
		{"sita:predictor=crystal", "want input or oracle"},
		{"sita:noise=0.3", "with predictor=oracle"},
		{"sita:predictor=oracle,noise=-1", "from 0 to 10"},
		{"sita:predictor=oracle,seed=x", "whole number"},
		{"sita:a=x", "not a number"},
		{"sita:b=x", "not a number"},
		{"sita:borrow=x", "want no or yes"},
		{"sita:shares=2", "sum below 1"},
		{"sita:limits=x", "not a list of numbers"},
	} {
		if _, err := fresh(c.spec); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.spec, err, c.want)
		}
	}
}

// On an engine that does not know sizes, the first job is refused with the reason.
func TestOracleNeedsASimulator(t *testing.T) {
	p, err := fresh("sita:predictor=oracle")
	if err != nil {
		t.Fatal(err)
	}
	p.Order.Resized(0, policy.Cluster{Nodes: 4})
	if err := p.Order.Arrived(0, &policy.Job{}); err == nil || !strings.Contains(err.Error(), "only a simulator knows") {
		t.Errorf("without foresight: %v", err)
	}
	p.Foresee(func(*policy.Job) unit.Time { return 18000*unit.Second + 1 })
	j := &policy.Job{Index: 3}
	if err := p.Order.Arrived(0, j); err != nil || p.Order.(*Order).Queue(j) != 1 {
		t.Errorf("a job above the limit: %v", err)
	}
}

// finish lets a job come and go.
func finish(t *testing.T, o policy.Order, class string, input unit.Bytes, size unit.Time) (queue int) {
	t.Helper()
	j := &policy.Job{Class: class, Input: input, Tasks: 1, Stages: []policy.Stage{{Tasks: 1}}}
	if err := o.Arrived(0, j); err != nil {
		t.Fatal(err)
	}
	queue = o.(*Order).Queue(j)
	j.Stages[0].Worked, j.Stages[0].Done, j.Done = size, 1, 1
	if size < 0 { // it is killed
		j.Done = 0
	}
	o.Left(0, j)
	return queue
}

// Sizes are learned from finished jobs. Those that were killed say nothing.
func TestLearning(t *testing.T) {
	p, err := fresh("sita:limits=100,a=0,b=0")
	if err != nil {
		t.Fatal(err)
	}
	for i := range sizes.MinSamples {
		if q := finish(t, p.Order, "etl", unit.GiB, 200*unit.Second); q != 0 {
			t.Fatalf("job %d goes to queue %d before there is data to learn from", i, q)
		}
		finish(t, p.Order, "etl", unit.GiB, -unit.Day)
	}
	if q := finish(t, p.Order, "etl", unit.GiB, 200*unit.Second); q != 1 {
		t.Errorf("jobs of 200 s go to queue %d", q)
	}
	p, err = fresh("comp:queues=3,a=0,b=0")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{0, 1, 2, 1, 0} { // each is predicted 1 s long
		size := []unit.Time{unit.Millisecond, unit.Millisecond, unit.Second, unit.Second, unit.Second}[i]
		if q := finish(t, p.Order, "", 0, size); q != want {
			t.Errorf("job %d goes to queue %d, want %d", i, q, want)
		}
	}
}

// By default jobs of up to 18000 s have three nodes of ten, and the others seven.
func TestDefaultPartitions(t *testing.T) {
	p, err := fresh("sita:predictor=oracle")
	if err != nil {
		t.Fatal(err)
	}
	p.Order.Resized(0, policy.Cluster{Total: cluster.Unit.Times(10), Max: cluster.Unit, Nodes: 10,
		Room: func(_ int32, slot uint8) unit.Resources {
			return cluster.Unit.Times(int64(1 - slot))
		}})
	for i, x := range []struct {
		size  unit.Time
		nodes int64
	}{{18000 * unit.Second, 3}, {18000*unit.Second + 1, 7}} {
		p.Foresee(func(*policy.Job) unit.Time { return x.size })
		j := &policy.Job{Index: int32(i), Seq: int64(i), Ask: cluster.Unit}
		j.Want(policy.MapSlot, 1)
		if err := p.Order.Arrived(0, j); err != nil {
			t.Fatal(err)
		}
		if why := p.Order.(policy.Explainer).Why(0, j, nil); len(why) != 1 || why[0].Max != cluster.Unit.Times(x.nodes) {
			t.Errorf("a job of %v: %+v, want a partition of %d nodes", x.size, why, x.nodes)
		}
	}
}

// Until jobs have finished, a job is predicted to take 15.1 s for each 128 MiB.
func TestFirstPredictions(t *testing.T) {
	for _, x := range []struct {
		limit string
		input unit.Bytes
		want  int
	}{{"15", 128 * unit.MiB, 1}, {"15.2", 128 * unit.MiB, 0}, {"150", 1280 * unit.MiB, 1}, {"152", 1280 * unit.MiB, 0}} {
		p, err := fresh("sita:limits=" + x.limit)
		if err != nil {
			t.Fatal(err)
		}
		j := &policy.Job{Input: x.input}
		if err := p.Order.Arrived(0, j); err != nil || p.Order.(*Order).Queue(j) != x.want {
			t.Errorf("%v, limit %s s: %v, queue %d", x.input, x.limit, err, p.Order.(*Order).Queue(j))
		}
	}
}

// The size of a job that has finished is the work of all its stages. One that did more tasks than it has, since some ran twice,
// has finished too.
func TestLearnsAllStages(t *testing.T) {
	for done, want := range map[int64]int{2: 0, 3: 1, 4: 1} {
		p, err := fresh("sita:limits=100,a=0,b=0")
		if err != nil {
			t.Fatal(err)
		}
		job := func() *policy.Job {
			j := &policy.Job{Class: "etl", Input: unit.GiB, Tasks: 3, Done: done,
				Stages: []policy.Stage{{Tasks: 1, Worked: 60 * unit.Second}, {Tasks: 2, Worked: 60 * unit.Second}}}
			if err := p.Order.Arrived(0, j); err != nil {
				t.Fatal(err)
			}
			return j
		}
		for range sizes.MinSamples {
			p.Order.Left(0, job())
		}
		if q := p.Order.(*Order).Queue(job()); q != want {
			t.Errorf("with %d of 3 tasks done: jobs of 120 s go to queue %d, want %d", done, q, want)
		}
	}
}

// place records where tasks ran, by job.
type place struct {
	nodes map[string]map[string]bool
	done  int64
}

func (p *place) Job(*sim.JobRecord) {}
func (p *place) Sample(*sim.Sample) {}
func (p *place) Task(r *sim.TaskRecord) {
	if p.nodes[r.Job.ID] == nil {
		p.nodes[r.Job.ID] = map[string]bool{}
	}
	p.nodes[r.Job.ID][r.Node] = true
	p.done++
}

// A job runs in the partition of its size and nowhere else, its AM too, and no partition is idle while a job of its own waits.
func TestPropertyPartitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(3, 12).Draw(t, "nodes")
		// A little more than the tasks can use, for AMs, so that they do not crowd out all tasks.
		c := cluster.Uniform(nodes, 1, unit.Resources{Mem: 2048 + 256, Cores: 2 + 20})
		slots := rapid.Bool().Draw(t, "slots")
		if c.Slots = slots; slots {
			for i := range c.Nodes {
				c.Nodes[i].MapSlots, c.Nodes[i].ReduceSlots, c.Nodes[i].Room = 2, 1, unit.Resources{}
			}
		}
		var jobs workload.Slice
		at := unit.Time(0)
		for i := range rapid.IntRange(1, 15).Draw(t, "jobs") {
			at += unit.Time(rapid.Int64Range(0, 30).Draw(t, "gap")) * unit.Second
			j := &workload.Job{ID: fmt.Sprint("j", i), Submit: at, Stages: []workload.Stage{{
				Kind: workload.Map, Tasks: rapid.Int64Range(1, 20).Draw(t, "maps"), Ask: cluster.Unit, Length: workload.Lengths{Kind: workload.Exponential, A: 5 * unit.Second},
			}}}
			if rapid.Bool().Draw(t, "reduce") {
				j.Stages = append(j.Stages, workload.Stage{Kind: workload.Reduce, Tasks: 2, Ask: cluster.Unit, Length: workload.Fixed(4 * unit.Second), After: []workload.Edge{{SlowStart: 0.05}}})
			}
			if !slots && rapid.Bool().Draw(t, "am") {
				j.AM = unit.Resources{Mem: 8, Cores: 1}
			}
			jobs = append(jobs, j)
		}
		m := sim.Model{}
		if rapid.Bool().Draw(t, "beats") {
			m.Heartbeat = unit.Second // then nodes are numbered in the order of their heartbeats
		}
		seed := rapid.Uint64().Draw(t, "seed")
		p := &place{nodes: map[string]map[string]bool{}}
		sum, err := sim.Run(context.Background(), sim.Config{
			Cluster: c, Source: jobs.Source(), Seed: seed, Sink: p, Model: m, NoAlone: true,
			NewPolicy: func() (policy.Policy, error) { return fresh("sita:limits=20,60,shares=0.3,0.3,predictor=oracle") },
		})
		if err != nil || sum.Finished != int64(len(jobs)) {
			t.Fatalf("%+v, %v", sum, err)
		}
		parts := sizes.Partition([]float64{0.3, 0.3}, nodes)
		of := map[string]int{} // queue by node
		for i, j := range jobs {
			q := sizes.Interval(sim.SizeOf(j, seed, int64(i)), []unit.Time{20 * unit.Second, 60 * unit.Second})
			for n := range p.nodes[j.ID] {
				if other, known := of[n]; known && other != q {
					t.Fatalf("node %s serves queues %d and %d", n, other, q)
				}
				of[n] = q
			}
		}
		var used [3]int
		for _, q := range of {
			used[q]++
		}
		for q := range used {
			if used[q] > parts[q] {
				t.Fatalf("queue %d uses %d nodes, its partition has %d", q, used[q], parts[q])
			}
		}
	})
}

// Why names the queue, the partition and the jobs ahead.
func TestWhy(t *testing.T) {
	p, err := fresh("sita:limits=100,shares=0.5,a=0,b=1")
	if err != nil {
		t.Fatal(err)
	}
	room := unit.Resources{Mem: 2048, Cores: 2}
	p.Order.Resized(0, policy.Cluster{Total: room.Times(4), Max: room, Nodes: 4, Room: func(_ int32, slot uint8) unit.Resources {
		return room.Times(int64(1 - slot))
	}})
	var jobs []*policy.Job
	for i, input := range []unit.Bytes{10, 1000, 2000} {
		j := &policy.Job{Index: int32(i), Seq: int64(i), ID: fmt.Sprint("j", i), Input: input, Ask: cluster.Unit}
		jobs = append(jobs, j)
		if err := p.Order.Arrived(0, j); err != nil {
			t.Fatal(err)
		}
		j.Want(policy.MapSlot, 2)
		p.Order.Changed(0, j)
	}
	took := p.Order.Ranked(&policy.Offer{Node: &policy.Node{Index: 2}}, func(j *policy.Job) policy.Verdict {
		j.Want(policy.MapSlot, -1)
		p.Order.Started(&policy.Event{Job: j, Node: &policy.Node{Index: 2}, Size: j.Ask})
		return policy.Took
	})
	got := p.Order.(policy.Explainer).Why(0, jobs[2], nil)
	want := policy.Reason{Limit: "shares", Queue: "queue 2, partition 2", Held: cluster.Unit, Max: room.Times(2), Ahead: 1, Next: [3]string{"j1"}}
	if !took || len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func BenchmarkDecision(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint("fifo/", n), func(b *testing.B) { policytest.Bench(b, fifo.New(), n, nil) })
		b.Run(fmt.Sprint("comp/", n), func(b *testing.B) {
			p, err := fresh("comp")
			if err != nil {
				b.Fatal(err)
			}
			policytest.Bench(b, p.Order, n, nil)
		})
	}
}
