package marp

import (
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/sim/mapreduce"
	"github.com/yardmaster/yardmaster/sim/node"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// bench is one of the source's benchmarks, as the phase model describes it.
type bench struct {
	Name, Short, Title, Experiment string
	maps, reduces                  int64
	input, shuffle, output         unit.Bytes // of a job
	replication                    int64      // of its output
	cycles                         cycles
	Batch6                         float64 // seconds: mean of the source's batches of six at once, on which cached is calibrated
	cached                         float64 // share of what reduces read and write that stays in memory: the only fitted number
	Estimate                       string  // of the source: what the delay costs, in points of PRJ
	longer                         float64 // without a disk: the factor on reduce cycles that gives the same Batch6
	noDisk                         bool
	request                        float64 // bytes that the disk transfers for a stream before switching to another; 0: diskRequest
}

// cycles are the CPU cycles of tasks.
type cycles struct {
	process     float64 // per process start
	mapByte     float64 // per byte of map input
	sortByte    float64 // per byte of map output; 0: included in mapByte
	merge       float64 // per in-memory merge of a reduce; 0: included in reduceByte
	reduceStart float64 // per reduce, besides its process
	reduceByte  float64 // per byte of reduce input
}

// WordCount's map output and reduce output per byte of TeraGen's rows, as measured with Hadoop's own example: hardly a
// word occurs twice, so combining saves nothing; bytes that are not text become three each, and every word has a count.
const (
	wordCountPasses = 1.26
	wordCountWrites = 1.246
)

// The benchmarks. Cycles are those that Hadoop 3.4.2's own examples took on current hardware (docs/studies/cycles.md): lines fitted to
// maps and to reduces of several sizes. A reduce's start beyond that of a map is reduceStart.
var (
	teraSort = bench{
		Name: "TeraSort", Short: "terasort", Title: "TeraSort, 3 GB", Experiment: "E7", maps: 24, reduces: 1,
		input: 3 * unit.GiB, shuffle: 3 * unit.GiB, output: 3 * unit.GiB, replication: 1, cycles: cycles{process: 3.66e9, mapByte: 108.7, reduceByte: 45.4},
		Batch6: 782.5, Estimate: "19.2", cached: 0.468, longer: 9.35,
	}
	wordCount = bench{
		Name: "WordCount", Short: "wordcount", Title: "WordCount, 2 GB", Experiment: "E8", maps: 16, reduces: 1,
		input: 2 * unit.GiB, shuffle: times(wordCountPasses, 2*unit.GiB), output: times(wordCountWrites, 2*unit.GiB), replication: 3, cycles: cycles{process: 4.30e9, mapByte: 135.7, reduceByte: 31.1},
		Batch6: 920.3, Estimate: "16.3", cached: 0.501, longer: 20.2,
	}
	sortB = bench{
		Name: "Sort", Short: "sort", Title: "Sort, 2.5 GB", Experiment: "E9", maps: 20, reduces: 5,
		input: 2560 * unit.MiB, shuffle: 2560 * unit.MiB, output: 2560 * unit.MiB, replication: 3, cycles: cycles{process: 2.34e9, mapByte: 25.4, reduceStart: 0.785e9, reduceByte: 19.1},
		Batch6: 856.2, Estimate: "17.6", cached: 0.518, longer: 57.1,
	}
	// smallSort is a third of teraSort, for batches of many jobs.
	smallSort = bench{
		Name: "TeraSort", Short: "terasort", Title: "TeraSort, 1 GB", Experiment: "E4", maps: 8, reduces: 1,
		input: unit.GiB, shuffle: unit.GiB, output: unit.GiB, replication: 1, cycles: teraSort.cycles,
		cached: teraSort.cached, longer: teraSort.longer,
	}
)

// mrperf is the benchmark with the cycles that MRPERF measured with TeraSort, which the study used before it had its own, and with the
// matching value of cached. The 250 of WordCount's map are those of package experiment/capacity.
func (b *bench) mrperf(reduceByte, cached float64) *bench {
	c, m := *b, mapreduce.MRPERF2010()
	c.cycles = cycles{process: m.JVMCycles, mapByte: m.MapCycles, sortByte: m.SortCycles, merge: m.MergeCycles, reduceStart: m.ReduceSortCycles, reduceByte: reduceByte}
	c.cached = cached
	if b == &wordCount {
		c.cycles.mapByte = 250
		c.shuffle, c.output = times(1.35, b.input), times(1.35, b.input)
	}
	return &c
}

func times(f float64, b unit.Bytes) unit.Bytes { return unit.Bytes(f * float64(b)) }

func benches() []*bench { return []*bench{&teraSort, &wordCount, &sortB} }

// The source's host.
const (
	hertz      = 2.13e9
	processors = 16 // two sockets of four cores with two threads each
	// threadGain is what a core does with both threads at work: Intel's own figure for server work is up to 1.3.
	threadGain = 1.3

	diskRate    = 150e6  // bytes per second, one stream: a 15,000 rpm SAS disk of its time
	diskSeek    = 0.0054 // seconds to switch streams: 3.4 ms for the heads, 2.0 ms for half a turn
	diskRequest = 512e3  // bytes: between Linux's read-ahead (128 KiB) and the largest request that it makes of several (1280 KiB)
	diskSize    = 136e9  // bytes
	diskHealthy = 0.9    // yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage
	diskFilled  = 30.7e9 // bytes: the 50 GB left after a batch of PRJ, minus its output
	diskLimit   = diskHealthy * diskSize

	// mapCached is the share of what maps read and write that stays in memory: their spills are merged before Linux would write them
	// (30 s), and six jobs read one file, which is in memory after the first. So of 4 bytes (read, spilled, merged) for each byte of
	// input, a sixth of one comes from the disk.
	mapCached = 1 - 1.0/6/4

	clientStart = 5.0              // seconds until a client has submitted its job, plus a random part of up to one second
	amStart     = 10 * unit.Second // with a heartbeat and a process' start about 13 s until the first map works
	// runNoise is the run-to-run noise of the disk, calibrated on the spread of PRJ's TeraSorts: the source's 8.64 s either side of the mean
	// of 40 runs are a deviation of 27 s. Its few far outliers have no counterpart.
	runNoise = 0.053
)

// hostModel is the source's host under Hadoop 2.7.5's defaults, without the cycles of a benchmark. Everything else is MRPERF's.
func hostModel() mapreduce.Model {
	m := mapreduce.MRPERF2010()
	m.Name = "marp-source"
	m.PerMachine = sourceNodes
	m.Machine = node.MachineSpec{
		Hertz: hertz, Cores: processors, Efficiency: node.Threads(processors/2, threadGain), Disks: 1,
		Disk:  node.DiskSpec{Read: diskRate, Write: diskRate, Efficiency: node.Switching(node.SwitchingCost(diskRate, diskSeek, diskRequest))},
		Space: node.Space{Capacity: diskSize, Filled: diskFilled, Healthy: diskHealthy},
	}
	m.Buffer = 80 * unit.MiB      // 0.80 of a sort buffer of 100 MB
	m.MemorySpace = 92 * unit.MiB // 0.66 of 0.70 of a heap of 200 MB
	m.MemorySegments, m.Copiers = 1000, 5
	m.IOFactor = 10
	m.Block = 128 * unit.MiB
	m.ReducePiece = 16 * unit.MiB
	m.Cached.Map = mapCached
	m.RunNoise = runNoise
	return m
}

func (b *bench) model() mapreduce.Model {
	m := hostModel()
	m.Replication, m.Cached.Reduce = b.replication, b.cached
	m.JVMCycles, m.SortCycles, m.MergeCycles, m.ReduceSortCycles = b.cycles.process, b.cycles.sortByte, b.cycles.merge, b.cycles.reduceStart
	if b.noDisk {
		m = m.AllCached()
	}
	if b.request > 0 {
		m.Machine.Disk.Efficiency = node.Switching(node.SwitchingCost(diskRate, diskSeek, b.request))
	}
	return m
}

// diskless is the benchmark on a host whose disk takes no time, with reduce cycles multiplied by longer.
func (b *bench) diskless(longer float64) *bench {
	c := *b
	c.noDisk = true
	c.cycles.reduceByte *= longer
	return &c
}

// jobs are n of them, whose clients start together.
func (b *bench) jobs(n int, seed uint64) (all workload.Slice) {
	for i := range n {
		all = append(all, &workload.Job{
			ID: fmt.Sprintf("%s-%d", b.Short, i+1), User: "batch", Queue: "default", AM: sourceAM, AMStart: amStart,
			Submit: unit.FromSeconds(clientStart + workload.Uniform01(workload.Seed(seed, 0x636c69), uint64(i))),
			Stages: []workload.Stage{
				{Name: "map", Kind: workload.Map, Tasks: b.maps, Ask: sourceTask, Input: b.input, CyclesPerByte: b.cycles.mapByte, Length: workload.Fixed(unit.Second)},
				{
					Name: "reduce", Kind: workload.Reduce, Tasks: b.reduces, Ask: sourceTask, Output: b.output, CyclesPerByte: b.cycles.reduceByte,
					Length: workload.Fixed(unit.Second), After: []workload.Edge{{From: 0, Shuffle: b.shuffle, SlowStart: 0.05}},
				},
			},
		})
	}
	slices.SortStableFunc(all, func(x, y *workload.Job) int { return int(x.Submit - y.Submit) })
	return all
}
