// Package mapreduce simulates MapReduce tasks inside their containers: they start a process, read their input from a local or
// remote disk, map, sort and spill, merge; reduces fetch their parts of the map outputs while the maps still run, merge them in
// memory and on disk, reduce, and write. Processors, disks and network are shared by all concurrent users, so a task's duration
// depends on where it runs and on what runs beside it.
//
// The model is that of MRPERF (G. Wang, A. Butt, P. Pandey, K. Gupta, "A simulation approach to evaluating design decisions in
// MapReduce setups", MASCOTS 2009, and its public release of 2010), as J. Chauhan used it ("Simulation and performance evaluation
// of the Hadoop Capacity Scheduler", MSc thesis, University of Saskatchewan, 2013):
//
//	map:    process start (cpu); then, piece by piece of the input that fills the buffer once: read (disk here, or a request, the
//	        holder's disk and the network), map (cpu), sort (cpu), spill (disk); merge of several spills (disk); output, where the
//	        stage has any (disk)
//	reduce: process start (cpu); at most Copiers transfers at once, each: request, disk of the map's node, network; what has come
//	        is merged to disk when it fills the memory (cpu, disk); after the last map: what is left in memory is merged, sort
//	        (cpu), read (disk), reduce (cpu), output (disk)
//
// A stage that needs no other is played as a map, one that needs others as a reduce; so DAGs of more than two stages work. A
// reduce waits for Released and holds its container meanwhile.
//
// Differences from MRPERF, and choices it left open:
//
//   - Data crosses the network as flows that share links max-min fairly, not as packets; without a network it takes no time.
//     Requests cost the round-trip latency of the links, and no bandwidth.
//   - A reduce merges concurrently with its transfers: one merge at a time, of all that is in memory when it starts. Copiers do
//     not wait for memory.
//   - A reduce fetches all outputs ready on a disk in one transfer, unless the model says otherwise; see Fetch.
//   - Several nodes may share a machine (Model.PerMachine), as NodeManagers on one host do.
//   - A share of reads and writes may stay in memory (Model.Cached), and a reduce may read, reduce and write piece by piece
//     (Model.ReducePiece). MRPERF has neither.
//   - Disk space is tracked: spills and merged runs until their task has merged them or has ended, map outputs until their job
//     has ended, output for good. See Worker.Fit for full disks.
//   - A node may have several disks. Data is on one of them, by a hash of its owner. If memory is short, buffers are smaller (see
//     node.Memory).
//   - A task that writes output to storage does so at its end; with more than one replica, see write.
//   - A straggler (see sim.Stragglers) idles after each of its own steps; concurrent copying and merging are not slowed.
//   - Map outputs of a lost node stay readable, since the engine does not rerun finished tasks.
//
// A device's work is drawn from a log-normal distribution whose median is the computed work; every draw is a function of the
// seed, the job, the task, its attempt and the phase, so all compared policies see the same noise.
//
// The engine's clock counts microseconds: each phase begins at the first whole microsecond after the previous one ends.
package mapreduce

import (
	"errors"

	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/node"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// device is a device of a machine and its next wake-up.
type device struct {
	*node.Device
	box     int32
	pace    float64   // device units per unit of work
	wake    unit.Time // Never: none
	touched bool      // it changed in this call: its wake-up must be updated
}

// store is one disk of the cluster.
type store struct {
	node   int32
	device int32
	rate   float64 // units per second
	*node.Disk
}

// machine holds a node's devices; nodes may share them.
type machine struct {
	box          int32
	cpu          int32   // device
	rate         float64 // cycles per second of a core
	store, disks int32   // the first of its disks, and how many
	*node.Machine
}

// Worker plays the phase model. It serves one run.
type Worker struct {
	model Model
	host  sim.Host
	now   float64 // seconds

	machines []machine
	devices  []device
	stores   []store
	racks    [][]int32 // nodes by rack
	rack     []int32
	net      *network // nil: data moves instantly

	boxes  []box
	pace   float64 // disk units per unit of work in this run
	cores  float64 // processors of all machines
	rate   Times   // what they do now
	times  Times   // what they did until
	passed float64 // seconds
	lately []point // from late on: the last one that is at least a window old, and those since
	late   int
	used   float64 // bytes on all disks
	peak   float64

	jobs  map[int64]*job
	spare []*job
	tasks []task

	acts       []activity
	actNumbers dense.Numbers

	collect func(node.ID, uint64) // records what finished on a device
	over    []uint64              // finished activities, to be handled
	outputs []output              // of finished tasks, to be announced
	touched []int32               // devices

	scratch []int32
	nodes   []int32
	stats   Stats
}

var _ sim.Worker = (*Worker)(nil)

// New makes a worker for one run.
func New(m Model) (*Worker, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	w := &Worker{model: m, pace: 1, jobs: map[int64]*job{}}
	w.collect = func(_ node.ID, data uint64) { w.finished(data) }
	return w, nil
}

// Kinds of wake-ups.
const (
	wakeDevice  uint64 = iota << 54
	wakeTimer          // serial and number of an activity
	wakeNetwork        // the network has something

	wakeMask uint64 = 3 << 54
)

// Bind builds the devices of the cluster's nodes.
func (w *Worker) Bind(h sim.Host) error {
	if w.host != nil {
		return errors.New("a worker serves one run: make a new one")
	}
	w.host = h
	c := h.Cluster()
	w.racks = make([][]int32, len(c.Racks))
	if w.model.RunNoise > 0 {
		w.pace = noisy(1, w.model.RunNoise, workload.Seed(h.Seed(), 0x70616365))
	}
	w.build(h.Described(), c)
	for i := range c.Nodes {
		r := c.Nodes[i].Rack
		w.racks[r] = append(w.racks[r], int32(i))
		w.rack = append(w.rack, int32(r))
	}
	if w.model.Copiers == 0 {
		w.model.Copiers = int64(len(c.Nodes))
	}
	var err error
	w.net, err = newNetwork(w, h.Described(), c)
	return err
}

// enter sets the worker's clock to the engine's.
func (w *Worker) enter() { w.now = w.host.Now().Seconds() }

// leave handles what finished during a call, until nothing more does, and requests the next wake-ups.
func (w *Worker) leave() {
	for i, o := 0, 0; ; {
		switch {
		case i < len(w.over):
			data := w.over[i]
			i++
			if a := int32(uint32(data)); w.acts[a].serial == uint32(data>>32) {
				w.went(a)
			}
			continue
		case o < len(w.outputs):
			w.announce(w.outputs[o])
			o++
			continue
		}
		w.over, w.outputs = w.over[:0], w.outputs[:0]
		break
	}
	for _, d := range w.touched {
		v := &w.devices[d]
		v.touched = false
		w.recount(v.box)
		if at, ok := v.Next(); ok {
			if t := w.instant(at); t < v.wake {
				v.wake = t
				w.host.At(t, wakeDevice|uint64(d))
			}
		}
	}
	w.touched = w.touched[:0]
	if w.net != nil {
		w.net.plan(w)
	}
}

// latest is the last instant of an event; later ones never happen. It keeps sums of instants far from overflow.
const latest = unit.Never / 2

// instant rounds seconds up to the engine's clock, but not before now; Never if that is too late.
func (w *Worker) instant(seconds float64) unit.Time {
	return max(unit.CeilSeconds(seconds), w.host.Now())
}

// Wake implements sim.Worker.
func (w *Worker) Wake(what uint64) {
	arg := what &^ wakeMask
	switch what & wakeMask {
	case wakeDevice:
		v := &w.devices[arg]
		if v.wake != w.host.Now() {
			return // superseded by an earlier one
		}
		w.enter()
		v.wake = unit.Never
		w.advanced(int32(arg))
	case wakeTimer:
		a := int32(uint32(arg))
		if ac := &w.acts[a]; ac.where != onTimer || uint64(ac.serial)&(1<<22-1) != arg>>32 {
			return
		}
		w.enter()
		w.acts[a].where = nowhere
		w.over = append(w.over, w.data(a))
	case wakeNetwork:
		if !w.net.due(w) {
			return
		}
		w.enter()
		w.net.advance(w)
	}
	w.leave()
}

// Arrived implements sim.Worker.
func (w *Worker) Arrived(j *workload.Job, seq int64) { w.jobs[seq] = w.newJob(j, seq) }

// Left implements sim.Worker.
func (w *Worker) Left(seq int64) {
	if j := w.jobs[seq]; j != nil {
		delete(w.jobs, seq)
		for _, h := range j.held {
			w.keep(h.box, -h.bytes)
		}
		w.spare = append(w.spare, j)
	}
}

// Released implements sim.Worker.
func (w *Worker) Released(seq int64, stage int) {
	j := w.jobs[seq]
	if j == nil || j.stages[stage].released {
		return
	}
	s := &j.stages[stage]
	s.released = true
	if len(s.running) == 0 {
		return
	}
	w.enter()
	w.scratch = append(w.scratch[:0], s.running...)
	for _, t := range w.scratch {
		if w.tasks[t].phase == pFetch {
			w.step(t)
		}
	}
	w.leave()
}

// Started implements sim.Worker.
func (w *Worker) Started(st *sim.Task) {
	w.enter()
	for int(st.ID) >= len(w.tasks) {
		w.tasks = append(w.tasks, task{acts: -1})
	}
	w.open(st)
	if st.StartUp > 0 {
		a := w.begin(st.ID, aStep)
		w.acts[a].rests, w.acts[a].rested = true, w.now // start-up of a straggler's container is not slowed
		w.delay(a, st.StartUp.Seconds())
	} else {
		w.step(st.ID)
	}
	w.leave()
}

// Stopped implements sim.Worker.
func (w *Worker) Stopped(id int32) {
	if int(id) >= len(w.tasks) || w.tasks[id].job == nil {
		return // its work was done
	}
	w.enter()
	for w.tasks[id].acts >= 0 {
		w.cancel(w.tasks[id].acts)
	}
	for _, h := range w.tasks[id].wrote {
		w.keep(h.box, -h.bytes)
	}
	w.close(id)
	w.leave()
}
