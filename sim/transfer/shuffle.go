package transfer

import (
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/flow"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// job is a job that is present.
type job struct {
	src    *workload.Job
	stages []stage
}

// stage is what is known of the data of one stage.
type stage struct {
	reads    float64 // bytes of input a task
	needs    []need  // what its tasks fetch
	running  []int32 // those of its tasks that fetch or wait
	released bool

	made    made    // where its own output lies
	feeds   []int32 // stages that fetch it
	ended   int64   // of its tasks
	nextAt  int64   // count of ended at which those that fetch look again
	stepLen int64
}

// need is one edge over which a stage is passed data.
type need struct {
	from int32
	each float64 // bytes from one task of that stage to one of this
}

// made counts the tasks of a stage that are done by place: by node as they come, or by rack.
type made struct {
	byRack bool
	place  []int32 // node, or rack
	tasks  []int64
}

// task is a task that runs.
type task struct {
	job     *job
	stage   int32
	node    int32
	serial  uint32    // of its wake-up
	left    int32     // flows under way
	ready   int32     // nodes that have something for it and none of its connections
	at      int       // its next fetch; -1: it has not begun
	up      unit.Time // when its container has started up
	length  unit.Time
	number  int64
	began   unit.Time // its work; -1: it has not all it needs
	fetches []fetch
}

const serialBits = 23

// fetch is a flow to a task: its block (edge -1), or what it gets from one place over one edge.
type fetch struct {
	flow  flow.ID // -1: none under way
	edge  int16
	place int32
	from  int32   // node of the place
	ready float64 // bytes that are there to be fetched
	tasks int64   // of that place (in the first fetch from racks: of all) whose output is fetched or under way
}

func (w *Worker) newJob(src *workload.Job) *job {
	var j *job
	if n := len(w.spare); n > 0 {
		j, w.spare = w.spare[n-1], w.spare[:n-1]
	} else {
		j = &job{}
	}
	j.src = src
	for len(j.stages) < len(src.Stages) {
		j.stages = append(j.stages, stage{})
	}
	j.stages = j.stages[:len(src.Stages)]
	for i := range j.stages {
		st, s := &j.stages[i], &src.Stages[i]
		*st = stage{needs: st.needs[:0], running: st.running[:0], feeds: st.feeds[:0], nextAt: math.MaxInt64,
			made: made{place: st.made.place[:0], tasks: st.made.tasks[:0], byRack: s.Tasks > w.opt.Pairs}}
		if s.Tasks > 0 {
			st.reads = float64(s.Input) / float64(s.Tasks)
		}
		if st.made.byRack {
			for r := range w.rep {
				st.made.place = append(st.made.place, int32(r))
				st.made.tasks = append(st.made.tasks, 0)
			}
		}
		for _, e := range s.After {
			up := &src.Stages[e.From]
			if e.Shuffle > 0 && up.Tasks > 0 && s.Tasks > 0 {
				st.needs = append(st.needs, need{int32(e.From), float64(e.Shuffle) / float64(up.Tasks) / float64(s.Tasks)})
				j.stages[e.From].feed(int32(i), up.Tasks, w.steps(up.Tasks, s.Tasks))
			}
		}
	}
	return j
}

// steps is the number of parts in which a shuffle is fetched while its maps run.
func (w *Worker) steps(maps, reduces int64) int64 {
	places := min(maps, int64(len(w.rack)))
	if maps > w.opt.Pairs {
		places = int64(w.opt.Copiers)
	}
	return min(w.opt.Steps, mostPerJob/max(1, places*reduces))
}

func (st *stage) feed(to int32, tasks, steps int64) {
	st.feeds = append(st.feeds, to)
	if steps > 1 {
		st.stepLen = max(1, (tasks+steps-1)/steps)
		st.nextAt = st.stepLen
	}
}

// read fetches a block from the node that holds it: the one in the reader's rack, if there is one, otherwise one that the task's
// number picks.
func (w *Worker) read(s *sim.Task, t *task, bytes float64) {
	w.nodes = w.h.Replicas(s.ID, w.nodes[:0])
	if len(w.nodes) == 0 || slices.Contains(w.nodes, s.Node) {
		return
	}
	from := w.nodes[int(workload.Uniform01(uint64(s.Job), uint64(s.Number))*float64(len(w.nodes)))]
	for _, n := range w.nodes {
		if w.rack[n] == w.rack[s.Node] {
			from = n
			break
		}
	}
	w.sync()
	t.fetches = append(t.fetches, fetch{edge: -1, place: from})
	w.send(s.ID, t, len(t.fetches)-1, bytes, w.between(from, s.Node, uint64(s.ID)))
	w.traffic.Read += bytes
	w.leaves(w.rack[from], s.Node, bytes)
}

// more fetches what has been made since a task looked last.
func (w *Worker) more(id int32, t *task, st *stage) {
	w.sync()
	for e := range st.needs {
		nd := &st.needs[e]
		if up := &t.job.stages[nd.from]; up.made.byRack {
			w.fromRacks(id, t, int16(e), up, nd.each)
		} else {
			w.fromNodes(id, t, int16(e), &up.made, nd.each)
		}
	}
}

// fromNodes fetches from every node by itself, from as many at once as a reader has connections.
func (w *Worker) fromNodes(id int32, t *task, edge int16, m *made, each float64) {
	known := int32(0)
	for i := range t.fetches {
		if t.fetches[i].edge == edge {
			known++
		}
	}
	for k := known; int(k) < len(m.place); k++ {
		t.fetches = append(t.fetches, fetch{flow: -1, edge: edge, place: k})
	}
	for i := range t.fetches {
		f := &t.fetches[i]
		if f.edge != edge || m.tasks[f.place] == f.tasks {
			continue
		}
		bytes := float64(m.tasks[f.place]-f.tasks) * each
		f.tasks = m.tasks[f.place]
		if f.from = m.place[f.place]; f.from == t.node {
			continue
		}
		if f.ready == 0 && f.flow < 0 {
			t.ready++
		}
		f.ready += bytes
		w.traffic.Shuffled += bytes
	}
	w.turn(id, t)
}

// turn lets the connections of a reader that are free turn to nodes that have something for it, one after the other. Readers begin
// at different ones.
func (w *Worker) turn(id int32, t *task) {
	n := len(t.fetches)
	if t.ready > 0 && t.at < 0 {
		_, offset := math.Modf(golden * float64(t.number+1))
		t.at = int(offset * float64(n))
	}
	for ; t.ready > 0 && int(t.left) < w.opt.Copiers; t.at++ {
		i := t.at % n
		if f := &t.fetches[i]; f.ready > 0 && f.flow < 0 {
			bytes := f.ready
			f.ready = 0
			t.ready--
			w.leaves(w.rack[f.from], t.node, bytes)
			w.send(id, t, i, bytes, w.between(f.from, t.node, uint64(id)))
		}
	}
}

// golden spreads the readers of a shuffle evenly over its sources.
const golden = 0.6180339887498949

// fromRacks fetches from as many racks as a reader has connections. Which they are is drawn from the racks' shares of the output,
// spaced evenly, with an offset by the reader's number: over all readers each rack sends what it has. A connection that is still
// busy gets more to carry from where it is.
func (w *Worker) fromRacks(id int32, t *task, edge int16, up *stage, each float64) {
	first := 0
	for first < len(t.fetches) && t.fetches[first].edge != edge {
		first++
	}
	if first == len(t.fetches) {
		for range w.opt.Copiers {
			t.fetches = append(t.fetches, fetch{flow: -1, edge: edge})
		}
	}
	bytes := float64(up.ended-t.fetches[first].tasks) * each / float64(w.opt.Copiers)
	if bytes == 0 {
		return
	}
	t.fetches[first].tasks = up.ended
	_, offset := math.Modf(golden * float64(t.number+1))
	rack, passed := 0, int64(0) // tasks in the racks before
	for k := range w.opt.Copiers {
		w.traffic.Shuffled += bytes
		if f := t.fetches[first+k].flow; f >= 0 {
			w.leaves(t.fetches[first+k].place, t.node, bytes)
			w.net.Add(f, bytes)
			w.touched()
			continue
		}
		at := (float64(k) + offset) / float64(w.opt.Copiers) * float64(up.ended)
		for float64(passed+up.made.tasks[rack]) <= at && rack+1 < len(up.made.tasks) {
			passed += up.made.tasks[rack]
			rack++
		}
		path := w.fromRack(int32(rack), t.node, uint64(id))
		t.fetches[first+k].place = int32(rack)
		w.leaves(int32(rack), t.node, bytes)
		w.send(id, t, first+k, bytes, path)
	}
}

// leaves counts bytes that come to a node from another rack.
func (w *Worker) leaves(rack, to int32, bytes float64) {
	if rack != w.rack[to] {
		w.traffic.CrossRack += bytes
	}
}

// between is the path from one node to another.
func (w *Worker) between(from, to int32, key uint64) []flow.Link {
	w.path = w.fab.Path(w.at[from], w.at[to], key, w.path[:0])
	return w.path
}

// fromRack is the path from a rack as a whole to a node: the nodes that send are many, so their own links are left out. (In a DCell a
// path may begin with a cable between servers.)
func (w *Worker) fromRack(rack, to int32, key uint64) []flow.Link {
	if rack == w.rack[to] {
		return append(w.path[:0], w.fab.In(w.at[to]))
	}
	from := w.rep[rack]
	path := w.between(from, to, key)
	if path[0] == w.fab.Out(w.at[from]) {
		return path[1:]
	}
	return path
}

func (w *Worker) send(id int32, t *task, i int, bytes float64, path []flow.Link) {
	t.fetches[i].flow = w.net.Start(path, bytes, flow.Options{Data: uint64(i)<<32 | uint64(uint32(id))})
	t.left++
	w.traffic.Flows++
	w.touched()
}

// arrived is called when a flow has come to its end.
func (w *Worker) arrived(_ flow.ID, data uint64) {
	id := int32(uint32(data))
	t := &w.tasks[id]
	f := &t.fetches[data>>32]
	f.flow = -1
	t.left--
	if f.ready > 0 {
		t.ready++
	}
	w.turn(id, t)
	w.look(id, t)
}

// made books the output of a task that is done, and lets those that fetch it look again after each step.
func (w *Worker) made(t *task) {
	st := &t.job.stages[t.stage]
	if len(st.feeds) == 0 {
		return
	}
	m := &st.made
	if m.byRack {
		m.tasks[w.rack[t.node]]++
	} else if k := slices.Index(m.place, t.node); k >= 0 {
		m.tasks[k]++
	} else {
		m.place = append(m.place, t.node)
		m.tasks = append(m.tasks, 1)
	}
	if st.ended++; st.ended < st.nextAt {
		return
	}
	st.nextAt = st.ended + st.stepLen
	for _, to := range st.feeds {
		down := &t.job.stages[to]
		for _, id := range down.running {
			w.more(id, &w.tasks[id], down)
		}
	}
}

// forget ends what is known of a task.
func (w *Worker) forget(id int32, t *task) {
	t.serial = (t.serial + 1) & (1<<serialBits - 1)
	t.began, t.left, t.ready = -1, 0, 0
	st := &t.job.stages[t.stage]
	if k := slices.Index(st.running, id); k >= 0 {
		st.running[k] = st.running[len(st.running)-1]
		st.running = st.running[:len(st.running)-1]
	}
	t.job = nil
}

// The network's time is in seconds, the engine's in microseconds: a flow's end is heard at the next whole one.
func seconds(t unit.Time) float64 { return float64(t) / 1e6 }

// sync brings the network up to now, before anything changes in it.
func (w *Worker) sync() {
	if now := seconds(w.h.Now()); w.net.Now() < now {
		w.net.Advance(now, w.done)
	}
}

// touched asks for a look at the network once all that happens now has happened: rates are worked out once an instant.
func (w *Worker) touched() {
	if now := w.h.Now(); now < w.plan {
		w.plan = now
		w.h.At(now, wakeNet)
	}
}

// wakeNetwork plays the flows that have come to their end, and plans the next look.
func (w *Worker) wakeNetwork() {
	now := w.h.Now()
	if w.plan != now {
		return // overtaken by an earlier one
	}
	w.net.Advance(seconds(now), w.done) // also when the network is there already: what is empty ends now
	w.plan = unit.Never
	next, ok := w.net.Next()
	if !ok {
		return
	}
	if !(next < seconds(unit.Never/2)) {
		return // later than the engine can count with: it never comes
	}
	at := max(unit.Time(math.Ceil(next*1e6)), now)
	if seconds(at) < next {
		at++
	}
	w.plan = at
	w.h.At(at, wakeNet)
}
