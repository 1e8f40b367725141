package live

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
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
					r := rand.New(rand.NewPCG(seed, 17))
					var jobs workload.Slice
					at := 0.0
					for i := range 75 {
						k := r.IntN(6)
						tasks := max(1, int(float64(2+5*k)*math.Exp(0.4*r.NormFloat64())))
						length := float64(9-k) * math.Exp(0.3*r.NormFloat64())
						s := workload.Stage{Kind: workload.Other, Tasks: int64(tasks), Ask: unit.Resources{Mem: 1024, Cores: 1}, Length: workload.Lengths{Kind: workload.List}}
						work := 0.0
						for range tasks {
							l := length * math.Exp(0.3*r.NormFloat64())
							work += l
							s.Length.Values = append(s.Length.Values, unit.FromSeconds(l))
						}
						jobs = append(jobs, &workload.Job{ID: fmt.Sprint("a", i), Name: fmt.Sprintf("job-%c-%d", 'a'+k, i), User: []string{"ann", "ben"}[k%2], Queue: []string{"root.prod", "root.batch", "root.adhoc"}[k%3], Submit: unit.FromSeconds(at), Stages: []workload.Stage{s}})
						at += r.ExpFloat64() * work / 24 / 0.9
					}
					v := View{Cluster: cluster.Uniform(2, 1, unit.Resources{Mem: 12288, Cores: 64}), Scheduler: schedulerOf(t, labFile), Timing: yarn.Hadoop()}
					played := truth{map[int64]sim.JobRecord{}, map[int64][]yarn.ContainerRecord{}}
					spec := run.Spec{Cluster: v.Cluster, Scheduler: v.Scheduler, Timing: &v.Timing, NoAlone: true, Seed: seed, Workload: run.Jobs(jobs), Sink: &played, Containers: played.keep}
					if _, err := run.Play(t.Context(), &spec); err != nil {
						t.Fatal(err)
					}
					for _, f := range []float64{0.45, 0.55, 0.65} {
						now := unit.FromSeconds(at * f)
						if when == "end" {
							now = jobs[74].Submit + unit.FromSeconds(5+40*(f-0.45))
						}
						view := played.viewAt(now, v)
						var before workload.Slice
						for i, j := range jobs {
							if x := played.jobs[int64(i)]; x.Finish >= 0 && x.Finish <= now {
								if volumes {
									j = volume(&x, played.conts[int64(i)])
								}
								before = append(before, j)
							}
						}
						list, err := Predict(t.Context(), view, Learn(before), Options{Seed: seed, NoArrivals: !arrive})
						if err != nil {
							t.Fatal(err)
						}
						for _, f := range list {
							i := slices.IndexFunc(jobs, func(j *workload.Job) bool { return j.ID == f.App.ID })
							x := played.jobs[int64(i)]
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
