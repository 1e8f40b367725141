// Package workload describes work: jobs that are small graphs of stages, each with a number of identical tasks.
//
// A pending task is an integer. A job with 87,000 maps is one Stage value, so a day of a large cluster is a few
// megabytes, and a billion tasks cost no more memory than the jobs they belong to. How long task i of a stage takes is
// a pure function of the stage, the task's number and a seed (see Lengths), so that every scheduler that is compared on
// a workload gets exactly the same tasks, in whichever order it starts them.
//
// A Job is immutable once a Source has returned it: runs share it.
package workload

import (
	"errors"
	"fmt"
	"io"

	"github.com/yardmaster/yardmaster/unit"
)

// Kind says what a stage's tasks are, for clusters with fixed slots and for reports.
type Kind uint8

// Kinds of stages.
const (
	Map Kind = iota
	Reduce
	Other
)

func (k Kind) String() string {
	switch k {
	case Map:
		return "map"
	case Reduce:
		return "reduce"
	}
	return "other"
}

// Job is one submission.
type Job struct {
	ID       string
	Name     string
	User     string
	Queue    string // as submitted: a leaf's short name or a full path; "" is "default"
	Class    string // a label for reports ("small", "etl"); may be empty
	Submit   unit.Time
	Priority int            // larger is more urgent
	Deadline unit.Time      // instant by which it should finish; 0: none
	AM       unit.Resources // the AM's container; zero: the job has none
	// AMStart is how long the AM took from its container to its first request, where the trace says; 0: not known.
	AMStart  unit.Time
	Stages   []Stage
	Keep     *Keep     // set: tasks run inside containers that the job keeps (Spark executors)
	Observed *Observed // what really happened, where the trace says; never shown to a policy
}

// Stage is a set of identical tasks. If it is a gang, Gang of them start together or not at all, or all that wait if they are fewer; a task that fails
// waits again as if it had never run, and the others go on.
type Stage struct {
	Name   string
	Kind   Kind
	Tasks  int64
	Gang   int64          // gang size: this many tasks start together or not at all; 0 or 1: no gang
	Ask    unit.Resources // one task's container; ignored when the job keeps its containers
	Length Lengths
	After  []Edge     // upstream stages, by index; always smaller than its own
	Input  unit.Bytes // read from storage by all tasks together
	Output unit.Bytes // written to storage by all tasks together
	// CyclesPerByte is the CPU work per byte of Input or, where the stage has none, of its shuffle input. It
	// is used only by models that need it; 0: the model's default.
	CyclesPerByte float64
	Hosts         *Hosts // location of each task's input, if the trace gives it

	// These are for jobs that keep their containers.
	Delay  unit.Time // from the end of the stages it needs, or from the driver's being ready, until the driver submits it
	Pool   string    // whose share of the slots it uses, if Keep.Fair
	Cached int       // 1 + the index of the earlier stage in whose containers the input of the same task is cached; 0: none
}

// Edge says that a stage needs the output of an earlier one.
type Edge struct {
	From      int        // index of the earlier stage
	Shuffle   unit.Bytes // what passes over this edge
	SlowStart float64    // share of From's tasks that must be done before this stage may take containers; 1: all
}

// Hosts names, for every task of a stage, the nodes that hold its input. Names are interned per stage.
type Hosts struct {
	Names []string  // "rack/node" or "node"
	Of    [][]int32 // by task: indices into Names; may be shorter than Tasks or have empty rows (no preference)
}

// Keep describes the containers that a job keeps for many tasks (Spark's executors), and how it requests and fills them.
type Keep struct {
	Ask   unit.Resources
	Slots int64 // tasks that run in one container at a time
	Max   int64 // containers the job asks for; if Dynamic: at most
	// Dynamic is how their number follows the load; nil: the job requests Max at once and holds them until its end.
	Dynamic *Dynamic
	// Containers are requested in batches of at most Batch, one Every so often, while fewer than Pending are requested and not up, as Spark does on
	// Kubernetes. Batch 0: all at once; Pending 0: no limit.
	Batch, Pending int64
	Every          unit.Time

	Start unit.Time // from the start of a container until its slots take tasks; 0: unknown, as long as any container takes
	Warm  unit.Time // by how much the first task in each slot takes longer
	Tail  unit.Time // from the end of the last task to the end of the job, which holds its containers meanwhile
	// The driver is ready when this share of the first containers it requested is up, but waits no longer than ReadyWait. One of them 0: at once.
	Ready        float64
	ReadyWait    unit.Time
	LocalityWait unit.Time // how long tasks wait for a container that caches their input: see Stage.Cached
	Fair         bool      // pools share the slots; otherwise earlier stages go first
	External     bool      // what a stage passes on outlives the containers that made it (an external shuffle service)
}

// Dynamic is Spark's dynamic allocation.
type Dynamic struct {
	Min, Initial int64     // containers
	Ratio        float64   // of the containers that pending and running tasks could fill; 0: 1
	Backlog      unit.Time // tasks must wait this long before more containers are requested
	Sustained    unit.Time // and this long again before yet more are: 1, 2, 4, ...
	Idle         unit.Time // a container without a task for this long is released
	CachedIdle   unit.Time // likewise one with cached data; 0: never
	// ShuffleIdle is likewise for one that holds what a stage passed on, where that does not outlive it (Keep.External), and that no running stage
	// needs; 0: never. Of these times the longest that applies counts.
	ShuffleIdle unit.Time
}

// Observed is ground truth from a trace.
type Observed struct {
	Launch, Finish unit.Time // instants on the trace's own clock, relative to the workload's start
	Outcome        string    // "" or SUCCESS: finished
}

// Tasks counts the tasks of all stages.
func (j *Job) Tasks() int64 {
	var n int64
	for i := range j.Stages {
		n += j.Stages[i].Tasks
	}
	return n
}

// Work is about how long the job's tasks take in all, in container-seconds: from a few tasks of each stage.
func (j *Job) Work() (sum float64) {
	for i := range j.Stages {
		s := &j.Stages[i]
		const sampled = 16
		n := min(s.Tasks, sampled)
		for k := range n {
			sum += s.Length.Draw(k*s.Tasks/n, 1).Seconds() * float64(s.Tasks) / float64(n)
		}
	}
	return sum
}

// Validate reports why the job cannot run.
func (j *Job) Validate() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("job %s: %s", j.ID, fmt.Sprintf(format, args...))
	}
	if len(j.Stages) == 0 {
		return fail("has no stages")
	}
	if len(j.Stages) > MaxStages {
		return fail("has %d stages; at most %d are taken", len(j.Stages), MaxStages)
	}
	if j.Submit < 0 {
		return fail("is submitted %v before the workload starts", -j.Submit)
	}
	if j.Submit > MaxSubmit {
		return fail("is submitted %v after the start: at most %v are taken", j.Submit, MaxSubmit)
	}
	if j.AM.Mem < 0 || j.AM.Cores < 0 || j.AM.Extra.Check() != nil {
		return fail("its AM asks for %v", j.AM)
	}
	if j.AMStart < 0 || j.AMStart > MaxLength {
		return fail("its AM takes %v to start", j.AMStart)
	}
	if j.Keep != nil {
		if err := j.Keep.validate(); err != nil {
			return fail("%v", err)
		}
	}
	var cached int64
	for i := range j.Stages {
		s := &j.Stages[i]
		if s.Tasks < 0 || s.Tasks > MaxTasks || s.Gang < 0 {
			return fail("stage %d has %d tasks, %d at once", i, s.Tasks, s.Gang)
		}
		if j.Keep == nil && (s.Ask.Mem < 0 || s.Ask.Cores < 0 || s.Ask.Extra.Check() != nil || s.Ask.IsZero()) {
			return fail("stage %d asks for containers of %v", i, s.Ask)
		}
		if err := s.Length.Validate(s.Tasks); err != nil {
			return fail("stage %d: %v", i, err)
		}
		if !(s.CyclesPerByte >= 0 && s.CyclesPerByte <= MaxCyclesPerByte) {
			return fail("stage %d takes %v cycles a byte", i, s.CyclesPerByte)
		}
		if err := j.validateKept(i); err != nil {
			return fail("stage %d %v", i, err)
		}
		if s.Cached > 0 {
			cached += s.Tasks
		}
		for _, e := range s.After {
			if e.From < 0 || e.From >= i {
				return fail("stage %d needs stage %d, which is not before it", i, e.From)
			}
			if !(e.SlowStart >= 0 && e.SlowStart <= 1) {
				return fail("stage %d: slow-start %v is not between 0 and 1", i, e.SlowStart)
			}
		}
	}
	if cached > maxCachedInAll {
		return fail("reads what %d tasks cached: at most %d are taken", cached, maxCachedInAll)
	}
	return nil
}

// Limits on a single job.
const (
	MaxStages = 1024
	MaxTasks  = 1 << 40

	MaxCyclesPerByte = 1e12
	MaxSubmit        = 1000 * 365 * unit.Day
)

// Source yields jobs in the order of their submit times. Next returns io.EOF after the last one. Jobs that it has
// returned stay valid and unchanged.
type Source interface {
	Next() (*Job, error)
}

// Next returns the next job of a source that must be sorted by submit time and has reached now; nil after the last one.
func Next(src Source, now unit.Time) (*Job, error) {
	j, err := src.Next()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if j.Submit < now {
		return nil, fmt.Errorf("job %s is submitted at %v, before a job that came earlier (%v): the workload must be sorted by submit time",
			j.ID, j.Submit, now)
	}
	if err := j.Validate(); err != nil {
		return nil, err
	}
	return j, nil
}

// Slice is a workload in memory, sorted by submit time.
type Slice []*Job

// Source returns a Source over s.
func (s Slice) Source() Source { return &sliceSource{jobs: s} }

type sliceSource struct{ jobs []*Job }

func (s *sliceSource) Next() (*Job, error) {
	if len(s.jobs) == 0 {
		return nil, io.EOF
	}
	j := s.jobs[0]
	s.jobs = s.jobs[1:]
	return j, nil
}

// ReadAll collects a whole Source.
func ReadAll(src Source) (Slice, error) {
	var all Slice
	for {
		j, err := src.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, j)
	}
}

// Note is something a reader did to a workload that users should know: an assumption, or records dropped.
type Note struct {
	Text  string `json:"text"`
	Count int64  `json:"count,omitempty"` // affected records; 0: the whole workload
}

// Notes collects notes.
type Notes []Note

// Add adds a note about some records; no-op if count is 0.
func (n *Notes) Add(count int64, format string, args ...any) {
	if count > 0 {
		*n = append(*n, Note{fmt.Sprintf(format, args...), count})
	}
}

// Say adds a note about the whole workload.
func (n *Notes) Say(format string, args ...any) {
	*n = append(*n, Note{Text: fmt.Sprintf(format, args...)})
}

// Held is a job buffered for sorting by submit time; N breaks ties.
type Held struct {
	Job *Job
	N   int64
}

// Before orders held jobs by submit time.
func (h Held) Before(other Held) bool {
	return h.Job.Submit < other.Job.Submit || h.Job.Submit == other.Job.Submit && h.N < other.N
}
