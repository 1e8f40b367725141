package capacity1

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// ledger keeps what a run tells.
type ledger struct {
	jobs  []sim.JobRecord
	tasks []sim.TaskRecord
}

func (l *ledger) Job(r *sim.JobRecord)   { l.jobs = append(l.jobs, *r) }
func (l *ledger) Sample(*sim.Sample)     {}
func (l *ledger) Task(r *sim.TaskRecord) { l.tasks = append(l.tasks, *r) }

// guard checks every start against the limits as they stand.
type guard struct {
	*state
	t testing.TB
}

func (g guard) Started(e *policy.Event) {
	v := e.Job
	p := g.parts[v.Stages[e.Stage].Slot]
	j := &p.jobs[v.Index]
	q, use := j.queue, &j.queue.use[p.kind]
	if most := use.maximum + p.idle; use.maximum >= 0 && use.occupied+1 > max(most, 1) {
		g.t.Fatalf("queue %s goes above its maximum: %d of %d", q.set.Name, use.occupied+1, most)
	}
	active := use.ready.Len()
	if p.cfg.ActiveUsers == UsersWithJobs {
		active = len(q.byUser)
	}
	limit := UserLimit(use.capacity, use.occupied, 1, active, q.set.MinimumUserLimitPercent, q.set.UserLimitFactor)
	if held := q.users[j.user].held[p.kind]; held+1 > limit {
		g.t.Fatalf("user %s of queue %s goes above its limit: %d of %d", v.User, q.set.Name, held+1, limit)
	}
	if !j.initialised {
		g.t.Fatalf("job %s starts before it is initialised", v.ID)
	}
	g.state.Started(e)
}

func guarded(t testing.TB, c Config) func() (policy.Policy, error) {
	return func() (policy.Policy, error) {
		p, err := New(c)
		if err != nil {
			return p, err
		}
		p.Order = guard{p.Order.(*state), t}
		return p, nil
	}
}

// slots makes a cluster of fixed slots.
func slots(nodes, racks int, m, r int64) *cluster.Cluster {
	c := cluster.Uniform(nodes, racks, unit.Resources{})
	c.Slots = true
	for i := range c.Nodes {
		c.Nodes[i].MapSlots, c.Nodes[i].ReduceSlots = m, r
	}
	return c
}

func mapReduce(id, user, queue string, at unit.Time, nmaps, nreduces int64, mapTime, reduceTime unit.Time) *workload.Job {
	j := &workload.Job{ID: id, User: user, Queue: queue, Submit: at, Stages: []workload.Stage{
		{Tasks: nmaps, Kind: workload.Map, Ask: cluster.Unit, Input: unit.Bytes(nmaps) << 26, Length: workload.Fixed(mapTime)},
	}}
	if nreduces > 0 {
		j.Stages = append(j.Stages, workload.Stage{
			Tasks: nreduces, Kind: workload.Reduce, Ask: cluster.Unit, Length: workload.Fixed(reduceTime), After: []workload.Edge{{From: 0, SlowStart: 0.05}},
		})
	}
	return j
}

// Whatever the settings: no start takes a queue above its maximum or a user above its limit, and every accepted job ends.
func TestPropertyLimitsHoldAndAllEnd(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := genConfig(rt)
		c.AvoidBusyNodes = rapid.Bool().Draw(rt, "avoid")
		c.PollInterval = unit.Time(rapid.SampledFrom([]int64{0, 1, 30}).Draw(rt, "poll")) * unit.Second
		racks := rapid.IntRange(1, 3).Draw(rt, "racks")
		cl := slots(rapid.IntRange(racks, 8).Draw(rt, "nodes"), racks, rapid.Int64Range(1, 4).Draw(rt, "mslots"), rapid.Int64Range(1, 3).Draw(rt, "rslots"))
		m := sim.Model{
			Heartbeat: 100 * unit.Millisecond * unit.Time(rapid.Int64Range(1, 30).Draw(rt, "heartbeat")), Replicas: rapid.IntRange(0, 3).Draw(rt, "replicas"),
			EndOnBeat: rapid.Bool().Draw(rt, "endonbeat"),
		}
		if rapid.IntRange(0, 3).Draw(rt, "fails") == 0 {
			m.FailTask, m.Attempts = 0.05, 20
		}
		if rapid.IntRange(0, 3).Draw(rt, "loss") == 0 {
			m.Losses = []sim.Loss{{At: 10 * unit.Second, For: 20 * unit.Second, Node: cl.Nodes[0].Name}}
		}
		var jobs workload.Slice
		at := unit.Time(0)
		for i := range rapid.IntRange(1, 15).Draw(rt, "jobs") {
			at += unit.Time(rapid.Int64Range(0, 20).Draw(rt, "gap")) * unit.Second
			jobs = append(jobs, mapReduce(fmt.Sprint("j", i), rapid.SampledFrom([]string{"ann", "bob", "eve"}).Draw(rt, "user"),
				c.Queues[rapid.IntRange(0, len(c.Queues)-1).Draw(rt, "queue")].Name, at, rapid.Int64Range(0, 15).Draw(rt, "maps"),
				rapid.Int64Range(0, 5).Draw(rt, "reduces"), unit.Second*unit.Time(rapid.Int64Range(1, 30).Draw(rt, "map")), 10*unit.Second))
		}
		l := &ledger{}
		sum, err := sim.Run(context.Background(), sim.Config{
			Cluster: cl, Source: jobs.Source(), Model: m, Seed: rapid.Uint64().Draw(rt, "seed"), Sink: l, NoAlone: true, NewPolicy: guarded(t, c),
		})
		if err != nil {
			rt.Fatal(err)
		}
		if sum.Finished+sum.Refused != int64(len(jobs)) {
			for _, r := range l.jobs {
				rt.Logf("%s: %v %s", r.Job.ID, r.Outcome, r.Reason)
			}
			rt.Fatalf("%d finished and %d refused of %d", sum.Finished, sum.Refused, len(jobs))
		}
	})
}

// interrupted counts jobs with delayed map execution: a map of the job starts while a job of its queue that arrived earlier has maps
// left, and later maps of that earlier job start before the rest of its own.
func interrupted(tasks []sim.TaskRecord) (n int) {
	type span struct {
		queue       string
		first, last unit.Time // starts of maps
		starts      []unit.Time
	}
	var jobs []*span
	for i := range tasks {
		r := &tasks[i]
		if r.Stage != 0 {
			continue
		}
		for int(r.Seq) >= len(jobs) {
			jobs = append(jobs, &span{first: unit.Never})
		}
		s := jobs[r.Seq]
		s.queue = r.Job.Queue
		s.first, s.last = min(s.first, r.Start), max(s.last, r.Start)
		s.starts = append(s.starts, r.Start)
	}
	for later, b := range jobs {
		for _, a := range jobs[:later] {
			if a.queue != b.queue || b.first >= a.last {
				continue
			}
			held := 0 // maps of b that had to wait until a's had all started
			for _, at := range b.starts {
				if at >= a.last {
					held++
				}
			}
			if held > 0 {
				n++
				break
			}
		}
	}
	return n
}

// Delayed map execution: with a factor of 1 and no maximum, the first user of a queue stops at the queue's share while slots are idle,
// so that a later job of another user gets some of them; then the first one's turn comes again and the later one waits, half
// begun. A maximum equal to the capacity removes it, and so does a factor that lets the first user have the idle slots.
func TestDelayedMapExecution(t *testing.T) {
	run := func(q Queue) int {
		a, b := q, q
		a.Name, b.Name = "a", "b"
		a.Capacity, b.Capacity = 50, 50
		if q.MaxCapacity != 0 {
			a.MaxCapacity, b.MaxCapacity = 50, 50
		}
		var jobs workload.Slice
		for i := range 4 {
			jobs = append(jobs, mapReduce(fmt.Sprint("a", i), fmt.Sprint("u", i), "a", unit.Time(i)*unit.Second, 40, 1, 20*unit.Second, 10*unit.Second))
		}
		jobs = append(jobs, mapReduce("b0", "v0", "b", 30*unit.Second, 40, 1, 20*unit.Second, 10*unit.Second))
		l := &ledger{}
		sum, err := sim.Run(context.Background(), sim.Config{
			Cluster: slots(5, 1, 2, 1), Source: jobs.Source(), Model: sim.Model{Heartbeat: 300 * unit.Millisecond}, Seed: 1, Sink: l, NoAlone: true,
			NewPolicy: guarded(t, Config{Queues: []Queue{a, b}}),
		})
		if err != nil || sum.Finished != int64(len(jobs)) {
			t.Fatalf("%d finished, %v", sum.Finished, err)
		}
		return interrupted(l.tasks)
	}
	if n := run(Queue{}); n == 0 {
		t.Error("with the defaults no job's maps are delayed")
	}
	if n := run(Queue{MaxCapacity: 50}); n != 0 {
		t.Errorf("with maxima equal to capacities %d jobs' maps are delayed", n)
	}
	if n := run(Queue{UserLimitFactor: 2}); n != 0 {
		t.Errorf("with a factor of 2 %d jobs' maps are delayed", n)
	}
}

// A knob that is turned during a run turns for map slots and for reduce slots, and its old value is told.
func TestSteered(t *testing.T) {
	c := Config{Queues: []Queue{{Name: "a", Capacity: 50, MaxCapacity: 50}, {Name: "b", Capacity: 50, SupportsPriority: true}}}
	do := []steer.Action{
		{Kind: steer.SetQueue, Queue: "a", Property: "maximum-capacity", Value: 100},
		{Kind: steer.SetQueue, Queue: "a", Property: "user-limit-factor", Value: 2},
		{Kind: steer.MoveJob, Job: "j1", Queue: "b"},
		{Kind: steer.SetPriority, Job: "j1", Value: 5},
		{Kind: steer.SetQueue, Queue: "a", Property: "capacity", Value: 101},
		{Kind: steer.MoveJob, Job: "j1", Queue: "c"},
	}
	jobs := workload.Slice{
		mapReduce("j0", "ann", "a", 0, 40, 4, 10*unit.Second, 10*unit.Second), mapReduce("j1", "ann", "a", 0, 40, 4, 10*unit.Second, 10*unit.Second),
	}
	l := &ledger{}
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: slots(5, 1, 2, 1), Source: jobs.Source(), Model: sim.Model{Heartbeat: unit.Second}, Sink: l, NoAlone: true, NewPolicy: guarded(t, c),
		Steerer: steer.Func(func(s *steer.Snapshot) ([]steer.Action, unit.Time) {
			if s.Now == 0 {
				return nil, 12 * unit.Second
			}
			return do, 0
		}),
	})
	if err != nil || sum.Finished != 2 || len(sum.Receipts) != len(do)+3 {
		t.Fatalf("%d finished, %d receipts, %v", sum.Finished, len(sum.Receipts), err)
	}
	for i, r := range sum.Receipts[:len(do)] {
		if (r.Err != nil) != (i >= 4) {
			t.Errorf("action %d: %v", i, r.Err)
		}
	}
	if r := sum.Receipts; r[0].Old != 50 || r[1].Old != 1 || r[2].OldQueue != "a" || r[3].Old != 0 {
		t.Errorf("old values %v, %v, %q, %v", r[0].Old, r[1].Old, r[2].OldQueue, r[3].Old)
	}
}
