package policytest_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// queued are jobs that wait for one that takes the whole cluster: on every clock the same ones wait when it ends.
func queued() (jobs workload.Slice) {
	for i, tasks := range []int64{1, 3, 1, 2, 4, 2} {
		ask := unit.Resources{Mem: 1024, Cores: 1}
		if i == 0 {
			ask = ask.Times(12)
		}
		jobs = append(jobs, &workload.Job{
			ID: fmt.Sprint("j", i), User: []string{"ann", "bob", "eve"}[i%3], Queue: []string{"a", "b"}[i%2], Class: []string{"sort", "grep"}[i%2],
			Submit: unit.Time(i) * 10 * unit.Second, Priority: i % 2, Deadline: unit.Time(7-i) * unit.Minute,
			Stages: []workload.Stage{{Kind: workload.Map, Tasks: tasks, Ask: ask, Input: unit.Bytes(tasks) << 27, Length: workload.Fixed(100 * unit.Second)}},
		})
	}
	return jobs
}

// withoutAMs are the jobs of the recordings, on clocks that differ in who may start an AM when.
func withoutAMs() workload.Slice {
	jobs := few()
	for _, j := range jobs {
		j.AM, j.Class, j.Priority = unit.Resources{}, "sort", 2
	}
	return jobs
}

// facts are what a policy was told of the cluster and the jobs that does not depend on time. A stage is shown as it was when its tasks last waited.
func facts(r *policytest.Recording, edges bool) (text string) {
	var cluster policytest.Sizes
	jobs, stages := map[int64]*policy.Job{}, map[[2]int64]policy.Stage{}
	for _, c := range r.Calls {
		if c.Cluster != nil {
			cluster = *c.Cluster
		}
		for k := range c.Jobs {
			j := &c.Jobs[k].Job
			jobs[j.Seq] = j
			for i, s := range j.Stages {
				if s.Open() > 0 {
					stages[[2]int64{j.Seq, int64(i)}] = s
				}
			}
		}
	}
	slices.Sort(cluster.Racks) // which node has which number is free
	text = fmt.Sprintf("%+v\n", cluster)
	for k := range int64(len(jobs)) {
		j := jobs[k]
		text += fmt.Sprintln(j.ID, j.User, j.Queue, j.Class, j.Priority, j.Submitted, j.Deadline, j.AM, j.Tasks, j.Input)
		for i := range j.Stages {
			s := stages[[2]int64{k, int64(i)}]
			text += fmt.Sprintln("  stage:", j.Stages[i].Tasks, s.Ask, s.Slot, s.Gang)
			for _, e := range s.After {
				if edges {
					text += fmt.Sprintln("    after", e.From, e.Shuffle)
				}
			}
		}
	}
	return text
}

// starts are the jobs of the containers, in their order, with the tasks' nearness.
func starts(r *policytest.Recording) (text string) {
	for _, c := range r.Calls {
		switch c.What {
		case "started":
			text += fmt.Sprint(" ", c.Job)
		case "placed":
			text += fmt.Sprint(" ", c.Near)
		}
	}
	return text
}

// A policy is told the same, and decides the same, on every clock. Known differences of YARN's: an order sees what stages pass to one another only if it
// chooses the stage or preempts, SlowStart is the AM's, and Stage.Ask is that of tasks that wait.
func TestEnginesAgree(t *testing.T) {
	for _, spec := range specs {
		t.Run(spec, func(t *testing.T) {
			p := fresh(t, spec)
			var told, started string
			for _, clock := range clocks {
				view := facts(watch(t, spec, clock, "3x4/2", withoutAMs()).Recordings()[0], p.Required()&(policy.StageChoice|policy.Preemption) != 0)
				order := starts(watch(t, spec, clock, "1x12", queued()).Recordings()[0])
				if clock == scenario.Ideal {
					told, started = view, order
				}
				if view != told {
					t.Errorf("%s: it is told\n%sand in ideal time\n%s", clock, view, told)
				}
				if order != started {
					t.Errorf("%s: %s start, and in ideal time %s", clock, order, started)
				}
			}
		})
	}
}
