package shufflewatcher

import (
	"fmt"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/shuffle"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

var one = unit.Resources{Mem: 1024, Cores: 1}

// world has four nodes of four containers, each its own rack. Blocks lie in the racks of their job's list, in turn.
type world struct {
	t      *testing.T
	o      *Order
	p      policy.Policy
	nodes  []policy.Node
	blocks map[string][][]int32
	jobs   map[string]*policy.Job
	load   float64
}

func newWorld(t *testing.T, params policy.Params) *world {
	t.Helper()
	p, err := New(params)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, o: p.Order.(*Order), p: p, blocks: map[string][][]int32{}, jobs: map[string]*policy.Job{}}
	for i := range 4 {
		w.nodes = append(w.nodes, policy.Node{Index: int32(i), Rack: int32(i), Total: one.Times(4), Free: one.Times(4)})
	}
	p.Choose(w)
	p.Place.(policy.Networked).Watch(w)
	p.Order.Resized(0, policy.Cluster{Total: one.Times(16), Max: one.Times(4), Nodes: 4, Working: []int{1, 1, 1, 1}})
	return w
}

func (w *world) Near(j *policy.Job, _ int, n *policy.Node) policy.Near {
	for _, racks := range w.blocks[j.ID] {
		if slices.Contains(racks, n.Rack) {
			return policy.NodeLocal
		}
	}
	return policy.OffRack
}
func (w *world) Local(j *policy.Job, s int, n *policy.Node) bool {
	return w.Near(j, s, n) == policy.NodeLocal
}
func (w *world) Racks(j *policy.Job, _ int, task int64, to []int32) []int32 {
	if b := w.blocks[j.ID]; len(b) > 0 {
		return append(to[:0], b[int(task)%len(b)]...)
	}
	return to[:0]
}
func (w *world) Uplink(int32) (in, out float64)  { return w.load, 0 }
func (w *world) Carried(int32) (in, out float64) { return 0, 0 }

func (w *world) job(id, user string, maps, reduces, input, bytes int64, blocks ...[]int32) *shuffle.Job {
	w.t.Helper()
	j := &policy.Job{
		Seq: int64(len(w.jobs)), Index: int32(len(w.jobs)), ID: id, User: user, Input: unit.Bytes(input), Tasks: maps + reduces, Ask: one,
		Stages: []policy.Stage{
			{Tasks: maps, Pending: maps, Ask: one},
			{Tasks: reduces, Pending: reduces, Ask: one, After: []workload.Edge{{Shuffle: unit.Bytes(bytes)}}},
		},
	}
	w.jobs[id], w.blocks[id] = j, blocks
	j.Want(0, maps+reduces)
	if err := w.o.Arrived(0, j); err != nil {
		w.t.Fatal(err)
	}
	return w.o.Of(j.Index)
}

func (w *world) start(id string, stage, node int) {
	j, n := w.jobs[id], &w.nodes[node]
	j.Stages[stage].Pending--
	j.Stages[stage].Running++
	j.Want(0, -1)
	if j.Stages[0].Open() == 0 {
		j.Front = 1
	}
	j.Hold(0, one)
	n.Free = n.Free.Sub(one)
	w.o.Started(&policy.Event{Job: j, Stage: stage, Node: n, Size: one})
	near := policy.NoPreference
	if stage == 0 {
		near = w.Near(j, 0, n)
	}
	w.p.Place.Placed(j, stage, n, near)
}

func (w *world) end(id string, stage, node int) {
	j, n := w.jobs[id], &w.nodes[node]
	j.Stages[stage].Running--
	j.Stages[stage].Done++
	j.Yield(0, 0, one)
	n.Free = n.Free.Add(one)
	w.o.Ended(&policy.Event{Job: j, Stage: stage, Node: n, Size: one})
}

func (w *world) want(node int, want string) {
	w.t.Helper()
	got := "-"
	of := policy.Offer{Node: &w.nodes[node]}
	w.o.Ranked(&of, func(j *policy.Job) policy.Verdict {
		near := policy.NoPreference
		if of.Stage == 0 {
			near = w.Near(j, 0, of.Node)
		}
		if w.p.Place.Score(0, j, of.Stage, of.Node, near) < 0 {
			w.t.Errorf("%s/%d is proposed, and the node is refused", j.ID, of.Stage)
		}
		w.start(j.ID, of.Stage, node)
		got = fmt.Sprint(j.ID, "/", of.Stage)
		return policy.Took
	})
	if got != want {
		w.t.Errorf("node %d starts %s, want %s", node, got, want)
	}
}

// The racks with the least traffic: a job that shuffles much stays on one rack and reads the rest, one that shuffles little goes to its input.
func TestPlan(t *testing.T) {
	blocks := [][]int32{{0, 1}, {0, 2}, {0, 1}, {1, 2}, {3}}
	for _, x := range []struct {
		ratio float64
		want  []int32
	}{{5, []int32{0, 1}}, {0.1, []int32{0, 1, 3}}, {0, []int32{0, 1, 3}}} { // 5 maps, 4 containers per rack
		w := newWorld(t, nil)
		w.o.Ratios = map[string]float64{"": x.ratio}
		j := w.job("a", "u", 5, 1, 500, 0, blocks...)
		if got := w.o.plans[j.Index].racks; !slices.Equal(got, x.want) {
			t.Errorf("ratio %v: racks %v, want %v", x.ratio, got, x.want)
		}
	}
	w := newWorld(t, nil)
	w.o.Ratios = map[string]float64{"": 5}
	if j := w.job("wide", "u", 9, 1, 500, 0, blocks...); len(w.o.plans[j.Index].racks) != 3 {
		t.Errorf("9 maps on racks of 4 containers: %v", w.o.plans[j.Index].racks)
	}
	if j := w.job("wider", "u", 13, 1, 500, 0, blocks...); len(w.o.plans[j.Index].racks) != 0 {
		t.Errorf("13 maps on three racks of 4 containers: %v", w.o.plans[j.Index].racks)
	}
	if j := w.job("a", "u", 5, 1, 500, 0); len(w.o.plans[j.Index].racks) > 0 || !w.o.plans[j.Index].Has(3) {
		t.Error("a plan without known locations")
	}
}

// Maps start on planned nodes with input at once, on other planned ones after the first wait, anywhere after the second.
func TestMapsGather(t *testing.T) {
	w := newWorld(t, policy.Params{"node": "2", "rack": "2", "slowstart": "1"})
	w.o.Ratios = map[string]float64{"": 5}
	w.o.Resized(0, policy.Cluster{Total: one.Times(48), Nodes: 4}) // one rack has room for the job
	w.job("a", "u", 9, 1, 900, 0, []int32{0}, []int32{0}, []int32{1})
	w.want(0, "a/0")
	w.want(1, "-") // it holds input and is not in the plan
	w.want(1, "-")
	w.want(1, "-")
	w.want(1, "-")
	w.want(1, "a/0")
	w.want(1, "a/0") // it no longer waits, until it is near again
	w.want(0, "a/0")
	w.want(1, "-")
}

// Reduces start where their share of the output lies, and after the waits anywhere.
func TestReducesFollow(t *testing.T) {
	w := newWorld(t, policy.Params{"node": "1", "rack": "1", "cap": "1"})
	w.job("a", "u", 4, 4, 0, 400)
	for node := range 4 {
		w.start("a", 0, node/3*2) // three quarters in rack 0, one in rack 2
	}
	for node := range 4 {
		w.end("a", 0, node/3*2)
	}
	for _, x := range []struct {
		node int
		want string
	}{{1, "-"}, {0, "a/1"}, {0, "a/1"}, {0, "a/1"}, {0, "-"}, {2, "a/1"}} {
		w.want(x.node, x.want)
	}
	w.job("b", "u", 1, 2, 0, 400)
	w.start("b", 0, 3)
	w.end("b", 0, 3)
	for range 2 { // each of its reduces waits
		w.want(1, "-")
		w.want(1, "-")
		w.want(1, "b/1")
	}
}

// Where uplinks are congested no reduce starts, and maps do wherever their input lies.
func TestCongested(t *testing.T) {
	w := newWorld(t, policy.Params{"cap": "1"})
	w.load = 0.8
	w.job("a", "u", 1, 4, 100, 400, []int32{0})
	w.start("a", 0, 0)
	w.end("a", 0, 0)
	w.want(0, "-")
	w.job("b", "v", 4, 1, 100, 100, []int32{3})
	w.want(0, "b/0")
	if s := w.p.Place.Score(0, w.jobs["a"], 1, &w.nodes[0], policy.NoPreference); s != policy.Never {
		t.Errorf("a reduce in a congested rack scores %d", s)
	}
}

func TestParams(t *testing.T) {
	for _, p := range []policy.Params{{"congested": "0"}, {"congested": "2"}, {"slowstart": "x"}, {"cap": "-1"}, {"heartbeat": "x"}, {"node": "x"}, {"node": "3s", "rack": "4"}} {
		if _, err := New(p); err == nil {
			t.Errorf("%v is taken", p)
		}
	}
	if p, err := New(policy.Params{"heartbeat": "2s", "node": "5s", "congested": "0.9"}); err != nil || p.Timer == nil || p.Choose == nil {
		t.Errorf("%v, %v", p, err)
	}
}
