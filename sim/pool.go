package sim

import (
	"fmt"

	"github.com/yardmaster/yardmaster/internal/asks"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// pool is the capacity of one kind: all of it, or the slots of one kind.
type pool struct {
	id      uint8 // kind of slot
	e       *engine
	nodes   []policy.Node
	rooms   *rooms
	free    unit.Resources // of all nodes
	cursor  int32          // where the next search for a node starts, which spreads work round-robin
	waiting int64          // jobs that want a container here
	asks    asks.Set       // of the jobs that wait
	gang    []seat         // of the current gang
	numbers []int64        // of its tasks chosen for their locality
	hold    hold
	failed  []unit.Resources // asks that found no node in the current dispatch
	offer   policy.Offer
	refused int // jobs refused during the current offer
	onNode  func(*policy.Job) policy.Verdict
	anyNode func(*policy.Job) policy.Verdict
	beats   *beats
	empty   bool // it has no capacity at all
	due     bool // a change makes a dispatch of the whole pool worthwhile

	parking
}

// setBeats checks the heartbeats of the nodes, and sets those that the placement policy needs.
func (e *engine) setBeats() error {
	if c, ok := e.place.(policy.Counter); ok && e.model.Heartbeat == 0 && (c.Counts(policy.MapSlot) || c.Counts(policy.ReduceSlot)) {
		e.model.Heartbeat = unit.Second
	}
	if h := e.model.Heartbeat; h < 0 || h > 0 && h < unit.Time(2*len(e.cfg.Cluster.Nodes)) {
		return fmt.Errorf("a heartbeat of %v is too short for %d nodes", h, len(e.cfg.Cluster.Nodes))
	}
	if e.model.Heartbeat == 0 && (e.model.EndOnBeat || e.model.PerBeat != 0) {
		return fmt.Errorf("settings of heartbeats without a heartbeat interval")
	}
	if e.model.PerBeat < 0 {
		return fmt.Errorf("%d containers a heartbeat", e.model.PerBeat)
	}
	return nil
}

func (e *engine) newPool(k uint8) *pool {
	c := e.cfg.Cluster
	pl := &pool{id: k, e: e, nodes: make([]policy.Node, len(c.Nodes)), asks: asks.New()}
	pl.offer.Slot = k
	pl.empty = true
	for i := range c.Nodes {
		n, room := &c.Nodes[i], e.roomOf(int(k), i)
		pl.nodes[i] = policy.Node{Index: int32(i), Rack: int32(n.Rack), Name: n.Name, Kind: n.Kind, Total: room, Free: room}
		pl.empty = pl.empty && room.IsZero()
		pl.free = pl.free.Add(room)
	}
	pl.rooms = newRooms(pl.nodes)
	pl.onNode = pl.tryOnNode
	pl.anyNode = pl.tryAnyNode
	if e.phase != nil {
		counter, says := e.place.(policy.Counter)
		pl.beats = newBeats(e.model.Heartbeat, e.phase, e.place != nil && (!says || counter.Counts(k)))
	}
	return pl
}

// Seeds of the parts of a run. Each part draws from its own stream, so that enabling one does not affect the others.
const (
	seedBeats = iota
	seedJobs
	_ // of hdfs.Files
	seedFailures
	seedStragglers
	seedPolls
)

// StageSeed is the seed of a stage's task lengths in a run, for the job with arrival number seq. Every engine uses it, so that a
// workload's tasks take the same time in all of them.
func StageSeed(run uint64, seq int64, stage int) uint64 {
	return workload.Seed(jobSeed(run, seq), uint64(stage))
}

// SizeOf is the total time that the job's tasks work, by the lengths of its stages.
func SizeOf(j *workload.Job, run uint64, seq int64) (size unit.Time) {
	for i := range j.Stages {
		size += stageSize(j, run, seq, i)
	}
	return size
}

// CoreTimeOf is like SizeOf, but a task counts once for each vcore of its container.
func CoreTimeOf(j *workload.Job, run uint64, seq int64) (size unit.Time) {
	for i := range j.Stages {
		size += stageSize(j, run, seq, i) * unit.Time(max(j.Stages[i].Ask.Cores, 1))
	}
	return size
}

func stageSize(j *workload.Job, run uint64, seq int64, stage int) (size unit.Time) {
	s := &j.Stages[stage]
	if l, ok := s.Length.IsConstant(); ok {
		return unit.Time(s.Tasks) * l
	}
	seed := StageSeed(run, seq, stage)
	for k := range s.Tasks {
		size += s.Length.Draw(k, seed)
	}
	return size
}

func jobSeed(run uint64, seq int64) uint64 {
	return workload.Seed(workload.Seed(run, seedJobs), uint64(seq))
}

// resized notifies the policy of the cluster's size.
func (e *engine) resized() {
	c := policy.Cluster{Racks: e.nodeRack, Working: make([]int, len(e.rackNodes))}
	for i := range e.cfg.Cluster.Nodes {
		var node unit.Resources
		for k, p := range e.pools {
			node = node.Add(p.nodes[i].Total)
			if e.cfg.Cluster.Slots {
				c.Slots[k] += p.nodes[i].Total.Cores
			}
		}
		if node.IsZero() {
			continue
		}
		c.Nodes++
		c.Working[e.nodeRack[i]]++
		c.Total = c.Total.Add(node)
		c.Max = c.Max.Max(node)
	}
	c.Room = func(node int32, slot uint8) (none unit.Resources) {
		if int(slot) < len(e.pools) {
			return e.roomOf(int(slot), int(node))
		}
		return none
	}
	c.Kind = func(node int32) string { return e.cfg.Cluster.Nodes[node].Kind }
	e.order.Resized(e.now, c)
	for _, p := range e.pools {
		p.changed()
		p.release() // its nodes are chosen anew
	}
	if e.steering != nil {
		e.steering.sized = false
	}
}
