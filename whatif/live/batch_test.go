package live

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

const labFile = `<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>prod,batch,adhoc</value></property>
<property><name>yarn.scheduler.capacity.maximum-am-resource-percent</name><value>0.3</value></property>
<property><name>yarn.scheduler.capacity.root.prod.capacity</name><value>50</value></property>
<property><name>yarn.scheduler.capacity.root.prod.user-limit-factor</name><value>2</value></property>
<property><name>yarn.scheduler.capacity.root.batch.capacity</name><value>30</value></property>
<property><name>yarn.scheduler.capacity.root.batch.maximum-capacity</name><value>70</value></property>
<property><name>yarn.scheduler.capacity.root.batch.user-limit-factor</name><value>2</value></property>
<property><name>yarn.scheduler.capacity.root.adhoc.capacity</name><value>20</value></property>
<property><name>yarn.scheduler.capacity.root.adhoc.maximum-capacity</name><value>60</value></property>
<property><name>yarn.scheduler.capacity.root.adhoc.user-limit-factor</name><value>3</value></property>
</configuration>`

// A short history, and the end of a batch: 75 unmanaged applications in three queues, asked about when about half of them have come and after the last
// one. Few earlier jobs say less than they seem to, and predicted arrivals that do not come delay everything: it measures, and asserts nothing.
func TestBatch(t *testing.T) {
	if os.Getenv("YARDMASTER_HISTORIES") == "" {
		t.Skip("a measurement: set YARDMASTER_HISTORIES")
	}
	for _, volumes := range []bool{false, true} {
		for _, when := range []string{"middle", "end"} {
			for _, arrive := range []bool{true, false} {
				var c tally
				var ratio []float64
				for seed := range uint64(12) {
					jobs := families(75, 0.9, seed)
					at := jobs[74].Submit.Seconds()
					v := View{Cluster: cluster.Uniform(2, 1, unit.Resources{Mem: 12288, Cores: 64}), Scheduler: schedulerOf(t, labFile), Timing: yarn.Hadoop()}
					played, err := replayed(t.Context(), &v, jobs, len(jobs), seed)
					if err != nil {
						t.Fatal(err)
					}
					for _, f := range []float64{0.45, 0.55, 0.65} {
						now := unit.FromSeconds(at * f)
						if when == "end" {
							now = jobs[74].Submit + unit.FromSeconds(5+40*(f-0.45))
						}
						view, seqs := played.viewAt(now, v)
						var before workload.Slice
						for i, j := range jobs {
							if x := played.jobs[int64(i)]; x.Finish >= 0 && x.Finish <= now {
								if volumes {
									j = volume(&x, played.containers[int64(i)])
								}
								before = append(before, j)
							}
						}
						list, err := Predict(t.Context(), view, Learn(before), Options{Seed: seed, NoArrivals: !arrive})
						if err != nil {
							t.Fatal(err)
						}
						for i, f := range list {
							x := played.jobs[seqs[i]]
							c.add(f.End, x.Finish, now, fmt.Sprint(seed, now))
							ratio = append(ratio, (x.Finish-now).Seconds()/max(1, (f.End.Median-now).Seconds()))
						}
					}
				}
				slices.Sort(ratio)
				t.Logf("volumes %v, %s, arrivals %v: truth/median %.2f; %v", volumes, when, arrive, ratio[len(ratio)/2], &c)
			}
		}
	}
}
