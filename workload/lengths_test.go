package workload

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/unit"
)

// Draws have the mean and spread that was asked for.
func TestLengthsMoments(t *testing.T) {
	const n = 200_000
	mean := 10 * unit.Second
	for _, c := range []struct {
		l        Lengths
		mean, cv float64
	}{
		{Fixed(mean), 10, 0},
		{Lengths{Kind: Exponential, A: mean}, 10, 1},
		{Lengths{Kind: LogNormal, A: mean, P: 0.5}, 10, 0.5},
		{Lengths{Kind: LogNormal, A: mean, P: 2}, 10, 2},
		{Lengths{Kind: Uniform, A: 0, B: 2 * mean}, 10, 1 / math.Sqrt(3)},
		{Lengths{Kind: Pareto, A: mean, P: 3}, 15, 1 / math.Sqrt(3)},
		{Lengths{Kind: Quantiles, Values: []unit.Time{0, mean, 2 * mean}}, 10, 1 / math.Sqrt(3)},
		{Lengths{Kind: Cost, A: 2 * unit.Second, Work: 128 * unit.MiB, Rate: float64(16 * unit.MiB)}, 10, 0},
	} {
		var sum, sq float64
		for i := range int64(n) {
			v := c.l.Draw(i, 42).Seconds()
			sum += v
			sq += v * v
		}
		m := sum / n
		cv := math.Sqrt(max(0, sq/n-m*m)) / m
		if math.Abs(m/c.mean-1) > 0.03 || math.Abs(cv-c.cv) > 0.06*(1+c.cv) {
			t.Errorf("%v: mean %.3f cv %.3f, want %.3f and %.3f", c.l.Kind, m, cv, c.mean, c.cv)
		}
	}
}

// A draw is a function of the stage, the task and the seed alone, and never negative.
func TestLengthsArePure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Lengths{
			Kind: LengthKind(rapid.IntRange(int(Quantiles), int(Cost)).Draw(t, "kind")), A: unit.Time(rapid.Int64Range(0, 1e12).Draw(t, "a")),
			P: rapid.Float64Range(0.01, 10).Draw(t, "p"), Work: unit.Bytes(rapid.Int64Range(0, 1e15).Draw(t, "work")), Rate: rapid.Float64Range(1, 1e10).Draw(t, "rate"),
		}
		l.B = l.A + unit.Time(rapid.Int64Range(0, 1e12).Draw(t, "b"))
		v := unit.Time(0)
		for range rapid.IntRange(1, 20).Draw(t, "n") {
			v += unit.Time(rapid.Int64Range(0, 1e10).Draw(t, "step"))
			l.Values = append(l.Values, v)
		}
		if err := l.Validate(1); err != nil {
			t.Fatal(err)
		}
		i, seed := rapid.Int64Range(0, 1e12).Draw(t, "i"), rapid.Uint64().Draw(t, "seed")
		a := l.Draw(i, seed)
		l.Draw(i+1, seed+1)
		if b := l.Draw(i, seed); a != b || a < 0 {
			t.Fatalf("draws %v and %v", a, b)
		}
		if l.Kind == Quantiles && (a < l.Values[0] || a > v) {
			t.Fatalf("draw %v outside of %v to %v", a, l.Values[0], v)
		}
		if c, ok := l.IsConstant(); ok && c != a {
			t.Fatalf("constant %v, drawn %v", c, a)
		}
	})
}

func TestValidate(t *testing.T) {
	ask := unit.Resources{Mem: 1, Cores: 1}
	job := func(change func(*Job)) *Job {
		j := &Job{ID: "x", Stages: []Stage{
			{Tasks: 2, Ask: ask, Length: Fixed(1)},
			{Tasks: 1, Ask: ask, Length: Fixed(1), After: []Edge{{From: 0, SlowStart: 1}}},
		}}
		change(j)
		return j
	}
	kept := func(change func(*Keep, *Stage)) func(*Job) {
		return func(j *Job) {
			j.Keep = &Keep{Ask: ask, Slots: 2, Max: 5, Ready: 0.8, Dynamic: &Dynamic{Min: 1, Initial: 2, Ratio: 0.5, Idle: unit.Minute}}
			change(j.Keep, &j.Stages[1])
		}
	}
	for want, change := range map[string]func(*Job){
		"":                         func(*Job) {},
		"has no stages":            func(j *Job) { j.Stages = nil },
		"before the workload":      func(j *Job) { j.Submit = -1 },
		"its AM asks":              func(j *Job) { j.AM.Mem = -1 },
		"-1 tasks":                 func(j *Job) { j.Stages[0].Tasks = -1 },
		"asks for containers of":   func(j *Job) { j.Stages[0].Ask = unit.Resources{} },
		"not before it":            func(j *Job) { j.Stages[1].After[0].From = 1 },
		"slow-start":               func(j *Job) { j.Stages[1].After[0].SlowStart = math.NaN() },
		"lists 1 task lengths":     func(j *Job) { j.Stages[0].Length = Lengths{Kind: List, Values: []unit.Time{1}} },
		"falls at entry 1":         func(j *Job) { j.Stages[0].Length = Lengths{Kind: Quantiles, Values: []unit.Time{2, 1}} },
		"positive tail index":      func(j *Job) { j.Stages[0].Length = Lengths{Kind: Pareto} },
		"coefficient of variation": func(j *Job) { j.Stages[0].Length = Lengths{Kind: LogNormal, P: -1} },
		"positive rate":            func(j *Job) { j.Stages[0].Length = Lengths{Kind: Cost} },
		"negative time":            func(j *Job) { j.Stages[0].Length = Fixed(-1) },
		"unknown kind":             func(j *Job) { j.Stages[0].Length = Lengths{Kind: 99} },
		"all must be positive":     func(j *Job) { j.Keep = &Keep{} },

		"keeps no containers":          func(j *Job) { j.Stages[0].Delay = 1 },
		"but the job keeps no":         func(j *Job) { j.Stages[1].Pool = "etl" },
		"a cache, but the job keeps":   func(j *Job) { j.Stages[1].Cached = 1 },
		"requests -1 containers in":    kept(func(k *Keep, _ *Stage) { k.Batch = -1 }),
		"with -1 pending at most":      kept(func(k *Keep, _ *Stage) { k.Pending = -1 }),
		"a batch takes":                kept(func(k *Keep, _ *Stage) { k.Every = -1 }),
		"a container's start takes":    kept(func(k *Keep, _ *Stage) { k.Start = -1 }),
		"warming up takes":             kept(func(k *Keep, _ *Stage) { k.Warm = MaxLength + 1 }),
		"the end takes":                kept(func(k *Keep, _ *Stage) { k.Tail = -1 }),
		"waiting for containers takes": kept(func(k *Keep, _ *Stage) { k.ReadyWait = -1 }),
		"waiting for a cache takes":    kept(func(k *Keep, _ *Stage) { k.LocalityWait = MaxLength + 1 }),
		"a backlog takes":              kept(func(k *Keep, _ *Stage) { k.Dynamic.Backlog = -1 }),
		"a sustained backlog takes":    kept(func(k *Keep, _ *Stage) { k.Dynamic.Sustained = -1 }),
		"idling takes":                 kept(func(k *Keep, _ *Stage) { k.Dynamic.Idle = -1 }),
		"idling with a cache takes":    kept(func(k *Keep, _ *Stage) { k.Dynamic.CachedIdle = -1 }),
		"idling with shuffle output":   kept(func(k *Keep, _ *Stage) { k.Dynamic.ShuffleIdle = MaxLength + 1 }),
		"with a share of NaN":          kept(func(k *Keep, _ *Stage) { k.Ready = math.NaN() }),
		"with a share of 1.5":          kept(func(k *Keep, _ *Stage) { k.Ready = 1.5 }),
		"requests -1 of what":          kept(func(k *Keep, _ *Stage) { k.Dynamic.Ratio = -1 }),
		"-1 containers at least":       kept(func(k *Keep, _ *Stage) { k.Dynamic.Min = -1 }),
		"3 containers at least, 2 at":  kept(func(k *Keep, _ *Stage) { k.Dynamic.Min = 3 }),
		"6 at first, 5 at most":        kept(func(k *Keep, _ *Stage) { k.Dynamic.Initial = 6 }),
		"with a delay of":              kept(func(_ *Keep, s *Stage) { s.Delay = -1 }),
		"its pool has 257 bytes":       kept(func(_ *Keep, s *Stage) { s.Pool = strings.Repeat("x", 257) }),
		"what 17825792 tasks cached": func(j *Job) {
			kept(func(*Keep, *Stage) {})(j)
			j.Stages = append(j.Stages[:1], slices.Repeat([]Stage{{Tasks: MaxCached, Length: Fixed(1), Cached: 1}}, 17)...)
			j.Stages[0].Tasks = MaxCached
		},
		"what stage 1 cached":            kept(func(_ *Keep, s *Stage) { s.Cached = 2 }),
		"what stage -2 cached":           kept(func(_ *Keep, s *Stage) { s.Cached = -1 }),
		"what the 2 tasks of stage 0 ca": kept(func(_ *Keep, s *Stage) { s.Cached = 1 }),
	} {
		err := job(change).Validate()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if err := job(kept(func(_ *Keep, s *Stage) { s.Delay, s.Pool, s.Cached, s.Tasks = 1, "etl", 1, 2 })).Validate(); err != nil {
		t.Error(err)
	}
}
