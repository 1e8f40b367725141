package workload_test

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/trace"
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

// A Source streams jobs in the order of their submit times. trace.Open recognises the format of a file: here SWIM, with a line per job.
func ExampleSource() {
	src, err := trace.Open([]string{filepath.FromSlash("swim/testdata/five.tsv")}, trace.Defaults())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer src.Close()
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
	// job1 is submitted at 18 s: 2 tasks
	// job2 is submitted at 20 s: 398 tasks
	// job3 is submitted at 20.5 s: 1 tasks
	// job4 is submitted at 31 s: 2 tasks
}
