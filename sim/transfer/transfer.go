// Package transfer is a worker that sends the data between tasks over a flow network: a task that reads a remote block fetches it
// first, a task that needs the output of an earlier stage fetches its share from wherever that was produced. In between, a task
// works for the length in its stage. So a job's tasks take their usual time plus the time they wait for data.
//
// A shuffle of a thousand maps and fifty reduces is not fifty thousand flows. If the tasks that produced the data are few
// (Options.Pairs), a reader has one flow per node, to as many nodes at once as Hadoop's reduce has copiers. If they are many, the
// reader has as many flows as copiers, each from one rack. Limitations:
//
//   - The racks of a reader's connections are a sample, drawn so that over all readers each rack sends what it has. A single
//     reader does not wait for a slow rack that it did not draw.
//   - A flow from a rack crosses the links between the racks and the reader's own; the senders' links are omitted, because each
//     sends to many readers at once. If few nodes of a rack hold much of the output this is too fast.
//   - Output is fetched once both it and the reader exist: what is there when the reader starts, then again after each step
//     (Options.Steps) of the stage it needs and, for the rest, when that stage is complete.
//   - Transfers within a node use no network. Disks are not modelled.
//
// "yardmaster bench network" measures how far racks are from pairs of nodes.
package transfer

import (
	"errors"
	"math"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/fabric"
	"github.com/yardmaster/yardmaster/sim/flow"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Options of a Worker. The zero value is the default.
type Options struct {
	// Pairs is the max number of tasks of a stage whose output is fetched separately from each node that produced it; beyond it,
	// from racks. 0: 32; negative: always from nodes.
	Pairs int64
	// Copiers is the number of connections of a reader, for its share against others, and of the racks it fetches from. 0: 5, as
	// in Hadoop.
	Copiers int
	// Steps is the max number of steps in which output is fetched while its stage runs. 0: 20.
	Steps int64
	// Racks fetches from every rack that holds output separately; always so in a network with circuits.
	Racks bool
	// Tolerance is the relative change of a link's share below which it is not propagated (see flow.Network.Tolerance).
	// 0: 0.01; negative: exact.
	Tolerance float64
	// Congested is the share of its capacity from which a link counts as congested. 0: 1.
	Congested float64
}

// maxFlowsPerShuffle limits the flows that steps add to one shuffle: large ones are fetched in fewer steps.
const maxFlowsPerShuffle = 4096

// Worker is a sim.Worker. It serves one run.
type Worker struct {
	opt        Options
	h          sim.Host
	net        *flow.Network
	fab        *fabric.Fabric
	rack       []int32
	rep        []int32 // a node of each rack
	fabricNode []int32 // node of the fabric, by node of the engine

	jobs    map[int64]*job
	spare   []*job
	tasks   []task
	plan    unit.Time // of the queued wake-up for the network; Never: none
	path    []flow.Link
	nodes   []int32
	traffic sim.Traffic
	done    func(flow.ID, uint64)

	optical *optical // nil: the network has no circuits
	batch   []batch
	batches dense.Numbers
}

var _ sim.Worker = (*Worker)(nil)

// New returns a worker for one run on a cluster that has a network.
func New(o Options) *Worker {
	if o.Pairs == 0 {
		o.Pairs = 32
	} else if o.Pairs < 0 {
		o.Pairs = math.MaxInt64
	}
	if o.Copiers <= 0 {
		o.Copiers = 5
	}
	if o.Steps <= 0 {
		o.Steps = 20
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-2
	}
	w := &Worker{opt: o, jobs: map[int64]*job{}, plan: unit.Never}
	w.done = w.arrived
	return w
}

// Traffic is what was sent.
func (w *Worker) Traffic() *sim.Traffic {
	w.sync()
	w.traffic.Settled, w.traffic.Links, w.traffic.Congested = int64(w.net.Settled()), w.fab.Uses(), w.fab.Congested()
	w.traffic.Uplinks = 0
	for r := range w.rep {
		in, out := w.fab.Carried(int32(r))
		w.traffic.Uplinks += (in + out) / 2 / max(w.net.Now(), 1e-9) / float64(len(w.rep))
	}
	if o := w.optical; o != nil {
		w.traffic.Optical, w.traffic.Reconfigured = o.sent, o.Changes()
		w.traffic.Links = append(w.traffic.Links, o.Uses()...)
	}
	return &w.traffic
}

// Uplink implements policy.Network.
func (w *Worker) Uplink(rack int32) (in, out float64) { return w.fab.Uplink(rack) }

// Carried implements policy.Network.
func (w *Worker) Carried(rack int32) (in, out float64) {
	w.sync()
	return w.fab.Carried(rack)
}

// Bind builds the network.
func (w *Worker) Bind(h sim.Host) error {
	if w.h != nil {
		return errors.New("a worker serves one run: make a new one")
	}
	if h.Described().Network == nil {
		return errors.New("the cluster has no network to pass data over: describe one (network:)")
	}
	w.h, w.net = h, flow.New()
	if w.opt.Tolerance > 0 {
		w.net.Tolerance(w.opt.Tolerance)
	}
	if w.opt.Congested > 0 {
		w.net.Threshold(w.opt.Congested)
	}
	var err error
	if w.fab, err = fabric.Build(h.Described(), w.net); err != nil {
		return err
	}
	w.plug(h.Described().Network, len(h.Described().Racks))
	return w.layOut(h.Cluster())
}

// layOut maps the engine's nodes to the fabric's.
func (w *Worker) layOut(c *cluster.Cluster) (err error) {
	if w.fabricNode, err = w.fab.Numbers(c); err != nil {
		return err
	}
	w.rep = make([]int32, len(c.Racks))
	for r := range w.rep {
		w.rep[r] = -1
	}
	for i := range c.Nodes {
		w.rack = append(w.rack, int32(c.Nodes[i].Rack))
		if r := c.Nodes[i].Rack; w.rep[r] < 0 {
			w.rep[r] = int32(i)
		}
	}
	return nil
}

// What a wake-up is for: the network, or the end of a task's work.
const (
	wakeNet  uint64 = 0
	wakeTask uint64 = 1 << 55
)

// Arrived adds a job.
func (w *Worker) Arrived(j *workload.Job, seq int64) { w.jobs[seq] = w.newJob(j, seq) }

// Left removes a job.
func (w *Worker) Left(seq int64) {
	w.spare = append(w.spare, w.jobs[seq])
	delete(w.jobs, seq)
}

// Started lets a task fetch what it needs, or work at once.
func (w *Worker) Started(s *sim.Task) {
	j := w.jobs[s.Job]
	t := dense.At(&w.tasks, s.ID)
	t.job, t.stage, t.node = j, int32(s.Stage), s.Node
	t.upAt, t.length, t.began, t.left, t.ready, t.nextFetch = w.h.Now()+s.StartUp, s.Length, -1, 0, 0, -1
	t.number, t.fetches = s.Number, t.fetches[:0]
	st := &j.stages[s.Stage]
	if st.reads > 0 && s.Near != policy.NodeLocal {
		w.read(s, t, st.reads)
	}
	if len(st.needs) > 0 && !st.begun {
		w.begin(j, st)
	}
	if len(st.needs) > 0 || !st.released {
		w.more(s.ID, t, st)
		st.running = append(st.running, s.ID)
		if st.gather.enabled {
			w.entered(t, st)
		}
	}
	w.beginIfReady(s.ID, t)
}

// begin records how much of what a stage needs has been made when its first task starts.
func (w *Worker) begin(j *job, st *stage) {
	st.begun = true
	ended, tasks := int64(0), int64(0)
	for _, n := range st.needs {
		ended, tasks = ended+j.stages[n.source].ended, tasks+j.src.Stages[n.source].Tasks
	}
	w.traffic.Readers++
	w.traffic.Ready += float64(ended) / float64(tasks)
}

// Released lets a stage's tasks fetch the rest: all that it needs is complete.
func (w *Worker) Released(seq int64, stage int) {
	w.sync() // first: a flow that ends now must not let its reader begin before the rest is requested
	st := &w.jobs[seq].stages[stage]
	st.released = true
	for _, id := range st.running {
		t := &w.tasks[id]
		w.more(id, t, st)
		w.beginIfReady(id, t)
	}
	if st.gather.enabled {
		w.rest(w.jobs[seq], int32(stage))
	}
}

// beginIfReady lets a task work once it has all it needs.
func (w *Worker) beginIfReady(id int32, t *task) {
	st := &t.job.stages[t.stage]
	if t.left > 0 || t.ready > 0 || t.began >= 0 || !st.released || w.missing(t, st) {
		return
	}
	t.began = max(t.upAt, w.h.Now())
	w.waited(t, st)
	w.h.At(t.began+t.length, wakeTask|uint64(t.serial)<<32|uint64(uint32(id)))
}

// waited adds what a task held until now while it waited for other stages.
func (w *Worker) waited(t *task, st *stage) {
	if len(st.needs) > 0 {
		w.traffic.Waited += max(0, w.h.Now()-t.upAt)
	}
}

// Stopped cancels a task's flows and work.
func (w *Worker) Stopped(id int32) {
	t := &w.tasks[id]
	w.sync()
	if t.began < 0 {
		w.waited(t, &t.job.stages[t.stage])
	}
	for i := range t.fetches {
		f := &t.fetches[i]
		if f.flow < 0 {
			continue
		}
		left := w.net.Stop(f.flow)
		if f.optical {
			w.optical.Quit(f.place, w.rack[t.node], left)
			w.optical.sent -= left
		}
		w.touched()
	}
	w.forget(id, t)
}

// Wake handles a wake-up for the network or for the end of a task's work.
func (w *Worker) Wake(what uint64) {
	if what&wakeTask == 0 {
		switch {
		case what&wakeRest != 0:
			w.wakeRest(what)
		case what&wakeSwitch != 0:
			w.wakeSwitch()
		default:
			w.wakeNetwork()
		}
		return
	}
	id := int32(uint32(what))
	t := &w.tasks[id]
	if uint64(t.serial) != what>>32&(1<<serialBits-1) || t.began < 0 {
		return // of a task that was stopped
	}
	if w.h.Counts(id) {
		t.job.stages[t.stage].gather.finished++
		w.made(t)
	}
	w.forget(id, t)
	w.h.Done(id)
}

// Progress is the share of a task's own work that is done.
func (w *Worker) Progress(id int32) float64 {
	t := &w.tasks[id]
	if t.began < 0 || t.length <= 0 {
		return 0
	}
	return min(1, max(0, float64(w.h.Now()-t.began)/float64(t.length)))
}
