package mapreduce

import (
	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/node"
	"github.com/yardmaster/yardmaster/unit"
)

// box is a machine as one would carry it: the processors and disks of one node, or of several that share it.
type box struct {
	*node.Machine
	spec  node.MachineSpec
	cpu   int32   // device
	disks []int32 // devices
	cores float64
	now   Times   // where its processors are: processors of each state
	used  float64 // bytes on its disks
	limit float64 // beyond which its nodes get no container; 0: none
}

var (
	_ sim.Idler  = (*Worker)(nil)
	_ sim.Fitter = (*Worker)(nil)
)

// group says which nodes share a machine: by node, in the engine's order, the number of its box.
func group(described, c *cluster.Cluster, per int) (of []int32, boxes int) {
	per = max(per, 1)
	at := make(map[string]int32, len(described.Nodes))
	for i := range described.Nodes {
		at[described.Nodes[i].Name] = int32(i / per)
	}
	of = make([]int32, len(c.Nodes))
	for i := range c.Nodes {
		of[i] = at[c.Nodes[i].Name]
	}
	return of, (len(c.Nodes) + per - 1) / per
}

// build makes the devices of all machines. A machine that several nodes share is of the kind of the first of them.
func (w *Worker) build(described, c *cluster.Cluster) {
	of, n := group(described, c, w.model.PerMachine)
	w.boxes = make([]box, n)
	per := max(w.model.PerMachine, 1)
	for b := range w.boxes {
		spec, ok := w.model.Kinds[described.Nodes[b*per].Kind]
		if !ok {
			spec = w.model.Machine
		}
		x := &w.boxes[b]
		*x = box{Machine: node.New(spec), spec: spec, cores: float64(spec.Cores), used: spec.Space.Filled, limit: spec.Space.Limit()}
		w.used += x.used
		w.cores += x.cores
		x.now.Idle = x.cores
		w.rate.Idle += x.cores
	}
	w.peak = w.used
	for i := range c.Nodes {
		b := of[i]
		x := &w.boxes[b]
		if x.disks == nil {
			x.cpu = w.device(x.CPU, b, 1)
			for _, k := range x.Disks {
				x.disks = append(x.disks, w.device(k.Device, b, w.pace))
			}
		}
		m := machine{box: b, cpu: x.cpu, rate: x.spec.Hertz, store: int32(len(w.stores)), disks: int32(len(x.Disks)), Machine: x.Machine}
		for k, d := range x.Disks {
			w.stores = append(w.stores, store{node: int32(i), device: x.disks[k], rate: x.spec.Disk.Read, Disk: d})
		}
		w.machines = append(w.machines, m)
	}
}

func (w *Worker) device(d *node.Device, b int32, pace float64) int32 {
	w.devices = append(w.devices, device{Device: d, box: b, pace: pace, wake: unit.Never})
	return int32(len(w.devices) - 1)
}

// Times is how long processors were in each state, in processor-seconds. A processor that has nothing to do while somebody of its
// machine waits for a disk waits, too, and is not idle: that is how Linux counts. Every stream is somebody: a task that reads, or one of the
// processes that write the copies of a block for it. (Linux books a wait on the processor where it began, of which several may share one: so
// many that wait may leave more idle than here.)
type Times struct{ Busy, Wait, Idle float64 }

func (t *Times) add(o Times, times float64) {
	t.Busy += times * o.Busy
	t.Wait += times * o.Wait
	t.Idle += times * o.Idle
}

// point is what all processors did until an instant.
type point struct {
	at    float64
	times Times
}

// pass books the processors' time until the present.
func (w *Worker) pass() {
	dt := w.now - w.passed
	if dt <= 0 {
		return
	}
	w.times.add(w.rate, dt)
	w.passed = w.now
	w.lately = append(w.lately, point{w.now, w.times})
	for w.late+1 < len(w.lately) && w.lately[w.late+1].at <= w.now-window {
		w.late++
	}
	if w.late > 256 && 2*w.late > len(w.lately) {
		w.lately, w.late = w.lately[:copy(w.lately, w.lately[w.late:])], 0
	}
}

// tell notes what the processors of a machine do from now on.
func (w *Worker) recount(b int32) {
	x := &w.boxes[b]
	waiting := 0
	for _, d := range x.Disks {
		waiting += d.Len()
	}
	var t Times
	t.Busy = min(float64(x.CPU.Len()), x.cores)
	t.Wait = min(float64(waiting), x.cores-t.Busy)
	t.Idle = x.cores - t.Busy - t.Wait
	if t == x.now {
		return
	}
	w.rate.add(x.now, -1)
	w.rate.add(t, 1)
	x.now = t
}

// window is over what time Lately is a mean, in seconds: that of a tool which looks at the counters twice, a second apart.
const window = 1

// CPUIdle implements sim.Idler: the share of idle processors over the last second. Where the previous call is longer ago it is not
// the mean since then: a controller that slept must not take what was before for what is.
func (w *Worker) CPUIdle() float64 { return w.Lately().Idle }

// Lately is what the processors did over the last second, as shares of their time.
func (w *Worker) Lately() Times {
	w.enter()
	w.pass()
	from := max(0, w.now-window)
	if w.now <= from {
		return Times{Idle: 1} // nothing has happened yet
	}
	var a, z point // what was at from lies between them; the rate was the same from one to the next
	points := w.lately[w.late:]
	if points[0].at > from {
		z = points[0]
	} else if a, z = points[0], points[0]; len(points) > 1 {
		z = points[1]
	}
	mean := w.times
	mean.add(a.times, -1)
	if z.at > a.at {
		part := (from - a.at) / (z.at - a.at)
		mean.add(z.times, -part)
		mean.add(a.times, part)
	}
	scale := 1 / (w.cores * (w.now - from))
	return Times{Busy: max(0, scale*mean.Busy), Wait: max(0, scale*mean.Wait), Idle: max(0, scale*mean.Idle)}
}

// Reading is the state of the machines at an instant.
type Reading struct {
	CPU        Times   // since the start of the run
	Processors float64 // of all machines
	Disk       float64 // bytes on all disks
	Peak       float64 // most bytes that were there until then
}

// Read is the state at an instant that is not before the engine's last event, nor after its next: for sinks that are told of samples.
func (w *Worker) Read(at unit.Time) Reading {
	w.enter()
	w.pass()
	r := Reading{CPU: w.times, Processors: w.cores, Disk: w.used, Peak: w.peak}
	r.CPU.add(w.rate, max(0, at.Seconds()-w.now))
	return r
}

// Fit implements sim.Fitter: a node whose disks hold more than they may gets no container until there is room again, as a
// NodeManager that finds its disks over the limit is unhealthy. What runs there goes on, and nothing fails for want of room: if no
// task is left that would free some, the jobs are stuck.
func (w *Worker) Fit(n int32) bool {
	x := &w.boxes[w.machines[n].box]
	return x.limit == 0 || x.used <= x.limit
}

// keep puts bytes on the disks of a machine; negative: takes them off.
func (w *Worker) keep(b int32, bytes float64) {
	w.boxes[b].used += bytes
	w.used += bytes
	w.peak = max(w.peak, w.used)
}

// hold is bytes on the disks of a machine.
type hold struct {
	box   int32
	bytes float64
}

// holds puts bytes of a task on its machine's disks that go away with it, or stay for others while its job is there.
func (w *Worker) holds(tk *task, bytes float64) {
	tk.held += bytes
	w.keep(w.machines[tk.node].box, bytes)
}

// leaves turns what a task holds over to its job.
func (w *Worker) leaves(tk *task) {
	if tk.held == 0 {
		return
	}
	b := w.machines[tk.node].box
	for i := range tk.job.held {
		if h := &tk.job.held[i]; h.box == b {
			h.bytes += tk.held
			tk.held = 0
			return
		}
	}
	tk.job.held = append(tk.job.held, hold{b, tk.held})
	tk.held = 0
}
