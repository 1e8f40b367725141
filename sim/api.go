package sim

import (
	"context"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Model is what a run assumes about the cluster beyond its size. The zero value is the fast, ideal one: a free container
// is known at once, starts at once and never fails.
type Model struct {
	Heartbeat  unit.Time  // period after which a node reports free containers, each with its own phase; 0: at once
	PerBeat    int        // containers that a node is given in one heartbeat; 0: all it has room for
	EndOnBeat  bool       // a task's end is known only at its node's next heartbeat, and its container is held until then (Hadoop 1, SLS)
	StartUp    unit.Time  // between a container's start and its task's first instruction
	Replicas   int        // copies of each input block where the trace names no hosts; 0: input lies nowhere in particular
	Placement  string     // of those copies: one of hdfs.Names; "": hdfs.Default
	FailTask   float64    // probability that an attempt of a task fails, somewhere in the middle
	Attempts   int        // attempts of a task before the job fails, at most 65535; 0: 4
	Stragglers Stragglers // attempts of tasks that take longer than they should
	Speculate  string     // rule by which a slow task gets a copy, the first of the two to finish counting: "" (none), SpeculateHadoop, SpeculateLATE
	Losses     []Loss     // nodes that go away, with what runs on them; the output of tasks that are done is not lost
	// Application is how jobs ask for containers: am.Hadoop, am.MapsFirst; "": am.Hadoop. It acts on MapReduce jobs without fixed slots.
	Application string
	Lookahead   int       // jobs that are tried for one free container before it is left free; 0: 200
	Sample      unit.Time // period of the timeline; 0: 10 s
}

// Loss takes a node away at an instant, with all that runs on it, and brings it back.
type Loss struct {
	At, For unit.Time // For 0: it stays away
	Node    string
}

// Config is one run.
type Config struct {
	Cluster *cluster.Cluster
	Source  workload.Source
	// NewPolicy makes a fresh policy for the run.
	NewPolicy func() (policy.Policy, error)
	Model     Model
	Seed      uint64
	Sink      Sink   // nil: nobody listens
	Alone     *Alone // times on an empty cluster, shared between runs of the same seed; nil: made for this run
	NoAlone   bool   // leave JobRecord.Alone 0: nobody asks for slowdowns, or a worker plays tasks whose stages give no length

	Worker Worker // nil: a task works for the length that its stage gives it
	// Follow, if set, names jobs that are submitted when one has finished; their Submit counts from then.
	Follow func(r *JobRecord) []*workload.Job

	Steerer steer.Steerer // nil: nobody steers
	Delays  steer.Delays
	Bounds  steer.Bounds // for whatever it writes; Max 0: none

	// Progress, if set, is told now and then how far the run is. It must not block.
	Progress func(Progress)
}

// Progress is how far a run is.
type Progress struct {
	Now            unit.Time
	Submitted      int64
	Finished       int64 // jobs
	Tasks          int64 // finished
	LastSubmission unit.Time
}

// Sink takes results as they happen. What it is handed is valid only during the call.
type Sink interface {
	Job(r *JobRecord)
	Sample(s *Sample)
}

// Outcome says how a job ended.
type Outcome uint8

// Outcomes.
const (
	Finished   Outcome = iota
	Refused            // not admitted: see Reason
	Failed             // a task failed too often
	Unfinished         // the run was cut off
)

func (o Outcome) String() string {
	return [...]string{"finished", "refused", "failed", "unfinished"}[o]
}

// JobRecord is what became of one job.
type JobRecord struct {
	Job     *workload.Job
	Seq     int64
	Outcome Outcome
	Reason  string
	// Start is when the job got its first container; Finish when its last task ended. -1: it did not happen.
	Start, Finish unit.Time
	Alone         unit.Time // elapsed time on an empty cluster
	Service       unit.Time // container-time used, lost attempts included
	Containers    int64     // started
	Lost          int64     // attempts that failed or were killed
	Near          [4]int64  // task starts by policy.Near
}

// Sample is the state of the cluster between two instants.
type Sample struct {
	From, To unit.Time
	Queues   []QueueSample // in order of first appearance; a queue keeps its place
}

// QueueSample is one queue's part of a Sample. Containers and Mem are averages over the interval, jobs are counted at its end.
type QueueSample struct {
	Name       string
	Containers float64
	Mem        float64 // MiB
	Running    int64   // jobs that have started and are still there
	Waiting    int64   // jobs that have not started
	Pending    int64   // tasks that could start
}

// Summary is what a run returns besides what its sink saw.
type Summary struct {
	Submitted, Finished, Refused, Failed int64 // jobs
	Tasks                                int64 // finished
	Lost                                 int64 // attempts that failed or were killed
	FirstSubmit, LastFinish              unit.Time
	Busy                                 unit.Time // container-time held
	BusyMem                              float64   // MiB x seconds
	Events                               int64     // taken from the event queue
	Decisions                            int64     // containers started
	Traffic                              *Traffic  // of a worker that passes data over a network; nil: none
	NotModelled                          []string
	Receipts                             []steer.Receipt
	Stuck                                int64 // jobs left when nothing could happen any more: their records say why
	Partial                              bool  // cut off before the end
}

// Progress is how far a run is that has come to an instant. next is the next arrival, if there is one.
func (s *Summary) Progress(now unit.Time, next *workload.Job) Progress {
	p := Progress{Now: now, Submitted: s.Submitted, Finished: s.Finished, Tasks: s.Tasks}
	if next != nil {
		p.LastSubmission = next.Submit
	}
	return p
}

// Run simulates one workload under one policy. It returns early, with Partial set and no error, when ctx ends.
func Run(ctx context.Context, c Config) (Summary, error) {
	e, err := newEngine(c)
	if err != nil {
		return Summary{}, err
	}
	return e.loop(ctx)
}
