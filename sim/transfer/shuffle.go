package transfer

import (
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/flow"
	"github.com/yardmaster/yardmaster/workload"
)

// read fetches a block from a node that holds it: one in the reader's rack if possible, otherwise one chosen by the task's
// number.
func (w *Worker) read(s *sim.Task, t *task, bytes float64) {
	w.nodes = w.h.Replicas(s.ID, w.nodes[:0])
	if len(w.nodes) == 0 || slices.Contains(w.nodes, s.Node) {
		return
	}
	holder := w.nodes[int(workload.Uniform01(uint64(s.Job), uint64(s.Number))*float64(len(w.nodes)))]
	for _, n := range w.nodes {
		if w.rack[n] == w.rack[s.Node] {
			holder = n
			break
		}
	}
	w.sync()
	t.fetches = append(t.fetches, fetch{edge: -1, place: holder})
	w.send(s.ID, t, len(t.fetches)-1, bytes, w.between(holder, s.Node, uint64(s.ID)))
	w.traffic.Read += bytes
	w.leaves(w.rack[holder], s.Node, bytes)
}

// more fetches what has been produced since a task's last fetch.
func (w *Worker) more(id int32, t *task, st *stage) {
	w.sync()
	for e := range st.needs {
		nd := &st.needs[e]
		switch source := &t.job.stages[nd.source]; {
		case w.opt.Racks:
			w.fromEach(id, t, int16(e), source, nd.each, st.gather.enabled)
		case source.made.byRack:
			w.fromRacks(id, t, int16(e), source, nd.each)
		default:
			w.fromNodes(id, t, int16(e), &source.made, nd.each)
		}
	}
}

// fromNodes fetches from every node separately, from as many at once as a reader has connections.
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
		if f.node = m.place[f.place]; f.node == t.node {
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

// turn assigns a reader's free connections to nodes with output for it, one after the other. Readers begin at different nodes.
func (w *Worker) turn(id int32, t *task) {
	n := len(t.fetches)
	if t.ready > 0 && t.nextFetch < 0 {
		t.nextFetch = int(t.offset() * float64(n))
	}
	for ; t.ready > 0 && int(t.left) < w.opt.Copiers; t.nextFetch++ {
		i := t.nextFetch % n
		if f := &t.fetches[i]; f.ready > 0 && f.flow < 0 {
			bytes := f.ready
			f.ready = 0
			t.ready--
			w.leaves(w.rack[f.node], t.node, bytes)
			w.send(id, t, i, bytes, w.between(f.node, t.node, uint64(id)))
		}
	}
}

// offset spreads the readers of a shuffle evenly over its sources: multiples of the golden ratio, from 0 to 1.
func (t *task) offset() float64 {
	_, part := math.Modf(0.6180339887498949 * float64(t.number+1))
	return part
}

// fetchesOver returns the index of a task's first fetch over an edge. If there is none, it adds n, from the first n places.
func (t *task) fetchesOver(edge int16, n int) (first int) {
	for first < len(t.fetches) && t.fetches[first].edge != edge {
		first++
	}
	if first == len(t.fetches) {
		for k := range n {
			t.fetches = append(t.fetches, fetch{flow: -1, edge: edge, place: int32(k)})
		}
	}
	return first
}

// fromRacks fetches from as many racks as a reader has connections. They are sampled by the racks' shares of the output, evenly
// spaced, with an offset by the reader's number: over all readers each rack sends what it has. A connection that is still busy
// gets more bytes from its current rack.
func (w *Worker) fromRacks(id int32, t *task, edge int16, source *stage, each float64) {
	first := t.fetchesOver(edge, w.opt.Copiers)
	bytes := float64(source.ended-t.fetches[first].tasks) * each / float64(w.opt.Copiers)
	if bytes == 0 {
		return
	}
	t.fetches[first].tasks = source.ended
	offset := t.offset()
	rack, passed := 0, int64(0) // tasks in earlier racks
	for k := range w.opt.Copiers {
		w.traffic.Shuffled += bytes
		if f := t.fetches[first+k].flow; f >= 0 {
			w.leaves(t.fetches[first+k].place, t.node, bytes)
			w.net.Add(f, bytes)
			w.touched()
			continue
		}
		at := (float64(k) + offset) / float64(w.opt.Copiers) * float64(source.ended)
		for float64(passed+source.made.tasks[rack]) <= at && rack+1 < len(source.made.tasks) {
			passed += source.made.tasks[rack]
			rack++
		}
		path := w.fromRack(int32(rack), t.node, uint64(id))
		t.fetches[first+k].place = int32(rack)
		w.leaves(int32(rack), t.node, bytes)
		w.send(id, t, first+k, bytes, path)
	}
}

// leaves counts bytes that a node receives from another rack.
func (w *Worker) leaves(rack, to int32, bytes float64) {
	if rack != w.rack[to] {
		w.traffic.CrossRack += bytes
	}
}

// between is the path from one node to another.
func (w *Worker) between(from, to int32, key uint64) []flow.Link {
	w.path = w.fab.Path(w.fabricNode[from], w.fabricNode[to], key, w.path[:0])
	return w.path
}

// fromRack is the path from a rack as a whole to a node: there are many senders, so their own links are omitted. (In a DCell a path
// may begin with a cable between servers.)
func (w *Worker) fromRack(rack, dst int32, key uint64) []flow.Link {
	if rack == w.rack[dst] {
		return append(w.path[:0], w.fab.In(w.fabricNode[dst]))
	}
	from := w.rep[rack]
	path := w.between(from, dst, key)
	if path[0] == w.fab.Out(w.fabricNode[from]) {
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

// arrived is called when a flow ends.
func (w *Worker) arrived(_ flow.ID, data uint64) {
	id := int32(uint32(data))
	if data&batchFlow != 0 {
		w.batchArrived(id)
		return
	}
	t := &w.tasks[id]
	f := &t.fetches[data>>32]
	f.flow = -1
	t.left--
	if f.optical {
		w.optical.Quit(f.place, w.rack[t.node], 0)
		f.optical = false
	}
	if f.ready > 0 {
		t.ready++
	}
	w.turn(id, t)
	w.beginIfReady(id, t)
}

// made records the output of a finished task, and lets its readers fetch again after each step.
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
	st.ended++
	for _, target := range st.feeds {
		if down := &t.job.stages[target]; down.gather.enabled {
			w.sync()
			for dst := range w.rep {
				w.check(t.job, target, w.rack[t.node], int32(dst), w.optical.threshold)
			}
		}
	}
	if st.ended < st.nextAt {
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

// forget drops a task's state.
func (w *Worker) forget(id int32, t *task) {
	t.serial = (t.serial + 1) & (1<<serialBits - 1)
	t.began, t.left, t.ready = -1, 0, 0
	st := &t.job.stages[t.stage]
	if st.gather.enabled {
		w.exited(t, st)
	}
	if k := slices.Index(st.running, id); k >= 0 {
		st.running[k] = st.running[len(st.running)-1]
		st.running = st.running[:len(st.running)-1]
	}
	t.job = nil
}
