package executors

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif"
	"github.com/yardmaster/yardmaster/workload"
)

const second = unit.Second

// list is a stage of tasks with these lengths, in seconds.
func list(name string, delay unit.Time, after []int, seconds ...int) workload.Stage {
	s := workload.Stage{Name: name, Kind: workload.Other, Tasks: int64(len(seconds)), Delay: delay, Length: workload.Lengths{Kind: workload.List}}
	for _, v := range seconds {
		s.Length.Values = append(s.Length.Values, unit.Time(v)*second)
	}
	for _, k := range after {
		s.After = append(s.After, workload.Edge{From: k, Shuffle: 1, SlowStart: 1})
	}
	return s
}

// forked is an application of two branches that meet, one of them with a task that is much longer than others, on 2 executors of 2 slots:
//
//	scan 5 s, 8 tasks of 10 s -> join 1 s, 4 tasks of 3 s, then 2 s of the driver
//	side 0 s, 3 tasks of 2 s and one of 40 s -> join
func forked() *workload.Job {
	return &workload.Job{
		ID: "app", Name: "forked", AMStart: 4 * second, AM: unit.Resources{Mem: 512, Cores: 1},
		Keep: &workload.Keep{Ask: unit.Resources{Mem: 2048, Cores: 2}, Slots: 2, Max: 2, Start: 3 * second, Tail: 2 * second, Ready: 0.8, ReadyWait: 30 * second, External: true},
		Stages: []workload.Stage{
			list("scan", 5*second, nil, 10, 10, 10, 10, 10, 10, 10, 10),
			list("side", 0, nil, 2, 2, 2, 40),
			list("join", second, []int{0, 1}, 3, 3, 3, 3),
		},
		Observed: &workload.Observed{Launch: 0, Finish: 60 * second},
	}
}

func TestBound(t *testing.T) {
	p := Plan{Job: forked()}
	b := p.bound(p.stages())
	// 4 s AM, 3 s start, side until 47 s, 1 s, join until 51 s, 2 s.
	want := Bound{Elapsed: 53, Launch: 4, Start: 3, Driver: 3, Tasks: 43, Chain: []Link{{"side", 0, 40}, {"join", 1, 3}}}
	if d := cmp.Diff(want, b); d != "" {
		t.Error(d)
	}
	p.Before = 10 * second // the driver was not ready at once
	if b := p.bound(p.stages()); b.Elapsed != 63 || b.Launch != 14 {
		t.Errorf("%+v", b)
	}
	p.Before, p.Job.Keep.Ready = 0, 0 // the driver does not wait for executors: their start hides its work
	p.Job.Stages[1].Length.Values[3] = 2 * second
	if b := p.bound(p.stages()); b.Elapsed != 4+5+10+1+3+2 || b.Chain[0].Stage != "scan" || b.Driver != 3 {
		t.Errorf("%+v", b)
	}
}

// Whatever an application is like, none of its simulations is faster than the bound.
func TestPropertyNothingIsFasterThanTheBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := policytest.Jobs(t)[0]
		if j.Tasks() == 0 {
			t.Skip("no tasks")
		}
		for i := range j.Stages {
			j.Stages[i].Gang = 0
		}
		policytest.Executors(t, j, unit.Resources{Mem: 1024, Cores: 1})
		j.AMStart = unit.Time(rapid.Int64Range(0, 5).Draw(t, "am start")) * second
		p := Plan{Job: j, Timing: rapid.SampledFrom([]*yarn.Timing{nil, new(yarn.Hadoop()), new(yarn.SLS())}).Draw(t, "timing"), Workers: 1}
		p.Before = unit.Time(rapid.Int64Range(0, 5).Draw(t, "before")) * second
		if rapid.Bool().Draw(t, "cluster") { // of fast machines, one of which its history lost
			p.Cluster = cluster.Uniform(2, 1, unit.Resources{Mem: 2048, Cores: 2})
			p.Cluster.Nodes[0].Speed = &cluster.Speed{Small: 3}
			p.Model.Losses = []sim.Loss{{Node: "node1", At: second}}
		}
		a, err := Run(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range slices.Concat(a.Rows, a.Sizes) {
			if p.Cluster != nil && r.Cores > 2 {
				t.Errorf("an executor of %d cores fits on no machine", r.Cores)
			}
			if r.Elapsed < a.Bound.Elapsed-1e-9 {
				t.Errorf("%d executors of %d cores take %v s, the bound is %v s", r.Executors, r.Cores, r.Elapsed, a.Bound.Elapsed)
			}
		}
		if b := &a.Bound; b.Launch < 0 || b.Start < 0 || math.Abs(b.Launch+b.Start+b.Driver+b.Tasks-b.Elapsed) > 1e-6 {
			t.Errorf("%+v: the parts are not the whole", *b)
		}
	})
}

func TestSkew(t *testing.T) {
	p := Plan{Job: forked()}
	// With 4 slots scan takes 20 s from 12 s on; side keeps the join waiting until 47 s instead of 32 s.
	want := []Skew{{"side", 4, 40, 2, 15}}
	if d := cmp.Diff(want, p.skew(p.stages())); d != "" {
		t.Error(d)
	}
	p.Job.Keep.Max = 1 // scan takes 40 s then: the long task costs nothing
	if s := p.skew(p.stages()); len(s) != 0 {
		t.Errorf("%+v", s)
	}
	p.Job.Keep.Max, p.Job.Stages = 4, p.Job.Stages[1:2] // its work remains: 46 s for 4 tasks
	if d := cmp.Diff([]Skew{{"side", 4, 40, 2, 28.5}}, p.skew(p.stages())); d != "" {
		t.Error(d)
	}
}

func TestSeries(t *testing.T) {
	for top, want := range map[int64][]int64{1: {1}, 2: {1, 2}, 7: {1, 2, 3, 4, 7}, 8: {1, 2, 3, 4, 6, 8}, 50: {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 50}, 2000: {8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2000}} {
		if got := Series(top); !slices.Equal(got, want) {
			t.Errorf("%d: %v, want %v", top, got, want)
		}
	}
}

func TestChoose(t *testing.T) {
	a := Answer{Rows: []Row{{Executors: 1, Elapsed: 100, GiBHours: 3}, {Executors: 2, Elapsed: 60, GiBHours: 2}, {Executors: 3, Elapsed: 55, GiBHours: 2}, {Executors: 4, Elapsed: 50, GiBHours: 4}}}
	if a.choose(); a.Enough != 2 || a.Cheapest != 2 {
		t.Errorf("enough %d, cheapest %d", a.Enough, a.Cheapest)
	}
}

func TestRun(t *testing.T) {
	for name, timing := range map[string]*yarn.Timing{"ideal": nil, "hadoop": new(yarn.Hadoop())} {
		p := Plan{Job: forked(), Timing: timing, Workers: 1}
		a, err := Run(context.Background(), p)
		if err != nil {
			t.Fatal(name, err)
		}
		var counts []int64
		for i, r := range a.Rows {
			if counts = append(counts, r.Executors); r.Elapsed < a.Bound.Elapsed || i > 0 && r.Elapsed > a.Rows[i-1].Elapsed*1.05 || r.Busy <= 0 || r.Busy > 1 {
				t.Errorf("%s: %+v, bound %v", name, r, a.Bound.Elapsed)
			}
			if math.Abs(r.GiBHours-2*r.Hours) > 1e-9 || math.Abs(r.CoreHours-2*r.Hours) > 1e-9 {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if !slices.Equal(counts, []int64{1, 2, 3, 4, 6}) || a.AsItRan != 1 || a.Observed != 60 || a.Setting != "--conf spark.executor.instances="+unit.Number(a.Rows[a.Enough].Executors) {
			t.Errorf("%s: %v, %+v", name, counts, a)
		}
		if most := a.Rows[len(a.Rows)-1]; name == "ideal" && math.Abs(most.Elapsed-a.Bound.Elapsed) > 1e-6 { // the branches side by side
			t.Errorf("%d executors take %v s, the bound is %v s", most.Executors, most.Elapsed, a.Bound.Elapsed)
		}
		if len(a.Sizes) < 2 || !strings.Contains(strings.Join(a.Why, "\n"), "Stage side waits for its longest task: 40 s, and half of its 4 tasks take at most 2 s.") {
			t.Errorf("%s: %+v %v", name, a.Sizes, a.Why)
		}
		p.Workers = 3
		if again, err := Run(context.Background(), p); err != nil || cmp.Diff(a, again) != "" {
			t.Errorf("%s: another number of workers gives another answer: %v", name, err)
		}
	}
	if _, err := Run(context.Background(), Plan{Job: &workload.Job{ID: "mr"}}); err == nil || !strings.Contains(err.Error(), "keeps no executors") {
		t.Error(err)
	}
}

// Executors of other sizes have as many slots in all, whatever a container's cores are of its slots.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		cores, slots int64
		want         []string
	}{
		{2, 2, []string{"6 of 1", "3 of 2", "2 of 4"}},
		{1, 4, []string{"3 of 1", "2 of 2"}},                                // a pod asks for less than executor.cores
		{5, 2, []string{"6 of 2", "6 of 4", "3 of 5", "2 of 8", "1 of 16"}}, // task.cpus is 2
	} {
		p := Plan{Job: forked(), Workers: 1}
		p.Job.Keep.Ask, p.Job.Keep.Slots = unit.Resources{Mem: 4096, Cores: c.cores}, c.slots
		a := Answer{Rows: []Row{{Executors: 3}}}
		if err := p.sizes(t.Context(), &a); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range a.Sizes {
			got = append(got, fmt.Sprintf("%d of %d", r.Executors, r.Cores))
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%d slots in %d cores: %s", c.slots, c.cores, d)
		}
	}
	p := Plan{Job: forked(), Workers: 1} // Spark starts no executor of 512 MiB
	p.Job.Keep.Ask.Mem = 1024
	a := Answer{Rows: []Row{{Executors: 3}}}
	if err := p.sizes(t.Context(), &a); err != nil || len(a.Sizes) != 2 || a.Sizes[0].Cores != 2 {
		t.Errorf("%+v, %v", a.Sizes, err)
	}
	o := Outcome{Freed: 0.466, Interval: []float64{0.461, 0.484}}
	if s := o.Share(); s != "47 % (46 to 48)" {
		t.Error(s)
	}
	if o.Interval[1] = 0.463; o.Share() != "47 %" {
		t.Error(o.Share())
	}
}

// With dynamic allocation the number is a limit, and the run itself had none.
func TestRunDynamic(t *testing.T) {
	j := forked()
	(&workload.Executors{Dynamic: new(true), Initial: new(int64(0))}).Apply(j)
	a, err := Run(context.Background(), Plan{Job: j})
	if err != nil {
		t.Fatal(err)
	}
	own := a.Rows[a.AsItRan]
	if !own.Unlimited || own.Count() != "no limit" || !strings.HasPrefix(a.Setting, "--conf spark.dynamicAllocation.maxExecutors=") || own.Elapsed > a.Rows[0].Elapsed {
		t.Errorf("%+v", a)
	}
}

// The nodes of a cluster are used if they have room, more of them if not, and others if none is large enough.
func TestRoom(t *testing.T) {
	j := forked()
	c := &cluster.Cluster{Racks: []string{"r"}, Nodes: []cluster.Node{{Name: "a", Room: unit.Resources{Mem: 6144, Cores: 6}}}}
	p := Plan{Job: j, Cluster: c}
	for max, nodes := range map[int64]int{2: 1, 3: 2, 8: 3} {
		j.Keep.Max = max
		if got, err := p.room(j); err != nil || len(got.Nodes) != nodes || got.Nodes[0].Room != c.Nodes[0].Room {
			t.Errorf("%d executors: %d nodes, %v", max, len(got.Nodes), err)
		}
	}
	j.Keep.Ask.Mem, j.Keep.Max = 1<<20, 8
	if got, err := p.room(j); err != nil || len(got.Nodes) != 9 || got.Nodes[0].Room.Mem != 1<<20 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSettings(t *testing.T) {
	j := forked()
	names := func(jobs ...*workload.Job) (all []string) {
		for _, s := range Settings(jobs, 3) {
			all = append(all, s.Name+": "+s.Keys+": "+strings.Join(s.Conf, "; "))
		}
		return all
	}
	const on = "spark.dynamicAllocation.enabled true"
	want := []string{
		"dynamic: dynamic=true: " + on,
		"idle 10 s: dynamic=true,idle=10s: " + on + "; spark.dynamicAllocation.executorIdleTimeout 10s",
		"max 3: dynamic=true,max=3: " + on + "; spark.dynamicAllocation.maxExecutors 3",
		"idle 10 s, max 3: dynamic=true,idle=10s,max=3: " + on + "; spark.dynamicAllocation.executorIdleTimeout 10s; spark.dynamicAllocation.maxExecutors 3",
	}
	if d := cmp.Diff(want, names(j)); d != "" {
		t.Error(d)
	}
	keep := *j.Keep
	keep.External, keep.Dynamic = false, &workload.Dynamic{Initial: 5, Min: 4}
	const refused = "max 3: dynamic=true,max=3,initial=3,min=3: " + on + "; spark.dynamicAllocation.shuffleTracking.enabled true; spark.dynamicAllocation.maxExecutors 3; " +
		"spark.dynamicAllocation.initialExecutors 3; spark.executor.instances 3; spark.dynamicAllocation.minExecutors 3"
	if got := names(&workload.Job{Keep: &keep}); len(got) != 4 || got[1] != refused || !strings.Contains(got[3], "shuffle-idle=60s: "+on+"; spark.dynamicAllocation.shuffleTracking.enabled true;") {
		t.Error(got)
	}
}

// Applications that never meet come out alike in every replay: what a setting frees is certain then, and so is whom it harms.
func TestJudgeWithoutChance(t *testing.T) {
	j := forked()
	j.Stages[2].Delay = 200 * second
	j.Keep.Max = 4
	saver := *j
	(&workload.Executors{Dynamic: new(true), Idle: new(10 * second)}).Apply(&saver)
	w := func(list ...*workload.Job) *run.Workload {
		return Label(run.Jobs(list), func(j *workload.Job) bool { return j.Keep != nil })
	}
	other := &workload.Job{ID: "mr", Submit: 10 * second, Stages: []workload.Stage{{Tasks: 1, Ask: unit.Resources{Mem: 16384, Cores: 1}, Length: workload.Fixed(second)}}}
	c := &cluster.Cluster{Racks: []string{"r"}, Nodes: []cluster.Node{{Name: "a", Room: unit.Resources{Mem: 16384, Cores: 16}}}}
	judge := func(before, after *run.Workload) *Freed {
		meters := &Meters{}
		plan := whatif.Plan{Seeds: []uint64{1, 2}, Meter: func(variant, seed int) sim.Sink { return meters.Of(variant, seed) }}
		for _, w := range []*run.Workload{before, after} {
			plan.Variants = append(plan.Variants, run.Spec{
				Cluster: c, Workload: w, Scheduler: run.Scheduler{Name: "fifo", New: func() (policy.Policy, error) { return policy.Policy{Order: fifo.New()}, nil }},
			})
		}
		got, err := whatif.Compare(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		return Judge(got, []Setting{{Name: "idle 10 s"}}, meters)
	}
	f := judge(w(j), w(&saver))
	if f.Best != 0 || !f.Settings[0].Sure || f.Settings[0].Harms || !strings.Contains(f.Sentence, "With idle 10 s they hold") {
		t.Errorf("%+v", f)
	}
	if h := f.Holders; len(h) != 1 || h[0].Name != "forked" || h[0].Jobs != 1 || h[0].Queue != "default" || h[0].Idle <= 0 || h[0].Idle >= h[0].GiBHours {
		t.Errorf("%+v", h)
	}
	early := *other
	early.Submit = 0
	if f = judge(w(&saver, &early), w(&saver, other)); f.Settings[0].Sure {
		t.Errorf("%+v: nothing is freed", f.Settings[0])
	}
}

// Executors that idle while the driver works are freed, and others wait less for them.
func TestJudge(t *testing.T) {
	var jobs workload.Slice
	for i := range 60 {
		j := &workload.Job{ID: "s" + unit.Number(int64(i)), Submit: unit.Time(i) * 100 * second, Queue: "etl", Stages: []workload.Stage{
			list("a", 0, nil, 5, 5, 5, 5, 5, 5, 5, 5), list("b", 200*second, []int{0}, 5+i%3),
		}}
		if j.Keep = forked().Keep; i%2 == 1 {
			j = &workload.Job{ID: "m" + j.ID, Submit: j.Submit, Stages: []workload.Stage{{Tasks: 2, Ask: unit.Resources{Mem: 2048, Cores: 2}, Length: workload.Fixed(20 * second)}}}
		} else {
			j.Keep.Max = 4
		}
		jobs = append(jobs, j)
	}
	own := func(j *workload.Job) bool { return j.Keep != nil }
	settings := []Setting{{Name: "nothing"}, {Name: "idle 10 s", Keys: "dynamic=true,idle=10s"}}
	c := &cluster.Cluster{Racks: []string{"r"}, Nodes: []cluster.Node{{Name: "a", Room: unit.Resources{Mem: 16384, Cores: 16}}}}
	judge := func(e *workload.Executors) *Freed {
		changed := slices.Clone(jobs)
		for i, j := range jobs {
			one := *j
			e.Apply(&one)
			changed[i] = &one
		}
		plan := whatif.Plan{Seeds: []uint64{1, 2, 3, 4, 5}}
		meters := &Meters{}
		plan.Meter = func(variant, seed int) sim.Sink { return meters.Of(variant, seed) }
		for i, s := range []workload.Slice{jobs, jobs, changed} {
			w := run.Jobs(s)
			plan.Variants = append(plan.Variants, run.Spec{
				Name: []string{"as it is", "nothing", "idle"}[i], Cluster: c, Workload: Label(w, own), Scheduler: run.Scheduler{Name: "fifo", New: func() (policy.Policy, error) { return policy.Policy{Order: fifo.New()}, nil }},
			})
		}
		got, err := whatif.Compare(context.Background(), plan)
		if err != nil {
			t.Fatal(err)
		}
		f := Judge(got, settings, meters)
		t.Log(f.Sentence)
		var asItIs, idle float64 // every replay counts
		for seed := range plan.Seeds {
			asItIs, idle = asItIs+meters.Of(0, seed).Changed.GiBHours, idle+meters.Of(2, seed).Changed.GiBHours
		}
		if o := &f.Settings[1]; math.Abs(o.Freed-(1-idle/asItIs)) > 1e-9 || math.Abs(o.Use.GiBHours-idle/5) > 1e-9 || math.Abs(f.Queues[0].GiBHours-asItIs/5) > 1e-9 || o.Use.Jobs != 30 {
			t.Errorf("%+v of %+v: %v of %v in five replays", o, f.Queues, idle, asItIs)
		}
		return f
	}
	f := judge(&workload.Executors{Dynamic: new(true), Idle: new(10 * second)})
	if f.Best != 1 || f.Settings[0].Freed != 0 || f.Settings[0].Sure || f.Settings[1].Freed < 0.5 || f.Settings[1].Harms || len(f.Queues) != 1 || f.Queues[0].Jobs != 30 {
		t.Errorf("%+v", f)
	}
	if i := f.Settings[1].Interval; len(i) != 2 || i[0] >= f.Settings[1].Freed || i[1] <= f.Settings[1].Freed || len(f.Settings[0].Interval) != 0 {
		t.Errorf("%v frees %v, nothing %v", i, f.Settings[1].Freed, f.Settings[0].Interval)
	}
	if f.Queues[0].Queue != "etl" || jobs[0].Class != "" || !strings.Contains(f.Sentence, " Of all other jobs: mean wait ") {
		t.Error(f.Sentence)
	}
	f = judge(&workload.Executors{Dynamic: new(true), Idle: new(10 * second), Max: new(int64(1)), Cores: new(int64(1))}) // slower by more than 10 %
	if f.Best != -1 || f.Most != 1 || !strings.Contains(f.Sentence, " Most is freed with idle 10 s, ") {
		t.Errorf("%+v", f)
	}
}
