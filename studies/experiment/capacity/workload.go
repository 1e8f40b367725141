package capacity

import (
	"fmt"
	"strconv"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Block is the size of a block of the file system, and so of the input of one map.
const Block unit.Bytes = 64 << 20

// SlowStart is the share of a job's maps that must be done before its reduces may take slots. The source prints "0.05 %" and
// means 5 %: its own example is one map of sixteen.
const SlowStart = 0.05

// jobType is one of the seven types of the simulated study.
type jobType struct {
	nature                    string
	queueCount                int // jobs of this type among the fifty of a queue
	maps, reduces             int64
	shuffle, output           float64 // map output over map input, reduce output over reduce input
	mapCompute, reduceCompute float64 // read as CPU cycles per byte
}

// types are the seven of the source's table, by number; types[0] is not used.
var types = [8]jobType{
	1: {"data transformation", 4, 100, 15, 1, 1, 5, 40},
	2: {"aggregate and expand", 3, 200, 1, 0.025, 3, 40, 5},
	3: {"expand and aggregate", 2, 400, 30, 3, 0.025, 40, 40},
	4: {"data summary", 1, 800, 8, 0.075, 0.0005, 20, 20},
	5: {"small", 24, 1, 1, 1, 1, 1, 1},
	6: {"small", 12, 2, 1, 1, 1, 1, 1},
	7: {"small", 4, 10, 1, 1, 1, 1, 1},
}

// Jobs with more than ten maps are long.
func long(t int) bool { return types[t].maps > 10 }

// typeOf is the type of a job of the mix.
func typeOf(j *workload.Job) (t int, ok bool) {
	t, err := strconv.Atoi(j.Class)
	return t, err == nil
}

var allTypes = []int{1, 2, 3, 4, 5, 6, 7}

// pattern is how the jobs of the mix are submitted, one per second in each stream. The two streams are alike and run concurrently.
type pattern string

const (
	longFirst   pattern = "long-first"  // all long jobs, then all short ones
	interleaved pattern = "interleaved" // four short jobs, one long job, and again
	separate    pattern = "separate"    // the instants of interleaved; separate queues for short and long jobs
)

// order is the types of one stream's fifty jobs in order of submission. The source gives no order within the long and the short jobs;
// ordering by type number fits what it says (type 2 "early", type 4 "late", the short jobs are numbers 11 to 50).
func (p pattern) order() []int {
	var longs, shorts []int
	for _, t := range allTypes {
		for range types[t].queueCount {
			if long(t) {
				longs = append(longs, t)
			} else {
				shorts = append(shorts, t)
			}
		}
	}
	if p == longFirst {
		return append(longs, shorts...)
	}
	var all []int
	for i, t := range longs {
		all = append(all, shorts[4*i:4*i+4]...)
		all = append(all, t)
	}
	return all
}

// queue is the queue of a job of a stream (0 or 1).
func (p pattern) queue(stream, t int) string {
	if p == separate && long(t) {
		return "q" + strconv.Itoa(stream+3)
	}
	return "q" + strconv.Itoa(stream+1)
}

// mix is the hundred jobs of the simulated study, each with a user of its own.
func mix(p pattern) workload.Slice {
	var jobs workload.Slice
	for i, t := range p.order() {
		for stream := range 2 {
			j := types[t].job(fmt.Sprintf("s%d-%02d", stream+1, i+1))
			j.Name, j.Class = "type "+strconv.Itoa(t), strconv.Itoa(t)
			j.User = fmt.Sprintf("u%d-%02d", stream+1, i+1)
			j.Queue = p.queue(stream, t)
			j.Submit = unit.Time(i) * unit.Second
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// job is a job of the type; its input, shuffle and output sizes follow from its number of maps.
func (t jobType) job(id string) *workload.Job {
	input := unit.Bytes(t.maps) * Block
	passed := unit.Bytes(float64(input) * t.shuffle)
	return &workload.Job{ID: id, Stages: []workload.Stage{
		{
			Name: "map", Kind: workload.Map, Tasks: t.maps, Ask: cluster.Unit, Length: workload.Fixed(nominal),
			Input: input, CyclesPerByte: t.mapCompute,
		},
		{
			Name: "reduce", Kind: workload.Reduce, Tasks: t.reduces, Ask: cluster.Unit, Length: workload.Fixed(nominal),
			After:  []workload.Edge{{From: 0, Shuffle: passed, SlowStart: SlowStart}},
			Output: unit.Bytes(float64(passed) * t.output), CyclesPerByte: t.reduceCompute,
		},
	}}
}

// nominal is the length of a task where no model plays its phases.
const nominal = 20 * unit.Second

// program is one of the benchmark programs of the real clusters.
type program struct {
	name                      string
	shuffle, output           float64
	mapCompute, reduceCompute float64 // cycles per byte
}

// The programs. TeraSort's cycles per byte are those of the public MRPERF; Sort does the same to its records, so it gets the same.
// WordCount splits its text into words, which takes a few hundred cycles per byte in Java: 250, because the one map slot of queue 2 in S05
// does 225 maps in 2195 s, 9.7 s each at most. It combines: RandomTextWriter draws from a thousand words, so a map leaves at most a
// thousand pairs, about 30 kB of its 64 MB.
var (
	plainSort = program{"Sort", 1, 1, 40, 90}
	teraSort  = program{"TeraSort", 1, 1, 40, 90}
	wordCount = program{"WordCount", 0.0005, 1, 250, 90}
)

func (p program) job(id string, maps, reduces int64) *workload.Job {
	t := jobType{maps: maps, reduces: reduces, shuffle: p.shuffle, output: p.output, mapCompute: p.mapCompute, reduceCompute: p.reduceCompute}
	j := t.job(id)
	j.Name, j.Class = p.name, p.name
	return j
}

// fiveGB is the maps of 5 GB of input: 74.5 blocks. The source says 70 to 80, and that a limit of 160 tasks lets two jobs in.
const fiveGB = 75

// priorities of Hadoop 1, from VERY_LOW to VERY_HIGH; a larger number is more urgent.
const (
	veryLow  = 1
	normal   = 3
	veryHigh = 5
)

// threePrograms is the workload of S01 to S05 and S09 to S16: in each queue three users, one job each, a second apart: Sort, TeraSort,
// WordCount. With priorities the last one submitted is the most urgent.
func threePrograms(queues int, reduces int64, priorities bool) workload.Slice {
	var jobs workload.Slice
	for i, p := range []program{plainSort, teraSort, wordCount} {
		for q := range queues {
			queue := "q" + strconv.Itoa(q+1)
			j := p.job(queue+"/"+p.name, fiveGB, reduces)
			j.User = "user" + strconv.Itoa(3*q+i+1)
			j.Queue = queue
			j.Submit = unit.Time(i) * unit.Second
			if priorities {
				j.Priority = []int{veryLow, normal, veryHigh}[i]
			}
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// fourTeraSorts is the workload of S06 to S08: four users of one queue, a TeraSort each, at once.
func fourTeraSorts(reduces int64) workload.Slice {
	var jobs workload.Slice
	for i := range 4 {
		name := "TeraSort" + strconv.Itoa(i+1)
		j := teraSort.job("q1/"+name, fiveGB, reduces)
		j.User, j.Queue = "user"+strconv.Itoa(i+1), "q1"
		jobs = append(jobs, j)
	}
	return jobs
}

// Maps of the validation workload: 2 GB and 1 GB in whole blocks.
const (
	validationTeraSort = 32
	validationSort     = 16
)

// validation is the TeraSorts of V*: users 1 and 2 in queue 1, users 3 and 4 in queue 2, the first of a queue at once and the second five
// seconds later; and, by the TeraSort's ID, the Sort that its user submits when it has finished.
func validation(queues int) (first workload.Slice, then map[string]*workload.Job) {
	then = map[string]*workload.Job{}
	for i := range 2 {
		for q := range queues {
			user := 2*q + i + 1
			t := teraSort.job(fmt.Sprintf("TSort%d", user), validationTeraSort, 1)
			s := plainSort.job(fmt.Sprintf("Sort%d", user), validationSort, 1)
			for _, j := range []*workload.Job{t, s} {
				j.User, j.Queue = "user"+strconv.Itoa(user), "q"+strconv.Itoa(q+1)
			}
			t.Submit = unit.Time(i) * 5 * unit.Second
			first = append(first, t)
			then[t.ID] = s
		}
	}
	return first, then
}

// What the source leaves open, as variables of the study: see Assumptions.
const (
	heartbeat   = 300 * unit.Millisecond // the source's default "for small clusters"
	poll        = 5 * unit.Second        // the documented default of the initialization poller
	replication = 3                      // the source's shares of rack-local maps fit three copies
	gigabit     = 125e6                  // bytes per second, each way
)

// machines is a cluster of the source.
type machines struct {
	nodes                 int
	mapSlots, reduceSlots int64
	hertz                 float64
	cores                 int
	// slowDisk divides the disk's rates, which are otherwise those of the public MRPERF (280 MiB/s read, 75 MiB/s written). It is the only
	// parameter calibrated on figures of the source.
	slowDisk float64
}

// workers of the simulated study.
const workers = 30

var (
	// sensitivityCluster is five isolated nodes of a real cluster, two quad-core Xeon L5420 each.
	sensitivityCluster = machines{nodes: 5, mapSlots: 2, reduceSlots: 2, hertz: 2.5e9, cores: 8, slowDisk: 2.45}
	// studyCluster is thirty simulated workers.
	studyCluster = machines{nodes: workers, mapSlots: 4, reduceSlots: 4, hertz: 2.5e9, cores: 8, slowDisk: 1.64}
)

// validationCluster is four lab machines. Their map slots and cores are not stated: two slots, as on the other real cluster, on four
// cores.
func validationCluster(reduceSlots int64) machines {
	return machines{nodes: 4, mapSlots: 2, reduceSlots: reduceSlots, hertz: 2.4e9, cores: 4, slowDisk: sensitivityCluster.slowDisk}
}

// cluster is one rack on one switch.
func (m machines) cluster() *cluster.Cluster {
	c := cluster.WithSlots(m.nodes, 1, m.mapSlots, m.reduceSlots)
	c.Network = &cluster.Network{Topology: "star", Node: gigabit}
	return c
}
