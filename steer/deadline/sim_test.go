package deadline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity"
	"github.com/yardmaster/yardmaster/policy/rm"
	capacityrm "github.com/yardmaster/yardmaster/policy/rm/capacity"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/deadline"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

const slots = 5

// tree is an intake with 1 % and slots under a parent with the rest, as "yarn prepare" makes them.
func tree(t *testing.T) *conf.Capacity {
	t.Helper()
	var b strings.Builder
	set := func(name, value string) {
		fmt.Fprintf(&b, "<property><name>yarn.scheduler.capacity.%s</name><value>%s</value></property>\n", name, value)
	}
	set("root.queues", "batch,batch-deadlines")
	set("per-node-heartbeat.maximum-offswitch-assignments", "100")
	set("root.batch.capacity", "1")
	set("root.batch.user-limit-factor", "100")
	set("root.batch-deadlines.capacity", "99")
	names := make([]string, slots)
	for i, q := range slotNames() {
		names[i] = q[strings.LastIndexByte(q, '.')+1:]
		set(q+".capacity", fmt.Sprint(100/slots))
		set(q+".user-limit-factor", "-1")
	}
	set("root.batch-deadlines.queues", strings.Join(names, ","))
	b.WriteString("<property><name>yarn.cluster.max-application-priority</name><value>10</value></property>")
	c, err := conf.ReadCapacity(strings.NewReader("<configuration>"+b.String()+"</configuration>"), "capacity-scheduler.xml")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func slotNames() (names []string) {
	for i := range slots {
		names = append(names, fmt.Sprintf("root.batch-deadlines.batch-d%d", i+1))
	}
	return names
}

// fourJobs are the paper's in miniature, on 20 containers: a long one whose tasks grow longer, a regular one, two short ones; all fit into 104 s.
func fourJobs() workload.Slice {
	r := rand.New(rand.NewPCG(1, 4))
	job := func(id string, at, goal unit.Time, tasks int, length func(i int) float64) *workload.Job {
		list := make([]unit.Time, tasks)
		for i := range list {
			list[i] = unit.FromSeconds(length(i) * (0.8 + 0.4*r.Float64()))
		}
		return &workload.Job{ID: id, User: "ann", Queue: "batch", Submit: at * unit.Second, Deadline: (at + goal) * unit.Second, Stages: []workload.Stage{
			{Kind: workload.Other, Tasks: int64(tasks), Ask: unit.Resources{Mem: 1024, Cores: 1}, Length: workload.Lengths{Kind: workload.List, Values: list}},
		}}
	}
	phases := []float64{3.1, 4.2, 5.6, 9.1}
	short := func(int) float64 { return 4 }
	return workload.Slice{
		job("J1", 0, 120, 240, func(i int) float64 { return phases[i/60] }),
		job("J2", 20, 60, 48, func(int) float64 { return 10 }),
		job("J3", 40, 25, 32, short), job("J4", 60, 25, 32, short),
	}
}

type ends map[string]unit.Time

func (e ends) Job(r *sim.JobRecord) { e[r.Job.ID] = r.Finish - r.Job.Deadline }
func (ends) Sample(*sim.Sample)     {}

// rehearse runs the four jobs and returns how late they are, and what was changed.
func rehearse(t *testing.T, queues []string, delays steer.Delays, hadoop bool, set ...string) (ends, []steer.Receipt) {
	t.Helper()
	c, err := cluster.Parse("4x5/2")
	if err != nil {
		t.Fatal(err)
	}
	cfg := sim.Config{Cluster: c, Source: fourJobs().Source(), NoAlone: true, Delays: delays, NewPolicy: func() (policy.Policy, error) { return capacity.New(tree(t)) }}
	if queues != nil {
		cfg.Bounds.Queues = queues
		p, err := deadline.Entry.New(&steer.Setup{Queue: queues[0], Queues: queues, Set: set})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Steerer = steer.Func(func(seen *steer.Snapshot) ([]steer.Action, unit.Time) {
			do, again := p.Step(seen)
			t.Log(steer.Line(seen.Now, p.(steer.Explainer).Explain()))
			return do, again
		})
	}
	e := ends{}
	cfg.Sink = e
	run := func() (sim.Summary, error) { return sim.Run(context.Background(), cfg) }
	if hadoop { // as in the lab: AMs outside the cluster that only hold their containers
		timing := yarn.Hadoop()
		timing.AMs, timing.NodeHeartbeat, timing.AMHeartbeat, timing.UnmanagedStart = yarn.PlainAMs, unit.Second/4, unit.Second/4, unit.Second
		timing.ContainerStart, timing.ContainerExit, timing.Commit = 0, 0, 0
		run = func() (sim.Summary, error) {
			return yarn.Run(context.Background(), yarn.Config{
				Cluster: c, Source: cfg.Source, NoAlone: true, Delays: delays, Bounds: cfg.Bounds, Steerer: cfg.Steerer, Sink: e, Timing: timing,
				NewScheduler: func() (rm.Scheduler, error) {
					site := conf.DefaultSite()
					site.MaxApplicationPriority = 10
					return capacityrm.New(tree(t), site)
				},
			})
		}
	}
	sum, err := run()
	if err != nil || sum.Finished != 4 {
		t.Fatal(sum, err)
	}
	return e, sum.Receipts
}

// late counts the jobs that are late, and sums up by how much.
func late(e ends) (n int, sum unit.Time) {
	for _, by := range e {
		if by > 0 {
			n, sum = n+1, sum+by
		}
	}
	return n, sum
}

// Max mode meets what an unsteered scheduler misses; by priorities it is coarser. Min mode believes its early estimates of the job whose tasks grow.
func TestFourJobs(t *testing.T) {
	intake := []string{"root.batch"}
	all := append(intake, slotNames()...)
	fifo, _ := rehearse(t, nil, steer.AtOnce(), false)
	prio, _ := rehearse(t, intake, steer.AtOnce(), false, "interval=2s")
	maxed, changes := rehearse(t, all, steer.AtOnce(), false, "interval=2s")
	minned, _ := rehearse(t, all, steer.AtOnce(), false, "interval=2s", "mode=min")
	t.Logf("lateness: unsteered %v, priorities %v, max %v, min %v", fifo, prio, maxed, minned)
	n, sum := late(fifo)
	if n != 3 {
		t.Errorf("unsteered: %v", fifo)
	}
	if n, by := late(prio); n > 1 || by > sum/5 {
		t.Errorf("priorities: %v", prio)
	}
	if n, _ := late(maxed); n > 0 {
		t.Errorf("max: %v", maxed)
	}
	if n, _ := late(minned); n != 1 || minned["J1"] <= 0 {
		t.Errorf("min: %v", minned)
	}
	last := map[string]steer.Receipt{}
	for _, r := range changes {
		if r.Err != nil {
			t.Errorf("%+v", r)
		}
		if r.Action.Kind == steer.SetQueue {
			last[r.Action.Queue] = r
		}
	}
	if r := last["root.batch-deadlines"]; !r.Back || r.Action.Shares[0].Value != 100/slots {
		t.Errorf("the capacities are not put back: %+v", r)
	}
}

// The driver's limit on writes holds, and the policy goes on with what it may do.
func TestFewWrites(t *testing.T) {
	delays := steer.AtOnce()
	delays.PerHour = 5
	_, changes := rehearse(t, append([]string{"root.batch"}, slotNames()...), delays, false, "interval=2s")
	made := 0
	for _, r := range changes {
		if r.Err == nil && !r.Back && r.Action.Kind != steer.MoveJob {
			made++
		}
	}
	if made > 5 {
		t.Errorf("%d writes", made)
	}
}

// On Hadoop's clock, with its heartbeats, the outcome is the same.
func TestFourJobsOnHadoop(t *testing.T) {
	fifo, _ := rehearse(t, nil, steer.AtOnce(), true)
	prio, _ := rehearse(t, []string{"root.batch"}, steer.AtOnce(), true, "interval=2s")
	t.Logf("lateness: unsteered %v, priorities %v", fifo, prio)
	n, sum := late(fifo)
	if m, by := late(prio); n != 3 || m > 2 || by > sum/3 {
		t.Errorf("unsteered %v, priorities %v", fifo, prio)
	}
}
