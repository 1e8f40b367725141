package transfer

import (
	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/sim/flow"
	"github.com/yardmaster/yardmaster/sim/flow/circuit"
	"github.com/yardmaster/yardmaster/unit"
)

// In a network with circuits (and with Options.Racks), a reader fetches from every rack separately: one flow per rack that holds output and
// reader, of all that is there when the reader asks. A flow that leaves its rack goes over a circuit if it is larger than the network's
// threshold. The number of a reader's connections is not limited.
//
// The readers of a job that gathers (Gather) do not fetch from other racks one by one. Output waits until what a rack holds for all readers in
// another rack is more than the threshold, and is sent as one flow. The rest is sent when all output is there and all readers have
// started: as any other flow, over a circuit if it is more than the threshold. If readers
// cannot all start, because they wait for containers that these ones hold, the rest is sent after some time (patience): no job
// waits for ever. Inside a rack, output is fetched as always.

// optical is the state of a worker whose network has circuits.
type optical struct {
	*circuit.Switch
	threshold float64
	plan      unit.Time // of the queued wake-up; Never: none
	sent      float64   // bytes
}

// batch is one flow for all readers of a stage in a rack.
type batch struct {
	src, dst int32
	optical  bool
	readers  []reader
}

type reader struct {
	id     int32
	serial uint32
}

// gather is the state of a stage whose output gathers. Of n readers in a rack, got of (n x outputs) are fetched or in transit.
type gather struct {
	enabled  bool
	all      int64   // readers of the stage
	finished int64   // readers that are done
	readers  []int64 // running, by rack
	got      []int64 // by rack of the output and rack of the readers
	queued   bool    // a wake-up for the rest
}

// patience is how long output that gathers waits for further readers once it is complete.
const patience = 5 * unit.Second

const (
	wakeSwitch uint64 = 1 << 53
	wakeRest   uint64 = 1 << 54

	stageBits = 10 // workload.MaxStages
	batchFlow = 1 << 63
)

// plug builds the circuit switch.
func (w *Worker) plug(n *cluster.Network, racks int) {
	c, ok := n.Circuits()
	if !ok {
		return
	}
	w.opt.Racks = true
	w.optical = &optical{threshold: float64(c.Elephant), plan: unit.Never, Switch: circuit.New(w.net, circuit.Settings{
		Ports: racks, Rate: c.Circuit, Delay: c.Reconfigure, Interval: c.Interval, Undirected: c.Matching == cluster.Undirected})}
}

// Gather lets the output of a job's stages gather before it is sent to other racks; without circuits it is a no-op.
func (w *Worker) Gather(seq int64) {
	if w.optical == nil {
		return
	}
	j := w.jobs[seq]
	n := len(w.rep)
	for i := range j.stages {
		if st := &j.stages[i]; len(st.needs) == 1 && len(j.src.Stages[i].After) == 1 {
			st.gather = gather{enabled: true, all: j.src.Stages[i].Tasks, readers: make([]int64, n), got: make([]int64, n*n)}
		}
	}
}

// join announces a flow over a circuit.
func (w *Worker) join(src, dst int32, bytes float64) flow.Link {
	l := w.optical.Join(w.h.Now(), src, dst, bytes)
	w.optical.sent += bytes
	w.planSwitch()
	return l
}

// planSwitch requests a wake-up for the switch.
func (w *Worker) planSwitch() {
	if due := max(w.optical.Due(), w.h.Now()); due < w.optical.plan {
		w.optical.plan = due
		w.h.At(due, wakeSwitch)
	}
}

func (w *Worker) wakeSwitch() {
	o, now := w.optical, w.h.Now()
	if o.plan != now {
		return // superseded by an earlier one
	}
	w.sync()
	o.plan = unit.Never
	if o.Due() <= now {
		o.Step(now)
		w.touched()
	}
	if o.Due() != unit.Never {
		w.planSwitch()
	}
}

// fromEach fetches what each rack has produced since a task's last fetch; if it gathers, only from the task's own rack.
func (w *Worker) fromEach(id int32, t *task, edge int16, source *stage, each float64, gathers bool) {
	first := t.fetchesOver(edge, len(w.rep))
	own := w.rack[t.node]
	for r, n := range source.made.tasks {
		src, f := int32(r), &t.fetches[first+r]
		if n == f.tasks || gathers && src != own {
			continue
		}
		bytes := float64(n-f.tasks) * each
		f.tasks = n
		w.traffic.Shuffled += bytes
		w.leaves(src, t.node, bytes)
		if f.flow >= 0 {
			if f.optical {
				w.optical.More(src, own, bytes)
				w.optical.sent += bytes
			}
			w.net.Add(f.flow, bytes)
			w.touched()
			continue
		}
		path := w.fromRack(src, t.node, uint64(id))
		if o := w.optical; o != nil && src != own && bytes > o.threshold {
			f.optical = true
			path = append(w.path[:0], w.join(src, own, bytes), w.fab.In(w.fabricNode[t.node]))
		}
		w.send(id, t, first+r, bytes, path)
	}
}

// missing reports whether output for a task of a stage that gathers has not been sent yet.
func (w *Worker) missing(t *task, st *stage) bool {
	if !st.gather.enabled {
		return false
	}
	made := t.job.stages[st.needs[0].source].made.tasks
	for i := range t.fetches {
		if f := &t.fetches[i]; f.edge == 0 && f.tasks < made[f.place] {
			return true
		}
	}
	return false
}

// entered counts a new reader of a stage that gathers, and sends what is enough now.
func (w *Worker) entered(t *task, st *stage) {
	g, dst := &st.gather, w.rack[t.node]
	g.readers[dst]++
	for src := range w.rep {
		w.check(t.job, t.stage, int32(src), dst, w.optical.threshold)
	}
	w.rest(t.job, t.stage)
}

// exited forgets a reader.
func (w *Worker) exited(t *task, st *stage) {
	g, dst, n := &st.gather, w.rack[t.node], len(w.rep)
	g.readers[dst]--
	for i := range t.fetches {
		if f := &t.fetches[i]; f.edge == 0 && f.place != dst {
			g.got[int(f.place)*n+int(dst)] -= f.tasks
		}
	}
}

// rest sends what is left once all output and all readers are there; if readers are missing, after some time.
func (w *Worker) rest(j *job, stage int32) {
	st := &j.stages[stage]
	g := &st.gather
	if !st.released {
		return
	}
	there := g.finished
	for _, n := range g.readers {
		there += n
	}
	if there >= g.all {
		w.flush(j, stage)
	} else if !g.queued {
		g.queued = true
		w.h.At(w.h.Now()+patience, wakeRest|uint64(j.seq)<<stageBits|uint64(stage))
	}
}

func (w *Worker) wakeRest(what uint64) {
	j := w.jobs[int64(what&(wakeRest-1)>>stageBits)]
	if j == nil {
		return
	}
	stage := int32(what & (1<<stageBits - 1))
	j.stages[stage].gather.queued = false
	w.sync()
	w.flush(j, stage)
}

func (w *Worker) flush(j *job, stage int32) {
	for dst, n := range j.stages[stage].gather.readers {
		for src := range w.rep {
			if n > 0 {
				w.check(j, stage, int32(src), int32(dst), 0)
			}
		}
	}
}

// check sends what a rack holds for the readers in another one, if it is more than some bytes.
func (w *Worker) check(j *job, stage, src, dst int32, threshold float64) {
	st := &j.stages[stage]
	g, nd := &st.gather, &st.needs[0]
	if src == dst || g.readers[dst] == 0 {
		return
	}
	n := j.stages[nd.source].made.tasks[src]
	pair := int(src)*len(w.rep) + int(dst)
	bytes := float64(g.readers[dst]*n-g.got[pair]) * nd.each
	if bytes <= threshold {
		return
	}
	g.got[pair] = g.readers[dst] * n
	w.traffic.Shuffled += bytes
	w.traffic.CrossRack += bytes
	k := w.batches.Take()
	b := dense.At(&w.batch, k)
	*b = batch{src: src, dst: dst, readers: b.readers[:0]}
	for _, id := range st.running {
		t := &w.tasks[id]
		if w.rack[t.node] != dst {
			continue
		}
		for i := range t.fetches {
			if f := &t.fetches[i]; f.edge == 0 && f.place == src && f.tasks < n {
				f.tasks = n
				t.left++
				b.readers = append(b.readers, reader{id, t.serial})
			}
		}
	}
	w.traffic.Flows++
	o := flow.Options{Data: batchFlow | uint64(k)}
	var path []flow.Link
	if bytes > w.optical.threshold {
		b.optical = true
		path = append(w.path[:0], w.join(src, dst, bytes))
	} else {
		o.Weight = float64(len(b.readers)) // as many flows would have
		path = w.fromRack(src, w.rep[dst], uint64(k))
		path = path[:len(path)-1]
	}
	w.net.Start(path, bytes, o)
	w.touched()
}

// batchArrived is called when the flow of a batch ends.
func (w *Worker) batchArrived(k int32) {
	b := &w.batch[k]
	if b.optical {
		w.optical.Quit(b.src, b.dst, 0)
	}
	for _, r := range b.readers {
		if t := &w.tasks[r.id]; t.serial == r.serial {
			t.left--
			w.beginIfReady(r.id, t)
		}
	}
	w.batches.Give(k)
}
