package yarn

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy/rm"
	capacityrm "github.com/yardmaster/yardmaster/policy/rm/capacity"
	fairrm "github.com/yardmaster/yardmaster/policy/rm/fair"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/marp"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// ceiling is a scheduler whose queue "default" may grow to half of 24 GiB and 24 vcores, and not beyond.
func ceiling(t testing.TB, rule marp.Rule, share float64) rm.Scheduler {
	t.Helper()
	var sched rm.Scheduler
	var err error
	if rule == marp.Capacity {
		c, e := conf.ReadCapacity(strings.NewReader(fmt.Sprintf(`<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>default,other</value></property>
<property><name>yarn.scheduler.capacity.root.default.capacity</name><value>50</value></property>
<property><name>yarn.scheduler.capacity.root.default.maximum-capacity</name><value>50</value></property>
<property><name>yarn.scheduler.capacity.root.default.maximum-am-resource-percent</name><value>%v</value></property>
<property><name>yarn.scheduler.capacity.root.other.capacity</name><value>50</value></property>
</configuration>`, share)), "capacity-scheduler.xml")
		if e != nil {
			t.Fatal(e)
		}
		sched, err = capacityrm.New(c, conf.DefaultSite())
	} else {
		c, e := conf.ReadFair(strings.NewReader(fmt.Sprintf(`<allocations><queue name="default"><maxResources>12288 mb, 12 vcores</maxResources>
<maxAMShare>%v</maxAMShare></queue><queue name="other"/>
<queuePlacementPolicy><rule name="specified"/><rule name="default" queue="default"/></queuePlacementPolicy></allocations>`, share)), "fair-scheduler.xml")
		if e != nil {
			t.Fatal(e)
		}
		sched, err = fairrm.New(c, conf.DefaultSite())
	}
	if err != nil {
		t.Fatal(err)
	}
	return sched
}

// A queue at its ceiling in a cluster that is half empty: letting in further jobs would only take memory away from the tasks of those that
// run. No controller makes the batch slower than it is unsteered, and none raises the share while running jobs cannot get their tasks.
func TestNoHarmAtACeiling(t *testing.T) {
	var jobs workload.Slice
	for i := range 12 {
		j := mr(fmt.Sprint("j", i), 0, 20, 10*s, 1, 5*s)
		j.Master = gb.Times(2)
		j.Master.Cores = 1
		jobs = append(jobs, j)
	}
	for _, rule := range []marp.Rule{marp.Capacity, marp.Fair} {
		delays := steer.AtOnce()
		if rule == marp.Fair {
			delays = steer.FairFile()
		}
		makespan := func(who steer.Steerer) unit.Time {
			out, sum := play(t, Config{Cluster: cluster.Uniform(3, 1, gb.Times(8)), Timing: Hadoop(), Seed: 1, Steerer: who, Delays: delays},
				ceiling(t, rule, 0.34), jobs...)
			if sum.Finished != int64(len(jobs)) {
				t.Fatalf("%d of %d jobs finished", sum.Finished, len(jobs))
			}
			var end unit.Time
			for _, j := range out.jobs {
				end = max(end, j.Finish)
			}
			return end
		}
		alone := makespan(nil)
		for _, name := range marp.Names() {
			set := marp.Defaults(name, "root.default").On(rule).AsService()
			set.Max, set.Value, set.Min = 0.9, 0.34, 0
			c, err := marp.New(name, set)
			if err != nil {
				t.Fatal(err)
			}
			r := &recording{Controller: c}
			got := makespan(r)
			t.Logf("%s under rule %d: %v, unsteered %v", name, rule, got, alone)
			if got > alone+alone/20 {
				t.Errorf("%s under rule %d: %v, and %v unsteered", name, rule, got, alone)
				for _, l := range strings.Split(r.lines.String(), "\n") {
					if strings.Contains(l, "decision=raise") || strings.Contains(l, "decision=lower") {
						t.Log(l)
					}
				}
			}
		}
	}
}
