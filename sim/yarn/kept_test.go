package yarn

import (
	"fmt"
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	fifopolicy "github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/policy/rm/adapt"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// bursts is an application of several Spark jobs with shuffles, its driver thinking in between.
func bursts(id string, d *workload.Dynamic) *workload.Job {
	j := &workload.Job{ID: id, AM: gb, Keep: &workload.Keep{
		Ask: gb, Slots: 2, Max: 12, Dynamic: d, Start: 3 * s, Warm: s, Tail: 2 * s, Ready: 0.8, ReadyWait: 30 * s, LocalityWait: 3 * s,
	}}
	for i := range 6 {
		x := workload.Stage{Kind: workload.Other, Tasks: 40, Length: workload.Lengths{Kind: workload.LogNormal, A: 10 * s, P: 0.5}, Delay: 5 * s}
		switch {
		case i%2 == 1:
			x.Tasks, x.Delay, x.After = 10, 0, []workload.Edge{{From: i - 1, Shuffle: unit.GiB, SlowStart: 1}}
		case i > 0:
			x.After = []workload.Edge{{From: i - 1, SlowStart: 1}}
		}
		j.Stages = append(j.Stages, x)
	}
	return j
}

// An application takes as long, and holds its executors as long, in ideal time as on Hadoop's clock, but for the calls of its AM: Spark's comes back
// for what it requested after 200 ms, 400 ms, ... .
func TestClocksAgreeOnExecutors(t *testing.T) {
	c := cluster.Uniform(4, 1, gb.Times(20))
	for name, d := range map[string]*workload.Dynamic{
		"static":  nil,
		"dynamic": {Min: 1, Initial: 2, Backlog: s, Sustained: s, Idle: 5 * s, ShuffleIdle: 5 * s},
		"pinned":  {Backlog: s, Sustained: s, Idle: 5 * s},
		"batches": {Min: 1, Initial: 8, Backlog: s, Sustained: s, Idle: 5 * s, ShuffleIdle: 5 * s},
	} {
		t.Run(name, func(t *testing.T) {
			j := bursts(name, d)
			if name == "batches" {
				j.Keep.Batch, j.Keep.Pending, j.Keep.Every = 2, 4, 3*s
			}
			ideal := &seen{}
			if _, err := sim.Run(t.Context(), sim.Config{
				Cluster: c, Source: workload.Slice{j}.Source(), Seed: 3, Sink: ideal, NoAlone: true,
				NewPolicy: func() (policy.Policy, error) { return policy.Policy{Order: fifopolicy.New()}, nil },
			}); err != nil {
				t.Fatal(err)
			}
			hadoop, _ := play(t, Config{Cluster: c, Timing: quick(), Seed: 3}, newFIFO(), j)
			a, b := &ideal.jobs[0], &hadoop.jobs[0]
			if a.Containers != b.Containers {
				t.Errorf("%d containers in ideal time, %d on Hadoop's clock", a.Containers, b.Containers)
			}
			for what, x := range map[string][2]unit.Time{"elapsed": {a.Finish, b.Finish}, "containers held": {a.Service, b.Service}} {
				if diff := float64(x[1])/float64(x[0]) - 1; math.Abs(diff) > 0.03 {
					t.Errorf("%s: %v in ideal time, %v on Hadoop's clock (%+.1f %%)", what, x[0], x[1], 100*diff)
				}
			}
		})
	}
}

// When Spark's AM calls: 200 ms, 400 ms, ... after a request, at most 3 s apart while it is not met, and every 3 s when nothing is outstanding.
func TestPaceOfSparkCalls(t *testing.T) {
	j := bursts("j", nil)
	j.Keep.Max, j.Keep.Ready = 2, 0
	blocker := mr("blocker", 0, 1, 11*s, 0, 0) // keeps the node until then
	blocker.AM, blocker.Stages[0].Ask = gb, gb.Times(3)
	cfg := Config{Cluster: cluster.Uniform(1, 1, gb.Times(5)), Timing: quick(), Seed: 1, Phases: []unit.Time{0}}
	out, _ := play(t, cfg, newFIFO(), blocker, j)
	var got []string
	for _, r := range out.conts {
		if r.Job == j && r.Stage == policy.KeptStage {
			got = append(got, fmt.Sprintf("%.2f", r.Acquired.Seconds()))
		}
	}
	// Its calls are at 0.08 s, 0.28, 0.68, 1.48, 3.08, 6.08, 9.08, 12.08; the room is free soon after 11 s.
	if want := "[12.08 12.08]"; fmt.Sprint(got) != want {
		t.Errorf("it learns of its containers at %v, want %v", got, want)
	}
}

// records keeps the records of containers and tasks.
type records struct {
	seen
	tasks []sim.TaskRecord
}

func (r *records) Task(t *sim.TaskRecord) { r.tasks = append(r.tasks, *t) }

// Records say in which executor a task ran, on both clocks: while it was up, and not before the stage was submitted.
func TestTasksNameTheirExecutor(t *testing.T) {
	c := cluster.Uniform(4, 1, gb.Times(20))
	j := bursts("j", &workload.Dynamic{Min: 1, Initial: 2, Backlog: s, Sustained: s, Idle: 5 * s, ShuffleIdle: 5 * s})
	ideal, hadoop := &records{}, &records{}
	_, err := sim.Run(t.Context(), sim.Config{
		Cluster: c, Source: workload.Slice{j}.Source(), Seed: 3, Sink: ideal, NoAlone: true,
		NewPolicy: func() (policy.Policy, error) { return policy.Policy{Order: fifopolicy.New()}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Run(t.Context(), Config{
		Cluster: c, Source: workload.Slice{j}.Source(), Timing: quick(), Seed: 3, Sink: hadoop, NoAlone: true,
		NewScheduler: func() (rm.Scheduler, error) { return newFIFO(), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*records{"ideal": ideal, "hadoop": hadoop} {
		kept, tasks, ams := map[int64]*sim.TaskRecord{}, int64(0), 0
		for i := range r.tasks {
			switch x := &r.tasks[i]; x.Stage {
			case policy.AMStage:
				if ams++; x.Kept != -1 || x.Up < x.Start {
					t.Errorf("%s: the AM's record is %+v", name, x)
				}
			case policy.KeptStage:
				if kept[x.Kept] != nil || x.Up < x.Start+3*s {
					t.Errorf("%s: a second executor %d, or it was up at %v", name, x.Kept, x.Up)
				}
				kept[x.Kept] = x
			}
		}
		for i := range r.tasks {
			x := &r.tasks[i]
			if x.Stage < 0 {
				continue
			}
			tasks++
			k := kept[x.Kept]
			if k == nil || x.Start < k.Up || x.End > k.End || x.Node != k.Node || x.Submitted > x.Start || x.Submitted < 5*s {
				t.Fatalf("%s: task %+v in executor %+v", name, x, k)
			}
		}
		if want := r.jobs[0].Containers - 1; ams != 1 || tasks != j.Tasks() || int64(len(kept)) != want {
			t.Errorf("%s: records of %d AMs, %d executors and %d tasks, want 1, %d and %d", name, ams, len(kept), tasks, want, j.Tasks())
		}
	}
}

// claimer claims one container of its job, once: at 25 s.
type claimer struct {
	policy.Order
	stage int // of the claim
	job   *policy.Job
	done  bool
}

func (c *claimer) Started(e *policy.Event) {
	c.job = e.Job
	c.Order.Started(e)
}

func (c *claimer) Tick(now unit.Time) (unit.Time, bool) { return now + 5*s, false }

func (c *claimer) Victims(now unit.Time, to []policy.Claim) []policy.Claim {
	if c.done || now < 25*s {
		return to
	}
	c.done = true
	return append(to, policy.Claim{Job: c.job, Stage: c.stage, Count: 1})
}

// A claim of a kept container, or of tasks inside, preempts the last container with the task in it and what earlier tasks left there.
func TestExecutorsArePreempted(t *testing.T) {
	stage := func(tasks int64) workload.Stage {
		return workload.Stage{Kind: workload.Other, Tasks: tasks, Length: workload.Fixed(10 * s)}
	}
	first, reads, cached := stage(4), stage(2), stage(4)
	reads.After = []workload.Edge{{From: 0, Shuffle: unit.GiB, SlowStart: 1}}
	cached.After, cached.Cached = []workload.Edge{{From: 0, SlowStart: 1}}, 1
	for _, c := range []struct {
		name     string
		second   workload.Stage
		external bool
		finish   unit.Time
	}{
		// Two tasks of the first stage run again, from 25 s and 30 s on, then the one that was killed.
		{"shuffle output", reads, false, 50 * s},
		{"a shuffle service", reads, true, 35 * s},
		// The new container runs the killed task and the one that waited for the old one's cache.
		{"a cache", cached, false, 45 * s},
	} {
		for _, claim := range []int{policy.KeptStage, 1} {
			t.Run(fmt.Sprintf("%s, claim of stage %d", c.name, claim), func(t *testing.T) {
				j := &workload.Job{ID: "j", AM: gb, Stages: []workload.Stage{first, c.second}}
				j.Keep = &workload.Keep{Ask: gb, Slots: 1, Max: 2, External: c.external, LocalityWait: 60 * s}
				room := cluster.Uniform(3, 1, gb)
				fresh := func() (policy.Policy, error) {
					o := &claimer{Order: fifopolicy.New(), stage: claim}
					return policy.Policy{Order: o, Timer: o}, nil
				}
				ideal := &seen{}
				if _, err := sim.Run(t.Context(), sim.Config{
					Cluster: room, Source: workload.Slice{j}.Source(), Seed: 3, Sink: ideal, NoAlone: true, NewPolicy: fresh,
				}); err != nil {
					t.Fatal(err)
				}
				p, _ := fresh()
				sched, err := adapt.New(p)
				if err != nil {
					t.Fatal(err)
				}
				hadoop, _ := play(t, Config{Cluster: room, Timing: quick(), Seed: 3}, sched, j)
				for clock, r := range map[string]*sim.JobRecord{"ideal": &ideal.jobs[0], "hadoop": &hadoop.jobs[0]} {
					if late := r.Finish - c.finish; r.Lost != 2 || r.Containers != 4 || late < 0 || late > 2*s {
						t.Errorf("%s: it ends at %v, want %v; %d lost, want a container and a task; %d containers", clock, r.Finish, c.finish, r.Lost, r.Containers)
					}
				}
			})
		}
	}
}

// An AM is lost together with executors that hold shuffle output: the application starts over.
func TestAnAMIsLostWithItsExecutors(t *testing.T) {
	j := &workload.Job{ID: "j", AM: gb, Keep: &workload.Keep{Ask: gb, Slots: 1, Max: 2}, Stages: []workload.Stage{
		{Kind: workload.Other, Tasks: 2, Length: workload.Fixed(10 * s)},
		{Kind: workload.Other, Tasks: 2, Length: workload.Fixed(10 * s), After: []workload.Edge{{Shuffle: unit.GiB, SlowStart: 1}}},
	}}
	sched, err := adapt.New(policy.Policy{Order: fifopolicy.New()})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Cluster: cluster.Uniform(1, 1, gb.Times(3)), Timing: quick(), Seed: 3, Losses: []sim.Loss{{Node: "node1", At: 15 * s, For: s}}}
	if out, sum := play(t, cfg, sched, j); sum.Finished != 1 || sum.Tasks != 4 || out.jobs[0].Finish < 36*s {
		t.Errorf("%+v, finished at %v", sum, out.jobs[0].Finish)
	}
}

// The executors of a job exit when it is over, whatever its AM calls while it commits.
func TestExecutorsExitOnce(t *testing.T) {
	timing := quick()
	timing.OutOfBand, timing.NodeHeartbeat, timing.ContainerExit, timing.Commit = false, s, 5*s, 20*s
	j := &workload.Job{ID: "j", AM: gb, Keep: &workload.Keep{Ask: gb, Slots: 1, Max: 2}, Stages: []workload.Stage{
		{Kind: workload.Other, Tasks: 2, Length: workload.Fixed(10 * s)},
	}}
	out, _ := play(t, Config{Cluster: cluster.Uniform(1, 1, gb.Times(3)), Timing: timing, Seed: 3}, newFIFO(), j)
	if got := out.jobs[0].Kept; got < 30*s || got > 38*s {
		t.Errorf("two executors were held for %v in all, want 15 s each, and what heartbeats take", got)
	}
}

// restarter restarts its job once, at 5 s.
type restarter struct{ claimer }

func (c *restarter) Victims(_ unit.Time, to []policy.Claim) []policy.Claim {
	if c.done || c.job == nil {
		return to
	}
	c.done = true
	return append(to, policy.Claim{Job: c.job, Restart: true})
}

// A job that starts over while its AM starts requests no executors before that is up.
func TestARestartWaitsForTheAM(t *testing.T) {
	j := &workload.Job{ID: "j", AM: gb, AMStart: 30 * s, Keep: &workload.Keep{Ask: gb, Slots: 1, Max: 2}, Stages: []workload.Stage{
		{Kind: workload.Other, Tasks: 2, Length: workload.Fixed(10 * s)},
	}}
	out := &records{}
	_, err := sim.Run(t.Context(), sim.Config{
		Cluster: cluster.Uniform(1, 1, gb.Times(3)), Source: workload.Slice{j}.Source(), Seed: 3, Sink: out, NoAlone: true,
		NewPolicy: func() (policy.Policy, error) {
			o := &restarter{claimer{Order: fifopolicy.New()}}
			return policy.Policy{Order: o, Timer: o}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range out.tasks {
		if r.Stage == policy.KeptStage && r.Start < 30*s {
			t.Errorf("an executor starts at %v", r.Start)
		}
	}
	if out.jobs[0].Finish != 40*s {
		t.Errorf("it ends at %v, want 40 s", out.jobs[0].Finish)
	}
}
