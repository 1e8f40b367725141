package nas

import (
	"fmt"
	"maps"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/shuffle"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

var one = unit.Resources{Mem: 1024, Cores: 1}

// world is an engine by hand: nodes with six containers each, two nodes in a rack.
type world struct {
	t     testing.TB
	o     *Order
	p     policy.Policy
	nodes []policy.Node
	jobs  map[string]*policy.Job
	near  map[string]policy.Near // of a job's maps, by job/node; off-rack if missing
	load  float64                // of all uplinks
	now   unit.Time
}

// newWorld has the policy as its source prints it, but for what is given.
func newWorld(t testing.TB, params policy.Params) *world {
	t.Helper()
	printed := policy.Params{"gate": "known", "first": "reduces"}
	if maps.Copy(printed, params); printed["capped"] == "" && printed["cap"] == "" {
		printed["capped"] = "all"
	}
	return made(t, printed)
}

func made(t testing.TB, params policy.Params) *world {
	t.Helper()
	p, err := New(params)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, o: p.Order.(*Order), p: p, jobs: map[string]*policy.Job{}, near: map[string]policy.Near{}}
	for i := range 8 {
		w.nodes = append(w.nodes, policy.Node{Index: int32(i), Rack: int32(i / 2), Total: one.Times(6), Free: one.Times(6)})
	}
	p.Choose(w)
	if net, ok := p.Place.(policy.Networked); ok {
		net.Watch(w)
	}
	p.Order.Resized(0, policy.Cluster{Total: one.Times(48), Max: one.Times(6), Nodes: 8})
	return w
}

func (w *world) Near(j *policy.Job, s int, n *policy.Node) policy.Near {
	if near, ok := w.near[fmt.Sprint(j.ID, "/", n.Index)]; ok {
		return near
	}
	return policy.OffRack
}

func (w *world) Local(j *policy.Job, s int, n *policy.Node) bool {
	return w.Near(j, s, n) == policy.NodeLocal
}
func (w *world) Racks(*policy.Job, int, int64, []int32) []int32 { return nil }
func (w *world) Uplink(int32) (in, out float64)                 { return 0, w.load }
func (w *world) Carried(int32) (in, out float64)                { return 0, w.load * w.now.Seconds() }

// job adds a job whose maps read and write so many MB each. Its input lies on the given nodes.
func (w *world) job(id, user string, maps, reduces int64, in, out int64, nodes ...int) *policy.Job {
	w.t.Helper()
	j := &policy.Job{
		Seq: int64(len(w.jobs)), Index: int32(len(w.jobs)), ID: id, User: user, Input: unit.Bytes(in * maps * shuffle.MB), Tasks: maps + reduces, Ask: one,
		Stages: []policy.Stage{{Tasks: maps, Pending: maps, Ask: one}},
	}
	if reduces > 0 {
		edge := workload.Edge{Shuffle: unit.Bytes(out * maps * shuffle.MB)}
		j.Stages = append(j.Stages, policy.Stage{Tasks: reduces, Pending: reduces, Ask: one, After: []workload.Edge{edge}})
	}
	for _, n := range nodes {
		w.near[fmt.Sprint(id, "/", n)] = policy.NodeLocal
	}
	w.jobs[id] = j
	j.Want(0, maps+reduces)
	if err := w.o.Arrived(w.now, j); err != nil {
		w.t.Fatal(err)
	}
	return j
}

// busy runs a map that does not matter: without one, no reduce that waits for maps starts.
func (w *world) busy() {
	w.job("busy", "z", 1, 0, 0, 0)
	w.start("busy", 0, 6)
}

// start runs a task, whatever the policy thinks of it.
func (w *world) start(id string, stage, node int) {
	j, n := w.jobs[id], &w.nodes[node]
	j.Stages[stage].Pending--
	j.Stages[stage].Running++
	j.Want(0, -1)
	if j.Stages[0].Open() == 0 {
		j.Front = 1
	}
	j.Hold(w.now, one)
	n.Free = n.Free.Sub(one)
	w.o.Started(&policy.Event{Now: w.now, Job: j, Stage: stage, Node: n, Size: one})
}

func (w *world) end(id string, stage, node int) {
	j, n := w.jobs[id], &w.nodes[node]
	j.Stages[stage].Running--
	j.Stages[stage].Done++
	j.Yield(w.now, w.now, one)
	n.Free = n.Free.Add(one)
	w.o.Ended(&policy.Event{Now: w.now, Job: j, Stage: stage, Node: n, Size: one})
}

// learn runs a number of maps of a job to their end, so that it is predicted.
func (w *world) learn(id string, maps, node int) {
	for range maps {
		w.start(id, 0, node)
		w.end(id, 0, node)
	}
}

// offer offers a container of a node, and returns the task that starts: job/stage.
func (w *world) offer(node int) (got string) {
	got = "-"
	of := policy.Offer{Now: w.now, Node: &w.nodes[node]}
	w.o.Ranked(&of, func(j *policy.Job) policy.Verdict {
		s := of.Stage
		near := policy.NoPreference
		if s == 0 {
			near = w.Near(j, s, of.Node)
		}
		if score := w.p.Place.Score(w.now, j, s, of.Node, near); score < 0 {
			w.t.Errorf("%s/%d is proposed, and its score is %d", j.ID, s, score)
		}
		if j.Stages[s].Open() == 0 {
			w.t.Fatalf("%s/%d is proposed and has no task to start", j.ID, s)
		}
		w.start(j.ID, s, node)
		w.p.Place.Placed(j, s, of.Node, near)
		got = fmt.Sprint(j.ID, "/", s)
		return policy.Took
	})
	return got
}

func (w *world) want(node int, want string) {
	w.t.Helper()
	if got := w.offer(node); got != want {
		w.t.Errorf("node %d starts %s, want %s", node, got, want)
	}
}

// Of a user's local qualified maps: of an unpredicted job, else the closest fit.
func TestMapsLocal(t *testing.T) {
	w := newWorld(t, policy.Params{"threshold": "200MB", "skip": "3"})
	for _, id := range []string{"a", "b", "c"} {
		w.job(id, "u", 10, 1, 100, map[string]int64{"a": 50, "b": 150, "c": 300}[id], 0)
		w.learn(id, 1, 7)
	}
	w.want(0, "b/0") // 150 of 200; 300 does not qualify
	w.want(0, "a/0") // 50 are left
	w.job("new", "u", 10, 1, 100, 100, 1)
	w.want(1, "new/0") // nothing else is local
	w.near["new/2"], w.near["a/2"], w.near["b/2"] = policy.NodeLocal, policy.NodeLocal, policy.NodeLocal
	w.want(2, "new/0") // unpredicted
}

// Users with fewer containers come first; a skip is counted for each that is passed over, and forgotten at a start.
func TestMapsSkips(t *testing.T) {
	w := newWorld(t, policy.Params{"skip": "3", "threshold": "none", "reset": "any"})
	w.job("far", "a", 20, 0, 100, 0)
	w.job("here", "b", 20, 0, 100, 0, 0)
	for range 3 {
		w.want(0, "here/0") // a skips
	}
	w.want(0, "far/0")  // a holds fewer and has waited
	w.want(0, "here/0") // again
	w.want(1, "-")      // a's second skip, b's first
	w.want(1, "-")
	w.want(1, "far/0")
	w.job("other", "c", 1, 0, 100, 0)
	w.start("other", 0, 5)
	for range 5 {
		w.offer(1) // c has no map that waits: it does not count
	}
	for _, n := range w.o.UserOf(w.o.Of(2)).Wait {
		if (shuffle.Bound{Skips: 1}).Over(&n, 0) {
			t.Errorf("a user without waiting maps has skipped offers: %+v", n)
		}
	}
}

func TestMapsWaitForATime(t *testing.T) {
	w := newWorld(t, policy.Params{"skip": "5s", "threshold": "none", "reset": "any"})
	w.job("far", "a", 20, 0, 100, 0)
	w.now = 10 * unit.Second
	w.want(0, "-")
	w.now = 14 * unit.Second
	w.want(0, "-")
	w.now = 15 * unit.Second
	w.want(0, "far/0")
	w.want(0, "-")
}

// After its skips a user starts maps anywhere until it starts a local one.
func TestMapsWaitAgainAfterALocalOne(t *testing.T) {
	w := newWorld(t, policy.Params{"skip": "2", "threshold": "none"})
	w.job("a", "u", 20, 0, 100, 0, 1)
	for _, x := range []struct {
		node int
		want string
	}{{0, "-"}, {0, "-"}, {0, "a/0"}, {2, "a/0"}, {1, "a/0"}, {0, "-"}} {
		w.want(x.node, x.want)
	}
}

// While a map waits, no reduce beyond the cap starts, although its own maps are done.
func TestReducesBeyondTheCap(t *testing.T) {
	w := newWorld(t, policy.Params{"cap": "0", "tmin": "0", "tmax": "0"})
	w.job("waits", "a", 9, 9, 100, 1)
	w.learn("waits", 1, 7)
	w.job("done", "b", 1, 1, 100, 1)
	w.learn("done", 1, 7)
	w.want(0, "-")
}

// After its skips a user starts the best qualified map: small and unpredicted first, then the cheapest to read, then the closest fit.
func TestMapsForced(t *testing.T) {
	w := newWorld(t, policy.Params{"threshold": "400MB", "skip": "0", "tmin": "1", "tmax": "1"})
	w.job("large predicted", "u", 9, 1, 100, 10)
	w.learn("large predicted", 1, 7)
	w.job("large", "u", 9, 1, 100, 10)
	w.job("small predicted", "u", 2, 1, 4, 1)
	w.learn("small predicted", 1, 7)
	w.job("small", "u", 1, 1, 4, 1)
	for _, want := range []string{"small/0", "small predicted/0", "large/0"} {
		w.want(0, want)
	}
	for range 8 {
		w.start("large", 0, 6)
	}
	w.want(1, "large predicted/0")
	w.job("large in the rack", "u", 9, 1, 100, 10)
	w.learn("large in the rack", 1, 7)
	w.near["large in the rack/2"] = policy.RackLocal
	w.want(2, "large in the rack/0") // reads 100 instead of 200
	w.job("large with more output", "u", 9, 1, 100, 90)
	w.learn("large with more output", 1, 7)
	w.want(3, "large with more output/0") // costs the same, fits more closely
}

// If no map qualifies: the one with the least output, with input on the node if there is one.
func TestMapsOverTheThreshold(t *testing.T) {
	w := newWorld(t, policy.Params{"threshold": "1MB", "skip": "2", "reset": "any"})
	for id, out := range map[string]int64{"a": 50, "b": 20} {
		w.job(id, "u", 9, 1, 100, out)
		w.learn(id, 1, 7)
	}
	w.want(0, "-")
	w.want(0, "-")
	w.want(0, "b/0")
	w.near["a/1"] = policy.NodeLocal
	w.want(1, "-")
	w.want(1, "-")
	w.want(1, "a/0")
}

// Six maps of average output fill a node's threshold exactly.
func TestMapsOfOneKindFillANode(t *testing.T) {
	w := newWorld(t, policy.Params{"skip": "1000"})
	w.job("a", "u", 99, 3, 7, 3, 0)
	w.learn("a", 1, 0)
	for range 6 {
		w.want(0, "a/0")
	}
}

// Reduces by category, then delayed, then with all maps done, then by size.
func TestReducesByCategory(t *testing.T) {
	w := newWorld(t, policy.Params{"parts": "mts+ca", "tmin": "0", "tmax": "0", "cap": "1"})
	for id, out := range map[string]int64{"heavy": 200, "medium": 20, "light": 0} { // maps done on node 0, in rack 0
		w.job(id, "u", 1, 2, 100, out)
		w.learn(id, 1, 0)
	}
	for _, want := range []string{"heavy/1", "heavy/1", "medium/1", "medium/1", "light/1", "light/1"} {
		w.want(1, want)
	}
	for id, out := range map[string]int64{"heavy2": 200, "medium2": 20, "light2": 0} {
		w.job(id, "u", 1, 2, 100, out)
		w.learn(id, 1, 0)
	}
	for _, want := range []string{"light2/1", "light2/1", "medium2/1", "medium2/1", "heavy2/1", "heavy2/1"} {
		w.want(4, want) // rack 2 has no output
	}
}

func TestReducesInACategory(t *testing.T) {
	w := newWorld(t, policy.Params{"tmin": "0", "tmax": "0", "cap": "1"})
	for _, x := range []struct {
		id  string
		out int64
	}{{"small", 200}, {"large", 300}, {"half", 400}, {"held", 150}} {
		w.job(x.id, "u", 2, 9, 100, x.out)
		w.learn(x.id, 2, 0)
	}
	w.jobs["half"].Stages[0].Done = 1
	w.o.Of(2).Maps = 4 // half of its maps are done
	w.o.delayed[3] = true
	for _, want := range []string{"held/1", "large/1", "large/1"} { // its tag is gone
		w.want(1, want)
	}
	for _, want := range []string{"held/1", "held/1"} { // above its quota the smallest first
		w.want(4, want)
	}
}

// Slow-start: heavy jobs early, light jobs late.
func TestAdaptiveSlowStart(t *testing.T) {
	for slow, wants := range map[string][3]string{"adaptive": {"-", "heavy/1", "heavy/1"}, "fixed": {"-", "heavy/1", "light/1"}} {
		w := newWorld(t, policy.Params{"parts": "mts+ca", "slowstart": slow, "skip": "1000", "cap": "1"})
		w.job("light", "a", 10, 5, 1, 0)
		w.job("heavy", "b", 10, 5, 100, 200)
		w.busy()
		w.learn("light", 1, 7)
		w.learn("heavy", 1, 7)
		w.want(0, wants[0])
		w.learn("heavy", 1, 7) // 20 %
		w.want(0, wants[1])
		w.learn("light", 3, 7) // 40 %
		w.want(0, wants[2])
		w.learn("light", 1, 7)
		w.want(0, "light/1")
	}
}

// In a congested rack: reduces of light jobs only, others are delayed; maps of light jobs only. After its skips a user starts any reduce.
func TestCongested(t *testing.T) {
	w := newWorld(t, policy.Params{"tmin": "0", "tmax": "0", "cap": "1", "skip": "0", "reduce-skip": "2"})
	w.job("heavy", "a", 9, 9, 100, 200)
	w.job("light", "b", 9, 1, 100, 0)
	w.busy()
	w.learn("heavy", 1, 0)
	w.learn("light", 1, 0)
	w.load = 0.9
	w.want(0, "light/1")
	if !w.o.delayed[0] {
		t.Error("a heavy job is passed over and not delayed")
	}
	w.want(0, "light/0") // no light reduce is left; a skips again
	w.want(0, "heavy/1") // it has waited long enough
	if w.o.delayed[0] {
		t.Error("still delayed after a start")
	}
	w.load = 0.79
	w.o.links.Tick(0)
	w.now = unit.Second
	w.o.links.Tick(w.now)
	w.want(0, "heavy/1")
	for gate, want := range map[string]string{"no": "heavy/0", "known": "heavy/0", "all": "-"} { // nothing is known of it yet
		w = newWorld(t, policy.Params{"gate": gate})
		w.load = 0.9
		w.job("heavy", "a", 9, 9, 100, 200, 0)
		w.want(0, want)
	}
	for parts, want := range map[string]string{"mts+ca": "heavy/1", "mts": "heavy/1", "all": "-"} {
		w := newWorld(t, policy.Params{"parts": parts, "tmin": "0", "tmax": "0"})
		w.load = 0.9
		w.job("heavy", "a", 9, 9, 100, 200, 0)
		w.busy()
		w.learn("heavy", 1, 0)
		w.want(0, want)
	}
}

// The load of an uplink is the mean over a heartbeat.
func TestLinks(t *testing.T) {
	w := newWorld(t, nil)
	l := w.o.links
	if l.Congested(2) || l.WasCongested(9) {
		t.Error("idle, and congested")
	}
	w.load, w.now = 0.8, unit.Second
	if again, changed := l.Tick(w.now); again != 2*unit.Second || changed || !l.Congested(2) || !l.WasCongested(2) {
		t.Errorf("80 %%: again %v, changed %v, congested %v", again, changed, l.Congested(2))
	}
	w.load, w.now = 0.79, 2*unit.Second // carried 1.58 of 2 s
	if _, changed := l.Tick(w.now); !changed || l.Congested(2) {
		t.Error("79 %")
	}
}

// While maps wait, reduces hold at most half of the cluster.
func TestReduceCap(t *testing.T) {
	w := newWorld(t, policy.Params{"tmin": "0", "tmax": "0", "skip": "1000"})
	w.job("a", "u", 9, 40, 100, 200)
	w.busy()
	w.learn("a", 1, 0)
	n := 0
	for node := range w.nodes {
		for w.nodes[node].Free.Mem > 0 && w.offer(node) == "a/1" {
			n++
		}
	}
	if n != 24 {
		t.Errorf("%d reduces of 48 containers, want 24", n)
	}
}

// AMs come first, and an engine that does not let an order choose gets the front stage.
func TestFrontAndAMs(t *testing.T) {
	w := newWorld(t, policy.Params{"tmin": "0", "tmax": "0", "skip": "0"})
	w.job("a", "u", 9, 9, 100, 200)
	j := &policy.Job{Seq: 9, Index: 9, ID: "am", User: "v", AM: one, Ask: one, Front: policy.AMStage, Tasks: 1, Stages: []policy.Stage{{Tasks: 1, Pending: 1, Later: 1, Ask: one}}}
	j.Want(0, 1)
	if err := w.o.Arrived(0, j); err != nil {
		t.Fatal(err)
	}
	of := policy.Offer{Node: &w.nodes[0]}
	w.o.Ranked(&of, func(j *policy.Job) policy.Verdict {
		if j.ID != "am" || of.Stage != policy.AMStage {
			t.Errorf("%s, stage %d", j.ID, of.Stage)
		}
		return policy.Enough
	})
	w.o.Left(0, j)
	w.o.Choose(nil)
	w.want(0, "a/0") // a reduce could start, and its maps are at the front
	if err := w.o.Arrived(0, &policy.Job{Index: 10, Stages: []policy.Stage{{Tasks: 4, Gang: 2}}}); err == nil {
		t.Error("a gang is taken")
	}
}

func TestParams(t *testing.T) {
	for _, p := range []policy.Params{
		{"parts": "x"}, {"threshold": "x"}, {"threshold": "-1"}, {"slowstart": "x"}, {"tmin": "2"}, {"tmax": "-1"}, {"tmin": "0.6"}, {"congested": "NaN"}, {"congested": "0"}, {"skip": "-1"},
		{"skip": "x"}, {"reduce-skip": "9d"}, {"cap": "x"}, {"heartbeat": "0s"}, {"unfetched": "x"}, {"light": "x"}, {"light": "1GB"}, {"ratios": "x"}, {"ratios": "a:-1"}, {"learn": "x"}, {"gate": "x"},
	} {
		if _, err := New(p); err == nil {
			t.Errorf("%v is taken", p)
		}
	}
	p, err := New(policy.Params{"parts": "mts", "skip": "5s", "ratios": "sort:1;grep:0.01", "threshold": "1GB", "unfetched": "yes"})
	if _, looks := p.Place.(policy.Networked); err != nil || looks || p.Timer != nil {
		t.Errorf("without cr: %v, %v", p, err)
	}
	if p, _ := New(nil); p.Timer == nil {
		t.Error("nobody samples the network")
	}
}

// remote has no input on any node.
type remote struct{ *world }

func (remote) Local(*policy.Job, int, *policy.Node) bool { return false }

// A decision that passes over all users.
func BenchmarkDecision(b *testing.B) {
	w := newWorld(b, policy.Params{"skip": "1000000000"})
	for i := range 200 {
		w.job(fmt.Sprint("j", i), fmt.Sprint("u", i%50), 1000, 5, 100, 50)
	}
	w.o.Choose(remote{w})
	b.ReportAllocs()
	for b.Loop() {
		w.o.Ranked(&policy.Offer{Node: &w.nodes[0]}, func(*policy.Job) policy.Verdict { return policy.Pass })
	}
}

func TestDecisionsDoNotAllocate(t *testing.T) {
	w := newWorld(t, policy.Params{"skip": "1000000000", "tmin": "0", "tmax": "0"})
	for i := range 40 {
		w.job(fmt.Sprint("j", i), fmt.Sprint("u", i%5), 1000, 5, 100, 50)
	}
	w.o.Choose(remote{w})
	of := policy.Offer{Node: &w.nodes[0]}
	pass := func(*policy.Job) policy.Verdict { return policy.Pass }
	if n := testing.AllocsPerRun(100, func() { w.o.Ranked(&of, pass) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// first=fair: a container goes to maps or reduces, by which user holds fewer; of one user, by which job does. Otherwise reduces come first.
func TestFirst(t *testing.T) {
	for _, c := range []struct {
		first string
		want  []string
	}{{"reduces", []string{"a/1", "a/1"}}, {"fair", []string{"b/0", "b/0"}}} {
		w := newWorld(t, policy.Params{"tmin": "0", "tmax": "0", "skip": "0", "first": c.first})
		w.busy()
		w.job("a", "u", 9, 9, 100, 200)
		w.learn("a", 1, 0)
		for range 3 { // u holds three
			w.start("a", 0, 1)
		}
		w.job("b", "v", 9, 0, 100, 0)
		for _, want := range c.want {
			w.want(2, want)
		}
	}
	w := newWorld(t, policy.Params{"tmin": "0", "tmax": "0", "skip": "0", "first": "fair", "capped": "job"})
	w.job("a", "u", 4, 9, 100, 200)
	w.learn("a", 1, 0)
	for range 3 { // all of its maps
		w.start("a", 0, 1)
	}
	w.job("b", "u", 9, 0, 100, 0)
	w.want(2, "b/0") // of the same user, the job that holds less
	for range 3 {
		w.start("b", 0, 3)
	}
	w.want(2, "a/1")
}

// capped=job: until its last map has started, a job has no more reduces than running maps, however empty the cluster is.
func TestJobCap(t *testing.T) {
	w := newWorld(t, policy.Params{"tmin": "0", "tmax": "0", "skip": "1000", "capped": "job"})
	w.job("a", "u", 5, 9, 100, 200)
	w.learn("a", 1, 0)
	w.want(2, "-") // no map of it runs
	w.start("a", 0, 1)
	w.start("a", 0, 1)
	w.want(2, "a/1")
	w.want(2, "a/1")
	w.want(2, "-")
	w.end("a", 0, 1)
	w.want(2, "-")
	w.start("a", 0, 1)
	w.start("a", 0, 1) // the last one
	for range 4 {
		w.want(3, "a/1")
	}
}

// By default no map is held back because a rack is congested, a container goes to maps or reduces by who holds less, and reduces are capped by job.
func TestDefaults(t *testing.T) {
	w := made(t, policy.Params{"tmin": "0", "tmax": "0", "skip": "0", "threshold": "none"})
	w.job("a", "u", 20, 9, 100, 200)
	w.learn("a", 2, 0) // heavy
	w.load, w.now = 1, 2*unit.Second
	w.o.links.Tick(w.now)
	w.want(2, "a/0") // it has no running map, so no reduce
	w.start("a", 0, 1)
	w.job("b", "v", 9, 0, 100, 0)
	w.want(2, "b/0") // v holds less
	w.want(2, "b/0")
}

// gate=soft: maps of heavy jobs are held back in a congested rack, and no longer than a user may skip.
func TestSoftGate(t *testing.T) {
	for gate, want := range map[string][]string{"soft": {"-", "-", "-", "a/0"}, "known": {"-", "-", "-", "-"}, "no": {"a/0"}} {
		w := newWorld(t, policy.Params{"tmin": "1", "tmax": "1", "skip": "3", "gate": gate, "threshold": "none"})
		w.busy()
		w.job("a", "u", 90, 9, 100, 200, 0, 1, 2, 3)
		w.learn("a", 2, 0)
		w.load, w.now = 1, 2*unit.Second
		w.o.links.Tick(w.now)
		for i, x := range want {
			if got := w.offer(0); got != x {
				t.Errorf("gate=%s, offer %d: %s, want %s", gate, i, got, x)
			}
		}
		if gate == "soft" { // a light one goes ahead
			w.job("l", "u", 9, 1, 1, 0, 0)
			w.want(0, "l/0")
		}
	}
}
