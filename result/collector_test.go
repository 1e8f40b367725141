package result

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// done is a finished job; times are seconds.
func done(seq int64, user, queue string, submit, start, finish, alone float64) *sim.JobRecord {
	s := unit.FromSeconds
	return &sim.JobRecord{
		Job: &workload.Job{ID: fmt.Sprint("j", seq), User: user, Queue: queue, Submit: s(submit), Stages: []workload.Stage{{Tasks: 2}, {Tasks: 1}}},
		Seq: seq, Start: s(start), Finish: s(finish), Alone: s(alone), Service: s(1800), Near: [4]int64{1, 0, 2, 3},
	}
}

func refused(seq int64, reason string) *sim.JobRecord {
	return &sim.JobRecord{
		Job: &workload.Job{ID: fmt.Sprint("r", seq), Class: "big"}, Seq: seq, Outcome: sim.Refused, Reason: reason, Start: -1, Finish: -1,
	}
}

func small() *Run {
	c := NewCollector(Options{Version: "v1.2.3", TotalMem: 4096})
	c.Job(done(1, "ann", "etl", 0, 0, 10, 10))         // wait 0, run 10, elapsed 10, slowdown 1, ratio 1
	c.Job(done(2, "ann", "etl", 0, 5, 20, 10))         // wait 5, run 15, elapsed 20, slowdown 2, ratio 4/3
	c.Job(done(3, "bob", "", 10, 12, 40, 10))          // wait 2, run 28, elapsed 30, slowdown 3, ratio 30/28
	c.Job(done(4, "", "", 40, 40, 40, 0))              // nothing to do: slowdown 1, ratio 1
	c.Job(done(5, "bob", "adhoc", 0, 1, 41.000001, 0)) // alone is not known: no slowdown
	c.Job(refused(6, "queue is full"))
	c.Job(refused(7, "no such queue"))
	c.Job(refused(8, "queue is full"))
	return c.Finish(sim.Summary{
		Submitted: 9, Finished: 5, Refused: 3, Tasks: 15, Lost: 1, LastFinish: unit.FromSeconds(41.000001),
		Busy: 5 * 1800 * unit.Second, BusyMem: 2048 * 41, Events: 77, Decisions: 16, NotModelled: []string{"preemption"},
	}, Scenario{Workload: "hand.parquet", Cluster: "2x2", ClusterTitle: "2 nodes & <4 GiB>", Scheduler: "fifo", Seed: 7}, []string{"tasks never fail"})
}

func TestFigures(t *testing.T) {
	r := small()
	for _, c := range []struct {
		name string
		got  Stats
		want Stats
	}{
		// Waits 0 0 1 2 5: mean 1.6, variance (2.56*2+0.36+0.16+11.56)/5 = 3.44; h = 4q.
		{"wait", r.Metrics.Wait, Stats{Count: 5, Mean: 1.6, CV: 1.159202, Min: 0, Median: 1, P95: 4.4, P99: 4.88, Max: 5}},
		// Slowdowns 1 1 2 3: mean 1.75, variance 2.75/4; h = 3q.
		{"slowdown", r.Metrics.Slowdown, Stats{Count: 4, Mean: 1.75, CV: 0.473804, Min: 1, Median: 1.5, P95: 2.85, P99: 2.97, Max: 3}},
		{"ann's elapsed", r.ByUser[0].Elapsed, Stats{Count: 2, Mean: 15, CV: 0.333333, Min: 10, Median: 15, P95: 19.5, P99: 19.9, Max: 20}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	if n := r.Metrics.ResponseRatio.Count; n != 5 {
		t.Errorf("%d response ratios", n)
	}
	if r.Jobs != (JobCounts{Submitted: 9, Finished: 5, Refused: 3, Unfinished: 1}) {
		t.Errorf("jobs: %+v", r.Jobs)
	}
	if r.Makespan != 41.000001 || r.ContainerHours != 2.5 || r.Utilisation != 0.5 {
		t.Errorf("makespan %v, container hours %v, utilisation %v", r.Makespan, r.ContainerHours, r.Utilisation)
	}
	// Jobs: (1+2+3+1)^2 / (4*15). Users: ann 1.5, bob 3, (none) 1: 5.5^2 / (3*12.25). Queues: etl 1.5, default 2: 3.5^2 / (2*6.25).
	if want := (Fairness{JainSlowdownUsers: 0.823129, JainSlowdownQueues: 0.98, JainSlowdownJobs: 0.816667}); r.Fairness != want {
		t.Errorf("fairness: %+v, want %+v", r.Fairness, want)
	}
	if want := (Locality{Node: 15, Rack: 10, Off: 0, None: 5}); r.Locality != want {
		t.Errorf("locality: %+v", r.Locality)
	}
	var names []string
	for _, list := range [][]Group{r.ByQueue, r.ByUser, r.ByClass} {
		for _, g := range list {
			names = append(names, g.Name)
		}
		names = append(names, "|")
	}
	if got := strings.Join(names, " "); got != "default etl adhoc | ann bob (none) | (none) big |" {
		t.Errorf("groups: %s", got)
	}
	if diff := cmp.Diff([]Refusal{{"queue is full", 2}, {"no such queue", 1}}, r.Refusals); diff != "" {
		t.Error(diff)
	}
}

func TestGoldenJSON(t *testing.T) {
	var b, again bytes.Buffer
	if err := small().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if err := small().WriteJSON(&again); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Error("the same run gave different bytes")
	}
	golden := filepath.Join("testdata", "result.json")
	if *rewrite {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("run with -rewrite if this is meant: %s", diff)
	}
	r := new(Run)
	if err := json.Unmarshal(b.Bytes(), r); err != nil {
		t.Fatal(err)
	}
	whole := small()
	whole.LeftOut = nil // for comparing runs only, not for the file
	if diff := cmp.Diff(whole, r); diff != "" {
		t.Error(diff)
	}
}

func TestEmptyAndPartial(t *testing.T) {
	r := NewCollector(Options{}).Finish(sim.Summary{}, Scenario{}, nil)
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "null") {
		t.Errorf("an empty run has nulls: %s", b.String())
	}
	c := NewCollector(Options{TotalMem: 100})
	c.Sample(&sim.Sample{From: 0, To: 10 * unit.Second})
	r = c.Finish(sim.Summary{Submitted: 1, Partial: true, BusyMem: 500}, Scenario{}, nil)
	if !r.Partial || r.Utilisation != 0.5 || r.Jobs.Unfinished != 1 {
		t.Errorf("partial run: %+v", r)
	}
}

func TestManyGroups(t *testing.T) {
	c := NewCollector(Options{})
	for i := range 1500 {
		c.Job(done(int64(i), fmt.Sprint("user", i), "q", 0, 0, 1, 1))
		c.Job(refused(int64(i), fmt.Sprint("job ", i, " is too large")))
	}
	r := c.Finish(sim.Summary{}, Scenario{}, nil)
	// 1500 users, and (none) of the refused jobs.
	if len(r.ByUser) != 1001 || r.ByUser[0].Name != Others || r.ByUser[0].Jobs != 501 {
		t.Errorf("%d users, first %+v", len(r.ByUser), r.ByUser[0])
	}
	if len(r.Assumptions) != 1 || !strings.Contains(r.Assumptions[0], "users") {
		t.Errorf("assumptions: %q", r.Assumptions)
	}
	if len(r.Refusals) != 20 || r.Refusals[0] != (Refusal{Others, 500}) {
		t.Errorf("%d refusals, first %v", len(r.Refusals), r.Refusals[0])
	}
}

// TestSketch: the switch happens past the limit, and afterwards each quantile is within the bound of the nearest rank; what is beyond the
// sketch's ten years counts as ten years, or as the least value if that is beyond them too.
func TestSketch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		scale := math.Pow(10, rapid.Float64Range(-3, 6).Draw(t, "scale"))
		var exact, sketch series
		n := rapid.IntRange(1, 400).Draw(t, "n")
		at := rapid.IntRange(0, n).Draw(t, "switch")
		for i := range n {
			if i == at {
				sketch.toSketch()
			}
			v := scale * math.Exp(2*rnd.NormFloat64())
			exact.add(v)
			sketch.add(v)
		}
		sketch.toSketch()
		exact.sort()
		for _, q := range []float64{0.5, 0.95, 0.99} {
			rank := min(n, max(1, int(q*float64(n)+0.5)))
			want, got := max(exact.min, min(exact.values[rank-1], float64(sketchMax)*sketchStep)), sketch.quantile(q)
			if math.Abs(got-want) > want/1000+sketchStep {
				t.Fatalf("quantile %v of %d: %v, want %v", q, n, got, want)
			}
		}
		a, b := exact.stats(), sketch.stats()
		if a.Mean != b.Mean || a.CV != b.CV || a.Min != b.Min || a.Max != b.Max || a.Count != b.Count {
			t.Fatalf("exact %+v, sketch %+v", a, b)
		}
	})
}

func TestSwitchOnTheFly(t *testing.T) {
	fill := func(limit int) (*Collector, *Run) {
		c := NewCollector(Options{ExactLimit: limit})
		rnd := rand.New(rand.NewPCG(1, 1))
		for i := range 40_000 {
			wait := math.Round(1e6*rnd.ExpFloat64()*100) / 1e6
			c.Job(done(int64(i), fmt.Sprint("u", i%3), "q", 0, wait, wait+30, 30))
		}
		return c, c.Finish(sim.Summary{Finished: 40_000}, Scenario{}, nil)
	}
	ec, e := fill(40_000)
	sc, s := fill(1000)
	if e.Quantiles != "exact" || s.Quantiles != "sketch" {
		t.Fatalf("%s and %s", e.Quantiles, s.Quantiles)
	}
	if sc.wait.values != nil || sc.queues.list[0].wait.sketch == nil || sc.users.list[0].wait.sketch != nil {
		t.Error("large groups should be sketches and small ones exact")
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= 2e-3*a+2e-4 }
	for _, p := range [][2]Stats{{e.Metrics.Wait, s.Metrics.Wait}, {e.Metrics.Slowdown, s.Metrics.Slowdown}, {e.ByQueue[0].Elapsed, s.ByQueue[0].Elapsed}} {
		if !near(p[0].Median, p[1].Median) || !near(p[0].P95, p[1].P95) || !near(p[0].P99, p[1].P99) || p[0].Mean != p[1].Mean {
			t.Errorf("exact %+v\nsketch %+v", p[0], p[1])
		}
	}
	if diff := cmp.Diff(e.ByUser, s.ByUser); diff != "" {
		t.Error(diff)
	}
	checkCurves(t, ec.Curves(), e)
	checkCurves(t, sc.Curves(), s)
}

func checkCurves(t *testing.T, cs Curves, r *Run) {
	t.Helper()
	for _, c := range []struct {
		curve Curve
		stats Stats
	}{{cs.Wait, r.Metrics.Wait}, {cs.Elapsed, r.Metrics.Elapsed}, {cs.Slowdown, r.Metrics.Slowdown}} {
		n := len(c.curve.X)
		if n == 0 || n > 2000 || n != len(c.curve.Y) || c.curve.Y[n-1] != 1 || math.Abs(c.curve.X[n-1]-c.stats.Max) > 1e-3*c.stats.Max {
			t.Fatalf("curve of %d points, up to %v, %v", n, c.curve.X[n-1], c.stats.Max)
		}
		for i := 1; i < n; i++ {
			if c.curve.X[i] <= c.curve.X[i-1] || c.curve.Y[i] < c.curve.Y[i-1] {
				t.Fatalf("point %d does not rise", i)
			}
			if c.curve.Y[i-1] < 0.5 && c.curve.Y[i] >= 0.5 && math.Abs(c.curve.X[i]-c.stats.Median) > 0.02*c.stats.Median {
				t.Errorf("the curve has the median at %v, not %v", c.curve.X[i], c.stats.Median)
			}
		}
	}
}

func BenchmarkCollector(b *testing.B) {
	c := NewCollector(Options{})
	r := done(1, "ann", "etl", 0, 5, 20, 10)
	for b.Loop() {
		c.Job(r)
	}
}
