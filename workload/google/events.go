package google

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/workload"
)

// table identifies one of the two tables.
type table uint8

const (
	jobTable table = iota
	taskTable
	tables
)

// kind is the event type.
type kind uint8

const (
	submit kind = iota
	schedule
	evict
	fail
	finish
	kill
	lost
	updatePending
	updateRunning
	kinds
)

// event is one line of either table.
type event struct {
	table    table
	kind     kind
	missing  bool
	time     int64 // microseconds; 0: before the trace, math.MaxInt64: after it
	job      int64
	task     int64   // its number in the job
	user     []byte  // valid until the next line is read
	name     []byte  // logical job name; as user
	class    int     // scheduling class, 0 to 3
	priority int     // 0 to 11
	cpu, mem float64 // requests, as shares of the largest machine
}

const (
	jobFields  = 8
	taskFields = 13
	maxName    = 255 // bytes; the published names are hashes of 44
)

// parse parses one line. The number of its fields determines its table.
func parse(line []byte, e *event) error {
	*e = event{}
	var f [taskFields][]byte
	n, rest, more := 0, line, true
	for more {
		if n == taskFields {
			return fmt.Errorf("more than %d fields", taskFields)
		}
		f[n], rest, more = bytes.Cut(rest, []byte{','})
		n++
	}
	var err error
	number := func(what string, text []byte, lo, hi int64) int64 {
		if err != nil {
			return 0
		}
		v, bad := strconv.ParseInt(string(text), 10, 64)
		if bad != nil {
			err = fmt.Errorf("%s: %q is not a whole number", what, input.Clip(text))
		} else if v < lo || v > hi {
			err = fmt.Errorf("%s: %d is not between %d and %d", what, v, lo, hi)
		}
		return v
	}
	share := func(what string, text []byte) float64 {
		if err != nil || len(text) == 0 {
			return 0
		}
		v, bad := strconv.ParseFloat(string(text), 64)
		if bad != nil || math.IsNaN(v) || v < 0 {
			err = fmt.Errorf("%s: %q is not a share of a machine", what, input.Clip(text))
		}
		return v
	}
	optional := func(what string, text []byte, hi int64) int64 {
		if len(text) == 0 {
			return 0
		}
		return number(what, text, 0, hi)
	}
	var kindAt int
	switch n {
	case jobFields:
		e.table, kindAt = jobTable, 3
		e.user, e.class, e.name = f[4], int(optional("scheduling class", f[5], 3)), f[7]
	case taskFields:
		e.table, kindAt = taskTable, 5
		e.task = number("task index", f[3], 0, math.MaxInt64)
		e.user, e.class = f[6], int(optional("scheduling class", f[7], 3))
		e.priority = int(optional("priority", f[8], 1000))
		e.cpu, e.mem = share("CPU request", f[9]), share("memory request", f[10])
	default:
		return fmt.Errorf("%d fields; job_events have %d and task_events %d", n, jobFields, taskFields)
	}
	if err == nil && max(len(e.user), len(e.name)) > maxName {
		err = fmt.Errorf("user or job name: longer than %d bytes", maxName)
	}
	e.time = number("time", f[0], 0, math.MaxInt64)
	if err == nil && e.time > int64(workload.MaxLength) && e.time != math.MaxInt64 {
		err = fmt.Errorf("time: %d us is more than %v; the trace covers a month", e.time, workload.MaxLength)
	}
	e.missing = len(f[1]) > 0
	e.job = number("job ID", f[2], 0, math.MaxInt64)
	e.kind = kind(number("event type", f[kindAt], 0, int64(kinds)-1))
	return err
}

// Sniff says whether a file that starts with prefix looks like a part of either table.
func Sniff(prefix []byte) bool {
	var e event
	return parse(input.FirstLine(prefix), &e) == nil
}

var errBackwards = errors.New("time goes back: the events of a part must be in order; sort it by its first column")
