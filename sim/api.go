package sim

import (
	"context"
	"iter"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Model is a run's assumptions about the cluster beyond its size. The zero value is ideal and fast: a free container is
// known at once, starts at once and never fails.
type Model struct {
	Heartbeat  unit.Time  // interval at which a node reports free containers, each with its own phase; 0: at once
	PerBeat    int        // max containers assigned to a node per heartbeat; 0: as many as fit
	EndOnBeat  bool       // a task's end is known only at its node's next heartbeat, and its container is held until then (Hadoop 1, SLS)
	StartUp    unit.Time  // between a container's start and its task's first instruction
	Replicas   int        // of each input block if the trace names no hosts; 0: input has no location
	Placement  string     // of those replicas: one of hdfs.Names; "": hdfs.Default
	FailTask   float64    // probability that a task attempt fails, at a random point of its work
	Attempts   int        // failed attempts of a task before its job fails, at most 65535; 0: 4
	Stragglers Stragglers // task attempts that are slower than normal
	Speculate  string     // rule for speculative copies of slow tasks; the first attempt to finish counts: "" (none), SpeculateHadoop, SpeculateLATE
	Losses     []Loss     // node losses; running containers are lost, the output of finished tasks is not
	// Application is how jobs request containers: am.Hadoop, am.MapsFirst, am.Overlap; "": am.Hadoop. It affects MapReduce jobs without fixed slots.
	Application string
	Lookahead   int       // max jobs tried for one free container before it stays free; 0: 200
	Sample      unit.Time // period of the timeline; 0: 10 s
}

// Loss is a node failure: the node goes at an instant, with all that runs on it, and returns later.
type Loss struct {
	At, For unit.Time // For 0: for good
	Node    string
}

// Config is one run.
type Config struct {
	Cluster *cluster.Cluster
	Source  workload.Source
	// NewPolicy returns a new policy for the run.
	NewPolicy func() (policy.Policy, error)
	Model     Model
	Seed      uint64
	Sink      Sink   // nil: results are discarded
	Alone     *Alone // times on an empty cluster, shared between runs of the same seed; nil: made for this run
	NoAlone   bool   // leave JobRecord.Alone 0: no slowdowns are needed, or a worker plays tasks whose stages have no length

	Worker Worker // nil: a task works for the length in its stage
	// Follow, if set, returns jobs to submit when one has finished; their Submit is relative to that.
	Follow func(r *JobRecord) []*workload.Job

	Steerer steer.Steerer // nil: no steering
	Delays  steer.Delays
	Bounds  steer.Bounds // on what it writes; Max 0: none
	Sizes   bool         // jobs have tags with their true sizes

	// Progress, if set, is called occasionally with the run's progress. It must not block.
	Progress func(Progress)
	Why      *Why // a question to answer; nil: none
}

// Progress is the progress of a run.
type Progress struct {
	Now            unit.Time
	Submitted      int64
	Finished       int64 // jobs
	Tasks          int64 // finished
	Events         int64
	LastSubmission unit.Time
}

// Sink receives results as they happen. Its arguments are valid only during the call.
type Sink interface {
	Job(r *JobRecord)
	Sample(s *Sample)
}

// JobSampler is implemented by sinks that also want, with every sample, what each job has received.
type JobSampler interface {
	// SampleJobs is called before Sample. jobs yields the present jobs, in order of arrival, and the container-time each has received by then.
	SampleJobs(to unit.Time, jobs iter.Seq2[*JobRecord, unit.Time])
}

// Outcome is how a job ended.
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

// JobRecord is the result of one job.
type JobRecord struct {
	Job     *workload.Job
	Seq     int64
	Outcome Outcome
	Reason  string
	// Start is when the job got its first container; Finish when its last task ended. -1: never.
	Start, Finish unit.Time
	Gang          unit.Time // when its first gang started; -1: none did
	Alone         unit.Time // elapsed time on an empty cluster
	Service       unit.Time // container-time used, lost attempts included
	Kept          unit.Time // of that, in containers that the job keeps for its tasks
	Size          unit.Time // total time that its tasks worked; of a finished job
	Containers    int64     // started
	Lost          int64     // attempts that failed or were killed
	Near          [4]int64  // task starts by policy.Near
}

// BeginGang is for engines: it notes the start of the job's first gang.
func (r *JobRecord) BeginGang(now unit.Time) {
	if r.Gang < 0 {
		r.Gang = now
	}
}

// Sample is the state of the cluster over an interval.
type Sample struct {
	From, To unit.Time
	Queues   []QueueSample // in order of first appearance; a queue keeps its index
}

// QueueSample is one queue's part of a Sample. Containers and Mem are averages over the interval; jobs are counted at its end.
type QueueSample struct {
	Name       string
	Containers float64
	Mem        float64 // MiB
	Running    int64   // jobs started and not finished
	Waiting    int64   // jobs not started
	Pending    int64   // tasks that could start
}

// Summary is what a run returns besides the results passed to its sink.
type Summary struct {
	Submitted, Finished, Refused, Failed int64 // jobs
	Tasks                                int64 // finished
	Lost                                 int64 // attempts that failed or were killed
	FirstSubmit, LastFinish              unit.Time
	Busy                                 unit.Time          // container-time held
	BusyMem                              float64            // MiB x seconds
	BusyNamed                            map[string]float64 // named resources x seconds
	HeldMem                              float64            // MiB x seconds held for gangs that did not fit yet
	Present                              unit.Time          // while there was an admitted job that had not ended
	Events                               int64              // taken from the event queue
	Decisions                            int64              // containers started
	Traffic                              *Traffic           // of a worker that sends data over a network; nil: none
	NotModelled                          []string
	Receipts                             []steer.Receipt
	Stuck                                int64 // jobs left when no event could change anything any more: their records say why
	Partial                              bool  // cut off before the end
}

// Report is for engines: it passes the progress of a run at now to a function; nil: none. next is the next arrival, or nil.
func (s *Summary) Report(to func(Progress), now unit.Time, next *workload.Job) {
	if to == nil {
		return
	}
	p := Progress{Now: now, Submitted: s.Submitted, Finished: s.Finished, Tasks: s.Tasks, Events: s.Events}
	if next != nil {
		p.LastSubmission = next.Submit
	}
	to(p)
}

// Run simulates one workload under one policy. It returns early, with Partial set and no error, when ctx ends.
func Run(ctx context.Context, c Config) (Summary, error) {
	e, err := newEngine(c)
	if err != nil {
		return Summary{}, err
	}
	return e.loop(ctx)
}
