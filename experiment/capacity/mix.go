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
	mapCompute, reduceCompute float64 // read as cycles of the processor a byte
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

var (
	longTypes  = []int{1, 2, 3, 4}
	shortTypes = []int{5, 6, 7}
	allTypes   = []int{1, 2, 3, 4, 5, 6, 7}
)

// pattern is how the jobs of the mix are submitted, one a second in each stream. Two streams are alike and run at once.
type pattern string

const (
	longFirst   pattern = "long-first"  // all long jobs, then all short ones
	interleaved pattern = "interleaved" // four short jobs, one long job, and again
	separate    pattern = "separate"    // the instants of interleaved; short and long jobs have queues of their own
)

// order is the types of one stream's fifty jobs in order of submission. Inside the long and the short jobs the source names no order;
// by number of type fits what it says (type 2 "early", type 4 "late", the short jobs are numbers 11 to 50).
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

// queue is where a job of a stream (0 or 1) goes.
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

// job is a job of the type; what it reads, passes on and writes follows from its maps.
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

// nominal is the length that a task has where no model plays what it does.
const nominal = 20 * unit.Second
