package shuffle

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

var one = unit.Resources{Mem: 1024, Cores: 1}

func mapReduce(seq int64, maps, reduces int64, input, bytes unit.Bytes) *policy.Job {
	j := &policy.Job{
		Seq: seq, Index: int32(seq), ID: fmt.Sprint("j", seq), Input: input, Tasks: maps + reduces, Ask: one,
		Stages: []policy.Stage{{Tasks: maps, Pending: maps, Ask: one}},
	}
	if reduces > 0 {
		j.Stages = append(j.Stages, policy.Stage{Tasks: reduces, Pending: reduces, Later: reduces, Ask: one, After: []workload.Edge{{Shuffle: bytes}}})
	}
	return j
}

func tracker(nodes int, containers int64) *Jobs {
	t := &Jobs{Bounds: DefaultBounds(), jobs: make([]Job, 0, 128)} // pointers stay valid
	t.Resized(policy.Cluster{Total: one.Times(containers * int64(nodes)), Nodes: nodes})
	return t
}

func start(t *Jobs, j *Job, stage int, n *policy.Node) {
	j.Stages[stage].Pending--
	j.Stages[stage].Running++
	t.Started(j, &policy.Event{Job: j.Job, Stage: stage, Node: n, Size: one})
}

func end(t *Jobs, j *Job, stage int, n *policy.Node, why policy.End) {
	j.Stages[stage].Running--
	if why == policy.Done {
		j.Stages[stage].Done++
	} else {
		j.Stages[stage].Pending++
	}
	t.Ended(j, &policy.Event{Job: j.Job, Stage: stage, Node: n, Size: one, Why: why})
}

// A job's size: its input at first, then the output of its maps.
func TestPrediction(t *testing.T) {
	jobs := tracker(10, 6)
	if got := jobs.Threshold(); !math.IsInf(got, 1) {
		t.Errorf("threshold without maps: %v", got)
	}
	a := jobs.Arrived(mapReduce(0, 10, 4, 1000*MB, 600*MB))
	jobs.Arrived(mapReduce(1, 20, 0, 500*MB, 0))
	if a.Size != 1000*MB || a.Predictor.Known() || a.Class != Heavy {
		t.Errorf("fresh: %v, %v, %v", a.Size, a.Predictor.Known(), a.Class)
	}
	n := &policy.Node{Index: 3, Rack: 1}
	start(jobs, a, 0, n)
	start(jobs, a, 0, n)
	if got := jobs.Load(3); got != 200*MB {
		t.Errorf("two maps running: %v", got)
	}
	end(jobs, a, 0, n, policy.Done)
	if math.Abs(a.Size-600*MB) > 1 || !a.Predictor.Known() || math.Abs(jobs.Load(3)-60*MB) > 1 {
		t.Errorf("after one map: %v, %v, load %v", a.Size, a.Predictor.Known(), jobs.Load(3))
	}
	if got := jobs.Threshold(); got != 120*MB {
		t.Errorf("threshold %v, want 120 MB", got)
	}
	if lo, hi := jobs.Range(); lo != 0 || hi != 600*MB {
		t.Errorf("sizes from %v to %v", lo, hi)
	}
	jobs.Fix(MB)
	if jobs.Threshold() != MB {
		t.Error("a fixed threshold is not used")
	}
}

// 40 reduces, a quarter of the output in the rack: 10.
func TestQuota(t *testing.T) {
	jobs := tracker(10, 6)
	j := jobs.Arrived(mapReduce(0, 8, 40, 8*MB, 8*MB))
	for i := range 4 {
		start(jobs, j, 0, &policy.Node{Index: int32(i), Rack: int32(min(i, 1))})
	}
	end(jobs, j, 0, &policy.Node{Index: 0, Rack: 0}, policy.Done)
	if got := j.Quota(0); got != 10 || j.Quota(1) != 30 || j.Quota(2) != 0 || j.Quota(-1) != 0 {
		t.Errorf("quotas %v, %v, %v", got, j.Quota(1), j.Quota(2))
	}
	for i := range 10 {
		if !j.UnderQuota(0) {
			t.Fatalf("at its quota with %d reduces", i)
		}
		start(jobs, j, 1, &policy.Node{})
	}
	if j.UnderQuota(0) || j.UnderQuota(2) || !j.UnderQuota(1) {
		t.Error("10 of 10 reduces, none of 0, none of 30")
	}
	end(jobs, j, 1, &policy.Node{}, policy.Lost)
	if !j.UnderQuota(0) {
		t.Error("a lost reduce counts")
	}
	end(jobs, j, 0, &policy.Node{Index: 1, Rack: 1}, policy.Lost)
	if got := j.Quota(1); math.Abs(got-80.0/3) > 1e-9 {
		t.Errorf("after a lost map: %v", got)
	}
}

func TestKnownRatios(t *testing.T) {
	jobs := tracker(1, 6)
	jobs.Ratios, jobs.Learn = map[string]float64{"sort": 0.5}, true
	v := mapReduce(0, 1, 1, 100*MB, 100*MB)
	v.Class = "sort"
	j := jobs.Arrived(v)
	if j.Size != 50*MB || !j.Predictor.Known() {
		t.Errorf("known ratio: %v", j.Size)
	}
	start(jobs, j, 0, &policy.Node{})
	end(jobs, j, 0, &policy.Node{}, policy.Done)
	jobs.Left(j)
	w := mapReduce(0, 1, 1, 10*MB, 0)
	w.Class = "sort"
	if j = jobs.Arrived(w); j.Size != 10*MB {
		t.Errorf("learned ratio: %v", j.Size)
	}
}

// Reduces hold at most half of the cluster while a map waits; if sizes differ, they also leave room for the largest map on each node.
func TestCap(t *testing.T) {
	jobs := tracker(2, 3)
	jobs.Cap = 0.5
	j := jobs.Arrived(mapReduce(0, 2, 6, 0, 0))
	n := &policy.Node{Total: one.Times(3)}
	if jobs.Spare(j, one, n) {
		t.Error("a reduce starts, and no map runs")
	}
	start(jobs, j, 0, n)
	for i := range 3 {
		if jobs.Capped(policy.MapSlot) || !jobs.Spare(j, one, n) {
			t.Fatalf("capped with %d of 6", i)
		}
		start(jobs, j, 1, n)
	}
	if !jobs.Capped(policy.MapSlot) || jobs.Spare(j, one, n) {
		t.Error("not capped with 3 of 6")
	}
	start(jobs, j, 0, n)
	if jobs.Capped(policy.MapSlot) || !jobs.Spare(j, one, n) {
		t.Error("capped, and no map waits")
	}
	end(jobs, j, 0, n, policy.Done)
	end(jobs, j, 0, n, policy.Done)
	big := mapReduce(1, 1, 0, 0, 0)
	big.Stages[0].Ask = one.Times(2)
	jobs.Arrived(big)
	other := &policy.Node{Index: 1, Total: one.Times(3)}
	for range 3 {
		end(jobs, j, 1, n, policy.Lost)
	}
	if jobs.Cap = 0.9; !jobs.Spare(j, one, other) {
		t.Error("no room for one beside a map of two")
	}
	start(jobs, j, 1, other)
	if jobs.Spare(j, one, other) || !jobs.Spare(j, one, n) {
		t.Error("a second one leaves no room for a map of two")
	}
}

// Reduces are capped by job, unless a share of the cluster is named.
func TestCaps(t *testing.T) {
	for _, c := range []struct {
		params policy.Params
		cap    float64
	}{
		{policy.Params{}, 0}, {policy.Params{"cap": "0.3"}, 0.3}, {policy.Params{"capped": "all"}, 0.5}, {policy.Params{"capped": "job", "cap": "1"}, 0}, {policy.Params{"cap": "0"}, math.SmallestNonzeroFloat64},
	} {
		jobs, r := &Jobs{}, policy.Reader{Params: c.params}
		if jobs.Caps(&r); r.Err != nil || jobs.Cap != c.cap {
			t.Errorf("%v: %v, %v", c.params, jobs.Cap, r.Err)
		}
	}
}

// Output of finished maps counts until reduces have started that fetch it.
func TestUnfetched(t *testing.T) {
	jobs := tracker(2, 3)
	jobs.Unfetched = true
	j := jobs.Arrived(mapReduce(0, 2, 4, 80, 80))
	n := &policy.Node{}
	start(jobs, j, 0, n)
	end(jobs, j, 0, n, policy.Done)
	for k, want := range []float64{40, 30, 20, 10, 0} {
		if got := jobs.Load(0); got != want {
			t.Errorf("%d reduces: %v, want %v", k, got, want)
		}
		if k < 4 {
			start(jobs, j, 1, n)
		}
	}
	end(jobs, j, 1, n, policy.Lost)
	if got := jobs.Load(0); got != 10 {
		t.Errorf("a reduce was lost: %v", got)
	}
	jobs.Left(j)
	if got := jobs.Load(0); got != 0 {
		t.Errorf("the job is gone: %v", got)
	}
}

// Whatever happens, sums and loads are those of the jobs present, and nothing is left at the end.
func TestPropertySums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := tracker(4, 3)
		type running struct {
			j     *Job
			stage int
			n     *policy.Node
		}
		var present []*Job
		var run []running
		stop := func(i int, why policy.End) {
			r := run[i]
			run = slices.Delete(run, i, i+1)
			end(jobs, r.j, r.stage, r.n, why)
		}
		index := int32(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				v := mapReduce(int64(index), rapid.Int64Range(0, 4).Draw(t, "maps"), rapid.Int64Range(0, 3).Draw(t, "reduces"),
					unit.Bytes(rapid.Int64Range(0, 1e9).Draw(t, "input")), unit.Bytes(rapid.Int64Range(0, 1e9).Draw(t, "shuffle")))
				present = append(present, jobs.Arrived(v))
				index++
			case 1, 2:
				if len(present) == 0 {
					continue
				}
				j := rapid.SampledFrom(present).Draw(t, "job")
				stage := rapid.IntRange(0, len(j.Stages)-1).Draw(t, "stage")
				if j.Stages[stage].Pending > 0 {
					node := rapid.Int32Range(0, 3).Draw(t, "node")
					n := &policy.Node{Index: node, Rack: node / 2}
					start(jobs, j, stage, n)
					run = append(run, running{j, stage, n})
				}
			case 3:
				if len(run) > 0 {
					stop(rapid.IntRange(0, len(run)-1).Draw(t, "end"), rapid.SampledFrom([]policy.End{policy.Done, policy.Done, policy.Lost, policy.Undone}).Draw(t, "why"))
				}
			case 4:
				if len(present) == 0 {
					continue
				}
				k := rapid.IntRange(0, len(present)-1).Draw(t, "leaves")
				for i := len(run) - 1; i >= 0; i-- {
					if run[i].j == present[k] {
						stop(i, policy.Taken)
					}
				}
				jobs.Left(present[k])
				present = slices.Delete(present, k, k+1)
			}
			var bytes, maps, waiting int64
			for _, j := range present {
				bytes += int64(math.Round(j.Size))
				maps += j.Maps
				if j.Stages[0].Pending > 0 {
					waiting++
				}
			}
			var load [4]float64
			for _, r := range run {
				if r.j.IsMap(r.stage) {
					load[r.n.Index] += r.j.MapOutput()
				}
			}
			if bytes != jobs.bytes || maps != jobs.maps || waiting != jobs.pendingMaps {
				t.Fatalf("%d bytes, %d maps, %d waiting; want %d, %d, %d", jobs.bytes, jobs.maps, jobs.pendingMaps, bytes, maps, waiting)
			}
			for i := range load {
				if got := jobs.Load(int32(i)); math.Abs(got-load[i]) > 1e-6*load[i] {
					t.Fatalf("node %d: %v, want %v", i, got, load[i])
				}
			}
		}
	})
}
