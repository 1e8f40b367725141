package result

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Job a holds 2 containers from 0 to 15 s, b 1 from 12 s on, in intervals of 10 s.
func held(t sim.Sink, upTo int) {
	a := &sim.JobRecord{Job: &workload.Job{ID: "a"}}
	b := &sim.JobRecord{Job: &workload.Job{ID: "b"}, Seq: 1}
	for i := 1; i <= upTo; i++ {
		to := unit.Time(10*i) * unit.Second
		if i == 2 {
			a.Service = 30 * unit.Second
			t.Job(a)
		}
		t.(sim.JobSampler).SampleJobs(to, func(yield func(*sim.JobRecord, unit.Time) bool) {
			if i == 1 {
				yield(a, 20*unit.Second)
			} else {
				yield(b, to-12*unit.Second)
			}
		})
		t.Sample(&sim.Sample{From: to - 10*unit.Second, To: to})
	}
}

func TestJobTimeline(t *testing.T) {
	s := NewJobTimeline(2, 10)
	held(Tee(NewCollector(Options{}), s), 3)
	want := &Timeline{Edges: []float64{0, 10, 20, 30}, Queues: []string{"a", "b"}, Containers: [][]float64{{2, 1, 0}, {0, 0.8, 1}}, Waiting: make([]float64, 3)}
	if d := cmp.Diff(want, s.Timeline()); d != "" {
		t.Error(d)
	}
	long := NewJobTimeline(2, 50)
	held(long, 10_000)
	got := long.Timeline()
	if n := len(got.Edges); n < 20 || n > 51 || got.Edges[n-1] != 100_000 {
		t.Fatalf("%d edges, the last at %v", n, got.Edges[n-1])
	}
	for k, total := range []float64{30, 100_000 - 12} {
		sum := 0.0
		for i, v := range got.Containers[k] {
			sum += v * (got.Edges[i+1] - got.Edges[i])
		}
		if math.Abs(sum-total) > 0.1 {
			t.Errorf("%s received %v s, want %v", got.Queues[k], sum, total)
		}
	}
	few := NewJobTimeline(1, 10)
	held(few, 3)
	if got := few.Timeline(); got != nil {
		t.Errorf("%+v of too many jobs", got)
	}
	few.SampleJobs(0, func(func(*sim.JobRecord, unit.Time) bool) { t.Error("it still asks") })
	if got := NewJobTimeline(1, 10).Timeline(); got != nil {
		t.Errorf("%+v of none", got)
	}
	if _, ok := Tee(NewCollector(Options{})).(sim.JobSampler); ok {
		t.Error("jobs are sampled for nobody")
	}
}
