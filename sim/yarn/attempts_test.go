package yarn

import (
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fair"
	fifopolicy "github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/policy/rm/adapt"
	fairrm "github.com/yardmaster/yardmaster/policy/rm/fair"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// every is each kind of AM, with its clock.
func every() map[string]Timing {
	plain := Hadoop()
	plain.AMs = PlainAMs
	return map[string]Timing{"mapreduce": Hadoop(), "plain": plain, "sls": SLS()}
}

// A task takes as long as the speed of its machine says.
func TestMachineSpeeds(t *testing.T) {
	for name, timing := range every() {
		for _, am := range []unit.Resources{{}, gb} {
			c := cluster.Uniform(1, 1, gb.Times(4))
			c.Nodes[0].Speed = &cluster.Speed{Small: 2}
			j := mr("j", 0, 2, 30*s, 1, 10*s)
			j.AM = am
			out, sum := play(t, Config{Cluster: c, Timing: timing}, newFIFO(), j)
			for _, r := range out.conts {
				want := map[int]unit.Time{0: 15 * s, 1: 5 * s}[r.Stage]
				if got := r.Ended - r.Started; sum.Finished != 1 || r.Stage == 0 && (got < want || got > want+s) || r.Stage == 1 && got < want {
					t.Errorf("%s, AM of %v: stage %d works %v, want %v", name, am, r.Stage, got, want)
				}
			}
		}
	}
}

// tally counts failed attempts.
type tally struct {
	policy.Order
	failed int64
}

func (o *tally) Ended(e *policy.Event) {
	if e.Why == policy.Failed {
		o.failed++
	}
	o.Order.Ended(e)
}

// The attempts that fail in ideal time fail on every YARN clock, and their tasks run again; a policy hears of them. A job whose task fails too often fails.
func TestFailingTasks(t *testing.T) {
	c := cluster.Uniform(4, 2, gb.Times(4))
	model := sim.Model{FailTask: 0.3, Attempts: 20, Stragglers: sim.Stragglers{Share: 0.2, Factor: 3}}
	jobs := func(am unit.Resources) (list workload.Slice) {
		for _, id := range []string{"a", "b", "c"} {
			j := mr(id, 0, 12, 20*s, 3, 10*s)
			j.AM = am
			list = append(list, j)
		}
		return list
	}
	ideal, err := sim.Run(t.Context(), sim.Config{
		Cluster: c, Source: jobs(gb).Source(), Model: model, Seed: 3, Sink: &seen{}, NoAlone: true,
		NewPolicy: func() (policy.Policy, error) { return policy.Policy{Order: fifopolicy.New()}, nil },
	})
	if err != nil || ideal.Lost == 0 {
		t.Fatalf("%+v, %v", ideal, err)
	}
	for name, timing := range every() {
		for _, am := range []unit.Resources{{}, gb} {
			o := &tally{Order: fifopolicy.New()}
			sched, err := adapt.New(policy.Policy{Order: o})
			if err != nil {
				t.Fatal(err)
			}
			cfg := Config{Cluster: c, Timing: timing, Seed: 3, FailTask: model.FailTask, Attempts: model.Attempts, Stragglers: model.Stragglers}
			_, sum := play(t, cfg, sched, jobs(am)...)
			if sum.Finished != 3 || sum.Tasks != 45 || sum.Lost != ideal.Lost || o.failed != ideal.Lost {
				t.Errorf("%s, AM of %v: %+v, heard of %d failures, and %d in ideal time", name, am, sum, o.failed, ideal.Lost)
			}
			cfg.Attempts = 1
			out, sum := play(t, cfg, newFIFO(), jobs(am)...)
			if sum.Failed != 3 || !strings.Contains(out.jobs[0].Reason, "failed 1 times") {
				t.Errorf("%s, AM of %v, one attempt: %+v, %s", name, am, sum, out.jobs[0].Reason)
			}
		}
	}
}

// A kept container runs task after task; a lost one is requested again, and its tasks run elsewhere.
func TestKeptContainers(t *testing.T) {
	for name, timing := range every() {
		for _, am := range []unit.Resources{{}, gb} {
			j := mr("j", 0, 8, 20*s, 4, 10*s)
			j.AM, j.Keep = am, &workload.Keep{Ask: gb.Times(2), Slots: 2, Max: 2}
			cfg := Config{Cluster: cluster.Uniform(3, 1, gb.Times(3)), Timing: timing, Seed: 5}
			for _, x := range []struct {
				fail       float64
				losses     []sim.Loss
				containers int
			}{{containers: 2}, {fail: 0.2, containers: 2}, {losses: []sim.Loss{{Node: "node2", At: 25 * s}}, containers: 3}} {
				cfg.FailTask, cfg.Attempts, cfg.Losses = x.fail, 20, x.losses
				out, sum := play(t, cfg, newFIFO(), j)
				kept, held := 0, unit.Time(0)
				for _, r := range out.conts {
					if r.Stage == policy.KeptStage {
						kept++
					}
					held += r.Freed - r.Allocated
				}
				if sum.Finished != 1 || sum.Tasks != 12 || kept != x.containers || sum.Stuck > 0 || x.fail > 0 && sum.Lost == 0 {
					t.Errorf("%s, AM of %v, %+v: %+v, %d kept", name, am, x, sum, kept)
				}
				if service := out.jobs[0].Service; service > held || service < 4*20*s {
					t.Errorf("%s, AM of %v, %+v: service of %v, containers held for %v", name, am, x, service, held)
				}
			}
		}
	}
}

// Gangs that could each take half of the cluster both finish, and none is half-started.
func TestGangsGather(t *testing.T) {
	for name, timing := range every() {
		for _, am := range []unit.Resources{{}, gb} {
			gang := func(id string) *workload.Job {
				j := mr(id, 0, 6, 30*s, 0, 0)
				j.User, j.Queue, j.AM, j.Stages[0].Gang = id, id, am, 6
				return j
			}
			order, err := fair.New(nil) // it gives each a part
			if err != nil {
				t.Fatal(err)
			}
			adapted, err := adapt.New(policy.Policy{Order: order})
			if err != nil {
				t.Fatal(err)
			}
			c := cluster.Uniform(2, 1, gb.Times(4))
			out, sum := play(t, Config{Cluster: c, Timing: timing}, adapted, gang("a"), gang("b"))
			if sum.Finished != 2 || sum.Tasks != 12 || sum.Decisions > 14 { // the second begins when the first is complete
				t.Errorf("%s, AM of %v: %+v %s", name, am, sum, out.jobs[0].Reason)
			}
			file, err := conf.ReadFair(strings.NewReader("<allocations/>"), "fair-scheduler.xml")
			if err != nil {
				t.Fatal(err)
			}
			own, err := fairrm.New(file, conf.DefaultSite())
			if err != nil {
				t.Fatal(err)
			}
			out, sum = play(t, Config{Cluster: c, Timing: timing}, own, gang("a"), gang("b"))
			if sum.Finished != 2 || sum.Tasks != 12 || sum.Decisions < 16 { // one gave up what it held
				t.Errorf("%s, YARN's own, AM of %v: %+v %s", name, am, sum, out.jobs[0].Reason)
			}
			began := map[int64]unit.Time{}
			held := map[int64]unit.Time{}
			for _, r := range out.conts {
				held[r.Seq] += r.Freed - r.Allocated
				if r.Stage != 0 {
					continue
				}
				if at, ok := began[r.Seq]; ok && at != r.Started {
					t.Errorf("%s, AM of %v: a task of gang %d starts at %v, another at %v", name, am, r.Seq, r.Started, at)
				}
				began[r.Seq] = r.Started
			}
			for _, r := range out.jobs {
				if r.Service > held[r.Seq] || r.Service < 6*30*s {
					t.Errorf("%s: service of %v, containers held for %v", name, r.Service, held[r.Seq])
				}
			}
		}
	}
	large := mr("large", 0, 9, 30*s, 0, 0)
	large.Stages[0].Gang = 9
	out, _ := play(t, Config{Cluster: cluster.Uniform(2, 1, gb.Times(4)), Timing: Hadoop()}, newFIFO(), large)
	if r := out.jobs[0]; r.Outcome != sim.Refused || !strings.Contains(r.Reason, "asks for 9 containers of") {
		t.Errorf("%v: %s", r.Outcome, r.Reason)
	}
	// The room of its AM is missing.
	whole := mr("whole", 0, 8, 30*s, 0, 0)
	whole.Stages[0].Gang = 8
	out, _ = play(t, Config{Cluster: cluster.Uniform(2, 1, gb.Times(4)), Timing: Hadoop()}, newFIFO(), whole)
	if r := out.jobs[0]; r.Outcome != sim.Refused || !strings.Contains(r.Reason, "has room for 7") {
		t.Errorf("%v: %s", r.Outcome, r.Reason)
	}
}
