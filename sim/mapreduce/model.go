package mapreduce

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/sim/node"
	"github.com/yardmaster/yardmaster/unit"
)

// Fetch is how a reduce fetches map outputs.
type Fetch uint8

// Ways to fetch.
const (
	// ByHost: a copier fetches all outputs that are ready on a disk in one transfer, as far as they fit into the
	// reduce's memory, and no two copiers of a reduce are at one disk at a time (Hadoop's copiers keep to one host each, too).
	//
	// Against ByMap this changes four things: a transfer pays one seek and one round trip for all its outputs; its noise is
	// drawn once; a reduce has one share of a busy disk or link where it may have had several; and the outputs of a transfer
	// arrive together, at its end. Where a reduce keeps up with the maps, most transfers hold one output and the two are the
	// same. On the workload of the Capacity Scheduler study (30 nodes, 100 jobs, ten seeds) 74,176 outputs travel in 67,200
	// transfers, makespans agree within 1 % seed by seed, and elapsed times within 0.6 % in the mean of every type of job but
	// one: jobs with a single reduce that competes with the many of other jobs (aggregate and expand) take 2.5 % longer by host.
	ByHost Fetch = iota
	// ByMap: every map output is a transfer of its own, in the order in which the maps finished.
	ByMap
)

func (f Fetch) String() string { return [...]string{"host", "map"}[f] }

// Model holds the parameters of the phase model. Cycles are of one core.
type Model struct {
	Name    string
	Version int

	Machine node.MachineSpec            // of every node
	Kinds   map[string]node.MachineSpec // by node kind, if different
	// PerMachine is how many nodes share one machine, its processors, disks and memory: consecutive nodes of the cluster's
	// description. 0: each node is a machine.
	PerMachine int

	JVMCycles        float64 // to start a task's process
	MapCycles        float64 // per byte of input, unless the stage sets it
	SortCycles       float64 // per byte of map output
	ReduceCycles     float64 // per byte of reduce input, unless the stage sets it
	MergeCycles      float64 // per in-memory merge of a reduce
	ReduceSortCycles float64 // of a reduce's final sort

	Buffer         unit.Bytes // map output in memory before it is spilled
	MemorySpace    unit.Bytes // fetched data in a reduce's memory before it is merged to disk
	MemorySegments int64      // map outputs in a reduce's memory before they are merged to disk
	IOFactor       int64      // runs merged at once; 0: all
	Copiers        int64      // transfers of a reduce at once; 0: as many as there are nodes
	Fetch          Fetch
	ReducePiece    unit.Bytes // that a reduce reads, reduces and writes at a time; 0: all at once
	Cached         Cached

	Block       unit.Bytes // of input, for job generators; a task's input is its share of its stage's
	Replication int64      // of the output: 1 is the writer's own disk only

	Noise       float64 // sigma of the logarithm of each unit of device work
	ReduceNoise float64 // the same, of the reduce function
	RunNoise    float64 // the same, of a per-run factor of all disk work: the layout of files differs from run to run
}

// Cached is the share of tasks' reads and writes that stays in the page cache and never waits for a disk: 0 none, 1 all. It still takes
// space on the disks.
type Cached struct{ Map, Reduce float64 }

// AllCached is the model with infinitely fast disks: only processors and the network are left.
func (m Model) AllCached() Model {
	m.Cached = Cached{1, 1}
	return m
}

// MRPERF2010 is the model with the defaults of the public MRPERF release of 2010 (TeraSort's cycles).
func MRPERF2010() Model {
	return Model{
		Name: "mrperf-2010", Version: 1, PerMachine: 1,
		Machine: node.MachineSpec{
			Hertz: 2.5e9, Cores: 8, Disks: 1,
			Disk: node.DiskSpec{Read: 280 << 20, Write: 75 << 20},
		},
		JVMCycles: 4e9, MapCycles: 40, SortCycles: 44, ReduceCycles: 90, MergeCycles: 1e9, ReduceSortCycles: 6e9,
		Buffer: 50 * unit.MiB, MemorySpace: 66 * unit.MiB, MemorySegments: 100, Copiers: 0, Fetch: ByHost,
		Block: 64 * unit.MiB, Replication: 1,
		Noise: math.Log(1.10), ReduceNoise: math.Log(1.04),
	}
}

// Limits on a model. The smallest buffer bounds the number of spills.
const (
	MinBuffer      = 64 * unit.KiB
	MaxBuffer      = 1 << 50
	MaxCycles      = 1e18
	MaxNoise       = 2
	MaxCopiers     = 1 << 20
	MaxReplication = 64
	MaxPerMachine  = 1 << 20
)

// Validate reports the first invalid value.
func (m *Model) Validate() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("model %s: %s", m.Name, fmt.Sprintf(format, args...))
	}
	if err := m.Machine.Validate(); err != nil {
		return fail("%v", err)
	}
	for kind, s := range m.Kinds {
		if err := s.Validate(); err != nil {
			return fail("machines of kind %q: %v", kind, err)
		}
	}
	for _, c := range []struct {
		name string
		v    float64
	}{{"JVM start", m.JVMCycles}, {"map", m.MapCycles}, {"sort", m.SortCycles}, {"reduce", m.ReduceCycles},
		{"merge", m.MergeCycles}, {"reduce sort", m.ReduceSortCycles}} {
		if !(c.v >= 0 && c.v <= MaxCycles) {
			return fail("%s cycles are %v: they must be between 0 and %v", c.name, c.v, float64(MaxCycles))
		}
	}
	switch {
	case m.Buffer < MinBuffer || m.Buffer > MaxBuffer:
		return fail("a map buffer of %v: at least %v", m.Buffer, MinBuffer)
	case m.MemorySpace < MinBuffer || m.MemorySpace > MaxBuffer:
		return fail("a reduce's memory of %v: at least %v", m.MemorySpace, MinBuffer)
	case m.MemorySegments < 1:
		return fail("%d segments in a reduce's memory: at least 1", m.MemorySegments)
	case m.IOFactor < 0 || m.IOFactor == 1:
		return fail("%d runs merged at once: at least 2, or 0 for all", m.IOFactor)
	case m.Copiers < 0 || m.Copiers > MaxCopiers:
		return fail("%d copiers: between 0 (one for each node) and %d", m.Copiers, MaxCopiers)
	case m.Fetch > ByMap:
		return fail("an unknown way to fetch")
	case m.Block < 1 || m.Block > MaxBuffer:
		return fail("blocks of %v", m.Block)
	case m.Replication < 1 || m.Replication > MaxReplication:
		return fail("%d copies of the output: between 1 and %d", m.Replication, MaxReplication)
	case m.PerMachine < 0 || m.PerMachine > MaxPerMachine:
		return fail("%d nodes on a machine: between 0 and %d", m.PerMachine, MaxPerMachine)
	case m.ReducePiece != 0 && (m.ReducePiece < MinBuffer || m.ReducePiece > MaxBuffer):
		return fail("a reduce that works on %v at a time: at least %v, or 0 for all", m.ReducePiece, MinBuffer)
	case !(m.Cached.Map >= 0 && m.Cached.Map <= 1 && m.Cached.Reduce >= 0 && m.Cached.Reduce <= 1):
		return fail("shares of %v and %v of the bytes stay in memory: both between 0 and 1", m.Cached.Map, m.Cached.Reduce)
	case !(m.RunNoise >= 0 && m.RunNoise <= MaxNoise):
		return fail("a run's noise of %v: between 0 and %d", m.RunNoise, MaxNoise)
	case !(m.Noise >= 0 && m.Noise <= MaxNoise) || !(m.ReduceNoise >= 0 && m.ReduceNoise <= MaxNoise):
		return fail("noise of %v and %v: both between 0 and %d", m.Noise, m.ReduceNoise, MaxNoise)
	}
	return nil
}

// passes is the number of merge passes that reduce the runs to one.
func (m *Model) passes(runs int64) int64 {
	if runs <= 1 {
		return 0
	}
	if m.IOFactor == 0 {
		return 1
	}
	k := int64(0)
	for runs > 1 {
		runs = (runs + m.IOFactor - 1) / m.IOFactor
		k++
	}
	return k
}

// noisy is device work with noise: log-normal with the nominal work as its median, a pure function of the key.
func noisy(nominal, sigma float64, key uint64) float64 {
	if sigma == 0 || nominal == 0 {
		return nominal
	}
	u := (float64(key>>11) + 0.5) * 0x1p-53
	return nominal * math.Exp(sigma*math.Sqrt2*math.Erfinv(2*u-1))
}
