package plan

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

func racks(n int, containers int64) []Rack {
	out := make([]Rack, n)
	for i := range out {
		out[i] = Rack{Name: fmt.Sprint("r", i), Containers: containers}
	}
	return out
}

const gbit = 1e9 / 8

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) { // NaN is near nothing
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestElephant(t *testing.T) {
	for rate, want := range map[float64]float64{100 * gbit: 1.125e9, gbit: 11.25e6} { // 10 ms, in use for 90 % of the time
		c, _ := (&cluster.Network{Circuit: rate}).Circuits()
		near(t, "threshold", float64(c.Elephant), want)
	}
}

// Four racks, 100 units of shuffle, one reduce in each: what the busiest port sends.
func TestBalance(t *testing.T) {
	reduces := []int64{1, 1, 1, 1}
	near(t, "16/2/1/1", PortBytes(100, []int64{16, 2, 1, 1}, reduces), 60)
	near(t, "5/5/5/5", PortBytes(100, []int64{5, 5, 5, 5}, reduces), 18.75)
	near(t, "no maps", PortBytes(100, make([]int64, 4), reduces), 0)
}

func TestScore(t *testing.T) {
	near(t, "Tetris", Score([]float64{0.2, 0.3, 0.5}, []float64{0.1, 0.2, 0.3}), 0.23)
}

// example is the job and the cluster of figure 4.6. Their shuffle size, threshold and uplink are not in the source: they are fitted to it.
func example() (*Cluster, *Job) {
	return &Cluster{Racks: racks(15, 600), Uplink: 10 * gbit, Contended: 150e9 / 1212, Circuit: 100 * gbit, Elephant: 1.98e9},
		&Job{ID: "example", Maps: 3472, Reduces: 169, MapTime: 83.8, RedTime: 115.4, Shuffle: 150e9}
}

func figure(t *testing.T) (m [15][15]float64) {
	text, err := os.ReadFile("testdata/figure-4.6.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
	for i, line := range lines {
		for k, cell := range strings.Fields(line) {
			if m[i][k], err = strconv.ParseFloat(cell, 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(lines) != 15 || m[14][14] == 0 {
		t.Fatal("the figure has 15 rows and columns")
	}
	return m
}

// The default model reproduces 224 of the 225 cells; the formula as printed does not.
func TestFigure(t *testing.T) {
	c, j := example()
	printed := 0
	for i, row := range figure(t) {
		for k, want := range row {
			p := Pair{i + 1, k + 1}
			if off := math.Abs(c.Latency(j, p, Disjoint) - want); (off > 0.5) != (p == Pair{6, 13}) {
				t.Errorf("%v: %v, want %v", p, c.Latency(j, p, Disjoint), want)
			}
			if math.Abs(c.Latency(j, p, Printed)-want) > 1.5 {
				printed++
			}
		}
	}
	if printed < 100 {
		t.Errorf("the printed formula is off in %d cells only", printed)
	}
}

func TestFeasible(t *testing.T) {
	c, j := example()
	var want []Pair
	for rm := 6; rm <= 15; rm++ {
		for rr := 1; rr <= 15 && rm*rr <= 75; rr++ {
			want = append(want, Pair{rm, rr})
		}
	}
	if got := c.Feasible(j, Disjoint); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	// With a shuffle for at most two pairs of racks, no pair has the parallelism of the cluster: the shortest ones are kept if uplinks are slow.
	small := *j
	small.Shuffle = 2.1 * c.Elephant
	slow := *c
	slow.Contended = c.Contended / 100
	if got := slow.Feasible(&small, Disjoint); !slices.Equal(got, []Pair{{2, 1}}) {
		t.Errorf("got %v", got)
	}
	// Unless all racks are faster without circuits.
	if got := c.Feasible(&small, Disjoint); len(got) > 0 {
		t.Errorf("got %v", got)
	}
	small.Shuffle = c.Elephant
	if got := c.Feasible(&small, Disjoint); len(got) > 0 || !c.Heavy(&small) {
		t.Errorf("a job of just the threshold: %v, heavy %v", got, c.Heavy(&small))
	}
}

// The models agree where the racks say so.
func TestModels(t *testing.T) {
	c, j := example()
	for r := 1; r <= 8; r++ {
		near(t, "same racks", c.ShuffleTime(j, Pair{r, r}, PortLoad), c.ShuffleTime(j, Pair{r, r}, Printed))
	}
	for rm := 1; rm < 7; rm++ {
		for rr := 1; rr < 7; rr++ {
			maps, reduces := make([]int64, 14), make([]int64, 14)
			for i := range rm {
				maps[i] = 3
			}
			for i := range rr {
				reduces[13-i] = 2
			}
			near(t, "disjoint racks", PortBytes(j.Shuffle, maps, reduces)/c.Circuit, c.ShuffleTime(j, Pair{rm, rr}, Disjoint))
		}
	}
}

func randomJobs(rnd *rand.Rand, n int) []Job {
	jobs := make([]Job, n)
	for i := range jobs {
		size := math.Exp(rnd.NormFloat64()*2.5 + 1)
		jobs[i] = Job{ID: fmt.Sprint("j", i), Submit: rnd.Float64() * 1000, Maps: int64(size) + 1, Reduces: int64(size / 8), MapTime: 10 + rnd.Float64()*20,
			RedTime: 20, Input: size * 128e6}
		if jobs[i].Reduces > 0 {
			jobs[i].Shuffle = size * 60e6
		}
	}
	return jobs
}

func hybrid(n int, containers int64) Cluster {
	return Cluster{Racks: racks(n, containers), Uplink: 30 * gbit, Circuit: 100 * gbit, Elephant: 1.125e9}
}

// Sub-batches have similar demands in all dimensions, and each job is in one.
func TestSubBatches(t *testing.T) {
	c := hybrid(20, 600)
	jobs := randomJobs(rand.New(rand.NewPCG(1, 1)), 1000)
	for _, n := range []int{1, 5, 20} {
		seen := map[string]bool{}
		var low, high [3]float64
		for b, part := range subBatches(c.profiles(jobs, Disjoint), n) {
			var sum [3]float64
			for _, j := range part {
				if seen[j.ID] {
					t.Fatalf("%s twice", j.ID)
				}
				seen[j.ID] = true
				for d, v := range []float64{j.Shuffle, float64(j.Maps), float64(j.Reduces)} {
					sum[d] += v
				}
			}
			for d := range sum {
				if b == 0 || sum[d] < low[d] {
					low[d] = sum[d]
				}
				high[d] = max(high[d], sum[d])
			}
		}
		if len(seen) != len(jobs) {
			t.Errorf("%d of %d jobs", len(seen), len(jobs))
		}
		for d := range low {
			if n == 5 && high[d] > 2*low[d] {
				t.Errorf("dimension %d: from %v to %v", d, low[d], high[d])
			}
		}
	}
}

// Whatever the jobs, both planners plan every task once, in racks that exist; the file reads back as the same plan.
func TestPlansAreComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := hybrid(rapid.IntRange(1, 6).Draw(t, "racks"), rapid.Int64Range(1, 40).Draw(t, "containers"))
		if rapid.Bool().Draw(t, "electric") {
			c.Circuit = 0
		}
		jobs := randomJobs(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2)), rapid.IntRange(1, 30).Draw(t, "jobs"))
		if rapid.Bool().Draw(t, "reduce only") {
			jobs[0].Maps, jobs[0].Reduces = 0, 3
		}
		s := Settings{Planner: rapid.SampledFrom([]string{"", JobPacker, Corral}).Draw(t, "planner"), Online: rapid.Bool().Draw(t, "online"),
			Batches: rapid.IntRange(0, 7).Draw(t, "batches"), Over: rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "over"), Seed: 3}
		p, err := New(context.Background(), c, jobs, s)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.check(); err != nil {
			t.Fatal(err)
		}
		if len(p.Jobs) != len(jobs) {
			t.Fatalf("%d of %d jobs", len(p.Jobs), len(jobs))
		}
		for _, j := range p.Jobs {
			at := slices.IndexFunc(jobs, func(x Job) bool { return x.ID == j.ID })
			if s.Online && j.Start < jobs[at].Submit-1e-9 || j.Finish < j.Start {
				t.Fatalf("%+v of %+v", j, jobs[at])
			}
			if s.Planner == Corral && j.Maps >= int64(len(c.Racks)) && j.Reduces >= int64(len(c.Racks)) && !slices.Equal(j.MapRacks, j.ReduceRacks) {
				t.Fatalf("%s: maps in %v, reduces in %v", j.ID, j.MapRacks, j.ReduceRacks)
			}
			if j.Heavy && s.Planner != Corral {
				pairs := c.Feasible(&jobs[at], Disjoint)
				if !slices.Contains(pairs, Pair{len(j.MapRacks), len(j.ReduceRacks)}) && j.Maps >= int64(len(c.Racks)) && j.Reduces >= int64(len(c.Racks)) {
					t.Fatalf("%s runs in %d and %d racks, which is not feasible", j.ID, len(j.MapRacks), len(j.ReduceRacks))
				}
			}
		}
		var file bytes.Buffer
		if err := p.Write(&file); err != nil {
			t.Fatal(err)
		}
		text := file.String()
		if !Is(file.Bytes()) {
			t.Fatal("not recognised")
		}
		again, err := Read(&file)
		if err != nil {
			t.Fatal(err)
		}
		file.Reset()
		if err := again.Write(&file); err != nil || file.String() != text {
			t.Fatalf("%v: it reads back as another plan", err)
		}
	})
}

// The list scheduler never gives a container two tasks at a time: the work planned fits into the makespan.
func TestWorkFits(t *testing.T) {
	c := hybrid(4, 10)
	jobs := randomJobs(rand.New(rand.NewPCG(7, 7)), 60)
	work := 0.0
	for i := range jobs {
		work += float64(jobs[i].Maps)*jobs[i].MapTime + float64(jobs[i].Reduces)*jobs[i].RedTime
	}
	p, err := New(context.Background(), c, jobs, Settings{Batches: 5})
	if err != nil {
		t.Fatal(err)
	}
	if low := work / 40; p.Makespan < low || p.Makespan > 3*low {
		t.Errorf("a makespan of %v, at least %v", p.Makespan, low)
	}
	twice, err := New(context.Background(), c, jobs, Settings{Batches: 5, Over: 1})
	if err != nil {
		t.Fatal(err)
	}
	if twice.Makespan < 1.5*p.Makespan {
		t.Errorf("over-provisioning by 1: %v instead of %v", twice.Makespan, p.Makespan)
	}
}

// lastEnd is run without its effect.
func TestLastEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		free := rapid.SliceOfN(rapid.Float64Range(0, 100), 1, 12).Draw(t, "free")
		slices.Sort(free)
		n, from := rapid.Int64Range(1, 40).Draw(t, "n"), rapid.Float64Range(0, 120).Draw(t, "from")
		length := rapid.Float64Range(0.1, 50).Draw(t, "length")
		got := lastEnd(free, n, from, length, new([]float64))
		copied := slices.Clone(free)
		want := run(copied, n, from, length)
		if got != want || !slices.IsSorted(copied) {
			t.Fatalf("%v, want %v; %v", got, want, copied)
		}
	})
}

// Corral's list schedule in time that is kept sorted is that of racks by name.
func TestCorralCost(t *testing.T) {
	c := Cluster{Racks: racks(5, 20), Uplink: gbit}
	for seed := range uint64(20) {
		for _, online := range []bool{false, true} {
			p, err := New(context.Background(), c, randomJobs(rand.New(rand.NewPCG(seed, 1)), 25), Settings{Planner: Corral, Online: online})
			if err != nil {
				t.Fatal(err)
			}
			// No two jobs have a rack at the same time.
			for r := range int32(5) {
				end := 0.0
				jobs := slices.Clone(p.Jobs)
				slices.SortStableFunc(jobs, func(a, b Placed) int { return cmp.Compare(a.Start, b.Start) })
				for _, j := range jobs {
					if !slices.Contains(j.MapRacks, r) {
						continue
					}
					if j.Start < end-1e-9 {
						t.Fatalf("rack %d: %s starts at %v, before %v", r, j.ID, j.Start, end)
					}
					end = j.Finish
				}
			}
		}
	}
}

// Widening pays: one wide job alone gets all racks; many small ones get one each.
func TestCorralWidths(t *testing.T) {
	c := Cluster{Racks: racks(4, 10), Uplink: 100 * gbit}
	p, err := New(context.Background(), c, []Job{{ID: "wide", Maps: 400, MapTime: 100, Input: 1e9}}, Settings{Planner: Corral})
	if err != nil || len(p.Jobs[0].MapRacks) != 4 {
		t.Errorf("%v: %v", err, p.Jobs)
	}
	var small []Job
	for i := range 40 {
		small = append(small, Job{ID: fmt.Sprint(i), Maps: 10, Reduces: 1, MapTime: 100, RedTime: 100, Shuffle: 1e9, Input: 1e9})
	}
	if p, err = New(context.Background(), c, small, Settings{Planner: Corral}); err != nil {
		t.Fatal(err)
	}
	for _, j := range p.Jobs {
		if len(j.MapRacks) != 1 {
			t.Errorf("%+v", j)
		}
	}
}

func TestWrongPlans(t *testing.T) {
	c := hybrid(2, 2)
	job := Job{ID: "a", Maps: 1, MapTime: 1}
	for _, bad := range []struct {
		c    Cluster
		jobs []Job
		s    Settings
		want string
	}{
		{Cluster{}, nil, Settings{}, "without racks"},
		{Cluster{Racks: racks(1, 0), Uplink: 1}, nil, Settings{}, "no containers"},
		{Cluster{Racks: racks(1, 1)}, nil, Settings{}, "no uplink rate"},
		{c, []Job{job, job}, Settings{}, "two jobs"},
		{c, []Job{{ID: "x"}}, Settings{}, "0 maps"},
		{c, []Job{{ID: "x", Maps: 1, MapTime: math.NaN()}}, Settings{}, "from 0"},
		{c, []Job{job}, Settings{Planner: "quincy"}, "no planner"},
		{c, []Job{job}, Settings{Over: -1}, "over-provisioning"},
	} {
		if _, err := New(context.Background(), bad.c, bad.jobs, bad.s); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%v, want %q", err, bad.want)
		}
	}
	p, err := New(context.Background(), c, []Job{{ID: "with space x2", Maps: 5, MapTime: 1}}, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := p.Write(&file); err != nil {
		t.Fatal(err)
	}
	good := file.String()
	if _, err := Read(strings.NewReader(good)); err != nil {
		t.Error(err)
	}
	for _, edit := range [][3]string{
		{`"version": 1`, `"version": 2`, "version 2"},
		{`map with`, `maps with`, "not an entry"},
		{`x2 x2"`, `x2 x9"`, "more maps"},
		{`"maps": 5`, `"maps": 6`, "no rack runs 1"},
		{`map with space`, `map other`, "not in the plan"},
		{`"makespan"`, `"makspan"`, "unknown field"},
		{"\"map_racks\": [\n    0", "\"map_racks\": [\n    7", "rack 7"},
		{`"containers": 2`, `"containers": -2`, "no containers"},
	} {
		text := strings.Replace(good, edit[0], edit[1], 1)
		if text == good {
			t.Errorf("%q is not in\n%s", edit[0], good)
		}
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), edit[2]) {
			t.Errorf("%q: %v, want %q", edit[1], err, edit[2])
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"version":1,"cluster":{"uplink":1},"racks":[{"name":"a","containers":1,"run":["map j x1"]}],"jobs":[{"id":"j","maps":1}]}`)
	f.Add(`{"version":1}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := p.Write(&out); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(&out); err != nil {
			t.Fatalf("a plan that was read does not read back: %v", err)
		}
	})
}

// A thousand jobs on 20 racks of 600 containers.
func BenchmarkPlan(b *testing.B) {
	jobs := randomJobs(rand.New(rand.NewPCG(1, 1)), 1000)
	for _, planner := range []string{JobPacker, Corral} {
		b.Run(planner, func(b *testing.B) {
			for b.Loop() {
				if _, err := New(context.Background(), hybrid(20, 600), jobs, Settings{Planner: planner, Batches: 5}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func mapReduce(id string, submit unit.Time, maps, reduces int64) *workload.Job {
	ask := unit.Resources{Mem: 1024, Cores: 1}
	return &workload.Job{ID: id, Submit: submit, Stages: []workload.Stage{
		{Tasks: maps, Ask: ask, Input: 1000, Length: workload.Lengths{Kind: workload.Uniform, A: 10 * unit.Second, B: 30 * unit.Second}},
		{Kind: workload.Reduce, Tasks: reduces, Ask: ask, Length: workload.Fixed(5 * unit.Second), After: []workload.Edge{{Shuffle: 1_000_000}}},
	}}
}

func TestForecast(t *testing.T) {
	var jobs []*workload.Job
	for i := range 2000 {
		jobs = append(jobs, mapReduce(fmt.Sprint("j", i), unit.Time(i)*unit.Second, 500, 3))
	}
	exact := Forecast(jobs, unit.Second, Errors{})
	if p := exact[7]; len(exact) != 2000 || p.ID != "j7" || p.Submit != 7 || p.Maps != 500 || p.Reduces != 3 || p.Shuffle != 1e6 || p.Input != 1000 || math.Abs(p.MapTime-21) > 2 || p.RedTime != 6 {
		t.Errorf("%d predicted: %+v", len(exact), p)
	}
	e := Errors{Recurring: 0.5, Shuffle: 0.3, Shifted: 0.25, Shift: 200, Seed: 4}
	wrong := Forecast(jobs, 0, e)
	if n := len(wrong); n < 900 || n > 1100 {
		t.Errorf("%d of 2000 recur", n)
	}
	more, shifted := 0, 0
	for _, p := range wrong {
		var i int
		if _, err := fmt.Sscanf(p.ID, "j%d", &i); err != nil {
			t.Fatal(err)
		}
		if math.Abs(math.Abs(p.Shuffle-1e6)-0.3e6) > 1 {
			t.Errorf("%s: a shuffle of %v", p.ID, p.Shuffle)
		}
		if p.Shuffle > 1e6 {
			more++
		}
		if off := math.Abs(p.Submit - float64(i)); off > 200 {
			t.Errorf("%s: arrives at %v", p.ID, p.Submit)
		} else if off > 0 {
			shifted++
		}
	}
	n := float64(len(wrong))
	if math.Abs(float64(more)/n-0.5) > 0.1 || math.Abs(float64(shifted)/n-0.25) > 0.1 {
		t.Errorf("%d of %v shuffles larger, %d arrivals shifted", more, n, shifted)
	}
	if again := Forecast(jobs, 0, e); !slices.Equal(again, wrong) {
		t.Error("another forecast with the same seed")
	}
	spark := mapReduce("spark", 0, 1, 1)
	spark.Keep = &workload.Keep{}
	three := mapReduce("three", 0, 1, 1)
	three.Stages = append(three.Stages, three.Stages[1])
	if got := Forecast([]*workload.Job{spark, three}, 0, Errors{}); len(got) > 0 {
		t.Errorf("%v can be planned", got)
	}
}

// The cluster of a plan has the containers and rates of the real one.
func TestOf(t *testing.T) {
	for network, want := range map[string][3]float64{
		"racks:node=10Gbit,uplink=30Gbit,circuit=100Gbit": {30 * gbit, 100 * gbit, 1.125e9},
		"racks:node=10Gbit,oversubscription=10:1":         {30 * gbit, 0, 0},
	} {
		c, err := cluster.Parse("600x20/20")
		if err != nil {
			t.Fatal(err)
		}
		if c.Network, err = cluster.ParseNetwork(network); err != nil {
			t.Fatal(err)
		}
		got := Of(c, unit.Resources{Mem: 1024, Cores: 1})
		if len(got.Racks) != 20 || got.Racks[3].Containers != 600 || got.Racks[3].Name != c.Racks[3] {
			t.Errorf("%s: racks %v", network, got.Racks)
		}
		near(t, network, got.Uplink, want[0])
		near(t, network, got.Circuit, want[1])
		near(t, network, got.Elephant, want[2])
	}
}

// The load of uplinks: 8 GB shuffled by two racks, half of it between them, over two uplinks of 1 GB/s in 4 s.
func TestUplinkLoad(t *testing.T) {
	p := &Plan{Cluster: Cluster{Uplink: 1e9}, Makespan: 4, Jobs: []Placed{{Shuffle: 6e9}, {Shuffle: 2e9}}, Racks: make([]Sequence, 2)}
	if load, ok := p.UplinkLoad(); !ok || load != 0.5 {
		t.Errorf("%v, %v", load, ok)
	}
	p.Cluster.Uplink = noUplink
	if _, ok := p.UplinkLoad(); ok {
		t.Error("a load without a network")
	}
}
