package policytest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

// Rules checks on random clusters and workloads that a policy keeps the rules that engines rely on, with and without failures, in a simulator that watches it:
// work is conserved, the same input brings the same decisions, and decisions follow from events alone. fresh makes the policy, once for a run.
func Rules(t *testing.T, fresh func() (policy.Policy, error)) {
	t.Run("conserves", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { Conserves(t, fresh) }) })
	t.Run("repeats", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { Repeats(t, fresh) }) })
	t.Run("replays", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { Replays(t, fresh) }) })
}

// Ledger is a sink that keeps everything.
type Ledger struct {
	Records []sim.JobRecord
	Samples []sim.Sample
}

// Job implements [sim.Sink].
func (l *Ledger) Job(r *sim.JobRecord) { l.Records = append(l.Records, *r) }

// Sample implements [sim.Sink].
func (l *Ledger) Sample(s *sim.Sample) {
	c := *s
	c.Queues = append([]sim.QueueSample(nil), s.Queues...)
	l.Samples = append(l.Samples, c)
}

// Conserves checks that work is conserved, on any cluster, workload and model: every task of every admitted job runs to completion exactly
// once (lost attempts are counted and run again), no container is over-committed, nothing hangs, and what the timeline
// says was held is what the jobs say they held.
func Conserves(t *rapid.T, fresh func() (policy.Policy, error)) {
	c := Cluster(t)
	jobs := Jobs(t)
	m := Model(t, c)
	var books Books
	sink := &Ledger{}
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: c, Source: jobs.Source(), Model: m, Seed: rapid.Uint64().Draw(t, "seed"), Sink: sink,
		NewPolicy: books.Watch(t, fresh),
	})
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(sink.Records)) != sum.Submitted || sum.Submitted != int64(len(jobs)) {
		t.Fatalf("%d jobs, %d submitted, %d records", len(jobs), sum.Submitted, len(sink.Records))
	}
	if sum.Finished+sum.Refused+sum.Failed+sum.Stuck != sum.Submitted {
		t.Fatalf("finished %d + refused %d + failed %d + stuck %d != %d", sum.Finished, sum.Refused, sum.Failed, sum.Stuck, sum.Submitted)
	}
	forGood := false
	for _, l := range m.Losses {
		forGood = forGood || l.For == 0
	}
	if sum.Stuck > 0 && !forGood {
		for _, r := range sink.Records {
			t.Logf("%s: %v %s", r.Job.ID, r.Outcome, r.Reason)
		}
		t.Fatalf("%d jobs are stuck and no node is lost for good", sum.Stuck)
	}
	if m.FailTask == 0 && sum.Failed > 0 {
		t.Fatalf("%d jobs failed and nothing fails", sum.Failed)
	}
	var tasks int64
	var service unit.Time
	for _, r := range sink.Records {
		service += r.Service
		if r.Outcome != sim.Finished {
			continue
		}
		tasks += r.Job.Tasks()
		if r.Start < r.Job.Submit || r.Finish < r.Start {
			t.Fatalf("job %s: submitted %v, started %v, finished %v", r.Job.ID, r.Job.Submit, r.Start, r.Finish)
		}
		if m.Replicas >= 0 && r.Near[0]+r.Near[1]+r.Near[2]+r.Near[3] < r.Job.Tasks() {
			t.Fatalf("job %s: %v starts for %d tasks", r.Job.ID, r.Near, r.Job.Tasks())
		}
		if r.Job.Keep != nil {
			continue // its tasks are not the policy's business
		}
		for i := range r.Job.Stages {
			var ends int64
			for _, w := range books {
				ends += w.ends[fmt.Sprint(r.Job.ID, "/", i)]
			}
			if ends != r.Job.Stages[i].Tasks {
				t.Fatalf("job %s stage %d: %d tasks ended of %d", r.Job.ID, i, ends, r.Job.Stages[i].Tasks)
			}
		}
	}
	if sum.Failed == 0 && sum.Stuck == 0 && tasks != sum.Tasks {
		t.Fatalf("%d tasks in finished jobs, %d counted", tasks, sum.Tasks)
	}
	if sum.Stuck == 0 {
		books.Empty(t)
	}
	if sum.Stuck == 0 && sum.Busy != service {
		t.Fatalf("timeline holds %v, jobs %v", sum.Busy, service)
	}
	from := unit.Time(0)
	for _, s := range sink.Samples {
		if s.From != from || s.To <= s.From {
			t.Fatalf("samples: %v to %v after %v", s.From, s.To, from)
		}
		from = s.To
		for _, q := range s.Queues {
			if q.Containers < 0 || q.Running < 0 || q.Waiting < 0 || q.Pending < 0 {
				t.Fatalf("sample %+v", q)
			}
		}
	}
}

// Repeats checks that the same input and seed give the same output, byte for byte.
func Repeats(t *rapid.T, fresh func() (policy.Policy, error)) {
	c := Cluster(t)
	jobs := Jobs(t)
	m := Model(t, c)
	seed := rapid.Uint64().Draw(t, "seed")
	play := func() string {
		sink := &Ledger{}
		sum, err := sim.Run(context.Background(), sim.Config{
			Cluster: c, Source: jobs.Source(), Model: m, Seed: seed, Sink: sink,
			NewPolicy: fresh,
		})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal([]any{sum, sink.Records, sink.Samples})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if a, b := play(), play(); a != b {
		t.Fatalf("two runs differ:\n%s\n%s", a, b)
	}
}

// Replays checks that decisions do not depend on the engine and that the policy never sees the future: the calls of a run, replayed to a fresh
// copy from the log alone (no engine, no workload), bring the same proposals in the same order.
func Replays(t *rapid.T, fresh func() (policy.Policy, error)) {
	c := Cluster(t)
	jobs := Jobs(t)
	m := Model(t, c)
	var books Books
	_, err := sim.Run(context.Background(), sim.Config{
		Cluster: c, Source: jobs.Source(), Model: m, Seed: 1, Sink: &Ledger{}, NewPolicy: books.Watch(t, fresh),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range books.Recordings() {
		p, err := fresh()
		if err != nil {
			t.Fatal(err)
		}
		Replay(t, p, r)
	}
}
