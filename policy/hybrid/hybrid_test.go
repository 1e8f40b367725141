package hybrid_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policy/hybrid"
	"github.com/yardmaster/yardmaster/policy/hybrid/classify"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/hdfs"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// upTo puts jobs of up to this many maps on scale-up machines; the closer to that, the less clearly. It knows the shuffle, too.
type upTo int64

func (u upTo) Decision(f classify.Features) float64 {
	return float64(u) + 0.5 - float64(f.Maps) + float64(f.Shuffle)/float64(unit.GiB)
}

// twoKinds has racks of scale-out machines of 2 containers and one of scale-up machines of 3, which are twice as fast, last or first.
func twoKinds(outRacks, each, ups int, first bool) *cluster.Cluster {
	c := cluster.Uniform(outRacks*each, outRacks, cluster.Unit.Times(2))
	var up []cluster.Node
	for i := range ups {
		up = append(up, cluster.Node{Name: fmt.Sprint("up", i), Kind: cluster.ScaleUp, Rack: len(c.Racks), Room: cluster.Unit.Times(3), Speed: &cluster.Speed{Small: 2}})
	}
	c.Racks = append(c.Racks, "up")
	if c.Nodes = append(c.Nodes, up...); first {
		c.Nodes = append(up, c.Nodes[:outRacks*each]...)
	}
	return c
}

func job(i int, at unit.Time, maps, reduces int64) *workload.Job {
	j := &workload.Job{ID: fmt.Sprint("j", i), User: fmt.Sprint("u", i%3), Queue: "q", Submit: at, Stages: []workload.Stage{
		{Kind: workload.Map, Tasks: maps, Ask: cluster.Unit, Length: workload.Fixed(10 * unit.Second), Input: unit.Bytes(maps) * unit.MiB},
	}}
	if reduces > 0 {
		j.Stages = append(j.Stages, workload.Stage{
			Kind: workload.Reduce, Tasks: reduces, Ask: cluster.Unit, Length: workload.Fixed(5 * unit.Second), After: []workload.Edge{{Shuffle: unit.MiB, SlowStart: 0.5}},
		})
	}
	return j
}

// journal records where the tasks of each job ran.
type journal struct {
	c     *cluster.Cluster
	kinds map[string]map[string]int // by job, then kind of machine
	jobs  []sim.JobRecord
}

func (l *journal) Job(r *sim.JobRecord) { l.jobs = append(l.jobs, *r) }
func (l *journal) Sample(*sim.Sample)   {}
func (l *journal) Task(r *sim.TaskRecord) {
	for _, n := range l.c.Nodes {
		if n.Name == r.Node {
			if l.kinds[r.Job.ID] == nil {
				l.kinds[r.Job.ID] = map[string]int{}
			}
			l.kinds[r.Job.ID][n.Kind]++
		}
	}
}

// checked looks at every theft.
type checked struct {
	*hybrid.Order
	t    interface{ Errorf(string, ...any) }
	jobs map[int64]*policy.Job
	ran  map[int64]bool // has started
	lost bool           // all scale-up machines may be lost: then jobs move that have started
}

func (o *checked) Arrived(now unit.Time, j *policy.Job) error {
	o.jobs[j.Seq] = j
	return o.Order.Arrived(now, j)
}

func (o *checked) Started(e *policy.Event) {
	o.ran[e.Job.Seq] = true
	o.Order.Started(e)
}

func (o *checked) Left(now unit.Time, j *policy.Job) {
	delete(o.jobs, j.Seq)
	o.Order.Left(now, j)
}

func (o *checked) sides() map[int64]hybrid.Side {
	sides := map[int64]hybrid.Side{}
	for seq, j := range o.jobs {
		sides[seq], _ = o.SideOf(j)
	}
	return sides
}

func (o *checked) Ranked(of *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	before, ran, spilled := o.sides(), map[int64]bool{}, o.Order.Counts().Spilled
	for seq := range o.ran {
		ran[seq] = true
	}
	took := o.Order.Ranked(of, try)
	for seq, side := range o.sides() {
		switch was := before[seq]; {
		case was == side:
		case was == hybrid.Out:
			o.t.Errorf("job %d moved from scale-out to scale-up", seq)
		case ran[seq] && !o.lost:
			o.t.Errorf("job %d moved after its start", seq)
		case of.Node.Kind == cluster.ScaleUp:
			o.t.Errorf("a scale-up machine stole job %d", seq)
		default:
			_, mine := o.SideOf(o.jobs[seq])
			for other, j := range o.jobs {
				_, d := o.SideOf(j)
				if !o.lost && o.Order.Counts().Spilled == spilled && before[other] == hybrid.Up && !ran[other] && other != seq && j.Pending > 0 && math.Abs(d) < math.Abs(mine) {
					o.t.Errorf("job %d with a decision of %v was stolen, not job %d with %v", seq, mine, other, d)
				}
			}
		}
	}
	return took
}

// play runs jobs under the policy and returns the records, the kinds of machines of each job, and what the policy did.
func play(t interface {
	Fatalf(string, ...any)
	Errorf(string, ...any)
}, c *cluster.Cluster, o hybrid.Options, m sim.Model, jobs workload.Slice) (*journal, hybrid.Counts) {
	l := &journal{c: c, kinds: map[string]map[string]int{}}
	var order *hybrid.Order
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: c, Source: jobs.Source(), Sink: l, Model: m, NoAlone: true, Seed: 1,
		NewPolicy: func() (policy.Policy, error) {
			p, err := hybrid.New(o)
			if err == nil && !o.Mixed {
				order = p.Order.(*hybrid.Order)
				p.Order = &checked{order, t, map[int64]*policy.Job{}, map[int64]bool{}, len(m.Losses) > 0}
			}
			return p, err
		},
	})
	if err != nil || sum.Finished != int64(len(jobs)) {
		t.Fatalf("%d of %d finished, %v", sum.Finished, len(jobs), err)
	}
	if o.Mixed {
		return l, hybrid.Counts{}
	}
	return l, order.Counts()
}

// Unless all scale-up machines are lost or help, no job runs on both kinds of machines, and thefts are of jobs that have not started, from scale-up to
// scale-out, of the smallest decision value unless they spill. All jobs finish.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ups := rapid.IntRange(1, 3).Draw(t, "scale-up machines")
		c := twoKinds(rapid.IntRange(1, 3).Draw(t, "racks"), 2, ups, rapid.Bool().Draw(t, "first"))
		o := hybrid.Options{
			Base: policy.Spec{Name: rapid.SampledFrom([]string{"fair", "delay", "fifo"}).Draw(t, "base"), Params: policy.Params{}}, Classifier: upTo(6),
			Stealing: hybrid.Stealing(rapid.IntRange(0, 2).Draw(t, "stealing")), Recurring: rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "recurring"),
			Spill: unit.Time(rapid.IntRange(0, 1).Draw(t, "spill")) * 5 * unit.Second, Help: unit.Time(rapid.IntRange(0, 1).Draw(t, "help")) * 10 * unit.Second,
		}
		if o.Base.Name == "delay" && rapid.Bool().Draw(t, "timed") {
			o.Base.Params["node"] = "2s"
		}
		m := sim.Model{Heartbeat: unit.Time(rapid.IntRange(0, 2).Draw(t, "heartbeat")) * unit.Second, Replicas: 3, Placement: hdfs.Hybrid}
		if rapid.Bool().Draw(t, "losses") {
			m.Losses = []sim.Loss{{At: 30 * unit.Second, For: unit.Time(rapid.IntRange(0, 1).Draw(t, "for good")) * unit.Minute, Node: "up0"}, {At: 40 * unit.Second, For: unit.Minute, Node: "node1"}}
		}
		var jobs workload.Slice
		at := unit.Time(0)
		for i := range rapid.IntRange(1, 15).Draw(t, "jobs") {
			at += unit.Time(rapid.IntRange(0, 20).Draw(t, "gap")) * unit.Second
			j := job(i, at, int64(rapid.IntRange(1, 15).Draw(t, "maps")), int64(rapid.IntRange(0, 4).Draw(t, "reduces")))
			if i < 2 && rapid.Bool().Draw(t, "AM") { // more could fill a side, and leave no room for tasks
				j.AM = cluster.Unit
			}
			jobs = append(jobs, j)
		}
		l, n := play(t, c, o, m, jobs)
		gone := ups == 1 && len(m.Losses) > 0 // then its jobs move
		for id, kinds := range l.kinds {
			if len(kinds) != 1 && !gone && o.Help == 0 {
				t.Errorf("job %s ran on %v", id, kinds)
			}
		}
		if n.Up+n.Out != int64(len(jobs)) || o.Stealing == hybrid.NoStealing && n.Stolen > 0 && !gone || o.Spill == 0 && n.Spilled > 0 || o.Help == 0 && n.Helped > 0 {
			t.Errorf("%+v", n)
		}
		for _, j := range jobs {
			if j.Stages[0].Tasks > 6 && l.kinds[j.ID][cluster.ScaleUp] > 0 && o.Help == 0 {
				t.Errorf("large job %s ran on scale-up machines", j.ID)
			}
		}
	})
}

func TestStealing(t *testing.T) {
	c := twoKinds(1, 2, 1, false)
	small := workload.Slice{job(0, 0, 3, 0), job(1, 0, 2, 0), job(2, 0, 6, 0)}
	for _, x := range []struct {
		how    hybrid.Stealing
		jobs   workload.Slice
		stolen int64
		up     []string // jobs on scale-up machines
		end    float64
	}{
		// The first fills the scale-up machine. The others wait: the closest to the boundary is stolen, and then the other one, since a
		// container is left.
		{hybrid.WhenFull, small, 2, []string{"j0"}, 20},
		// Idle scale-out machines take them as they come.
		{hybrid.NoStealing, small, 0, []string{"j0", "j1", "j2"}, 20},
		// With room on the scale-up machine nothing is stolen, unless it is to be.
		{hybrid.WhenFull, small[:1], 0, []string{"j0"}, 5},
		{hybrid.WhenIdle, small[:1], 1, nil, 10},
		// A scale-out job that waits keeps its machines from stealing.
		{hybrid.WhenFull, workload.Slice{job(0, 0, 3, 0), job(1, 0, 8, 0), job(2, unit.Second, 3, 0)}, 0, []string{"j0", "j2"}, 20},
	} {
		l, n := play(t, c, hybrid.Options{Classifier: upTo(6), Stealing: x.how, Recurring: 1}, sim.Model{}, x.jobs)
		var up []string
		for _, j := range x.jobs {
			if l.kinds[j.ID][cluster.ScaleUp] > 0 {
				up = append(up, j.ID)
			}
		}
		end := 0.0
		for _, r := range l.jobs {
			end = max(end, r.Finish.Seconds())
		}
		if n.Stolen != x.stolen || cmp.Diff(x.up, up) != "" || math.Abs(end-x.end) > 0.1 {
			t.Errorf("stealing %d, %d jobs: %d stolen, %v on scale-up machines, end %v; want %d, %v, %v", x.how, len(x.jobs), n.Stolen, up, end, x.stolen, x.up, x.end)
		}
	}
}

// Without scale-up machines, and without classification, it is the base scheduler.
func TestBase(t *testing.T) {
	var jobs workload.Slice
	for i := range 30 {
		jobs = append(jobs, job(i, unit.Time(i)*unit.Second, int64(1+i*7%13), int64(i%3)))
	}
	m := sim.Model{Heartbeat: unit.Second, Replicas: 3}
	for name, params := range map[string]policy.Params{"fair": {"by": "user"}, "delay": {"node": "5"}, "fifo": {}} {
		one := cluster.Uniform(4, 2, cluster.Unit.Times(2))
		two := twoKinds(2, 2, 1, false)
		plain := func(c *cluster.Cluster) []sim.JobRecord {
			l := &journal{c: c, kinds: map[string]map[string]int{}}
			_, err := sim.Run(context.Background(), sim.Config{Cluster: c, Source: jobs.Source(), Sink: l, Model: m, NoAlone: true, Seed: 1,
				NewPolicy: func() (policy.Policy, error) { return all.Policies.New(policy.Spec{Name: name, Params: params}) }})
			if err != nil {
				t.Fatal(err)
			}
			return l.jobs
		}
		base := policy.Spec{Name: name, Params: params}
		l, n := play(t, one, hybrid.Options{Base: base, Classifier: upTo(6)}, m, jobs)
		if d := cmp.Diff(plain(one), l.jobs); d != "" || n.Up+n.Stolen > 0 {
			t.Errorf("%s without scale-up machines: %s", name, d)
		}
		l, _ = play(t, two, hybrid.Options{Base: base, Mixed: true}, m, jobs)
		if d := cmp.Diff(plain(two), l.jobs); d != "" {
			t.Errorf("%s without classification: %s", name, d)
		}
	}
}

// A job that only one kind of machines can run goes there, and others are refused.
func TestWhatFits(t *testing.T) {
	c := twoKinds(1, 2, 1, false)
	wide, small, large := job(0, 0, 9, 0), job(1, 0, 1, 0), job(2, 0, 9, 0)
	wide.Stages[0].Ask = cluster.Unit.Times(3)
	l, n := play(t, c, hybrid.Options{Classifier: upTo(6), Recurring: 1, Stealing: hybrid.WhenIdle}, sim.Model{}, workload.Slice{wide, small, large})
	if l.kinds["j0"][cluster.ScaleUp] != 9 || l.kinds["j2"][""] != 9 || n.Up != 2 {
		t.Errorf("%v, %+v", l.kinds, n)
	}
	gang := job(0, 0, 4, 0)
	gang.Stages[0].Gang = 2
	slots := twoKinds(1, 2, 1, false)
	slots.Slots = true
	for i := range slots.Nodes {
		slots.Nodes[i].MapSlots, slots.Nodes[i].ReduceSlots = 2, 1
	}
	for _, x := range []struct {
		c    *cluster.Cluster
		j    *workload.Job
		want string
	}{{c, gang, "start together"}, {slots, small, "fixed slots"}} {
		l := &journal{}
		_, err := sim.Run(context.Background(), sim.Config{Cluster: x.c, Source: workload.Slice{x.j}.Source(), Sink: l, NoAlone: true,
			NewPolicy: func() (policy.Policy, error) { return hybrid.New(hybrid.Options{}) }})
		if err != nil || l.jobs[0].Outcome != sim.Refused || !strings.Contains(l.jobs[0].Reason, x.want) {
			t.Errorf("%v, %+v, want %q", err, l.jobs, x.want)
		}
	}
}

// Only the shuffle of recurring jobs is known, with its error. The signed error of 0.5 GB for 16 GB is -96.875 %.
func TestPrediction(t *testing.T) {
	f := classify.Features{Maps: 100, Reduces: 10, Shuffle: 16e9}
	if got := f.Mispredicted(-0.96875); got != (classify.Features{Maps: 100, Reduces: 10, Shuffle: 5e8}) {
		t.Errorf("%+v", got)
	}
	if got := f.Unpredicted(); got != (classify.Features{Maps: 100, Reduces: 10}) {
		t.Errorf("%+v", got)
	}
	for _, x := range []struct {
		recurring, wrong float64
		least, most      int64 // jobs on scale-up machines
	}{{1, 0, 200, 200}, {0, 0, 0, 0}, {0.5, 0, 80, 120}, {1, -1, 0, 0}, {1, 1, 200, 200}, {1, -0.8, 0, 0}} {
		o := hybrid.Options{Classifier: upTo(6), Stealing: hybrid.NoStealing, Recurring: x.recurring, Error: x.wrong, Seed: 1}
		var jobs workload.Slice
		for i := range 200 {
			j := job(i, 0, 7, 1) // large, but for a shuffle of 1 GiB
			j.Stages[1].After[0].Shuffle = unit.GiB
			jobs = append(jobs, j)
		}
		_, n := play(t, twoKinds(1, 2, 1, false), o, sim.Model{}, jobs)
		if n.Up < x.least || n.Up > x.most {
			t.Errorf("%v recur, error %v: %d of 200 on scale-up machines", x.recurring, x.wrong, n.Up)
		}
	}
}

// A stolen job may need a larger machine than the first one offered; and a node may come that was not there when the cluster's size was told.
func TestLargerMachines(t *testing.T) {
	c := twoKinds(1, 2, 1, false)
	c.Nodes[1].Room = cluster.Unit.Times(3)
	c.Nodes[0].Room = cluster.Unit
	first, wide := job(0, 0, 3, 0), job(1, unit.Second, 1, 0)
	wide.Stages[0].Ask = cluster.Unit.Times(3)
	small := job(2, 2*unit.Second, 1, 0)
	l, n := play(t, c, hybrid.Options{Classifier: upTo(6), Recurring: 1}, sim.Model{}, workload.Slice{first, wide, small})
	if n.Stolen != 2 || l.kinds["j1"][""] != 1 {
		t.Errorf("%+v, %v", n, l.kinds)
	}
	p, err := hybrid.New(hybrid.Options{Classifier: upTo(6), Recurring: 1})
	if err != nil {
		t.Fatal(err)
	}
	kind := func(n int32) string { return [...]string{"", cluster.ScaleUp}[n%2] }
	p.Order.Resized(0, policy.Cluster{Nodes: 2, Kind: kind, Room: func(int32, uint8) unit.Resources { return cluster.Unit }})
	j := &policy.Job{Tasks: 1, Ask: cluster.Unit, Stages: []policy.Stage{{Tasks: 1, Ask: cluster.Unit}}}
	if err := p.Order.Arrived(0, j); err != nil {
		t.Fatal(err)
	}
	j.Want(0, 1)
	p.Order.Changed(0, j)
	took := func(*policy.Job) policy.Verdict { return policy.Took }
	for index, want := range map[int32]bool{6: false, 7: true} {
		if got := p.Order.Ranked(&policy.Offer{Node: &policy.Node{Index: index, Kind: kind(index), Total: cluster.Unit, Free: cluster.Unit}}, took); got != want {
			t.Errorf("node %d: %v", index, got)
		}
	}
}

func TestParams(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.json")
	if err := os.WriteFile(path, []byte(`{"format":2,"mean":[0,0],"scale":[1,1],"low":[0,0],"high":[9,9],"svm":{"gamma":1,"bias":-1,"vectors":[[1,1]],"weights":[2]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ spec, want string }{
		{"hybrid", ""},
		{"hybrid:base=delay,node=3s,steal=no,recurring=0.5,error=-1", ""},
		{"hybrid:base=fair,by=user,classify=no", ""},
		{"hybrid:model=" + path, ""},
		{"hybrid:node=3", "fair has no parameter node"},
		{"hybrid:base=capacity", "want fair or delay or fifo"},
		{"hybrid:spill=no,help=2m", ""},
		{"hybrid:help=0s", "want a time"},
		{"hybrid:steal=yes", "want full or idle or no"},
		{"hybrid:recurring=2", "recurring=2 is not between 0 and 1"},
		{"hybrid:error=-2", "want a number from -1"},
		{"hybrid:model=" + path + "x", "no such file"},
		{"hybrid:model=" + t.TempDir(), "not a regular file"},
		{"hybrid:modle=x", "has no parameter modle"},
	} {
		spec, err := policy.ParseSpec(c.spec)
		if err == nil {
			_, err = all.Policies.New(spec)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.spec, err, c.want)
		}
	}
}

// A decision does not allocate.
func TestAllocations(t *testing.T) {
	p, err := hybrid.New(hybrid.Options{Classifier: upTo(6)})
	if err != nil {
		t.Fatal(err)
	}
	room := func(int32, uint8) unit.Resources { return cluster.Unit.Times(4) }
	kind := func(n int32) string { return [...]string{"", cluster.ScaleUp}[n%2] }
	p.Order.Resized(0, policy.Cluster{Total: cluster.Unit.Times(8), Max: cluster.Unit.Times(4), Nodes: 2, Room: room, Kind: kind})
	for i := range 50 {
		j := &policy.Job{Seq: int64(i), Index: int32(i), ID: fmt.Sprint(i), Tasks: int64(i), Ask: cluster.Unit, Stages: []policy.Stage{{Tasks: int64(i), Ask: cluster.Unit}}}
		if err := p.Order.Arrived(0, j); err != nil {
			t.Fatal(err)
		}
		j.Want(0, 5)
		p.Order.Changed(0, j)
	}
	pass := func(*policy.Job) policy.Verdict { return policy.Pass }
	for n := range int32(2) {
		node := &policy.Node{Index: n, Kind: kind(n), Total: cluster.Unit.Times(4), Free: cluster.Unit.Times(4)}
		offer := &policy.Offer{Node: node}
		p.Order.Ranked(offer, pass)
		if got := testing.AllocsPerRun(100, func() { p.Order.Ranked(offer, pass); p.Shifted() }); got > 0 {
			t.Errorf("an offer of a %q machine allocates %v times", node.Kind, got)
		}
	}
}

// Without a classifier small is what the scale-up machines can run at once, maps and reduces together, by the size of the containers.
func TestFit(t *testing.T) {
	c := twoKinds(2, 2, 2, false) // six scale-up containers
	jobs := workload.Slice{job(0, 0, 6, 0), job(1, unit.Hour, 7, 0), job(2, 2*unit.Hour, 4, 2), job(3, 3*unit.Hour, 4, 3), job(4, 4*unit.Hour, 2, 0), job(5, 5*unit.Hour, 3, 0)}
	for _, j := range jobs[4:] { // one of these fits a scale-up machine
		j.Stages[0].Ask = cluster.Unit.Times(2)
	}
	l, n := play(t, c, hybrid.Options{Recurring: 1}, sim.Model{}, jobs)
	for i, want := range []string{cluster.ScaleUp, "", cluster.ScaleUp, "", cluster.ScaleUp, ""} {
		if kinds := l.kinds[jobs[i].ID]; len(kinds) != 1 || kinds[want] == 0 {
			t.Errorf("%s: %v, want %q", jobs[i].ID, kinds, want)
		}
	}
	if n != (hybrid.Counts{Up: 3, Out: 3}) {
		t.Errorf("%+v", n)
	}
}
