package capacity

import (
	"fmt"
	"strconv"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// program is one of the benchmark programs of the real clusters.
type program struct {
	name                      string
	shuffle, output           float64
	mapCompute, reduceCompute float64 // cycles a byte
}

// The programs. For TeraSort the cycles a byte are those of the public MRPERF; Sort does the same to its records, so it gets the same.
// WordCount splits its text into words, which takes some hundred cycles a byte in Java: 250, because the one map slot of queue 2 in S05
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
