package workload_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/swim"
)

// A job made by hand: a small graph of stages, each with a number of identical tasks.
func ExampleJob() {
	container := unit.Resources{Mem: 1024, Cores: 1}
	job := &workload.Job{ID: "etl", User: "ana", Queue: "root.batch", Submit: unit.Minute, Stages: []workload.Stage{
		{Kind: workload.Map, Tasks: 200, Ask: container, Length: workload.Fixed(30 * unit.Second)},
		{Kind: workload.Reduce, Tasks: 10, Ask: container, Length: workload.Fixed(unit.Minute), After: []workload.Edge{{From: 0, SlowStart: 1}}},
	}}
	if err := job.Validate(); err != nil {
		fmt.Println(err)
	}
	fmt.Println(job.Tasks(), "tasks,", job.Work(), "container-seconds")
	// Output: 210 tasks, 6600 container-seconds
}

// A Source streams jobs in the order of their submit times. This one reads a SWIM trace, a line per job; trace.Open recognises any format by itself.
func ExampleSource() {
	const file = "job0	9	9	1762	0	14347\n" + "job2	20	11	53088744165	1510005522	5759777\n"
	src, err := swim.NewReader(strings.NewReader(file), "day.tsv", swim.Default())
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		j, err := src.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s is submitted at %v: %d tasks\n", j.ID, j.Submit, j.Tasks())
	}
	// Output:
	// job0 is submitted at 9 s: 1 tasks
	// job2 is submitted at 20 s: 398 tasks
}
