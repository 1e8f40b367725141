package marp

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/mapreduce"
	"github.com/yardmaster/yardmaster/steer"
	control "github.com/yardmaster/yardmaster/steer/marp"
	"github.com/yardmaster/yardmaster/unit"
)

// Outcome is a batch's run as observed from outside. Instants are seconds from the start of the clients.
type Outcome struct {
	Makespan  float64 // until the last client returns
	Jobs      []Span  // by start
	Seconds   []Second
	Changes   []Change // of the share, in the order in which they took effect
	Lost      int      // changes that never took effect: the file was rewritten before the scheduler read it
	Decisions []control.Decision
	PeakDisk  float64 // bytes
}

// Span is the lifetime of a job, as a bar of a Gantt chart.
type Span struct {
	ID        string
	Submitted float64
	Start     float64 // AM container allocated
	FirstMap  float64 // allocated
	LastMap   float64 // finished
	Half      float64 // first sample with a progress of 50 % or more
	End       float64
}

// Second is one sample.
type Second struct {
	At       float64
	CPU      CPU
	Running  int
	Waiting  int
	Progress []float64 // of each job by its number in the batch; 100 when it is over
	Started  []bool
	Disk     float64 // bytes on it
	Share    float64 // in effect
}

// CPU is CPU time by state since the previous sample, as shares.
type CPU struct{ Idle, Wait, Busy float64 }

// Change is a change of the share.
type Change struct {
	Asked, InForce float64
	Old, New       float64
}

// recorder samples every second, records what it sees, and steps the controller when it is due: the controller's CPU reading then
// covers the last second, as it would from a tool on the host.
type recorder struct {
	batch   *Batch
	worker  *mapreduce.Worker
	inner   steer.Steerer
	due     unit.Time
	done    bool
	number  map[string]int
	spans   []Span
	before  mapreduce.Reading // at the last sample
	out     Outcome
	trouble []string
}

func newRecorder(b *Batch, w *mapreduce.Worker, inner steer.Steerer) *recorder {
	r := &recorder{batch: b, worker: w, inner: inner, done: inner == nil, number: map[string]int{}}
	nan := math.NaN()
	for i, j := range b.Jobs {
		r.number[j.ID] = i
		r.spans = append(r.spans, Span{ID: j.ID, Submitted: j.Submit.Seconds(), Start: nan, FirstMap: nan, LastMap: nan, Half: nan, End: nan})
	}
	return r
}

// Step implements steer.Steerer.
func (r *recorder) Step(seen *steer.Snapshot) (do []steer.Action, again unit.Time) {
	r.note(seen)
	again = unit.Second - seen.Now%unit.Second
	if r.done {
		return nil, again
	}
	if seen.Now >= r.due {
		var wait unit.Time
		do, wait = r.inner.Step(seen)
		if c, ok := r.inner.(control.Controller); ok {
			if d := c.Last(); d.Kind != control.Wait || d.Sampled {
				r.out.Decisions = append(r.out.Decisions, d)
			}
		}
		r.due, r.done = seen.Now+wait, wait == 0
	}
	if !r.done {
		again = min(again, r.due-seen.Now)
	}
	return do, again
}

// note records a sample, once a second.
func (r *recorder) note(seen *steer.Snapshot) {
	n := len(r.spans)
	now := r.worker.Read(seen.Now)
	s := Second{At: seen.Now.Seconds(), Progress: make([]float64, n), Started: make([]bool, n), Disk: now.Disk, CPU: CPU{Idle: 1}}
	if t, b := now.CPU, r.before.CPU; t.Idle+t.Wait+t.Busy > b.Idle+b.Wait+b.Busy {
		all := t.Idle + t.Wait + t.Busy - b.Idle - b.Wait - b.Busy
		s.CPU = CPU{Idle: (t.Idle - b.Idle) / all, Wait: (t.Wait - b.Wait) / all, Busy: (t.Busy - b.Busy) / all}
	}
	r.before = now
	for i := range s.Progress {
		s.Progress[i], s.Started[i] = 100, true
		if r.spans[i].Submitted > s.At {
			s.Progress[i], s.Started[i] = 0, false
		}
	}
	for i := range seen.Queues {
		if q := &seen.Queues[i]; q.Name == Queue || q.Name == "default" {
			s.Running, s.Waiting, s.Share = q.Running, q.Waiting, q.AMShare
		}
	}
	for i := range seen.Jobs {
		j := &seen.Jobs[i]
		k := r.number[j.ID]
		s.Progress[k], s.Started[k] = j.Progress, j.Started
	}
	for k, p := range s.Progress {
		if math.IsNaN(r.spans[k].Half) && p >= 50 {
			r.spans[k].Half = s.At
		}
	}
	r.out.PeakDisk = now.Peak
	r.out.Seconds = append(r.out.Seconds, s)
}

// Job implements sim.Sink.
func (r *recorder) Job(j *sim.JobRecord) {
	if j.Outcome != sim.Finished {
		r.trouble = append(r.trouble, fmt.Sprintf("%s %s: %s", j.Job.ID, j.Outcome, j.Reason))
		return
	}
	s := &r.spans[r.number[j.Job.ID]]
	s.Start, s.End = j.Start.Seconds(), j.Finish.Seconds()
}

// Sample implements sim.Sink.
func (r *recorder) Sample(*sim.Sample) {}

// Task implements sim.TaskSink.
func (r *recorder) Task(t *sim.TaskRecord) {
	s := &r.spans[r.number[t.Job.ID]]
	if t.Stage == policy.AMStage || t.Stage != 0 {
		return
	}
	if start := t.Start.Seconds(); !(s.FirstMap <= start) {
		s.FirstMap = start
	}
	if end := t.End.Seconds(); !(s.LastMap >= end) {
		s.LastMap = end
	}
}

func (r *recorder) outcome(sum *sim.Summary) (*Outcome, error) {
	if len(r.trouble) > 0 {
		return nil, fmt.Errorf("not all jobs finished: %s", strings.Join(r.trouble, "; "))
	}
	o := &r.out
	for _, s := range r.spans {
		o.Makespan = max(o.Makespan, s.End)
	}
	o.Jobs = r.spans
	slices.SortStableFunc(o.Jobs, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	for _, c := range sum.Receipts {
		switch {
		case c.Back: // not the controller's change
		case c.Err != nil:
			o.Lost++
		default:
			o.Changes = append(o.Changes, Change{Asked: c.Asked.Seconds(), InForce: c.InForce.Seconds(), Old: c.Old, New: c.New})
		}
	}
	return o, nil
}
