package sim

import (
	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/flow"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Worker simulates what tasks do in their containers, in place of the lengths of their stages: they read, compute, send data over
// a network. The engine and the policy decide what runs where and when a stage may begin; the worker decides when a task is done.
// It is called from one goroutine and derives all randomness from Host.Seed.
//
// A task that needs other stages is Started when it holds its container; it may fetch output that is already there, and is Done
// only after Released reported that all it needs is complete.
type Worker interface {
	// Bind passes the engine, before the first event. Its cluster has the engine's order of nodes, which heartbeats permute.
	Bind(h Host) error
	// Arrived is called when a job is admitted. seq is its arrival number and identifies it from now on.
	Arrived(j *workload.Job, seq int64)
	// Released is called when every stage that this one needs is complete; also for stages that need none.
	Released(seq int64, stage int)
	// Started is called when a task gets its container.
	Started(t *Task)
	// Stopped is called when a task loses its container before its work is done: its node is lost, its job was killed, or its
	// copy was faster.
	Stopped(id int32)
	// Left is called when a job has ended; its tasks have been Done or Stopped.
	Left(seq int64)
	// Wake is called at an instant requested with Host.At.
	Wake(what uint64)
	// Progress is the share of a running task's work that is done, from 0 to 1.
	Progress(id int32) float64
}

// Idler is implemented by workers that model CPU utilisation.
type Idler interface {
	// CPUIdle is the share of processor time that was idle over the last second, 0 to 1; waiting for a disk is not idle.
	// Negative: unknown.
	CPUIdle() float64
}

// Fitter is implemented by workers that model unhealthy nodes, which temporarily get no containers, as a NodeManager whose disks are
// nearly full gets none. Running containers continue.
type Fitter interface {
	Fit(node int32) bool
}

// Gatherer is implemented by workers that can let a job's output gather before it is sent to other racks.
type Gatherer interface {
	// Gather is called after Arrived for a job that policy.Policy.Gathers selects.
	Gather(seq int64)
}

// unfit reports whether a node may get no containers now.
func (e *engine) unfit(node int32) bool { return e.fitter != nil && !e.fitter.Fit(node) }

func (e *engine) allUnfit() bool {
	for i := range e.cfg.Cluster.Nodes {
		if !e.unfit(int32(i)) {
			return false
		}
	}
	return true
}

// Task is a task that has its container.
type Task struct {
	ID      int32 // unique among running tasks; reused after Done or Stopped
	Stage   int
	Attempt int
	Node    int32
	Near    policy.Near
	Job     int64 // seq
	Number  int64 // in its stage
	StartUp unit.Time
	Length  unit.Time // of its work from its stage, without StartUp and data transfer; already includes a straggler's factor and the machine's speed
	Slow    float64   // slowdown of this attempt, for workers that do not use Length: 1, or Stragglers.Factor; less on a faster machine
	// Copy means that another attempt of the same task is already running. Both may even be Done, at one instant or before a
	// node's heartbeat reports the first; the first counts (see Host.Counts).
	Copy bool
}

// Host is the engine's interface for workers.
type Host interface {
	Now() unit.Time
	// At requests Wake(what) at an instant not in the past; what < 1<<56. Wakes at one instant come in the order of the requests.
	At(at unit.Time, what uint64)
	// Done reports that a task's work is done now. Its container is released after the current event and before the next, as if the task
	// had ended by its length in place of a Wake; or at its node's next heartbeat.
	Done(id int32)
	// Counts reports whether the output of a running task counts: not if another attempt of the same task was Done before.
	Counts(id int32) bool
	// Cluster is the cluster in the order in which tasks name nodes.
	Cluster() *cluster.Cluster
	// Described is the same cluster with its nodes in the order of its description, which determines their position in the network.
	Described() *cluster.Cluster
	// Replicas lists the nodes that hold the input of a running task; none: it has no location.
	Replicas(id int32, buf []int32) []int32
	Seed() uint64
}

// TaskSink is implemented by sinks that also want a record of every container, and of every task in a kept one, when it has ended.
type TaskSink interface {
	Task(r *TaskRecord)
}

// TaskRecord is the record of one container, or of a task in a kept one. It is valid only during the call.
type TaskRecord struct {
	Job        *workload.Job
	Seq        int64
	Stage      int // or policy.AMStage, policy.KeptStage
	Number     int64
	Attempt    int
	Copy       bool // a copy of a slow task: see Model.Speculate
	Node       string
	Near       policy.Near
	Start, End unit.Time
	Why        policy.End
	Kept       int64     // of a kept container and of a task in one: tells it from the job's others; otherwise -1
	Up         unit.Time // when an AM or a kept container had started; -1: never, or it is neither
	Submitted  unit.Time // when the driver submitted the stage of a task in a kept container; otherwise -1
}

// Traffic is what a worker sent over a network.
type Traffic struct {
	Flows     int64   // started
	Settled   int64   // times that rates were recomputed
	Read      float64 // bytes of blocks read from other nodes
	Shuffled  float64 // bytes sent from stage to stage between nodes
	CrossRack float64 // bytes of both that left their rack
	Congested int64   // times that the load of a link into or out of a rack rose to the network's threshold
	Uplinks   float64 // mean load of these links, as a share of their capacity
	Links     []flow.Use
	// Of the stages that fetch what others made: their number, and the sum of the shares of what they need that was made when their first
	// task started.
	Readers, Ready float64
	Waited         unit.Time // container-time that their tasks held before they had what they need
	// In a network with circuits: bytes sent over them, and how often they were reconfigured.
	Optical      float64
	Reconfigured int64
}

// NetworkOf is the network that a worker plays on a cluster; nil: none.
func NetworkOf(w Worker, c *cluster.Cluster) policy.Network {
	if n, ok := w.(policy.Network); ok && c.Network != nil {
		return n
	}
	return nil
}

// TrafficOf is what a worker sent over a network; nil: it has none.
func TrafficOf(w Worker) *Traffic {
	if t, ok := w.(interface{ Traffic() *Traffic }); ok {
		return t.Traffic()
	}
	return nil
}

// host is the engine as its worker sees it.
type host struct{ *engine }

func (h host) Now() unit.Time               { return h.now }
func (h host) At(at unit.Time, what uint64) { h.q.Push(at, evWake|what, 0) }
func (h host) Cluster() *cluster.Cluster    { return h.cfg.Cluster }
func (h host) Described() *cluster.Cluster  { return h.described }
func (h host) Seed() uint64                 { return h.cfg.Seed }

func (h host) Replicas(id int32, buf []int32) []int32 {
	tk := &h.tasks[id]
	return h.replicas(h.jobs[tk.job], int(tk.stage), tk.number, buf)
}

func (h host) Counts(id int32) bool {
	tk := &h.tasks[id]
	return tk.flags&taskCopied == 0 || tk.partner < 0 || h.tasks[tk.partner].flags&taskEnding == 0
}

func (h host) Done(id int32) {
	tk := &h.tasks[id]
	tk.flags |= taskEnding
	instant := h.now
	if tk.flags&taskInner == 0 {
		instant = h.endKnown(&h.jobs[tk.job].stages[tk.stage], tk.node, instant)
	}
	if instant == h.now {
		h.ended = append(h.ended, id)
		return
	}
	h.q.Push(instant, evTaskEnd|uint64(id), 0)
}

// bindWorker checks that the run uses nothing that a worker does not support.
func (e *engine) bindWorker() error {
	if err := policy.Watch(e.place, NetworkOf(e.cfg.Worker, e.described)); err != nil {
		return err
	}
	if e.cfg.Worker == nil {
		return nil
	}
	if e.model.FailTask > 0 {
		return ErrFailingWork
	}
	e.fitter, _ = e.cfg.Worker.(Fitter)
	return e.cfg.Worker.Bind(host{e})
}

// hand passes a task that has its container to the worker.
func (e *engine) hand(j *job, i int, t int32) {
	tk, s := &e.tasks[t], &j.stages[i]
	if !s.released {
		tk.flags |= taskWaits
		tk.next, s.waits = s.waits, t
	}
	w := &e.handed
	w.ID, w.Stage, w.Attempt, w.Node, w.Near = t, i, int(tk.attempt), tk.node, policy.Near(tk.near)
	w.Job, w.Number, w.StartUp, w.Length = j.rec.Seq, tk.number, e.model.StartUp, e.lengthOf(j, i, tk.node, tk.number, tk.key())
	w.Slow, w.Copy = e.model.slowness(e.cfg.Seed, j.rec.Seq, i, tk.key())/e.speeds.Of(j.rates, tk.node), tk.flags&taskCopy != 0
	if tk.flags&taskInner != 0 {
		w.StartUp, w.Length = 0, w.Length+e.warmUp(j, t) // its container is up
	}
	e.cfg.Worker.Started(w)
}
