package yarn

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	fifopolicy "github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/policy/rm/adapt"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/hdfs"
	"github.com/yardmaster/yardmaster/sim/transfer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

func linked(t rapid.TB, c *cluster.Cluster, network string) *cluster.Cluster {
	t.Helper()
	n, err := cluster.ParseNetwork(network)
	if err != nil {
		t.Fatal(err)
	}
	c.Network = n
	return c
}

// withData gives jobs input and shuffles.
func withData(t *rapid.T, jobs []*workload.Job) {
	for _, j := range jobs {
		for k := range j.Stages {
			s := &j.Stages[k]
			s.Length.A += s.Length.A / 7 // off the grid of heartbeats
			if s.Length.A < unit.Second {
				s.Length.A = 1234567
			}
			s.Input = unit.Bytes(rapid.Int64Range(0, 20e6).Draw(t, "input"))
			for e := range s.After {
				s.After[e].Shuffle = unit.Bytes(rapid.Int64Range(0, 20e6).Draw(t, "shuffle"))
			}
		}
	}
}

// A map that reads 3 MB over a link of 1 MB/s takes 3 s longer, whatever its AM: its container begins to read when it has started.
func TestRemoteRead(t *testing.T) {
	plain := Hadoop()
	plain.AMs = PlainAMs
	for name, timing := range map[string]Timing{"hadoop": Hadoop(), "plain": plain, "sls": SLS(), "unmanaged": Hadoop()} {
		c := linked(t, cluster.Uniform(2, 1, gb.Times(4)), "star:8Mbit")
		c.Nodes[1].Room = unit.Resources{Mem: 512, Cores: 1} // too small for a task
		j := mr("j", 0, 1, 10*s, 0, 0, "node2")
		if j.Stages[0].Input = 3e6; name == "unmanaged" {
			j.AM = unit.Resources{}
		}
		sched, err := adapt.New(policy.Policy{Order: fifopolicy.New()})
		if err != nil {
			t.Fatal(err)
		}
		out, sum := play(t, Config{Cluster: c, Timing: timing, Worker: transfer.New(transfer.Options{})}, sched, j)
		for _, r := range out.conts {
			if r.Stage == 0 && r.Ended-r.Started != 13*s {
				t.Errorf("%s: the map takes %v", name, r.Ended-r.Started)
			}
		}
		if sum.Finished != 1 || sum.Traffic == nil || sum.Traffic.Read != 3e6 {
			t.Errorf("%s: %+v, %+v", name, sum, sum.Traffic)
		}
	}
}

// Bytes over the network are those that tasks read from other nodes and get from maps on other nodes. Input that the workload does not locate
// is where a placement puts it; maps find it.
func TestBytesOverTheNetwork(t *testing.T) {
	var local, remote int64
	rapid.Check(t, func(t *rapid.T) {
		c := linked(t, cluster.Uniform(rapid.IntRange(2, 5).Draw(t, "nodes"), 2, gb.Times(10)), "racks:node=80Mbit,uplink=8Mbit")
		jobs := drawJobs(t, len(c.Nodes), rapid.Bool().Draw(t, "AMs"))
		withData(t, jobs)
		timing := rapid.SampledFrom([]Timing{SLS(), Hadoop()}).Draw(t, "timing")
		replicas := rapid.IntRange(0, 2).Draw(t, "replicas")
		out, sum := play(t, Config{Cluster: c, Timing: timing, Seed: 5, Replicas: replicas, Worker: transfer.New(transfer.Options{Pairs: -1})}, newFIFO(), jobs...)
		if sum.Finished != int64(len(jobs)) {
			t.Fatalf("%d of %d jobs finished, %d are stuck", sum.Finished, len(jobs), sum.Stuck)
		}
		if sum.Lost > 0 {
			return // what killed reduces have fetched counts too
		}
		files, err := hdfs.NewFiles(c, nil, replicas, "", 5)
		if err != nil {
			t.Fatal(err)
		}
		var read, shuffled, links float64
		for i := range out.conts {
			x := &out.conts[i]
			if x.Stage < 0 {
				continue
			}
			if x.Near == policy.NodeLocal {
				local++
			} else {
				remote++
			}
			st := &x.Job.Stages[x.Stage]
			var on []int32
			if files.Places(st) {
				on = files.Place(files.File(st, x.Seq, x.Stage), x.Task, nil)
			} else if st.Hosts != nil {
				for _, h := range st.Hosts.Of[x.Task] {
					if int(h) < min(3, len(c.Nodes)) { // the last one is not in the cluster
						on = append(on, h)
					}
				}
			}
			if len(on) > 0 && !slices.Contains(on, x.Node) {
				read += float64(st.Input) / float64(st.Tasks)
			}
			for _, e := range st.After {
				for k := range out.conts {
					if y := &out.conts[k]; y.Seq == x.Seq && y.Stage == e.From && y.Node != x.Node {
						shuffled += float64(e.Shuffle) / float64(x.Job.Stages[e.From].Tasks) / float64(st.Tasks)
					}
				}
			}
		}
		for _, l := range sum.Traffic.Links {
			links += l.Bytes
		}
		got := sum.Traffic
		if want := 2*(got.Read+got.Shuffled) + 2*got.CrossRack; math.Abs(got.Read-read) > 1 || math.Abs(got.Shuffled-shuffled) > 1 || math.Abs(links-want) > 100+want*1e-6 {
			t.Fatalf("read %v, want %v; shuffled %v, want %v; links carried %v, want %v", got.Read, read, got.Shuffled, shuffled, links, want)
		}
	})
	t.Logf("%d tasks with local input, %d others", local, remote)
	if local == 0 {
		t.Error("no map found its input")
	}
}

// Over a network without limits every job ends when it does without a network, within a millisecond; exactly if there is nothing to send.
func TestNetworkWithoutLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := linked(t, cluster.Uniform(rapid.IntRange(2, 5).Draw(t, "nodes"), 2, gb.Times(10)), "racks:node=1000000Gbit,uplink=1000000Gbit")
		jobs := drawJobs(t, len(c.Nodes), rapid.Bool().Draw(t, "AMs"))
		limit := unit.Time(0)
		if withData(t, jobs); rapid.Bool().Draw(t, "data") {
			limit = unit.Millisecond
		} else {
			for _, j := range jobs {
				for k := range j.Stages {
					j.Stages[k].Input = 0
					for e := range j.Stages[k].After {
						j.Stages[k].After[e].Shuffle = 0
					}
				}
			}
		}
		for _, j := range jobs { // a plain AM matches tasks and containers only if they read over a network
			j.Stages[0].Hosts = nil
		}
		timing := rapid.SampledFrom([]Timing{SLS(), Hadoop()}).Draw(t, "timing")
		var ends [2][]sim.JobRecord
		for i, w := range []sim.Worker{nil, transfer.New(transfer.Options{})} {
			out, _ := play(t, Config{Cluster: c, Timing: timing, Seed: 5, Worker: w}, newFIFO(), jobs...)
			ends[i] = out.jobs
		}
		for i, a := range ends[0] {
			if b := ends[1][i]; a.Seq != b.Seq || b.Finish < a.Finish || b.Finish > a.Finish+limit || a.Outcome != b.Outcome {
				t.Fatalf("job %d ends at %v without a network and at %v over one without limits", a.Seq, a.Finish, b.Finish)
			}
		}
	})
}

// A job whose AM is killed begins anew, and so do its transfers.
func TestAMKilledOverANetwork(t *testing.T) {
	f := newFIFO()
	f.every = 25 * s
	f.round = func(now unit.Time) (n rm.Notice) {
		for _, x := range f.apps {
			for _, c := range x.held {
				if c.AM && now <= 50*s {
					n.Killed = append(n.Killed, c)
				}
			}
		}
		return n
	}
	j := mr("j", 0, 4, 10*s, 2, 5*s)
	j.Stages[0].Input, j.Stages[1].After[0].Shuffle = 40e6, 40e6
	c := linked(t, cluster.Uniform(3, 1, gb.Times(3)), "star:8Mbit")
	out, sum := play(t, Config{Cluster: c, Timing: Hadoop(), Replicas: 1, Worker: transfer.New(transfer.Options{Pairs: -1})}, f, j)
	if sum.Finished != 1 || sum.Tasks != 6 || out.jobs[0].Lost < 1 {
		t.Errorf("%+v", sum)
	}
}
