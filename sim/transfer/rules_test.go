package transfer_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/plan"
	"github.com/yardmaster/yardmaster/policy/planned"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/sim/transfer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// A block that no replica of lies on the reader's node comes from one in its rack, if there is one.
func TestBlocksComeFromTheOwnRack(t *testing.T) {
	for _, x := range []struct {
		name        string
		hosts       []string
		read, cross float64
	}{
		// node1 and node2 are one rack, node3 and node4 the other. Each of four nodes runs one map, which reads 1 MB.
		{"a replica in each rack", []string{"node1", "node3"}, 2e6, 0},
		{"the other way round", []string{"node4", "node2"}, 2e6, 0},
		{"two replicas in one rack", []string{"node1", "node2"}, 2e6, 2e6},
		{"one replica", []string{"node3"}, 3e6, 2e6},
		{"on every node", []string{"node1", "node2", "node3", "node4"}, 0, 0},
	} {
		j := mapReduce(4, 0, 4e6, 0)
		hosts := &workload.Hosts{Names: x.hosts}
		for range 4 {
			var all []int32
			for i := range x.hosts {
				all = append(all, int32(i))
			}
			hosts.Of = append(hosts.Of, all)
		}
		j.Stages[0].Hosts = hosts
		_, sum := play(t, on(t, "4x1/2", "racks:node=8Mbit,uplink=8Mbit"), sim.Model{}, "fifo", transfer.New(transfer.Options{}), j)
		if tr := sum.Traffic; math.Abs(tr.Read-x.read) > 1 || math.Abs(tr.CrossRack-x.cross) > 1 {
			t.Errorf("%s: %v bytes read, %v from the other rack; want %v, %v", x.name, tr.Read, tr.CrossRack, x.read, x.cross)
		}
	}
}

// apart plays jobs whose maps are all in the first of two racks and whose reduces are all in the second, each in the order of the jobs. It returns when each is done.
func apart(t *testing.T, cluster, network string, opt transfer.Options, gathers bool, jobs ...*workload.Job) (finish []float64, sum sim.Summary) {
	t.Helper()
	p := &plan.Plan{Aggregate: gathers, AdHoc: plan.AdHoc{HeavyInput: 1}, Racks: make([]plan.Sequence, 2)}
	for i, j := range jobs {
		j.ID = string(rune('a' + i))
		p.Jobs = append(p.Jobs, plan.Placed{ID: j.ID, Heavy: gathers, Maps: j.Stages[0].Tasks, Reduces: j.Stages[1].Tasks})
		for stage := range 2 {
			p.Racks[stage].Run = append(p.Racks[stage].Run, plan.Entry{Job: j.ID, Stage: stage, Count: j.Stages[stage].Tasks})
		}
	}
	r := &records{}
	opt.Tolerance = -1
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: on(t, cluster, network), Source: workload.Slice(jobs).Source(), Seed: 1, NoAlone: true, Worker: transfer.New(opt), Sink: r,
		Model: sim.Model{Application: am.MapsFirst}, NewPolicy: func() (policy.Policy, error) { return planned.New(p), nil },
	})
	if err != nil || len(r.jobs) != len(jobs) {
		t.Fatal(err, r.jobs)
	}
	finish = make([]float64, len(jobs))
	for _, j := range r.jobs {
		finish[j.Seq] = math.Round(1e3*j.Finish.Seconds()) / 1e3
	}
	return finish, sum
}

// A batch for n readers shares a link as n flows would. Two jobs send from one rack to the other at the same time, over an uplink of 1/8 GB/s: 0.4 GB
// gather for four readers, 0.1 GB are for one. Four fifths and one fifth of the uplink take 4 s each.
func TestABatchWeighsAsItsReaders(t *testing.T) {
	got, sum := apart(t, "2x10/2", "racks:node=800Gbit,uplink=1Gbit,circuit=8Gbit,elephant=1000000000B", transfer.Options{}, true,
		mapReduce(5, 4, 0, 400_000_000), mapReduce(5, 1, 0, 100_000_000))
	if want := []float64{10 + 4 + 5, 10 + 4 + 5}; !slices.Equal(got, want) {
		t.Errorf("done after %v s, want %v", got, want)
	}
	if waited := sum.Traffic.Waited.Seconds(); math.Abs(waited-5*4) > 1e-3 {
		t.Errorf("the five readers held containers for %v s before they had their data, want 4 s each", waited)
	}
	if load := sum.Traffic.Uplinks; math.Abs(load-2.0*4/19/2/2) > 1e-3 { // one of two uplinks out, and one in, for 4 of 19 s
		t.Errorf("the uplinks are loaded by %v", load)
	}
}

// Of fifteen maps, five end after 10, 20 and 30 s each. A reduce starts with the first ones' end and fetches over an uplink of 1 MB/s: what is there when it
// starts, what each step makes, and the rest when all is there.
func TestShufflesInSteps(t *testing.T) {
	for _, x := range []struct {
		each, steps                       int64 // MB of a map
		want                              float64
		fromNodes, fromRacks, fromEachOne int64 // flows
	}{
		// 5 MB after 10, 20 and 30 s. A step is one map: the first of the five that end together takes the connection to their node, the others follow.
		{1, 20, 30 + 5 + 5, 5, 15, 3},
		// Of fifteen maps, a step of three is five.
		{1, 3, 30 + 5 + 5, 3, 15, 3},
		// A step of two is eight: 5 MB after 10 s, 3 after 20 s and 7 after 30 s.
		{1, 2, 30 + 7 + 5, 3, 15, 3},
		// No steps: 5 MB after 10 s and 10 after 30 s.
		{1, 1, 30 + 10 + 5, 2, 10, 2},
		// 15 MB each time: from 10 s on the uplink is always busy. Connections to racks get more to send, connections to a node are opened again.
		{3, 20, 10 + 45 + 5, 3, 5, 1},
	} {
		for _, mode := range []struct {
			name  string
			opt   transfer.Options
			flows int64
		}{
			{"from nodes", transfer.Options{Steps: x.steps}, x.fromNodes},
			{"from racks", transfer.Options{Steps: x.steps, Pairs: 14}, x.fromRacks},
			{"from nodes, just", transfer.Options{Steps: x.steps, Pairs: 15}, x.fromNodes},
			{"from nodes, always", transfer.Options{Steps: x.steps, Pairs: -1}, x.fromNodes},
			{"from each rack", transfer.Options{Steps: x.steps, Racks: true}, x.fromEachOne},
		} {
			j := mapReduce(15, 1, 0, unit.Bytes(15e6*x.each))
			j.Stages[1].After[0].SlowStart = 1. / 3
			j.Stages[0].Length = workload.Lengths{Kind: workload.List}
			for _, s := range []unit.Time{10, 20, 30} {
				j.Stages[0].Length.Values = append(j.Stages[0].Length.Values, slices.Repeat([]unit.Time{s * unit.Second}, 5)...)
			}
			got, sum := apart(t, "2x15/2", "racks:node=800Mbit,uplink=8Mbit", mode.opt, false, j)
			bytes := 15e6 * float64(x.each)
			if tr := sum.Traffic; got[0] != x.want || tr.Flows != mode.flows || math.Abs(tr.Shuffled-bytes) > 1 || math.Abs(tr.CrossRack-bytes) > 1 {
				t.Errorf("%s, %d MB a map, %d steps: %v s, %d flows, %v bytes, %v of them between racks; want %v s, %d flows", mode.name, x.each, x.steps, got[0],
					tr.Flows, tr.Shuffled, tr.CrossRack, x.want, mode.flows)
			}
		}
	}
}

// A reader has a limited number of connections, to as many nodes. Two readers share an uplink of 1 MB/s: one fetches 4 MB from four nodes, the other 1 MB from
// one.
func TestCopiersShareALink(t *testing.T) {
	for copiers, want := range map[int]float64{1: 10 + 2 + 5, 2: 10 + 3 + 5, 3: 10 + 4 + 5, 4: 10 + 5 + 5, 0: 10 + 5 + 5} {
		got, _ := apart(t, "10x1/2", "racks:node=800Mbit,uplink=8Mbit", transfer.Options{Copiers: copiers}, false, mapReduce(4, 1, 0, 4e6), mapReduce(1, 1, 0, 1e6))
		if got[0] != 10+5+5 || got[1] != want {
			t.Errorf("%d connections: done after %v s, want 20 and %v", copiers, got, want)
		}
	}
}

// Readers begin at different nodes: two of them, with one connection each, fetch 1 MB from each of two nodes at 1 MB/s without waiting for each other.
func TestReadersBeginApart(t *testing.T) {
	got, _ := apart(t, "4x1/2", "racks:node=8Mbit,uplink=800Mbit", transfer.Options{Copiers: 1}, false, mapReduce(2, 2, 0, 4e6))
	if got[0] != 10+2+5 {
		t.Errorf("done after %v s, want 17", got[0])
	}
}

// A flow may end at the instant at which the last map does: its reader still waits for the rest. Ten of fifteen maps end after
// 10 s, and their 10 MB are there after 20 s, when the others end.
func TestAFlowEndsWithTheLastMap(t *testing.T) {
	for _, opt := range []transfer.Options{{Steps: 1}, {Steps: 1, Pairs: 14}, {Steps: 1, Racks: true}} {
		j := mapReduce(15, 1, 0, 15e6)
		j.Stages[1].After[0].SlowStart = 2. / 3
		j.Stages[0].Length = workload.Lengths{Kind: workload.List, Values: slices.Concat(slices.Repeat([]unit.Time{10 * unit.Second},
			10), slices.Repeat([]unit.Time{20 * unit.Second}, 5))}
		if got, _ := apart(t, "2x15/2", "racks:node=800Mbit,uplink=8Mbit", opt, false, j); got[0] != 20+5+5 {
			t.Errorf("%+v: done after %v s, want 30", opt, got[0])
		}
	}
}
