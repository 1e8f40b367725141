package synth

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// ArrivalKind says how submissions are spread over time.
type ArrivalKind uint8

// Kinds of arrivals.
const (
	Poisson ArrivalKind = iota // independent of each other, at Rate
	Batch                      // Size at once, each Size/Rate, the first at 0; Rate 0: only once
	Bursts                     // Poisson, busy and quiet by turns
)

func (k ArrivalKind) String() string {
	names := [...]string{"poisson", "batch", "bursts"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("ArrivalKind(%d)", k)
}

// Arrivals is a process of submissions.
type Arrivals struct {
	Kind  ArrivalKind
	Rate  float64   // jobs a second, in the long run
	Size  int64     // Batch: jobs at once
	Start unit.Time // the process starts here
	// Bursts: busy and quiet periods have exponential lengths with these means; in a quiet one jobs arrive at Calm
	// (0 to 1) times the busy rate. The rates are set such that the mean is Rate.
	Busy, Quiet unit.Time
	Calm        float64
}

func (a *Arrivals) validate() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%v arrivals: %s", a.Kind, fmt.Sprintf(format, args...))
	}
	once := a.Kind == Batch && a.Rate == 0
	if !once && !(a.Rate > 0 && a.Rate <= 1e6) {
		return fail("a rate of %v jobs a second", a.Rate)
	}
	if a.Start < 0 {
		return fail("start at %v", a.Start)
	}
	switch a.Kind {
	case Poisson:
	case Batch:
		if a.Size < 1 {
			return fail("batches of %d jobs", a.Size)
		}
	case Bursts:
		if a.Busy < unit.Second || a.Quiet < 0 || !(a.Calm >= 0 && a.Calm <= 1) {
			return fail("busy for %v, quiet for %v at %v of the busy rate", a.Busy, a.Quiet, a.Calm)
		}
	default:
		return fail("unknown")
	}
	return nil
}

// clock yields the arrival times of one process.
type clock struct {
	a    Arrivals
	seed uint64
	k    int64
	now  float64 // seconds since Start: Poisson and Bursts

	busyRate float64 // Bursts
	period   uint64  // number of the period, even ones are busy
	ends     float64 // of the period
}

// Streams of random numbers beside that of the gaps.
const periodStream = 0x706572696f64 // "period"

func newClock(a Arrivals, seed uint64) clock {
	c := clock{a: a, seed: workload.Seed(seed, 0x636c6f636b)}
	if a.Kind == Bursts {
		on, off := a.Busy.Seconds(), a.Quiet.Seconds()
		c.busyRate = a.Rate * (on + off) / (on + a.Calm*off)
		c.ends = c.length(0)
	}
	return c
}

// length is how long period p lasts, in seconds.
func (c *clock) length(p uint64) float64 {
	mean := c.a.Busy.Seconds()
	if p%2 == 1 {
		mean = c.a.Quiet.Seconds()
	}
	return mean * unitExponential(workload.Seed(c.seed, periodStream), p)
}

func unitExponential(seed, i uint64) float64 { return -math.Log(1 - workload.Uniform01(seed, i)) }

// next is the time of the next submission; unit.Never when there is none.
func (c *clock) next() unit.Time {
	k := c.k
	c.k++
	at := 0.0
	switch c.a.Kind {
	case Batch:
		if batch := k / c.a.Size; batch > 0 {
			if c.a.Rate == 0 {
				return unit.Never
			}
			at = float64(batch) * float64(c.a.Size) / c.a.Rate
		}
	case Poisson:
		c.now += unitExponential(c.seed, uint64(k)) / c.a.Rate
		at = c.now
	case Bursts:
		at = c.burst(unitExponential(c.seed, uint64(k)))
	}
	t := unit.FromSeconds(at)
	if t > unit.Never-c.a.Start {
		return unit.Never
	}
	return c.a.Start + t
}

// burst spends an amount of expected arrivals along the periods: a Poisson process of unit rate, on a clock that runs
// fast in busy periods and slowly in quiet ones.
func (c *clock) burst(amount float64) float64 {
	for {
		rate := c.busyRate
		if c.period%2 == 1 {
			rate *= c.a.Calm
		}
		room := (c.ends - c.now) * rate
		if amount < room {
			c.now += amount / rate
			return c.now
		}
		if c.now > unit.Never.Seconds() { // from here on periods vanish in rounding
			return c.now
		}
		amount -= room
		c.now = c.ends
		c.period++
		c.ends = c.now + c.length(c.period)
	}
}
