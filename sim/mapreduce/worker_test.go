package mapreduce

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/node"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

const mib = 1 << 20

// round has numbers that make sums easy: a second for a MiB read, two for a MiB written, a million cycles a second.
func round() Model {
	return Model{
		Name: "round", Version: 1,
		Machine:   node.MachineSpec{Hertz: 1e6, Cores: 2, Disk: node.DiskSpec{Read: mib, Write: mib / 2}},
		JVMCycles: 2e6, MapCycles: 2e6 / mib, SortCycles: 1e6 / mib, ReduceCycles: 3e6 / mib, MergeCycles: 3e6, ReduceSortCycles: 5e6,
		Buffer: 2 * mib, MemorySpace: 2 * mib, MemorySegments: 100, Block: 8 * mib, Replication: 1,
	}
}

// book keeps the life of every container and the end of every job.
type book struct {
	tasks []sim.TaskRecord
	jobs  map[string]sim.JobRecord
}

func (b *book) Job(r *sim.JobRecord)   { b.jobs[r.Job.ID] = *r }
func (b *book) Sample(*sim.Sample)     {}
func (b *book) Task(r *sim.TaskRecord) { b.tasks = append(b.tasks, *r) }

// task is the last attempt of a task, in seconds.
func (b *book) task(id string, stage int, number int64) (start, end float64) {
	start, end = -1, -1
	for _, r := range b.tasks {
		if r.Job.ID == id && r.Stage == stage && r.Number == number {
			start, end = r.Start.Seconds(), r.End.Seconds()
		}
	}
	return start, end
}

func (b *book) text() string {
	s := ""
	for _, r := range b.tasks {
		s += fmt.Sprintln(r.Job.ID, r.Stage, r.Number, r.Attempt, r.Node, r.Near, r.Start, r.End, r.Why, int64(r.End))
	}
	return s
}

type bench struct {
	cluster *cluster.Cluster
	model   Model
	engine  sim.Model
	seed    uint64
	jobs    []*workload.Job
	wrap    func(*Worker) sim.Worker
}

type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func (x *bench) run(t tester) (*book, sim.Summary, *Worker) {
	t.Helper()
	w, err := New(x.model)
	if err != nil {
		t.Fatal(err)
	}
	b := &book{jobs: map[string]sim.JobRecord{}}
	var played sim.Worker = w
	if x.wrap != nil {
		played = x.wrap(w)
	}
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: x.cluster, Source: workload.Slice(x.jobs).Source(), Model: x.engine, Seed: x.seed, Sink: b, NoAlone: true, Worker: played,
		NewPolicy: func() (policy.Policy, error) { return policy.Policy{Order: fifo.New()}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	idle(t, w)
	return b, sum, w
}

// idle checks that a worker holds nothing after a run.
func idle(t tester, w *Worker) {
	t.Helper()
	for i := range w.devices {
		if n := w.devices[i].Len(); n > 0 {
			t.Fatalf("device %d has %d tasks at the end", i, n)
		}
	}
	for i := range w.machines {
		if m := w.machines[i].Memory.Taken(); m > 1e-3 {
			t.Fatalf("node %d has promised %v bytes at the end", i, m)
		}
	}
	goOn := slices.DeleteFunc(slices.Clone(w.acts), func(a activity) bool { return a.task < 0 })
	if len(goOn) > 0 || len(w.jobs) > 0 {
		t.Fatalf("%d of %d activities and %d jobs at the end", len(goOn), len(w.acts), len(w.jobs))
	}
	if w.net != nil && w.net.flows.Flows() > 0 {
		t.Fatalf("%d flows at the end", w.net.flows.Flows())
	}
	for i := range w.tasks {
		if w.tasks[i].job != nil {
			t.Fatalf("task %d is open at the end", i)
		}
	}
	books(t, w)
}

// books checks what a worker says of its processors against what they did.
func books(t tester, w *Worker) {
	t.Helper()
	r, busy := w.Read(0), 0.0
	for i := range w.boxes {
		busy += w.boxes[i].CPU.Busy() * w.boxes[i].cores
	}
	if all := r.Processors * w.now; math.Abs(r.CPU.Busy+r.CPU.Wait+r.CPU.Idle-all) > 1e-6*(1+all) || math.Abs(r.CPU.Busy-busy) > 0.01+1e-3*busy { // steps begin at whole microseconds
		t.Fatalf("after %v s %+v: the cores worked %v s", w.now, r, busy)
	}
	if r.CPU.Wait < -1e-9 || r.CPU.Idle < -1e-9*(1+w.now) || r.Disk < -1 || r.Peak < r.Disk {
		t.Fatalf("%+v", r)
	}
}

// mr is a job of maps and reduces. Sizes are MiB.
func mr(id string, maps, reduces int64, input, shuffle, output float64) *workload.Job {
	ask := cluster.Unit
	bytes := func(m float64) unit.Bytes { return unit.Bytes(math.Round(m * mib)) }
	j := &workload.Job{ID: id, Stages: []workload.Stage{{Kind: workload.Map, Tasks: maps, Ask: ask, Input: bytes(input)}}}
	if reduces > 0 {
		j.Stages = append(j.Stages, workload.Stage{Kind: workload.Reduce, Tasks: reduces, Ask: ask, Output: bytes(output),
			After: []workload.Edge{{From: 0, Shuffle: bytes(shuffle), SlowStart: 0}}})
	} else {
		j.Stages[0].Output = bytes(output)
	}
	return j
}

func slots(t tester, s string) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// starred is a cluster on one switch of so many MiB a second.
func starred(t tester, s string, rate float64, latency unit.Time) *cluster.Cluster {
	c := slots(t, s)
	c.Network = &cluster.Network{Topology: cluster.Star, Node: rate * mib, Latency: latency}
	return c
}

func (b *book) want(t *testing.T, id string, stage int, number int64, start, end float64) {
	t.Helper()
	s, e := b.task(id, stage, number)
	if math.Abs(s-start) > 1e-4 || math.Abs(e-end) > 1e-4 {
		t.Errorf("%s stage %d task %d: %.6f to %.6f s, want %v to %v", id, stage, number, s, e, start, end)
	}
}

// TestOneMapOneReduce has every phase of a job alone on one node:
//
//	map:    start 2; two pieces of 4 MiB: read 4, map 8, sort 2, spill 4; merge: read 4, write 8              = 50
//	reduce: start 2, waits until 50; fetch 4, full: merge 3, spill 8; sort 5, read 4, reduce 12, write 6 MiB 12 = 98
func TestOneMapOneReduce(t *testing.T) {
	for _, f := range []Fetch{ByHost, ByMap} {
		x := bench{cluster: slots(t, "1x1+1"), model: round(), jobs: []*workload.Job{mr("a", 1, 1, 8, 4, 6)}}
		x.model.Fetch = f
		b, _, w := x.run(t)
		b.want(t, "a", 0, 0, 0, 50)
		b.want(t, "a", 1, 0, 0, 98)
		if s := w.Stats(); s.ReadLocal != 8*mib || s.Spilled != 8*mib || s.Merged != 4*mib || s.FetchedLocal != 4*mib || s.Written != 6*mib || s.Outputs != 1 {
			t.Errorf("%+v", s)
		}
	}
}

func TestSettingsOfAPhase(t *testing.T) {
	two := []*workload.Job{mr("a", 1, 1, 8, 4, 6)}
	for name, c := range map[string]struct {
		change    func(*Model)
		maps, end float64
	}{
		"a larger buffer: one spill, no merge":                       {func(m *Model) { m.Buffer = 4 * mib }, 38, 86},
		"a larger memory: the merge comes last":                      {func(m *Model) { m.MemorySpace = 5 * mib }, 50, 98},
		"seeks: read, spill twice, merge; fetch, spill, read, write": {func(m *Model) { m.Machine.Disk.ReadSeek, m.Machine.Disk.WriteSeek = 0.1, 0.2 }, 50 + 2*0.3 + 0.3, 98 + 0.9 + 0.1 + 0.2 + 0.1 + 0.2},
		"no fixed costs":     {func(m *Model) { m.JVMCycles, m.MergeCycles, m.ReduceSortCycles = 0, 0, 0 }, 48, 88},
		"little memory":      {func(m *Model) { m.Machine.Memory = 3 * mib }, 50, 98}, // the reduce finds half its memory; the map came first
		"two runs at a time": {func(m *Model) { m.Buffer, m.IOFactor = mib, 2 }, 62, 110},
		"all runs at once":   {func(m *Model) { m.Buffer = mib }, 50, 98},
	} {
		x := bench{cluster: slots(t, "1x1+1"), model: round(), jobs: two}
		c.change(&x.model)
		b, _, _ := x.run(t)
		t.Run(name, func(t *testing.T) {
			b.want(t, "a", 0, 0, 0, c.maps)
			b.want(t, "a", 1, 0, 0, c.end)
		})
	}
}

// TestRemoteRead: a block on the other node is read piece by piece, each over the disk there and then the network.
func TestRemoteRead(t *testing.T) {
	j := mr("a", 1, 1, 8, 4, 6)
	j.Stages[0].Hosts = &workload.Hosts{Names: []string{"node2"}, Of: [][]int32{{0}}}
	for _, latency := range []unit.Time{0, 100 * unit.Millisecond} {
		c := starred(t, "2x1+1", 1, latency)
		c.Nodes[1].MapSlots = 0 // the map runs on node1; so does the reduce, or not
		c.Nodes[0].ReduceSlots = 0
		x := bench{cluster: c, model: round(), jobs: []*workload.Job{j}}
		b, sum, w := x.run(t)
		trip := 4 * latency.Seconds() // two links there and two back
		maps := 50 + 8 + 2*trip
		b.want(t, "a", 0, 0, 0, maps)
		b.want(t, "a", 1, 0, 0, maps+48+4+trip)
		if s := w.Stats(); s.ReadRemote != 8*mib || s.FetchedRemote != 4*mib {
			t.Errorf("%+v", s)
		}
		if tr := sum.Traffic; tr == nil || tr.Read != 8*mib || tr.Shuffled != 4*mib || tr.Flows != 3 {
			t.Errorf("%+v", tr)
		}
	}
}

// TestSameReduceNode: two reduces that write for 100 s on one disk.
func TestSameReduceNode(t *testing.T) {
	m := round()
	m.JVMCycles, m.ReduceSortCycles = 0, 0
	for _, c := range []struct{ submit, first, second float64 }{{0, 200, 200}, {80, 120, 200}} {
		a, b := mr("a", 1, 1, 0, 0, 50), mr("b", 1, 1, 0, 0, 50)
		b.Submit = unit.FromSeconds(c.submit)
		x := bench{cluster: slots(t, "1x2+2"), model: m, jobs: []*workload.Job{a, b}}
		got, _, _ := x.run(t)
		got.want(t, "a", 1, 0, 0, c.first)
		got.want(t, "b", 1, 0, c.submit, c.second)
	}
}

// TestPipeline: the slowest of disk, link and the other disks decides.
func TestPipeline(t *testing.T) {
	m := round()
	m.Replication = 3
	for _, c := range []struct{ rate, want float64 }{{10, 2 + 8}, {0.25, 2 + 16}} {
		x := bench{cluster: starred(t, "4x1+1/2", c.rate, 0), model: m, jobs: []*workload.Job{mr("a", 1, 0, 0, 0, 4)}}
		b, _, w := x.run(t)
		b.want(t, "a", 0, 0, 0, c.want)
		written := 0.0
		for i := range w.stores {
			written += w.stores[i].Worked() / 2
		}
		if math.Abs(written-12*mib) > 1 {
			t.Errorf("%v bytes written", written)
		}
	}
	w := &Worker{rack: []int32{0, 0, 0, 1, 1, 1}, machines: make([]machine, 6)}
	for key := range uint64(200) {
		p := w.pipeline(nil, 1, 4, key*0x9e3779b97f4a7c15)
		if len(p) != 4 || p[0] != 1 || w.rack[p[1]] != 1 || w.rack[p[2]] != 1 || p[1] == p[2] || p[3] == p[1] || p[3] == p[2] || p[3] == 1 {
			t.Fatal(p)
		}
	}
}

// TestDegenerateJobs: nothing to read, pass or write; more reduces than bytes; stages without tasks.
func TestDegenerateJobs(t *testing.T) {
	tiny := mr("tiny", 3, 7, 1, 1, 1)
	tiny.Stages[1].After[0].Shuffle = 3
	none := mr("none", 0, 2, 0, 0, 1)
	generator := mr("generator", 2, 1, 0, 8, 0)
	chain := mr("chain", 2, 2, 4, 4, 0)
	chain.Stages = append(chain.Stages, workload.Stage{Kind: workload.Reduce, Tasks: 3, Ask: cluster.Unit, Input: mib, Output: mib,
		After: []workload.Edge{{From: 1, Shuffle: 2 * mib, SlowStart: 1}, {From: 0, Shuffle: mib, SlowStart: 1}}})
	jobs := []*workload.Job{
		mr("zero", 2, 2, 0, 0, 0), mr("map-only", 3, 0, 6, 0, 3), mr("no-shuffle", 2, 1, 4, 0, 0), mr("empty-map-only", 1, 0, 0, 0, 0),
		mr("no-reduce-tasks", 2, 0, 4, 0, 0), tiny, none, generator, chain,
	}
	for _, f := range []Fetch{ByHost, ByMap} {
		for _, c := range []*cluster.Cluster{slots(t, "3x2+2"), starred(t, "3x2+2", 1, 0), slots(t, "3x4")} {
			x := bench{cluster: c, model: round(), jobs: jobs}
			x.model.Fetch = f
			b, sum, _ := x.run(t)
			if sum.Finished != int64(len(jobs)) || sum.Stuck > 0 {
				t.Errorf("%v on %v: %+v", f, c, sum)
			}
			if _, end := b.task("empty-map-only", 0, 0); end < 0 {
				t.Error("a task is missing")
			}
		}
	}
}
