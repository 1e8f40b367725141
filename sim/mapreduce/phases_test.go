package mapreduce

import (
	"math"
	"runtime"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/node"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// plain has no fixed costs and all of a buffer, so that few phases are left to add up.
func plain() Model {
	m := round()
	m.JVMCycles, m.SortCycles, m.MergeCycles, m.ReduceSortCycles = 0, 0, 0, 0
	m.Buffer, m.MemorySpace = 1<<30, 1<<30
	return m
}

// TestMapsShareADisk: two maps of 4 MiB on one node read and spill at half speed and map on a core each.
func TestMapsShareADisk(t *testing.T) {
	x := bench{cluster: slots(t, "1x2+1"), model: plain(), jobs: []*workload.Job{mr("a", 2, 1, 8, 8, 0)}}
	b, _, _ := x.run(t)
	for n := range int64(2) {
		b.want(t, "a", 0, n, 0, 8+8+16) // read, map, spill
	}
	b.want(t, "a", 1, 0, 0, 32+8+16+8+24) // both outputs in one transfer, spill, read, reduce
	x.model.Machine.Cores = 1
	b, _, _ = x.run(t)
	b.want(t, "a", 0, 0, 0, 8+16+16)
	// A disk that loses a third of its speed by serving two.
	x.model.Machine.Cores, x.model.Machine.Disk.Efficiency = 2, node.Falling(0.5)
	b, _, _ = x.run(t)
	b.want(t, "a", 0, 0, 0, 12+8+24)
}

// TestReduceOverlapsMaps: maps one after the other; each output is fetched while the next map runs, and slows it down.
//
//	first map:  read 4, map 8, spill 8                         0..20
//	second map: read 4 beside the fetch of 4: 8, map 8, spill 8  20..44
//	reduce:     first fetch 20..28, second 44..48, spill 16, read 8, reduce 24
func TestReduceOverlapsMaps(t *testing.T) {
	x := bench{cluster: slots(t, "1x1+1"), model: plain(), jobs: []*workload.Job{mr("a", 2, 1, 8, 8, 0)}}
	for _, f := range []Fetch{ByHost, ByMap} {
		x.model.Fetch = f
		b, _, w := x.run(t)
		b.want(t, "a", 0, 0, 0, 20)
		b.want(t, "a", 0, 1, 20, 44)
		b.want(t, "a", 1, 0, 0, 48+16+8+24)
		if s := w.Stats(); s.Transfers != 2 {
			t.Errorf("%+v", s)
		}
	}
	// With a slow-start of 1 it takes both at once, or one after the other.
	x.jobs[0].Stages[1].After[0].SlowStart = 1
	for f, transfers := range map[Fetch]int64{ByHost: 1, ByMap: 2} {
		x.model.Fetch = f
		b, _, w := x.run(t)
		b.want(t, "a", 1, 0, 40, 40+8+16+8+24)
		if s := w.Stats(); s.Transfers != transfers || s.Outputs != 2 {
			t.Errorf("by %v: %+v", f, s)
		}
	}
}

// TestCopiers: three maps on three nodes end at 20 s; a reduce on a fourth fetches 4 MiB from each, all at once or one by one.
func TestCopiers(t *testing.T) {
	c := starred(t, "4x1+1", 1, 0)
	for i := range c.Nodes {
		c.Nodes[i].MapSlots, c.Nodes[i].ReduceSlots = 1, 0
	}
	c.Nodes[3].MapSlots, c.Nodes[3].ReduceSlots = 0, 1
	for copiers, fetched := range map[int64]float64{
		0: 20 + 4 + 12,          // three disks at once, then three flows into one link
		1: 20 + 3*(4+4),         // one after the other
		2: 20 + 4 + 8 + (4 + 4), // two, then one
	} {
		x := bench{cluster: c, model: plain(), jobs: []*workload.Job{mr("a", 3, 1, 12, 12, 0)}}
		x.model.Copiers = copiers
		for _, f := range []Fetch{ByHost, ByMap} {
			x.model.Fetch = f
			b, _, _ := x.run(t)
			b.want(t, "a", 1, 0, 0, fetched+24+12+36)
		}
	}
}

// TestMemoryQueue: outputs are merged to disk when there are two of them; the last one alone after the last map.
func TestMemoryQueue(t *testing.T) {
	x := bench{cluster: slots(t, "1x1+1"), model: plain(), jobs: []*workload.Job{mr("a", 5, 1, 20, 20, 0)}}
	x.model.MemorySegments = 2
	var runs []int64
	_, _, w := x.run(t)
	for i := range w.tasks {
		runs = append(runs, w.tasks[i].runs)
	}
	// Records stay as their last task left them: the reduce has merged twice in passing and once at the end.
	if m := max(runs[0], runs[1]); m != 3 {
		t.Errorf("runs %v", runs)
	}
	if s := w.Stats(); s.Spilled != 2*20*mib {
		t.Errorf("%+v", s)
	}
}

// TestKindsAndDisks: a node of a kind with its own machine, and two disks that do not disturb each other.
func TestKindsAndDisks(t *testing.T) {
	c := slots(t, "1x1+1")
	c.Nodes[0].Kind = "fast"
	m := plain()
	fast := m.Machine
	fast.Hertz, fast.Disk.Read = 2e6, 2*mib
	m.Kinds = map[string]node.MachineSpec{"fast": fast}
	x := bench{cluster: c, model: m, jobs: []*workload.Job{mr("a", 1, 0, 4, 0, 0)}}
	b, _, _ := x.run(t)
	b.want(t, "a", 0, 0, 0, 2+4)

	m = plain()
	m.Machine.Disks = 2
	x = bench{cluster: slots(t, "1x2+1"), model: m, jobs: []*workload.Job{mr("a", 2, 0, 0, 0, 8)}}
	ends := map[float64]bool{}
	for seed := range uint64(40) {
		x.seed = seed
		b, _, _ := x.run(t)
		_, end := b.task("a", 0, 0)
		ends[math.Round(end)] = true
	}
	if len(ends) != 2 || !ends[8] || !ends[16] {
		t.Errorf("two writers of 4 MiB end after %v: want 8 s on two disks and 16 s on one", ends)
	}
}

// TestNoiseIsOfTheTask: the work of a task does not depend on when and where it runs.
func TestNoiseIsOfTheTask(t *testing.T) {
	m := plain()
	m.Noise = 0.3
	alone := bench{cluster: slots(t, "4x1+1"), model: m, jobs: []*workload.Job{mr("a", 3, 0, 12, 0, 0)}, seed: 3}
	queued := alone
	queued.cluster = slots(t, "1x1+1")
	a, _, _ := alone.run(t)
	b, _, _ := queued.run(t)
	seen := map[float64]bool{}
	for n := range int64(3) {
		s1, e1 := a.task("a", 0, n)
		s2, e2 := b.task("a", 0, n)
		if math.Abs((e1-s1)-(e2-s2)) > 1e-4 {
			t.Errorf("task %d takes %v s, and elsewhere %v", n, e1-s1, e2-s2)
		}
		seen[math.Round((e1-s1)*1e3)] = true
	}
	if len(seen) != 3 {
		t.Errorf("tasks are alike: %v", seen)
	}
	var sum, squares float64
	const n = 20000
	for i := range uint64(n) {
		x := math.Log(noisy(5, 0.3, workload.Seed(9, i)) / 5)
		sum, squares = sum+x, squares+x*x
	}
	if mean, sd := sum/n, math.Sqrt(squares/n); math.Abs(mean) > 0.01 || math.Abs(sd-0.3) > 0.01 {
		t.Errorf("log of the noise: mean %v, deviation %v", mean, sd)
	}
}

// TestStragglers: every step takes so many times as long, and nobody else is held up.
func TestStragglers(t *testing.T) {
	x := bench{cluster: slots(t, "1x1+1"), model: round(), jobs: []*workload.Job{mr("a", 1, 1, 8, 4, 6)},
		engine: sim.Model{Stragglers: sim.Stragglers{Share: 1, Factor: 3}}}
	b, _, w := x.run(t)
	b.want(t, "a", 0, 0, 0, 3*50)
	b.want(t, "a", 1, 0, 0, 3*50+4+3+8+3*(5+4+12+12)) // copy and merge in passing are not its own steps
	if busy := w.stores[0].Busy(); math.Abs(busy-(8+8+12+4+8+4+12)) > 1e-4 {
		t.Errorf("the disk worked for %v s", busy)
	}
	// A copy of the slow map on another node wins; what it left is fetched once.
	x.cluster = slots(t, "4x4+1")
	x.jobs = []*workload.Job{mr("a", 12, 1, 96, 48, 6)}
	x.engine = sim.Model{Stragglers: sim.Stragglers{Share: 0.1, Factor: 30}, Speculate: sim.SpeculateHadoop, Heartbeat: unit.Second}
	for seed := range uint64(20) {
		x.seed = seed
		_, sum, w := x.run(t)
		if s := w.Stats(); s.Outputs != 12 || sum.Finished != 1 {
			t.Errorf("%+v, %+v", s, sum)
		}
	}
}

func TestValidate(t *testing.T) {
	if m := MRPERF2010(); m.Validate() != nil {
		t.Fatal(m.Validate())
	}
	for name, spoil := range map[string]func(*Model){
		"cores":       func(m *Model) { m.Machine.Cores = 0 },
		"disk":        func(m *Model) { m.Machine.Disk.Write = 0 },
		"kinds":       func(m *Model) { m.Kinds = map[string]node.MachineSpec{"x": {}} },
		"cycles":      func(m *Model) { m.SortCycles = math.NaN() },
		"buffer":      func(m *Model) { m.Buffer = 1 },
		"space":       func(m *Model) { m.MemorySpace = 0 },
		"segments":    func(m *Model) { m.MemorySegments = 0 },
		"io factor":   func(m *Model) { m.IOFactor = 1 },
		"copiers":     func(m *Model) { m.Copiers = -1 },
		"fetch":       func(m *Model) { m.Fetch = 7 },
		"block":       func(m *Model) { m.Block = 0 },
		"replication": func(m *Model) { m.Replication = 0 },
		"noise":       func(m *Model) { m.Noise = math.Inf(1) },
	} {
		m := MRPERF2010()
		spoil(&m)
		if _, err := New(m); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	w, err := New(round())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Bind(nowhereHost{c: cluster.Uniform(1, 1, cluster.Unit)}); err != nil {
		t.Fatal(err)
	}
	if err := w.Bind(nowhereHost{}); err == nil {
		t.Error("a worker serves two runs")
	}
}

type nowhereHost struct {
	sim.Host
	c *cluster.Cluster
}

func (h nowhereHost) Cluster() *cluster.Cluster   { return h.c }
func (h nowhereHost) Described() *cluster.Cluster { return h.c }

// TestFewAllocations: what is allocated grows with jobs and nodes, not with events.
func TestFewAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the study's workload")
	}
	x := studyBench(t, ByHost)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, sum, _ := x.run(t)
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; float64(n) > 0.1*float64(sum.Events) {
		t.Errorf("%d allocations for %d events", n, sum.Events)
	}
}
