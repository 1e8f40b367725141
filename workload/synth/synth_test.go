package synth

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

func all(t testing.TB, c Config) workload.Slice {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := workload.ReadAll(s)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

// work is the container-seconds of jobs.
func work(jobs workload.Slice, queue string) float64 {
	sum := 0.0
	for i, j := range jobs {
		if queue != "" && j.Queue != queue {
			continue
		}
		for k := range j.Stages {
			s := &j.Stages[k]
			seed := workload.Seed(uint64(i), uint64(k))
			for task := range s.Tasks {
				sum += s.Length.Draw(task, seed).Seconds()
			}
		}
	}
	return sum
}

func simple(a Arrivals) Config {
	return Config{Jobs: 20_000, Seed: 3, Arrivals: a, Classes: []Class{{
		Name: "c", Weight: 1, Ask: cluster.Unit, Stages: MapReduce(N(2), workload.Fixed(unit.Second), N(1), workload.Fixed(unit.Second), 1),
	}}}
}

func TestArrivals(t *testing.T) {
	for _, c := range []struct {
		a    Arrivals
		scv  float64 // squared coefficient of variation of the gaps, between lo and hi
		high float64
	}{
		{Arrivals{Kind: Poisson, Rate: 0.5}, 0.95, 1.05},
		{Arrivals{Kind: Batch, Rate: 0.5, Size: 10}, 8.9, 9.1},
		{Arrivals{Kind: Bursts, Rate: 0.5, Busy: 5 * unit.Minute, Quiet: 10 * unit.Minute, Calm: 0.1}, 1.5, 20},
	} {
		t.Run(c.a.Kind.String(), func(t *testing.T) {
			jobs := all(t, simple(c.a))
			last, n := jobs[len(jobs)-1].Submit.Seconds(), float64(len(jobs))
			if rate := n / last; math.Abs(rate-0.5) > 0.05 {
				t.Errorf("rate %v", rate)
			}
			sum, sq := 0.0, 0.0
			for i := 1; i < len(jobs); i++ {
				g := (jobs[i].Submit - jobs[i-1].Submit).Seconds()
				sum, sq = sum+g, sq+g*g
			}
			mean := sum / (n - 1)
			if scv := sq/(n-1)/(mean*mean) - 1; scv < c.scv-1e-9 || scv > c.high+1e-9 {
				t.Errorf("squared coefficient of variation %v", scv)
			}
		})
	}
	once := simple(Arrivals{Kind: Batch, Size: 7, Start: unit.Minute})
	jobs := all(t, once)
	if len(jobs) != 7 || jobs[6].Submit != unit.Minute {
		t.Errorf("one batch: %d jobs", len(jobs))
	}
}

func TestCounts(t *testing.T) {
	for _, c := range []struct {
		name      string
		c         Count
		mean, tol float64
		lo, hi    int64
	}{
		{"same", N(7), 7, 0, 7, 7},
		{"between", Count{Kind: Between, Min: 2, Max: 4}, 3, 0.02, 2, 4},
		{"pareto", Count{Kind: BoundedPareto, Min: 1, Max: 1, Shape: 2}, 1, 0, 1, 1},
		{"pareto tail", Count{Kind: BoundedPareto, Min: 1, Max: 1000, Shape: 1}, 6.4, 0.6, 1, 1000},
		{"lognormal", Count{Kind: LogNormal, Mid: 100, Shape: 0.5, Min: 1, Max: 10000}, 100 * math.Exp(0.125), 1, 1, 10000},
		{"share", Count{Kind: Share, Mid: 0.25, Min: 1, Max: 50}, 25, 0, 25, 25},
	} {
		if err := c.c.validate(true); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		sum, n := 0.0, 50_000
		for i := range n {
			x := c.c.draw(workload.Uniform01(1, uint64(i)), 100)
			if x < c.lo || x > c.hi {
				t.Fatalf("%s: drew %d", c.name, x)
			}
			sum += float64(x)
		}
		if mean := sum / float64(n); math.Abs(mean-c.mean) > c.tol+1e-9 {
			t.Errorf("%s: mean %v, want %v", c.name, mean, c.mean)
		}
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"no end":     {func(c *Config) { c.Jobs = 0 }, "set a number of jobs or a span"},
		"no class":   {func(c *Config) { c.Classes = nil }, "has no classes"},
		"no weight":  {func(c *Config) { c.Classes[0].Weight = 0 }, "weights of its classes"},
		"rate":       {func(c *Config) { c.Arrivals.Rate = 0 }, "poisson arrivals: a rate of 0"},
		"ask":        {func(c *Config) { c.Classes[0].Ask = unit.Resources{} }, `class "c": containers of`},
		"list":       {func(c *Config) { c.Classes[0].Stages[0].Length.Kind = workload.List }, "use quantiles"},
		"count":      {func(c *Config) { c.Classes[0].Stages[0].Tasks = Count{Kind: Share, Mid: 1, Max: 3} }, "do not fit together"},
		"slow start": {func(c *Config) { c.Classes[0].Stages[1].SlowStart = 2 }, "slow-start 2"},
	} {
		cfg := simple(Arrivals{Kind: Poisson, Rate: 1})
		c.change(&cfg)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Preset("nope"); err == nil || !strings.Contains(err.Error(), "demo, facebook") {
		t.Errorf("preset: %v", err)
	}
}

func TestDemoLoad(t *testing.T) {
	for seed := uint64(1); seed <= 5; seed++ {
		c, err := Preset("demo")
		if err != nil {
			t.Fatal(err)
		}
		c.Seed = seed
		jobs := all(t, c)
		room := 320 * c.Span.Seconds()
		text := ""
		for _, q := range []string{"adhoc", "etl", "ml"} {
			text += fmt.Sprintf(" %s %.2f", q, work(jobs, q)/room)
		}
		load := work(jobs, "") / room
		t.Logf("seed %d: %d jobs, load %.3f:%s", seed, len(jobs), load, text)
		if len(jobs) < 1300 || len(jobs) > 1700 || load < 0.75 || load > 1.05 {
			t.Errorf("seed %d: %d jobs, load %.3f", seed, len(jobs), load)
		}
		if seed == 1 && (load < 0.85 || load > 0.95) {
			t.Errorf("the load of the default seed is %.3f, want 0.85 to 0.95", load)
		}
	}
}

func TestFacebookShape(t *testing.T) {
	c, err := Preset("facebook")
	if err != nil {
		t.Fatal(err)
	}
	jobs := all(t, c)
	var maps, largest, single int64
	for _, j := range jobs {
		n := j.Stages[0].Tasks
		maps, largest = maps+n, max(largest, n)
		if n == 1 {
			single++
		}
	}
	t.Logf("%d jobs, %d maps, largest %d, %d of one map", len(jobs), maps, largest, single)
	if len(jobs) < 22_000 || len(jobs) > 27_000 || maps < 5e6 || maps > 12e6 || largest < 50_000 {
		t.Errorf("%d jobs, %d maps, largest %d", len(jobs), maps, largest)
	}
	if share := float64(single) / float64(len(jobs)); share < 0.58 || share > 0.7 {
		t.Errorf("%.3f of the jobs have one map", share)
	}
}

func genConfig(t *rapid.T) Config {
	kind := rapid.SampledFrom([]ArrivalKind{Poisson, Batch, Bursts}).Draw(t, "kind")
	arrivals := Arrivals{
		Kind: kind, Rate: rapid.Float64Range(0.01, 10).Draw(t, "rate"), Size: rapid.Int64Range(1, 20).Draw(t, "size"),
		Busy:  rapid.Custom(func(t *rapid.T) unit.Time { return unit.Time(rapid.Int64Range(1, 600).Draw(t, "s")) * unit.Second }).Draw(t, "busy"),
		Quiet: rapid.Custom(func(t *rapid.T) unit.Time { return unit.Time(rapid.Int64Range(0, 600).Draw(t, "s")) * unit.Second }).Draw(t, "quiet"),
		Calm:  rapid.Float64Range(0, 1).Draw(t, "calm"),
	}
	c := Config{Jobs: rapid.Int64Range(1, 200).Draw(t, "jobs"), Seed: rapid.Uint64().Draw(t, "seed"), Arrivals: arrivals}
	for i := range rapid.IntRange(1, 4).Draw(t, "classes") {
		k := Class{
			Name: fmt.Sprint("c", i), Weight: 1, Ask: cluster.Unit, Users: []string{"a", "b"},
			Spread: rapid.Float64Range(0, 2).Draw(t, "spread"), Deadline: rapid.Float64Range(0, 5).Draw(t, "deadline"),
			Stages: chain(rapid.IntRange(1, 7).Draw(t, "stages"), Count{Kind: Between, Max: 9}, lognormal(unit.Second, 1), unit.KiB),
		}
		for s := range k.Stages[1:] {
			k.Stages[s+1].Tasks.Min = 0
		}
		if i > 0 && rapid.Bool().Draw(t, "own") {
			k.Arrivals = &arrivals
		}
		c.Classes = append(c.Classes, k)
	}
	return c
}

func TestGeneratorProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genConfig(t)
		src, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := workload.ReadAll(src)
		if err != nil || int64(len(jobs)) != c.Jobs {
			t.Fatalf("%d jobs of %d, %v", len(jobs), c.Jobs, err)
		}
		again, _ := New(c)
		same, _ := workload.ReadAll(again)
		if !reflect.DeepEqual(jobs, same) {
			t.Fatal("the same configuration gave other jobs")
		}
		last := unit.Time(0)
		for _, j := range jobs {
			if err := j.Validate(); err != nil {
				t.Fatal(err)
			}
			if j.Submit < last {
				t.Fatalf("job %s is out of order", j.ID)
			}
			last = j.Submit
		}
		// A shorter workload is the start of a longer one.
		c.Jobs = (c.Jobs + 1) / 2
		short, _ := New(c)
		half, _ := workload.ReadAll(short)
		if !reflect.DeepEqual(jobs[:c.Jobs], half) {
			t.Fatal("the first half depends on the second")
		}
	})
}

func TestMeanAndStretch(t *testing.T) {
	for _, l := range []workload.Lengths{
		workload.Fixed(10 * unit.Second),
		{Kind: workload.Uniform, A: unit.Second, B: 9 * unit.Second},
		{Kind: workload.Exponential, A: 8 * unit.Second},
		lognormal(8*unit.Second, 0.5),
		{Kind: workload.Pareto, A: 2 * unit.Second, P: 3},
		{Kind: workload.Quantiles, Values: []unit.Time{unit.Second, 2 * unit.Second, 9 * unit.Second}},
		{Kind: workload.Cost, A: unit.Second, Work: 100, Rate: 20},
	} {
		s := Stretch(l, 2.5)
		sum, sum2, n := 0.0, 0.0, 100_000
		for i := range int64(n) {
			sum, sum2 = sum+l.Draw(i, 5).Seconds(), sum2+s.Draw(i, 5).Seconds()
		}
		if mean := sum / float64(n); math.Abs(mean-Mean(l)) > 0.02*mean {
			t.Errorf("%v: mean %v, drawn %v", l.Kind, Mean(l), mean)
		}
		if math.Abs(sum2/sum-2.5) > 0.001 {
			t.Errorf("%v: stretched by %v", l.Kind, sum2/sum)
		}
	}
}
