package yarn

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/transfer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// drawJobs makes jobs of all shapes.
func drawJobs(t *rapid.T, nodes int, ams bool) []*workload.Job {
	var jobs []*workload.Job
	at := unit.Time(0)
	for i := range rapid.IntRange(1, 6).Draw(t, "jobs") {
		at += unit.Time(rapid.Int64Range(0, 40_000).Draw(t, "gap")) * ms
		if rapid.IntRange(0, 9).Draw(t, "night") == 0 {
			at += 20 * unit.Minute
		}
		j := &workload.Job{ID: fmt.Sprint("j", i), User: "u", Queue: "default", Submit: at}
		shape := rapid.SampledFrom([]string{"map", "mapreduce", "dag", "unmanaged"}).Draw(t, "shape")
		if shape != "unmanaged" && ams {
			j.AM = gb
		}
		stages := map[string]int{"map": 1, "mapreduce": 2, "dag": 3, "unmanaged": 2}[shape]
		for k := range stages {
			s := workload.Stage{
				Kind: workload.Map, Tasks: int64(rapid.IntRange(0, 9).Draw(t, "tasks")), Ask: gb.Times(int64(rapid.IntRange(1, 2).Draw(t, "size"))),
				Length: workload.Lengths{Kind: workload.Exponential, A: unit.Time(rapid.Int64Range(0, 20_000).Draw(t, "mean")) * ms},
			}
			if k > 0 {
				s.After = []workload.Edge{{From: k - 1, SlowStart: rapid.SampledFrom([]float64{0, 0.05, 0.5, 1}).Draw(t, "slow-start")}}
				if s.Kind = workload.Other; shape == "mapreduce" {
					s.Kind = workload.Reduce
				}
			} else if rapid.Bool().Draw(t, "hosts") {
				s.Hosts = &workload.Hosts{Names: []string{"node1", "/rack1/node2", "/nowhere/node3", "elsewhere/node99"}}
				for range s.Tasks {
					var row []int32
					for h := range s.Hosts.Names {
						if rapid.IntRange(0, 2).Draw(t, "here") == 0 {
							row = append(row, int32(h))
						}
					}
					s.Hosts.Of = append(s.Hosts.Of, row)
				}
			}
			j.Stages = append(j.Stages, s)
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// Whatever the AMs, the timing, the network and the kills: every task is done exactly once, no node is over-committed, everything is
// given back, and the same input gives the same output.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(2, 5).Draw(t, "nodes")
		c := cluster.Uniform(nodes, rapid.IntRange(1, 2).Draw(t, "racks"), gb.Times(int64(rapid.IntRange(8, 12).Draw(t, "room"))))
		timing := rapid.SampledFrom([]Timing{SLS(), Hadoop()}).Draw(t, "timing")
		jobs := drawJobs(t, nodes, rapid.Bool().Draw(t, "masters"))
		kills := rapid.SliceOfN(rapid.IntRange(0, 20), 0, 40).Draw(t, "kills")
		every := rapid.SampledFrom([]unit.Time{300 * ms, 1700 * ms, 7 * s}).Draw(t, "every")
		replicas := 0
		if rapid.Bool().Draw(t, "network") {
			replicas = rapid.IntRange(0, 3).Draw(t, "replicas")
			linked(t, c, "racks:node=8Mbit,uplink=4Mbit")
			withData(t, jobs)
		}
		run := func() (*seen, sim.Summary, *fifo) {
			f := newFIFO()
			f.every, f.check = every, t.Fatalf
			left := kills
			f.round = func(unit.Time) (n rm.Notice) {
				if len(left) == 0 {
					return n
				}
				k := left[0]
				left = left[1:]
				for _, x := range f.apps { // any container but an AM, which would begin everything anew
					for _, h := range x.held {
						if k--; k == 0 && !h.AM {
							n.Killed = append(n.Killed, h)
						}
					}
				}
				return n
			}
			cfg := Config{Cluster: c, Timing: timing, Seed: 7, Replicas: replicas}
			if c.Network != nil {
				cfg.Worker = transfer.New(transfer.Options{})
			}
			out, sum := play(t, cfg, f, jobs...)
			return out, sum, f
		}
		out, sum, f := run()
		if sum.Finished != int64(len(jobs)) || sum.Stuck != 0 || sum.Failed != 0 {
			t.Fatalf("%+v\n%+v", sum, out.jobs)
		}
		type id struct {
			seq   int64
			stage int
			task  int64
		}
		done := map[id]int{}
		var killed int64
		for _, r := range out.conts {
			switch {
			case r.Freed < 0 || r.Allocated < 0 || r.Freed < r.Allocated:
				t.Fatalf("container %+v was not given back", r)
			case r.Killed:
				killed++
			case r.Stage >= 0:
				done[id{r.Seq, r.Stage, r.Task}]++
			}
			if r.Stage >= 0 && !r.Killed && (r.Started < r.Acquired || r.Ended < r.Started || r.Freed < r.Ended) {
				t.Fatalf("container %+v goes back in time", r)
			}
		}
		var tasks int64
		for q, j := range jobs {
			tasks += j.Tasks()
			for k := range j.Stages {
				for n := range j.Stages[k].Tasks {
					if got := done[id{int64(q), k, n}]; got != 1 {
						t.Fatalf("task %d of stage %d of job %d was done %d times", n, k, q, got)
					}
				}
			}
		}
		if sum.Tasks != tasks || sum.Lost != killed || sum.Decisions != int64(len(out.conts)) {
			t.Fatalf("%d tasks of %d, %d lost of %d, %d containers of %d", sum.Tasks, tasks, sum.Lost, killed, sum.Decisions, len(out.conts))
		}
		for _, n := range f.nodes {
			if n.Free != n.Total {
				t.Fatalf("node %s has %v of %v at the end", n.Name, n.Free, n.Total)
			}
		}
		if len(f.apps) != 0 {
			t.Fatalf("%d applications are still there", len(f.apps))
		}
		again, sum2, _ := run()
		if !reflect.DeepEqual(out, again) || !reflect.DeepEqual(sum, sum2) {
			t.Fatal("two runs differ")
		}
	})
}

// Stages that need two others each, which need the same two: the paths between them are too many to follow each.
func TestManyPaths(t *testing.T) {
	j := &workload.Job{ID: "j", AM: gb}
	for i := range 80 {
		x := workload.Stage{Kind: workload.Other, Tasks: 1, Ask: gb, Length: workload.Fixed(s)}
		for from := max(i/2*2-2, 0); from < i/2*2; from++ {
			x.After = append(x.After, workload.Edge{From: from, SlowStart: 1})
		}
		j.Stages = append(j.Stages, x)
	}
	if _, sum := play(t, Config{Cluster: cluster.Uniform(1, 1, gb.Times(5)), Timing: quick(), Seed: 3}, newFIFO(), j); sum.Finished != 1 {
		t.Errorf("%+v", sum)
	}
}
