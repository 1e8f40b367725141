package marp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// param is a named setting. What the engine knows (queue, limit, minimum allocation) has none.
type param struct {
	steer.Param
	of []string // the controllers that read it; nil: all

	get func(*Settings) string
	set func(*Settings, string) error
}

// concerns reports whether a controller reads the parameter.
func (p *param) concerns(controller string) bool {
	return len(p.of) == 0 || slices.Contains(p.of, controller)
}

// Set parses the named setting of a controller. A setting that only other controllers read is rejected.
func (s *Settings) Set(controller, name, value string) error {
	i := slices.IndexFunc(params, func(p param) bool { return p.Name == name })
	if i < 0 {
		return fmt.Errorf("there is no setting %q; \"yardmaster yarn policies\" lists them, and bounds such as the minimum and maximum have flags of their own", name)
	}
	p := &params[i]
	if !p.concerns(controller) {
		return fmt.Errorf("%s: %s does not read it; %s", name, controller, readers(p.of))
	}
	if err := p.set(s, strings.TrimSpace(value)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func readers(names []string) string {
	if len(names) == 1 {
		return names[0] + " does"
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + " do"
}

var (
	sampling = []string{"cbtws", "cbtwat"}
	learning = []string{"cbtwat"}
	stepping = []string{"cbt", "cbtws", "cbtwat"}
	counting = []string{"cbt", "cbtws", "cbtwat", "ahead"}
	moving   = []string{"cbt", "cbtws", "cbtwat", "ahead", "kalman-mem"}
)

var params = []param{
	number("value", "SHARE", "the share to write; needed", []string{"static"}, func(s *Settings) *float64 { return &s.Value }),
	number("idle-target", "SHARE", "share of idle processors to leave", []string{"ahead"}, func(s *Settings) *float64 { return &s.IdleTarget }),
	whole("idle-above", "PERCENT", "more idle processor time than this counts as idle", stepping, func(s *Settings) *int { return &s.IdleAbove }),
	whole("drop-from", "PERCENT", "progress from which a job is almost done", stepping, func(s *Settings) *int { return &s.DropFrom }),
	whole("count-from", "PERCENT", "progress from which a job counts in the mean", sampling, func(s *Settings) *int { return &s.CountFrom }),
	length("interval", "sampling interval, over which idle processors are measured", nil, func(s *Settings) *unit.Time { return &s.Look }),
	length("after-increase", "further wait after a raise, for it to take effect", stepping, func(s *Settings) *unit.Time { return &s.AfterIncrease }),
	length("lockout", "wait between a sample and the housekeeping after it", sampling, func(s *Settings) *unit.Time { return &s.Lockout }),
	length("nothing-waits", "further wait when no job waits", sampling, func(s *Settings) *unit.Time { return &s.NothingWaits }),
	length("settle", "wait after the first job was seen", nil, func(s *Settings) *unit.Time { return &s.Settle }),
	length("warm", "wait before the first sample that may act", nil, func(s *Settings) *unit.Time { return &s.Warm }),
	number("start", "SHARE", "share that lets exactly one job run; 0: derived from the sizes of AMs and queue", stepping, func(s *Settings) *float64 { return &s.Steps.Start }),
	number("inc", "SHARE", "share added to admit one job; 0: derived", stepping, func(s *Settings) *float64 { return &s.Steps.Inc }),
	number("dec", "SHARE", "share given back for a job that is almost done; 0: derived", stepping, func(s *Settings) *float64 { return &s.Steps.Dec }),
	{Param: steer.Param{Name: "am", Value: "MIB", Help: "memory of an AM, with one core; 0: the largest seen"},
		get: func(s *Settings) string { return strconv.FormatInt(s.AM.Mem, 10) },
		set: func(s *Settings, v string) error {
			n, err := strconv.ParseInt(v, 10, 32)
			if err != nil || n < 0 {
				return fmt.Errorf("%q is not a number of MiB", v)
			}
			if s.AM = (unit.Resources{}); n > 0 {
				s.AM = unit.Resources{Mem: n, Cores: 1}
			}
			return nil
		}},
	number("weight-current", "SHARE", "weight of the newest sample in the moving average; the rest is the one before's", sampling, func(s *Settings) *float64 { return &s.Current }).
		and(func(s *Settings) { s.Previous = 1 - s.Current }),
	choice("smoothing", "how progress between samples is smoothed", sampling, []string{"ema", "sma"}, func(s *Settings) int { return int(s.Smoothing) },
		func(s *Settings, i int) { s.Smoothing = Smoothing(i) }),
	whole("thresholds", "N", "how many thresholds are drawn", learning, func(s *Settings) *int { return &s.Thresholds }),
	whole("lowest", "N", "min threshold, in points of progress", learning, func(s *Settings) *int { return &s.Lowest }),
	whole("highest", "N", "greatest threshold", learning, func(s *Settings) *int { return &s.Highest }),
	whole("samples", "N", "samples for each threshold while exploring", learning, func(s *Settings) *int { return &s.SamplesPerThreshold }),
	whole("epsilon", "PERCENT", "choices that are random", learning, func(s *Settings) *int { return &s.Epsilon }),
	{Param: steer.Param{Name: "seed", Value: "N", Help: "of the random draws"}, of: learning,
		get: func(s *Settings) string { return strconv.FormatUint(s.Seed, 10) },
		set: func(s *Settings, v string) (err error) {
			if s.Seed, err = strconv.ParseUint(v, 10, 64); err != nil {
				return fmt.Errorf("%q is not a whole number", v)
			}
			return nil
		}},
	choice("ties", "which threshold is best among equals", learning, []string{"smallest", "largest", "latest"}, func(s *Settings) int { return int(s.Ties) },
		func(s *Settings, i int) { s.Ties = Tie(i) }),
	toggle("strict", "the growth must exceed the threshold", learning, func(s *Settings) *bool { return &s.Strict }),
	toggle("arm-by-index", "the random threshold is an index: a bug in the source's script", learning, func(s *Settings) *bool { return &s.ArmByIndex }),
	toggle("discard-first", "the first sample, which grows from nothing, is not scored", learning, func(s *Settings) *bool { return &s.DiscardFirst }),
	toggle("headroom", "raise only while the queue could run more tasks, and give back while running jobs get none; no: as published", moving, func(s *Settings) *bool { return &s.Headroom }),
	toggle("slots", "hold a whole number of AMs instead of adding steps", counting, func(s *Settings) *bool { return &s.Slots }),
	toggle("preset", "write the start value first, if it lies within the bounds", counting, func(s *Settings) *bool { return &s.Preset }),
	toggle("keep-found", "never below the value found, or set by a person since", counting, func(s *Settings) *bool { return &s.KeepFound }),
	toggle("started-first", "no further job while a started one has made less than 1 % of progress", stepping, func(s *Settings) *bool { return &s.StartedFirst }),
	length("per-sample", "progress is scaled to this time between samples; 0: as it comes", sampling, func(s *Settings) *unit.Time { return &s.PerSample }),
	toggle("per-job", "mean of each job's own progress, not difference of means", sampling, func(s *Settings) *bool { return &s.PerJob }),
	whole("force-after", "N", "admit a job after this many idle samples that did not; 0: never", sampling, func(s *Settings) *int { return &s.ForceAfter }),
	number("band-low", "SHARE", "lower edge of the band of memory in use", []string{"kalman-mem"}, func(s *Settings) *float64 { return &s.BandLow }),
	number("band-high", "SHARE", "upper edge of it", []string{"kalman-mem"}, func(s *Settings) *float64 { return &s.High }),
	length("max-age", "older snapshots are not acted on", nil, func(s *Settings) *unit.Time { return &s.MaxAge }),
	length("take-over", "this long after a write, another value than the one written is taken as somebody else's", nil, func(s *Settings) *unit.Time { return &s.TakeOver }),
}

// and does something more once the value is set.
func (p param) and(more func(*Settings)) param {
	set := p.set
	p.set = func(s *Settings, v string) error {
		err := set(s, v)
		if err == nil {
			more(s)
		}
		return err
	}
	return p
}

func number(name, value, help string, of []string, at func(*Settings) *float64) param {
	return param{Param: steer.Param{Name: name, Value: value, Help: help}, of: of,
		get: func(s *Settings) string { return strconv.FormatFloat(*at(s), 'g', -1, 64) },
		set: func(s *Settings, v string) error {
			x, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return fmt.Errorf("%q is not a number", v)
			}
			*at(s) = x
			return nil
		}}
}

func whole(name, value, help string, of []string, at func(*Settings) *int) param {
	return param{Param: steer.Param{Name: name, Value: value, Help: help}, of: of,
		get: func(s *Settings) string { return strconv.Itoa(*at(s)) },
		set: func(s *Settings, v string) error {
			x, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(v, "%")), 10, 32)
			if err != nil {
				return fmt.Errorf("%q is not a whole number", v)
			}
			*at(s) = int(x)
			return nil
		}}
}

func length(name, help string, of []string, at func(*Settings) *unit.Time) param {
	return param{Param: steer.Param{Name: name, Value: "TIME", Help: help}, of: of,
		get: func(s *Settings) string { return strconv.FormatFloat(at(s).Seconds(), 'f', -1, 64) + "s" },
		set: func(s *Settings, v string) error {
			x, err := unit.ParseTime(v)
			if err != nil {
				return err
			}
			*at(s) = x
			return nil
		}}
}

func toggle(name, help string, of []string, at func(*Settings) *bool) param {
	return param{Param: steer.Param{Name: name, Value: "yes|no", Help: help}, of: of,
		get: func(s *Settings) string {
			if *at(s) {
				return "yes"
			}
			return "no"
		},
		set: func(s *Settings, v string) error {
			switch v {
			case "yes", "true", "on", "1":
				*at(s) = true
			case "no", "false", "off", "0":
				*at(s) = false
			default:
				return fmt.Errorf("%q is neither yes nor no", v)
			}
			return nil
		}}
}

func choice(name, help string, of, words []string, at func(*Settings) int, put func(*Settings, int)) param {
	return param{Param: steer.Param{Name: name, Value: strings.Join(words, "|"), Help: help}, of: of,
		get: func(s *Settings) string { return words[at(s)] },
		set: func(s *Settings, v string) error {
			i := slices.Index(words, v)
			if i < 0 {
				return fmt.Errorf("%q is not one of %s", v, strings.Join(words, ", "))
			}
			put(s, i)
			return nil
		}}
}
