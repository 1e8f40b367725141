package yarn

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/policy/rm"
	capacityrm "github.com/yardmaster/yardmaster/policy/rm/capacity"
	fairrm "github.com/yardmaster/yardmaster/policy/rm/fair"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/marp"
	"github.com/yardmaster/yardmaster/steer/steertest"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// sharing is a scheduler with one queue and a share for its AMs.
func sharing(t rapid.TB, rule amlimit.Limit, share float64) rm.Scheduler {
	t.Helper()
	return scheduler(t, rule, fmt.Sprintf(`<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>default</value></property>
<property><name>yarn.scheduler.capacity.root.default.capacity</name><value>100</value></property>
<property><name>yarn.scheduler.capacity.root.default.maximum-am-resource-percent</name><value>%v</value></property>
</configuration>`, share), fmt.Sprintf(`<allocations><queue name="default"><maxAMShare>%v</maxAMShare></queue><queue name="other"/>
<queuePlacementPolicy><rule name="specified"/><rule name="default" queue="default"/></queuePlacementPolicy></allocations>`, share))
}

// scheduler is one of the two, with its own of two files.
func scheduler(t rapid.TB, rule amlimit.Limit, capacityXML, fairXML string) (sched rm.Scheduler) {
	t.Helper()
	var err error
	if rule == amlimit.Capacity {
		c, e := conf.ReadCapacity(strings.NewReader(capacityXML), "capacity-scheduler.xml")
		if e != nil {
			t.Fatal(e)
		}
		sched, err = capacityrm.New(c, conf.DefaultSite())
	} else {
		c, e := conf.ReadFair(strings.NewReader(fairXML), "fair-scheduler.xml")
		if e != nil {
			t.Fatal(e)
		}
		sched, err = fairrm.New(c, conf.DefaultSite())
	}
	if err != nil {
		t.Fatal(err)
	}
	return sched
}

// How many of 24 jobs run at once at each share, played: AMs of 2048 MiB in a queue of 52,224 MiB. They register a minute after their
// start: until then nothing else wants room.
func TestSlotsOfAShare(t *testing.T) {
	total, am := unit.Resources{Mem: 52_224, Cores: 10_000}, unit.Resources{Mem: 2048, Cores: 1}
	for _, c := range []struct {
		name  string
		rule  amlimit.Limit
		slots [16]int64
	}{
		{"fair", amlimit.Fair, [16]int64{0, 0, 1, 1, 1, 2, 2, 2, 3, 4, 5, 5, 6, 7, 12, 22}},
		// Rounded up to whole minimum allocations of 1024 MiB; one AM may always start.
		{"capacity", amlimit.Capacity, [16]int64{1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 5, 5, 6, 8, 13, 23}},
	} {
		for i, share := range []float64{0.02, 0.03, 0.05, 0.06, 0.07, 0.08, 0.09, 0.10, 0.13, 0.17, 0.20, 0.21, 0.25, 0.30, 0.50, 0.90} {
			var jobs workload.Slice
			for k := range 24 {
				j := mr(fmt.Sprint("j", k), 0, 1, 100*s, 0, 0)
				j.AM = am
				jobs = append(jobs, j)
			}
			timing := Hadoop()
			timing.AMStart = unit.Minute
			l := &steertest.Looks{At: []unit.Time{50 * s}}
			out, sum := play(t, Config{Cluster: cluster.Uniform(1, 1, total), Timing: timing, Seed: 1, Steerer: l}, sharing(t, c.rule, share), jobs...)
			var got int64
			for _, r := range out.conts {
				if r.Stage == policy.AMStage && r.Allocated < 50*s {
					got++
				}
			}
			want := c.slots[i]
			if got != want || (want > 0) != (sum.Finished == 24) || (want > 0) == (sum.Stuck == 24) {
				t.Errorf("%s at %v: %d AMs at once, want %d; %d jobs finished, %d are stuck", c.name, share, got, want, sum.Finished, sum.Stuck)
			}
			if rule := c.rule.Slots(total, am, gb, share); rule != got {
				t.Errorf("%s at %v: %d AMs at once, and the controllers' arithmetic says %d", c.name, share, got, rule)
			}
			q := l.Seen[1].Queues[0]
			if q.Name != "root.default" || q.AMShare != share || int64(q.Running) != want || int64(q.Waiting) != 24-want || q.AMs != am.Times(want) || q.Capacity.Mem != total.Mem {
				t.Errorf("%s at %v: it shows %+v", c.name, share, q)
			}
		}
	}
}

// What a ResourceManager shows of the job of TestMapReduceTimeline: its AM is given at 1.3 s, registers at 5.3 s, its map works from 9.3 s
// to 19.3 s and its reduce from 23.3 s to 28.3 s; it ends at 28.5 s, and its AM stays until 33.5 s. Their containers are its own from 6.3 s to 19.5 s
// and from 20.5 s to 28.5 s.
func TestWhatASteererSees(t *testing.T) {
	l := &steertest.Looks{At: []unit.Time{10 * ms, s, 3 * s, 8 * s, 14300 * ms, 22 * s, 25800 * ms, 30 * s, 40 * s}}
	cfg := oneNode(10)
	cfg.Steerer = l
	out, sum := play(t, cfg, sharing(t, amlimit.Capacity, 0.5), mr("j", 0, 1, 10*s, 1, 5*s))
	if sum.Finished != 1 || out.jobs[0].Finish != 28500*ms {
		t.Fatalf("%+v", out.jobs)
	}
	queue := func(running int, containers int64, ams int64) steer.Queue {
		return steer.Queue{Name: "root.default", Used: gb.Times(containers), Containers: containers, Running: running, Capacity: gb.Times(10), Ceiling: unit.Resources{Mem: 10 * 1024}, AMs: gb.Times(ams), AMShare: 0.5}
	}
	job := func(containers, pending, done int64, progress, maps float64) []steer.Job {
		return []steer.Job{{
			ID: "j", User: "u", Queue: "root.default", Started: containers > 0, Tasks: 2, Done: done, Pending: pending, Running: containers,
			Progress: progress, Maps: maps, AM: gb, Held: gb.Times(containers),
		}}
	}
	service := func(seconds float64) steer.Service {
		return steer.Service{MemSeconds: int64(seconds * 1024), CoreSeconds: int64(seconds)}
	}
	for i, w := range []struct {
		queue steer.Queue
		jobs  []steer.Job
		idle  float64
	}{
		{queue(0, 0, 0), nil, 1},                            // at 0
		{queue(0, 0, 0), nil, 1},                            // the scheduler has not heard of it
		{queue(1, 0, 1), job(0, 1, 0, 0, 0), 1},             // activated, and given nothing yet
		{queue(1, 1, 1), job(1, 0, 0, 0, 0), 1},             // its AM starts
		{queue(1, 2, 1), job(2, 0, 0, 5, 0), 0.9},           // its map's process starts
		{queue(1, 2, 1), job(2, 0, 0, 5+45*0.5, 0.5), 0.9},  //
		{queue(1, 2, 1), job(2, 0, 1, 5+45, 1), 0.9},        // its reduce's process starts
		{queue(1, 2, 1), job(2, 0, 1, 5+45+45*0.5, 1), 0.9}, //
		{queue(0, 1, 0), nil, 1},                            // it has ended; its AM is still there, and no job runs by it
		{queue(0, 0, 0), nil, 1},                            // nothing is left
	} {
		got := l.Seen[i]
		if len(w.jobs) > 0 {
			w.jobs[0].Service = service([]float64{3: 0, 4: 8.4, 5: 21, 6: 35.4, 7: 43}[i]) // at 3 s: as counted at 1 s
		}
		var ended []steer.Finished
		if i == 8 {
			ended = []steer.Finished{{ID: "j", User: "u", Queue: "root.default", Status: "SUCCEEDED", Elapsed: 28500 * ms, Service: service(48.4)}}
		}
		want := steer.Snapshot{Finished: ended, Now: got.Now, Total: gb.Times(10), Used: w.queue.Used, Nodes: 1, Queues: []steer.Queue{w.queue}, Jobs: w.jobs, CPUIdle: w.idle}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })); d != "" {
			t.Errorf("at %v: %s", got.Now, d)
		}
	}
	if n := len(l.Seen); n != 10 {
		t.Errorf("%d samples", n)
	}
}

// FairScheduler counts a job as pending until it has its AM.
func TestPendingUnderFair(t *testing.T) {
	l := &steertest.Looks{At: []unit.Time{s, 4 * s}}
	cfg := oneNode(10)
	cfg.Steerer = l
	play(t, cfg, sharing(t, amlimit.Fair, 0.5), mr("j", 0, 1, 10*s, 0, 0))
	if a, b := l.Seen[1].Queues[0], l.Seen[2].Queues[0]; a.Waiting != 1 || a.Running != 0 || b.Waiting != 0 || b.Running != 1 || b.AMs != gb {
		t.Errorf("%+v, then %+v", a, b)
	}
}

// AMs of SLS tell no progress of their own: what has ended counts until they hear of it.
func TestProgressNeverFalls(t *testing.T) {
	for _, timing := range []Timing{SLS(), Hadoop()} {
		var at []unit.Time
		for k := range 100 {
			at = append(at, unit.Time(k+1)*370*ms)
		}
		l := &steertest.Looks{At: at}
		cfg := oneNode(4)
		cfg.Timing, cfg.Steerer = timing, l
		play(t, cfg, sharing(t, amlimit.Capacity, 0.5), mr("j", 0, 4, 5*s, 2, 4*s))
		last := 0.0
		for _, x := range l.Seen {
			if len(x.Jobs) == 1 {
				if p := x.Jobs[0].Progress; p < last {
					t.Errorf("%v %% at %v, after %v %%", p, x.Now, last)
				} else {
					last = p
				}
			}
		}
		if last < 90 {
			t.Errorf("the last progress seen is %v %%", last)
		}
	}
}

func TestSteeringActions(t *testing.T) {
	raise := steer.Action{Kind: steer.SetQueue, Queue: "default", Property: "maximum-am-resource-percent", Value: 0.25}
	for _, c := range []struct {
		rule amlimit.Limit
		want string
	}{
		{amlimit.Fair, "set 0.1->0.25; move root.default; set refused; priority 0->3; ghost refused; kill refused"},
		{amlimit.Capacity, "set 0.1->0.25; move refused; set refused; priority 0->3; ghost refused; kill refused"},
	} {
		l := &steertest.Looks{At: []unit.Time{10 * s, 20 * s, 100 * s}, Do: map[unit.Time][]steer.Action{10 * s: {
			raise, {Kind: steer.MoveJob, Job: "a", Queue: "other"}, {Kind: steer.SetQueue, Queue: "nowhere", Property: "maxAMShare", Value: 0.1},
			{Kind: steer.SetPriority, Job: "b", Value: 3}, {Kind: steer.MoveJob, Job: "ghost", Queue: "other"}, {Kind: steer.KillJob, Job: "b"},
		}}}
		cfg := oneNode(10)
		cfg.Steerer, cfg.Sample = l, s
		out, sum := play(t, cfg, sharing(t, c.rule, 0.1), mr("a", 0, 3, 30*s, 1, 5*s), mr("b", 0, 3, 30*s, 1, 5*s))
		if n := len(sum.Receipts); sum.Finished != 2 || n != 7 || sum.Receipts[6].New != 0.1 { // the last puts back; the jobs have ended
			t.Fatalf("%+v", sum)
		}
		var got []string
		for i, name := range []string{"set", "move", "set", "priority", "ghost", "kill"} {
			r := sum.Receipts[i]
			switch {
			case r.Err != nil:
				got = append(got, name+" refused")
			case r.OldQueue != "":
				got = append(got, name+" "+r.OldQueue)
			default:
				got = append(got, fmt.Sprintf("%s %v->%v", name, r.Old, r.New))
			}
			if r.Asked != 10*s || r.InForce != 10*s {
				t.Errorf("%+v", r)
			}
		}
		if d := cmp.Diff(c.want, strings.Join(got, "; ")); d != "" {
			t.Error(d)
		}
		if q := l.Seen[1].Queues[0]; q.Running != 1 || q.Waiting != 1 {
			t.Errorf("before: %+v", q)
		}
		running := 0
		for _, q := range l.Seen[2].Queues {
			running += q.Running
		}
		if running != 2 {
			t.Errorf("after: %+v", l.Seen[2].Queues)
		}
		for _, x := range out.samples {
			for _, q := range x.Queues {
				if q.Containers < 0 || q.Mem < 0 || q.Running < 0 || q.Waiting < 0 || q.Pending < 0 || q.Name == "other" && x.To < 10*s && q.Running > 0 {
					t.Errorf("until %v: %+v", x.To, q)
				}
			}
		}
		last := out.samples[len(out.samples)-1]
		for _, q := range last.Queues {
			if q.Running != 0 || q.Waiting != 0 || q.Pending != 0 {
				t.Errorf("at the end: %+v", q)
			}
		}
	}
	// A scheduler without knobs says so, and is shown without figures.
	l := &steertest.Looks{At: []unit.Time{10 * s}, Do: map[unit.Time][]steer.Action{10 * s: {raise}}}
	cfg := oneNode(10)
	cfg.Steerer = l
	_, sum := play(t, cfg, newFIFO(), mr("a", 0, 3, 30*s, 1, 5*s))
	if len(sum.Receipts) != 1 || sum.Receipts[0].Err == nil || l.Seen[1].Queues[0].Running != 1 || l.Seen[1].Queues[0].AMShare != 0 {
		t.Errorf("%+v, %+v", sum.Receipts, l.Seen)
	}
	cfg.Delays.Poll = -1
	cfg.NewScheduler = func() (rm.Scheduler, error) { return newFIFO(), nil }
	if _, err := Run(context.Background(), cfg); err == nil {
		t.Error("a delay is negative")
	}
}

// idler samples at intervals and does nothing.
type idler struct{ every unit.Time }

func (i idler) Step(*steer.Snapshot) ([]steer.Action, unit.Time) { return nil, i.every }

// Looking changes nothing: containers and jobs are the same as in a run that nobody watches.
func TestPropertyLooksChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := rapid.SampledFrom([]amlimit.Limit{amlimit.Fair, amlimit.Capacity}).Draw(t, "rule")
		jobs := drawJobs(t, 3, rapid.Bool().Draw(t, "masters"))
		cfg := Config{Cluster: cluster.Uniform(3, 1, gb.Times(10)), Timing: rapid.SampledFrom([]Timing{SLS(), Hadoop()}).Draw(t, "timing"), Seed: 7}
		alone, sum := play(t, cfg, sharing(t, rule, 0.3), jobs...)
		cfg.Steerer = idler{unit.Time(rapid.Int64Range(100, 30_000).Draw(t, "every")) * ms}
		cfg.Delays.Sense = unit.Time(rapid.Int64Range(0, 2000).Draw(t, "sense")) * ms
		seen, sum2 := play(t, cfg, sharing(t, rule, 0.3), jobs...)
		if !reflect.DeepEqual(alone.conts, seen.conts) || !reflect.DeepEqual(alone.jobs, seen.jobs) || sum.LastFinish != sum2.LastFinish || sum.Stuck != sum2.Stuck {
			t.Fatal("a run that is watched is another one")
		}
	})
}

// recording writes down what a controller decides.
type recording struct {
	marp.Controller
	lines bytes.Buffer
}

func (r *recording) Step(seen *steer.Snapshot) ([]steer.Action, unit.Time) {
	do, again := r.Controller.Step(seen)
	fmt.Fprintln(&r.lines, r.Last())
	return do, again
}

// Whatever the controller, scheduler, clock, batch and delays: all jobs finish, what was found stands again at the end, nothing is refused, and
// the same seed gives the same run.
func TestPropertyControllersOnAYARNClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(marp.Names()).Draw(t, "controller")
		rule := rapid.SampledFrom([]amlimit.Limit{amlimit.Fair, amlimit.Capacity}).Draw(t, "rule")
		found := rapid.SampledFrom([]float64{0.05, 0.13, 0.5, 1}).Draw(t, "found")
		delays := rapid.SampledFrom([]steer.Delays{steer.FairFile(), steer.AtOnce(), {Queue: 20 * s}}).Draw(t, "delays")
		delays.Sense = rapid.SampledFrom([]unit.Time{0, s, 9 * s}).Draw(t, "sense")
		timing := rapid.SampledFrom([]Timing{SLS(), Hadoop()}).Draw(t, "timing")
		service := rapid.Bool().Draw(t, "service")
		var jobs []*workload.Job
		var at unit.Time
		for i := range rapid.IntRange(1, 8).Draw(t, "jobs") {
			at += unit.Time(rapid.IntRange(0, 60).Draw(t, "gap")) * s
			j := mr(fmt.Sprint("j", i), at, int64(rapid.IntRange(1, 40).Draw(t, "maps")), unit.Time(rapid.IntRange(1, 60).Draw(t, "map"))*s,
				int64(rapid.IntRange(0, 2).Draw(t, "reduces")), unit.Time(rapid.IntRange(1, 90).Draw(t, "reduce"))*s)
			j.AM = unit.Resources{Mem: 2048, Cores: 1}
			jobs = append(jobs, j)
		}
		run := func() (*recording, *seen, sim.Summary) {
			set := marp.Defaults(name, "root.default").On(rule)
			set.Seed, set.Value, set.Service = 3, 0.25, service
			control, err := marp.New(name, set)
			if err != nil {
				t.Fatal(err)
			}
			r := &recording{Controller: control}
			out, sum := play(t, Config{Cluster: cluster.Uniform(3, 1, gb.Times(17)), Timing: timing, Seed: 3, Steerer: r, Delays: delays}, sharing(t, rule, found), jobs...)
			return r, out, sum
		}
		r, out, sum := run()
		if sum.Finished != int64(len(jobs)) {
			t.Fatalf("%d of %d jobs finished; %v", sum.Finished, len(jobs), r.Last())
		}
		final := found
		for _, got := range sum.Receipts {
			if got.Err == nil {
				final = got.New
			} else if delays.Poll == 0 || !strings.Contains(got.Err.Error(), "written over") {
				t.Errorf("%+v", got)
			}
			if got.InForce < got.Asked || delays.Poll > 0 && got.Err == nil && (got.InForce-got.Asked <= 5*s) {
				t.Errorf("%+v", got)
			}
		}
		if final != found {
			t.Errorf("%v was found and %v is left; %v", found, final, r.Last())
		}
		again, out2, sum2 := run()
		if r.lines.String() != again.lines.String() || !reflect.DeepEqual(out, out2) || !reflect.DeepEqual(sum, sum2) {
			t.Error("the same run is another one the second time")
		}
	})
}

// A run that is cut off puts back what was found, too.
func TestCutOffRunRestores(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	control, err := marp.New("cbt", marp.Defaults("cbt", "root.default").On(amlimit.Fair))
	if err != nil {
		t.Fatal(err)
	}
	var jobs workload.Slice
	for i := range 200 {
		jobs = append(jobs, mr(fmt.Sprint("j", i), 0, 400, 5*s, 1, 5*s))
	}
	sum, err := Run(ctx, Config{
		Cluster: cluster.Uniform(3, 1, gb.Times(17)), Source: jobs.Source(), NoAlone: true, Sink: &seen{}, Timing: Hadoop(), Steerer: control, Delays: steer.FairFile(),
		NewScheduler: func() (rm.Scheduler, error) { return sharing(t, amlimit.Fair, 0.05), nil }, Progress: func(sim.Progress) { stop() },
	})
	if err != nil || !sum.Partial || len(sum.Receipts) < 2 {
		t.Fatalf("%v, %+v", err, sum)
	}
	last := sum.Receipts[len(sum.Receipts)-1]
	if last.Err != nil || last.New != 0.05 || last.InForce <= last.Asked {
		t.Errorf("%+v", last)
	}
}
