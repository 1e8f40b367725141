package sim_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// plodder is a worker that does what an engine without one does: a task works for its length once its stage is released.
type plodder struct {
	sim.Host
	released map[[2]int64]bool
	running  map[int32]*plod
	order    []int32
	serial   uint64
}

type plod struct {
	sim.Task
	since  unit.Time
	serial uint64
	works  bool
}

func newPlodder() *plodder {
	return &plodder{released: map[[2]int64]bool{}, running: map[int32]*plod{}}
}

func (p *plodder) Bind(h sim.Host) error        { p.Host = h; return nil }
func (p *plodder) Arrived(*workload.Job, int64) {}
func (p *plodder) Left(int64)                   {}
func (p *plodder) Progress(int32) float64       { return 0 }
func (p *plodder) Stopped(id int32)             { p.drop(id) }
func (p *plodder) Released(seq int64, stage int) {
	p.released[[2]int64{seq, int64(stage)}] = true
	for _, id := range slices.Backward(p.order) { // as the engine does: the last that came to wait is the first
		if w := p.running[id]; w.Job == seq && w.Stage == stage && !w.works {
			p.work(w)
		}
	}
}

func (p *plodder) Started(t *sim.Task) {
	p.serial++
	w := &plod{Task: *t, since: p.Now(), serial: p.serial}
	p.running[t.ID] = w
	p.order = append(p.order, t.ID)
	if p.released[[2]int64{t.Job, int64(t.Stage)}] {
		p.work(w)
	}
}

func (p *plodder) work(w *plod) {
	w.works = true
	p.At(max(w.since+w.StartUp, p.Now())+w.Length, w.serial<<32|uint64(uint32(w.ID)))
}

func (p *plodder) Wake(what uint64) {
	id := int32(uint32(what))
	if w := p.running[id]; w != nil && w.serial == what>>32 {
		p.drop(id)
		p.Done(id)
	}
}

func (p *plodder) drop(id int32) {
	delete(p.running, id)
	p.order = slices.DeleteFunc(p.order, func(o int32) bool { return o == id })
}

// A worker that only takes the time of the lengths changes nothing that can be seen in a job's figures: not when jobs start and end, nor
// what is lost with nodes. Not even where several things happen at one instant.
func TestPropertyAWorkerOfLengthsIsNoWorker(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := policytest.Cluster(t)
		jobs := policytest.Jobs(t)
		m := policytest.Model(t, c)
		m.FailTask, m.EndOnBeat, m.Speculate = 0, false, "" // it tells no progress
		spec := genSpec(t)
		seed := rapid.Uint64Range(0, 1<<40).Draw(t, "seed")
		run := func(w sim.Worker) (string, sim.Summary) {
			l := &policytest.Ledger{}
			sum, err := sim.Run(context.Background(), sim.Config{
				Cluster: c, Source: jobs.Source(), NewPolicy: maker(spec), Model: m, Seed: seed, Sink: l, Worker: w,
			})
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			for i := range l.Records {
				r := &l.Records[i]
				fmt.Fprintln(&out, r.Job.ID, r.Outcome, r.Start, r.Finish, r.Service, r.Containers, r.Lost, r.Near)
			}
			sum.Events = 0 // a wake and an end are two
			return out.String(), sum
		}
		with, sumWith := run(newPlodder())
		without, sumWithout := run(nil)
		if with != without || !reflect.DeepEqual(sumWith, sumWithout) {
			t.Fatalf("with a worker %+v\n%s\nwithout %+v\n%s", sumWith, with, sumWithout, without)
		}
	})
}

func TestAWorkerOfLengthsKeepsTime(t *testing.T) {
	mixed := []*workload.Job{mapReduce("a", 0, 7, 3, 0.5), mapReduce("b", 1500*unit.Millisecond, 20, 2, 1), mapReduce("c", 3700*unit.Millisecond, 5, 5, 0)}
	// One node that reports every two seconds: a ends at the very instant of the report that is to start b, which wants the room of a, or c,
	// which does not.
	tie := []*workload.Job{}
	for _, x := range []struct {
		submit, length unit.Time
		cores          int64
	}{{0, 4 * unit.Second, 1}, {4*unit.Second - 1, unit.Second, 2}, {4*unit.Second - 1, unit.Minute, 1}} {
		tie = append(tie, &workload.Job{ID: string(rune('a' + len(tie))), Submit: x.submit, Stages: []workload.Stage{
			{Tasks: 1, Ask: unit.Resources{Mem: 1, Cores: x.cores}, Length: workload.Fixed(x.length)}}})
	}
	for name, k := range map[string]struct {
		cluster *cluster.Cluster
		model   sim.Model
		jobs    []*workload.Job
	}{
		"containers":            {mustParse(t, "3x2/1"), sim.Model{StartUp: unit.Second}, mixed},
		"slots":                 {mustParse(t, "2x2+2/1"), sim.Model{StartUp: unit.Second}, mixed},
		"an end at a heartbeat": {cluster.Uniform(1, 1, unit.Resources{Mem: 1024, Cores: 2}), sim.Model{Heartbeat: 2 * unit.Second}, tie},
	} {
		var with, without policytest.Ledger
		for _, r := range []struct {
			l *policytest.Ledger
			w sim.Worker
		}{{&with, newPlodder()}, {&without, nil}} {
			_, err := sim.Run(context.Background(), sim.Config{
				Cluster: k.cluster, Source: workload.Slice(k.jobs).Source(), NewPolicy: maker(policy.Spec{Name: "fifo"}), Sink: r.l, Worker: r.w,
				Model: k.model,
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for i, r := range without.Records {
			if w := with.Records[i]; w.Job.ID != r.Job.ID || w.Start != r.Start || w.Finish != r.Finish || w.Service != r.Service {
				t.Errorf("%s: with a worker %+v, without %+v", name, w, r)
			}
		}
	}
}

func maker(spec policy.Spec) func() (policy.Policy, error) {
	return func() (policy.Policy, error) { return all.Policies.New(spec) }
}

func mustParse(t *testing.T, s string) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// taskLedger keeps the life of every container.
type taskLedger struct {
	policytest.Ledger
	tasks []sim.TaskRecord
}

func (l *taskLedger) Task(r *sim.TaskRecord) { l.tasks = append(l.tasks, *r) }

func TestTasksAreTold(t *testing.T) {
	l := &taskLedger{}
	c := mustParse(t, "2x2/1")
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: c, Source: workload.Slice{mapReduce("a", 0, 4, 2, 1)}.Source(), NewPolicy: maker(policy.Spec{Name: "fifo"}), Sink: l,
	})
	if err != nil || len(l.tasks) != 6 || sum.Tasks != 6 {
		t.Fatalf("%d tasks told of %d: %v", len(l.tasks), sum.Tasks, err)
	}
	var held unit.Time
	for _, r := range l.tasks {
		if r.Why != policy.Done || r.Node == "" || r.End <= r.Start {
			t.Errorf("%+v", r)
		}
		held += r.End - r.Start
	}
	if held != l.Records[0].Service {
		t.Errorf("containers were held for %v, the job was charged %v", held, l.Records[0].Service)
	}
}

func TestJobsThatFollow(t *testing.T) {
	l := &policytest.Ledger{}
	c := mustParse(t, "1x1/1")
	next := map[string]*workload.Job{"a": mapReduce("b", 5*unit.Second, 1, 0, 1), "b": mapReduce("c", 0, 1, 0, 1)}
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: c, Source: workload.Slice{mapReduce("a", 0, 1, 0, 1)}.Source(), NewPolicy: maker(policy.Spec{Name: "fifo"}), Sink: l,
		Follow: func(r *sim.JobRecord) []*workload.Job {
			if j := next[r.Job.ID]; j != nil {
				return []*workload.Job{j}
			}
			return nil
		},
	})
	if err != nil || sum.Finished != 3 {
		t.Fatalf("%+v, %v", sum, err)
	}
	for i := 1; i < 3; i++ {
		gap := l.Records[i].Job.Submit - l.Records[i-1].Finish
		if want := []unit.Time{0, 5 * unit.Second, 0}[i]; gap != want {
			t.Errorf("job %s came %v after the one before, want %v", l.Records[i].Job.ID, gap, want)
		}
	}
}

// gate holds jobs back until its timer has opened it a number of times.
type gate struct {
	policy.Order
	open, ticks int
}

func (g *gate) Tick(now unit.Time) (unit.Time, bool) {
	g.ticks++
	if g.open > 0 {
		g.open--
	}
	return now + 10*unit.Second, g.open == 0 && g.ticks < 10
}

func (g *gate) Ranked(o *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	return g.open == 0 && g.Order.Ranked(o, try)
}

func TestATimerLetsJobsStart(t *testing.T) {
	for _, opens := range []int{1, 3, 1 << 30} {
		l := &policytest.Ledger{}
		g := &gate{open: opens}
		sum, err := sim.Run(context.Background(), sim.Config{
			Cluster: mustParse(t, "1x1/1"), Source: workload.Slice{mapReduce("a", unit.Second, 1, 0, 1)}.Source(), Sink: l,
			NewPolicy: func() (policy.Policy, error) { g.Order = fifo.New(); return policy.Policy{Order: g, Timer: g}, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if opens == 1<<30 {
			if sum.Stuck != 1 {
				t.Errorf("a timer that never opens: %+v", sum)
			}
			continue
		}
		if want := max(unit.Second, unit.Time(opens-1)*10*unit.Second); l.Records[0].Start != want {
			t.Errorf("opened at tick %d: started at %v, want %v", opens, l.Records[0].Start, want)
		}
	}
}
