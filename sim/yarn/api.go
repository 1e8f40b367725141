package yarn

import (
	"context"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Config is one run.
type Config struct {
	Cluster *cluster.Cluster
	Source  workload.Source
	Start   *State // what the run starts from; nil: an empty cluster
	// NewScheduler returns a new scheduler for the run.
	NewScheduler func() (rm.Scheduler, error)
	Timing       Timing
	// Phases are those of the nodes' heartbeats: node i reports at Phases[i] + k*Timing.NodeHeartbeat, k = 1, 2, ... (a node's
	// first step is a no-op, as under SLS). nil: drawn from Seed, each within one interval.
	Phases []unit.Time
	// Ports are those of the nodes' ids, by node; nil: unknown (see rm.Node).
	Ports []int32
	// RoundPhase is that of the scheduler's own rounds: RoundPhase + k*Scheduler.Every().
	RoundPhase unit.Time
	Script     *Script // logged instants to replay; nil: periodic
	// Worker, if set, plays what tasks do in place of their lengths, such as transfers over a network. Replicas and Placement locate the input that the
	// workload does not: see sim.Model.
	Worker    sim.Worker
	Replicas  int
	Placement string
	Losses    []sim.Loss // of nodes; not with a Script
	// What happens to attempts of tasks: see sim.Model. The same ones fail or are slow in ideal time.
	FailTask   float64
	Attempts   int
	Stragglers sim.Stragglers

	Seed uint64
	Sink sim.Sink
	// Containers, if set, is called for every container when its room is free again, and at the end of the run for those that
	// still hold theirs. The record is valid only during the call.
	Containers func(*ContainerRecord)

	Sample  unit.Time  // period of the timeline; 0: 10 s
	Alone   *sim.Alone // times on an empty cluster, shared between runs of the same seed; nil: made for this run
	NoAlone bool       // leave JobRecord.Alone 0: no slowdowns are needed

	Steerer steer.Steerer // nil: no steering
	Delays  steer.Delays
	Bounds  steer.Bounds // on what it writes; Max 0: none
	Sizes   bool         // jobs have tags with their true sizes

	// Progress, if set, is called occasionally with the run's progress. It must not block.
	Progress func(sim.Progress)
	Why      *sim.Why // a question to answer; nil: none
}

// InstantKind is what happened at a logged instant.
type InstantKind uint8

// Kinds of logged instants.
const (
	Added InstantKind = iota // an application was added to the scheduler
	Beat                     // a node's heartbeat was handled by the scheduler
	Tick                     // an application's AM called
	Round                    // the scheduler's monitor (or update thread) ran
)

// Instant is one event of a log.
type Instant struct {
	At   unit.Time
	Kind InstantKind
	Node int32 // of Beat: index in Cluster.Nodes
	// Cause, if set, is before At: when the node checked which of its containers had ended, or the AM woke up and started
	// what it had been allocated. On a busy computer the scheduler is notified only later.
	Cause unit.Time
	// Answer, if set, is after At: when an unmanaged AM had the response to its call. It holds what it was allocated from then on.
	Answer unit.Time
	Job    int64 // of Added and Tick: the job's number in order of submission, from 0
}

// Script is the logged instants of a run. A node, an AM, a job's admission and the monitor follow it as long as it has
// entries for them: after its last logged beat a node continues at its interval, and so does an AM after its last call.
type Script struct {
	Instants []Instant // sorted by At; those at the same instant happen in this order
}

// ContainerRecord is the record of one container. An instant is -1 if it never came.
type ContainerRecord struct {
	Job   *workload.Job
	Seq   int64
	Stage int   // policy.AMStage for the AM; -3 for a container that its application never used
	Task  int64 // -1: none
	Node  int32
	Near  policy.Near
	// Allocated by the scheduler, Acquired (received by its AM), Started (its work began), Ended (its work ended, or it
	// was killed), Freed (its room on the node was free again).
	Allocated, Acquired, Started, Ended, Freed unit.Time
	Killed                                     bool // or failed
	Priority                                   int32
	Size                                       unit.Resources // after rounding
}

// NoStage is the stage of a container that its application did not use.
const NoStage = -3

// Run simulates one workload on a YARN cluster. It returns early, with Partial set and no error, when ctx ends.
func Run(ctx context.Context, c Config) (sim.Summary, error) {
	e, err := newEngine(c)
	if err != nil {
		return sim.Summary{}, err
	}
	return e.loop(ctx)
}
