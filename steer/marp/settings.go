package marp

import (
	"fmt"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// Tie says which threshold is best among those with the same score.
type Tie uint8

// Tie-breaking rules.
const (
	Smallest Tie = iota
	Largest
	Latest // in the order in which they were drawn
)

// Settings are a controller's parameters: those of the common loop, and those of each controller. Defaults gives the
// source's, with Headroom; every other switch is off there.
type Settings struct {
	Queue   string // the queue to steer
	Limit   amlimit.Limit
	Minimum unit.Resources // the scheduler's minimum allocation: sizes of AMs are rounded up to it
	AM      unit.Resources // size of an AM; zero: the largest seen
	Min     float64        // lower bound; 0: one AM's share
	Max     float64        // upper bound

	Interval      unit.Time // sampling interval, over which idle processors are measured
	AfterIncrease unit.Time // further wait after a raise, for it to take effect
	Settle, Warm  unit.Time // waits at the start: after the first job was seen, and before the first sample that may act
	MaxAge        unit.Time // older snapshots are not acted on
	TakeOver      unit.Time // this long after a write, a value other than the one written is taken as somebody else's, and as ours from then on

	// Headroom counts idle processors only as far as the queue can use them: nothing is raised while the queue has no room for another job, or
	// while running jobs get nothing for their tasks, and the share that such jobs were admitted with is given back. The source has no such rule:
	// its one queue is the whole cluster.
	Headroom bool

	Steps     Steps // zero: derived when the batch begins
	Slots     bool  // hold a whole number of AMs instead of adding steps, which drift by Inc - Dec a job
	Service   bool  // later jobs join the batch; at its end the controller waits for the next one
	KeepFound bool  // never below the value found, or set by a person since, unless Min says so
	Preset    bool  // write Steps.Start first, if it lies within the bounds

	Idling
	Sampling
	Learning
	Forecasting
	Band
	Fixed
}

// Idling are the settings of cbt, cbtws and cbtwat, which act on idle processors.
type Idling struct {
	IdleAbove    int  // percent of idle processor time, a whole number; more than this counts as idle
	DropFrom     int  // percent of progress, its whole part, from which a job is almost done
	StartedFirst bool // no further job while a started one has made less than 1 % of progress
}

// Sampling are the settings of cbtws and cbtwat, which sample progress.
type Sampling struct {
	CountFrom         int       // percent of progress, its whole part, from which a job counts in the mean
	Lockout           unit.Time // wait between a sample and the housekeeping after it
	NothingWaits      unit.Time // further wait when nothing waits
	Current, Previous float64   // weights of the moving average; they sum to 1
	Smoothing         Smoothing
	PerSample         unit.Time // progress is scaled to this length between samples; 0: as it comes
	PerJob            bool      // mean of each job's own progress over jobs that are in both samples, not difference of means
	ForceAfter        int       // admit a job after this many consecutive idle samples that did not; 0: never
}

// Learning are the settings of cbtwat, which learns a threshold.
type Learning struct {
	Thresholds          int    // how many are drawn
	Lowest, Highest     int    // of the thresholds, in points of progress
	SamplesPerThreshold int    // while exploring
	Epsilon             int    // percent of choices that are random
	Seed                uint64 // of the draws
	Strict              bool   // the growth must exceed the threshold
	ArmByIndex          bool   // the random threshold is an index (1, 2, 3): a bug in the source's script
	Ties                Tie
	DiscardFirst        bool // the first sample, which grows from nothing, is not scored
}

// Forecasting are the settings of ahead.
type Forecasting struct {
	IdleTarget float64 // share of idle processors to leave
}

// Band are the settings of kalman-mem: of the share of memory in use.
type Band struct{ BandLow, High float64 }

// Fixed are the settings of static.
type Fixed struct{ Value float64 }

// Defaults are the settings of the named controller for one queue; an unknown name has those of cbt.
func Defaults(name, queue string) Settings {
	s := Settings{
		Queue: queue, Limit: amlimit.Fair, Minimum: unit.Resources{Mem: 1024, Cores: 1}, Max: 1, Headroom: true,
		Interval: unit.Second, AfterIncrease: 30 * unit.Second, Settle: 5 * unit.Second, Warm: 10 * unit.Second,
		MaxAge: 10 * unit.Second, TakeOver: 30 * unit.Second,
		Idling:      Idling{IdleAbove: 15, DropFrom: 90},
		Sampling:    Sampling{CountFrom: 1, Lockout: 15 * unit.Second, NothingWaits: 20 * unit.Second, Current: 0.40, Previous: 0.60},
		Learning:    Learning{Thresholds: 3, Lowest: 1, Highest: 4, SamplesPerThreshold: 3, Epsilon: 10},
		Forecasting: Forecasting{IdleTarget: 0.15},
		Band:        Band{BandLow: 0.90, High: 0.95},
	}
	switch name {
	case "cbt":
		s.DropFrom = 96
	case "cbtwat":
		s.Warm = 5 * unit.Second
	case "ahead":
		s.Slots, s.Settle, s.Warm, s.AfterIncrease = true, 0, 0, 0
	case "kalman-mem":
		s.Limit, s.Min = amlimit.Capacity, 0.1
		s.Interval, s.Settle, s.Warm, s.AfterIncrease = 1001*unit.Millisecond, 0, 0, 0
	case "static":
		s.Interval, s.Settle, s.Warm, s.AfterIncrease = 10*unit.Second, 0, 0, 0
	}
	return s
}

// On adapts settings to a scheduler. Where a new share takes effect immediately, an increase only has to wait for room for an AM:
// 15 s instead of the source's 30.
func (s Settings) On(l amlimit.Limit) Settings {
	if s.Limit = l; l.AtOnce && s.AfterIncrease > 15*unit.Second {
		s.AfterIncrease = 15 * unit.Second
	}
	return s
}

// Within applies bounds to settings.
func (s Settings) Within(b steer.Bounds) Settings {
	if !b.UntilEmpty {
		s = s.AsService()
	}
	if s.Max = b.Max; b.Min > 0 {
		s.Min = b.Min
	}
	s.Min = min(s.Min, s.Max)
	s.TakeOver += b.Spacing // a queued change still counts as ours
	return s
}

// AsService adapts settings to a queue to which jobs keep coming. The source's controllers were made for batches of a few long jobs:
// they admit at most one job in a cycle of half a minute or more, and cbtws and cbtwat may admit nobody for as long as progress is
// steady. Left alone with many short jobs they would be stricter than the original value. So a service never goes below that
// value, and admits a job after three idle samples that did not.
func (s Settings) AsService() Settings {
	s.Service, s.KeepFound, s.ForceAfter = true, true, 3
	return s
}

// Check validates settings for the named controller.
func (s *Settings) Check(name string) error {
	bad := func(format string, a ...any) error { return fmt.Errorf("settings of "+name+": "+format, a...) }
	share := func(x float64) bool { return x >= 0 && x <= 1 } // false for NaN
	switch {
	case !slices.Contains(Names(), name):
		return fmt.Errorf("there is no controller %q: choose one of %v", name, Names())
	case s.Queue == "":
		return bad("name the queue")
	case s.Limit.Property == "":
		return bad("the scheduler has no AM share that could be moved")
	case s.AM.Mem < 0 || s.AM.Cores < 0 || s.Minimum.Mem < 0 || s.Minimum.Cores < 0:
		return bad("a size is negative")
	case s.Steps != Steps{} && !(s.Steps.Inc > 0 && s.Steps.Dec >= 0 && s.Steps.Start > 0 && share(s.Steps.Inc) && share(s.Steps.Dec) && share(s.Steps.Start)):
		return bad("steps %v: each is a share from 0 to 1; give all or none", s.Steps)
	case !share(s.Min) || !(s.Max > 0) || s.Max > 1 || s.Min > s.Max:
		return bad("bounds %v to %v: they lie within 0 and 1", s.Min, s.Max)
	case s.IdleAbove < 0 || s.IdleAbove > 99 || s.DropFrom < 1 || s.DropFrom > 100 || s.CountFrom < 0 || s.CountFrom > 100:
		return bad("a percentage lies outside 0 to 100")
	case s.Interval < unit.Millisecond || min(s.AfterIncrease, s.Lockout, s.NothingWaits, s.Settle, s.Warm, s.PerSample) < 0:
		return bad("a wait is negative, or samples are closer than a millisecond")
	case max(s.Interval, s.AfterIncrease, s.Lockout, s.NothingWaits, s.Settle, s.Warm, s.PerSample) > unit.Day:
		return bad("a wait is longer than a day")
	case !share(s.Current) || !share(s.Previous) || math.Abs(s.Current+s.Previous-1) > 1e-9:
		return bad("weights %v and %v do not sum to 1", s.Current, s.Previous)
	case s.Lowest < 1 || s.Highest < s.Lowest || s.Highest > 100 || s.Thresholds < 1 || s.Thresholds > s.Highest-s.Lowest+1:
		return bad("%d different thresholds cannot be drawn from %d to %d", s.Thresholds, s.Lowest, s.Highest)
	case s.SamplesPerThreshold < 1 || s.Epsilon < 0 || s.Epsilon > 100 || s.Ties > Latest || s.Smoothing > SMA || s.ForceAfter < 0:
		return bad("samples per threshold, epsilon, ties, smoothing or force-after is out of range")
	case s.MaxAge <= 0 || s.TakeOver <= 0:
		return bad("the greatest age of a snapshot and the time until a value is taken over are positive")
	case !(s.IdleTarget > 0 && s.IdleTarget < 1):
		return bad("target %v of idle processors: it lies between 0 and 1", s.IdleTarget)
	case !(0 < s.BandLow && s.BandLow <= s.High && s.High < 1):
		return bad("band %v to %v: it lies between 0 and 1", s.BandLow, s.High)
	case name == "static" && !(s.Value > 0 && s.Value <= 1):
		return bad("value %v: it needs the share to write, above 0 and at most 1: value=0.3", s.Value)
	case name == "ahead" && !s.Slots:
		return bad("it counts AMs: slots cannot be switched off")
	}
	return nil
}
