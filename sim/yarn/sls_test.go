package yarn

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// seen is a sink and a list of containers.
type seen struct {
	jobs    []sim.JobRecord
	samples []sim.Sample
	conts   []ContainerRecord
}

func (s *seen) Job(r *sim.JobRecord) { s.jobs = append(s.jobs, *r) }
func (s *seen) Sample(x *sim.Sample) {
	c := *x
	c.Queues = slices.Clone(c.Queues)
	s.samples = append(s.samples, c)
}

// play runs jobs on a cluster under a scheduler.
func play(t rapid.TB, c Config, sched rm.Scheduler, jobs ...*workload.Job) (*seen, sim.Summary) {
	t.Helper()
	out := &seen{}
	c.Source, c.Sink, c.NoAlone = workload.Slice(jobs).Source(), out, true
	c.NewScheduler = func() (rm.Scheduler, error) { return sched, nil }
	c.Containers = func(r *ContainerRecord) { out.conts = append(out.conts, *r) }
	sum, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return out, sum
}

const (
	ms = unit.Millisecond
	s  = unit.Second
)

var gb = unit.Resources{Mem: 1024, Cores: 1}

func mr(id string, at unit.Time, maps int64, mapLen unit.Time, reduces int64, reduceLen unit.Time, hosts ...string) *workload.Job {
	j := &workload.Job{ID: id, User: "u", Queue: "default", Submit: at, AM: gb}
	st := workload.Stage{Name: "map", Kind: workload.Map, Tasks: maps, Ask: gb, Length: workload.Fixed(mapLen)}
	if len(hosts) > 0 {
		st.Hosts = &workload.Hosts{Names: hosts}
		for i := range maps {
			st.Hosts.Of = append(st.Hosts.Of, []int32{int32(i) % int32(len(hosts))})
		}
	}
	j.Stages = append(j.Stages, st)
	if reduces > 0 {
		j.Stages = append(j.Stages, workload.Stage{
			Name: "reduce", Kind: workload.Reduce, Tasks: reduces, Ask: gb, Length: workload.Fixed(reduceLen),
			After: []workload.Edge{{From: 0, SlowStart: 1}},
		})
	}
	return j
}

// tell writes the life of a job's containers in seconds: stage, allocated, acquired, started, ended, freed.
func (o *seen) tell() string {
	slices.SortStableFunc(o.conts, func(a, b ContainerRecord) int { return int(a.Allocated - b.Allocated) })
	var b strings.Builder
	for _, c := range o.conts {
		name := map[int]string{-1: "AM", 0: "map", 1: "reduce", NoStage: "unused"}[c.Stage]
		fmt.Fprintf(&b, "%s %v %v %v %v %v\n", name, c.Allocated.Seconds(), c.Acquired.Seconds(), c.Started.Seconds(), c.Ended.Seconds(), c.Freed.Seconds())
	}
	return b.String()
}

// The timelines of one node under SLS, worked out by hand from its source.
func TestSLSTimelines(t *testing.T) {
	one := cluster.Uniform(1, 1, unit.Resources{Mem: 10240, Cores: 10})
	for name, c := range map[string]struct {
		job    *workload.Job
		finish unit.Time
		tell   string
	}{
		"one map": {
			mr("j", 0, 1, 10*s, 0, 0), 16 * s,
			"AM 1.3 1.3 1.3 16 16.3\n" + "map 2.3 3 4 14 14.3\n",
		},
		"map and reduce": {
			mr("j", 0, 1, 10*s, 1, 5*s), 25 * s,
			"AM 1.3 1.3 1.3 25 25.3\n" + "map 2.3 3 4 14 14.3\n" + "reduce 16.3 17 18 23 23.3\n",
		},
		"three maps anywhere": {
			mr("j", 0, 3, 10*s, 0, 0), 18 * s,
			"AM 1.3 1.3 1.3 18 18.3\n" + "map 2.3 3 4 14 14.3\n" + "map 3.3 4 5 15 15.3\n" + "map 4.3 5 6 16 16.3\n",
		},
		"three maps on the host": {
			mr("j", 0, 3, 10*s, 0, 0, "/rack1/node1"), 16 * s,
			"AM 1.3 1.3 1.3 16 16.3\n" + "map 2.3 3 4 14 14.3\n" + "map 2.3 3 4 14 14.3\n" + "map 2.3 3 4 14 14.3\n",
		},
		"three maps on the host, in a rack that is not known": {
			mr("j", 0, 3, 10*s, 0, 0, "/elsewhere/node1"), 19 * s,
			"AM 1.3 1.3 1.3 19 19.3\n" + "map 3.3 4 5 15 15.3\n" + "map 4.3 5 6 16 16.3\n" + "map 5.3 6 7 17 17.3\n",
		},
		"submitted later": {
			mr("j", 100*s+700*ms, 1, 10*s, 0, 0), 115*s + 700*ms,
			"AM 101.3 101.3 101.3 115.7 116.3\n" + "map 102.3 102.7 103.7 113.7 114.3\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, sum := play(t, Config{Cluster: one, Timing: SLS(), Phases: []unit.Time{300 * ms}}, newFIFO(), c.job)
			if len(out.jobs) != 1 || out.jobs[0].Finish != c.finish || out.jobs[0].Outcome != sim.Finished || sum.Finished != 1 {
				t.Errorf("%+v, want the end at %v", out.jobs, c.finish)
			}
			if got := out.tell(); got != c.tell {
				t.Errorf("got\n%swant\n%s", got, c.tell)
			}
		})
	}
}
