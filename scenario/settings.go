package scenario

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload/rumen"
	"github.com/yardmaster/yardmaster/workload/trace"
)

// Setting is one thing that a scenario says: a key of the file and a flag of the same name.
type Setting struct {
	Name  string
	In    string // section of the file; "": top level
	Value string // what a value looks like, for help; "": yes or no
	Help  string
	Many  bool // may be given several times; Set adds a value then
	// For names the formats of traces whose reading it changes; empty: it acts on every workload.
	For []string
	// Set takes one value as typed.
	Set func(s *Scenario, text string) error
	// Get returns the values as they could be typed.
	Get func(s *Scenario) []string
}

// Apply replaces the setting's values.
func (t *Setting) Apply(s *Scenario, values []string) error {
	t.reset(s)
	for _, v := range values {
		if err := t.Set(s, v); err != nil {
			return err
		}
	}
	s.said(t.Name)
	return nil
}

// on limits a setting to the formats of traces that it acts on.
func (t Setting) on(formats ...string) Setting {
	t.For = formats
	return t
}

// reset empties a setting that takes many values.
func (t *Setting) reset(s *Scenario) {
	if t.Many {
		if err := t.Set(s, ""); err != nil {
			panic("scenario: " + t.Name + " cannot be emptied: " + err.Error())
		}
	}
}

// Settings lists every setting, in the order of help.
var Settings = slices.Concat(firstSettings(), copySettings(), dataSettings(), yarnSettings(), steeringSettings(), traceSettings())

func firstSettings() []Setting {
	return []Setting{
		texts("workload", "", "FILE", "jobs: a Parquet file of import, a raw trace (one or several files), or synth:NAME",
			func(s *Scenario) *[]string { return &s.Workload }),
		{
			Name: "cluster", Value: "CLUSTER", Help: "machines: 600x6/30 (600 nodes of 6 containers in 30 racks), 30x4+2/3 (fixed slots), or a file",
			Set: func(s *Scenario, v string) error { s.Cluster = v; return nil },
			Get: func(s *Scenario) []string { return given(s.Cluster) },
		},
		texts("scheduler", "", "NAME", "a policy (see \"yardmaster schedulers\") or the path of a capacity-scheduler.xml or fair-scheduler.xml",
			func(s *Scenario) *[]string { return &s.Schedulers }),
		{
			Name: "seed", Value: "N", Help: "start of all random numbers; the same seed gives the same result",
			Set: func(s *Scenario, v string) error {
				n, err := strconv.ParseUint(v, 10, 63)
				if err != nil {
					return fmt.Errorf("%q is not a whole number from 0", v)
				}
				s.Seed = n
				return nil
			},
			Get: func(s *Scenario) []string { return []string{strconv.FormatUint(s.Seed, 10)} },
		},
		number("seeds", "", "N", "repetitions in compare, with seeds SEED, SEED+1, ...", 1, 10_000,
			func(s *Scenario) *int { return &s.Seeds }),
		factor("scale-load", "times as many jobs in the same time, alike in shape", func(s *Scenario) *float64 { return &s.ScaleLoad }),
		factor("scale-length", "times as long: the workload again and again", func(s *Scenario) *float64 { return &s.ScaleLength }),

		duration("heartbeat", "model", "period after which a node reports free containers; 0: at once",
			func(s *Scenario) *unit.Time { return &s.Model.Heartbeat }),
		number("per-beat", "model", "N", "containers that a node is given in one heartbeat; 0: all it has room for", 0, 1_000_000,
			func(s *Scenario) *int { return &s.Model.PerBeat }),
		yes("end-on-beat", "model", "a task's end is known only at its node's next heartbeat (as in Hadoop 1)",
			func(s *Scenario) *bool { return &s.Model.EndOnBeat }),
		duration("start-up", "model", "between a container's start and its task's first instruction",
			func(s *Scenario) *unit.Time { return &s.Model.StartUp }),
		number("replicas", "model", "N", "copies of each input block, placed where the trace names no hosts (see --placement); 0: input lies nowhere in particular", 0, 100,
			func(s *Scenario) *int { return &s.Model.Replicas }),
		share("fail-task", "model", "probability that an attempt of a task fails", true,
			func(s *Scenario) *float64 { return &s.Model.FailTask }),
		number("attempts", "model", "N", "attempts of a task before its job fails; 0: 4", 0, 1000,
			func(s *Scenario) *int { return &s.Model.Attempts }),
		{
			Name: "lose-node", In: "model", Value: "NODE@TIME[+FOR]", Help: "take a node away at a time, for a while or for good: node7@1h+10m", Many: true,
			Set: func(s *Scenario, v string) error {
				if v == "" {
					s.Model.Losses = nil
					return nil
				}
				l, err := parseLoss(v)
				if err == nil {
					s.Model.Losses = append(s.Model.Losses, l)
				}
				return err
			},
			Get: func(s *Scenario) (out []string) {
				for _, l := range s.Model.Losses {
					out = append(out, formatLoss(l))
				}
				return out
			},
		},
		{
			Name: "application", In: "model", Value: "MODEL",
			Help: "how MapReduce jobs ask for containers: hadoop (the AM's slow-start, ramp-up and preemption of reduces) or maps-first (reduces once every map has a container)",
			Set: func(s *Scenario, v string) error {
				if !slices.Contains(am.Names(), v) {
					return fmt.Errorf("unknown application model %q: want %s", v, strings.Join(am.Names(), " or "))
				}
				s.Model.Application = v
				return nil
			},
			Get: func(s *Scenario) []string { return given(s.Model.Application) },
		},
		number("lookahead", "model", "N", "jobs tried for one free container before it is left free; 0: 200", 0, math.MaxInt32,
			func(s *Scenario) *int { return &s.Model.Lookahead }),
		duration("sample", "model", "period of the timeline; 0: 10 s",
			func(s *Scenario) *unit.Time { return &s.Model.Sample }),
	}
}

func traceSettings() []Setting {
	return []Setting{
		amount("block", "trace", "input of one map", func(s *Scenario) *unit.Bytes { return &s.Trace.SWIM.Block }).on(trace.SWIM),
		rate("map-rate", "trace", "bytes a map handles a second", func(s *Scenario) *float64 { return &s.Trace.SWIM.MapRate }).on(trace.SWIM),
		rate("reduce-rate", "trace", "bytes a reduce handles a second", func(s *Scenario) *float64 { return &s.Trace.SWIM.ReduceRate }).on(trace.SWIM),
		duration("task-start-up", "trace", "part of every task's length that does not depend on its bytes",
			func(s *Scenario) *unit.Time { return &s.Trace.SWIM.StartUp }).on(trace.SWIM),
		amount("bytes-per-reduce", "trace", "shuffle and output of one reduce, 10^9 bytes unless told", func(s *Scenario) *unit.Bytes { return &s.Trace.SWIM.BytesPerReduce }).on(trace.SWIM),
		{
			Name: "reduce-cap", In: "trace", Value: "N", Help: "most reduces a job has", For: []string{trace.SWIM},
			Set: func(s *Scenario, v string) error {
				n, err := whole(v, 1, 1<<30)
				if err == nil {
					s.Trace.SWIM.ReduceCap = n
				}
				return err
			},
			Get: func(s *Scenario) []string { return []string{strconv.FormatInt(s.Trace.SWIM.ReduceCap, 10)} },
		},
		share("slow-start", "trace", "share of a job's maps done before its reduces may take containers", false,
			func(s *Scenario) *float64 { return &s.Trace.SWIM.SlowStart }).on(trace.SWIM, trace.Rumen),
		{
			Name: "users", In: "trace", Value: "N", Help: "deal the jobs of any workload afresh to this many users; SWIM names none and has 200 unless told",
			Set: func(s *Scenario, v string) error {
				n, err := whole(v, 1, 1_000_000)
				if err == nil {
					s.Trace.Users = int(n)
				}
				return err
			},
			Get: func(s *Scenario) []string {
				if s.Trace.Users == 0 {
					return nil
				}
				return []string{strconv.Itoa(s.Trace.Users)}
			},
		},
		list("queues", "trace", "NAMES", "deal the users of any workload afresh to these queues, with commas between",
			func(s *Scenario) *[]string { return &s.Trace.Queues }),
		container("container", "trace", "what a task asks for: memory,cores", func(s *Scenario) *unit.Resources { return &s.Trace.SWIM.Ask }).on(trace.SWIM, trace.Rumen, trace.SLS),
		container("master", "trace", "what a job's master asks for: memory,cores; 0,0: no master", func(s *Scenario) *unit.Resources { return &s.Trace.SWIM.Master }).on(trace.SWIM, trace.Rumen, trace.SLS, trace.Synth),
		yes("drop-failed", "trace", "leave out jobs that failed or were killed on the real cluster", func(s *Scenario) *bool { return &s.Trace.Rumen.DropFailed }).on(trace.Rumen, trace.Google),
		yes("retried", "trace", "count Rumen attempts that ended before the successful one began into a task's length",
			func(s *Scenario) *bool { return &s.Trace.Rumen.Retried }).on(trace.Rumen),
		yes("other-tasks", "trace", "play the set-up and clean-up tasks of Rumen jobs too",
			func(s *Scenario) *bool { return &s.Trace.Rumen.Others }).on(trace.Rumen),
		{
			Name: "missing", In: "trace", Value: "HOW", Help: "length of Rumen tasks without a successful attempt: mean (of the stage), observed (their longest attempt) or drop",
			For: []string{trace.Rumen},
			Set: func(s *Scenario, v string) error {
				m, err := rumen.ParseMissing(v)
				if err == nil {
					s.Trace.Rumen.Missing = m
				}
				return err
			},
			Get: func(s *Scenario) []string { return []string{s.Trace.Rumen.Missing.String()} },
		},
		yes("tracker-clock", "trace", "take Rumen task lengths as the job tracker saw them, failed attempts and delays included",
			func(s *Scenario) *bool { return &s.Trace.Rumen.TrackerClock }).on(trace.Rumen),
	}
}

// Find returns a setting by name.
func Find(name string) (*Setting, bool) {
	for i := range Settings {
		if Settings[i].Name == name {
			return &Settings[i], true
		}
	}
	return nil, false
}

func given(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func parseLoss(v string) (sim.Loss, error) {
	bad := func(why string) (sim.Loss, error) {
		return sim.Loss{}, fmt.Errorf("%q %s; write NODE@TIME or NODE@TIME+FOR, as in node7@1h+10m", v, why)
	}
	at := strings.LastIndexByte(v, '@')
	if at < 1 {
		return bad("names no node and time")
	}
	from, long, limited := strings.Cut(v[at+1:], "+")
	l := sim.Loss{Node: v[:at]}
	var err error
	if l.At, err = unit.ParseTime(from); err != nil || l.At < 0 {
		return bad("has no time after the @")
	}
	if limited {
		if l.For, err = unit.ParseTime(long); err != nil || l.For <= 0 {
			return bad("has no length of time after the +")
		}
	}
	return l, nil
}

func formatLoss(l sim.Loss) string {
	s := l.Node + "@" + formatTime(l.At)
	if l.For > 0 {
		s += "+" + formatTime(l.For)
	}
	return s
}
