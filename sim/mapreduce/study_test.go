package mapreduce

import (
	"fmt"
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// study is the workload of the Capacity Scheduler study: 100 jobs of seven types, 5,376 maps and 342 reduces, long ones first.
func study() []*workload.Job {
	types := []struct {
		jobs, maps, reduces                      int64
		shuffle, output, mapCycles, reduceCycles float64
	}{
		{4, 100, 15, 1, 1, 5, 40}, {3, 200, 1, 0.025, 3, 40, 5}, {2, 400, 30, 3, 0.025, 40, 40}, {1, 800, 8, 0.075, 0.0005, 20, 20},
		{24, 1, 1, 1, 1, 1, 1}, {12, 2, 1, 1, 1, 1, 1}, {4, 10, 1, 1, 1, 1, 1},
	}
	var jobs []*workload.Job
	second := 0
	for k, y := range types {
		for range y.jobs {
			for q := range 2 {
				in := 64 * float64(y.maps)
				j := mr(fmt.Sprintf("%d-%d-%d", k+1, second, q), y.maps, y.reduces, in, in*y.shuffle, in*y.shuffle*y.output)
				j.Submit = unit.FromSeconds(float64(second))
				j.Stages[0].CyclesPerByte, j.Stages[1].CyclesPerByte = y.mapCycles, y.reduceCycles
				j.Stages[1].After[0].SlowStart = 0.05
				jobs = append(jobs, j)
			}
			second++
		}
	}
	return jobs
}

func studyBench(t tester, f Fetch) *bench {
	x := &bench{cluster: starred(t, "30x4+4", 1e9/8/mib, 150), model: MRPERF2010(), jobs: study(), seed: 1,
		engine: sim.Model{Heartbeat: 300 * unit.Millisecond, Replicas: 3}}
	x.model.Fetch = f
	return x
}

// TestStudyFetchByHostOrByMap measures what fetching by host changes, beside what another seed changes.
func TestStudyFetchByHostOrByMap(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the study's workload three times")
	}
	var books []*book
	for _, c := range []struct {
		fetch Fetch
		seed  uint64
	}{{ByHost, 1}, {ByMap, 1}, {ByHost, 2}} {
		x := studyBench(t, c.fetch)
		x.seed = c.seed
		b, sum, w := x.run(t)
		s := w.Stats()
		books = append(books, b)
		t.Logf("by %v, seed %d: makespan %v, %d events, %d flows, %d outputs in %d transfers", c.fetch, c.seed, sum.LastFinish, sum.Events,
			sum.Traffic.Flows, s.Outputs, s.Transfers)
		if sum.Tasks != 5376+342 || sum.Finished != 100 || s.Outputs != 74176 {
			t.Fatalf("%+v, %+v", sum, s)
		}
	}
	// apart is how far the elapsed times of two runs are from each other: in the mean over jobs, with and without its sign.
	apart := func(a, b *book) (signed, mean float64) {
		for id, x := range a.jobs {
			y := b.jobs[id]
			d := math.Log(float64(y.Finish-y.Job.Submit) / float64(x.Finish-x.Job.Submit))
			signed, mean = signed+d/100, mean+math.Abs(d)/100
		}
		return signed, mean
	}
	signed, mean := apart(books[0], books[1])
	otherSigned, other := apart(books[0], books[2])
	t.Logf("elapsed times by map against by host: %+.2f %% in the mean, %.2f %% apart; seed 2 against seed 1: %+.2f %%, %.2f %%",
		100*signed, 100*mean, 100*otherSigned, 100*other)
	if math.Abs(signed) > 0.03 {
		t.Errorf("fetching by host moves elapsed times by %.2f %% in the mean", 100*signed)
	}
}

func BenchmarkStudy(b *testing.B) {
	for _, f := range []Fetch{ByHost, ByMap} {
		for _, net := range []bool{true, false} {
			b.Run(fmt.Sprintf("fetch=%v/network=%v", f, net), func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					x := studyBench(b, f)
					if !net {
						x.cluster.Network = nil
					}
					x.run(b)
				}
			})
		}
	}
}
