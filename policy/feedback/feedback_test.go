package feedback

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/policy/sizes"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

var entries = policy.Registry{FBQ, TAGS}

func fresh(spec string) (policy.Policy, error) {
	s, err := policy.ParseSpec(spec)
	if err != nil {
		return policy.Policy{}, err
	}
	return entries.New(s)
}

func TestScenarios(t *testing.T) { policytest.Golden(t, "testdata", fresh) }

func TestParameters(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"fbq", ""},
		{"fbq:limits=4000,10000,36000,count=completed,reduces=release", ""},
		{"tags:limits=100,200,shares=0.2,0.3,restart=yes,borrow=yes", ""},
		{"fbq:limits=10,10", "ascending"},
		{"fbq:limits=0", "above 0"},
		{"fbq:limits=", "one for each queue except the last"},
		{"fbq:limits=1e300", "limits"},
		{"fbq:limits=many", "not a list of numbers"},
		{"fbq:shares=0.5", "no parameter shares"},
		{"fbq:restart=yes", "no parameter restart"},
		{"tags:shares=1", "sum below 1"},
		{"tags:shares=0.5,0.4", "2 queues need 1 shares"},
		{"tags:limits=5,9", "3 queues need 2 shares"},
		{"tags:shares=-0.5", "above 0"},
		{"tags:borrow=perhaps", "want no or yes"},
		{"tags:count=all", "want running or completed"},
		{"tags:reduces=drop", "want hold or release or defer"},
		{"tags:restart=maybe", "want no or yes"},
		{"fbq:5", "is not key=value"},
	} {
		if _, err := fresh(c.spec); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.spec, err, c.want)
		}
	}
}

// spy recomputes every job's service from its tasks, and compares it with the order at each decision.
type spy struct {
	*Order
	t    *rapid.T
	jobs map[int32]*seen
}

// entry is a job's position among all waiting jobs; -1: it does not wait.
func (s *spy) entry(j *policy.Job) int {
	var r []policy.Reason
	if r = s.Queues.Why(0, j, nil); j.Pending == 0 {
		return -1
	}
	return int(r[0].Ahead)
}

type seen struct {
	j     *policy.Job
	tasks []*span
	freed []unit.Time // by stage; -1: its tasks wait
}

type span struct {
	stage      int
	start, end unit.Time // end -1: it runs
	why        policy.End
}

// attained is the service up to a time no later than now.
func (s *seen) attained(at unit.Time, completed bool) (sum unit.Time) {
	for _, t := range s.tasks {
		end := at
		if t.end >= 0 {
			end = min(end, t.end)
		}
		if from := max(t.start, s.freed[t.stage]); s.freed[t.stage] >= 0 && end > from && (!completed || t.end >= 0 && t.end <= at && t.why == policy.Done) {
			sum += end - from
		}
	}
	return sum
}

func (s *spy) Arrived(now unit.Time, j *policy.Job) error {
	n := &seen{j: j}
	for i := range j.Stages {
		n.freed = append(n.freed, 0)
		if len(j.Stages[i].After) > 0 && j.Stages[0].Tasks > 0 {
			n.freed[i] = -1
		}
	}
	s.jobs[j.Index] = n
	return s.Order.Arrived(now, j)
}

func (s *spy) Started(e *policy.Event) {
	if e.Stage >= 0 {
		n := s.jobs[e.Job.Index]
		n.tasks = append(n.tasks, &span{e.Stage, e.Now, -1, 0})
	}
	s.Order.Started(e)
}

func (s *spy) Ended(e *policy.Event) {
	if e.Stage >= 0 {
		n := s.jobs[e.Job.Index]
		for _, t := range n.tasks {
			if t.stage == e.Stage && t.start == e.Now-e.Held && t.end < 0 {
				t.end, t.why = e.Now, e.Why
				break
			}
		}
		if st := &e.Job.Stages[0]; e.Stage == 0 && e.Why == policy.Done && st.Done == st.Tasks && len(n.freed) > 1 {
			n.freed[1] = e.Now
		}
	}
	s.Order.Ended(e)
}

func (s *spy) Left(now unit.Time, j *policy.Job) {
	delete(s.jobs, j.Index)
	s.Order.Left(now, j)
}

func (s *spy) Ranked(o *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	checked := false
	return s.Order.Ranked(o, func(j *policy.Job) policy.Verdict {
		if !checked {
			s.check(o.Now)
			checked = true
		}
		return try(j)
	})
}

// check compares all queues with the definition: each job is in the queue for its service, behind those that reached the limit before.
func (s *spy) check(now unit.Time) {
	type waits struct {
		id    string
		since unit.Time
		entry int
	}
	queues := make([][]waits, len(s.limits)+1)
	for _, n := range s.jobs {
		attained := n.attained(now, s.completed)
		queue := s.Queue(n.j)
		if want := sizes.Level(attained, s.limits); want != queue {
			s.t.Fatalf("at %v job %s has attained %v and is in queue %d, not %d", now, n.j.ID, attained, queue, want)
		}
		if queue > 0 && !s.completed && n.j.Waiting[policy.MapSlot] > 0 {
			since := sort.Search(int(now), func(t int) bool { return n.attained(unit.Time(t), false) >= s.limits[queue-1] })
			queues[queue] = append(queues[queue], waits{n.j.ID, unit.Time(since), s.entry(n.j)})
		}
	}
	for k, q := range queues {
		sort.Slice(q, func(a, b int) bool { return q[a].entry < q[b].entry })
		for i := 1; i < len(q); i++ {
			if q[i].since < q[i-1].since {
				s.t.Fatalf("at %v job %s, which reached limit %d at %v, stands behind %s, which did at %v", now, q[i].id, k, q[i].since, q[i-1].id, q[i-1].since)
			}
		}
	}
}

type books struct {
	records []sim.JobRecord
	tasks   []sim.TaskRecord
}

func (b *books) Job(r *sim.JobRecord)   { b.records = append(b.records, *r) }
func (b *books) Sample(*sim.Sample)     {}
func (b *books) Task(r *sim.TaskRecord) { b.tasks = append(b.tasks, *r) }

func genJobs(t *rapid.T) (jobs workload.Slice) {
	at := unit.Time(0)
	for i := range rapid.IntRange(1, 12).Draw(t, "jobs") {
		at += unit.Time(rapid.Int64Range(0, 40).Draw(t, "gap")) * 700 * unit.Millisecond
		j := &workload.Job{ID: fmt.Sprint("j", i), Submit: at, Stages: []workload.Stage{{
			Kind: workload.Map, Tasks: rapid.Int64Range(0, 25).Draw(t, "maps"), Ask: cluster.Unit,
			Length: workload.Lengths{Kind: workload.Exponential, A: unit.Time(rapid.Int64Range(1, 20).Draw(t, "map")) * unit.Second},
		}}}
		if n := rapid.Int64Range(0, 5).Draw(t, "reduces"); n > 0 {
			j.Stages = append(j.Stages, workload.Stage{
				Kind: workload.Reduce, Tasks: n, Ask: cluster.Unit, Length: workload.Fixed(unit.Time(rapid.Int64Range(1, 30).Draw(t, "reduce")) * unit.Second),
				After: []workload.Edge{{SlowStart: 0.05}},
			})
		}
		jobs = append(jobs, j)
	}
	return jobs
}

func genCluster(t *rapid.T) *cluster.Cluster {
	nodes := rapid.IntRange(1, 6).Draw(t, "nodes")
	c := cluster.Uniform(nodes, 1, cluster.Unit.Times(rapid.Int64Range(1, 4).Draw(t, "each")))
	if c.Slots = rapid.Bool().Draw(t, "slots"); c.Slots {
		for i := range c.Nodes {
			c.Nodes[i].MapSlots, c.Nodes[i].ReduceSlots, c.Nodes[i].Room = 3, 1, unit.Resources{}
		}
	}
	return c
}

var specs = []string{
	"fbq:limits=20", "fbq:limits=5,30,100", "fbq:limits=5,30,100,count=completed", "tags:limits=20", "tags:limits=10,50,shares=0.3,0.3", "tags:limits=20,borrow=yes",
	"fbq:limits=5,30,100,reduces=defer",
}

// At every decision each job is in the queue that the definition gives, in order of entry.
func TestPropertyDemotionIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := sim.Model{}
		if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
			m.FailTask, m.Attempts = 0.1, 100
		}
		if rapid.IntRange(0, 3).Draw(t, "beats") == 0 {
			m.Heartbeat = unit.Second
		}
		spec := rapid.SampledFrom(specs).Draw(t, "spec")
		jobs := genJobs(t)
		sum, err := sim.Run(context.Background(), sim.Config{
			Cluster: genCluster(t), Source: jobs.Source(), Model: m, Seed: rapid.Uint64().Draw(t, "seed"), Sink: &books{}, NoAlone: true,
			NewPolicy: func() (policy.Policy, error) {
				p, err := fresh(spec)
				o, ok := p.Order.(*Order)
				if !ok { // no preemption here: the spy hides Victims
					o = p.Order.(*preempting).Order
				}
				p.Order = &spy{o, t, map[int32]*seen{}}
				return p, err
			},
		})
		if err != nil || sum.Finished != int64(len(jobs)) {
			t.Fatalf("%+v, %v", sum, err)
		}
	})
}

// Whatever is preempted, every job finishes, and each task is done once in the end.
func TestPropertyReleaseAndRestart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := rapid.SampledFrom([]string{
			"fbq:limits=5,30,100,reduces=release", "fbq:limits=5,30,reduces=defer", "tags:limits=20,reduces=defer",
			"tags:limits=20,reduces=release", "tags:limits=20,restart=yes", "tags:limits=10,50,shares=0.3,0.3,restart=yes,borrow=yes",
		}).Draw(t, "spec")
		jobs := genJobs(t)
		m := sim.Model{}
		switch rapid.IntRange(0, 3).Draw(t, "model") {
		case 0:
			m.FailTask, m.Attempts = 0.1, 100
		case 1:
			m.Speculate, m.Stragglers = sim.SpeculateHadoop, sim.Stragglers{Share: 0.2, Factor: 10}
		case 2:
			m.Heartbeat = unit.Second
		}
		b := &books{}
		sum, err := sim.Run(context.Background(), sim.Config{
			Cluster: genCluster(t), Source: jobs.Source(), Model: m, Seed: rapid.Uint64().Draw(t, "seed"), Sink: b, NoAlone: true,
			NewPolicy: func() (policy.Policy, error) { return fresh(spec) },
		})
		if err != nil || sum.Finished != int64(len(jobs)) {
			t.Fatalf("%+v, %v", sum, err)
		}
		var tasks int64
		for _, j := range jobs {
			tasks += j.Tasks()
		}
		if sum.Tasks != tasks {
			t.Fatalf("%d of %d tasks done", sum.Tasks, tasks)
		}
	})
}

func BenchmarkDecision(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint("fifo/", n), func(b *testing.B) { policytest.Bench(b, fifo.New(), n, nil) })
		b.Run(fmt.Sprint("fbq/", n), func(b *testing.B) {
			p, err := fresh("fbq")
			if err != nil {
				b.Fatal(err)
			}
			policytest.Bench(b, p.Order, n, nil)
		})
	}
}

// A demoted job whose maps run may take reduce slots again at once; with reduces=defer only when its maps are done.
func TestDeferredReduces(t *testing.T) {
	for spec, early := range map[string]bool{"fbq:limits=10": true, "fbq:limits=10,reduces=release": true,
		"fbq:limits=10,reduces=defer": false} {
		p, err := fresh(spec)
		if err != nil {
			t.Fatal(err)
		}
		j := &policy.Job{Tasks: 4, Stages: []policy.Stage{{Tasks: 2, Pending: 2},
			{Tasks: 2, Pending: 2, Slot: policy.ReduceSlot, After: []workload.Edge{{}}}}}
		j.Want(policy.MapSlot, 2)
		j.Want(policy.ReduceSlot, 2)
		p.Order.Resized(0, policy.Cluster{Nodes: 1, Slots: [policy.Slots]int64{2, 2}})
		if err := p.Order.Arrived(0, j); err != nil {
			t.Fatal(err)
		}
		maps := &j.Stages[0]
		for range maps.Tasks {
			j.Want(policy.MapSlot, -1)
			maps.Pending, maps.Running = maps.Pending-1, maps.Running+1
			j.Hold(0, unit.Resources{})
			p.Order.Started(&policy.Event{Job: j, Node: &policy.Node{}})
		}
		check := func(now unit.Time, want bool) {
			t.Helper()
			got := false
			p.Order.Ranked(&policy.Offer{Now: now, Slot: policy.ReduceSlot, Node: &policy.Node{}}, func(*policy.Job) policy.Verdict {
				got = true
				return policy.Pass
			})
			if got != want {
				t.Errorf("%s: at %v a reduce is proposed: %v", spec, now, got)
			}
		}
		check(4*unit.Second, true) // two maps have attained 8 s
		check(6*unit.Second, early)
		for range maps.Tasks {
			maps.Running, maps.Done = maps.Running-1, maps.Done+1
			j.Yield(9*unit.Second, 0, unit.Resources{})
			p.Order.Ended(&policy.Event{Now: 9 * unit.Second, Job: j, Node: &policy.Node{}, Held: 9 * unit.Second,
				Worked: 9 * unit.Second})
		}
		check(9*unit.Second, true)
	}
}
