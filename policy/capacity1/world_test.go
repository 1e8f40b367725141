package capacity1

import (
	"fmt"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// world is a cluster of fixed slots without time: jobs start tasks when a node is heard and end them when told to.
type world struct {
	t     testing.TB
	parts [kinds]*policy.Policy
	timer policy.Timer
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
	views   [kinds]policy.Job
	tasks   [kinds]int64
	running [kinds][]int // nodes
}

// newWorld makes nodes with so many slots each.
func newWorld(t testing.TB, c Config, nodes int, perMap, perReduce int64) *world {
	t.Helper()
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, parts: [kinds]*policy.Policy{&p, p.Reduces}, timer: p.Timer, jobs: map[string]*played{}}
	w.state = p.Timer.(*state)
	for k, slots := range []int64{perMap, perReduce} {
		each := cluster.Unit.Times(slots)
		for i := range nodes {
			w.nodes[k] = append(w.nodes[k], policy.Node{Index: int32(i), Rack: int32(i % 2), Name: fmt.Sprint("n", i), Total: each, Free: each})
		}
		w.parts[k].Order.Resized(0, policy.Cluster{Total: each.Times(int64(nodes)), Max: each, Nodes: nodes})
	}
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
	for k := range j.views {
		j.views[k] = policy.Job{
			ID: name, User: user, Queue: queue, Seq: w.seq, Index: index, Tasks: nmaps + nreduces, Submitted: w.now,
			Ask: cluster.Unit, Front: k,
		}
	}
	w.seq++
	for k := range j.views {
		if err := w.parts[k].Order.Arrived(w.now, &j.views[k]); err != nil {
			w.spare = append(w.spare, index)
			return nil, err
		}
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
	v := &j.views[kind]
	was := v.Pending
	if v.Pending += n; was == 0 && v.Pending > 0 {
		w.parts[kind].Order.Changed(w.now, v)
	}
}

func (w *world) release(name string) {
	w.want(w.jobs[name], reduceSlots, w.jobs[name].tasks[reduceSlots])
}

func (w *world) tick() bool {
	again, changed := w.timer.Tick(w.now)
	if again <= w.now {
		w.t.Fatalf("again at %v, now %v", again, w.now)
	}
	return changed
}

// beat hears one node of one kind and lists the jobs whose tasks it was given.
func (w *world) beat(kind, node int) []string {
	w.now += unit.Millisecond
	p, n := w.parts[kind], &w.nodes[kind][node]
	var got []string
	o := policy.Offer{Now: w.now, Node: n}
	for cluster.Unit.Fits(n.Free) {
		took := p.Order.Ranked(&o, func(v *policy.Job) policy.Verdict {
			if v.Pending <= 0 {
				w.t.Fatalf("job %s is proposed without tasks", v.ID)
			}
			j := w.list[v.Index]
			near := policy.NoPreference
			if kind == mapSlots && w.near != nil {
				near = w.near(j, node)
			}
			if p.Place != nil && p.Place.Fit(v, v.Front, n, near) < 0 {
				p.Place.Skipped(v, v.Front)
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
	v, n := &j.views[kind], &w.nodes[kind][node]
	n.Free = n.Free.Sub(v.Ask)
	v.Pending--
	v.Hold(w.now, v.Ask)
	j.running[kind] = append(j.running[kind], node)
	w.parts[kind].Order.Started(&policy.Event{Now: w.now, Job: v, Stage: v.Front, Node: n, Size: v.Ask})
	if p := w.parts[kind].Place; p != nil {
		p.Placed(v, v.Front, n, near)
	}
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
	v := &j.views[kind]
	n := &w.nodes[kind][j.running[kind][0]]
	j.running[kind] = j.running[kind][1:]
	n.Free = n.Free.Add(v.Ask)
	v.Done++
	v.Yield(w.now, w.now-unit.Second, v.Ask)
	w.parts[kind].Order.Ended(&policy.Event{Now: w.now, Job: v, Stage: v.Front, Node: n, Size: v.Ask, Held: unit.Second, Worked: unit.Second})
}

// leave ends all that the job holds and takes it away.
func (w *world) leave(name string) {
	j := w.jobs[name]
	for k := range kinds {
		for len(j.running[k]) > 0 {
			w.end(name, k)
		}
	}
	for k, p := range w.parts {
		j.views[k].Pending = 0
		p.Order.Left(w.now, &j.views[k])
		if p.Place != nil {
			p.Place.Left(w.now, &j.views[k])
		}
	}
	delete(w.jobs, name)
	w.list[j.views[0].Index] = nil
	w.spare = append(w.spare, j.views[0].Index)
}

func (w *world) held(name string, kind int) int { return len(w.jobs[name].running[kind]) }
