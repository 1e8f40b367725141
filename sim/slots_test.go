package sim_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/policy/capacity"
	"github.com/yardmaster/yardmaster/policy/fair"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// fairWith is a fair-scheduler.xml with one queue.
func fairWith(t failer, share float64) *conf.Fair {
	t.Helper()
	file, err := conf.ReadFair(strings.NewReader(fmt.Sprintf(
		`<allocations><queue name="default"><maxAMShare>%v</maxAMShare></queue></allocations>`, share)), "fair-scheduler.xml")
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// capacityWith is a capacity-scheduler.xml with one queue.
func capacityWith(t failer, share float64) *conf.Capacity {
	t.Helper()
	file, err := conf.ReadCapacity(strings.NewReader(fmt.Sprintf(`<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>default</value></property>
<property><name>yarn.scheduler.capacity.root.default.capacity</name><value>100</value></property>
<property><name>yarn.scheduler.capacity.root.default.maximum-am-resource-percent</name><value>%v</value></property>
</configuration>`, share)), "capacity-scheduler.xml")
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// most counts AMs by the instant at which they start.
type most struct{ up map[unit.Time]int }

func (m *most) Job(*sim.JobRecord) {}
func (m *most) Sample(*sim.Sample) {}
func (m *most) Task(r *sim.TaskRecord) {
	if r.Stage == policy.AMStage {
		m.up[r.Start]++
	}
}

// How many of 24 jobs run at once at each share, played: AMs of 2048 MiB in a queue of 52,224 MiB. Nothing is free to start a
// AM later than the first ones before one of them ends, so those of the first instant are counted.
func TestSlotsOfAShare(t *testing.T) {
	const mem, vcores = 52_224, 10_000
	am := unit.Resources{Mem: 2048, Cores: 1}
	for _, c := range []struct {
		name   string
		rule   amlimit.Limit
		policy func(share float64) (policy.Policy, error)
		slots  [16]int64
	}{
		{"fair", amlimit.Fair, func(s float64) (policy.Policy, error) { return fair.FromConf(fairWith(t, s)) }, [16]int64{0, 0, 1, 1, 1, 2, 2, 2, 3, 4, 5, 5, 6, 7, 12, 22}},
		{"fair of Hadoop 2", amlimit.FairV2, func(s float64) (policy.Policy, error) { return fair.FromConfV2(fairWith(t, s)) }, [16]int64{0, 0, 1, 1, 1, 2, 2, 2, 3, 4, 5, 5, 6, 7, 12, 22}},
		// Rounded up to whole minimum allocations of 1024 MiB; one AM may always start.
		{"capacity", amlimit.Capacity, func(s float64) (policy.Policy, error) { return capacity.New(capacityWith(t, s)) }, [16]int64{1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 5, 5, 6, 8, 13, 23}},
	} {
		for i, share := range []float64{0.02, 0.03, 0.05, 0.06, 0.07, 0.08, 0.09, 0.10, 0.13, 0.17, 0.20, 0.21, 0.25, 0.30, 0.50, 0.90} {
			var jobs workload.Slice
			for k := range 24 {
				jobs = append(jobs, &workload.Job{ID: fmt.Sprint("j", k), Queue: "default", AM: am, Stages: []workload.Stage{
					{Tasks: 1, Ask: unit.Resources{Mem: 128, Cores: 1}, Length: workload.Fixed(100 * unit.Second)},
				}})
			}
			sink := &most{map[unit.Time]int{}}
			sum, err := sim.Run(context.Background(), sim.Config{
				Cluster: cluster.Uniform(1, 1, unit.Resources{Mem: mem, Cores: vcores}), Source: jobs.Source(), NoAlone: true, Sink: sink,
				Model: sim.Model{StartUp: unit.Second}, NewPolicy: func() (policy.Policy, error) { return c.policy(share) },
			})
			if err != nil {
				t.Fatal(err)
			}
			got := int64(sink.up[0])
			if want := c.slots[i]; got != want || (want > 0) != (sum.Finished == 24) || (want > 0) == (sum.Stuck == 24) {
				t.Errorf("%s at %v: %d AMs at once, want %d; %d jobs finished, %d are stuck", c.name, share, got, want, sum.Finished, sum.Stuck)
			}
			if rule := c.rule.Slots(unit.Resources{Mem: mem, Cores: vcores}, am, unit.Resources{Mem: 1024, Cores: 1}, share); rule != got {
				t.Errorf("%s at %v: %d AMs at once, and the controllers' arithmetic says %d", c.name, share, got, rule)
			}
		}
	}
}

// Under Hadoop 3 the vcores count as well; Hadoop 2 looks at the memory alone. A rounding decides when the limit misses an AM by less
// than a MiB.
func TestSlotsByVcoresAndRounding(t *testing.T) {
	play := func(mem, vcores int64, share float64, from func(*conf.Fair) (policy.Policy, error)) int {
		var jobs workload.Slice
		for k := range 24 {
			jobs = append(jobs, &workload.Job{ID: fmt.Sprint("j", k), Queue: "default", AM: unit.Resources{Mem: 2048, Cores: 1}, Stages: []workload.Stage{
				{Tasks: 1, Ask: unit.Resources{Mem: 128, Cores: 1}, Length: workload.Fixed(100 * unit.Second)},
			}})
		}
		sink := &most{map[unit.Time]int{}}
		if _, err := sim.Run(context.Background(), sim.Config{
			Cluster: cluster.Uniform(1, 1, unit.Resources{Mem: mem, Cores: vcores}), Source: jobs.Source(), NoAlone: true, Sink: sink,
			Model: sim.Model{StartUp: unit.Second}, NewPolicy: func() (policy.Policy, error) { return from(fairWith(t, share)) },
		}); err != nil {
			t.Fatal(err)
		}
		return sink.up[0]
	}
	// Policy fair shares out no vcores: the limit is a part of those that are free. With 16, at 0.5, the sixth AM finds
	// ceil(11 x 0.5) = 6, the seventh ceil(10 x 0.5) = 5.
	if v3, v2 := play(52_224, 16, 0.5, fair.FromConf), play(52_224, 16, 0.5, fair.FromConfV2); v3 != 6 || v2 != 12 {
		t.Errorf("with 16 vcores: %d AMs at once under Hadoop 3, want 6; %d under Hadoop 2, want 12", v3, v2)
	}
	if v3, v2 := play(8191, 1000, 0.5, fair.FromConf), play(8191, 1000, 0.5, fair.FromConfV2); v3 != 2 || v2 != 1 {
		t.Errorf("half of 8191 MiB: %d AMs under Hadoop 3, want 2; %d under Hadoop 2, want 1", v3, v2)
	}
}
