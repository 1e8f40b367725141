package yarn

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity"
	"github.com/yardmaster/yardmaster/policy/fair"
	"github.com/yardmaster/yardmaster/policy/rm"
	fairrm "github.com/yardmaster/yardmaster/policy/rm/fair"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// quick is Hadoop's clock with delays that tend to zero.
func quick() Timing {
	t := SLS()
	t.AMs, t.OutOfBand, t.SubmitToAdded = MapReduceAMs, true, 0
	t.NodeHeartbeat, t.AMHeartbeat = 20*ms, 20*ms
	return t
}

// figures are those of one run: seconds.
type figures struct{ elapsed, p95, wait, lost float64 }

func figuresOf(records []sim.JobRecord) (f figures) {
	var elapsed []float64
	for _, r := range records {
		x := (r.Finish - r.Job.Submit).Seconds()
		elapsed = append(elapsed, x)
		f.elapsed += x / float64(len(records))
		f.wait += (r.Start - r.Job.Submit).Seconds() / float64(len(records))
		f.lost += float64(r.Lost)
	}
	slices.Sort(elapsed)
	f.p95 = elapsed[int(math.Ceil(0.95*float64(len(elapsed))))-1]
	return f
}

// stream is jobs of many sizes that come at random and load 80 containers to a share, for about an hour.
func stream(seed uint64, load, slowStart float64, reduces bool) workload.Slice {
	const containers, meanLength = 80, 20.0
	var jobs workload.Slice
	at := 0.0
	for i := 0; at < 3600; i++ {
		u := func(k int) float64 { return workload.Uniform01(workload.Seed(seed, uint64(k)), uint64(i)) }
		maps := min(int64(8/math.Pow(1-u(0), 1/0.9)), 500)
		j := mr(fmt.Sprint("j", i), unit.FromSeconds(at), maps, 0, 0, 0)
		work := float64(maps) * meanLength
		j.Stages[0].Length = workload.Lengths{Kind: workload.LogNormal, A: unit.FromSeconds(meanLength), P: 0.5}
		if reduces {
			n := max(1, maps*15/100)
			j.Stages = append(j.Stages, workload.Stage{
				Name: "reduce", Kind: workload.Reduce, Tasks: n, Ask: gb, Length: workload.Lengths{Kind: workload.LogNormal, A: unit.FromSeconds(2 * meanLength), P: 0.5},
				After: []workload.Edge{{From: 0, SlowStart: slowStart}},
			})
			work += float64(n) * 2 * meanLength
		}
		jobs = append(jobs, j)
		at += work / containers / load * 2 * u(1) // so that the load stays the same whatever sizes come
	}
	return jobs
}

// The same policy in ideal time and on Hadoop's clock with delays that tend to zero: jobs take as long, be they map-only or MapReduce,
// with an AM in a container or outside the cluster, on a half-empty and on a busy one. Waits for the first container, kills and what
// model maps-first would say are printed beside. (Where containers leave room on a node that none fits into, YARN reserves nodes,
// which nothing in ideal time does, and they differ more: docs/design/0013-one-application-model.md.)
func TestClocksAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute")
	}
	fairFile, err := conf.ReadFair(strings.NewReader(`<allocations><queueMaxAMShareDefault>0.25</queueMaxAMShareDefault></allocations>`), "fair-scheduler.xml")
	if err != nil {
		t.Fatal(err)
	}
	site := conf.DefaultSite()
	site.Fair.UpdateInterval = 20 * ms
	one := []string{"root.queues", "default", "root.default.capacity", "100", "maximum-am-resource-percent", "0.25"}
	c := cluster.Uniform(10, 2, unit.Resources{Mem: 8 * 1024, Cores: 32}) // FairScheduler holds AMs back when few cores are free
	for _, p := range []struct {
		name   string
		within float64
		ideal  func() (policy.Policy, error)
		hadoop func() (rm.Scheduler, error)
	}{
		{"fair", 0.05, func() (policy.Policy, error) { return fair.FromConf(fairFile) }, func() (rm.Scheduler, error) { return fairrm.New(fairFile, site) }},
		// A CapacityScheduler with one queue and one user is first in, first out.
		{"fifo", 0.08, func() (policy.Policy, error) { return capacity.New(readCapacity(t, one...)) }, capacityOf(t, site, one...)},
	} {
		for _, w := range []struct {
			name      string
			slowStart float64
			reduces   bool
			am        unit.Resources
			loads     []float64 // by tasks; AMs come on top
		}{
			{"map-only", 0, false, unit.Resources{}, []float64{0.5, 0.9}},
			{"slow-start 1", 1, true, unit.Resources{}, []float64{0.5, 0.9}},
			{"slow-start 0.05", 0.05, true, unit.Resources{}, []float64{0.5, 0.9}},
			{"the same, with AM", 0.05, true, gb, []float64{0.4, 0.7}},
		} {
			for k, load := range w.loads {
				t.Run(fmt.Sprintf("%s, %s, load %.1f", p.name, w.name, load), func(t *testing.T) {
					t.Parallel()
					var ideal, old, hadoop []sim.JobRecord
					seeds := uint64(3)
					if p.name == "fair" && w.slowStart == 0.05 { // a kill more or less changes what comes after it
						seeds = []uint64{10, 4}[k]
					}
					for seed := range seeds {
						jobs := stream(seed, load, w.slowStart, w.reduces)
						for _, j := range jobs {
							j.AM = w.am
						}
						for model, to := range map[string]*[]sim.JobRecord{am.Hadoop: &ideal, am.MapsFirst: &old} {
							out := &seen{}
							if _, err := sim.Run(context.Background(), sim.Config{
								Cluster: c, Source: jobs.Source(), NewPolicy: p.ideal, Model: sim.Model{Application: model}, Seed: seed, Sink: out, NoAlone: true,
							}); err != nil {
								t.Fatal(err)
							}
							*to = append(*to, out.jobs...)
						}
						sched, err := p.hadoop()
						if err != nil {
							t.Fatal(err)
						}
						out, _ := play(t, Config{Cluster: c, Timing: quick(), Seed: seed}, sched, jobs...)
						hadoop = append(hadoop, out.jobs...)
					}
					i, o, h := figuresOf(ideal), figuresOf(old), figuresOf(hadoop)
					t.Logf("%s %-17s load %.1f, %4d jobs, ideal and Hadoop's clock: elapsed %4.0f, %4.0f s (%+4.1f %%), p95 %4.0f, %4.0f s (%+4.1f %%), wait %5.1f, %5.1f s, killed %3.0f, %3.0f; maps-first %4.0f s, p95 %4.0f s, wait %5.1f s",
						p.name, w.name, load, len(ideal), i.elapsed, h.elapsed, 100*(i.elapsed/h.elapsed-1), i.p95, h.p95, 100*(i.p95/h.p95-1), i.wait, h.wait, i.lost, h.lost, o.elapsed, o.p95, o.wait)
					if math.Abs(i.elapsed/h.elapsed-1) > p.within || math.Abs(i.p95/h.p95-1) > p.within {
						t.Errorf("elapsed times differ by more than %.0f %%", 100*p.within)
					}
				})
			}
		}
	}
}
