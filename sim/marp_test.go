package sim_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/policy/capacity"
	"github.com/yardmaster/yardmaster/policy/fair"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/marp"
	"github.com/yardmaster/yardmaster/steer/steertest"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

const second = unit.Second

var thin = unit.Resources{Mem: 1024, Cores: 1}

// batchJob is a MapReduce job with an AM of 2 GiB.
func batchJob(id string, at unit.Time, maps, reduces int64, mapLength, reduceLength unit.Time) *workload.Job {
	j := &workload.Job{ID: id, Submit: at, Queue: "default", AM: unit.Resources{Mem: 2048, Cores: 1}, Stages: []workload.Stage{
		{Kind: workload.Map, Tasks: maps, Ask: thin, Length: workload.Fixed(mapLength)},
	}}
	if reduces > 0 {
		j.Stages = append(j.Stages, workload.Stage{Kind: workload.Reduce, Tasks: reduces, Ask: thin, Length: workload.Fixed(reduceLength),
			After: []workload.Edge{{From: 0, SlowStart: 1}}})
	}
	return j
}

func sixJobs() workload.Slice {
	var jobs workload.Slice
	for i := range 6 {
		jobs = append(jobs, batchJob(fmt.Sprint("job", i), 0, 48, 1, 20*second, 90*second))
	}
	return jobs
}

// threeNodes have 51 GiB together.
func threeNodes() *cluster.Cluster {
	return cluster.Uniform(3, 1, unit.Resources{Mem: 17 * 1024, Cores: 17})
}

// recorder writes down what a controller sees and decides, and is that controller otherwise.
type recorder struct {
	marp.Controller
	lines bytes.Buffer
	seen  []steer.Snapshot
	asked []steer.Action
	acted []unit.Time // ages of the snapshots that were acted on
}

func (r *recorder) Step(s *steer.Snapshot) ([]steer.Action, unit.Time) {
	do, again := r.Controller.Step(s)
	fmt.Fprintln(&r.lines, r.Last())
	r.seen = append(r.seen, *s)
	r.asked = append(r.asked, do...)
	for range do {
		r.acted = append(r.acted, s.Age)
	}
	return do, again
}

// failer is what *testing.T and *rapid.T have in common.
type failer interface {
	Helper()
	Fatal(args ...any)
}

// steered plays jobs under a controller.
type steered struct {
	name   string
	rule   amlimit.Limit
	share  float64
	delays steer.Delays
	seed   uint64
	change func(*marp.Settings)
	model  sim.Model
	worker sim.Worker
}

func (c steered) play(t failer, ctx context.Context, jobs workload.Slice) (*recorder, sim.Summary) {
	t.Helper()
	if c.rule.Property == "" {
		c.rule = amlimit.Fair
	}
	set := marp.Defaults(c.name, "root.default").On(c.rule)
	set.Seed, set.Value = c.seed, 0.25
	if c.change != nil {
		c.change(&set)
	}
	control, err := marp.New(c.name, set)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{Controller: control}
	sum, err := sim.Run(ctx, sim.Config{
		Cluster: threeNodes(), Source: jobs.Source(), NoAlone: true, Model: c.model, Seed: c.seed, Steerer: r, Delays: c.delays, Worker: c.worker,
		NewPolicy: func() (policy.Policy, error) {
			if c.rule == amlimit.Capacity {
				return capacity.New(capacityWith(t, c.share))
			}
			return fair.FromConf(fairWith(t, c.share))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, sum
}

// The most that a queue could hold: its maximum, and what its neighbour leaves of the cluster.
func TestCeiling(t *testing.T) {
	capacityFile, err := conf.ReadCapacity(strings.NewReader(`<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>default,other</value></property>
<property><name>yarn.scheduler.capacity.root.default.capacity</name><value>50</value></property>
<property><name>yarn.scheduler.capacity.root.default.maximum-capacity</name><value>50</value></property>
<property><name>yarn.scheduler.capacity.root.other.capacity</name><value>50</value></property>
<property><name>yarn.scheduler.capacity.root.other.user-limit-factor</name><value>-1</value></property>
</configuration>`), "capacity-scheduler.xml")
	if err != nil {
		t.Fatal(err)
	}
	fairFile, err := conf.ReadFair(strings.NewReader(`<allocations><queue name="default"><maxResources>26112 mb, 20 vcores</maxResources></queue><queue name="other"/>
<queuePlacementPolicy><rule name="specified"/></queuePlacementPolicy></allocations>`), "fair-scheduler.xml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name       string
		make       func() (policy.Policy, error)
		idle, busy unit.Resources // of default, before and while other holds nearly all
	}{
		{"capacity", func() (policy.Policy, error) { return capacity.New(capacityFile) }, unit.Resources{Mem: 26112}, unit.Resources{Mem: 9216}},
		{"fair", func() (policy.Policy, error) { return fair.FromConf(fairFile) }, unit.Resources{Mem: 26112, Cores: 20}, unit.Resources{Mem: 9216, Cores: 10}},
	} {
		l := &steertest.Looks{At: []unit.Time{second, 20 * second}}
		other := batchJob("other", 10*second, 40, 0, 60*second, 0)
		other.Queue = "other"
		if _, err := sim.Run(context.Background(), sim.Config{
			Cluster: threeNodes(), Source: workload.Slice{batchJob("one", 0, 1, 0, second, 0), other}.Source(), NoAlone: true, Steerer: l, NewPolicy: c.make,
		}); err != nil {
			t.Fatal(err)
		}
		for i, want := range []unit.Resources{c.idle, c.busy} {
			k := slices.IndexFunc(l.Seen[i+1].Queues, func(q steer.Queue) bool { return q.Name == "root.default" })
			if got := l.Seen[i+1].Queues[k].Ceiling; got != want {
				t.Errorf("%s at %v: %v, want %v", c.name, l.Seen[i+1].Now, got, want)
			}
		}
	}
}

// What a ResourceManager would show of one job, worked out by hand: 20 maps of 10 s in 51 containers less its AM's, then two reduces of
// 40 s, with containers that take 2 s to start.
func TestWhatASteererSees(t *testing.T) {
	l := &steertest.Looks{At: []unit.Time{second, 9 * second, 24 * second, 70 * second}}
	other := batchJob("other", 0, 10, 0, 30*second, 0)
	other.Deadline = 90 * second
	if _, err := sim.Run(context.Background(), sim.Config{
		Cluster: threeNodes(), Source: workload.Slice{batchJob("one", 0, 20, 2, 10*second, 40*second), other}.Source(), NoAlone: true,
		Model: sim.Model{StartUp: 2 * second}, Steerer: l,
		NewPolicy: func() (policy.Policy, error) { return fair.FromConf(fairWith(t, 0.05)) },
	}); err != nil {
		t.Fatal(err)
	}
	total := unit.Resources{Mem: 51 * 1024, Cores: 51}
	am := unit.Resources{Mem: 2048, Cores: 1}
	queue := func(running, waiting int, tasks int64) steer.Queue {
		used, ams := thin.Times(tasks), unit.Resources{}
		if running > 0 {
			used, ams = used.Add(am), am
			tasks++
		}
		return steer.Queue{Name: "root.default", Used: used, Containers: tasks, Running: running, Waiting: waiting, Capacity: total, Ceiling: total, AMs: ams, AMShare: 0.05}
	}
	want := []struct {
		now              unit.Time
		queue            steer.Queue
		idle             float64
		progress, maps   float64
		second, tasksRun float64
	}{
		{now: second, queue: queue(1, 1, 0), idle: 1},                                                         // its AM starts up
		{now: 9 * second, queue: queue(1, 1, 20), idle: 1 - 20.0/51, progress: 5 + 45*0.5, maps: 0.5},         // maps began at 4 s
		{now: 24 * second, queue: queue(1, 1, 2), idle: 1 - 2.0/51, progress: 5 + 45 + 45*0.2, maps: 1},       // reduces began at 16 s
		{now: 70 * second, queue: queue(1, 0, 10), idle: 1 - 10.0/51, progress: 5 + 90*10.0/30, maps: 1. / 3}, // the other one: maps began at 60 s
	}
	if len(l.Seen) < len(want)+1 || l.Seen[0].Now != 0 || l.Seen[0].CPUIdle != 1 || len(l.Seen[0].Jobs) != 0 || len(l.Seen[0].Queues) != 1 {
		t.Fatalf("%d samples, the first %+v", len(l.Seen), l.Seen[0])
	}
	for i, w := range want {
		s := l.Seen[i+1]
		if d := cmp.Diff([]steer.Queue{w.queue}, s.Queues); d != "" || s.Now != w.now || math.Abs(s.CPUIdle-w.idle) > 1e-12 {
			t.Errorf("at %v: idle %v, want %v; %s", s.Now, s.CPUIdle, w.idle, d)
		}
		j := s.Jobs[0]
		if math.Abs(j.Progress-w.progress) > 1e-9 || math.Abs(j.Maps-w.maps) > 1e-9 || j.AM != am || j.Queue != "root.default" {
			t.Errorf("at %v: %+v, want progress %v, maps %v", s.Now, j, w.progress, w.maps)
		}
		if tags := []string{"", "deadline:90"}[i/3]; j.Held != w.queue.Used || j.Tags != tags {
			t.Errorf("at %v: it holds %v, %q", s.Now, j.Held, j.Tags)
		}
		if s.Used != w.queue.Used || s.Total != total || s.Nodes != 3 {
			t.Errorf("at %v: %v of %v on %d nodes", s.Now, s.Used, s.Total, s.Nodes)
		}
	}
}

// Container-time is counted while containers run and after, and the end of a job is seen once.
func TestServiceAndEnds(t *testing.T) {
	l := &steertest.Looks{At: []unit.Time{5 * second, 25 * second, 50 * second, 100 * second}}
	if _, err := sim.Run(context.Background(), sim.Config{
		Cluster: threeNodes(), Source: workload.Slice{batchJob("one", 0, 20, 2, 10*second, 40*second), batchJob("two", 0, 1, 0, 70*second, 0)}.Source(), NoAlone: true, Steerer: l,
		NewPolicy: func() (policy.Policy, error) { return fair.FromConf(fairWith(t, 0.5)) },
	}); err != nil {
		t.Fatal(err)
	}
	// The AM of 2048 MiB, 20 maps of 1024 MiB to 10 s, then two reduces.
	for i, want := range []steer.Service{{}, {MemSeconds: 5 * (2048 + 20*1024), CoreSeconds: 5 * 21}, {MemSeconds: 25*2048 + (10*20+15*2)*1024, CoreSeconds: 25 + 10*20 + 15*2}} {
		if i > 0 && l.Seen[i].Jobs[0].Service != want {
			t.Errorf("at %v: %+v, want %+v", l.Seen[i].Now, l.Seen[i].Jobs[0].Service, want)
		}
	}
	one := steer.Finished{ID: "one", User: l.Seen[1].Jobs[0].User, Queue: "root.default", Status: "SUCCEEDED", Elapsed: 50 * second,
		Service: steer.Service{MemSeconds: 50*2048 + (10*20+40*2)*1024, CoreSeconds: 50 + 10*20 + 40*2}}
	two := one
	two.ID, two.Elapsed, two.Service = "two", 70*second, steer.Service{MemSeconds: 70 * 3072, CoreSeconds: 70 * 2}
	var ended []steer.Finished
	for _, s := range l.Seen {
		ended = append(ended, s.Finished...)
	}
	if d := cmp.Diff([]steer.Finished{one, two}, ended); d != "" {
		t.Error(d)
	}
}

// metered is a worker with a processor meter of its own, and progress.
type metered struct{ *plodder }

func (metered) CPUIdle() float64       { return 0.25 }
func (metered) Progress(int32) float64 { return 0.5 }

func TestSensorsOfAWorker(t *testing.T) {
	l := &steertest.Looks{At: []unit.Time{second, 5 * second}}
	if _, err := sim.Run(context.Background(), sim.Config{
		Cluster: threeNodes(), Source: workload.Slice{batchJob("one", 0, 4, 1, 10*second, 10*second)}.Source(), NoAlone: true,
		Steerer: l, Worker: metered{newPlodder()},
		NewPolicy: func() (policy.Policy, error) { return capacity.New(capacityWith(t, 0.5)) },
	}); err != nil {
		t.Fatal(err)
	}
	s := l.Seen[2]
	if s.CPUIdle != 0.25 || s.Jobs[0].Progress != 5+45*0.5 || s.Jobs[0].Maps != 0.5 {
		t.Errorf("%+v", s)
	}
	q := s.Queues[0]
	if q.Name != "root.default" || q.AMShare != 0.5 || q.AMs.Mem != 2048 || q.Capacity.Mem != 51*1024 {
		t.Errorf("%+v", q)
	}
}

// A file that is polled every 10 s and read once it is more than 5 s old takes 5 to 15 s, each as likely as the other, by the phase of
// the polls alone.
func TestPollsOfAFile(t *testing.T) {
	const runs = 4000
	var late []float64
	for seed := range uint64(runs) {
		l := &steertest.Looks{At: []unit.Time{100 * second}, Do: map[unit.Time][]steer.Action{100 * second: {share(0.1)}}}
		sum, err := sim.Run(context.Background(), sim.Config{
			Cluster: threeNodes(), Source: workload.Slice{batchJob("one", 0, 1, 0, 200*second, 0)}.Source(), NoAlone: true, Seed: seed, Steerer: l, Delays: steer.FairFile(),
			NewPolicy: func() (policy.Policy, error) { return fair.FromConf(fairWith(t, 0.05)) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(sum.Receipts) != 2 || sum.Receipts[1].New != 0.05 || sum.Receipts[0].Old != 0.05 || sum.Receipts[0].New != 0.1 || sum.Receipts[0].Err != nil {
			t.Fatalf("%+v", sum.Receipts)
		}
		r := sum.Receipts[0]
		d := r.InForce - r.Asked
		if d <= 5*second || d > 15*second {
			t.Fatalf("seed %d: in force after %v", seed, d)
		}
		late = append(late, d.Seconds())
	}
	slices.Sort(late)
	most := 0.0 // Kolmogorov and Smirnov
	for i, d := range late {
		u := (d - 5) / 10
		most = max(most, math.Abs(u-float64(i)/runs), math.Abs(u-float64(i+1)/runs))
	}
	if limit := 1.63 / math.Sqrt(runs); most > limit {
		t.Errorf("latencies are %v away from uniform on 5 to 15 s, more than %v", most, limit)
	}
}

func share(v float64) steer.Action {
	return steer.Action{Kind: steer.SetQueue, Queue: "default", Property: "maxAMShare", Value: v}
}

// A driver that wants to be heard leaves the file alone for a while: what is asked for meanwhile waits, the newest of it is written.
func TestWritesWait(t *testing.T) {
	l := &steertest.Looks{
		At: []unit.Time{100 * second, 101 * second, 102 * second, 103 * second, 200 * second},
		Do: map[unit.Time][]steer.Action{100 * second: {share(0.1)}, 101 * second: {share(0.2)}, 102 * second: {share(0.3)}, 103 * second: {share(0.4)}},
	}
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: threeNodes(), Source: workload.Slice{batchJob("one", 0, 1, 0, 300*second, 0)}.Source(), NoAlone: true, Seed: 3, Steerer: l,
		Delays:    steer.Delays{Poll: second, Age: 4 * second, Spacing: 6 * second},
		NewPolicy: func() (policy.Policy, error) { return fair.FromConf(fairWith(t, 0.05)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range sum.Receipts {
		word := fmt.Sprintf("%v at %v", r.New, int64(r.InForce/second))
		if r.Err != nil {
			word = fmt.Sprintf("%v not, at %v", r.New, int64(r.InForce/second))
		}
		got = append(got, word)
	}
	if d := cmp.Diff([]string{"0.2 not, at 102", "0.3 not, at 103", "0.1 at 104", "0.4 at 110", "0.05 at 224"}, got); d != "" {
		t.Error(d, sum.Receipts)
	}
	if end := l.Seen[len(l.Seen)-1].Queues[0].AMShare; end != 0.4 {
		t.Errorf("%v at the end", end)
	}
}

// Each write makes the file young again; one that is not read yet is lost to the next of the same property, and goes along with one of
// another.
func TestWritesOverWrites(t *testing.T) {
	weight := steer.Action{Kind: steer.SetQueue, Queue: "root.default", Property: "weight", Value: 3}
	l := &steertest.Looks{
		At: []unit.Time{100 * second, 104 * second, 108 * second, 200 * second},
		Do: map[unit.Time][]steer.Action{100 * second: {share(0.1), weight}, 104 * second: {share(0.2)}, 108 * second: {share(0.3)}},
	}
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: threeNodes(), Source: workload.Slice{batchJob("one", 0, 1, 0, 300*second, 0)}.Source(), NoAlone: true, Seed: 3, Steerer: l,
		Delays:    steer.Delays{Poll: second, Age: 5 * second},
		NewPolicy: func() (policy.Policy, error) { return fair.FromConf(fairWith(t, 0.05)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range sum.Receipts[:4] {
		late := r.InForce - 108*second
		if r.Err == nil && (late <= 5*second || late > 6*second) {
			t.Errorf("%+v: not at the first poll more than 5 s after the last write", r)
		}
		got = append(got, fmt.Sprintf("%s=%v %v", r.Action.Property, r.New, r.Err))
	}
	const over = "written over before the scheduler read it"
	if d := cmp.Diff([]string{"maxAMShare=0.1 " + over, "maxAMShare=0.2 " + over, "maxAMShare=0.3 <nil>", "weight=3 <nil>"}, got); d != "" {
		t.Error(d)
	}
	if end := l.Seen[len(l.Seen)-1].Queues[0].AMShare; end != 0.3 {
		t.Errorf("%v is in force at the end", end)
	}
	if back := sum.Receipts[4:]; len(back) != 2 || back[0].New != 0.05 || back[1].New != 1 { // one after the other, as a live driver does
		t.Errorf("put back: %+v", back)
	}
}

// Whatever the controller, scheduler, batch and delays: all jobs finish, what was found stands again at the end, no value lies outside the
// bounds, nothing is done on what is too old, and the same seed gives the same run.
func TestPropertyControllersInTheYard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := steered{
			name:  rapid.SampledFrom(marp.Names()).Draw(t, "controller"),
			rule:  rapid.SampledFrom([]amlimit.Limit{amlimit.Fair, amlimit.Capacity}).Draw(t, "rule"),
			share: rapid.SampledFrom([]float64{0.05, 0.13, 0.5, 1}).Draw(t, "found"),
			seed:  uint64(rapid.IntRange(0, 1000).Draw(t, "seed")),
			model: sim.Model{Heartbeat: rapid.SampledFrom([]unit.Time{0, second}).Draw(t, "heartbeat"), StartUp: unit.Time(rapid.IntRange(0, 3).Draw(t, "start-up")) * second},
		}
		c.delays = rapid.SampledFrom([]steer.Delays{steer.FairFile(), steer.AtOnce(), {Queue: 20 * second}}).Draw(t, "delays")
		c.delays.Sense = rapid.SampledFrom([]unit.Time{0, second, 9 * second, 11 * second}).Draw(t, "sense")
		service := rapid.Bool().Draw(t, "service")
		var set marp.Settings
		c.change = func(s *marp.Settings) { s.Service = service; set = *s }
		var jobs workload.Slice
		var at unit.Time
		for i := range rapid.IntRange(1, 8).Draw(t, "jobs") {
			at += unit.Time(rapid.IntRange(0, 60).Draw(t, "gap")) * second
			jobs = append(jobs, batchJob(fmt.Sprint("j", i), at, int64(rapid.IntRange(1, 60).Draw(t, "maps")),
				int64(rapid.IntRange(0, 2).Draw(t, "reduces")), unit.Time(rapid.IntRange(1, 60).Draw(t, "map"))*second, unit.Time(rapid.IntRange(1, 90).Draw(t, "reduce"))*second))
		}
		r, sum := c.play(t, context.Background(), jobs)
		if sum.Finished != int64(len(jobs)) {
			t.Fatalf("%d of %d jobs finished; %v", sum.Finished, len(jobs), r.Last())
		}
		final := c.share
		for _, got := range sum.Receipts {
			low := float64(2048) / (51 * 1024)
			if set.Min > 0 {
				low = set.Min
			}
			if v := got.Action.Value; (v < low-1e-9 || v > 1) && v != c.share {
				t.Errorf("%v is asked for: %s", v, got.Action.Why)
			}
			if got.Err == nil {
				final = got.New
			} else if c.delays.Poll == 0 {
				t.Errorf("%+v", got)
			}
			if got.InForce < got.Asked {
				t.Errorf("%+v", got)
			}
		}
		if final != c.share {
			t.Errorf("%v was found and %v is left; %v", c.share, final, r.Last())
		}
		for _, age := range r.acted {
			if age != c.delays.Sense || age > set.MaxAge {
				t.Errorf("acts on what is %v old", age)
			}
		}
		if c.delays.Sense > set.MaxAge && len(sum.Receipts) > 0 {
			t.Errorf("all was too old, and yet %+v", sum.Receipts)
		}
		again, sum2 := c.play(t, context.Background(), jobs)
		if r.lines.String() != again.lines.String() || len(sum.Receipts) != len(sum2.Receipts) || sum.LastFinish != sum2.LastFinish {
			t.Error("the same run is another one the second time")
		}
	})
}

// A run that is cut off puts back what was found, too.
func TestCutOffRunRestores(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	var jobs workload.Slice
	for i := range 200 {
		jobs = append(jobs, batchJob(fmt.Sprint("j", i), 0, 400, 1, 5*second, 5*second))
	}
	r, sum := steered{name: "cbt", share: 0.05, delays: steer.FairFile(), seed: 1}.play(t, ctx, jobs)
	if !sum.Partial {
		t.Skip("the run was over before anybody looked")
	}
	last := sum.Receipts[len(sum.Receipts)-1]
	if len(r.asked) == 0 || last.Err != nil || last.New != 0.05 || last.InForce <= last.Asked {
		t.Errorf("%+v", last)
	}
}

// The decisions of a short run, word for word. Run with UPDATE=1 to write them anew.
func TestDecisionLogs(t *testing.T) {
	for _, c := range []struct {
		file string
		run  steered
	}{
		{"cbtws-fair-file", steered{name: "cbtws", share: 0.05, delays: steer.Delays{Sense: second, Poll: 10 * second, Age: 5 * second}, seed: 1, model: sim.Model{Heartbeat: second, StartUp: 2 * second}}},
		{"cbt-at-once", steered{name: "cbt", rule: amlimit.Capacity, share: 0.05, delays: steer.Delays{Sense: second}, seed: 1, model: sim.Model{Heartbeat: second, StartUp: 2 * second}}},
	} {
		r, sum := c.run.play(t, context.Background(), sixJobs())
		for _, got := range sum.Receipts {
			fmt.Fprintf(&r.lines, "asked=%v in-force=%v %v -> %v %v\n", got.Asked.Seconds(), got.InForce.Seconds(), got.Old, got.New, got.Err)
		}
		fmt.Fprintf(&r.lines, "last finish=%v\n", sum.LastFinish.Seconds())
		golden := filepath.Join("testdata", "marp", c.file+".txt")
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(golden, r.lines.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), r.lines.String()); d != "" {
			t.Errorf("%s: %s", c.file, d)
		}
	}
}

// Queues have their full names, as the placement rules or a move have it; actions may leave out the root, and the timeline keeps the names
// that jobs gave.
func TestQueuesHaveFullNames(t *testing.T) {
	file := fairWith(t, 0.5)
	jobs := workload.Slice{batchJob("mine", 0, 20, 0, 10*second, 0), batchJob("theirs", 0, 20, 0, 10*second, 0), batchJob("right", 0, 20, 0, 10*second, 0)}
	jobs[0].User, jobs[1].Queue, jobs[2].Queue = "ann", "a.left", "right"
	l := &steertest.Looks{
		At: []unit.Time{second, 2 * second, 4 * second},
		Do: map[unit.Time][]steer.Action{second: {{Kind: steer.MoveJob, Job: "theirs", Queue: "root.right"}, {Kind: steer.SetQueue, Queue: "right", Property: "maxAMShare", Value: 0.25}}},
	}
	sink := &policytest.Ledger{}
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: threeNodes(), Source: jobs.Source(), NoAlone: true, Steerer: l, Sink: sink,
		NewPolicy: func() (policy.Policy, error) { return fair.FromConf(file) },
	})
	if err != nil || sum.Finished != 3 || sum.Receipts[0].Err != nil || sum.Receipts[1].Err != nil || sum.Receipts[1].Old != 0.5 {
		t.Fatalf("%v, %+v", err, sum)
	}
	where := func(s steer.Snapshot) (out []string) {
		for _, j := range s.Jobs {
			out = append(out, j.Queue)
		}
		for _, q := range s.Queues {
			out = append(out, fmt.Sprintf("%s: %d, %v", q.Name, q.Running, q.AMShare))
		}
		return out
	}
	if d := cmp.Diff([]string{"root.ann", "root.a.left", "root.right", "root.a.left: 1, 0.5", "root.ann: 1, 0.5", "root.default: 0, 0.5", "root.right: 1, 0.5"}, where(l.Seen[1])); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"root.ann", "root.right", "root.right", "root.a.left: 0, 0.5", "root.ann: 1, 0.5", "root.default: 0, 0.5", "root.right: 2, 0.25"}, where(l.Seen[2])); d != "" {
		t.Error(d)
	}
	var names []string
	for _, q := range sink.Samples[0].Queues {
		names = append(names, q.Name)
	}
	if d := cmp.Diff([]string{"default", "a.left", "right"}, names); d != "" {
		t.Error(d)
	}
}
