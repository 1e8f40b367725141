package mapreduce

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/sim/node"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// drawn is any mix of slow-starts, slots, copiers, caps and sizes.
func drawn(t *rapid.T) *bench {
	nodes := rapid.IntRange(1, 5).Draw(t, "nodes")
	racks := rapid.IntRange(1, min(2, nodes)).Draw(t, "racks")
	text := fmt.Sprintf("%dx%d/%d", nodes, rapid.IntRange(1, 4).Draw(t, "containers"), racks)
	if rapid.Bool().Draw(t, "slots") {
		text = fmt.Sprintf("%dx%d+%d/%d", nodes, rapid.IntRange(1, 3).Draw(t, "map slots"), rapid.IntRange(1, 3).Draw(t, "reduce slots"), racks)
	}
	x := &bench{cluster: slots(t, text), model: round(), seed: rapid.Uint64().Draw(t, "seed")}
	switch rapid.IntRange(0, 3).Draw(t, "network") {
	case 1:
		x.cluster.Network = &cluster.Network{Topology: cluster.Star, Node: 0.5 * mib}
	case 2:
		x.cluster.Network = &cluster.Network{Topology: cluster.Star, Node: mib, Latency: unit.Millisecond}
	case 3:
		x.cluster.Network = &cluster.Network{Topology: cluster.Racks, Node: mib, Uplink: mib}
	}
	m := &x.model
	m.Fetch = rapid.SampledFrom([]Fetch{ByHost, ByMap}).Draw(t, "fetch")
	m.Copiers = rapid.SampledFrom([]int64{0, 1, 2, 5}).Draw(t, "copiers")
	m.Buffer = rapid.SampledFrom([]unit.Bytes{MinBuffer, mib, 50 * mib}).Draw(t, "buffer")
	m.MemorySpace = rapid.SampledFrom([]unit.Bytes{MinBuffer, mib, 50 * mib}).Draw(t, "space")
	m.MemorySegments = rapid.SampledFrom([]int64{1, 2, 100}).Draw(t, "segments")
	m.IOFactor = rapid.SampledFrom([]int64{0, 2, 10}).Draw(t, "io factor")
	m.Replication = rapid.SampledFrom([]int64{1, 2, 3}).Draw(t, "replication")
	m.Noise, m.ReduceNoise = rapid.SampledFrom([]float64{0, 0.1}).Draw(t, "noise"), 0.04
	m.Machine.Disks = rapid.IntRange(1, 3).Draw(t, "disks")
	m.Machine.Memory = rapid.SampledFrom([]float64{0, mib, 3 * mib}).Draw(t, "memory")
	if rapid.Bool().Draw(t, "falling") {
		m.Machine.Disk.Efficiency = node.Falling(0.2)
	}
	m.PerMachine = rapid.IntRange(0, 3).Draw(t, "nodes per machine")
	m.ReducePiece = rapid.SampledFrom([]unit.Bytes{0, MinBuffer, mib}).Draw(t, "reduce piece")
	m.Cached = rapid.SampledFrom([]Cached{{}, {0.5, 0}, {0.9, 0.3}, {1, 1}}).Draw(t, "cached")
	m.RunNoise = rapid.SampledFrom([]float64{0, 0.1}).Draw(t, "run noise")
	if rapid.Bool().Draw(t, "no fixed costs") {
		m.JVMCycles, m.MergeCycles, m.ReduceSortCycles = 0, 0, 0
	}
	x.engine = sim.Model{
		Heartbeat: rapid.SampledFrom([]unit.Time{0, 300 * unit.Millisecond, 3 * unit.Second}).Draw(t, "heartbeat"),
		StartUp:   rapid.SampledFrom([]unit.Time{0, unit.Second}).Draw(t, "start-up"),
		Replicas:  rapid.IntRange(0, 3).Draw(t, "replicas"),
	}
	if rapid.Bool().Draw(t, "stragglers") {
		x.engine.Stragglers = sim.Stragglers{Share: 0.3, Factor: 5}
		x.engine.Speculate = rapid.SampledFrom([]string{"", sim.SpeculateHadoop, sim.SpeculateLATE}).Draw(t, "speculate")
	}
	x.engine.EndOnBeat = x.engine.Heartbeat > 0 && rapid.Bool().Draw(t, "end on beat")
	size := rapid.SampledFrom([]float64{0, 1e-5, 0.3, 4, 20})
	at := unit.Time(0)
	for i := range rapid.IntRange(1, 6).Draw(t, "jobs") {
		j := mr(fmt.Sprint(i), rapid.Int64Range(0, 6).Draw(t, "maps"), rapid.Int64Range(0, 4).Draw(t, "reduces"),
			size.Draw(t, "input"), size.Draw(t, "shuffle"), size.Draw(t, "output"))
		at += rapid.SampledFrom([]unit.Time{0, unit.Second, 20 * unit.Second}).Draw(t, "gap")
		j.Submit = at
		start := rapid.SampledFrom([]float64{0, 0.05, 0.5, 1})
		if len(j.Stages) > 1 {
			j.Stages[1].After[0].SlowStart = start.Draw(t, "slow-start")
			if rapid.IntRange(0, 3).Draw(t, "third") == 0 {
				j.Stages = append(j.Stages, workload.Stage{Kind: workload.Reduce, Tasks: rapid.Int64Range(0, 3).Draw(t, "more"), Ask: cluster.Unit,
					Input: unit.Bytes(size.Draw(t, "side input") * mib), Output: mib, After: []workload.Edge{
						{From: 1, Shuffle: unit.Bytes(size.Draw(t, "second shuffle") * mib), SlowStart: start.Draw(t, "slow-start")},
						{From: 0, Shuffle: unit.Bytes(size.Draw(t, "side shuffle") * mib), SlowStart: start.Draw(t, "slow-start")}}})
			}
		}
		x.jobs = append(x.jobs, j)
	}
	return x
}

func (x *bench) lose(t *rapid.T) {
	for range rapid.IntRange(0, 3).Draw(t, "losses") {
		x.engine.Losses = append(x.engine.Losses, sim.Loss{
			At:   unit.Time(rapid.Int64Range(0, int64(2*unit.Minute)).Draw(t, "lost at")),
			For:  unit.Time(rapid.Int64Range(1, int64(unit.Minute)).Draw(t, "lost for")),
			Node: x.cluster.Nodes[rapid.IntRange(0, len(x.cluster.Nodes)-1).Draw(t, "lost node")].Name,
		})
	}
}

// TestEverythingFinishes: whatever the mix, every job ends, every task ran once to its end, and nothing is left behind (run checks).
func TestEverythingFinishes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawn(t)
		x.lose(t)
		b, sum, _ := x.run(t)
		if sum.Stuck > 0 || sum.Finished != int64(len(x.jobs)) {
			t.Fatalf("%+v", sum)
		}
		ended := map[string]int{}
		for _, r := range b.tasks {
			if r.Why == policy.Done {
				ended[fmt.Sprint(r.Job.ID, "/", r.Stage, "/", r.Number)]++
			}
		}
		tasks := int64(0)
		for _, j := range x.jobs {
			for s := range j.Stages {
				for n := range j.Stages[s].Tasks {
					// A task whose node is lost between its end and the word of it counts, though its container was lost.
					if k := ended[fmt.Sprint(j.ID, "/", s, "/", n)]; k > 1 || k == 0 && sum.Lost == 0 {
						t.Fatalf("task %s/%d/%d ended %d times", j.ID, s, n, k)
					}
					tasks++
				}
			}
		}
		if tasks != sum.Tasks {
			t.Fatalf("%d tasks counted of %d", sum.Tasks, tasks)
		}
	})
}

// TestBytesAreConserved: without noise and losses the devices do exactly what the jobs ask for.
func TestBytesAreConserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawn(t)
		x.model.Noise, x.model.ReduceNoise = 0, 0
		x.model.Machine.Disk.Efficiency = nil
		x.engine.Speculate = ""             // copies read again
		x.engine.Application = am.MapsFirst // reduces that are killed for maps fetch again
		_, sum, w := x.run(t)
		s := w.Stats()
		var input, shuffle, output, parts float64
		for _, j := range x.jobs {
			for i := range j.Stages {
				st := &j.Stages[i]
				if st.Tasks == 0 {
					continue
				}
				input += float64(st.Input)
				output += float64(st.Output)
				for _, e := range st.After {
					if from := &j.Stages[e.From]; from.Tasks > 0 && e.Shuffle > 0 {
						shuffle += float64(e.Shuffle)
						parts += float64(st.Tasks * from.Tasks)
					}
				}
			}
		}
		same := func(what string, got, want float64) {
			if math.Abs(got-want) > 1e-6*max(1, want) {
				t.Fatalf("%s: %v, want %v", what, got, want)
			}
		}
		same("input", s.ReadLocal+s.ReadRemote, input)
		same("shuffle", s.FetchedLocal+s.FetchedRemote, shuffle)
		same("output", s.Written, output)
		same("parts", float64(s.Outputs), parts)
		same("on the disks at the end", w.used, output*float64(min(x.model.Replication, int64(len(w.machines)))))
		if x.cluster.Network != nil {
			same("shuffle over the network", sum.Traffic.Shuffled, s.FetchedRemote)
			same("blocks over the network", sum.Traffic.Read, s.ReadRemote)
			carried := 0.0
			for i := range w.machines {
				carried += w.net.flows.Carried(w.net.fabric.Out(int32(i)))
			}
			copies := float64(min(x.model.Replication, int64(len(w.machines))) - 1)
			same("sent by nodes", carried, s.FetchedRemote+s.ReadRemote+copies*s.Written)
		}
	})
}

// TestSameSeedSameRun: two runs give the same records, to the microsecond.
func TestSameSeedSameRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawn(t)
		x.lose(t)
		a, _, _ := x.run(t)
		b, _, _ := x.run(t)
		if a.text() != b.text() {
			t.Fatalf("%s\nand then\n%s", a.text(), b.text())
		}
	})
}

// watcher asks for the progress of every task at every wake.
type watcher struct {
	*Worker
	t    tester
	last map[int32]float64
}

func (v *watcher) Started(st *sim.Task) {
	v.last[st.ID] = 0
	v.Worker.Started(st)
}

func (v *watcher) Wake(what uint64) {
	for id := range v.last {
		p := v.Progress(id)
		if p < v.last[id]-1e-9 || p > 1 || math.IsNaN(p) {
			v.t.Fatalf("task %d is at %v after %v", id, p, v.last[id])
		}
		v.last[id] = p
	}
	v.Worker.Wake(what)
}

func TestProgressGoesOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawn(t)
		x.lose(t)
		x.wrap = func(w *Worker) sim.Worker { return &watcher{Worker: w, t: t, last: map[int32]float64{}} }
		x.run(t)
	})
}
