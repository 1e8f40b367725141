// Package spark reads Spark's event logs: one log is one application, which becomes one workload.Job.
//
// A log is lines of JSON, one for each event of the driver. Nearly all of a large log are ends of tasks with their metrics, of
// which a job needs eight bytes: the partition and how long it took. So lines are walked by hand (see scan), and what nobody asks
// for is passed over undecoded. Of the application's properties only those that Known lists are kept; others may be secrets.
//
// All times of a log are of the driver's clock, in milliseconds since 1970.
package spark

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/workload"
)

// App is what a log says about an application.
type App struct {
	ID      string // application_... on YARN
	Name    string
	User    string
	Version string // of Spark
	Start   int64  // ms since 1970: the driver's SparkContext began
	End     int64  // 0: the log does not hold the end
	First   int64  // the earliest instant that the log names; 0: none
	Last    int64  // the latest
	Busy    int64  // ms for which the attempts of tasks ran that succeeded or failed
	Failed  bool   // Spark says that it ended with another exit code than 0 (Spark 4)

	Executors []Executor // in the order in which they registered

	settings settings
	ready    int64 // the driver's block manager is up
	others   map[int64]bool
	named    bool // executors ask for GPUs or the like
	jobs     map[int]*job
	stages   map[int]*stage
	sql      map[int64]*span // SQL executions
	cached   map[int]*stage  // persisted RDDs: the stage that computed each
	byRDD    map[int]*stage  // stages that wrote a shuffle, by their last RDD
	execs    map[string]int  // indices into Executors
	tasks    int64
	listed   int // see maxListed
	tally    tally
}

// Executor is one of the application's executors.
type Executor struct {
	ID, Host string
	Cores    int64
	Asked    int64 // when the driver asked for it, where Spark says; 0: not known
	Added    int64
	Removed  int64 // 0: at the application's end
	Reason   Reason
	first    []firstTask // of each slot
}

// Task is one attempt of a task that ended, for a timeline.
type Task struct {
	Stage          int
	Executor       int // index into App.Executors; -1: not known
	Launch, Finish int64
	Failed         bool // or killed
}

// Stage is a stage that ran, all of its attempts together.
type Stage struct {
	ID        int
	Operation string // the method that submitted it; "": not known
	Submitted int64  // first
	Finished  int64  // its last success
}

// tally counts what a log holds beside what the job needs.
type tally struct {
	damaged, long, failed, killed, speculative, compacted, unsized, beyond int64
	truncated                                                              error
}

type span struct{ start, end int64 }

type job struct {
	id          int
	submit, end int64 // end 0: not known
	sql         int64 // the SQL execution at the root of it; -1: none
	pool        string
}

// stage merges all attempts of a stage.
type stage struct {
	id, job   int
	op        string
	tasks     int // planned, of the largest attempt
	parents   []int
	rdd       int // its last one
	submitted int64
	finished  int64 // last success
	cachedBy  *stage

	lengths []taskLength
	wasted  []taskLength // attempts that failed
	extra   int64        // tasks beyond what lengths may list

	read, write, input, output int64
}

// taskLength is one partition and how long its successful attempt took, or one that failed.
type taskLength struct {
	partition int32
	ms        uint32
}

// firstTask is one of the first tasks of an executor, as many as it has slots.
type firstTask struct {
	id        int64
	stage     *stage
	partition int32
	ms        uint32
}

// Limits on one application. Together they bound what is kept of a log, however small it was packed, to a few hundred megabytes.
const (
	maxEntries = 1 << 17 // stages, Spark jobs, SQL executions, executors: of each
	maxListed  = 1 << 20 // parents of all stages and first tasks of all executors
	maxTasks   = 1 << 24 // whose lengths are kept
	maxText    = 256     // bytes of a name or setting
	maxSlots   = 1 << 10 // of an executor, whose first tasks are told apart
)

func newApp() *App {
	return &App{
		settings: settings{}, jobs: map[int]*job{}, stages: map[int]*stage{}, sql: map[int64]*span{}, cached: map[int]*stage{}, byRDD: map[int]*stage{},
		execs: map[string]int{}, others: map[int64]bool{},
	}
}

// stage is a stage by its number; nil: there are too many.
func (a *App) stage(id int) *stage {
	s := a.stages[id]
	if s == nil && a.fits(len(a.stages)+1, maxEntries) {
		s = &stage{id: id, job: -1, rdd: -1}
		a.stages[id] = s
	}
	return s
}

// fits says whether so much may be kept, and counts what may not.
func (a *App) fits(n, most int) bool {
	if n > most {
		a.tally.beyond++
	}
	return n <= most
}

// ran lists the stages that ran a task, in the order in which Spark serves them: by Spark job, then by stage.
func (a *App) ran() []*stage {
	var list []*stage
	for _, s := range a.stages {
		if len(s.lengths) > 0 {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(x, y *stage) int { return cmp.Or(cmp.Compare(uint(x.job), uint(y.job)), cmp.Compare(x.id, y.id)) })
	return list
}

// Stages lists the stages that ran, as the stages of the application's job.
func (a *App) Stages() (list []Stage) {
	for _, s := range a.ran() {
		list = append(list, Stage{s.id, s.op, s.submitted, s.finished})
	}
	return list
}

// Ended is when the application ended, or as far as the log goes.
func (a *App) Ended() int64 { return max(cmp.Or(a.End, a.Last), a.Start) }

// notes says what was left out of the log, or assumed because it does not say.
func (a *App) notes() (n workload.Notes) {
	t := &a.tally
	if t.truncated != nil {
		n.Add(1, "logs whose data ends early or is damaged, read up to there")
	}
	n.Add(t.damaged, "lines that are not events, left out")
	n.Add(t.long, "lines longer than 64 MiB, left out")
	n.Add(t.failed, "failed attempts of tasks, whose time counts as their tasks'")
	n.Add(t.killed, "killed attempts of tasks, left out")
	n.Add(t.speculative, "speculative copies that lost, left out")
	n.Add(t.unsized, "tasks without a number, left out")
	n.Add(t.beyond, "records of more stages, Spark jobs or executors than are kept of one log, left out")
	if _, early := a.submission(); early {
		n.Add(1, "applications that say that they were submitted more than an hour before their driver began, which is not believed")
	}
	n.Add(t.compacted, "logs compacted by the history server: the Spark jobs that it dropped are missing")
	n.Add(int64(len(a.others)), "resource profiles beside the default one: their stages run in the default executors")
	if a.named {
		n.Add(1, "applications whose executors ask for GPUs or other resources, which are left out")
	}
	return n
}
