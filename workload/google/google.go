// Package google reads the job_events and task_events tables of the Google cluster data of 2011 (version 2 of the
// published trace), in parts as they were published, plain or gzipped.
//
// Both tables are lists of events sorted by time. The parts given are merged by time and joined by job number,
// and each job becomes one stage of identical tasks:
//
//   - tasks: the task numbers seen; each asks for the largest request seen in its job. The trace gives requests as
//     shares of its largest machine, so they are multiplied by a machine size that is assumed (Options.Machine);
//   - lengths: from a task's last SCHEDULE to its end. Up to 32 tasks are kept as a list, more as a quantile table;
//   - a job without task events in the parts read becomes one task, from the job's SCHEDULE (or SUBMIT) to its end;
//   - a job that does not end in the parts read is dropped.
//
// Time 0 in the trace means before its start, 2^63-1 after its end. The workload starts at the first other event.
//
// Memory: open jobs and their open tasks (bounded by Options.MaxOpen), and of every ended job at most 64 lengths.
// Services that run through the whole trace are open from the first event, so jobs are sorted by submit time
// only when all parts are read, and the first call of Next reads them.
package google

import (
	"fmt"
	"io"
	"slices"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Options supplies what the trace lacks.
type Options struct {
	Machine      unit.Resources // the largest machine, which requests are shares of; zero: 64 GiB and 32 vcores
	FinishedOnly bool           // drop jobs that were killed, failed or lost instead of replaying the time they took
	MaxOpen      int            // jobs and tasks open at the same time; 0: five million
	MaxJobs      int            // jobs in all; 0: five million
}

func (o Options) withDefaults() (Options, error) {
	if o.Machine.IsZero() {
		o.Machine = unit.Resources{Mem: 64 << 10, Cores: 32}
	}
	if o.Machine.Mem < 1 || o.Machine.Cores < 1 || o.Machine.Mem > cluster.MaxRoom || o.Machine.Cores > cluster.MaxRoom {
		return o, fmt.Errorf("google trace: a largest machine of %v", o.Machine)
	}
	o.MaxOpen = unit.Positive(o.MaxOpen, 5_000_000)
	o.MaxJobs = unit.Positive(o.MaxJobs, 5_000_000)
	return o, nil
}

// Assumptions lists what was assumed, for users.
func (o Options) Assumptions() []string {
	o, _ = o.withDefaults()
	return []string{
		fmt.Sprintf("google: requests are shares of a machine of %v, at least %v; a job's tasks all ask for the largest of its requests", o.Machine, cluster.Unit),
		"google: a task's length is that of its last attempt; a task without an end of its own ends with its job; a job without task events is one task",
	}
}

// Part is one file of the trace: a path, or an open file.
type Part struct {
	Path string
	File *input.File
}

// Reader yields the jobs of a set of parts, in the order of their submit times.
type Reader struct {
	parts *merge
	opt   Options
	join  *join
	jobs  []*workload.Job
	read  bool
	err   error
}

var _ workload.Source = (*Reader)(nil)

// OpenParts reads parts in any order and of either table, some of which may be open already; it closes them in any case.
func OpenParts(parts []Part, opt Options) (*Reader, error) {
	o, err := opt.withDefaults()
	if err != nil {
		closeAll(parts)
		return nil, err
	}
	m, err := newMerge(parts)
	if err != nil {
		return nil, err
	}
	return &Reader{parts: m, opt: o, join: newJoin(o)}, nil
}

// Next returns the next job; io.EOF after the last. The first call reads all parts.
func (r *Reader) Next() (*workload.Job, error) {
	if !r.read {
		r.read = true
		r.jobs, r.err = r.readAll()
		r.parts.close()
	}
	if r.err != nil {
		return nil, r.err
	}
	if len(r.jobs) == 0 {
		return nil, io.EOF
	}
	j := r.jobs[0]
	r.jobs[0] = nil
	r.jobs = r.jobs[1:]
	return j, nil
}

func (r *Reader) readAll() ([]*workload.Job, error) {
	for {
		e, ok, err := r.parts.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			return r.join.finish(), nil
		}
		if err := r.join.take(e); err != nil {
			return nil, fmt.Errorf("%s: %w", r.parts.where(), err)
		}
	}
}

// Close closes the files.
func (r *Reader) Close() error {
	r.parts.close()
	return nil
}

// Assumptions lists what was assumed.
func (r *Reader) Assumptions() []string { return r.opt.Assumptions() }

// Notes lists what was read, kept and dropped; complete once Next was called.
func (r *Reader) Notes() []workload.Note {
	n := &r.join.counts
	all := []workload.Note{
		{Text: "parts of job_events read", Count: r.parts.tables[jobTable]},
		{Text: "parts of task_events read", Count: r.parts.tables[taskTable]},
		{Text: "empty parts skipped", Count: r.parts.empty},
		{Text: "job events read", Count: r.parts.events[jobTable]},
		{Text: "task events read", Count: r.parts.events[taskTable]},
		{Text: "jobs kept", Count: n.kept},
		{Text: "jobs kept that were killed, failed or lost: replayed for the time they took", Count: n.unsuccessful},
		{Text: "jobs kept without task events in these parts: taken as one task each", Count: n.noTasks},
		{Text: "jobs kept that were there before the first event: submitted at 0, with lengths cut at the start", Count: n.early},
		{Text: "jobs dropped because they do not end in these parts", Count: n.unfinished},
		{Text: "jobs dropped because they were killed, failed or lost", Count: n.dropped},
		{Text: "jobs dropped because nothing of them ever ran", Count: n.neverRan},
		{Text: "tasks kept", Count: n.tasks},
		{Text: "tasks kept without an end of their own: taken to end with their job", Count: n.taskCut},
		{Text: "attempts that were evicted, failed or lost before a task's last one: left out", Count: n.retried},
		{Text: "events with missing information, filled in by the trace's makers: kept", Count: n.missing},
		{Text: "requests above the largest machine: taken as all of it", Count: n.tooLarge},
		{Text: "events of jobs that had ended: ignored", Count: n.late},
	}
	return slices.DeleteFunc(all, func(x workload.Note) bool { return x.Count == 0 })
}
