package capacity1

import (
	"fmt"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// world is a cluster of fixed slots without time: jobs start tasks when a node heartbeats and end them on command.
type world struct {
	t testing.TB
	policy.Policy
	state *state
	nodes [kinds][]policy.Node
	jobs  map[string]*played
	list  []*played
	spare []int32
	seq   int64
	now   unit.Time
	// near says how near the input of a job's next map is to a node; nil: it lies nowhere.
	near func(j *played, node int) policy.Near
}

type played struct {
	view    policy.Job
	tasks   [kinds]int64
	running [kinds][]int // nodes
	stages  [kinds]policy.Stage
}

// newWorld makes nodes with so many slots each.
func newWorld(t testing.TB, c Config, nodes int, perMap, perReduce int64) *world {
	t.Helper()
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, Policy: p, jobs: map[string]*played{}}
	w.state = p.Timer.(*state)
	for k, slots := range []int64{perMap, perReduce} {
		each := cluster.Unit.Times(slots)
		for i := range nodes {
			w.nodes[k] = append(w.nodes[k], policy.Node{Index: int32(i), Rack: int32(i % 2), Name: fmt.Sprint("n", i), Total: each, Free: each})
		}
	}
	both := perMap + perReduce
	w.Order.Resized(0, policy.Cluster{
		Total: cluster.Unit.Times(both * int64(nodes)), Max: cluster.Unit.Times(both), Nodes: nodes,
		Slots: [kinds]int64{perMap * int64(nodes), perReduce * int64(nodes)},
	})
	return w
}

// arrive submits a job; its maps can start at once, its reduces when release is called.
func (w *world) arrive(name, user, queue string, nmaps, nreduces int64) (*played, error) {
	j := &played{tasks: [kinds]int64{nmaps, nreduces}}
	index := int32(len(w.list))
	if n := len(w.spare); n > 0 {
		index, w.spare = w.spare[n-1], w.spare[:n-1]
	} else {
		w.list = append(w.list, nil)
	}
	j.stages[reduceSlots].Slot = reduceSlots
	j.view = policy.Job{
		ID: name, User: user, Queue: queue, Seq: w.seq, Index: index, Tasks: nmaps + nreduces, Submitted: w.now, Ask: cluster.Unit,
		Stages: j.stages[:],
	}
	w.seq++
	if err := w.Order.Arrived(w.now, &j.view); err != nil {
		w.spare = append(w.spare, index)
		return nil, err
	}
	w.list[index] = j
	w.jobs[name] = j
	w.want(j, mapSlots, nmaps)
	return j, nil
}

func (w *world) must(name, user, queue string, nmaps, nreduces int64) *played {
	w.t.Helper()
	j, err := w.arrive(name, user, queue, nmaps, nreduces)
	if err != nil {
		w.t.Fatalf("job %s: %v", name, err)
	}
	return j
}

func (w *world) want(j *played, kind int, n int64) {
	v := &j.view
	was := v.Waiting[kind]
	if v.Want(uint8(kind), n); was == 0 && n > 0 {
		w.Order.Changed(w.now, v)
	}
}

func (w *world) release(name string) {
	w.want(w.jobs[name], reduceSlots, w.jobs[name].tasks[reduceSlots])
}

func (w *world) tick() bool {
	again, changed := w.Timer.Tick(w.now)
	if again <= w.now {
		w.t.Fatalf("again at %v, now %v", again, w.now)
	}
	return changed
}

// beat hears one node of one kind and lists the jobs whose tasks it was given.
func (w *world) beat(kind, node int) []string {
	w.now += unit.Millisecond
	p, n := &w.Policy, &w.nodes[kind][node]
	var got []string
	o := policy.Offer{Now: w.now, Slot: uint8(kind), Node: n}
	for cluster.Unit.Fits(n.Free) {
		took := p.Order.Ranked(&o, func(v *policy.Job) policy.Verdict {
			if v.Waiting[kind] <= 0 {
				w.t.Fatalf("job %s is proposed without tasks", v.ID)
			}
			j := w.list[v.Index]
			near := policy.NoPreference
			if kind == mapSlots && w.near != nil {
				near = w.near(j, node)
			}
			if p.Place.Score(w.now, v, kind, n, near) < 0 {
				p.Place.Skipped(w.now, v, kind)
				return policy.Pass
			}
			w.start(j, kind, node, near)
			got = append(got, v.ID)
			return policy.Took
		})
		if !took {
			break
		}
	}
	return got
}

func (w *world) start(j *played, kind, node int, near policy.Near) {
	v, n := &j.view, &w.nodes[kind][node]
	n.Free = n.Free.Sub(v.Ask)
	v.Want(uint8(kind), -1)
	v.Hold(w.now, v.Ask)
	j.running[kind] = append(j.running[kind], node)
	w.Order.Started(&policy.Event{Now: w.now, Job: v, Stage: kind, Node: n, Size: v.Ask})
	w.Place.Placed(v, kind, n, near)
}

// beats hears every node once and counts the starts by job.
func (w *world) beats(kind int) map[string]int {
	got := map[string]int{}
	for i := range w.nodes[kind] {
		for _, name := range w.beat(kind, i) {
			got[name]++
		}
	}
	return got
}

// fill hears all nodes until nothing starts any more.
func (w *world) fill(kind int) map[string]int {
	all := map[string]int{}
	for {
		got := w.beats(kind)
		for name, n := range got {
			all[name] += n
		}
		if len(got) == 0 {
			return all
		}
	}
}

// end ends the job's oldest task of a kind.
func (w *world) end(name string, kind int) {
	j := w.jobs[name]
	v := &j.view
	n := &w.nodes[kind][j.running[kind][0]]
	j.running[kind] = j.running[kind][1:]
	n.Free = n.Free.Add(v.Ask)
	v.Done++
	v.Yield(w.now, w.now-unit.Second, v.Ask)
	w.Order.Ended(&policy.Event{Now: w.now, Job: v, Stage: kind, Node: n, Size: v.Ask, Held: unit.Second, Worked: unit.Second})
}

// leave ends all that the job holds and takes it away.
func (w *world) leave(name string) {
	j := w.jobs[name]
	for k := range kinds {
		for len(j.running[k]) > 0 {
			w.end(name, k)
		}
	}
	j.view.Pending, j.view.Waiting = 0, [kinds]int64{}
	w.Order.Left(w.now, &j.view)
	w.Place.Left(w.now, &j.view)
	delete(w.jobs, name)
	w.list[j.view.Index] = nil
	w.spare = append(w.spare, j.view.Index)
}

func (w *world) held(name string, kind int) int { return len(w.jobs[name].running[kind]) }
