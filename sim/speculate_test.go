package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// lives is a ledger that keeps the life of every container, too.
type lives struct {
	policytest.Ledger
	tasks []sim.TaskRecord
}

func (l *lives) Task(r *sim.TaskRecord) { l.tasks = append(l.tasks, *r) }

// oneSlow is a job of 50 tasks of 100 s of which one takes ten times as long.
func oneSlow() *workload.Job {
	j := oneStage("j", 0, 50, 0)
	j.Stages[0].Length = workload.Lengths{Kind: workload.List, Values: make([]unit.Time, 50)}
	for i := range j.Stages[0].Length.Values {
		j.Stages[0].Length.Values[i] = 100 * unit.Second
	}
	return j
}

// slowOnce is a worker of lengths under which the first attempt of task 7 takes ten times as long.
type slowOnce struct {
	*plodder
	began map[int32]unit.Time
	takes map[int32]unit.Time
	kept  map[taskName]int // what tasks left behind
	stops int
}

type taskName struct {
	seq    int64
	stage  int
	number int64
}

func newSlowOnce() *slowOnce {
	return &slowOnce{plodder: newPlodder(), began: map[int32]unit.Time{}, takes: map[int32]unit.Time{}, kept: map[taskName]int{}}
}

func (w *slowOnce) Wake(what uint64) {
	if p := w.running[int32(uint32(what))]; p != nil && p.serial == what>>32 && w.Counts(p.ID) {
		w.kept[taskName{p.Job, p.Stage, p.Number}]++
	}
	w.plodder.Wake(what)
}

func (w *slowOnce) Started(t *sim.Task) {
	c := *t
	if c.Number == 7 && !c.Copy {
		c.Length *= 10
	}
	w.began[c.ID], w.takes[c.ID] = w.Now(), c.Length
	w.plodder.Started(&c)
}

func (w *slowOnce) Progress(id int32) float64 {
	return float64(w.Now()-w.began[id]) / float64(w.takes[id])
}

func (w *slowOnce) Stopped(id int32) { w.stops++; w.plodder.Stopped(id) }

// A straggler of factor ten among 50 tasks does not hold its job up, under either rule, be it the length of a task or what a
// worker makes of it.
func TestCopyBeatsStraggler(t *testing.T) {
	c := cluster.Uniform(10, 2, cluster.Unit.Times(6))
	for _, rule := range []string{"", sim.SpeculateHadoop, sim.SpeculateLATE} {
		w := newSlowOnce()
		l := &lives{}
		sum, err := sim.Run(context.Background(), sim.Config{
			Cluster: c, Source: workload.Slice{oneSlow()}.Source(), NewPolicy: maker(policy.Spec{Name: "fifo"}), Sink: l, Worker: w,
			Model: sim.Model{Speculate: rule},
		})
		if err != nil {
			t.Fatal(err)
		}
		r := l.Records[0]
		if rule == "" {
			if r.Finish != 1000*unit.Second || r.Lost != 0 || r.Containers != 50 {
				t.Errorf("no copies: %v, %d lost, %d containers", r.Finish, r.Lost, r.Containers)
			}
			continue
		}
		// The others are done at 100 s; 60 s after its start the task is far enough behind. Its copy takes 100 s.
		if r.Finish > 210*unit.Second || r.Lost != 1 || r.Containers != 51 || sum.Tasks != 50 || w.stops != 1 || len(w.running) != 0 {
			t.Errorf("%s: %v, %d lost, %d containers, %d tasks, %d stopped", rule, r.Finish, r.Lost, r.Containers, sum.Tasks, w.stops)
		}
		if want := 50*100*unit.Second + r.Finish; r.Service != want || sum.Busy != want {
			t.Errorf("%s: service %v, busy %v; want %v", rule, r.Service, sum.Busy, want)
		}
		for _, k := range l.tasks {
			if k.Number == 7 && k.Copy != (k.Why == policy.Done) || k.Number != 7 && (k.Copy || k.Why != policy.Done) {
				t.Errorf("%s: task %d, copy %v, on %s: %v", rule, k.Number, k.Copy, k.Node, k.Why)
			}
		}
	}
}

// The same with stragglers that are drawn and lengths alone. (A copy may be a straggler itself: one in fifty.)
func TestCopiesShortenJobs(t *testing.T) {
	for _, rule := range sim.Speculations() {
		shorter := 0
		var with, without unit.Time
		for seed := range uint64(20) {
			var finish [2]unit.Time
			for k, speculate := range []string{"", rule} {
				l := &policytest.Ledger{}
				_, err := sim.Run(context.Background(), sim.Config{
					Cluster: cluster.Uniform(10, 2, cluster.Unit.Times(6)), Source: workload.Slice{oneSlow()}.Source(),
					NewPolicy: maker(policy.Spec{Name: "fair"}), Sink: l, Seed: seed,
					Model: sim.Model{Speculate: speculate, Stragglers: sim.Stragglers{Share: 0.02, Factor: 10}},
				})
				if err != nil {
					t.Fatal(err)
				}
				finish[k] = l.Records[0].Finish
			}
			without += finish[0]
			with += finish[1]
			if finish[1] < finish[0] {
				shorter++
			}
			if finish[1] > finish[0] {
				t.Errorf("%s, seed %d: %v with copies, %v without", rule, seed, finish[1], finish[0])
			}
		}
		t.Logf("%s: %d of 20 jobs shorter, mean %v instead of %v", rule, shorter, with/20, without/20)
		if shorter < 8 || with > without/2 {
			t.Errorf("%s: %d of 20 jobs are shorter, %v instead of %v", rule, shorter, with/20, without/20)
		}
	}
}

// A share of attempts is slow, by the factor, and which ones does not depend on who asks or when.
func TestStragglers(t *testing.T) {
	const tasks = 20_000
	for _, record := range []bool{false, true} {
		l := &lives{}
		var sink sim.Sink = &l.Ledger
		if record {
			sink = l
		}
		_, err := sim.Run(context.Background(), sim.Config{
			Cluster: ofSizes(1), Source: workload.Slice{oneStage("j", 0, tasks, 10*unit.Second)}.Source(), NewPolicy: maker(policy.Spec{Name: "fifo"}),
			Sink: sink, Model: sim.Model{Stragglers: sim.Stragglers{Share: 0.1, Factor: 3}},
		})
		if err != nil {
			t.Fatal(err)
		}
		slow := (l.Records[0].Finish.Seconds()/10 - tasks) / 2 / tasks
		if math.Abs(slow-0.1) > 5*math.Sqrt(0.1*0.9/tasks) {
			t.Errorf("%.4f of the tasks are slow", slow)
		}
		for _, k := range l.tasks {
			if d := k.End - k.Start; d != 10*unit.Second && d != 30*unit.Second {
				t.Fatalf("a task takes %v", d)
			}
		}
	}
}

func TestSpeculationIsChecked(t *testing.T) {
	for _, m := range []sim.Model{
		{Speculate: "hdoop"}, {Stragglers: sim.Stragglers{Share: 1.5, Factor: 2}}, {Stragglers: sim.Stragglers{Share: -1, Factor: 2}},
		{Stragglers: sim.Stragglers{Share: 0.1}}, {Stragglers: sim.Stragglers{Share: 0.1, Factor: math.NaN()}},
		{Stragglers: sim.Stragglers{Share: math.NaN(), Factor: 2}}, {Speculate: "late", Attempts: 40_000},
	} {
		if _, _, err := play(t, ofSizes(1), m, "fifo", oneStage("j", 0, 1, unit.Second)); err == nil {
			t.Errorf("%+v is taken", m)
		}
	}
}

// LATE makes no more copies at a time than a tenth of the containers, none next to the task it races, and of those that will
// end last.
func TestLateKeepsItsLimits(t *testing.T) {
	j := oneStage("j", 0, 100, 0)
	j.Stages[0].Length = workload.Lengths{Kind: workload.List, Values: make([]unit.Time, 100)}
	for i := range j.Stages[0].Length.Values {
		j.Stages[0].Length.Values[i] = 100 * unit.Second
		if i >= 80 {
			j.Stages[0].Length.Values[i] = unit.Time(1000+i) * unit.Second // their copies take as long
		}
	}
	l := &lives{}
	_, err := sim.Run(context.Background(), sim.Config{
		Cluster: cluster.Uniform(10, 1, cluster.Unit.Times(10)), Source: workload.Slice{j}.Source(), NewPolicy: maker(policy.Spec{Name: "fifo"}),
		Sink: l, Model: sim.Model{Speculate: sim.SpeculateLATE},
	})
	if err != nil {
		t.Fatal(err)
	}
	node := map[int64]string{}
	for _, k := range l.tasks {
		if !k.Copy {
			node[k.Number] = k.Node
		}
	}
	copies := 0
	for _, k := range l.tasks {
		if !k.Copy {
			continue
		}
		copies++
		if k.Number < 90 || k.Node == node[k.Number] || k.Why != policy.Taken {
			t.Errorf("a copy of task %d of %s on %s: %v", k.Number, node[k.Number], k.Node, k.Why)
		}
	}
	if copies != 10 {
		t.Errorf("%d copies", copies)
	}
	if r := l.Records[0]; r.Lost != 10 || r.Finish != 1099*unit.Second {
		t.Errorf("%d lost, finished after %v", r.Lost, r.Finish)
	}
}

// With copies, failures and lost nodes all at once: every task is done exactly once, every attempt is accounted for, the two
// attempts of a task never share a node, and the same seed gives the same bytes.
func TestPropertyCopiesDoNotCountTwice(t *testing.T) {
	var copies, wins, alone int
	rapid.Check(t, func(t *rapid.T) {
		c := policytest.Cluster(t)
		jobs := policytest.Jobs(t)
		m := policytest.Model(t, c)
		m.Stragglers = sim.Stragglers{Share: 0.3, Factor: 20}
		m.Speculate = rapid.SampledFrom(sim.Speculations()).Draw(t, "rule")
		m.Attempts = rapid.IntRange(2, 4).Draw(t, "attempts")
		if m.FailTask > 0 {
			m.FailTask = 0.3
		}
		spec := genSpec(t)
		seed := rapid.Uint64().Draw(t, "seed")
		withWorker := m.FailTask == 0 && rapid.Bool().Draw(t, "worker")
		var text [2]string
		for k := range text {
			var books policytest.Books
			l := &lives{}
			cfg := sim.Config{Cluster: c, Source: jobs.Source(), Model: m, Seed: seed, Sink: l, NewPolicy: books.Watch(t, maker(spec))}
			var worker *slowOnce
			if withWorker {
				worker = newSlowOnce()
				cfg.Worker = worker
			}
			sum, err := sim.Run(context.Background(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			checkCopies(t, l, &sum, worker, m.Attempts, &copies, &wins, &alone)
			if sum.Stuck == 0 {
				books.Empty(t)
			}
			b, err := json.Marshal([]any{sum, l.Records, l.Samples, len(l.tasks)})
			if err != nil {
				t.Fatal(err)
			}
			text[k] = string(b)
		}
		if text[0] != text[1] {
			t.Fatalf("two runs differ:\n%s\n%s", text[0], text[1])
		}
	})
	t.Logf("%d copies, %d of them won; %d tasks went on alone after their other attempt was lost", copies, wins, alone)
	if !testing.Short() && (copies < 100 || wins < 10) {
		t.Errorf("%d copies, %d won: this tests too little", copies, wins)
	}
}

func checkCopies(t *rapid.T, l *lives, sum *sim.Summary, w *slowOnce, attempts int, copies, wins, alone *int) {
	done, failed := map[taskName]int{}, map[taskName]int{}
	lives := map[taskName][]sim.TaskRecord{}
	var lost int64
	for _, k := range l.tasks {
		if k.Why != policy.Done {
			lost++
		}
		if k.Stage < 0 {
			continue
		}
		id := taskName{k.Seq, k.Stage, k.Number}
		switch k.Why {
		case policy.Done:
			done[id]++
		case policy.Failed:
			failed[id]++
		}
		if k.Copy {
			*copies++
			if k.Why == policy.Done {
				*wins++
			}
		}
		lives[id] = append(lives[id], k)
	}
	if lost != sum.Lost {
		t.Fatalf("%d lost in the records of containers, %d in the summary", lost, sum.Lost)
	}
	for id, all := range lives {
		for i, a := range all {
			if a.Why == policy.Lost && len(all) == 2 {
				*alone++
			}
			for _, b := range all[:i] {
				if a.Start < b.End && b.Start < a.End && a.Job.Keep == nil {
					if a.Copy == b.Copy || a.Node == b.Node {
						t.Fatalf("%v runs on %s and on %s at once, copies: %v and %v", id, a.Node, b.Node, a.Copy, b.Copy)
					}
				}
			}
		}
	}
	for _, r := range l.Records {
		if r.Outcome != sim.Finished {
			continue
		}
		for i := range r.Job.Stages {
			for n := range r.Job.Stages[i].Tasks {
				d := done[taskName{r.Seq, i, n}]
				if w != nil {
					// A node may be lost between a task's end and word of it: the task is done then, though its container was lost.
					d = w.kept[taskName{r.Seq, i, n}]
				}
				if f := failed[taskName{r.Seq, i, n}]; f >= attempts {
					t.Fatalf("job %s finished, and task %s failed %d times", r.Job.ID, fmt.Sprint(i, "/", n), f)
				}
				again := d > 1 && r.Job.Keep != nil && !r.Job.Keep.External // what it passed on was lost with its container
				if d != 1 && !again {
					t.Fatalf("job %s, task %s was done %d times", r.Job.ID, fmt.Sprint(i, "/", n), d)
				}
			}
		}
	}
	var service unit.Time
	for _, r := range l.Records {
		service += r.Service
	}
	if sum.Stuck == 0 && service != sum.Busy {
		t.Fatalf("timeline holds %v, jobs %v", sum.Busy, service)
	}
	if sum.Finished+sum.Refused+sum.Failed+sum.Stuck != sum.Submitted {
		t.Fatalf("%+v", *sum)
	}
}
