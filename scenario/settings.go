package scenario

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/internal/setting"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload/synth"
	"github.com/yardmaster/yardmaster/workload/trace"
)

// Setting is one setting of a scenario: a key of the file and a flag of the same name.
type Setting = setting.Of[Scenario]

// Apply replaces the values of a setting by those given.
func (s *Scenario) Apply(t *Setting, values []string) error {
	s.markGiven(t.Name)
	return t.Apply(s, values)
}

// Settings lists every setting, in the order of help.
var Settings []Setting

// Variants are changes of settings, so that the table and its entries refer to each other.
func init() { Settings = allSettings() }

func allSettings() []Setting {
	return slices.Concat(firstSettings(), editSettings(), variantSettings(), deadlineSettings(), copySettings(), dataSettings(), []Setting{clockSetting()}, yarnSettings(), kubernetesSettings(), steeringSettings(),
		setting.In("trace", func(s *Scenario) *trace.Options { return &s.Trace }, trace.Settings()))
}

func firstSettings() []Setting {
	return []Setting{
		setting.Texts("workload", "", "FILE", "jobs: a Parquet file of import, a raw trace (one or several files), or synth:NAME",
			func(s *Scenario) *[]string { return &s.Workload }),
		setting.Text("cluster", "", "CLUSTER", "machines: 600x6/30 (600 nodes of 6 containers in 30 racks), 30x4+2/3 (fixed slots), or a file",
			func(s *Scenario) *string { return &s.Cluster }, nil),
		setting.Texts("scheduler", "", "NAME", "a policy (see \"yardmaster schedulers\") or a file: a plan, a capacity-scheduler.xml or a fair-scheduler.xml",
			func(s *Scenario) *[]string { return &s.Schedulers }),
		setting.Text("place", "", "NAME", "a placement for all schedulers: delay:node=3s; or write it behind one: --scheduler capacity+delay:node=3s",
			func(s *Scenario) *string { return &s.Place }, nil),
		setting.Value("seed", "", "N", "seed of all random numbers; the same seed gives the same result", func(s *Scenario) *uint64 { return &s.Seed },
			func(v string) (uint64, error) {
				n, err := strconv.ParseUint(v, 10, 63)
				if err != nil {
					return 0, fmt.Errorf("%q is not a whole number from 0", v)
				}
				return n, nil
			}, func(n uint64) string { return strconv.FormatUint(n, 10) }),
		setting.Number("seeds", "", "replays in compare, with seeds SEED, SEED+1, ...; 0: as many as fit 10 s, from 5 to 20", 0, 10_000,
			func(s *Scenario) *int { return &s.Seeds }),
		setting.Number("sample-jobs", "", "run a random sample of this many jobs, without replacement; 0: all", 0, 1_000_000_000,
			func(s *Scenario) *int { return &s.Resampling.Jobs }),
		setting.Value("arrivals", "", "HOW", "when jobs arrive: trace (default), batch (all at once), uniform:TIME (at random within TIME), exponential:MEAN (with this mean gap, in random order) or resampled (days or hours of the history, drawn by seed)",
			func(s *Scenario) *synth.Respread { return &s.Resampling.Arrivals }, synth.ParseRespread, synth.Respread.String),
		setting.Factor("scale-load", "", "multiply the number of jobs in the same time; job sizes stay alike", func(s *Scenario) *float64 { return &s.ScaleLoad }),
		setting.Factor("scale-length", "", "multiply the length by repeating the workload", func(s *Scenario) *float64 { return &s.ScaleLength }),

		setting.Duration("heartbeat", "model", "period after which a node reports free containers; 0: at once",
			func(s *Scenario) *unit.Time { return &s.Model.Heartbeat }),
		setting.Number("per-beat", "model", "max containers that a node gets per heartbeat; 0: all that fit", 0, 1_000_000,
			func(s *Scenario) *int { return &s.Model.PerBeat }),
		setting.Yes("end-on-beat", "model", "a task's end is known only at its node's next heartbeat (as in Hadoop 1)",
			func(s *Scenario) *bool { return &s.Model.EndOnBeat }),
		setting.Duration("start-up", "model", "between a container's start and its task's first instruction",
			func(s *Scenario) *unit.Time { return &s.Model.StartUp }),
		setting.Number("replicas", "model", "copies of each input block, placed where the trace names no hosts (see --placement); 0: input has no location", 0, 100,
			func(s *Scenario) *int { return &s.Model.Replicas }),
		setting.Share("fail-task", "model", "probability that an attempt of a task fails", true,
			func(s *Scenario) *float64 { return &s.Model.FailTask }),
		setting.Number("attempts", "model", "attempts of a task before its job fails; 0: 4", 0, 1000,
			func(s *Scenario) *int { return &s.Model.Attempts }),
		setting.Text("application", "model", "MODEL",
			"how MapReduce jobs ask for containers: hadoop (the AM's slow-start, ramp-up and preemption of reduces), maps-first (reduces once every map has a container) or overlap (all reduces from slow-start on; the scheduler chooses)",
			func(s *Scenario) *string { return &s.Model.Application }, func(v string) error {
				if !slices.Contains(am.Names(), v) {
					return fmt.Errorf("unknown application model %q: want %s", v, strings.Join(am.Names(), " or "))
				}
				return nil
			}),
		setting.Number("lookahead", "model", "jobs tried for a free container before it is left idle; 0: 200", 0, math.MaxInt32,
			func(s *Scenario) *int { return &s.Model.Lookahead }),
		setting.Duration("sample", "model", "period of the timeline; 0: 10 s",
			func(s *Scenario) *unit.Time { return &s.Model.Sample }),
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

func parseLoss(v string) (sim.Loss, error) {
	bad := func(why string) (sim.Loss, error) {
		return sim.Loss{}, fmt.Errorf("%q %s; write NODE@TIME or NODE@TIME+FOR, as in node7@1h+10m", v, why)
	}
	sign := strings.LastIndexByte(v, '@')
	if sign < 1 {
		return bad("names no node and time")
	}
	start, long, limited := strings.Cut(v[sign+1:], "+")
	l := sim.Loss{Node: v[:sign]}
	var err error
	if l.At, err = unit.ParseTime(start); err != nil || l.At < 0 {
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
	s := l.Node + "@" + setting.Time(l.At)
	if l.For > 0 {
		s += "+" + setting.Time(l.For)
	}
	return s
}
