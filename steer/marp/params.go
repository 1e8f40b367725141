package marp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/internal/setting"
	"github.com/yardmaster/yardmaster/unit"
)

// concerns reports whether a controller reads a setting. What the engine knows (queue, limit, minimum allocation) has none.
func concerns(p *setting.Of[Settings], controller string) bool {
	return len(p.For) == 0 || slices.Contains(p.For, controller)
}

// Set parses the named setting of a controller. A setting that only other controllers read is rejected.
func (s *Settings) Set(controller, name, value string) error {
	i := slices.IndexFunc(params, func(p setting.Of[Settings]) bool { return p.Name == name })
	if i < 0 {
		return fmt.Errorf("there is no setting %q; \"yardmaster yarn policies\" lists them, and bounds such as the minimum and maximum have flags of their own", name)
	}
	p := &params[i]
	if !concerns(p, controller) {
		return fmt.Errorf("%s: %s does not read it; %s", name, controller, readers(p.For))
	}
	if err := p.Set(s, strings.TrimSpace(value)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.Previous = 1 - s.Current // only one of the weights is a setting
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

var params = []setting.Of[Settings]{
	number("value", "SHARE", "the share to write; needed", []string{"static"}, func(s *Settings) *float64 { return &s.Value }),
	number("idle-target", "SHARE", "share of idle processors to leave", []string{"ahead"}, func(s *Settings) *float64 { return &s.IdleTarget }),
	whole("idle-above", "PERCENT", "more idle processor time than this counts as idle", stepping, func(s *Settings) *int { return &s.IdleAbove }),
	whole("drop-from", "PERCENT", "progress from which a job is almost done", stepping, func(s *Settings) *int { return &s.DropFrom }),
	whole("count-from", "PERCENT", "progress from which a job counts in the mean", sampling, func(s *Settings) *int { return &s.CountFrom }),
	length("interval", "sampling interval, over which idle processors are measured", nil, func(s *Settings) *unit.Time { return &s.Interval }),
	length("after-increase", "further wait after a raise, for it to take effect", stepping, func(s *Settings) *unit.Time { return &s.AfterIncrease }),
	length("lockout", "wait between a sample and the housekeeping after it", sampling, func(s *Settings) *unit.Time { return &s.Lockout }),
	length("nothing-waits", "further wait when no job waits", sampling, func(s *Settings) *unit.Time { return &s.NothingWaits }),
	length("settle", "wait after the first job was seen", nil, func(s *Settings) *unit.Time { return &s.Settle }),
	length("warm", "wait before the first sample that may act", nil, func(s *Settings) *unit.Time { return &s.Warm }),
	number("start", "SHARE", "share that lets exactly one job run; 0: derived from the sizes of AMs and queue", stepping, func(s *Settings) *float64 { return &s.Steps.Start }),
	number("inc", "SHARE", "share added to admit one job; 0: derived", stepping, func(s *Settings) *float64 { return &s.Steps.Inc }),
	number("dec", "SHARE", "share given back for a job that is almost done; 0: derived", stepping, func(s *Settings) *float64 { return &s.Steps.Dec }),
	setting.Value("am", "", "MIB", "memory of an AM, with one core; 0: the largest seen", func(s *Settings) *unit.Resources { return &s.AM }, readAM,
		func(am unit.Resources) string { return strconv.FormatInt(am.Mem, 10) }),
	number("weight-current", "SHARE", "weight of the newest sample in the moving average; the rest is the one before's", sampling, func(s *Settings) *float64 { return &s.Current }),
	choice("smoothing", "how progress between samples is smoothed", sampling, []string{"ema", "sma"}, func(s *Settings) *Smoothing { return &s.Smoothing }),
	whole("thresholds", "N", "how many thresholds are drawn", learning, func(s *Settings) *int { return &s.Thresholds }),
	whole("lowest", "N", "min threshold, in points of progress", learning, func(s *Settings) *int { return &s.Lowest }),
	whole("highest", "N", "greatest threshold", learning, func(s *Settings) *int { return &s.Highest }),
	whole("samples", "N", "samples for each threshold while exploring", learning, func(s *Settings) *int { return &s.SamplesPerThreshold }),
	whole("epsilon", "PERCENT", "choices that are random", learning, func(s *Settings) *int { return &s.Epsilon }),
	setting.Value("seed", "", "N", "of the random draws", func(s *Settings) *uint64 { return &s.Seed }, func(v string) (uint64, error) {
		n, err := strconv.ParseUint(v, 10, 64)
		return n, expect(err, v, "a whole number")
	}, func(n uint64) string { return strconv.FormatUint(n, 10) }).On(learning...),
	choice("ties", "which threshold is best among equals", learning, []string{"smallest", "largest", "latest"}, func(s *Settings) *Tie { return &s.Ties }),
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

// expect says what a value should have been.
func expect(err error, value, want string) error {
	if err != nil {
		return fmt.Errorf("%q is not %s", value, want)
	}
	return nil
}

func readAM(v string) (unit.Resources, error) {
	n, err := strconv.ParseUint(v, 10, 31)
	if err != nil || n == 0 {
		return unit.Resources{}, expect(err, v, "a number of MiB")
	}
	return unit.Resources{Mem: int64(n), Cores: 1}, nil
}

func number(name, value, help string, of []string, at func(*Settings) *float64) setting.Of[Settings] {
	return setting.Value(name, "", value, help, at, func(v string) (float64, error) {
		x, err := strconv.ParseFloat(v, 64)
		return x, expect(err, v, "a number")
	}, setting.Float).On(of...)
}

func whole(name, value, help string, of []string, at func(*Settings) *int) setting.Of[Settings] {
	return setting.Value(name, "", value, help, at, func(v string) (int, error) {
		x, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(v, "%")), 10, 32)
		return int(x), expect(err, v, "a whole number")
	}, strconv.Itoa).On(of...)
}

func length(name, help string, of []string, at func(*Settings) *unit.Time) setting.Of[Settings] {
	return setting.Value(name, "", "TIME", help, at, unit.ParseTime, func(t unit.Time) string {
		return strconv.FormatFloat(t.Seconds(), 'f', -1, 64) + "s"
	}).On(of...)
}

func toggle(name, help string, of []string, at func(*Settings) *bool) setting.Of[Settings] {
	return setting.Value(name, "", "yes|no", help, at, func(v string) (bool, error) {
		switch v {
		case "yes", "true", "on", "1":
			return true, nil
		case "no", "false", "off", "0":
			return false, nil
		}
		return false, fmt.Errorf("%q is neither yes nor no", v)
	}, func(on bool) string {
		if on {
			return "yes"
		}
		return "no"
	}).On(of...)
}

func choice[V ~uint8](name, help string, of, words []string, at func(*Settings) *V) setting.Of[Settings] {
	return setting.Value(name, "", strings.Join(words, "|"), help, at, func(v string) (V, error) {
		i := slices.Index(words, v)
		if i < 0 {
			return 0, fmt.Errorf("%q is not one of %s", v, strings.Join(words, ", "))
		}
		return V(i), nil
	}, func(v V) string { return words[v] }).On(of...)
}
