package sim_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/delay"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// scored is a place made of functions. It counts what it is asked.
type scored struct {
	score  func(now unit.Time, n *policy.Node, near policy.Near) policy.Score
	again  unit.Time
	asked  map[string]int // by node
	calls  int
	placed []string
	at     []unit.Time
	now    unit.Time
}

func (p *scored) Score(now unit.Time, _ *policy.Job, _ int, n *policy.Node, near policy.Near) policy.Score {
	p.calls++
	p.asked[n.Name]++
	p.now = now
	return p.score(now, n, near)
}

func (p *scored) Skipped(unit.Time, *policy.Job, int) unit.Time { return p.again }

func (p *scored) Placed(_ *policy.Job, _ int, n *policy.Node, _ policy.Near) {
	p.placed, p.at = append(p.placed, n.Name), append(p.at, p.now)
}

func (p *scored) Unplaced(*policy.Job, int, *policy.Node, policy.Near) {}

func (p *scored) Left(unit.Time, *policy.Job) {}

func (p *scored) play(t *testing.T, c *cluster.Cluster, m sim.Model, jobs ...*workload.Job) sim.Summary {
	t.Helper()
	p.asked = map[string]int{}
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: c, Source: workload.Slice(jobs).Source(), Sink: &policytest.Ledger{}, Model: m, NoAlone: true,
		NewPolicy: func() (policy.Policy, error) { return policy.Policy{Order: fifo.New(), Place: p}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// on puts all input of a job's first stage on one node.
func on(node string, j *workload.Job) *workload.Job {
	j.Stages[0].Hosts = &workload.Hosts{Names: []string{node}, Of: make([][]int32, j.Stages[0].Tasks)}
	for i := range j.Stages[0].Hosts.Of {
		j.Stages[0].Hosts.Of[i] = []int32{0}
	}
	return j
}

// Without heartbeats the best of the candidates gets the task: nodes with its input, in the rack of it, and others; none is asked twice.
func TestBestOfTheCandidates(t *testing.T) {
	for _, c := range []struct {
		name  string
		want  string
		score func(unit.Time, *policy.Node, policy.Near) policy.Score
	}{
		{"nearest", "node12", func(_ unit.Time, _ *policy.Node, near policy.Near) policy.Score { return policy.Score(near) }},
		{"first among equals", "node12", func(unit.Time, *policy.Node, policy.Near) policy.Score { return 1 }},
		{"the rack", "node11", func(_ unit.Time, _ *policy.Node, near policy.Near) policy.Score {
			return map[policy.Near]policy.Score{policy.RackLocal: 2}[near]
		}},
		{"far away", "node1", func(_ unit.Time, _ *policy.Node, near policy.Near) policy.Score { return 3 - policy.Score(near) }},
		{"one node only", "node19", func(_ unit.Time, n *policy.Node, _ policy.Near) policy.Score {
			if n.Name == "node19" {
				return policy.Any
			}
			return policy.Never
		}},
	} {
		p := &scored{score: c.score, again: unit.Never}
		sum := p.play(t, cluster.Uniform(20, 2, cluster.Unit), sim.Model{}, on("node12", oneStage("j", 0, 1, unit.Second)))
		if sum.Events != 2 || len(p.placed) != 1 || p.placed[0] != c.want || p.at[0] != 0 {
			t.Errorf("%s: %v at %v in %d events, want %s", c.name, p.placed, p.at, sum.Events, c.want)
		}
		for node, n := range p.asked {
			if n > 1 {
				t.Errorf("%s: asked %d times about %s", c.name, n, node)
			}
		}
		if c.name != "one node only" && len(p.asked) > 9 {
			t.Errorf("%s: asked about %d nodes", c.name, len(p.asked))
		}
	}
}

// A place that waits until an instant is asked again then, though nothing else happens on an idle cluster.
func TestAskedAgainAtAnInstant(t *testing.T) {
	const at = 7 * unit.Second
	for _, beat := range []unit.Time{0, unit.Second} {
		p := &scored{again: at, score: func(now unit.Time, _ *policy.Node, _ policy.Near) policy.Score {
			if now < at {
				return policy.Wait
			}
			return policy.Any
		}}
		p.play(t, mustParse(t, "3x1/1"), sim.Model{Heartbeat: beat}, oneStage("j", 0, 2, unit.Second))
		if len(p.at) != 2 || p.at[0] < at || p.at[1] > at+beat || beat == 0 && p.calls > 3+3+3+2 {
			t.Errorf("heartbeat %v: started at %v after %d questions", beat, p.at, p.calls)
		}
	}
}

// A job whose node comes free begins to wait for its next task at once.
func TestTheNextWaitBeginsAtAStart(t *testing.T) {
	d, err := delay.Timed(5*unit.Second, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := &taskLedger{}
	long := on("node1", taking("long", 0, 3, 100)) // it goes on: the end of a job is a reason to ask everybody
	long.Stages[0].Hosts.Of = long.Stages[0].Hosts.Of[:1]
	_, err = sim.Run(context.Background(), sim.Config{
		Cluster: cluster.Uniform(6, 2, cluster.Unit), Sink: l, Source: workload.Slice{long, on("node1", oneStage("j", 0, 2, 10*unit.Second))}.Source(),
		NewPolicy: func() (policy.Policy, error) { return policy.Policy{Order: fifo.New(), Place: d}, nil },
	})
	var starts []unit.Time
	for _, r := range l.tasks {
		if r.Job.ID == "j" {
			starts = append(starts, r.Start)
		}
	}
	if err != nil || len(starts) != 2 || starts[0] != 3*unit.Second || starts[1] != 8*unit.Second {
		t.Errorf("started at %v, want 3 s and 8 s: %v", starts, err)
	}
}

// Jobs that wait for one node each get every container that comes free there, at once; and they are not asked about any other node, but
// when they begin to wait and when they change.
func TestParkedJobsGetTheirNode(t *testing.T) {
	const nodes, tasks = 40, 25
	var jobs []*workload.Job
	for i := range nodes {
		if i%4 != 3 {
			jobs = append(jobs, on(fmt.Sprint("node", i+1), oneStage(fmt.Sprint("a", i), 0, tasks, 10*unit.Second)))
		}
	}
	// Room that no job wants comes free all the time.
	busy := oneStage("busy", 0, 2000, unit.Second)
	jobs = append(jobs, busy)
	d, err := delay.Timed(unit.Hour, unit.Hour)
	if err != nil {
		t.Fatal(err)
	}
	p := &counted{Delay: d}
	l := &policytest.Ledger{}
	_, err = sim.Run(context.Background(), sim.Config{
		Cluster: cluster.Uniform(nodes, 4, cluster.Unit.Times(2)), Source: workload.Slice(jobs).Source(), Sink: l, NoAlone: true,
		NewPolicy: func() (policy.Policy, error) { return policy.Policy{Order: fifo.New(), Place: p}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range l.Records {
		if r.Job != busy && (r.Finish != (tasks+1)/2*10*unit.Second || r.Near[policy.NodeLocal] != tasks) {
			t.Errorf("job %s is done after %v, %v", r.Job.ID, r.Finish, r.Near)
		}
	}
	started := len(jobs)*tasks + 2000
	t.Logf("%d questions for %d starts", p.calls, started)
	if p.calls > 2*started {
		t.Errorf("%d questions for %d starts", p.calls, started)
	}
}

type counted struct {
	*delay.Delay
	calls int
}

func (c *counted) Score(now unit.Time, j *policy.Job, s int, n *policy.Node, near policy.Near) policy.Score {
	c.calls++
	return c.Delay.Score(now, j, s, n, near)
}

// While all that wait are parked, a node that none of them wants is not offered.
func TestParkedJobsAreNotWalked(t *testing.T) {
	noise := oneStage("noise", 0, 60, 0)
	noise.Stages[0].Length = workload.Lengths{Kind: workload.List}
	for i := range 60 {
		noise.Stages[0].Length.Values = append(noise.Stages[0].Length.Values, unit.Time(i+1)*unit.Second)
	}
	jobs := workload.Slice{on("node1", oneStage("long", 0, 2, 100*unit.Second)), noise}
	for i := range 20 {
		jobs = append(jobs, on("node1", oneStage(fmt.Sprint("waits", i), unit.Second/2, 1, unit.Second)))
	}
	o := &opens{Order: fifo.New()}
	l := &policytest.Ledger{}
	_, err := sim.Run(context.Background(), sim.Config{
		Cluster: cluster.Uniform(40, 4, cluster.Unit.Times(2)), Source: jobs.Source(), Sink: l, NoAlone: true,
		NewPolicy: func() (policy.Policy, error) {
			d, err := delay.Timed(unit.Hour, 0)
			return policy.Policy{Order: o, Place: d}, err
		},
	})
	last := l.Records[len(l.Records)-1]
	if starts := 2 + 60 + 20; err != nil || last.Finish != 110*unit.Second || o.asked > starts+20+20+2 {
		t.Errorf("done after %v; the order was asked %d times for %d starts: %v", last.Finish, o.asked, starts, err)
	}
}

// opens counts how often it is asked, and the most stages of one job that it saw open.
type opens struct {
	policy.Order
	most, asked int
}

func (o *opens) Ranked(of *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	o.asked++
	return o.Order.Ranked(of, func(j *policy.Job) policy.Verdict {
		open := 0
		for i := range j.Stages {
			if j.Stages[i].Open() > 0 {
				open++
			}
		}
		o.most = max(o.most, open)
		return try(j)
	})
}

// A job shows all its open stages. Where the first asks for too much, the next one that asks for no more gets the room.
func TestSeveralAsks(t *testing.T) {
	for _, beat := range []unit.Time{0, unit.Second} {
		j := oneStage("j", 0, 3, 10*unit.Second)
		j.Stages[0].Ask = cluster.Unit.Times(3)
		for _, more := range []workload.Stage{{Tasks: 1, Ask: cluster.Unit.Times(4)}, {Tasks: 6, Ask: cluster.Unit}} {
			more.Length = workload.Fixed(5 * unit.Second)
			j.Stages = append(j.Stages, more)
		}
		o := &opens{Order: fifo.New()}
		l := &taskLedger{}
		_, err := sim.Run(context.Background(), sim.Config{
			Cluster: cluster.Uniform(1, 1, cluster.Unit.Times(4)), Source: workload.Slice{j}.Source(), Sink: l, Model: sim.Model{Heartbeat: beat},
			NewPolicy: func() (policy.Policy, error) { return policy.Policy{Order: o}, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		// One large task at a time with a small one beside it; then the one of stage 1, which waits for the whole node.
		if got, want := l.Records[0].Finish, 35*unit.Second; got < want || got > want+6*beat || o.most != 3 {
			t.Errorf("heartbeat %v: done after %v, want %v; %d stages seen open, want 3", beat, got, want, o.most)
		}
		for _, r := range l.tasks {
			if r.Stage == 2 && beat == 0 && r.Start%(5*unit.Second) != 0 {
				t.Errorf("a small task started at %v", r.Start)
			}
		}
	}
}
