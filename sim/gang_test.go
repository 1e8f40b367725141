package sim_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/policy/hybrid"
	"github.com/yardmaster/yardmaster/policy/plan"
	"github.com/yardmaster/yardmaster/policy/planned"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// patience is how long a gang lacks room before room is held for it.
const patience = unit.Minute

// gang is a job of one gang.
func gang(id string, at unit.Time, tasks int64, length unit.Time) *workload.Job {
	j := oneStage(id, at, tasks, length)
	j.Stages[0].Gang = tasks
	return j
}

// stream is a job of one task every interval.
func stream(every, until, length unit.Time) (jobs workload.Slice) {
	for at := unit.Time(0); at < until; at += every {
		jobs = append(jobs, oneStage(fmt.Sprint("small", len(jobs)), at, 1, length))
	}
	return jobs
}

// with adds jobs in order of submission.
func with(jobs workload.Slice, more ...*workload.Job) workload.Slice {
	jobs = append(jobs, more...)
	slices.SortStableFunc(jobs, func(a, b *workload.Job) int { return int(a.Submit - b.Submit) })
	return jobs
}

// taskStarts are the times at which the tasks of a job start, in order.
func (l *lives) taskStarts(id string) (times []unit.Time) {
	for i := range l.tasks {
		if r := &l.tasks[i]; r.Job.ID == id && r.Stage >= 0 {
			times = append(times, r.Start)
		}
	}
	slices.Sort(times)
	return times
}

// Each task of a gang goes where the placement policy likes it best, given the room that the others leave, and nowhere else.
func TestGangsArePlaced(t *testing.T) {
	only := func(names ...string) func(unit.Time, *policy.Node, policy.Near) policy.Score {
		return func(_ unit.Time, n *policy.Node, _ policy.Near) policy.Score {
			if slices.Contains(names, n.Name) {
				return policy.Any
			}
			return policy.Never
		}
	}
	for _, c := range []struct {
		name  string
		job   *workload.Job
		score func(unit.Time, *policy.Node, policy.Near) policy.Score
		want  []string
	}{
		{"one node of four", gang("g", 0, 4, unit.Second), only("node3"), []string{"node3", "node3", "node3", "node3"}},
		{"too few of them", gang("g", 0, 5, unit.Second), only("node3"), nil},
		{"the emptiest", gang("g", 0, 4, unit.Second), func(_ unit.Time, n *policy.Node, _ policy.Near) policy.Score {
			return policy.Score(n.Free.Cores)
		}, []string{"node1", "node2", "node3", "node4"}},
		{"the fullest", gang("g", 0, 6, unit.Second), func(_ unit.Time, n *policy.Node, _ policy.Near) policy.Score {
			return policy.Score(5 - n.Free.Cores)
		}, []string{"node1", "node1", "node1", "node1", "node2", "node2"}},
		{"near its input", on("node2", gang("g", 0, 6, unit.Second)), func(_ unit.Time, _ *policy.Node, near policy.Near) policy.Score {
			return policy.Score(near)
		}, []string{"node1", "node1", "node2", "node2", "node2", "node2"}},
	} {
		for _, beat := range []unit.Time{0, unit.Second} {
			p := &scored{again: unit.Never, score: c.score}
			p.play(t, mustParse(t, "4x4/1"), sim.Model{Heartbeat: beat}, c.job)
			slices.Sort(p.placed)
			if beat > 0 && c.want != nil && len(p.placed) == len(c.want) && c.name != "one node of four" {
				continue // nodes are numbered in the order of their heartbeats
			}
			if !slices.Equal(p.placed, c.want) {
				t.Errorf("%s, heartbeat %v: %v, want %v", c.name, beat, p.placed, c.want)
			}
		}
	}
}

// refusing is a placement that counts how often a job refuses what it is offered.
type refusing struct {
	scored
	skipped int
}

func (r *refusing) Skipped(unit.Time, *policy.Job, int) unit.Time { r.skipped++; return r.again }

// A gang that refuses its nodes skips one opportunity, however many nodes it was offered, and takes them when it may.
func TestAGangSkipsOnce(t *testing.T) {
	const until = 7 * unit.Second
	r := &refusing{scored: scored{again: until, asked: map[string]int{}, score: func(now unit.Time, n *policy.Node, _ policy.Near) policy.Score {
		if now < until && n.Name != "node1" {
			return policy.Wait
		}
		return policy.Any
	}}}
	l := &lives{}
	_, err := sim.Run(context.Background(), sim.Config{
		Cluster: mustParse(t, "4x1/1"), Source: workload.Slice{gang("g", 0, 3, unit.Second)}.Source(), Sink: l,
		NewPolicy: func() (policy.Policy, error) { return policy.Policy{Order: fifo.New(), Place: r}, nil },
	})
	if got := l.taskStarts("g"); err != nil || r.skipped != 1 || !slices.Equal(got, []unit.Time{until, until, until}) {
		t.Errorf("%d skipped, starts at %v: %v", r.skipped, got, err)
	}
}

// A gang is not overtaken for ever: its room is held after a minute, and comes free within the longest task.
func TestGangsAreNotOvertaken(t *testing.T) {
	const submit, length, every = 20 * unit.Second, 10 * unit.Second, unit.Second
	for _, c := range []struct {
		name      string
		cluster   string
		scheduler string
		model     sim.Model
		gangs     []*workload.Job
	}{
		{"fifo", "3x4/1", "fifo", sim.Model{}, []*workload.Job{gang("g1", submit, 11, length)}},
		{"fair", "3x4/1", "fair", sim.Model{}, []*workload.Job{gang("g1", submit, 11, length)}},
		{"capacity", "3x4/1", "capacity", sim.Model{}, []*workload.Job{gang("g1", submit, 11, length)}},
		{"two gangs", "3x4/1", "fifo", sim.Model{}, []*workload.Job{gang("g1", submit, 11, length), gang("g2", submit, 10, length)}},
		{"two gangs, fair", "6x2/1", "fair", sim.Model{}, []*workload.Job{gang("g1", submit, 11, length), gang("g2", submit, 10, length)}},
		{"heartbeats", "3x4/1", "fifo", sim.Model{Heartbeat: unit.Second}, []*workload.Job{gang("g1", submit, 11, length)}},
		{"ends on heartbeats", "3x5/1", "fair", sim.Model{Heartbeat: unit.Second, EndOnBeat: true, PerBeat: 1}, []*workload.Job{gang("g1", submit, 12, length)}},
		{"delay", "3x4/1", "delay:node=3s", sim.Model{}, []*workload.Job{on("node1", gang("g1", submit, 11, length))}},
		{"delay by count", "3x4/1", "delay:node=3", sim.Model{}, []*workload.Job{on("node1", gang("g1", submit, 11, length))}},
		{"a node is lost", "5x4/1", "fifo", sim.Model{Losses: []sim.Loss{{Node: "node2", At: 83 * unit.Second, For: 1000 * unit.Second}}},
			[]*workload.Job{gang("g1", submit, 12, length)}},
	} {
		spec, err := policy.ParseSpec(c.scheduler)
		if err != nil {
			t.Fatal(err)
		}
		l := &lives{}
		sum, err := sim.Run(context.Background(), sim.Config{
			Cluster: mustParse(t, c.cluster), Source: with(stream(every, 1000*unit.Second, length), c.gangs...).Source(), Model: c.model, Sink: l, NewPolicy: maker(spec),
		})
		if err != nil || sum.Finished != sum.Submitted {
			t.Fatalf("%s: %+v, %v", c.name, sum, err)
		}
		last := submit + patience + unit.Time(len(c.gangs)+len(c.model.Losses))*(length+3*c.model.Heartbeat+every)
		if strings.HasPrefix(c.scheduler, "delay") {
			last += 5 * unit.Second // it waits for node1 first
		}
		for _, g := range c.gangs {
			got := l.taskStarts(g.ID)
			if int64(len(got)) != g.Stages[0].Tasks || got[0] != got[len(got)-1] {
				t.Errorf("%s: %s starts at %v, not together", c.name, g.ID, got)
			}
			if got[0] > last {
				t.Errorf("%s: %s starts at %v, want %v at the latest", c.name, g.ID, got[0], last)
			}
		}
		if (sum.HeldMem > 0) != (c.scheduler != "capacity") { // its queue waits for a job that is too large
			t.Errorf("%s: %v MiB-seconds held", c.name, sum.HeldMem)
		}
	}
}

// Other jobs go on beside a hold, on nodes that are not held; and no node is held that the gang can do without.
func TestOthersGoOnBesideAHold(t *testing.T) {
	l := &lives{}
	// Two nodes of four, with four containers each, are enough for the gang; about 15 of the 16 containers are busy.
	_, err := sim.Run(context.Background(), sim.Config{
		Cluster: mustParse(t, "4x4/1"), Sink: l, NewPolicy: maker(policy.Spec{Name: "fifo"}),
		Source: with(stream(unit.Second, 300*unit.Second, 15*unit.Second), gang("g", 20*unit.Second, 8, unit.Second)).Source(),
	})
	start := l.taskStarts("g")[0]
	var during int
	for _, r := range l.tasks {
		if r.Job.ID != "g" && r.Start > 20*unit.Second+patience && r.Start < start {
			during++
		}
	}
	if err != nil || start > 20*unit.Second+patience+16*unit.Second || during == 0 {
		t.Errorf("it starts at %v, and %d others between its patience and then: %v", start, during, err)
	}
}

// A task of a gang that is lost or preempted runs again alone; the others go on.
func TestALostTaskOfAGangRunsAgainAlone(t *testing.T) {
	l := &lives{}
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: mustParse(t, "4x1/1"), Source: workload.Slice{gang("g", 0, 3, 10*unit.Second)}.Source(), Sink: l, NewPolicy: maker(policy.Spec{Name: "fifo"}),
		Model: sim.Model{Losses: []sim.Loss{{Node: "node1", At: 4 * unit.Second}}},
	})
	if got := l.taskStarts("g"); err != nil || sum.Lost != 1 || l.Records[0].Finish != 14*unit.Second || !slices.Equal(got, []unit.Time{0, 0, 0, 4 * unit.Second}) {
		t.Errorf("starts at %v, ends at %v: %+v, %v", got, l.Records[0].Finish, sum, err)
	}
}

// The same for one that is preempted.
func TestAPreemptedTaskOfAGangRunsAgainAlone(t *testing.T) {
	high := oneStage("high", 12*unit.Second, 1, 10*unit.Second)
	high.Priority = 5
	u := &urgent{Order: fifo.New(), jobs: map[string]*policy.Job{}}
	l := &lives{}
	_, err := sim.Run(context.Background(), sim.Config{
		Cluster: mustParse(t, "1x4/1"), Source: workload.Slice{gang("low", 0, 4, 100*unit.Second), high}.Source(), Sink: l,
		NewPolicy: func() (policy.Policy, error) { return policy.Policy{Order: u, Timer: u}, nil },
	})
	if got := l.taskStarts("low"); err != nil || !slices.Equal(got, []unit.Time{0, 0, 0, 0, 25 * unit.Second}) {
		t.Errorf("starts at %v: %v", got, err)
	}
}

// Reduces have slots of their own: they do not wait for a gang of maps that lacks room.
func TestAGangOfMapsDoesNotKeepReducesWaiting(t *testing.T) {
	for _, beat := range []unit.Time{0, unit.Second} {
		j := mapReduce("j", 0, 6, 1, 0.5)
		j.Stages[0].Gang = 3
		j.Stages[0].Length = taking("", 0, 10, 12, 12, 10, 10, 10).Stages[0].Length
		l := &lives{}
		// When the first task ends, "next" takes its slot: too few are left for the second gang.
		_, err := sim.Run(context.Background(), sim.Config{
			Cluster: mustParse(t, "1x4+1/1"), Sink: l, Model: sim.Model{Heartbeat: beat}, NewPolicy: maker(policy.Spec{Name: "fifo"}),
			Source: workload.Slice{oneStage("first", 0, 1, 100*unit.Second), j, oneStage("next", 5*unit.Second, 1, 100*unit.Second)}.Source(),
		})
		for _, r := range l.tasks {
			if r.Job.ID == "j" && r.Stage == 1 && r.Start > 15*unit.Second {
				t.Errorf("heartbeat %v: the reduce starts at %v: %v", beat, r.Start, err)
			}
		}
		if got := l.taskStarts("j"); got[len(got)-1] < 90*unit.Second {
			t.Errorf("heartbeat %v: %v", beat, got)
		}
	}
}

// A slow task of a gang gets a copy as any other does: one container.
func TestACopyOfAGangsTaskIsSingle(t *testing.T) {
	g := taking("g", 0, append(times(9, 10), 1000)...)
	g.Stages[0].Gang = 10
	l := &lives{}
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: mustParse(t, "6x2/1"), Source: workload.Slice{g}.Source(), Sink: l, NewPolicy: maker(policy.Spec{Name: "fifo"}),
		Model: sim.Model{Speculate: sim.SpeculateHadoop},
	})
	if got := l.taskStarts("g"); err != nil || sum.Finished != 1 || len(got) != 11 || got[9] != 0 {
		t.Errorf("starts at %v: %+v, %v", got, sum, err)
	}
}

// A stage of several gangs starts them one after another; what is left at the end is a smaller one. Slots of the two kinds do not mix.
func TestSeveralGangsOfAStage(t *testing.T) {
	for _, c := range []string{"2x2/1", "2x2+2/1"} {
		j := mapReduce("g", 0, 10, 3, 0)
		j.Stages[0].Gang, j.Stages[1].Gang = 4, 3
		l := &lives{}
		sum, err := sim.Run(context.Background(), sim.Config{
			Cluster: mustParse(t, c), Source: workload.Slice{j}.Source(), Sink: l, NewPolicy: maker(policy.Spec{Name: "fifo"}),
		})
		if err != nil || sum.Finished != 1 {
			t.Fatalf("%s: %+v, %v", c, sum, err)
		}
		together := map[string]int{}
		for _, r := range l.tasks {
			together[fmt.Sprint(r.Stage, " ", r.Start.Seconds())]++
		}
		if together["0 0"] != 4 || together["0 10"] != 4 || together["0 20"] != 2 || len(together) != 4 {
			t.Errorf("%s: %v", c, together)
		}
	}
}

// What can never start is refused at arrival, with a sentence: a gang that is too large, and one that a policy that divides the nodes would tear apart.
func TestGangsThatAreRefused(t *testing.T) {
	large, withAM, kept, reduces := gang("g", 0, 9, 1), gang("g", 0, 8, 1), gang("g", 0, 2, 1), mapReduce("g", 0, 1, 3, 1)
	withAM.AM = cluster.Unit
	kept.Keep = &workload.Keep{Ask: cluster.Unit, Slots: 1, Max: 2}
	reduces.Stages[1].Gang = 3
	twoKinds := mustParse(t, "4x2/1")
	twoKinds.Nodes[0].Kind = cluster.ScaleUp
	byName := func(text string) func() (policy.Policy, error) {
		spec, err := policy.ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		return maker(spec)
	}
	for _, c := range []struct {
		name    string
		cluster *cluster.Cluster
		make    func() (policy.Policy, error)
		job     *workload.Job
		want    string
	}{
		{"too large", mustParse(t, "4x2/1"), byName("fifo"), large, "the cluster has room for 8"},
		{"too large beside its AM", mustParse(t, "4x2/1"), byName("fifo"), withAM, "the cluster has room for 7"},
		{"too few slots", mustParse(t, "2x2+1/1"), byName("fifo"), reduces, "3 reduce slots at once: the cluster has 2"},
		{"kept containers", mustParse(t, "4x2/1"), byName("fifo"), kept, "start together"},
		{"tags", mustParse(t, "4x2/1"), byName("tags:limits=10"), gang("g", 0, 2, 1), "start together"},
		{"sita", mustParse(t, "4x2/1"), byName("sita:limits=10,shares=0.5"), gang("g", 0, 2, 1), "start together"},
		{"hybrid", twoKinds, func() (policy.Policy, error) { return hybrid.New(hybrid.Options{}) }, gang("g", 0, 2, 1), "start together"},
		{"planned", mustParse(t, "4x2/1"), func() (policy.Policy, error) {
			return planned.New(&plan.Plan{Racks: make([]plan.Sequence, 1)}), nil
		}, gang("g", 0, 2, 1), "start together"},
	} {
		l := &policytest.Ledger{}
		_, err := sim.Run(context.Background(), sim.Config{Cluster: c.cluster, Source: workload.Slice{c.job}.Source(), Sink: l, NewPolicy: c.make, NoAlone: true})
		if err != nil || l.Records[0].Outcome != sim.Refused || !strings.Contains(l.Records[0].Reason, c.want) {
			t.Errorf("%s: %v, %+v, want %q", c.name, err, l.Records, c.want)
		}
	}
}

// proposals records when the order proposes a gang in vain.
type proposals struct {
	policy.Order
	refused map[string][]unit.Time
}

func (p *proposals) Ranked(o *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	return p.Order.Ranked(o, func(j *policy.Job) policy.Verdict {
		id, now, isGang := j.ID, o.Now, j.Stages[0].Gang > 1
		v := try(j)
		if isGang && v != policy.Took {
			p.refused[id] = append(p.refused[id], now)
		}
		return v
	})
}

// On random clusters, with small jobs and gangs, the tasks of a gang start at one instant, no node is over-committed, and no gang is overtaken for ever:
// whenever one is proposed in vain a minute or more after the first time, a gang starts within the longest task: this one, or one that room was held for
// before. So with k gangs it starts at the latest k longest tasks after its patience, plus the times until it is proposed again.
func TestPropertyGangsWaitBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := cluster.Uniform(rapid.IntRange(1, 6).Draw(t, "nodes"), 1, unit.Resources{Mem: 1})
		for i := range c.Nodes {
			c.Nodes[i].Room = unit.Resources{Mem: 1024 * rapid.Int64Range(1, 6).Draw(t, "mem"), Cores: 8}
		}
		m := sim.Model{StartUp: unit.Time(rapid.Int64Range(0, 2).Draw(t, "startup")) * unit.Second}
		if rapid.Bool().Draw(t, "beats") {
			m.Heartbeat, m.EndOnBeat = unit.Second, rapid.Bool().Draw(t, "endonbeat")
		}
		var jobs workload.Slice
		longest, at := unit.Time(0), unit.Time(0)
		for i := range rapid.IntRange(1, 120).Draw(t, "jobs") {
			at += unit.Time(rapid.Int64Range(0, 6).Draw(t, "gap")) * unit.Second
			length := unit.Time(rapid.Int64Range(1, 40).Draw(t, "length")) * unit.Second
			ask := unit.Resources{Mem: 512 * rapid.Int64Range(1, 3).Draw(t, "ask"), Cores: 1}
			j := &workload.Job{ID: fmt.Sprint("j", i), Submit: at, User: "u", Stages: []workload.Stage{{Tasks: 1, Ask: ask, Length: workload.Fixed(length)}}}
			if rapid.IntRange(0, 7).Draw(t, "gang") == 0 {
				j.Stages[0].Tasks = rapid.Int64Range(2, 10).Draw(t, "tasks")
				j.Stages[0].Gang = j.Stages[0].Tasks
			}
			longest = max(longest, length)
			jobs = append(jobs, j)
		}
		longest += m.StartUp + m.Heartbeat
		scheduler := rapid.SampledFrom([]string{"fifo", "fair", "capacity"}).Draw(t, "scheduler")
		p := &proposals{refused: map[string][]unit.Time{}}
		l := &lives{}
		sum, err := sim.Run(context.Background(), sim.Config{
			Cluster: c, Source: jobs.Source(), Model: m, Sink: l, NoAlone: true,
			NewPolicy: func() (policy.Policy, error) {
				made, err := maker(policy.Spec{Name: scheduler})()
				p.Order, made.Order = made.Order, p
				return made, err
			},
		})
		if err != nil || sum.Stuck > 0 || sum.Finished+sum.Refused != sum.Submitted {
			t.Fatalf("%+v, %v", sum, err)
		}
		var begins []unit.Time // of gangs
		for _, r := range l.Records {
			got := l.taskStarts(r.Job.ID)
			if r.Outcome == sim.Refused {
				if c.Containers(r.Job.Stages[0].Ask) >= r.Job.Stages[0].Tasks {
					t.Fatalf("%s: %s", r.Job.ID, r.Reason)
				}
			} else if r.Job.Stages[0].Gang > 1 {
				begins = append(begins, got[0])
				if got[0] != got[len(got)-1] {
					t.Fatalf("%s is half started: %v", r.Job.ID, got)
				}
			}
		}
		for id, times := range p.refused {
			for _, now := range times {
				if now >= times[0]+patience && !slices.ContainsFunc(begins, func(at unit.Time) bool { return at >= now && at <= now+longest }) {
					t.Fatalf("%s is proposed in vain from %v, still at %v, and no gang starts within %v: %v", id, times[0], now, longest, begins)
				}
			}
		}
		committed(t, c, l.tasks)
	})
}

// committed checks that at no start a node holds more than it has room for.
func committed(t *rapid.T, c *cluster.Cluster, tasks []sim.TaskRecord) {
	room := map[string]unit.Resources{}
	for _, n := range c.Nodes {
		room[n.Name] = n.Room
	}
	for i := range tasks {
		var held unit.Resources
		for k := range tasks {
			if a, b := &tasks[i], &tasks[k]; a.Node == b.Node && b.Start <= a.Start && a.Start < b.End {
				held = held.Add(b.Job.Stages[b.Stage].Ask)
			}
		}
		if !held.Fits(room[tasks[i].Node]) {
			t.Fatalf("%s holds %v at %v", tasks[i].Node, held, tasks[i].Start)
		}
	}
}
