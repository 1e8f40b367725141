package synth

import (
	"errors"
	"io"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// The week of the documentation has the jobs that its pages count, and another seed is another week.
func TestWeek(t *testing.T) {
	read := func(seed uint64) workload.Slice {
		c, err := Preset("week")
		if err != nil {
			t.Fatal(err)
		}
		if seed > 0 {
			c.Seed = seed
		}
		src, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := workload.ReadAll(src)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := src.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("after the last job: %v", err)
		}
		return jobs
	}
	jobs := read(0)
	queues := map[string]int{}
	for i, j := range jobs {
		if err := j.Validate(); err != nil || i > 0 && j.Submit < jobs[i-1].Submit {
			t.Fatalf("job %d: %v, submitted at %v", i, err, j.Submit)
		}
		queues[j.Queue]++
	}
	if last := jobs[len(jobs)-1].Submit; len(jobs) != 4957 || len(queues) != 3 || last < 6*unit.Day || last > 7*unit.Day {
		t.Errorf("%d jobs until %v in %v", len(jobs), last, queues)
	}
	if other := read(2); len(other) == len(jobs) && other[0].Submit == jobs[0].Submit {
		t.Error("another seed gives the same week")
	}
}
