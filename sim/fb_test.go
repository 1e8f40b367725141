package sim_test

import (
	"context"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/workload/swim/swimtest"
)

type count struct{ jobs, samples int }

func (c *count) Job(*sim.JobRecord) { c.jobs++ }
func (c *count) Sample(*sim.Sample) { c.samples++ }

// A day of Facebook runs to its end under each scheduler, on a small and on a large cluster. (Its time is for a person to
// read: ci-traces.sh holds it against its bound.)
func TestFacebookDay(t *testing.T) {
	if testing.Short() {
		t.Skip("fifty million events")
	}
	jobs := swimtest.Facebook(t)
	for _, cl := range []string{"600x6/30", "3000x20/150"} {
		for _, name := range []string{"fifo", "fair", "capacity"} {
			c, _ := cluster.Parse(cl)
			spec, _ := policy.ParseSpec(name)
			begin := time.Now()
			sink := &count{}
			sum, err := sim.Run(context.Background(), sim.Config{
				Cluster: c, Source: jobs.Source(), Seed: 1, Sink: sink,
				NewPolicy: func() (policy.Policy, error) { return all.Policies.New(spec) },
			})
			if err != nil {
				t.Fatal(err)
			}
			if sum.Finished != 24_442 || sum.Tasks != 8_357_001 || sink.jobs != 24_442 {
				t.Errorf("%s %s: %d jobs and %d tasks finished", cl, name, sum.Finished, sum.Tasks)
			}
			d := time.Since(begin)
			t.Logf("%s %s: %v, %d events, %.0f ns/event, jobs %d/%d tasks %d last %v", cl, name, d, sum.Events,
				float64(d.Nanoseconds())/float64(sum.Events), sum.Finished, sum.Submitted, sum.Tasks, sum.LastFinish)
		}
	}
}
