package trace

import (
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/internal/setting"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload/rumen"
	"github.com/yardmaster/yardmaster/workload/swim"
	"github.com/yardmaster/yardmaster/workload/table"
)

// Settings are the user-visible options: how traces are read, and defaults for what they lack.
func Settings() []setting.Of[Options] {
	return []setting.Of[Options]{
		setting.Amount("block", "", "input of one map", func(o *Options) *unit.Bytes { return &o.SWIM.Block }).On(SWIM),
		setting.Rate("map-rate", "", "bytes per second that a map processes", func(o *Options) *float64 { return &o.SWIM.MapRate }).On(SWIM),
		setting.Rate("reduce-rate", "", "bytes per second that a reduce processes", func(o *Options) *float64 { return &o.SWIM.ReduceRate }).On(SWIM),
		setting.Duration("task-start-up", "", "part of every task's length that does not depend on its bytes", func(o *Options) *unit.Time { return &o.SWIM.StartUp }).On(SWIM),
		setting.Amount("bytes-per-reduce", "", "shuffle and output of one reduce (default 10^9 bytes)", func(o *Options) *unit.Bytes { return &o.SWIM.BytesPerReduce }).On(SWIM),
		setting.Number("reduce-cap", "", "max reduces per job", 1, 1<<30, func(o *Options) *int64 { return &o.SWIM.ReduceCap }).On(SWIM),
		setting.Value("replay-on", "", "MACHINES/TRACED", "size jobs as SWIM's replay tool does for so many machines, of a trace of so many (FB-2010: 3000): bytes are scaled, every job has 64 MiB of input and a reduce at least, and "+
			"where there would be more reduces than machines a fifth of these", func(o *Options) *swim.Replay { return &o.SWIM.Replay }, swim.ParseReplay, swim.Replay.String).On(SWIM),
		setting.Share("slow-start", "", "share of a job's maps done before its reduces may take containers", false, func(o *Options) *float64 { return &o.SWIM.SlowStart }).On(SWIM, Rumen),
		setting.Value("users", "", "N", "reassign the jobs of any workload to this many users; default for SWIM, which names none: 200", func(o *Options) *int { return &o.Users },
			func(v string) (int, error) {
				n, err := setting.Whole(v, 1, 1_000_000)
				return int(n), err
			}, func(n int) string {
				if n == 0 {
					return ""
				}
				return strconv.Itoa(n)
			}),
		setting.List("queues", "", "NAMES", "reassign the users of any workload to these queues, separated by commas", func(o *Options) *[]string { return &o.Queues }),
		setting.Container("container", "", "what a task asks for: memory,cores", func(o *Options) *unit.Resources { return &o.SWIM.Ask }).On(SWIM, Rumen, SLS, Table),
		setting.Container("am", "", "container of a job's AM: memory,cores; 0,0: none", func(o *Options) *unit.Resources { return &o.SWIM.AM }).On(SWIM, Rumen, SLS, Synth),
		setting.Yes("drop-failed", "", "leave out jobs that failed or were killed on the real cluster", func(o *Options) *bool { return &o.Rumen.DropFailed }).On(Rumen, Google, Table),
		setting.List("columns", "", "ROLE=COLUMN,...", "what the columns of a table are (user=Owner); others are found by their names. Roles: "+
			strings.Join(table.Roles(), ", ")+", or a resource such as nvidia.com/gpu", func(o *Options) *[]string { return &o.Table.Columns }).On(Table),
		setting.Yes("retried", "", "include Rumen attempts that ended before the successful one began in a task's length", func(o *Options) *bool { return &o.Rumen.Retried }).On(Rumen),
		setting.Yes("other-tasks", "", "also simulate the set-up and clean-up tasks of Rumen jobs", func(o *Options) *bool { return &o.Rumen.Others }).On(Rumen),
		setting.Value("missing", "", "HOW", "length of Rumen tasks without a successful attempt: mean (of the stage), observed (their longest attempt) or drop",
			func(o *Options) *rumen.Missing { return &o.Rumen.Missing }, rumen.ParseMissing, rumen.Missing.String).On(Rumen),
		setting.Yes("tracker-clock", "", "take Rumen task lengths as the job tracker saw them, failed attempts and delays included", func(o *Options) *bool { return &o.Rumen.TrackerClock }).On(Rumen),
	}
}

// ForAll copies the options common to all traces into each reader's own. noAM: jobs have no AM, unless its size is set.
func (o Options) ForAll(noAM bool) Options {
	plain := Defaults().SWIM
	o.Google.FinishedOnly, o.Table.FinishedOnly = o.Rumen.DropFailed, o.Rumen.DropFailed
	o.Table.Ask = o.SWIM.Ask
	if o.SWIM.Ask != plain.Ask {
		o.Rumen.Ask, o.SLS.Ask = o.SWIM.Ask, o.SWIM.Ask
	}
	if o.SWIM.AM != plain.AM {
		o.Rumen.AM, o.SLS.AM, o.Synth.AM = o.SWIM.AM, o.SWIM.AM, o.SWIM.AM
	} else if noAM {
		o.SLS.NoAM, o.Synth.NoAM = true, true
	}
	if o.SWIM.SlowStart != plain.SlowStart {
		if o.Rumen.SlowStart = o.SWIM.SlowStart; o.Rumen.SlowStart == 0 {
			o.Rumen.SlowStart = -1 // its way to say none
		}
	}
	return o
}
