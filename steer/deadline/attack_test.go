package deadline_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/deadline"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// elapsed is how long jobs took, by user: the longest.
type elapsed map[string]unit.Time

func (e elapsed) Job(r *sim.JobRecord) {
	e[r.Job.User] = max(e[r.Job.User], r.Finish-r.Job.Submit)
}
func (elapsed) Sample(*sim.Sample) {}

// attacked runs the jobs of three users on 20 containers: ann's has a goal that it can meet, bob's has none, and eve's eight claim one; 0: they claim none.
func attacked(t *testing.T, queues []string, goal, length unit.Time, eveAt unit.Time, set ...string) elapsed {
	t.Helper()
	c, err := cluster.Parse("4x5/2")
	if err != nil {
		t.Fatal(err)
	}
	job := func(id, user string, at, goal unit.Time, tasks int64, length unit.Time) *workload.Job {
		j := &workload.Job{ID: id, User: user, Queue: "batch", Submit: at, Stages: []workload.Stage{
			{Kind: workload.Other, Tasks: tasks, Ask: unit.Resources{Mem: 1024, Cores: 1}, Length: workload.Fixed(length)},
		}}
		if goal > 0 {
			j.Deadline = at + goal
		}
		return j
	}
	jobs := workload.Slice{job("A", "ann", 0, 120*unit.Second, 100, 10*unit.Second), job("B", "bob", unit.Second, 0, 60, 10*unit.Second)}
	for i := range 8 {
		jobs = append(jobs, job(fmt.Sprint("E", i), "eve", eveAt, goal, 40, length))
	}
	cfg := sim.Config{Cluster: c, Source: jobs.Source(), NoAlone: true, Delays: steer.AtOnce(), NewPolicy: func() (policy.Policy, error) { return capacity.New(tree(t)) }}
	if queues != nil {
		cfg.Bounds.Queues = queues
		if cfg.Steerer, err = deadline.Entry.New(&steer.Setup{Queue: queues[0], Queues: queues, Set: set}); err != nil {
			t.Fatal(err)
		}
	}
	e := elapsed{}
	cfg.Sink = e
	if sum, err := sim.Run(context.Background(), cfg); err != nil || sum.Finished != int64(len(jobs)) {
		t.Fatal(sum, err)
	}
	return e
}

// Eve gains nothing by goals that pass before they could be met: ann and bob are served as if her jobs had none.
func TestGoalsOfASecond(t *testing.T) {
	all := append([]string{"root.batch"}, slotNames()...)
	each(func(at, length unit.Time) {
		for _, queues := range [][]string{all, all[:1]} {
			plain, forged := attacked(t, queues, 0, length, at), attacked(t, queues, unit.Second, length, at)
			if forged["ann"] > plain["ann"] || forged["bob"] > plain["bob"] {
				t.Errorf("%d queues, eve at %v with tasks of %v: %v, without goals %v", len(queues), at, length, forged, plain)
			}
		}
	})
}

// Goals that might be met, and are not: ann's is met all the same, and the limits help bob.
func TestPlausibleGoals(t *testing.T) {
	all := append([]string{"root.batch"}, slotNames()...)
	var now, open unit.Time
	each(func(at, length unit.Time) {
		for _, goal := range []unit.Time{10, 20, 60} {
			e, o := attacked(t, all, goal*unit.Second, length, at), attacked(t, all, goal*unit.Second, length, at, "missed-share=1")
			t.Logf("eve at %v with tasks of %v, goals of %v: %v; with missed-share=1 %v", at, length, goal*unit.Second, e, o)
			if now, open = now+e["bob"], open+o["bob"]; e["ann"] > 120*unit.Second {
				t.Errorf("ann is late: %v", e)
			}
		}
	})
	if now >= open {
		t.Errorf("bob takes %v in all, with missed-share=1 %v", now, open)
	}
}

// each calls f for arrivals of eve and lengths of her tasks.
func each(f func(at, length unit.Time)) {
	for _, at := range []unit.Time{2, 30, 33} {
		for _, length := range []unit.Time{4, 30, 120} {
			f(at*unit.Second, length*unit.Second)
		}
	}
}
