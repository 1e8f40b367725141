package transfer_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/transfer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// records keeps what became of each job.
type records struct{ jobs []sim.JobRecord }

func (r *records) Job(j *sim.JobRecord) { r.jobs = append(r.jobs, *j) }
func (r *records) Sample(*sim.Sample)   {}

func play(t testing.TB, c *cluster.Cluster, m sim.Model, scheduler string, w sim.Worker, jobs ...*workload.Job) (*records, sim.Summary) {
	t.Helper()
	r := &records{}
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: c, Source: workload.Slice(jobs).Source(), Seed: 1, Sink: r, NoAlone: true, Model: m, Worker: w,
		NewPolicy: func() (policy.Policy, error) { return all.Policies.New(policy.Spec{Name: scheduler}) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, sum
}

func on(t testing.TB, shorthand, network string) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Parse(shorthand)
	if err == nil && network != "" {
		c.Network, err = cluster.ParseNetwork(network)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// mapReduce is a job whose maps work for 10 s each and reduces for 5 s each.
func mapReduce(maps, reduces int64, input, shuffle unit.Bytes) *workload.Job {
	return &workload.Job{ID: "a", Stages: []workload.Stage{
		{Kind: workload.Map, Tasks: maps, Ask: cluster.Unit, Input: input, Length: workload.Fixed(10 * unit.Second)},
		{
			Kind: workload.Reduce, Tasks: reduces, Ask: cluster.Unit, Length: workload.Fixed(5 * unit.Second),
			After: []workload.Edge{{Shuffle: shuffle, SlowStart: 1}},
		},
	}}
}

// What one job takes on small networks, worked out by hand. 8 Mbit/s are 10^6 bytes a second.
func TestOneJob(t *testing.T) {
	for _, x := range []struct {
		name, cluster, network string
		job                    *workload.Job
		opt                    transfer.Options
		replicas               int
		want                   float64
	}{
		// Two maps on two nodes, one reduce on the first: 2 of 4 MB come over the network, 1 MB/s.
		{"half comes from the other node", "2x1/1", "star:8Mbit", mapReduce(2, 1, 0, 4e6), transfer.Options{}, 0, 10 + 2 + 5},
		// Each of two reduces gets 1 MB of its 2 MB from the other: at once, each on its own links.
		{"both ways at once", "2x1/1", "star:8Mbit", mapReduce(2, 2, 0, 4e6), transfer.Options{}, 0, 10 + 1 + 5},
		// Nine of ten maps lie elsewhere: the reader's own link is the limit, whatever the number of connections.
		{"into one link", "10x1/1", "star:8Mbit", mapReduce(10, 1, 0, 10e6), transfer.Options{}, 0, 10 + 9 + 5},
		{"into one link, one connection", "10x1/1", "star:8Mbit", mapReduce(10, 1, 0, 10e6), transfer.Options{Copiers: 1}, 0, 10 + 9 + 5},
		// As one rack: what lies on the reader's own node is not told apart.
		{"from the rack as a whole", "10x1/1", "star:8Mbit", mapReduce(10, 1, 0, 10e6), transfer.Options{Pairs: 1}, 0, 10 + 10 + 5},
		// Two racks of five with an uplink as slow as a node's: ten reduces, half of 10 MB crosses, each way through one link.
		{"through an uplink", "10x1/2", "racks:node=80Mbit,uplink=8Mbit", mapReduce(10, 10, 0, 20e6), transfer.Options{Tolerance: -1}, 0, 10 + 5 + 5},
		{"nothing to shuffle", "2x1/1", "star:8Mbit", mapReduce(2, 1, 0, 0), transfer.Options{}, 0, 10 + 5},
		// One node has one container and every block a replica on the other: a block of 3 MB is read first, at least by one.
		{"blocks are read first", "2x2/1", "star:8Mbit", mapReduce(4, 0, 12e6, 0), transfer.Options{}, 2, 10},
	} {
		r, _ := play(t, on(t, x.cluster, x.network), sim.Model{Replicas: x.replicas}, "fifo", transfer.New(x.opt), x.job)
		if got := r.jobs[0].Finish.Seconds(); math.Abs(got-x.want) > 1e-3 {
			t.Errorf("%s: %v s, want %v", x.name, got, x.want)
		}
	}
}

func TestRemoteBlocks(t *testing.T) {
	c := on(t, "2x1/2", "racks:node=16Mbit,uplink=8Mbit")
	j := mapReduce(2, 0, 4e6, 0)
	j.Stages[0].Hosts = &workload.Hosts{Names: []string{"node1"}, Of: [][]int32{{0}, {0}}}
	r, sum := play(t, c, sim.Model{}, "fifo", transfer.New(transfer.Options{}), j)
	if got := r.jobs[0].Finish.Seconds(); math.Abs(got-12) > 1e-4 || sum.Traffic.Read != 2e6 || sum.Traffic.CrossRack < 1.99e6 {
		t.Errorf("a block of 2 MB over an uplink of 1 MB/s: done after %v s; %+v", got, sum.Traffic)
	}
}

func TestNeedsANetwork(t *testing.T) {
	_, err := sim.Run(context.Background(), sim.Config{
		Cluster: on(t, "2x1/1", ""), Source: workload.Slice{}.Source(), Sink: &records{}, Worker: transfer.New(transfer.Options{}),
		NewPolicy: func() (policy.Policy, error) { return all.Policies.New(policy.Spec{Name: "fifo"}) },
	})
	if err == nil {
		t.Fatal("a network was made up")
	}
}

// Whatever the network, the sizes, the slots and what is lost: all work is done, once, and again in the same way; and with links too
// fast to matter every job takes as long as without a network.
func TestPropertyAllIsDone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		racks := rapid.IntRange(1, 3).Draw(t, "racks")
		c := cluster.Uniform(rapid.IntRange(racks, 8).Draw(t, "nodes"), racks, cluster.Unit.Times(rapid.Int64Range(1, 3).Draw(t, "room")))
		if c.Slots = rapid.Bool().Draw(t, "slots"); c.Slots {
			for i := range c.Nodes {
				c.Nodes[i].MapSlots, c.Nodes[i].ReduceSlots = rapid.Int64Range(1, 2).Draw(t, "m"), rapid.Int64Range(1, 2).Draw(t, "r")
			}
		}
		rate := rapid.SampledFrom([]string{"1Mbit", "100Mbit", "1000000Gbit"}).Draw(t, "rate")
		network := rapid.SampledFrom([]string{"star:" + rate, "racks:node=" + rate + ",uplink=" + rate}).Draw(t, "network")
		var err error
		if c.Network, err = cluster.ParseNetwork(network); err != nil {
			t.Fatal(err)
		}
		opt := transfer.Options{
			Pairs: rapid.Int64Range(-1, 4).Draw(t, "pairs"), Copiers: rapid.IntRange(0, 3).Draw(t, "copiers"),
			Steps: rapid.Int64Range(0, 4).Draw(t, "steps"), Tolerance: rapid.SampledFrom([]float64{-1, 0, 0.1}).Draw(t, "tolerance"),
		}
		m := sim.Model{Replicas: rapid.IntRange(0, 3).Draw(t, "replicas"), StartUp: unit.Time(rapid.Int64Range(0, 2).Draw(t, "start")) * unit.Second}
		if rapid.IntRange(0, 2).Draw(t, "losses") == 0 {
			m.Losses = []sim.Loss{{Node: "node1", At: unit.Time(rapid.Int64Range(0, 60).Draw(t, "at")) * unit.Second, For: 30 * unit.Second}}
		}
		if rapid.Bool().Draw(t, "beats") {
			m.Heartbeat, m.EndOnBeat = unit.Second, rapid.Bool().Draw(t, "endonbeat")
		}
		var jobs []*workload.Job
		var tasks int64
		for i := range rapid.IntRange(1, 6).Draw(t, "jobs") {
			j := &workload.Job{ID: fmt.Sprint(i), Submit: unit.Time(i) * unit.Second}
			for s := range rapid.IntRange(1, 3).Draw(t, "stages") {
				st := workload.Stage{
					Tasks: rapid.Int64Range(0, 12).Draw(t, "tasks"), Ask: cluster.Unit, Length: workload.Fixed(unit.Time(rapid.Int64Range(0, 9).Draw(t, "length")) * unit.Second),
					Input: unit.Bytes(rapid.Int64Range(0, 50e6).Draw(t, "input")), Kind: workload.Kind(min(s, 1)),
				}
				for up := range s {
					st.After = append(st.After, workload.Edge{
						From: up, Shuffle: unit.Bytes(rapid.Int64Range(0, 50e6).Draw(t, "shuffle")), SlowStart: rapid.SampledFrom([]float64{0, 0.05, 1}).Draw(t, "slow"),
					})
				}
				tasks += st.Tasks
				j.Stages = append(j.Stages, st)
			}
			jobs = append(jobs, j)
		}
		run := func(w sim.Worker) (*records, sim.Summary) {
			r := &records{}
			sum, err := sim.Run(context.Background(), sim.Config{
				Cluster: c, Source: workload.Slice(jobs).Source(), Seed: 3, Sink: r, NoAlone: true, Model: m, Worker: w,
				NewPolicy: func() (policy.Policy, error) { return all.Policies.New(policy.Spec{Name: "fifo"}) },
			})
			if err != nil {
				t.Fatal(err)
			}
			return r, sum
		}
		first, sum := run(transfer.New(opt))
		if sum.Finished != int64(len(jobs)) || sum.Tasks != tasks {
			t.Fatalf("%d of %d jobs, %d of %d tasks: %+v", sum.Finished, len(jobs), sum.Tasks, tasks, first.jobs)
		}
		second, again := run(transfer.New(opt))
		if sum.Events != again.Events || sum.Busy != again.Busy || fmt.Sprint(second.jobs[0].Finish) != fmt.Sprint(first.jobs[0].Finish) {
			t.Fatalf("twice the same: %+v\n%+v", sum, again)
		}
		if rate == "1000000Gbit" && len(m.Losses) == 0 && m.Heartbeat == 0 {
			_, without := run(nil)
			if d := (sum.LastFinish - without.LastFinish).Seconds(); math.Abs(d) > 0.01 && sum.Decisions == without.Decisions && len(jobs) == 1 {
				t.Fatalf("a network without limits makes %v s of difference", d)
			}
		}
	})
}
