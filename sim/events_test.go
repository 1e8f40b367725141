package sim_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/policy/keyed"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Each test here is a small policy that needs one thing of the dispatch seam, and gets it.

// spy is an order that keeps the events it is notified of.
type spy struct {
	policy.Order
	ended []policy.Event
	left  func(now unit.Time, j *policy.Job)
}

func (s *spy) Ended(e *policy.Event) {
	s.ended = append(s.ended, *e)
	s.Order.Ended(e)
}

func (s *spy) Left(now unit.Time, j *policy.Job) {
	if s.left != nil {
		s.left(now, j)
	}
	s.Order.Left(now, j)
}

func runWith(t *testing.T, c *cluster.Cluster, m sim.Model, p policy.Policy, jobs ...*workload.Job) (*policytest.Ledger, sim.Summary) {
	t.Helper()
	l := &policytest.Ledger{}
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: c, Source: workload.Slice(jobs).Source(), Model: m, Seed: 1, Sink: l,
		NewPolicy: func() (policy.Policy, error) { return p, nil },
	})
	if err != nil || sum.Finished != int64(len(jobs)) {
		t.Fatalf("%+v, %v", sum, err)
	}
	return l, sum
}

// A reduce that starts early holds its container while the maps work. An estimator learns how long it worked.
func TestWorkedIsNotHeld(t *testing.T) {
	s := &spy{Order: fifo.New()}
	long := mapReduce("a", 0, 1, 1, 0)
	long.Stages[0].Length = workload.Fixed(100 * unit.Second)
	runWith(t, mustParse(t, "1x2/1"), sim.Model{StartUp: unit.Second}, policy.Policy{Order: s}, long)
	want := []policy.Event{
		{Now: 101 * unit.Second, Stage: 0, Held: 101 * unit.Second, Worked: 100 * unit.Second},
		{Now: 106 * unit.Second, Stage: 1, Held: 106 * unit.Second, Worked: 5 * unit.Second},
	}
	for i, e := range s.ended {
		if w := want[i]; e.Now != w.Now || e.Stage != w.Stage || e.Held != w.Held || e.Worked != w.Worked || e.Node.Name == "" || e.Size != cluster.Unit {
			t.Errorf("%+v, want %+v", e, w)
		}
	}
}

// Tasks in containers that their job keeps are events too, and hold no room of their own.
func TestTasksInKeptContainers(t *testing.T) {
	kept := mapReduce("kept", 0, 6, 2, 1)
	kept.Keep = &workload.Keep{Ask: unit.Resources{Mem: 2048, Cores: 2}, Slots: 2, Max: 2}
	var stages []policy.Stage
	s := &spy{Order: fifo.New(), left: func(_ unit.Time, j *policy.Job) { stages = append(stages, j.Stages...) }}
	runWith(t, mustParse(t, "2x2/1"), sim.Model{StartUp: unit.Second}, policy.Policy{Order: s}, kept)
	counts := map[int]int{}
	for _, e := range s.ended {
		counts[e.Stage]++
		if length := [...]unit.Time{10 * unit.Second, 5 * unit.Second}; e.Stage >= 0 && (e.Worked != length[e.Stage] || e.Held != e.Worked || !e.Size.IsZero()) {
			t.Errorf("%+v", e)
		}
	}
	if counts[0] != 6 || counts[1] != 2 || counts[policy.KeptStage] != 2 {
		t.Errorf("ends by stage: %v", counts)
	}
	for i, want := range []unit.Time{60 * unit.Second, 10 * unit.Second} {
		if s := stages[i]; s.Worked != want || s.Done != s.Tasks || s.Running+s.Pending != 0 {
			t.Errorf("stage %d: %+v, want %v worked", i, s, want)
		}
	}
}

// Attained service counts what runs, at any instant: the sum over all jobs is the time that containers were held.
func TestAttainedService(t *testing.T) {
	var sum unit.Time
	records := map[string]unit.Time{}
	probe := &spy{left: func(now unit.Time, j *policy.Job) { records[j.ID] = j.Attained(now) }}
	shortest := keyed.Refresh(10*unit.Second, func(j *policy.Job, now unit.Time) float64 {
		if j.Pending+j.Running > 0 && j.Attained(now) < 0 {
			t.Errorf("job %s has attained %v", j.ID, j.Attained(now))
		}
		return j.Attained(now).Seconds()
	})
	probe.Order = shortest.Order
	shortest.Order = probe
	l, _ := runWith(t, mustParse(t, "2x2/1"), sim.Model{}, shortest,
		mapReduce("long", 0, 40, 2, 0.05), mapReduce("short", 35*unit.Second, 4, 1, 0.05))
	for _, r := range l.Records {
		if sum += r.Service; records[r.Job.ID] != r.Service {
			t.Errorf("job %s attained %v by the view, %v by its record", r.Job.ID, records[r.Job.ID], r.Service)
		}
		if r.Job.ID == "short" && r.Start != 40*unit.Second {
			t.Errorf("the job with the least attained service starts at %v, with the first free container at 40 s", r.Start)
		}
	}
	if want := 44*10*unit.Second + 3*5*unit.Second; sum < want {
		t.Errorf("%v attained, less than the %v of work", sum, want)
	}
}

// Where the output of a job's maps lies, rack by rack, follows from the node of every end and the shuffle of the stage graph.
func TestOutputByRack(t *testing.T) {
	j := mapReduce("a", 0, 12, 1, 1)
	j.Stages[1].After[0].Shuffle = 1200 * unit.MiB
	output := map[int32]unit.Bytes{}
	s := &spy{Order: fifo.New()}
	runWith(t, mustParse(t, "4x2/2"), sim.Model{}, policy.Policy{Order: s}, j)
	for _, e := range s.ended {
		if e.Stage == 0 {
			edge := &j.Stages[1].After[0]
			output[e.Node.Rack] += edge.Shuffle / unit.Bytes(j.Stages[edge.From].Tasks)
		}
	}
	if output[0]+output[1] != 1200*unit.MiB || output[0] != 600*unit.MiB {
		t.Errorf("output by rack: %v", output)
	}
}

// urgent takes containers from jobs of low priority while one of high priority waits and holds nothing.
type urgent struct {
	policy.Order
	jobs map[string]*policy.Job
}

func (u *urgent) Arrived(now unit.Time, j *policy.Job) error {
	u.jobs[j.ID] = j
	return u.Order.Arrived(now, j)
}

func (u *urgent) Tick(now unit.Time) (unit.Time, bool) { return now + 5*unit.Second, false }

func (u *urgent) Victims(_ unit.Time, to []policy.Claim) []policy.Claim {
	low, high := u.jobs["low"], u.jobs["high"]
	if high != nil && high.Pending > 0 && high.Running == 0 && low.Running > 0 {
		to = append(to, policy.Claim{Job: low, Stage: 0, Count: high.Pending, For: high, Node: &policy.Node{Index: 0}})
	}
	return to
}

// A policy names victims on a node; the engine takes the newest of them away, and their tasks run again.
func TestVictims(t *testing.T) {
	low, high := mapReduce("low", 0, 8, 1, 1), mapReduce("high", 12*unit.Second, 2, 1, 1)
	low.Stages[0].Length = workload.Fixed(100 * unit.Second)
	high.Priority = 5
	u := &urgent{Order: fifo.New(), jobs: map[string]*policy.Job{}}
	l, sum := runWith(t, mustParse(t, "2x2/1"), sim.Model{}, policy.Policy{Order: u, Timer: u}, low, high)
	for _, r := range l.Records {
		switch {
		case r.Job.ID == "high" && (r.Start != 15*unit.Second || r.Lost != 0):
			t.Errorf("the urgent job starts at %v, %d lost", r.Start, r.Lost)
		case r.Job.ID == "low" && r.Lost != 2:
			t.Errorf("%d containers were taken", r.Lost)
		}
	}
	if sum.Lost != 2 || sum.Tasks != 12 {
		t.Errorf("%+v", sum)
	}
}

// asker asks why job c waits when the first container comes back.
type asker struct {
	policy.Order
	c   *policy.Job
	why []policy.Reason
}

func (a *asker) Arrived(now unit.Time, j *policy.Job) error {
	if j.ID == "c" {
		a.c = j
	}
	return a.Order.Arrived(now, j)
}

func (a *asker) Ended(e *policy.Event) {
	if e.Job.ID == "a" {
		a.why = a.Order.(policy.Explainer).Why(e.Now, a.c, nil)
	}
	a.Order.Ended(e)
}

// A waiting job can be explained: which jobs come first.
func TestWhy(t *testing.T) {
	a := &asker{Order: fifo.New()}
	runWith(t, mustParse(t, "1x1/1"), sim.Model{}, policy.Policy{Order: a},
		mapReduce("a", 0, 1, 0, 1), mapReduce("b", unit.Second, 1, 0, 1), mapReduce("c", 2*unit.Second, 1, 0, 1))
	if len(a.why) != 1 || a.why[0].Ahead != 1 || a.why[0].Next[0] != "b" {
		t.Errorf("c waits because of %+v", a.why)
	}
}

// GPUs are counted as memory is, under every order: tasks that ask for one run where there is one, and no more of them than there are.
func TestGPUs(t *testing.T) {
	for _, scheduler := range []string{"fifo", "fair", "fair:by=user", "fair:resource=drf", "capacity", "delay"} {
		c := cluster.Uniform(4, 1, unit.Resources{Mem: 8192, Cores: 8000}) // thousandths of a core
		c.Nodes[2].Room.Extra = unit.Named("gpu", 2)
		training, etl := mapReduce("training", 0, 6, 0, 1), mapReduce("etl", 0, 60, 0, 1)
		training.Stages[0].Ask = unit.Resources{Mem: 512, Cores: 250, Extra: unit.Named("gpu", 1)}
		etl.Stages[0].Ask = unit.Resources{Mem: 512, Cores: 250}
		l, _, err := play(t, c, sim.Model{}, scheduler, training, etl)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range l.Records {
			if want := map[string]unit.Time{"training": 30 * unit.Second, "etl": 10 * unit.Second}[r.Job.ID]; scheduler != "delay" && r.Finish != want {
				t.Errorf("%s: %s ends at %v, want %v", scheduler, r.Job.ID, r.Finish, want)
			}
		}
	}
	c := cluster.Uniform(2, 1, cluster.Unit)
	job := mapReduce("a", 0, 1, 0, 1)
	job.Stages[0].Ask.Extra = unit.Named("gpu", 1)
	if _, sum, err := play(t, c, sim.Model{}, "fifo", job); err != nil || sum.Refused != 1 {
		t.Errorf("a cluster without GPUs takes it: %+v, %v", sum, err)
	}
}

// Two jobs that ask for little but GPUs share them by DRF, whatever else they ask for, and no node gives more than it has.
func TestGPUsAreShared(t *testing.T) {
	for _, scheduler := range []string{"fair:resource=drf", "fair:by=pool,resource=drf"} {
		c := cluster.Uniform(2, 1, unit.Resources{Mem: 100_000, Cores: 100})
		for i := range c.Nodes {
			c.Nodes[i].Room.Extra = unit.Named("gpu", 4)
		}
		first, small, large := mapReduce("first", 0, 8, 0, 1), mapReduce("small", unit.Second, 40, 0, 1), mapReduce("large", unit.Second, 40, 0, 1)
		small.Stages[0].Ask = unit.Resources{Mem: 10, Cores: 1, Extra: unit.Named("gpu", 1)}
		large.Stages[0].Ask = unit.Resources{Mem: 10_000, Cores: 1, Extra: unit.Named("gpu", 1)}
		first.Stages[0].Ask = small.Stages[0].Ask
		small.Queue, large.Queue = "a", "b"
		l := &lives{}
		spec, err := policy.ParseSpec(scheduler)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := sim.Run(context.Background(), sim.Config{
			Cluster: c, Source: workload.Slice{first, small, large}.Source(), Seed: 1, Sink: l,
			NewPolicy: func() (policy.Policy, error) { return all.Policies.New(spec) },
		})
		if err != nil || sum.Finished != 3 {
			t.Fatalf("%+v, %v", sum, err)
		}
		starts, held := map[string]int{}, map[string]int{}
		for _, r := range l.tasks {
			if r.Start == 10*unit.Second {
				starts[r.Job.ID]++
			}
			for at := r.Start; at < r.End; at += unit.Second { // tasks start and end at whole seconds
				key := fmt.Sprint(r.Node, " at ", at.Seconds())
				if held[key]++; held[key] > 4 {
					t.Fatalf("%s: %s has %d of 4 GPUs in use", scheduler, key, held[key])
				}
			}
		}
		if starts["small"] != 4 || starts["large"] != 4 {
			t.Errorf("%s: of eight GPUs, %v", scheduler, starts)
		}
	}
}

// The tasks of a gang start together or not at all; the room of the whole gang counts against a queue's maximum.
func TestGangs(t *testing.T) {
	for _, scheduler := range []string{"fifo", "fair", "capacity"} {
		gang, small := mapReduce("gang", unit.Second, 8, 0, 1), mapReduce("small", 0, 3, 0, 1)
		gang.Stages[0].Gang = 4
		l := &lives{}
		spec, _ := policy.ParseSpec(scheduler)
		sum, err := sim.Run(context.Background(), sim.Config{
			Cluster: mustParse(t, "3x2/1"), Source: workload.Slice{small, gang}.Source(), Seed: 1, Sink: l,
			NewPolicy: func() (policy.Policy, error) { return all.Policies.New(spec) },
		})
		if err != nil || sum.Finished != 2 {
			t.Fatalf("%+v, %v", sum, err)
		}
		starts := map[unit.Time]int{}
		for _, r := range l.tasks {
			if r.Job.ID == "gang" {
				starts[r.Start]++
			}
		}
		// Three of six containers are free at 1 s: not enough for four.
		if len(starts) != 2 || starts[10*unit.Second] != 4 || starts[20*unit.Second] != 4 {
			t.Errorf("%s: the gang's tasks start at %v", scheduler, starts)
		}
	}
	large := mapReduce("a", 0, 8, 0, 1)
	large.Stages[0].Gang = 7
	if _, sum, err := play(t, mustParse(t, "3x2/1"), sim.Model{}, "fifo", large); err != nil || sum.Refused != 1 {
		t.Errorf("seven at once in six containers: %+v, %v", sum, err)
	}
}
