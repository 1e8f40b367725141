package nas_test

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/policy/rm/adapt"
	"github.com/yardmaster/yardmaster/policy/shuffle"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/sim/transfer"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

func network(t interface{ Fatal(...any) }, shorthand, text string) *cluster.Cluster {
	c, err := cluster.Parse(shorthand)
	if err == nil {
		c.Network, err = cluster.ParseNetwork(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mapReduce(id, user string, at unit.Time, maps, reduces int64, input, bytes unit.Bytes, ask ...int64) *workload.Job {
	asks := [2]unit.Resources{cluster.Unit, cluster.Unit}
	for i, n := range ask {
		asks[i] = cluster.Unit.Times(n)
	}
	return &workload.Job{ID: id, User: user, Submit: at, Stages: []workload.Stage{
		{Kind: workload.Map, Tasks: maps, Ask: asks[0], Input: input, Length: workload.Fixed(10 * unit.Second)},
		{Kind: workload.Reduce, Tasks: reduces, Ask: asks[1], Length: workload.Fixed(5 * unit.Second), After: []workload.Edge{{Shuffle: bytes, SlowStart: 0.05}}},
	}}
}

// No deadlock and no hang: whatever the cluster, the jobs, the clock, the application model and the settings, every job finishes.
func TestPropertyNothingHangs(t *testing.T) {
	specs := []string{
		"nas", "nas:skip=3", "nas:skip=2s,cap=1", "nas:congested=0.001,gate=known,first=reduces", "nas:congested=0.01,tmin=0,tmax=0,gate=soft", "nas:congested=0.01,tmin=0,tmax=0,capped=all,gate=known", "nas:threshold=none", "nas:threshold=1B,skip=5", "nas:parts=mts", "nas:parts=mts+ca",
		"nas:slowstart=fixed,unfetched=yes,learn=yes", "nas:reset=any,gate=all,capped=all", "nas:cap=0", "nas:parts=delay", "nas:parts=fair", "nas:parts=fair,first=reduces", "shufflewatcher", "shufflewatcher:congested=0.001", "shufflewatcher:node=2,rack=2,congested=0.1,cap=1", "shufflewatcher:cap=0",
	}
	rapid.Check(t, func(t *rapid.T) {
		racks := rapid.IntRange(1, 4).Draw(t, "racks")
		c := network(t, fmt.Sprintf("%dx%d/%d", racks*rapid.IntRange(1, 3).Draw(t, "nodes"), rapid.IntRange(1, 4).Draw(t, "containers"), racks), "racks:node=80Mbit,uplink=40Mbit")
		widest := c.Nodes[0].Room.Mem / cluster.Unit.Mem
		var jobs workload.Slice
		at := unit.Time(0)
		for i := range rapid.IntRange(1, 10).Draw(t, "jobs") {
			at += unit.Time(rapid.Int64Range(0, 20).Draw(t, "gap")) * unit.Second
			size := func(name string) unit.Bytes {
				return unit.Bytes(rapid.SampledFrom([]int64{0, 1e4, 1e7, 3e8}).Draw(t, name))
			}
			j := mapReduce(fmt.Sprint("j", i), rapid.SampledFrom([]string{"ann", "bob", "eve"}).Draw(t, "user"), at, rapid.Int64Range(0, 20).Draw(t, "maps"), rapid.Int64Range(0, 9).Draw(t, "reduces"),
				size("input"), size("shuffle"), rapid.Int64Range(1, widest).Draw(t, "map size"), rapid.Int64Range(1, widest).Draw(t, "reduce size"))
			if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
				j.Stages = j.Stages[:1]
			}
			jobs = append(jobs, j)
		}
		m := sim.Model{
			Replicas: rapid.IntRange(0, 3).Draw(t, "replicas"), Application: rapid.SampledFrom(am.Names()).Draw(t, "application"),
			PerBeat: rapid.IntRange(0, 1).Draw(t, "per beat"), Heartbeat: unit.Second,
		}
		spec, err := policy.ParseSpec(rapid.SampledFrom(specs).Draw(t, "scheduler"))
		if err != nil {
			t.Fatal(err)
		}
		made := func() (policy.Policy, error) { return all.Policies.New(spec) }
		var sum sim.Summary
		if clock := rapid.SampledFrom([]string{"ideal", "hadoop", "sls"}).Draw(t, "clock"); clock == "ideal" {
			sum, err = sim.Run(context.Background(), sim.Config{
				Cluster: c, Source: jobs.Source(), Model: m, NoAlone: true, Worker: transfer.New(transfer.Options{}), NewPolicy: made,
			})
		} else {
			timing := yarn.Hadoop()
			if clock == "sls" {
				timing = yarn.SLS()
			} else if m.Application == am.MapsFirst {
				timing.AMs = yarn.PlainAMs
			}
			for _, j := range jobs[:min(len(jobs), len(c.Nodes)-1)] { // AMs leave room for any task on one node
				if rapid.Bool().Draw(t, "AM") {
					j.AM = cluster.Unit
				}
			}
			sum, err = yarn.Run(context.Background(), yarn.Config{
				Cluster: c, Source: jobs.Source(), Timing: timing, NoAlone: true, Sink: result.Tee(), Worker: transfer.New(transfer.Options{}), Replicas: m.Replicas,
				NewScheduler: func() (rm.Scheduler, error) {
					p, err := made()
					if err != nil {
						return nil, err
					}
					return adapt.New(p)
				},
			})
		}
		if err != nil || sum.Finished != int64(len(jobs)) || sum.Stuck > 0 {
			t.Fatalf("%d of %d jobs finished, %d are stuck: %v", sum.Finished, len(jobs), sum.Stuck, err)
		}
	})
}

// Hadoop's AM kills reduces of its job when maps starve, and what they have fetched is sent again. The printed gate starves maps in congested racks; by default no attempt is
// lost for it: about as few as under a scheduler that does not look at the network.
func TestNothingIsLostToTheGate(t *testing.T) {
	c := network(t, "12x4/6", "racks:node=400Mbit,uplink=80Mbit")
	var jobs workload.Slice
	for i := range 24 {
		jobs = append(jobs, mapReduce(fmt.Sprint("j", i), fmt.Sprint("u", i%6), unit.Time(i)*5*unit.Second, 60, 12, 6e8, 2e9))
	}
	lost := map[string]int64{}
	for _, s := range []string{"fair:by=user", "nas", "nas:gate=known,first=reduces,cap=0.5"} {
		spec, err := policy.ParseSpec(s)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := sim.Run(t.Context(), sim.Config{
			Cluster: c, Source: jobs.Source(), NoAlone: true, Worker: transfer.New(transfer.Options{Congested: 0.8}),
			Model:     sim.Model{Replicas: 3, Heartbeat: unit.Second},
			NewPolicy: func() (policy.Policy, error) { return all.Policies.New(spec) },
		})
		if err != nil || sum.Finished != int64(len(jobs)) {
			t.Fatalf("%s: %d of %d jobs finished, %v", s, sum.Finished, len(jobs), err)
		}
		lost[s] = sum.Lost
	}
	t.Log(lost)
	if lost["nas"] > 2*lost["fair:by=user"] || lost["nas:gate=known,first=reduces,cap=0.5"] < 10*lost["nas"] {
		t.Errorf("attempts lost: %v", lost)
	}
}

// On the Hadoop clock, whose AMs request up to half of a job's room for reduces while maps wait, the policy's cap holds.
func TestCapOnTheHadoopClock(t *testing.T) {
	c := network(t, "8x4/2", "racks:node=80Mbit,uplink=40Mbit")
	jobs := workload.Slice{mapReduce("a", "ann", 0, 200, 32, 2e9, 1e9), mapReduce("b", "bob", 0, 200, 32, 2e9, 1e8)}
	for _, s := range []string{"nas:cap=0.25,tmin=0,tmax=0,first=reduces", "shufflewatcher:cap=0.25,slowstart=0"} {
		spec, err := policy.ParseSpec(s)
		if err != nil {
			t.Fatal(err)
		}
		var reduces []yarn.ContainerRecord
		lastMap := unit.Time(0)
		sum, err := yarn.Run(t.Context(), yarn.Config{
			Cluster: c, Source: jobs.Source(), Timing: yarn.Hadoop(), NoAlone: true, Sink: result.Tee(), Worker: transfer.New(transfer.Options{}), Replicas: 3,
			NewScheduler: func() (rm.Scheduler, error) {
				p, err := all.Policies.New(spec)
				if err != nil {
					return nil, err
				}
				return adapt.New(p)
			},
			Containers: func(r *yarn.ContainerRecord) {
				switch r.Stage {
				case 0:
					lastMap = max(lastMap, r.Allocated)
				case 1:
					reduces = append(reduces, *r)
				}
			},
		})
		if err != nil || sum.Finished != 2 {
			t.Fatalf("%s: %d jobs finished: %v", s, sum.Finished, err)
		}
		most, early := 0, 0
		for i := range reduces {
			at, n := reduces[i].Allocated, 0
			if at >= lastMap {
				continue
			}
			early++
			for k := range reduces {
				if reduces[k].Allocated <= at && reduces[k].Freed > at {
					n++
				}
			}
			most = max(most, n)
		}
		t.Logf("%s: %d reduces started while maps waited, at most %d at once; %d were killed", s, early, most, sum.Lost)
		if early == 0 || most > 8 {
			t.Errorf("%s: %d reduces hold containers while maps wait; a quarter of the cluster is 8", s, most)
		}
	}
}

// run plays jobs under a policy with a meter.
func run(t *testing.T, c *cluster.Cluster, scheduler string, jobs workload.Slice, sink sim.Sink) (sim.Summary, *shuffle.Meter) {
	t.Helper()
	spec, err := policy.ParseSpec(scheduler)
	if err != nil {
		t.Fatal(err)
	}
	var m *shuffle.Meter
	w := transfer.New(transfer.Options{Congested: 0.8})
	sum, err := sim.Run(t.Context(), sim.Config{
		Cluster: c, Source: jobs.Source(), Sink: sink, NoAlone: true, Worker: w,
		Model: sim.Model{Replicas: 3, Heartbeat: unit.Second, Application: am.Overlap},
		NewPolicy: func() (policy.Policy, error) {
			p, err := all.Policies.New(spec)
			if err != nil {
				return p, err
			}
			if p, m, err = shuffle.Watch(p); err == nil {
				m.Uplinks(w, len(c.Racks), 0.8)
			}
			return p, err
		},
	})
	if err != nil || sum.Finished != int64(len(jobs)) {
		t.Fatalf("%s: %d of %d jobs finished, %v", scheduler, sum.Finished, len(jobs), err)
	}
	return sum, m
}

// mix is a workload of light and heavy jobs that keeps the uplinks of small racks busy.
func mix() (jobs workload.Slice) {
	for i := range 60 {
		bytes := unit.Bytes(1e5)
		if i%4 == 0 {
			bytes = 4e8
		}
		jobs = append(jobs, mapReduce(fmt.Sprint("j", i), fmt.Sprint("u", i%10), unit.Time(i)*2*unit.Second, 24, 6, 24e6, bytes))
	}
	return jobs
}

// What the meter measures: reduces start later under NAS than without adaptive slow-start, and few nodes are above the threshold; heavy
// reduces are held back while uplinks are congested.
func TestMeasures(t *testing.T) {
	c := network(t, "20x4/5", "racks:node=400Mbit,uplink=160Mbit")
	type measures struct {
		progress, over float64
		sum            sim.Summary
	}
	got := map[string]measures{}
	for _, s := range []string{"fair:by=user", "delay:by=user", "shufflewatcher", "nas", "nas:parts=fair", "nas:parts=delay", "nas:parts=mts", "nas:parts=mts+ca", "nas:threshold=none", "nas:slowstart=fixed", "nas:threshold=none,slowstart=fixed"} {
		sum, m := run(t, c, s, mix(), nil)
		if sum.Traffic.Readers != 60 {
			t.Errorf("%s: first reduces of %v jobs", s, sum.Traffic.Readers)
		}
		progress := sum.Traffic.Ready / sum.Traffic.Readers
		got[s] = measures{progress, m.OverThreshold(), sum}
		events, share := m.Congestion()
		if events == 0 || share == 0 || share > 1 {
			t.Errorf("%s: %d congestion events, for %v of the time", s, events, share)
		}
		t.Logf("%-36s map progress %.3f, nodes over %.4f, congested %d times, %d by the second and %.3f of the time, between racks %.3g, read %.3g, done after %v", s, progress, m.OverThreshold(), sum.Traffic.Congested, events, share,
			sum.Traffic.CrossRack, sum.Traffic.Read, sum.LastFinish)
	}
	if a, b := got["nas"].progress, got["nas:slowstart=fixed"].progress; a <= b {
		t.Errorf("map progress at the first reduce: %v with adaptive slow-start, %v without", a, b)
	}
	if a, b := got["nas"].over, got["nas:threshold=none"].over; a >= b/3 {
		t.Errorf("nodes above the threshold: %v, %v without it", a, b)
	}
	if a, b := got["nas"].sum.Traffic.CrossRack, got["fair:by=user"].sum.Traffic.CrossRack; a >= b {
		t.Errorf("%v bytes between racks, %v under fair", a, b)
	}
	if got["nas"].sum.Traffic.Congested == 0 {
		t.Error("no uplink was ever congested")
	}
}

type preempting struct{ policy.Order }

func (preempting) Victims(_ unit.Time, to []policy.Claim) []policy.Claim { return to }

// The meter changes nothing.
func TestMeterDoesNotInterfere(t *testing.T) {
	c := network(t, "20x4/5", "racks:node=400Mbit,uplink=160Mbit")
	for _, s := range []string{"nas", "delay"} {
		spec, _ := policy.ParseSpec(s)
		plain, err := sim.Run(t.Context(), sim.Config{
			Cluster: c, Source: mix().Source(), NoAlone: true, Worker: transfer.New(transfer.Options{Congested: 0.8}),
			Model:     sim.Model{Replicas: 3, Heartbeat: unit.Second, Application: am.Overlap},
			NewPolicy: func() (policy.Policy, error) { return all.Policies.New(spec) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if metered, _ := run(t, c, s, mix(), nil); metered.LastFinish != plain.LastFinish || metered.Traffic.CrossRack != plain.Traffic.CrossRack {
			t.Errorf("%s: %v, %v metered", s, plain.LastFinish, metered.LastFinish)
		}
	}
	if _, _, err := shuffle.Watch(policy.Policy{Order: preempting{}}); err == nil {
		t.Error("a policy that preempts is measured")
	}
}
