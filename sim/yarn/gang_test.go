package yarn

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policy/capacity"
	"github.com/yardmaster/yardmaster/policy/fair"
	"github.com/yardmaster/yardmaster/policy/rm/adapt"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// bothClocks plays jobs in ideal time and on Hadoop's clock, and calls check with each job's record.
func bothClocks(t *testing.T, c *cluster.Cluster, fresh func() (policy.Policy, error), jobs []*workload.Job, check func(clock string, jobs map[string]sim.JobRecord)) {
	t.Helper()
	ideal := &seen{}
	if _, err := sim.Run(context.Background(), sim.Config{Cluster: c, Source: workload.Slice(jobs).Source(), Sink: ideal, NewPolicy: fresh, NoAlone: true}); err != nil {
		t.Fatal(err)
	}
	p, err := fresh()
	if err != nil {
		t.Fatal(err)
	}
	adapted, err := adapt.New(p)
	if err != nil {
		t.Fatal(err)
	}
	hadoop, _ := play(t, Config{Cluster: c, Timing: Hadoop()}, adapted, jobs...)
	for clock, out := range map[string]*seen{"ideal": ideal, "hadoop": hadoop} {
		records := map[string]sim.JobRecord{}
		for _, r := range out.jobs {
			records[r.Job.ID] = r
		}
		check(clock, records)
	}
}

// named is a policy of the registry.
func named(t *testing.T, text string) func() (policy.Policy, error) {
	t.Helper()
	fresh, _, err := all.Load(all.Policies, text)
	if err != nil {
		t.Fatal(err)
	}
	return fresh
}

// gangOf is a job of one gang without a container for its AM.
func gangOf(id string, at unit.Time, tasks int64, length unit.Time, hosts ...string) *workload.Job {
	j := mr(id, at, tasks, length, 0, 0, hosts...)
	j.AM, j.User, j.Stages[0].Gang = unit.Resources{}, id, tasks
	return j
}

// A gang that never got a first container, because smaller jobs take all room that comes free, gets room held for it once it has lacked room for a minute.
func TestGangsAreNotOvertakenBeforeTheirFirstContainer(t *testing.T) {
	g := gangOf("gang", 20*s, 2, 10*s)
	g.Stages[0].Ask = gb.Times(2)
	jobs := []*workload.Job{}
	for at := unit.Time(0); at < 1000*s; at += 2 * s {
		small := gangOf(fmt.Sprint("small", at), at, 1, 9*s)
		if jobs = append(jobs, small); at == 20*s {
			jobs = append(jobs, g)
		}
	}
	for _, scheduler := range []string{"fifo", "fair"} {
		bothClocks(t, cluster.Uniform(2, 1, gb.Times(2)), named(t, scheduler), jobs, func(clock string, jobs map[string]sim.JobRecord) {
			if r := jobs["gang"]; r.Start < 0 || r.Start > (20+60+20)*s {
				t.Errorf("%s, %s: it starts at %v", scheduler, clock, r.Start)
			}
		})
	}
}

// A gang beyond its queue's maximum waits, and nobody waits for it: neither the jobs of its queue nor another gang.
func TestAGangBeyondItsQueuesMaximum(t *testing.T) {
	byFile := map[string]func() (policy.Policy, error){
		"capacity": func() (policy.Policy, error) {
			return capacity.New(readCapacity(t, "root.queues", "a,b", "root.a.capacity", "50", "root.a.maximum-capacity", "50", "root.b.capacity", "50", "root.a.user-limit-factor", "2"))
		},
		"fair": func() (policy.Policy, error) {
			file, err := conf.ReadFair(strings.NewReader(`<allocations><queue name="a"><maxResources>4096 mb, 4 vcores</maxResources></queue><queue name="b"/></allocations>`), "fair-scheduler.xml")
			if err != nil {
				return policy.Policy{}, err
			}
			return fair.FromConf(file)
		},
	}
	for name, fresh := range byFile {
		jobs := []*workload.Job{gangOf("large", 0, 6, 10*s), gangOf("same", 1*s, 3, 10*s), gangOf("other", 2*s, 4, 10*s), gangOf("single", 3*s, 1, 10*s)}
		for i, queue := range []string{"a", "a", "b", "a"} {
			jobs[i].Queue = queue
		}
		bothClocks(t, cluster.Uniform(2, 1, gb.Times(4)), fresh, jobs, func(clock string, jobs map[string]sim.JobRecord) {
			if r := jobs["large"]; r.Outcome == sim.Finished || r.Start >= 0 {
				t.Errorf("%s, %s: the large one starts at %v: %v", name, clock, r.Start, r.Outcome)
			}
			for _, id := range []string{"same", "other", "single"} {
				if r := jobs[id]; r.Outcome != sim.Finished || r.Finish > 60*s {
					t.Errorf("%s, %s: %s ends at %v: %v", name, clock, id, r.Finish, r.Outcome)
				}
			}
		})
	}
}

// No room is held for a gang that needs the room of another job's AM, which may need that very room to end: others go on until it has ended.
func TestNoHoldForTheRoomOfAnAM(t *testing.T) {
	jobs := []*workload.Job{mr("service", 0, 1, 500*s, 0, 0), gangOf("gang", 10*s, 8, 10*s)}
	for at := 15 * s; at < 1000*s; at += 5 * s {
		jobs = append(jobs, gangOf(fmt.Sprint("small", at), at, 1, 9*s))
	}
	bothClocks(t, cluster.Uniform(2, 1, gb.Times(4)), named(t, "fifo"), jobs, func(clock string, jobs map[string]sim.JobRecord) {
		start := jobs["gang"].Start
		if start < 500*s || start > 600*s {
			t.Errorf("%s: the gang starts at %v", clock, start)
		}
		for id, r := range jobs {
			if strings.HasPrefix(id, "small") && r.Finish < 500*s && r.Start-r.Job.Submit > 5*s {
				t.Errorf("%s: %s waits for %v", clock, id, r.Start-r.Job.Submit)
			}
		}
	})
}

// On random clusters, with single tasks, gangs, and placements that wait: all end, the tasks of a gang start together on Hadoop's clock, and no node is
// over-committed.
func TestRandomGangsOnHadoopsClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := cluster.Uniform(rapid.IntRange(1, 5).Draw(t, "nodes"), 2, gb.Times(int64(rapid.IntRange(2, 5).Draw(t, "room"))))
		fresh, _, err := all.Load(all.Policies, rapid.SampledFrom([]string{"fifo", "fair", "capacity", "delay:node=3", "delay:node=4s"}).Draw(t, "scheduler"))
		if err != nil {
			t.Fatal(err)
		}
		var jobs []*workload.Job
		var last unit.Time
		for i := range rapid.IntRange(1, 25).Draw(t, "jobs") {
			j := gangOf(fmt.Sprint(i), last, rapid.Int64Range(1, 8).Draw(t, "tasks"), rapid.SampledFrom([]unit.Time{1 * s, 7 * s, 40 * s}).Draw(t, "length"), "node1")
			if rapid.Bool().Draw(t, "anywhere") {
				j.Stages[0].Hosts = nil
			}
			j.Stages[0].Ask = gb.Times(rapid.Int64Range(1, 2).Draw(t, "size"))
			j.Stages[0].Gang = rapid.Int64Range(0, 6).Draw(t, "gang")
			jobs = append(jobs, j)
			last += rapid.SampledFrom([]unit.Time{0, 2 * s, 30 * s}).Draw(t, "gap")
		}
		p, err := fresh()
		if err != nil {
			t.Fatal(err)
		}
		adapted, err := adapt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		out, sum := play(t, Config{Cluster: c, Timing: Hadoop()}, adapted, jobs...)
		if sum.Finished+sum.Refused != sum.Submitted {
			t.Fatalf("%+v", sum)
		}
		checkNodes(t, c, nil, out.conts)
		together := map[string]int64{}
		for _, r := range out.conts {
			if r.Stage == 0 {
				together[fmt.Sprint(r.Job.ID, " ", r.Started)]++
			}
		}
		for _, r := range out.conts {
			if st := r.Job.Stages[0]; r.Stage == 0 && st.Gang > 1 {
				if n := together[fmt.Sprint(r.Job.ID, " ", r.Started)]; n%st.Gang != 0 && n%st.Gang != st.Tasks%st.Gang {
					t.Fatalf("%d tasks of job %s, a gang of %d, start at %v", n, r.Job.ID, st.Gang, r.Started)
				}
			}
		}
	})
}

// A gang's containers are only where the placement accepts them, on a YARN clock too.
func TestGangsArePlacedOnHadoopsClock(t *testing.T) {
	for name, timing := range every() {
		p, err := named(t, "delay:node=4000,rack=4000")()
		if err != nil {
			t.Fatal(err)
		}
		adapted, err := adapt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		c := cluster.Uniform(4, 2, gb.Times(3))
		out, sum := play(t, Config{Cluster: c, Timing: timing}, adapted, gangOf("gang", 0, 4, 10*s, "node2", "node3"))
		var at []string
		for _, r := range out.conts {
			at = append(at, c.Nodes[r.Node].Name)
		}
		slices.Sort(at)
		if sum.Finished != 1 || !slices.Equal(at, []string{"node2", "node2", "node3", "node3"}) {
			t.Errorf("%s: on %v: %+v", name, at, sum)
		}
	}
}
