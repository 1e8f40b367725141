// Package gantt draws what the executors of an application did over time, as an SVG: one panel above the other on one time axis, with a
// lane for each slot of each executor, tasks as bars in the colours of their stages, and a row that shows when the driver worked alone.
//
// Names come from logs: all text is escaped. The picture stays small however large the application is: adjacent bars of a lane are
// merged, and lanes left out, and the picture says so.
package gantt

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/unit"
)

// Timeline is what happened in one run of an application. Instants count from the zero of the chart; -1 is one that never came or is not known.
type Timeline struct {
	Executors []Executor // in the order of their start
	Tasks     []Task
	Stages    []Stage   // as the chart numbers them
	Slots     int       // tasks that an executor runs at a time
	Ready     unit.Time // the driver was ready to request executors
	End       unit.Time
}

// Executor is one of the application's executors.
type Executor struct {
	Name           string
	Added, Removed unit.Time
	Lost           bool // it did not leave as its driver wished
}

// Task is an attempt of a task.
type Task struct {
	Start, End      unit.Time
	Stage, Executor int32 // Executor -1: not known
	Failed          bool  // or killed
}

// Stage is when a stage was active.
type Stage struct{ Submitted, Ended unit.Time }

// Figures are those of one timeline.
type Figures struct {
	Elapsed    unit.Time
	DriverOnly unit.Time   // no stage was active, since the driver was ready
	Tasks      int64       // that succeeded
	Failed     int64       // attempts
	Worked     unit.Time   // all attempts together
	Held, Busy unit.Time   // executor-time registered, and with at least one task
	Peak       int         // executors at a time
	Work       []unit.Time // by stage
}

type span struct{ from, to unit.Time }

// union merges spans and returns them in order.
func union(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out []span
	for _, s := range spans {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
		} else if s.to > s.from {
			out = append(out, s)
		}
	}
	return out
}

func length(spans []span) (sum unit.Time) {
	for _, s := range spans {
		sum += s.to - s.from
	}
	return sum
}

// until is when an executor left.
func (t *Timeline) until(x *Executor) unit.Time {
	if x.Removed < 0 {
		return max(t.End, x.Added)
	}
	return min(x.Removed, max(t.End, x.Added))
}

// driverOnly are the times without an active stage.
func (t *Timeline) driverOnly() (gaps []span) {
	var active []span
	for _, s := range t.Stages {
		if s.Submitted >= 0 && s.Ended >= 0 {
			active = append(active, span{s.Submitted, s.Ended})
		}
	}
	at := max(t.Ready, 0)
	for _, s := range union(active) {
		if s.from > at {
			gaps = append(gaps, span{at, min(s.from, t.End)})
		}
		at = max(at, s.to)
	}
	if t.End > at {
		gaps = append(gaps, span{at, t.End})
	}
	return gaps
}

// Figures computes the figures.
func (t *Timeline) Figures() Figures {
	f := Figures{Elapsed: t.End, DriverOnly: length(t.driverOnly()), Work: make([]unit.Time, len(t.Stages))}
	busy := make([][]span, len(t.Executors))
	for _, x := range t.Tasks {
		took := x.End - x.Start
		f.Worked += took
		f.Work[x.Stage] += took
		if x.Failed {
			f.Failed++
		} else {
			f.Tasks++
		}
		if x.Executor >= 0 {
			busy[x.Executor] = append(busy[x.Executor], span{x.Start, x.End})
		}
	}
	type change struct {
		at unit.Time
		by int
	}
	var changes []change
	for i := range t.Executors {
		x := &t.Executors[i]
		f.Busy += length(union(busy[i]))
		f.Held += t.until(x) - x.Added
		changes = append(changes, change{x.Added, 1}, change{t.until(x), -1})
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	n := 0
	for _, c := range changes {
		n += c.by
		f.Peak = max(f.Peak, n)
	}
	return f
}
