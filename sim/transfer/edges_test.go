package transfer_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/transfer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Every topology plays a shuffle by nodes and by racks. In a DCell a path between racks may be a single cable.
func TestTopologies(t *testing.T) {
	for _, network := range []string{
		"star:8Mbit", "racks:node=8Mbit,uplink=8Mbit", "leaf-spine:spines=2,node=8Mbit,uplink=8Mbit", "fat-tree:k=6,node=8Mbit", "dcell:n=4,levels=1,node=8Mbit",
	} {
		for _, pairs := range []int64{-1, 1} {
			shape := "20x2/5"
			if strings.HasPrefix(network, "fat-tree") {
				shape = "18x2/6"
			}
			_, sum := play(t, on(t, shape, network), sim.Model{}, "fifo", transfer.New(transfer.Options{Pairs: pairs}), mapReduce(40, 20, 0, 40e6))
			tr := sum.Traffic
			if sum.Finished != 1 || tr.Shuffled > 40e6*(1+1e-9) || tr.CrossRack < 0.7*tr.Shuffled || tr.CrossRack > 0.9*tr.Shuffled {
				t.Errorf("%s, pairs %d: finished %d, %v of %v bytes left their rack", network, pairs, sum.Finished, tr.CrossRack, tr.Shuffled)
			}
		}
	}
}

// Utilisation counts to the end of the run, not to the end of the last transfer.
func TestUtilisationOfTheWholeRun(t *testing.T) {
	j := mapReduce(2, 1, 0, 4e6)
	j.Stages[1].Length = workload.Fixed(1000 * unit.Second)
	_, sum := play(t, on(t, "2x1/1", "star:8Mbit"), sim.Model{}, "fifo", transfer.New(transfer.Options{}), j)
	if l := sum.Traffic.Links[1]; l.Bytes != 2e6 || math.Abs(l.Utilisation-2.0/1012) > 1e-6 || sum.Traffic.Settled == 0 {
		t.Errorf("2 s of 1012 s: %+v, settled %d times", l, sum.Traffic.Settled)
	}
}

// What takes longer than can be counted never comes: the job is stuck, and the run ends.
func TestLaterThanTime(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	sum, err := sim.Run(ctx, sim.Config{
		Cluster: on(t, "2x1/1", "star:1bit"), Source: workload.Slice{mapReduce(2, 1, 0, 1e18)}.Source(), Sink: &records{}, NoAlone: true,
		Worker: transfer.New(transfer.Options{}), NewPolicy: func() (policy.Policy, error) { return all.Policies.New(policy.Spec{Name: "fifo"}) },
	})
	if err != nil || sum.Partial || sum.Stuck != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
}

func TestServesOneRun(t *testing.T) {
	c, w := on(t, "2x1/1", "star:8Mbit"), transfer.New(transfer.Options{})
	play(t, c, sim.Model{}, "fifo", w, mapReduce(2, 1, 0, 4e6))
	_, err := sim.Run(context.Background(), sim.Config{
		Cluster: c, Source: workload.Slice{}.Source(), Sink: &records{}, Worker: w,
		NewPolicy: func() (policy.Policy, error) { return all.Policies.New(policy.Spec{Name: "fifo"}) },
	})
	if err == nil {
		t.Error("a worker was used twice")
	}
}

// Tasks in containers that a job keeps go where a slot is free, and fetch their blocks from where they lie.
func TestKeptContainersReadBlocks(t *testing.T) {
	j := mapReduce(2, 0, 4e6, 0)
	j.Keep = &workload.Keep{Ask: j.Stages[0].Ask, Slots: 1, Max: 2}
	j.Stages[0].Hosts = &workload.Hosts{Names: []string{"node1"}, Of: [][]int32{{0}, {0}}}
	r, sum := play(t, on(t, "2x1/1", "star:8Mbit"), sim.Model{}, "fifo", transfer.New(transfer.Options{}), j)
	if got := r.jobs[0].Finish.Seconds(); math.Abs(got-12) > 1e-3 || sum.Traffic.Read != 2e6 {
		t.Errorf("one of two blocks of 2 MB lies on the other node: done after %v s, %v bytes read", got, sum.Traffic.Read)
	}
}

// quiet places tasks in racks whose uplinks are not busy.
type quiet struct {
	policy.Network
	most, first float64
}

func (q *quiet) Watch(n policy.Network) { q.Network, q.first = n, -1 }
func (q *quiet) Score(_ unit.Time, _ *policy.Job, _ int, n *policy.Node, _ policy.Near) policy.Score {
	in, out := q.Uplink(n.Rack)
	if q.first < 0 {
		q.first = in + out
	}
	q.most = max(q.most, in, out)
	if in > 0.5 {
		return policy.Wait
	}
	return policy.Any
}
func (q *quiet) Skipped(now unit.Time, _ *policy.Job, _ int) unit.Time { return now + unit.Second }
func (q *quiet) Placed(*policy.Job, int, *policy.Node, policy.Near)    {}
func (q *quiet) Unplaced(*policy.Job, int, *policy.Node, policy.Near)  {}
func (q *quiet) Left(unit.Time, *policy.Job)                           {}

// A place sees the load of the racks' uplinks, and is refused where no network is played.
func TestPlacesSeeUplinks(t *testing.T) {
	c := on(t, "10x1/2", "racks:node=80Mbit,uplink=8Mbit")
	first, second := mapReduce(8, 8, 0, 20e6), mapReduce(8, 0, 0, 0)
	second.ID, second.Submit = "second", 11*unit.Second
	q := &quiet{}
	config := sim.Config{
		Cluster: c, Source: workload.Slice{first, second}.Source(), Sink: &records{}, Worker: transfer.New(transfer.Options{}), Model: sim.Model{Heartbeat: unit.Second},
		NewPolicy: func() (policy.Policy, error) { return policy.Policy{Order: fifo.New(), Place: q}, nil },
	}
	sum, err := sim.Run(t.Context(), config)
	if err != nil || sum.Finished != 2 {
		t.Fatal(sum, err)
	}
	if q.first != 0 || q.most < 0.99 {
		t.Errorf("loads from %v to %v: want from 0 to 1", q.first, q.most)
	}
	config.Worker = nil
	if _, err := sim.Run(t.Context(), config); err == nil {
		t.Error("a policy that looks at the network was given none")
	}
	config.Worker, config.Cluster = transfer.New(transfer.Options{}), on(t, "10x1/2", "")
	if _, err := sim.Run(t.Context(), config); err == nil || !strings.Contains(err.Error(), "load of the network") {
		t.Errorf("a policy that looks at the network, on a cluster that describes none: %v", err)
	}
}

// Carried is the integral of the uplinks' load, and Congested counts the times that a link into or out of a rack became busy.
func TestUplinksOverTime(t *testing.T) {
	// Two racks of one node: half of 40 MB goes each way at 1 MB/s.
	c := on(t, "2x1/2", "racks:node=80Mbit,uplink=8Mbit")
	w := transfer.New(transfer.Options{Congested: 0.8})
	m := &meter{w: w}
	sum, err := sim.Run(t.Context(), sim.Config{
		Cluster: c, Source: workload.Slice{mapReduce(2, 2, 0, 40e6)}.Source(), Sink: &records{}, Worker: w, Model: sim.Model{Heartbeat: unit.Second},
		NewPolicy: func() (policy.Policy, error) { return policy.Policy{Order: fifo.New(), Place: &quiet{}, Timer: m}, nil },
	})
	if err != nil || sum.Finished != 1 {
		t.Fatal(sum, err)
	}
	for rack := range 2 {
		if in, out := w.Carried(int32(rack)); math.Abs(in-10) > 1e-6 || math.Abs(out-10) > 1e-6 {
			t.Errorf("rack %d carried %v s in and %v s out, want 10", rack, in, out)
		}
	}
	if m.most < 0.999 || m.most > 1.001 || m.busy < 9 || m.busy > 11 {
		t.Errorf("mean loads up to %v, above one half for %d s", m.most, m.busy)
	}
	if tr := sum.Traffic; tr.Readers != 1 || tr.Ready != 1 {
		t.Errorf("%v stages of reduces began with %v of their maps done, want one with all", tr.Readers, tr.Ready)
	}
	if sum.Traffic.Congested != 4 {
		t.Errorf("links became congested %d times, want once each way in each rack", sum.Traffic.Congested)
	}
}

// meter takes the mean load into rack 0 every second.
type meter struct {
	w    *transfer.Worker
	last float64
	most float64
	busy int
}

func (m *meter) Tick(now unit.Time) (unit.Time, bool) {
	in, _ := m.w.Carried(0)
	if in-m.last > 0.5 {
		m.busy++
	}
	m.most, m.last = max(m.most, in-m.last), in
	return now + unit.Second, false
}
