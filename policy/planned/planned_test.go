package planned_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/cluster/clusterfile"
	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fair"
	"github.com/yardmaster/yardmaster/policy/plan"
	"github.com/yardmaster/yardmaster/policy/planned"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/transfer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

const gb = 1e9

var one = unit.Resources{Mem: 1024, Cores: 1}

// job is a MapReduce job; its reduces may start when 70 % of the maps are done.
func job(id string, submit unit.Time, maps, reduces int64, shuffle float64) *workload.Job {
	j := &workload.Job{ID: id, User: "u", Submit: submit, Stages: []workload.Stage{
		{Kind: workload.Map, Tasks: maps, Ask: one, Length: workload.Fixed(10 * unit.Second), Input: unit.Bytes(maps) * 128 << 20},
	}}
	if reduces > 0 {
		j.Stages = append(j.Stages, workload.Stage{Kind: workload.Reduce, Tasks: reduces, Ask: one, Length: workload.Fixed(5 * unit.Second),
			After: []workload.Edge{{From: 0, Shuffle: unit.Bytes(shuffle), SlowStart: 0.7}}})
	}
	return j
}

// log records where tasks ran and how the jobs ended.
type log struct {
	c     *cluster.Cluster
	rack  map[string]int
	tasks map[string]map[int]int64 // by "job/stage" and rack
	ended map[string]sim.Outcome
	near  [4]int64
	last  map[string]unit.Time
	why   []string
}

func (l *log) Job(r *sim.JobRecord) {
	l.ended[r.Job.ID] = r.Outcome
	if r.Outcome != sim.Finished {
		l.why = append(l.why, r.Job.ID+": "+r.Reason)
	}
	l.last[r.Job.ID] = r.Finish
	for i, n := range r.Near {
		l.near[i] += n
	}
}
func (l *log) Sample(*sim.Sample) {}
func (l *log) Task(r *sim.TaskRecord) {
	if r.Stage < 0 || r.Why != policy.Done {
		return
	}
	key := fmt.Sprint(r.Job.ID, "/", r.Stage)
	if l.tasks[key] == nil {
		l.tasks[key] = map[int]int64{}
	}
	l.tasks[key][l.rack[r.Node]]++
}

const net = "racks:node=10Gbit,uplink=1Gbit,circuit=10Gbit,elephant=100000000B"

func newCluster(t testing.TB, size, network string) *cluster.Cluster {
	t.Helper()
	c, err := clusterfile.Open(size, nil)
	if err != nil {
		t.Fatal(err)
	}
	if network != "" {
		if c.Network, err = cluster.ParseNetwork(network); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func planOf(t testing.TB, c *cluster.Cluster, jobs []plan.Job, s plan.Settings) *plan.Plan {
	t.Helper()
	p, err := plan.New(context.Background(), plan.Of(c, one), jobs, s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func play(t testing.TB, c *cluster.Cluster, jobs workload.Slice, fresh func() (policy.Policy, error), m sim.Model) (*log, sim.Summary) {
	t.Helper()
	l := &log{c: c, rack: map[string]int{}, tasks: map[string]map[int]int64{}, ended: map[string]sim.Outcome{}, last: map[string]unit.Time{}}
	for i := range c.Nodes {
		l.rack[c.Nodes[i].Name] = c.Nodes[i].Rack
	}
	config := sim.Config{Cluster: c, Source: jobs.Source(), NewPolicy: fresh, Model: m, Seed: 1, Sink: l, NoAlone: true}
	if c.Network != nil {
		config.Worker = transfer.New(transfer.Options{})
	}
	sum, err := sim.Run(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	return l, sum
}

func online(p *plan.Plan) func() (policy.Policy, error) {
	return func() (policy.Policy, error) { return planned.New(p), nil }
}

// A batch of planned jobs with large shuffles runs exactly where the plan says, with the maps near their input; its large shuffles go over circuits, and those of
// fair shares do not. The others run anywhere, most of them near their input.
func TestFollowsThePlan(t *testing.T) {
	c := newCluster(t, "40x4/4", net)
	var jobs workload.Slice
	for i := range 12 {
		jobs = append(jobs, job(fmt.Sprint("big", i), 0, 30, 8, 4*gb), job(fmt.Sprint("small", i), 0, 3, 1, 1e6))
	}
	p := planOf(t, c, plan.Forecast(jobs, 0, plan.Errors{}), plan.Settings{Batches: 3})
	l, sum := play(t, c, jobs, online(p), sim.Model{Replicas: 3})
	if sum.Finished != 24 {
		t.Fatalf("%d of 24 jobs finished", sum.Finished)
	}
	for r := range p.Racks {
		for _, e := range p.Racks[r].Run {
			if got := l.tasks[fmt.Sprint(e.Job, "/", e.Stage)][r]; got != e.Count && strings.HasPrefix(e.Job, "big") {
				t.Errorf("rack %d: %d tasks of %+v", r, got, e)
			}
		}
	}
	if far := l.near[policy.OffRack]; far > 24 { // of 36 maps of small jobs, and of none of the others
		t.Errorf("%v maps by distance", l.near)
	}
	optical := sum.Traffic.Optical / sum.Traffic.CrossRack
	f := func() (policy.Policy, error) {
		o, err := fair.New(nil)
		return policy.Policy{Order: o}, err
	}
	_, shares := play(t, c, jobs, f, sim.Model{Replicas: 3})
	if shares.Finished != 24 || optical < 0.75 || shares.Traffic.Optical > 0.6*shares.Traffic.CrossRack {
		t.Errorf("%.2f of the traffic between racks over circuits, under fair shares %.2f", optical, shares.Traffic.Optical/shares.Traffic.CrossRack)
	}
	if sum.Traffic.Reconfigured == 0 || sum.LastFinish >= shares.LastFinish {
		t.Errorf("%d reconfigurations; makespan %v, under fair shares %v", sum.Traffic.Reconfigured, sum.LastFinish, shares.LastFinish)
	}
}

// Whatever the jobs, the plan and the cluster, everything finishes: with jobs that the plan does not know, or knows wrongly, more reduces than
// containers, AMs, lost racks and lost nodes, gathering output or not.
func TestNothingHangs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		racks := rapid.IntRange(1, 4).Draw(t, "racks")
		c, err := clusterfile.Open(fmt.Sprintf("%dx%d/%d", racks*rapid.IntRange(1, 3).Draw(t, "nodes"), rapid.IntRange(1, 4).Draw(t, "containers"), racks), nil)
		if err != nil {
			t.Fatal(err)
		}
		if kind := rapid.SampledFrom([]string{"", net, net + ",matching=undirected", "racks:node=10Gbit,uplink=1Gbit"}).Draw(t, "network"); kind != "" {
			if c.Network, err = cluster.ParseNetwork(kind); err != nil {
				t.Fatal(err)
			}
		}
		var jobs workload.Slice
		at := unit.Time(0)
		for i := range rapid.IntRange(1, 15).Draw(t, "jobs") {
			at += unit.Time(rapid.Int64Range(0, 20).Draw(t, "gap")) * unit.Second
			j := job(fmt.Sprint("j", i), at, rapid.Int64Range(1, 25).Draw(t, "maps"), rapid.Int64Range(0, 12).Draw(t, "reduces"),
				rapid.SampledFrom([]float64{0, 1e6, 0.2 * gb, 3 * gb}).Draw(t, "shuffle"))
			if i < 2 && rapid.Bool().Draw(t, "am") {
				j.AM = one
			}
			jobs = append(jobs, j)
		}
		forecast := plan.Forecast(jobs, 0, plan.Errors{Recurring: rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "recurring"), Shuffle: 0.5, Shifted: 0.5, Shift: 30,
			Seed: rapid.Uint64().Draw(t, "seed")})
		for i := range forecast { // the plan may be wrong about anything
			if rapid.IntRange(0, 3).Draw(t, "wrong") == 0 {
				forecast[i].Maps += rapid.Int64Range(-forecast[i].Maps+1, 5).Draw(t, "more")
			}
		}
		planner := rapid.SampledFrom([]string{plan.JobPacker, plan.Corral}).Draw(t, "planner")
		p, err := plan.New(context.Background(), plan.Of(c, one), forecast, plan.Settings{Planner: planner, Online: rapid.Bool().Draw(t, "online"), Batches: 2, Over: 0.5})
		if err != nil {
			t.Fatal(err)
		}
		p.AdHoc.HeavyInput = 1.5 * gb
		if rapid.Bool().Draw(t, "limits") {
			p.LimitAdHoc()
		}
		m := sim.Model{Replicas: 3, Heartbeat: unit.Time(rapid.IntRange(0, 1).Draw(t, "beats")) * unit.Second}
		lost := rapid.IntRange(0, racks-1).Draw(t, "lost")
		if lost > 0 || c.Nodes[0].Room.Count(one) < 2 {
			for _, j := range jobs { // AMs take at most half of a rack
				j.AM = unit.Resources{}
			}
		}
		for i := range c.Nodes {
			if c.Nodes[i].Rack < lost {
				l := sim.Loss{Node: c.Nodes[i].Name, At: unit.Time(rapid.IntRange(0, 60).Draw(t, "at")) * unit.Second}
				if rapid.Bool().Draw(t, "back") {
					l.For = 20 * unit.Second
				}
				m.Losses = append(m.Losses, l)
			}
		}
		l := &log{ended: map[string]sim.Outcome{}, last: map[string]unit.Time{}}
		config := sim.Config{Cluster: c, Source: jobs.Source(), NewPolicy: online(p), Model: m, Seed: 1, NoAlone: true, Sink: struct{ sim.Sink }{l}}
		if c.Network != nil {
			config.Worker = transfer.New(transfer.Options{})
		}
		sum, err := sim.Run(context.Background(), config)
		if err != nil {
			t.Fatal(err)
		}
		if sum.Finished != int64(len(jobs)) {
			t.Fatalf("%d of %d jobs finished: %v", sum.Finished, len(jobs), l.why)
		}
	})
}

// If a rack fails before a planned job arrives, its tasks run elsewhere.
func TestRackFails(t *testing.T) {
	c := newCluster(t, "4x4/2", "")
	jobs := workload.Slice{job("a", 10*unit.Second, 16, 4, 0)}
	p := planOf(t, c, plan.Forecast(jobs, 0, plan.Errors{}), plan.Settings{Online: true})
	var m sim.Model
	for i := range c.Nodes {
		if c.Nodes[i].Rack == 0 {
			m.Losses = append(m.Losses, sim.Loss{Node: c.Nodes[i].Name})
		}
	}
	l, sum := play(t, c, jobs, online(p), m)
	if sum.Finished != 1 || l.tasks["a/0"][1] != 16 || l.tasks["a/1"][1] != 4 {
		t.Errorf("%d finished: %v", sum.Finished, l.tasks)
	}
}

// Jobs outside the plan get what the sequences leave; the presumed heavy ones are kept apart.
func TestAdHoc(t *testing.T) {
	c := newCluster(t, "4x3/4", "") // four racks of a node with three containers
	p := planOf(t, c, []plan.Job{{ID: "planned", Maps: 4, MapTime: 10}}, plan.Settings{})
	if !slices.Equal(p.Jobs[0].MapRacks, []int32{0, 1}) {
		t.Fatalf("the plan has it in %v", p.Jobs[0].MapRacks)
	}
	heavy := func(id string, tasks int64) *workload.Job {
		j := job(id, unit.Second, tasks, 0, 0)
		j.Stages[0].Input = 2 << 30
		return j
	}
	light := func(id string, submit unit.Time) *workload.Job {
		j := job(id, submit, 8, 0, 0)
		j.Stages[0].Input = 8 << 20
		return j
	}
	// The first two jobs hold all containers; the others then get them at once.
	jobs := workload.Slice{job("planned", 0, 4, 0, 0), light("first", 0), light("light", unit.Second), heavy("heavy1", 2), heavy("heavy2", 2)}
	l, sum := play(t, c, jobs, online(p), sim.Model{})
	if sum.Finished != 5 {
		t.Fatalf("%d of 5 finished", sum.Finished)
	}
	if got := l.tasks["planned/0"]; got[0] != 3 || got[1] != 1 {
		t.Errorf("the planned job ran in %v", got)
	}
	together := 0
	for rack := range l.tasks["heavy1/0"] {
		if l.tasks["heavy2/0"][rack] > 0 {
			together++
		}
	}
	if together > 0 {
		t.Errorf("large jobs share racks: %v, %v", l.tasks["heavy1/0"], l.tasks["heavy2/0"])
	}
}

// The rejected variant: a job outside the plan runs in as few racks as planned ones do.
func TestLimits(t *testing.T) {
	c := newCluster(t, "40x4/10", net)
	jobs := workload.Slice{job("known", 0, 40, 8, 20*gb), job("other", unit.Second, 40, 8, 20*gb)}
	p := planOf(t, c, plan.Forecast(jobs[:1], 0, plan.Errors{}), plan.Settings{})
	p.LimitAdHoc()
	_, before := play(t, c, jobs, online(p), sim.Model{Replicas: 3})
	l, sum := play(t, c, jobs, online(p), sim.Model{Replicas: 3})
	if sum.Finished != 2 || before.LastFinish != sum.LastFinish {
		t.Fatalf("%d finished, at %v and %v", sum.Finished, before.LastFinish, sum.LastFinish)
	}
	for stage, most := range []int{len(p.Jobs[0].MapRacks), len(p.Jobs[0].ReduceRacks)} {
		if got := l.tasks[fmt.Sprint("other/", stage)]; len(got) > most {
			t.Errorf("stage %d runs in %v: at most %d racks", stage, got, most)
		}
	}
}

// Decisions, and their share of a run; half of the jobs are in the plan.
func BenchmarkDecisions(b *testing.B) {
	c := newCluster(b, "600x20/20", "")
	var jobs workload.Slice
	for i := range 500 {
		jobs = append(jobs, job(fmt.Sprint(i), unit.Time(i)*unit.Second, 200, 20, 0))
	}
	p := planOf(b, c, plan.Forecast(jobs, 0, plan.Errors{Recurring: 0.5}), plan.Settings{Online: true})
	b.ReportAllocs()
	for b.Loop() {
		sum, err := sim.Run(context.Background(), sim.Config{Cluster: c, Source: jobs.Source(), NewPolicy: online(p), Seed: 1, NoAlone: true})
		if err != nil || sum.Finished != 500 {
			b.Fatal(err, sum.Finished)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/110_000, "ns/task")
}
