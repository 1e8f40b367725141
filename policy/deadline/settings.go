package deadline

import (
	"fmt"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// Settings are the switches. Their zero value is not valid: see Defaults.
type Settings struct {
	Min         bool      // give no more than is needed
	Literal     bool      // overdue tasks count negative
	MinSamples  int64     // finished tasks needed for an estimate
	NoDataCap   int64     // containers that a job without estimate may hold; 0: any number
	MissedShare float64   // of all containers, for jobs that have missed their goals
	TailGuard   bool      // aim at the goal less the longest finished task
	WorkMode    bool      // a stage's work includes its successors'; otherwise it aims at the goal less their time
	CostRatio   float64   // length of a task relative to those of the stage before it, until one has finished
	Threshold   float64   // need from which a container is given in min mode: 0 rounds up, 0.5 to the nearest, 1 down
	Refresh     unit.Time // how often needs are recomputed even if nothing happens to their jobs
}

// Defaults are those of the paper.
func Defaults() Settings {
	return Settings{MinSamples: 1, MissedShare: 1, CostRatio: 1, Refresh: unit.Second}
}

// Entry is the registry's line.
var Entry = policy.Entry{
	Name:  "deadline",
	Title: "completion-time goals: containers to the jobs that need them most to finish on time",
	Params: map[string]string{
		"mode":         "max: leave no container idle (default); min: give a job no more than it needs",
		"clamp":        "yes: a task that runs longer than the mean is about to end (default); no: it counts negative, as in the paper",
		"min-samples":  "finished tasks needed for an estimate (default 1)",
		"nodata-cap":   "containers that a job without estimate may hold (default 0: any number)",
		"missed-share": "share of all containers for jobs that have missed their goals, 0 to 1 (default 1)",
		"tail-guard":   "yes: aim at the goal less the longest finished task (default no)",
		"reduce":       "split: maps aim at the goal less the time of the reduces (default); work: the work of maps includes that of the reduces",
		"cost-ratio":   "length of a reduce relative to a map, until one has finished (default 1)",
		"round":        "up (default), nearest or down: how needs become containers in min mode",
		"refresh":      "how often needs are recomputed even if nothing happens (default 1s)",
	},
	New: func(p policy.Params) (policy.Policy, error) {
		s, err := Parse(p)
		if err != nil {
			return policy.Policy{}, err
		}
		o := New(s)
		return policy.Policy{Order: o, Timer: o}, nil
	},
}

// Parse reads the settings that Entry lists.
func Parse(p policy.Params) (s Settings, err error) {
	s = Defaults()
	r := policy.Reader{Params: p}
	s.Min = r.Second("mode", "max", "min")
	s.Literal = r.Second("clamp", "yes", "no")
	s.TailGuard = r.Second("tail-guard", "no", "yes")
	s.WorkMode = r.Second("reduce", "split", "work")
	s.MinSamples, s.NoDataCap = int64(r.Int("min-samples", int(s.MinSamples))), int64(r.Int("nodata-cap", 0))
	s.MissedShare, s.CostRatio = r.Float("missed-share", s.MissedShare), r.Float("cost-ratio", s.CostRatio)
	s.Threshold = map[string]float64{"nearest": 0.5, "down": 1}[r.Choice("round", "up", "nearest", "down")]
	if every, ok := p["refresh"]; ok {
		s.Refresh, err = unit.ParseTime(every)
		r.Keep(err)
	}
	switch {
	case r.Err != nil:
		return s, r.Err
	case s.MinSamples < 1 || s.NoDataCap < 0:
		return s, fmt.Errorf("min-samples=%d, nodata-cap=%d: want at least 1 and 0", s.MinSamples, s.NoDataCap)
	case !(s.MissedShare > 0 && s.MissedShare <= 1):
		return s, fmt.Errorf("missed-share=%v: want more than 0 and at most 1", s.MissedShare)
	case !(s.CostRatio > 0 && s.CostRatio <= 1e6):
		return s, fmt.Errorf("cost-ratio=%v: want a positive number up to 1e6", s.CostRatio)
	case s.Refresh < 100*unit.Millisecond || s.Refresh > unit.Day:
		return s, fmt.Errorf("refresh=%v: want between 100 ms and a day", s.Refresh)
	}
	return s, nil
}
