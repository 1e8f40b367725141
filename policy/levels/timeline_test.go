package levels_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/policy/rm/adapt"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/synth"
)

// slots returns a cluster of fixed slots.
func slots(nodes int, maps, reduces int64) *cluster.Cluster {
	c := cluster.Uniform(nodes, 1, unit.Resources{})
	c.Slots = true
	for i := range c.Nodes {
		c.Nodes[i].MapSlots, c.Nodes[i].ReduceSlots = maps, reduces
	}
	return c
}

func mapReduce(id string, at float64, maps, reduces int64, mapTime, reduceTime float64) *workload.Job {
	j := &workload.Job{ID: id, Submit: unit.FromSeconds(at), Stages: []workload.Stage{
		{Kind: workload.Map, Tasks: maps, Ask: cluster.Unit, Input: unit.Bytes(maps) * 128 * unit.MiB, Length: workload.Fixed(unit.FromSeconds(mapTime))},
	}}
	if reduces > 0 {
		j.Stages = append(j.Stages, workload.Stage{
			Kind: workload.Reduce, Tasks: reduces, Ask: cluster.Unit, Length: workload.Fixed(unit.FromSeconds(reduceTime)),
			After: []workload.Edge{{From: 0, SlowStart: 0.05}},
		})
	}
	return j
}

// ends collects the jobs' finish times and slowdowns, lost tasks and task records.
type ends struct {
	finish, slowdown map[string]float64
	lost             int64
	tasks            []sim.TaskRecord
}

func (e *ends) Job(r *sim.JobRecord) {
	e.finish[r.Job.ID] = r.Finish.Seconds()
	e.slowdown[r.Job.ID] = (r.Finish - r.Job.Submit).Seconds() / r.Alone.Seconds()
	e.lost += r.Lost
}
func (e *ends) Sample(*sim.Sample)     {}
func (e *ends) Task(r *sim.TaskRecord) { e.tasks = append(e.tasks, *r) }

func play(t testing.TB, c *cluster.Cluster, scheduler string, jobs ...*workload.Job) *ends {
	t.Helper()
	spec, err := policy.ParseSpec(scheduler)
	if err != nil {
		t.Fatal(err)
	}
	e := &ends{finish: map[string]float64{}, slowdown: map[string]float64{}}
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: c, Source: workload.Slice(jobs).Source(), Seed: 1, Sink: e,
		NewPolicy: func() (policy.Policy, error) { return all.Policies.New(spec) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Finished != int64(len(jobs)) {
		t.Fatalf("%s: %+v", scheduler, sum)
	}
	return e
}

// Four slots on as many nodes; A: 20 tasks of 5 s at 0, B: 6 tasks of 5 s at 6 s.
var twoJobs = []struct {
	scheduler    string
	a, b         float64 // ends
	slowA, slowB float64
}{
	{"fifo", 25, 35, 1.0, 2.9},
	{"fbq:limits=20", 30, 35, 1.2, 2.9}, // A is demoted at 5; B starts at 10, and is demoted at 15 behind A
	{"fbq:limits=25", 35, 20, 1.4, 1.4},
	{"fbq:limits=40", 35, 20, 1.4, 1.4},             // A is demoted at 10, having attained exactly 40
	{"tags:limits=40,shares=0.5", 50, 35, 2.0, 2.9}, // A is demoted at 20
	{"tags:limits=20,shares=0.5", 50, 55, 2.0, 4.9}, // B is demoted behind A
	{"sita:limits=40,shares=0.5,predictor=oracle", 50, 21, 2.0, 1.5},
	{"comp:predictor=oracle", 25, 35, 1.0, 2.9}, // nothing has finished when B arrives
	{"comp", 25, 35, 1.0, 2.9},
}

func TestTwoJobs(t *testing.T) {
	for _, c := range twoJobs {
		for name, cl := range map[string]*cluster.Cluster{"slots": slots(4, 1, 0), "containers": cluster.Uniform(4, 1, cluster.Unit)} {
			e := play(t, cl, c.scheduler, mapReduce("A", 0, 20, 0, 5, 0), mapReduce("B", 6, 6, 0, 5, 0))
			if e.finish["A"] != c.a || e.finish["B"] != c.b {
				t.Errorf("%s, %s: A ends at %v, B at %v; want %v and %v", c.scheduler, name, e.finish["A"], e.finish["B"], c.a, c.b)
			}
			if math.Abs(e.slowdown["A"]-c.slowA) > 0.001 || math.Abs(e.slowdown["B"]-c.slowB) > 0.001 {
				t.Errorf("%s, %s: slowdowns %v and %v", c.scheduler, name, e.slowdown["A"], e.slowdown["B"])
			}
		}
	}
}

// On Hadoop's clock with short delays the same happens, a little later.
func TestTwoJobsOnHadoopsClock(t *testing.T) {
	for _, c := range twoJobs {
		e := playYARN(t, cluster.Uniform(4, 1, cluster.Unit), c.scheduler, mapReduce("A", 0, 20, 0, 5, 0), mapReduce("B", 6, 6, 0, 5, 0))
		if a, b := e.finish["A"]-c.a, e.finish["B"]-c.b; a < 0 || a > 1 || b < 0 || b > 1 {
			t.Errorf("%s: A ends at %v, B at %v; want about %v and %v", c.scheduler, e.finish["A"], e.finish["B"], c.a, c.b)
		}
	}
}

// Every job finishes there, with its own AM and reduces that wait for maps.
func TestManyJobsOnHadoopsClock(t *testing.T) {
	for _, scheduler := range []string{"fbq:limits=20,60", "tags:limits=20,60,shares=0.3,0.3", "sita:limits=20,60,shares=0.3,0.3", "comp:queues=3", "sita:limits=40,predictor=oracle,borrow=yes"} {
		var jobs []*workload.Job
		for i := range 40 {
			j := mapReduce(fmt.Sprint(i), 3*float64(i), int64(1+i*7%23), int64(i%4), 2+float64(i%5), 6)
			j.AM = unit.Resources{Mem: 8, Cores: 1}
			jobs = append(jobs, j)
		}
		playYARN(t, cluster.Uniform(6, 2, unit.Resources{Mem: 2048 + 512, Cores: 66}), scheduler, jobs...)
	}
}

// playYARN plays jobs on Hadoop's clock, with short delays.
func playYARN(t *testing.T, c *cluster.Cluster, scheduler string, jobs ...*workload.Job) *ends {
	t.Helper()
	timing := yarn.SLS()
	timing.AMs, timing.OutOfBand, timing.SubmitToAdded = yarn.MapReduceAMs, true, 0
	timing.NodeHeartbeat, timing.AMHeartbeat = 20*unit.Millisecond, 20*unit.Millisecond
	spec, err := policy.ParseSpec(scheduler)
	if err != nil {
		t.Fatal(err)
	}
	e := &ends{finish: map[string]float64{}, slowdown: map[string]float64{}}
	sum, err := yarn.Run(context.Background(), yarn.Config{
		Cluster: c, Timing: timing, Seed: 1, Sink: e, NoAlone: true, Source: workload.Slice(jobs).Source(),
		NewScheduler: func() (rm.Scheduler, error) {
			p, err := all.Policies.New(spec)
			if err != nil {
				return nil, err
			}
			return adapt.New(p)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Finished != int64(len(jobs)) {
		t.Fatalf("%s: %+v", scheduler, sum)
	}
	return e
}

// The same slots; A: 4 x 5 s at 0, B: 20 x 5 s at 6, C: 2 x 5 s at 7, D: 6 x 5 s at 8.
func TestFourJobs(t *testing.T) {
	for scheduler, want := range map[string][4]float64{
		"fifo":                  {5, 31, 36, 41},
		"comp:predictor=oracle": {5, 36, 16, 41},
		"fbq:limits=40":         {5, 41, 21, 26},
	} {
		e := play(t, slots(4, 1, 0), scheduler,
			mapReduce("A", 0, 4, 0, 5, 0), mapReduce("B", 6, 20, 0, 5, 0), mapReduce("C", 7, 2, 0, 5, 0), mapReduce("D", 8, 6, 0, 5, 0))
		if got := [4]float64{e.finish["A"], e.finish["B"], e.finish["C"], e.finish["D"]}; got != want {
			t.Errorf("%s: ends at %v, want %v", scheduler, got, want)
		}
	}
}

// One node with 4 map slots and a reduce slot; A: 20 maps of 5 s and a reduce of 10 s at 0, B: 4 maps of 5 s and a reduce of 10 s at 6.
// A demoted job's reduce holds the only reduce slot while its maps wait. If released, it takes the slot back at once: no map of B is done.
func TestHeldReduces(t *testing.T) {
	for _, c := range []struct {
		scheduler string
		a, b      float64
		lost      int64
	}{
		{"fifo", 35, 45, 0},
		{"fbq:limits=40", 40, 50, 0},
		{"fbq:limits=40,reduces=release", 40, 50, 1},
		{"fbq:limits=40,reduces=defer", 40, 25, 1}, // B has the reduce slot from 15 to 25
	} {
		e := play(t, slots(1, 4, 1), c.scheduler, mapReduce("A", 0, 20, 1, 5, 10), mapReduce("B", 6, 4, 1, 5, 10))
		if e.finish["A"] != c.a || e.finish["B"] != c.b || e.lost != c.lost {
			t.Errorf("%s: A ends at %v, B at %v, %d lost; want %+v", c.scheduler, e.finish["A"], e.finish["B"], e.lost, c)
		}
	}
	e := play(t, slots(1, 4, 1), "fbq:limits=40", mapReduce("A", 0, 20, 1, 5, 10), mapReduce("B", 6, 4, 1, 5, 10))
	if got := fmt.Sprintf("%.2f", e.slowdown["B"]); got != "2.93" {
		t.Errorf("B's slowdown is %s, want 2.93", got)
	}
}

// Releasing reduces helps if another job's reduce is ready for the slot: B's maps are done when A is demoted.
func TestReleasedReducesGoToOthers(t *testing.T) {
	a, b := mapReduce("A", 0, 20, 1, 5, 10), mapReduce("B", 6, 4, 1, 5, 10)
	// A is demoted at 15, when it has attained 60. B's first maps end at 20 and its reduce waits for A's, unless A's next demotion, at 80 s of
	// service, takes the slot.
	hold := play(t, slots(1, 4, 1), "fbq:limits=60,80", a, b)
	free := play(t, slots(1, 4, 1), "fbq:limits=60,80,reduces=release", a, b)
	if free.finish["B"] >= hold.finish["B"] || free.lost == 0 {
		t.Errorf("B ends at %v with held reduces, at %v with released ones, %d released", hold.finish["B"], free.finish["B"], free.lost)
	}
}

// A reduce attains no service while it waits for its job's maps. A's maps have attained 40 s at 10 s, when its reduce has held a slot for
// 5 s: if that counted, A would be demoted then, and B's maps would run from 10 to 15 s.
func TestWaitingReducesAttainNothing(t *testing.T) {
	for scheduler, want := range map[string]float64{"fbq:limits=45": 20, "fbq:limits=40": 15} {
		e := play(t, slots(1, 4, 1), scheduler, mapReduce("A", 0, 20, 1, 5, 10), mapReduce("B", 6, 4, 0, 5, 0))
		if e.finish["B"] != want {
			t.Errorf("%s: B ends at %v, want %v", scheduler, e.finish["B"], want)
		}
	}
}

// In the original TAGS a demoted job restarts. A attains 40 s at 20 s, and its 100 s take 50 s more in the other partition.
func TestRestart(t *testing.T) {
	for name, cl := range map[string]*cluster.Cluster{"slots": slots(4, 1, 1), "containers": cluster.Uniform(4, 1, cluster.Unit)} {
		e := play(t, cl, "tags:limits=40,shares=0.5,restart=yes", mapReduce("A", 0, 20, 0, 5, 0), mapReduce("B", 6, 6, 0, 5, 0))
		if e.finish["A"] != 70 || e.finish["B"] != 35 || e.lost < 8 {
			t.Errorf("%s: A ends at %v, B at %v, %d lost", name, e.finish["A"], e.finish["B"], e.lost)
		}
	}
	// With reduces: 12 maps of 5 s are 6 waves of two nodes; the job restarts when its maps have attained 50 s, at 25 s.
	e := play(t, slots(4, 1, 1), "tags:limits=50,shares=0.5,restart=yes", mapReduce("A", 0, 12, 2, 5, 10))
	if e.finish["A"] != 25+30+10 {
		t.Errorf("A ends at %v", e.finish["A"])
	}
}

// Half of the nodes serve A for 20 s, then B for 15 s: 70 s of container-time. The others run the rest of A.
func TestBusy(t *testing.T) {
	var made policy.Policy
	_, err := sim.Run(context.Background(), sim.Config{
		Cluster: slots(4, 1, 0), Source: workload.Slice{mapReduce("A", 0, 20, 0, 5, 0), mapReduce("B", 6, 6, 0, 5, 0)}.Source(),
		NewPolicy: func() (p policy.Policy, err error) {
			made, err = all.Policies.New(policy.Spec{Name: "tags", Params: policy.Params{"limits": "40"}})
			return made, err
		},
	})
	o := made.Order.(interface{ Busy(int) unit.Time })
	if err != nil || o.Busy(0) != 70*unit.Second || o.Busy(1) != 60*unit.Second {
		t.Errorf("%v and %v, %v", o.Busy(0), o.Busy(1), err)
	}
	parts := made.Order.(policy.Partitioned).Partitions(nil)
	one := cluster.Unit.Mem
	if len(parts) != 2 || parts[0].Nodes != 2 || parts[0].Room.Mem != 2*one || parts[0].Busy != float64(70*one) || parts[1].Busy != float64(60*one) {
		t.Errorf("%+v", parts)
	}
	made, err = all.Policies.New(policy.Spec{Name: "fbq"})
	if err != nil || len(made.Order.(policy.Partitioned).Partitions(nil)) > 0 {
		t.Errorf("fbq has partitions, or %v", err)
	}
}

// If a job's next container (here of its second stage) fits no node of its partition, another partition serves it at once.
func TestLargeContainersLeaveTheirPartition(t *testing.T) {
	c := cluster.Uniform(2, 1, cluster.Unit)
	c.Nodes[0].Room = cluster.Unit.Times(4)
	j := mapReduce("A", 0, 1, 0, 5, 0)
	j.Stages = append(j.Stages, j.Stages[0])
	j.Stages[1].Ask = cluster.Unit.Times(3)
	if e := play(t, c, "sita:limits=1,shares=0.5", j); e.finish["A"] != 5 {
		t.Errorf("A ends at %v", e.finish["A"])
	}
}

// With borrow, a partition that has nothing to start lends its nodes.
func TestBorrow(t *testing.T) {
	a := func() *workload.Job { return mapReduce("A", 0, 20, 0, 5, 0) }
	alone := play(t, slots(4, 1, 0), "sita:limits=40,shares=0.5,predictor=oracle", a()).finish["A"]
	lent := play(t, slots(4, 1, 0), "sita:limits=40,shares=0.5,predictor=oracle,borrow=yes", a()).finish["A"]
	if alone != 50 || lent != 25 {
		t.Errorf("A ends at %v in its partition, at %v with borrowed nodes", alone, lent)
	}
}

// A few hours of a synthetic Facebook workload, compared with fifo.
func BenchmarkFacebook(b *testing.B) {
	config, err := synth.Preset("facebook")
	if err != nil {
		b.Fatal(err)
	}
	for _, scheduler := range []string{"fifo", "fbq:limits=1000", "tags:limits=1000", "sita:limits=1000", "comp"} {
		spec, _ := policy.ParseSpec(scheduler)
		b.Run(spec.Name, func(b *testing.B) {
			var events int64
			for b.Loop() {
				src, err := synth.New(config)
				if err != nil {
					b.Fatal(err)
				}
				sum, err := sim.Run(context.Background(), sim.Config{
					Cluster: cluster.Uniform(600, 30, cluster.Unit.Times(6)), Source: src, Seed: 1, NoAlone: true,
					NewPolicy: func() (policy.Policy, error) { return all.Policies.New(spec) },
				})
				if err != nil {
					b.Fatal(err)
				}
				events += sum.Events
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
		})
	}
}
