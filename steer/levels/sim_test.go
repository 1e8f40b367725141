package levels

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity"
	"github.com/yardmaster/yardmaster/policy/rm"
	rmcapacity "github.com/yardmaster/yardmaster/policy/rm/capacity"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// scheduler is a Capacity Scheduler with an intake and two levels: by priority, or with half of the cluster each.
func scheduler(t *testing.T, fixed bool) *conf.Capacity {
	t.Helper()
	text := `root.queues=batch,levels maximum-am-resource-percent=1 root.batch.capacity=1 root.batch.maximum-capacity=100 root.batch.user-limit-factor=1000
		root.levels.capacity=99 root.levels.maximum-capacity=100 root.levels.queues=l1,l2 root.levels.ordering-policy=priority-utilization
		root.levels.l1.capacity=99 root.levels.l1.priority=2 root.levels.l1.user-limit-factor=1000
		root.levels.l2.capacity=1 root.levels.l2.priority=1 root.levels.l2.user-limit-factor=1000`
	if fixed {
		text = `root.queues=l1,l2 maximum-am-resource-percent=1 root.l1.capacity=50 root.l1.maximum-capacity=50 root.l2.capacity=50 root.l2.maximum-capacity=50`
	}
	var b strings.Builder
	b.WriteString("<configuration>\n")
	for _, p := range strings.Fields(text) {
		name, value, _ := strings.Cut(p, "=")
		fmt.Fprintf(&b, "<property><name>%s%s</name><value>%s</value></property>\n", conf.Prefix, name, value)
	}
	b.WriteString("</configuration>\n")
	c, err := conf.ReadCapacity(strings.NewReader(b.String()), "test.xml")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// jobs makes jobs of tasks of five seconds, given how many each has and when it is submitted.
func jobs(queue string, list ...[2]int64) (out workload.Slice) {
	for i, j := range list {
		out = append(out, &workload.Job{ID: string(rune('A' + i)), User: "u", Queue: queue, Submit: unit.Time(j[1]) * unit.Second,
			Stages: []workload.Stage{{Tasks: j[0], Ask: cluster.Unit, Length: workload.Fixed(5 * unit.Second)}}})
	}
	return out
}

type ends map[string]unit.Time

func (e ends) Job(r *sim.JobRecord) { e[r.Job.ID] = r.Finish }
func (ends) Sample(*sim.Sample)     {}

func (e ends) String() string {
	var out []string
	for i := range len(e) {
		out = append(out, fmt.Sprint(e[string(rune('A'+i))].Seconds()))
	}
	return strings.Join(out, " ")
}

// On four containers in ideal time, with a sample each second, the policies give the timelines computed by hand. Those of the source hold where no job reaches a limit at
// the very instant at which its containers are given away.
func TestTimelines(t *testing.T) {
	two := [][2]int64{{20, 0}, {6, 6}}
	four := [][2]int64{{4, 0}, {20, 6}, {2, 7}, {6, 8}}
	for _, c := range []struct {
		name  string
		set   []string
		fixed bool
		jobs  [][2]int64
		want  string
	}{
		{"none", nil, false, two, "25 35"},
		{"fbq", []string{"limits=25"}, false, two, "35 20"},                                     // A is demoted at 7
		{"fbq", []string{"limits=25"}, false, [][2]int64{{20, 0}, {12, 6}, {2, 7}}, "40 45 25"}, // A at 7, B at 17, behind A
		{"fbq", []string{"limits=36"}, false, four, "5 41 21 26"},                               // B at 15
		{"tags", []string{"limits=40"}, true, two, "50 35"},
		{"tags", []string{"limits=18"}, true, two, "50 55"}, // B is demoted behind A
		{"sita", []string{"limits=40"}, true, two, "50 21"},
		{"comp", nil, false, two, "25 35"}, // nothing has finished when B comes
		{"comp", nil, false, four, "5 36 16 41"},
	} {
		queues, enters := []string{"root.batch", "root.levels.l1", "root.levels.l2"}, []string{"batch", "l1"}
		if c.fixed {
			queues, enters = []string{"root.l1", "root.l2"}, []string{"root.l1"}
		}
		for i, enter := range enters {
			var who steer.Steerer
			if c.name != "none" {
				who = fresh(t, c.name, strings.Join(queues[i:], ","), append([]string{"interval=1s"}, c.set...)...)
			}
			got := ends{}
			sum, err := sim.Run(context.Background(), sim.Config{
				Cluster: cluster.Uniform(1, 1, cluster.Unit.Times(4)), Source: jobs(enter, c.jobs...).Source(), NoAlone: true, Sink: got, Steerer: who, Sizes: true,
				Bounds:    steer.Bounds{Queues: queues},
				NewPolicy: func() (policy.Policy, error) { return capacity.New(scheduler(t, c.fixed)) },
			})
			if err != nil || got.String() != c.want {
				t.Errorf("%s %v from %s: %v, %v, want %s", c.name, c.set, enter, got, err, c.want)
			}
			for _, r := range sum.Receipts {
				if r.Err != nil {
					t.Errorf("%s %v: %+v", c.name, c.set, r)
				}
			}
		}
	}
}

// The same on a YARN clock, where everything takes some seconds longer: the second job no longer waits for the first, and every job is moved as in ideal time.
func TestOnYARN(t *testing.T) {
	run := func(who steer.Steerer) (ends, []steer.Receipt) {
		got := ends{}
		sum, err := yarn.Run(context.Background(), yarn.Config{
			Cluster: cluster.Uniform(1, 1, cluster.Unit.Times(4)), Source: jobs("batch", [2]int64{40, 0}, [2]int64{6, 6}).Source(), NoAlone: true, Sink: got, Steerer: who,
			Timing: yarn.Hadoop(), Bounds: steer.Bounds{Queues: []string{"root.batch", "root.levels.l1", "root.levels.l2"}},
			NewScheduler: func() (rm.Scheduler, error) { return rmcapacity.New(scheduler(t, false), conf.DefaultSite()) },
		})
		if err != nil || sum.Finished != 2 {
			t.Fatal(sum, err)
		}
		return got, sum.Receipts
	}
	fifo, _ := run(nil)
	fbq, receipts := run(fresh(t, "fbq", "root.batch,root.levels.l1,root.levels.l2", "limits=60", "interval=1s"))
	if late := fifo["B"] - fbq["B"]; late < 25*unit.Second || fbq["A"]-fifo["A"] > 15*unit.Second {
		t.Errorf("ends: %v, steered: %v", fifo, fbq)
	}
	var moves []string
	for _, r := range receipts {
		if r.Err != nil || r.Back {
			t.Errorf("%+v", r)
		}
		moves = append(moves, r.Action.Job+">"+r.Action.Queue)
	}
	if got := strings.Join(moves, " "); got != "A>root.levels.l1 B>root.levels.l1 A>root.levels.l2" {
		t.Error(got)
	}
}
