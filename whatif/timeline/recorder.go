package timeline

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/report/gantt"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// recorder is a sim.Sink that keeps the records of one application's executors and tasks.
type recorder struct {
	id      string
	job     *workload.Job // nil: it never came
	seq     int64
	outcome sim.Outcome
	reason  string
	finish  unit.Time
	am, up  unit.Time // when its first AM got its container, and had started; -1: it has none

	executors map[int32]*gantt.Executor // by their numbers in the simulation
	tasks     []gantt.Task              // in those
	stages    []gantt.Stage
}

var (
	_ sim.Sink     = (*recorder)(nil)
	_ sim.TaskSink = (*recorder)(nil)
)

// newRecorder returns the recorder of the application with this id.
func newRecorder(id string) *recorder {
	return &recorder{id: id, am: -1, up: -1, executors: map[int32]*gantt.Executor{}}
}

// mine reports whether a record is of the application: the first of its name.
func (r *recorder) mine(j *workload.Job, seq int64) bool {
	if j.ID != r.id || r.job != nil && seq != r.seq {
		return false
	}
	r.job, r.seq = j, seq
	if r.stages == nil {
		r.stages = slices.Repeat([]gantt.Stage{{Submitted: -1, Ended: -1}}, len(j.Stages))
	}
	return true
}

// Job implements sim.Sink.
func (r *recorder) Job(j *sim.JobRecord) {
	if r.mine(j.Job, j.Seq) {
		r.outcome, r.reason, r.finish = j.Outcome, j.Reason, j.Finish
	}
}

// Sample implements sim.Sink.
func (*recorder) Sample(*sim.Sample) {}

// Task implements sim.TaskSink.
func (r *recorder) Task(t *sim.TaskRecord) {
	if !r.mine(t.Job, t.Seq) {
		return
	}
	switch {
	case t.Stage == policy.AMStage && r.am < 0:
		r.am, r.up = t.Start, t.Up
	case t.Stage == policy.KeptStage && t.Up >= 0:
		r.executors[int32(t.Kept)] = &gantt.Executor{Name: t.Node, Added: t.Up, Removed: t.End, Lost: t.Why != policy.Done}
	case t.Stage >= 0 && t.Kept >= 0:
		failed := t.Why != policy.Done
		r.tasks = append(r.tasks, gantt.Task{Start: t.Start, End: t.End, Stage: int32(t.Stage), Executor: int32(t.Kept), Failed: failed})
		s := &r.stages[t.Stage]
		if s.Submitted < 0 || t.Submitted < s.Submitted {
			s.Submitted = t.Submitted
		}
		if !failed {
			s.Ended = max(s.Ended, t.End)
		}
	}
}

// check says why the records cannot be compared with a log.
func (r *recorder) check(l *Log) error {
	switch {
	case r.job == nil:
		return errors.New("the application is not in the history")
	case r.job.Keep == nil:
		return errors.New("the history knows the application only in total, not its stages: import it with --spark-logs")
	case len(r.job.Stages) != len(l.names):
		return fmt.Errorf("the application has %d stages in the history and %d in the log: this is not the log that was imported", len(r.job.Stages), len(l.names))
	case r.outcome != sim.Finished:
		return fmt.Errorf("it did not finish in the simulation (%s): %s", r.outcome, cmp.Or(r.reason, "no reason is known"))
	}
	return nil
}

// timeline is what was recorded, counted from an instant.
func (r *recorder) timeline(zero unit.Time) gantt.Timeline {
	t := gantt.Timeline{Ready: max(r.up, r.job.Submit) - zero, End: r.finish - zero, Stages: slices.Clone(r.stages), Slots: int(min(r.job.Keep.Slots, math.MaxInt32))}
	order := slices.SortedFunc(maps.Keys(r.executors), func(a, b int32) int {
		return cmp.Or(cmp.Compare(r.executors[a].Added, r.executors[b].Added), cmp.Compare(a, b))
	})
	index := map[int32]int32{}
	for i, k := range order {
		index[k] = int32(i)
		x := *r.executors[k]
		x.Name = fmt.Sprint(i+1, " · ", x.Name)
		x.Added -= zero
		if x.Removed -= zero; x.Removed >= t.End {
			x.Removed, x.Lost = -1, false
		}
		t.Executors = append(t.Executors, x)
	}
	for _, x := range r.tasks {
		i, known := index[x.Executor]
		if x.Executor = i; !known {
			x.Executor = -1
		}
		x.Start, x.End = x.Start-zero, x.End-zero
		t.Tasks = append(t.Tasks, x)
	}
	for i := range t.Stages {
		if s := &t.Stages[i]; s.Submitted >= 0 {
			s.Submitted -= zero
			s.Ended = max(s.Ended-zero, -1)
		}
	}
	return t
}
