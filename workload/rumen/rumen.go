// Package rumen reads Rumen job traces and topologies, as Hadoop's TraceBuilder writes them: a stream of JSON objects,
// one per job, in the format of 2009 (Hadoop 0.21 and its simulator Mumak) and all later ones. Unknown members are
// ignored.
//
// A job becomes a map stage and, if it has reduces, a reduce stage after it. Tasks are in the order of their numbers,
// which is the order in which Hadoop starts them. A task's length is that of its successful attempt.
//
// # Two clocks
//
// A task's own startTime and finishTime are from the job tracker's (or AM's) clock; all times of an attempt
// are from its node's clock. In the Mumak trace some node clocks are minutes off, so lengths within one attempt can be
// trusted and times of two nodes cannot be compared; those of two tasks can.
//
// # How long a reduce runs
//
// A reduce that started early has been waiting for maps, and the simulator makes it wait again: a started reduce holds
// its container until the last map is done, and only then begins the length given here. So the length must be what a
// reduce does after the last map of its job:
//
//	own = finish - last map's finish    on the tracker's clock, clamped between
//	      finish - shuffle finished     (lower bound: no shuffle ends before the last map does) and
//	      finish - start                (upper bound: a reduce that started after the last map), both on the node's clock
//
// The bounds are lengths within one attempt, so a wrong clock does not affect them.
package rumen

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Limits on one job. They are far above any job that Hadoop ran, and keep a hostile file from exhausting memory.
const (
	MaxTasks = 500_000 // listed tasks: half a gigabyte of JSON
	MaxHosts = 200_000 // different hosts that hold its input
	maxNear  = 8       // hosts kept for one task
	maxTried = 64      // attempts of one task considered for Options.Retried

	maxHostBytes = 16 << 20 // bytes of the names of its hosts
)

// Missing says how to treat tasks without a successful attempt, of which failed jobs have many.
type Missing uint8

// Ways to deal with tasks without a successful attempt.
const (
	Mean     Missing = iota // they take the mean length of the stage's other tasks: the job as intended
	Observed                // they take the length of their longest attempt, those without attempts are dropped: the actual load
	Drop                    // they are dropped
)

var missingNames = []string{"mean", "observed", "drop"}

func (m Missing) String() string { return missingNames[m] }

// ParseMissing reads mean, observed or drop.
func ParseMissing(s string) (Missing, error) {
	if i := slices.Index(missingNames, s); i >= 0 {
		return Missing(i), nil
	}
	return 0, fmt.Errorf("%q is not one of %v", s, missingNames)
}

// Options says how a trace is interpreted. The zero value is a sensible default.
type Options struct {
	Base      int64          // the time, in milliseconds since 1970, that becomes 0; 0: the first job's submit time
	Ask       unit.Resources // container of a task where the trace gives no size; zero: cluster.Unit
	AM        unit.Resources // container of each job's AM; zero: none
	SlowStart float64        // share of maps that must be done before reduces take containers; 0: 0.05, negative: none

	Missing Missing
	// TrackerClock takes lengths from start to end as the job tracker saw them: failed attempts, start-up and the
	// delay until the end is reported are part of them.
	TrackerClock bool
	// Retried adds to a task's length that of the attempts that failed or were killed before the successful one began.
	// (Those that ran beside it, as speculative ones do, are not added.)
	Retried bool
	// Others makes stages of a job's set-up and clean-up tasks, which Hadoop 1 ran in slots before and after the rest.
	Others bool
	// DropFailed leaves out jobs that did not succeed.
	DropFailed bool
}

func (o Options) withDefaults() (Options, error) {
	o.Ask = cmp.Or(o.Ask, cluster.Unit)
	switch {
	case o.SlowStart == 0:
		o.SlowStart = 0.05
	case o.SlowStart < 0:
		o.SlowStart = 0
	}
	if !(o.SlowStart <= 1) {
		return o, fmt.Errorf("read Rumen trace: slow-start %v is more than 1", o.SlowStart)
	}
	if o.Missing > Drop {
		return o, fmt.Errorf("read Rumen trace: unknown Missing %d", o.Missing)
	}
	return o, nil
}

// Reader streams the jobs of one trace in the order of the file, holding one job at a time.
type Reader struct {
	opt    Options
	js     *input.JSON
	err    error
	based  bool
	base   int64 // milliseconds
	last   unit.Time
	p      parser
	counts counts
}

// Rumen writes jobs as their histories are found, so they may be somewhat out of order: sort them before a run.
var _ workload.Source = (*Reader)(nil)

// NewReader reads a trace from r; name is what errors call it.
func NewReader(r io.Reader, name string, opt Options) *Reader {
	rd := &Reader{js: input.NewJSON(r, name)}
	rd.opt, rd.err = opt.withDefaults()
	rd.base, rd.based = opt.Base, opt.Base != 0
	rd.p.init(rd.js)
	return rd
}

// Next returns the next job; io.EOF after the last.
func (r *Reader) Next() (*workload.Job, error) {
	for r.err == nil {
		var j *workload.Job
		err := r.js.Record()
		if err == nil {
			err = r.p.job()
		}
		if err == nil {
			j, err = r.build()
		}
		if j != nil {
			return j, nil
		}
		r.err = err
	}
	return nil, r.err
}

// Earliest returns the earliest submit time in a trace, for Options.Base; 0 when it has none.
func Earliest(r io.Reader, name string) (int64, error) {
	js := input.NewJSON(r, name)
	var first int64
	for {
		err := js.Record()
		if err == io.EOF { //nolint:errorlint // it returns io.EOF itself
			return first, nil
		}
		if err != nil {
			return first, err
		}
		err = js.Object(func(member []byte) error {
			if string(member) != "submitTime" {
				return nil
			}
			t, _, err := js.Int(-1, maxInstant)
			if t > 0 && (first == 0 || t < first) {
				first = t
			}
			return err
		})
		if err != nil {
			return 0, err
		}
	}
}

// Sniff says whether the beginning of a file looks like a Rumen job trace.
func Sniff(prefix []byte) bool {
	keys := input.JSONKeys(prefix)
	for _, k := range []string{"jobID", "mapTasks", "reduceTasks", "totalMaps", "computonsPerMapInputByte", "successfulMapAttemptCDFs"} {
		if keys[k] {
			return true
		}
	}
	return false
}
