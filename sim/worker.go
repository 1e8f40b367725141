package sim

import (
	"errors"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/flow"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Worker plays what tasks do while they hold a container, in place of the lengths of their stages: they read, compute, pass data
// over a network. The engine decides with the policy who runs where and when a stage may begin; the worker says when a task is
// done. It is driven by one goroutine and uses no randomness but what it derives from Host.Seed.
//
// A task that needs other stages is Started when it holds its container; it may fetch what is there already, and it is Done only
// after Released said that all it needs is complete.
type Worker interface {
	// Bind hands over the engine, before the first event. Its cluster is in the engine's own order of nodes: heartbeats permute it.
	Bind(h Host) error
	// Arrived says that a job was admitted. seq is its number of arrival and its name from now on.
	Arrived(j *workload.Job, seq int64)
	// Released says that every stage which this one needs is complete. It is told of stages that need none, too.
	Released(seq int64, stage int)
	// Started says that a task got its container, now.
	Started(t *Task)
	// Stopped says that a task's container was taken away before its work was done: its node is lost, its job was killed, or a
	// copy of it was faster.
	Stopped(id int32)
	// Left says that a job is gone; its tasks have been Done or Stopped.
	Left(seq int64)
	// Wake says that an instant which was asked for has come.
	Wake(what uint64)
	// Progress is the share of a running task's work that is done, from 0 to 1.
	Progress(id int32) float64
}

// Idler is implemented by workers that know how busy the processors are.
type Idler interface {
	// CPUIdle is the share of processor time that was idle over the last second, 0 to 1; waiting for a disk is not idle.
	// Negative: not known.
	CPUIdle() float64
}

// Fitter is implemented by workers that know of nodes that are to get no container for a time, as a NodeManager whose disks are
// nearly full gets none. What runs there goes on.
type Fitter interface {
	Fit(node int32) bool
}

// unfit says whether a node is to get no container now.
func (e *engine) unfit(node int32) bool { return e.fitter != nil && !e.fitter.Fit(node) }

func (e *engine) allUnfit() bool {
	for i := range e.cfg.Cluster.Nodes {
		if !e.unfit(int32(i)) {
			return false
		}
	}
	return true
}

// Task is a task that has got its container.
type Task struct {
	ID      int32 // unique among those that run; used again after Done or Stopped
	Stage   int
	Attempt int
	Node    int32
	Near    policy.Near
	Job     int64 // seq
	Number  int64 // in its stage
	StartUp unit.Time
	Length  unit.Time // of its work as its stage has it, without StartUp and without passing data; a straggler's is longer already
	Slow    float64   // times as long as it should this attempt works, for workers that do not go by Length: 1, or Stragglers.Factor
	// Copy says that another attempt of the same task runs already. Both may even be Done, at one instant or before a node's
	// heartbeat tells of the first; the first counts (see Host.Counts).
	Copy bool
}

// Host is what the engine offers to a worker.
type Host interface {
	Now() unit.Time
	// At asks for Wake(what) at an instant that is not over; what < 1<<56. Wakes at one instant come in the order they were asked for.
	At(at unit.Time, what uint64)
	// Done says that a task's work is done now. Its container is given back after the present event and before the next, as if the task
	// had ended by its length in place of a Wake; or at its node's next heartbeat.
	Done(id int32)
	// Counts says whether what a running task leaves behind is to be kept: not if another attempt of the same task was Done before.
	Counts(id int32) bool
	// Cluster is the cluster in the order in which tasks name nodes.
	Cluster() *cluster.Cluster
	// Described is the same cluster with its nodes in the order of its description, which is their place in the network.
	Described() *cluster.Cluster
	// Replicas lists the nodes that hold the input of a running task; none: it lies nowhere in particular.
	Replicas(id int32, buf []int32) []int32
	Seed() uint64
}

// TaskSink is implemented by sinks that want the life of every container as well.
type TaskSink interface {
	Task(r *TaskRecord)
}

// TaskRecord is what became of one container. It is valid only during the call.
type TaskRecord struct {
	Job        *workload.Job
	Seq        int64
	Stage      int // or policy.MasterStage, policy.KeptStage
	Number     int64
	Attempt    int
	Copy       bool // a copy of a slow task: see Model.Speculate
	Node       string
	Near       policy.Near
	Start, End unit.Time
	Why        policy.End
}

// Traffic is what a worker passed over a network.
type Traffic struct {
	Flows     int64   // started
	Settled   int64   // times that rates were worked out anew
	Read      float64 // bytes of blocks that lay on other nodes
	Shuffled  float64 // bytes passed from stage to stage between nodes
	CrossRack float64 // bytes of both that left their rack
	Links     []flow.Use
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
	return tk.flags&taskCopied == 0 || tk.in < 0 || h.tasks[tk.in].flags&taskEnding == 0
}

func (h host) Done(id int32) {
	tk := &h.tasks[id]
	tk.flags |= taskEnding
	at := h.now
	if tk.flags&taskInner == 0 {
		at = h.heard(&h.jobs[tk.job].stages[tk.stage], tk.node, at)
	}
	if at == h.now {
		h.ended = append(h.ended, id)
		return
	}
	h.q.Push(at, evTaskEnd|uint64(id), 0)
}

// bindWorker checks that the run asks for nothing that a worker cannot play.
func (e *engine) bindWorker() error {
	network, plays := e.cfg.Worker.(policy.Network)
	if place, looks := e.place.(policy.Networked); looks && plays && e.described.Network != nil {
		place.Watch(network)
	} else if looks {
		return errors.New("the policy places tasks by the load of the network, and none is played: describe one (network:)")
	}
	if e.cfg.Worker == nil {
		return nil
	}
	if e.model.FailTask > 0 {
		return errors.New("tasks that fail at random are not played together with a model of what tasks do; leave out one of them")
	}
	e.fitter, _ = e.cfg.Worker.(Fitter)
	return e.cfg.Worker.Bind(host{e})
}

// hand gives a task that has its container to the worker.
func (e *engine) hand(j *job, i int, t int32) {
	tk, s := &e.tasks[t], &j.stages[i]
	if !s.released {
		tk.flags |= taskWaits
		tk.next, s.waits = s.waits, t
	}
	w := &e.handed
	w.ID, w.Stage, w.Attempt, w.Node, w.Near = t, i, int(tk.attempt), tk.node, policy.Near(tk.near)
	w.Job, w.Number, w.StartUp, w.Length = j.rec.Seq, tk.number, e.model.StartUp, e.lengthOf(j, i, tk.number, tk.key())
	w.Slow, w.Copy = e.slowness(j, i, tk.key()), tk.flags&taskCopy != 0
	if tk.flags&taskInner != 0 {
		w.StartUp = 0 // its container is up
	}
	e.cfg.Worker.Started(w)
}

// follow submits the jobs that were waiting for one to end.
func (e *engine) follow(r *JobRecord) error {
	if e.cfg.Follow == nil {
		return nil
	}
	for _, j := range e.cfg.Follow(r) {
		if err := j.Validate(); err != nil {
			return err
		}
		later := *j
		later.Submit += e.now
		e.followers = append(e.followers, &later)
		e.coming++
		e.q.Push(later.Submit, evFollow|uint64(len(e.followers)-1), 0)
	}
	return nil
}

func (e *engine) submitFollower(i int) {
	src := e.followers[i]
	e.followers[i] = nil
	e.coming--
	e.submit(src)
}

// lookAt puts an event on the queue by which nothing happens but that somebody looks again.
func (e *engine) lookAt(at unit.Time, what uint64) {
	e.looks++
	e.q.Push(at, what, 0)
}

// ahead says whether anything is going to happen besides such looks, which must not keep each other going.
func (e *engine) ahead() bool { return e.q.Len() > e.looks }

// lookAgain has every node with room offered anew.
func (e *engine) lookAgain() {
	for _, p := range e.pools {
		p.changed()
		p.due = true
	}
}

// tick lets the policy do what it does at intervals. When nothing else is going to happen and it changes nothing many times in a
// row, it never will.
func (e *engine) tick() {
	e.looks--
	again, changed := e.timer.Tick(e.now)
	changed = e.preempt() || changed
	if e.idle++; changed || e.ahead() {
		e.idle = 0
	}
	if changed {
		e.lookAgain()
	}
	if again <= e.now || again == unit.Never || e.idle >= patience {
		return
	}
	if e.present > 0 || e.ahead() {
		e.lookAt(again, evTick)
	}
}
