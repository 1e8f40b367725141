package yarn

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/marp"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// ceiling is a scheduler whose queue "default" may grow to half of 24 GiB and 24 vcores, and not beyond.
func ceiling(t testing.TB, rule amlimit.Limit, share float64) rm.Scheduler {
	t.Helper()
	return scheduler(t, rule, fmt.Sprintf(`<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>default,other</value></property>
<property><name>yarn.scheduler.capacity.root.default.capacity</name><value>50</value></property>
<property><name>yarn.scheduler.capacity.root.default.maximum-capacity</name><value>50</value></property>
<property><name>yarn.scheduler.capacity.root.default.maximum-am-resource-percent</name><value>%v</value></property>
<property><name>yarn.scheduler.capacity.root.other.capacity</name><value>50</value></property>
</configuration>`, share), fmt.Sprintf(`<allocations><queue name="default"><maxResources>12288 mb, 12 vcores</maxResources>
<maxAMShare>%v</maxAMShare></queue><queue name="other"/>
<queuePlacementPolicy><rule name="specified"/><rule name="default" queue="default"/></queuePlacementPolicy></allocations>`, share))
}

// A queue at its ceiling in a cluster that is half empty: letting in further jobs would only take memory away from the tasks of those that
// run. Over random batches no controller makes them slower on average by more than chance does; with the published sensor each of them does.
func TestNoHarmAtACeiling(t *testing.T) {
	const batches = 20
	for _, rule := range []amlimit.Limit{amlimit.Capacity, amlimit.Fair} {
		delays := steer.AtOnce()
		if rule == amlimit.Fair {
			delays = steer.FairFile()
		}
		slower := map[string]float64{} // mean makespan over that of the batch unsteered
		for b := range uint64(batches) {
			jobs := randomBatch(b)
			makespan := func(who steer.Steerer) (end unit.Time) {
				out, sum := play(t, Config{Cluster: cluster.Uniform(3, 1, gb.Times(8)), Timing: Hadoop(), Seed: b, Steerer: who, Delays: delays},
					ceiling(t, rule, 0.34), jobs...)
				if sum.Finished != int64(len(jobs)) {
					t.Fatalf("%d of %d jobs finished", sum.Finished, len(jobs))
				}
				for _, j := range out.jobs {
					end = max(end, j.Finish)
				}
				return end
			}
			alone := makespan(nil)
			for _, name := range marp.Names() {
				for _, headroom := range []bool{true, false} {
					set := marp.Defaults(name, "root.default").On(rule).AsService()
					set.Max, set.Value, set.Min, set.Headroom = 0.9, 0.34, 0, headroom // never below the value found
					c, err := marp.New(name, set)
					if err != nil {
						t.Fatal(err)
					}
					slower[fmt.Sprint(name, headroom)] += float64(makespan(c)) / float64(alone) / batches
				}
			}
		}
		for _, name := range marp.Names() {
			with, without := slower[name+"true"], slower[name+"false"]
			t.Logf("%s, %-10s %.3f of the makespan unsteered; published sensor: %.3f", rule.Scheduler, name, with, without)
			if with > 1.05 {
				t.Errorf("%s under the %s makes batches %.1f %% slower", name, rule.Scheduler, 100*(with-1))
			}
			if name != "static" && without <= with {
				t.Errorf("%s under the %s: the batches do not show what the published sensor does", name, rule.Scheduler)
			}
		}
	}
}

func randomBatch(seed uint64) (jobs workload.Slice) {
	r := rand.New(rand.NewPCG(seed, 7))
	var at unit.Time
	upTo := func(n int) unit.Time { return unit.Time(r.IntN(n)) * s }
	for i := range 8 + r.IntN(10) {
		at += upTo(8)
		j := mr(fmt.Sprint("j", i), at, 4+int64(r.IntN(40)), 5*s+upTo(20), 1+int64(r.IntN(3)), 3*s+upTo(20))
		j.AM = gb.Times(2)
		j.AM.Cores = 1
		jobs = append(jobs, j)
	}
	return jobs
}
