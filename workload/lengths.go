package workload

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/yardmaster/yardmaster/unit"
)

// LengthKind says how a stage's task lengths are given.
type LengthKind uint8

// The ways to give task lengths.
const (
	Constant    LengthKind = iota // every task takes A
	List                          // task i takes Values[i]
	Quantiles                     // Values is an inverse distribution function at equal steps, first = minimum, last = maximum
	Exponential                   // mean A
	LogNormal                     // mean A, coefficient of variation P
	Pareto                        // minimum A, tail index P (> 0)
	Uniform                       // from A to B
	Cost                          // A + Work/Rate: start-up plus bytes over a declared rate
	lengthKinds
)

var lengthKindNames = [lengthKinds]string{"constant", "list", "quantiles", "exponential", "lognormal", "pareto", "uniform", "cost"}

func (k LengthKind) String() string {
	if k < lengthKinds {
		return lengthKindNames[k]
	}
	return fmt.Sprintf("LengthKind(%d)", k)
}

// ParseLengthKind is the inverse of String.
func ParseLengthKind(s string) (LengthKind, error) {
	for k, n := range lengthKindNames {
		if n == s {
			return LengthKind(k), nil
		}
	}
	return 0, fmt.Errorf("unknown kind of task lengths %q: want one of %v", s, lengthKindNames)
}

// Lengths says how long the tasks of a stage run, once their input is there.
type Lengths struct {
	Kind   LengthKind
	A, B   unit.Time
	P      float64
	Values []unit.Time
	Work   unit.Bytes // Cost: bytes a task handles
	Rate   float64    // Cost: bytes a second
}

// Fixed is a constant length.
func Fixed(t unit.Time) Lengths { return Lengths{Kind: Constant, A: t} }

// Validate reports invalid lengths.
func (l *Lengths) Validate(tasks int64) error {
	if l.A < 0 || l.B < 0 {
		return fmt.Errorf("%v task lengths: negative time", l.Kind)
	}
	if l.A > MaxLength || l.B > MaxLength {
		return fmt.Errorf("%v task lengths of more than %v", l.Kind, MaxLength)
	}
	switch l.Kind {
	case List:
		if int64(len(l.Values)) != tasks {
			return fmt.Errorf("lists %d task lengths for %d tasks", len(l.Values), tasks)
		}
	case Quantiles:
		if len(l.Values) == 0 && tasks > 0 {
			return fmt.Errorf("quantile table of task lengths is empty")
		}
	case Pareto:
		if !(l.P > 0) || math.IsInf(l.P, 0) {
			return fmt.Errorf("pareto task lengths need a positive tail index, not %v", l.P)
		}
	case LogNormal:
		if !(l.P >= 0) || math.IsInf(l.P, 0) {
			return fmt.Errorf("lognormal task lengths need a coefficient of variation >= 0, not %v", l.P)
		}
	case Uniform:
		if l.B < l.A {
			return fmt.Errorf("uniform task lengths from %v to %v", l.A, l.B)
		}
	case Cost:
		if !(l.Rate > 0) || math.IsInf(l.Rate, 0) || l.Work < 0 {
			return fmt.Errorf("cost model of task lengths needs bytes >= 0 and a positive rate, not %d at %v/s", l.Work, l.Rate)
		}
	case Constant, Exponential:
	default:
		return fmt.Errorf("unknown kind of task lengths %d", l.Kind)
	}
	prev := unit.Time(0)
	for i, v := range l.Values {
		if v < 0 || v > MaxLength {
			return fmt.Errorf("%v task length %d is %v: it must be between 0 and %v", l.Kind, i, v, MaxLength)
		}
		if l.Kind == Quantiles && v < prev {
			return fmt.Errorf("quantile table of task lengths falls at entry %d", i)
		}
		prev = v
	}
	return nil
}

// MaxLength is the maximum task length. It keeps an extreme draw of a heavy tail from overflowing the clock.
const MaxLength = 10 * 365 * unit.Day

// Draw returns the length of task i. It is a pure function of l, i and seed: order and number of calls do not matter.
func (l *Lengths) Draw(i int64, seed uint64) unit.Time {
	switch l.Kind {
	case Constant:
		return l.A
	case Cost:
		return clampLength(float64(l.A) + float64(l.Work)/l.Rate*float64(unit.Second))
	case List:
		return l.Values[i]
	case Quantiles:
		// Fixed-point: a random 64-bit fraction times the number of steps is a step and a position within it.
		step, place := bits.Mul64(Seed(seed, uint64(i)), uint64(len(l.Values)-1))
		lo := l.Values[step]
		if place == 0 {
			return lo
		}
		part, _ := bits.Mul64(place, uint64(l.Values[step+1]-lo))
		return lo + unit.Time(part)
	}
	u := Uniform01(seed, uint64(i))
	switch l.Kind {
	case Exponential:
		return clampLength(-math.Log(1-u) * float64(l.A))
	case LogNormal:
		s2 := math.Log1p(l.P * l.P)
		return clampLength(math.Exp(math.Sqrt(s2)*normalQuantile(u)-s2/2) * float64(l.A))
	case Pareto:
		return clampLength(math.Pow(1-u, -1/l.P) * float64(l.A))
	case Uniform:
		return l.A + unit.Time(u*float64(l.B-l.A))
	}
	panic("workload: task lengths of unknown kind " + l.Kind.String())
}

// IsConstant reports whether every task takes the same time, and how long.
func (l *Lengths) IsConstant() (unit.Time, bool) {
	switch {
	case l.Kind == Constant, l.Kind == Cost:
		return l.Draw(0, 0), true
	case l.Kind == Uniform && l.A == l.B:
		return l.A, true
	}
	return 0, false
}

func clampLength(us float64) unit.Time {
	if !(us < float64(MaxLength)) {
		return MaxLength
	}
	return unit.Time(math.Round(us))
}

// Mix is the finaliser of SplitMix64: a bijection of 64 bits whose outputs look random.
func Mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// Seed derives the seed of a named part of a run: a job, a stage, a node.
func Seed(base, part uint64) uint64 { return Mix(base + 0x9e3779b97f4a7c15*(part+1)) }

// Uniform01 is the i-th number in [0,1) of the stream that seed names.
func Uniform01(seed, i uint64) float64 { return float64(Seed(seed, i)>>11) * 0x1p-53 }

// normalQuantile is the inverse of the standard normal distribution function.
func normalQuantile(u float64) float64 {
	if u <= 0 {
		u = 0x1p-54
	}
	return math.Sqrt2 * math.Erfinv(2*u-1)
}
