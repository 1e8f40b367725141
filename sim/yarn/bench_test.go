package yarn

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	fifopolicy "github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/policy/rm"
	capacityrm "github.com/yardmaster/yardmaster/policy/rm/capacity"
	fairrm "github.com/yardmaster/yardmaster/policy/rm/fair"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// capacityOf makes a CapacityScheduler of settings below yarn.scheduler.capacity., name and value in turn.
func capacityOf(t testing.TB, site conf.Site, settings ...string) func() (rm.Scheduler, error) {
	t.Helper()
	c := readCapacity(t, settings...)
	return func() (rm.Scheduler, error) { return capacityrm.New(c, site) }
}

func readCapacity(t testing.TB, settings ...string) *conf.Capacity {
	t.Helper()
	var b strings.Builder
	b.WriteString("<configuration>")
	for i := 0; i < len(settings); i += 2 {
		fmt.Fprintf(&b, "<property><name>yarn.scheduler.capacity.%s</name><value>%s</value></property>", settings[i], settings[i+1])
	}
	b.WriteString("</configuration>")
	c, err := conf.ReadCapacity(strings.NewReader(b.String()), "capacity-scheduler.xml")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// busy is ten minutes of a cluster: 100 jobs of 30 containers.
func busy() workload.Slice {
	var jobs workload.Slice
	for i := range 100 {
		j := mr(fmt.Sprint("job", i), unit.Time(i)*5*s, 24, 0, 6, 0)
		j.User = fmt.Sprint("user", i%5)
		for k := range j.Stages {
			j.Stages[k].Length = workload.Lengths{Kind: workload.Exponential, A: 30 * s}
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// nowhere drops results.
type nowhere struct{}

func (nowhere) Job(*sim.JobRecord) {}
func (nowhere) Sample(*sim.Sample) {}

// A run of ten minutes on 40 nodes must stay far below a second, or nobody compares ten settings.
func BenchmarkTenMinutes(b *testing.B) {
	fair, err := conf.ReadFair(strings.NewReader("<allocations/>"), "fair-scheduler.xml")
	if err != nil {
		b.Fatal(err)
	}
	schedulers := map[string]func() (rm.Scheduler, error){
		"capacity": capacityOf(b, conf.DefaultSite(), "root.queues", "default", "root.default.capacity", "100", "maximum-am-resource-percent", "0.5",
			"root.default.user-limit-factor", "10"),
		"fair": func() (rm.Scheduler, error) { return fairrm.New(fair, conf.DefaultSite()) },
		"fifo": func() (rm.Scheduler, error) { return newFIFO(), nil },
	}
	jobs := busy()
	for _, name := range []string{"fifo", "capacity", "fair"} {
		for clock, timing := range map[string]Timing{"sls": SLS(), "hadoop": Hadoop()} {
			b.Run(name+"/"+clock, func(b *testing.B) {
				var sum sim.Summary
				for b.Loop() {
					sum, err = Run(context.Background(), Config{
						Cluster: cluster.Uniform(40, 4, unit.Resources{Mem: 10240, Cores: 10}), Source: jobs.Source(),
						NewScheduler: schedulers[name], Timing: timing, Seed: 1, Sink: nowhere{}, NoAlone: true,
					})
					if err != nil || sum.Finished != 100 {
						b.Fatal(sum, err)
					}
				}
				b.ReportMetric(sum.LastFinish.Seconds(), "virtual-s")
			})
		}
	}
}

// The same jobs in ideal time, for the ratio.
func BenchmarkTenMinutesIdeal(b *testing.B) {
	jobs := busy()
	for b.Loop() {
		sum, err := sim.Run(context.Background(), sim.Config{
			Cluster: cluster.Uniform(40, 4, unit.Resources{Mem: 10240, Cores: 10}), Source: jobs.Source(), NoAlone: true, Seed: 1, Sink: nowhere{},
			NewPolicy: func() (policy.Policy, error) { return policy.Policy{Order: fifopolicy.New()}, nil },
		})
		if err != nil || sum.Finished != 100 {
			b.Fatal(sum, err)
		}
	}
}
