package mapreduce

import (
	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/node"
	"github.com/yardmaster/yardmaster/unit"
)

// box is a physical machine: the processors and disks of one node, or of several that share it.
type box struct {
	*node.Machine
	spec  node.MachineSpec
	cpu   int32   // device
	disks []int32 // devices
	cores float64
	now   Times   // its processors by state
	used  float64 // bytes on its disks
	limit float64 // beyond which its nodes get no container; 0: none
}

var (
	_ sim.Idler  = (*Worker)(nil)
	_ sim.Fitter = (*Worker)(nil)
)

// group assigns nodes to machines: by node, in the engine's order, the number of its box.
func group(described, c *cluster.Cluster, per int) (boxOf []int32, boxes int) {
	per = max(per, 1)
	position := make(map[string]int32, len(described.Nodes))
	for i := range described.Nodes {
		position[described.Nodes[i].Name] = int32(i / per)
	}
	boxOf = make([]int32, len(c.Nodes))
	for i := range c.Nodes {
		boxOf[i] = position[c.Nodes[i].Name]
	}
	return boxOf, (len(c.Nodes) + per - 1) / per
}

// build makes the devices of all machines. A machine that several nodes share has the kind of the first of them.
func (w *Worker) build(described, c *cluster.Cluster) {
	boxOf, n := group(described, c, w.model.PerMachine)
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
		b := boxOf[i]
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

// Times is the time of processors in each state, in processor-seconds. A processor without work counts as waiting (iowait), not idle, while a
// stream of its machine waits for a disk, as in Linux. Each stream counts: a task that reads, or one of the processes that write the replicas of
// a block for it. (Linux accounts a wait to the processor where it began, which several may share: so many waits may leave more idle time than
// here.)
type Times struct{ Busy, Wait, Idle float64 }

func (t *Times) add(o Times, times float64) {
	t.Busy += times * o.Busy
	t.Wait += times * o.Wait
	t.Idle += times * o.Idle
}

// point is the processors' times up to an instant.
type point struct {
	instant float64
	times   Times
}

// pass accounts the processors' time up to now.
func (w *Worker) pass() {
	dt := w.now - w.passed
	if dt <= 0 {
		return
	}
	w.times.add(w.rate, dt)
	w.passed = w.now
	w.lately = append(w.lately, point{w.now, w.times})
	for w.late+1 < len(w.lately) && w.lately[w.late+1].instant <= w.now-window {
		w.late++
	}
	if w.late > 256 && 2*w.late > len(w.lately) {
		w.lately, w.late = w.lately[:copy(w.lately, w.lately[w.late:])], 0
	}
}

// recount updates the state of a machine's processors from now on.
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

// window is the averaging window of Lately, in seconds: that of a tool that reads the counters twice, a second apart.
const window = 1

// CPUIdle implements sim.Idler: the share of idle processors over the last second. It is not the mean since the previous call, which
// may be longer ago: a controller that slept must not act on stale data.
func (w *Worker) CPUIdle() float64 { return w.Lately().Idle }

// Lately returns the processors' states over the last second, as shares of time.
func (w *Worker) Lately() Times {
	w.enter()
	w.pass()
	start := max(0, w.now-window)
	if w.now <= start {
		return Times{Idle: 1} // nothing has happened yet
	}
	var a, z point // from lies between them, and the rate is constant in between
	points := w.lately[w.late:]
	if points[0].instant > start {
		z = points[0]
	} else if a, z = points[0], points[0]; len(points) > 1 {
		z = points[1]
	}
	mean := w.times
	mean.add(a.times, -1)
	if z.instant > a.instant {
		part := (start - a.instant) / (z.instant - a.instant)
		mean.add(z.times, -part)
		mean.add(a.times, part)
	}
	scale := 1 / (w.cores * (w.now - start))
	return Times{Busy: max(0, scale*mean.Busy), Wait: max(0, scale*mean.Wait), Idle: max(0, scale*mean.Idle)}
}

// Reading is the machines' state at an instant.
type Reading struct {
	CPU        Times   // since the start of the run
	Processors float64 // of all machines
	Disk       float64 // bytes on all disks
	Peak       float64 // max of Disk until then
}

// Read returns the state at an instant between the engine's last event and its next: for sinks that receive samples.
func (w *Worker) Read(instant unit.Time) Reading {
	w.enter()
	w.pass()
	r := Reading{CPU: w.times, Processors: w.cores, Disk: w.used, Peak: w.peak}
	r.CPU.add(w.rate, max(0, instant.Seconds()-w.now))
	return r
}

// Fit implements sim.Fitter: a node whose disks are over their limit gets no containers until there is space again, as a
// NodeManager with disks over the limit is unhealthy. Running tasks continue, and nothing fails for lack of space: if no task is
// left that would free some, the jobs are stuck.
func (w *Worker) Fit(n int32) bool {
	x := &w.boxes[w.machines[n].box]
	return x.limit == 0 || x.used <= x.limit
}

// keep adds bytes to the disks of a machine; negative: removes them.
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

// holds adds bytes of a task to its machine's disks, freed when the task ends, or kept for others until its job ends.
func (w *Worker) holds(tk *task, bytes float64) {
	tk.held += bytes
	w.keep(w.machines[tk.node].box, bytes)
}

// leaves transfers what a task holds to its job.
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
