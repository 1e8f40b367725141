package reason_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/transfer"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif/reason"
	"github.com/yardmaster/yardmaster/workload"
)

// spec is a run of jobs on nodes of two containers each, one node a rack.
func spec(t *testing.T, scheduler string, nodes int, hadoop bool, jobs ...*workload.Job) *run.Spec {
	t.Helper()
	fresh, _, err := all.Load(all.Policies, scheduler)
	if err != nil {
		t.Fatal(err)
	}
	s := &run.Spec{Cluster: cluster.Uniform(nodes, nodes, cluster.Unit.Times(2)), Workload: run.Jobs(jobs), Scheduler: run.Scheduler{Name: scheduler, New: fresh}, NoAlone: true}
	if s.Cluster.Network, err = cluster.ParseNetwork("racks:node=1Gbit,uplink=1Gbit"); err != nil {
		t.Fatal(err)
	}
	s.NewWorker = func() (sim.Worker, error) { return transfer.New(transfer.Options{}), nil }
	if hadoop {
		timing := yarn.Hadoop()
		s.Timing = &timing
	}
	return s
}

// job has tasks of 100 s, whose input is on some nodes.
func job(id, queue string, submit unit.Time, tasks int64, on ...string) *workload.Job {
	j := &workload.Job{ID: id, User: "ann", Queue: queue, Submit: submit, Stages: []workload.Stage{{Kind: workload.Map, Tasks: tasks, Ask: cluster.Unit, Length: workload.Fixed(100 * unit.Second)}}}
	if len(on) > 0 {
		hosts := &workload.Hosts{Names: on}
		for range tasks {
			hosts.Of = append(hosts.Of, []int32{0})
		}
		j.Stages[0].Hosts, j.Stages[0].Input = hosts, unit.Bytes(tasks)<<20
	}
	return j
}

// due gives a job a deadline.
func due(j *workload.Job) *workload.Job {
	j.Deadline = unit.Day
	return j
}

// ask plays a run and returns the answer to a question.
func ask(t *testing.T, s *run.Spec, id string, at unit.Time) (string, *sim.Why) {
	t.Helper()
	s.Why = &sim.Why{ID: id, At: at}
	if _, err := run.Play(context.Background(), s); err != nil {
		t.Fatalf("%s: %v", s.Scheduler.Name, err)
	}
	var text strings.Builder
	if err := reason.Text(&text, 0, s.Why); err != nil {
		t.Fatal(err)
	}
	return text.String(), s.Why
}

// every calls each for every policy, on both clocks unless the policy is refused there.
func every(t *testing.T, each func(t *testing.T, scheduler string, hadoop bool)) {
	for _, e := range all.Policies {
		for _, hadoop := range []bool{false, true} {
			if s := spec(t, e.Name, 2, hadoop); s.Check() != nil {
				if e.Name != "tags" {
					t.Errorf("%s, hadoop %v: %v", e.Name, hadoop, s.Check())
				}
				continue
			}
			t.Run(fmt.Sprintf("%s/%v", e.Name, hadoop), func(t *testing.T) { each(t, e.Name, hadoop) })
		}
	}
}

// Under every policy and on both clocks a job that waits gets a reason, and any other a calm sentence.
func TestEveryPolicy(t *testing.T) {
	every(t, func(t *testing.T, scheduler string, hadoop bool) {
		p, err := all.Policies.New(policy.Spec{Name: scheduler})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := p.Order.(policy.Explainer); !ok {
			t.Error("its order explains nothing")
		}
		jobs := []*workload.Job{job("a", "q", 0, 12), job("b", "q", 5*unit.Second, 2), job("c", "q", 900*unit.Second, 2)}
		for _, x := range []struct {
			id   string
			at   unit.Time
			want string
		}{
			{"a", 50 * unit.Second, "runs in 4 containers and waits for 8 more"},
			{"b", 50 * unit.Second, "b of ann in q waits since 5 s (45 s)."},
			{"c", 50 * unit.Second, "has not arrived: it is submitted at 15 min"},
			{"b", unit.Hour, "has ended: it finished at"},
		} {
			text, why := ask(t, spec(t, scheduler, 2, hadoop, jobs...), x.id, x.at)
			if scheduler == "sita" || scheduler == "tags" { // two partitions
				x.want = strings.Replace(x.want, "4 containers and waits for 8", "2 containers and waits for 10", 1)
			}
			if !strings.Contains(text, x.want) {
				t.Errorf("%s, want %q", text, x.want)
			}
			waits := why.Present && why.Pending > 0
			if waits && (len(why.Reasons) == 0 || !strings.Contains(text, "No node has room") && !strings.Contains(text, "(shares)") || !strings.Contains(text, "It gets a container when a container ends")) {
				t.Errorf("it waits: %s", text)
			}
			if x.id == "b" && waits && !strings.Contains(text, "Ahead of it: a.") && scheduler == "fifo" {
				t.Errorf("a is ahead: %s", text)
			}
		}
	})
}

// A question changes nothing.
func TestSameRun(t *testing.T) {
	every(t, func(t *testing.T, scheduler string, hadoop bool) {
		var jobs []*workload.Job
		for i := range 12 {
			j := job(fmt.Sprint("j", i), "q", unit.Time(i)*20*unit.Second, int64(1+i*5%7), "node1")
			j.Stages[0].Length = workload.Fixed(unit.Time(5+i*37%90) * unit.Second)
			jobs = append(jobs, j)
		}
		s := spec(t, scheduler, 2, hadoop, jobs...)
		want, err := run.Play(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 6 {
			s.Why = &sim.Why{ID: fmt.Sprint("j", i*2), At: unit.Time(i) * 47 * unit.Second}
			if got, err := run.Play(context.Background(), s); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%+v: %v, want %+v", got, err, want)
			}
		}
	})
}

// Each kind of cause is named, with its setting.
func TestCauses(t *testing.T) {
	far := []*workload.Job{job("a", "a", 0, 2, "node1"), job("b", "a", 20*unit.Second, 2, "node1")} // node1 is full, node2 is empty
	for _, x := range []struct {
		scheduler string
		hadoop    bool
		jobs      []*workload.Job
		want      string
	}{
		{"delay:node=4000,rack=4000", false, far, "It waits for a node that holds its data (rack): it has skipped"},
		{"delay:node=4000,rack=4000", true, far, "of at most 8000 opportunities on others, node2 among them."},
		{"delay:node=30s,rack=30s", false, far, "(rack): it has waited 10 s of at most 60 s, node2 among them."},
		{"nas:skip=4000", false, far, "(skip): it has skipped"},
		{"nas:skip=300s", true, far, "(skip): it has waited"},
		{"shufflewatcher:node=4000,rack=4000", false, far, "(rack): it has skipped"},
		{"capacity1:queues=a:50;b:50,maximum-capacity=capacity,user-limit-factor=9", false, []*workload.Job{job("a", "a", 0, 4), job("b", "a", 20*unit.Second, 2)},
			"Queue a is at its maximum (maximum-capacity): it holds 2 of 2 slots."},
		{"capacity1:queues=a:50;b:50", true, []*workload.Job{job("a", "a", 0, 4), job("b", "a", 20*unit.Second, 2)}, "User ann is at the limit of a user in a (user-limit-factor): it holds 2 of 2 slots."},
		{"capacity1:maximum-system-jobs=1", false, []*workload.Job{job("a", "a", 0, 1), job("b", "a", 20*unit.Second, 2)}, "There are as many applications of default as there may be (maximum-system-jobs): 1 of 1."},
		{"capacity1:init-poll-interval=60000", false, []*workload.Job{job("a", "a", 0, 1), job("b", "a", 20*unit.Second, 2)}, "the poller comes every 60 s (init-poll-interval)"},
		{"deadline:nodata-cap=1", false, []*workload.Job{job("a", "a", 0, 1), due(job("b", "a", 20*unit.Second, 2))}, "It holds as many containers as a job without an estimate may (nodata-cap): 1 of 1."},
		{"hybrid:steal=no,spill=no", false, []*workload.Job{job("a", "a", 0, 2), job("b", "a", 20*unit.Second, 2)}, "No scale-up machine has room, and node node2 is of the other kind."},
		{"sita", false, []*workload.Job{job("a", "a", 0, 4), job("b", "a", 20*unit.Second, 2)}, "It is in queue 1, partition 1, which has a part of the nodes (shares)"},
	} {
		s := spec(t, x.scheduler, 2, x.hadoop, x.jobs...)
		if strings.HasPrefix(x.scheduler, "hybrid") {
			s.Cluster.Nodes[0].Kind = cluster.ScaleUp
		}
		text, _ := ask(t, s, "b", 30*unit.Second)
		if !strings.Contains(text, x.want) {
			t.Errorf("%s: %s, want %q", x.scheduler, text, x.want)
		}
	}
}

// A gang waits for room for all of it, on both clocks: beside who is ahead, and while nodes are reserved for it. A job beside them hears of the reservation.
func TestGangs(t *testing.T) {
	for _, hadoop := range []bool{false, true} {
		gang := job("gang", "q", 5*unit.Second, 4)
		gang.Stages[0].Gang = 4
		jobs := []*workload.Job{job("a", "q", 0, 1), gang, job("b", "q", 70*unit.Second, 1)} // a takes one of four containers until 100 s
		for _, x := range []struct {
			id     string
			at     unit.Time
			limits []string
			want   string
		}{
			{"gang", 20 * unit.Second, []string{policy.GangRoom}, "Its tasks start together, and there is room for 3 of 4. It gets a container when enough containers end"},
			{"gang", 80 * unit.Second, []string{policy.GangRoom, policy.Reserved}, "room for 3 of 4. Besides: Node node1 is reserved for it"},
			{"b", 80 * unit.Second, []string{policy.Reserved, ""}, "free, but is reserved for another application. Ahead of it: gang."},
		} {
			text, why := ask(t, spec(t, "fifo", 2, hadoop, jobs...), x.id, x.at)
			var limits []string
			for _, r := range why.Reasons {
				limits = append(limits, r.Limit)
			}
			if text = strings.Join(strings.Fields(text), " "); !slices.Equal(limits, x.limits) || !strings.Contains(text, x.want) {
				t.Errorf("hadoop %v, %s at %v: %q: %s", hadoop, x.id, x.at, limits, text)
			}
		}
		// A gang that comes second: its room first, then who is ahead.
		second := job("second", "q", 6*unit.Second, 4)
		second.Stages[0].Gang = 4
		if _, why := ask(t, spec(t, "fifo", 2, hadoop, jobs[0], gang, second), "second", 20*unit.Second); len(why.Reasons) != 2 || why.Reasons[0].Limit != policy.GangRoom || why.Reasons[1].Next[0] != "gang" {
			t.Errorf("hadoop %v: %+v", hadoop, why.Reasons)
		}
	}
}
