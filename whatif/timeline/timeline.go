// Package timeline sets what one Spark application did, by its event log, beside what a simulation says that it does: executors that come
// and go, tasks by stage, and when the driver worked alone.
package timeline

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/yardmaster/yardmaster/report/gantt"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/spark"
)

// Log is an application as its event log describes it.
type Log struct {
	App *spark.App
	Job *workload.Job // submitted at 0

	tasks  []gantt.Task   // in ms since 1970
	names  []string       // of the stages
	notes  workload.Notes // of the job
	failed int64          // attempts of tasks of stages of which none succeeded
}

// maxTasks is how many attempts of tasks a picture is made of.
const maxTasks = 1 << 22

// Read reads a log. That of an application that still runs counts up to its last event.
func Read(ctx context.Context, from *spark.Log) (*Log, error) {
	l := &Log{}
	var err error
	l.App, err = from.Read(ctx, func(t *spark.Task) {
		if len(l.tasks) <= maxTasks {
			l.tasks = append(l.tasks, gantt.Task{
				Start: unit.Time(t.Launch), End: unit.Time(t.Finish), Stage: int32(t.Stage), Executor: int32(t.Executor), Failed: t.Failed,
			})
		}
	})
	switch {
	case err != nil:
		return nil, err
	case len(l.tasks) > maxTasks:
		return nil, fmt.Errorf("%s: the application has more than %s tasks: too many for a picture", from.Name, unit.Number(maxTasks))
	}
	if l.Job, l.notes, err = l.App.Job(spark.Options{Base: l.App.Submitted(), Running: true}); err != nil {
		return nil, fmt.Errorf("%s: %w", from.Name, err)
	}
	index := map[int]int32{} // of the job's stages, by Spark's number
	for i, s := range l.App.Stages() {
		index[s.ID] = int32(i)
		l.names = append(l.names, strings.TrimSpace(fmt.Sprint(s.ID, " ", s.Operation)))
	}
	kept := l.tasks[:0]
	for _, t := range l.tasks {
		if i, ran := index[int(t.Stage)]; ran {
			t.Stage = i
			kept = append(kept, t)
		} else {
			l.failed++
		}
	}
	l.tasks = kept
	return l, nil
}

// observed is what the log says, counted from an instant in ms since 1970.
func (l *Log) observed(zero int64) gantt.Timeline {
	since := func(ms int64) unit.Time { return unit.Time(ms-zero) * unit.Millisecond }
	t := gantt.Timeline{Ready: since(l.App.Requested()), End: since(l.App.Ended()), Slots: int(min(l.Job.Keep.Slots, math.MaxInt32))}
	for i := range l.App.Executors {
		x := &l.App.Executors[i]
		shown := gantt.Executor{Name: x.ID + " · " + x.Host, Added: since(x.Added), Removed: -1}
		if x.Removed > 0 {
			shown.Removed, shown.Lost = max(since(x.Removed), shown.Added), x.Reason != spark.Released
		}
		t.Executors = append(t.Executors, shown)
	}
	for _, x := range l.tasks {
		x.Start, x.End = since(int64(x.Start)), since(int64(x.End))
		t.Tasks = append(t.Tasks, x)
	}
	for _, s := range l.App.Stages() {
		shown := gantt.Stage{Submitted: -1, Ended: -1}
		if s.Submitted > 0 {
			shown.Submitted = since(s.Submitted)
		}
		if s.Finished > 0 {
			shown.Ended = since(s.Finished)
		}
		t.Stages = append(t.Stages, shown)
	}
	return t
}

// Comparison is an application observed and simulated.
type Comparison struct {
	*Log
	Observed, Simulated gantt.Timeline
	How                 string // it was simulated
	Axis                string // what both count from
	// AM is when its AM got its container in the simulation, from submission; -1: not known, or it was simulated alone.
	AM unit.Time
}
