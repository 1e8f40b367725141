package synth

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// CountKind says how a number of tasks is drawn.
type CountKind uint8

// Kinds of counts. All but Share are independent of other stages.
const (
	Same          CountKind = iota // always Min
	Between                        // Min to Max, each as likely
	BoundedPareto                  // Min to Max, tail index Shape: P(X > x) falls as x^-Shape
	LogNormal                      // median Mid, standard deviation of the logarithm Shape; kept within Min and Max
	Share                          // Mid times the tasks of the stage before, rounded; kept within Min and Max
)

// Count is a distribution of numbers of tasks.
type Count struct {
	Kind       CountKind
	Min, Max   int64
	Mid, Shape float64
}

// N is always n.
func N(n int64) Count { return Count{Kind: Same, Min: n} }

func (c *Count) validate(later bool) error {
	bounded := c.Min <= c.Max && c.Max <= maxCount
	positive := func(x float64) bool { return x > 0 && !math.IsInf(x, 0) }
	ok := c.Min >= 0 && c.Min <= maxCount
	switch c.Kind {
	case Same:
	case Between:
		ok = ok && bounded
	case BoundedPareto:
		ok = ok && bounded && c.Min >= 1 && positive(c.Shape)
	case LogNormal:
		ok = ok && bounded && positive(c.Mid) && c.Shape >= 0 && c.Shape <= 20
	case Share:
		ok = ok && bounded && positive(c.Mid) && later
	default:
		return fmt.Errorf("number of tasks of unknown kind %d", c.Kind)
	}
	if !ok {
		return fmt.Errorf("number of tasks: minimum %d, maximum %d, middle %v, shape %v do not fit together (max is %d)",
			c.Min, c.Max, c.Mid, c.Shape, maxCount)
	}
	return nil
}

// draw turns a uniform number in [0,1) into a count; before is the count of the stage before.
func (c *Count) draw(u float64, before int64) int64 {
	switch c.Kind {
	case Same:
		return c.Min
	case Between:
		return c.Min + int64(u*float64(c.Max-c.Min+1))
	case BoundedPareto:
		// The inverse of F(x) = (1 - (lo/x)^a) / (1 - (lo/hi)^a), with hi one past Max because of the rounding down.
		lo, hi := float64(c.Min), float64(c.Max)+1
		x := lo * math.Pow(1-u*(1-math.Pow(lo/hi, c.Shape)), -1/c.Shape)
		return c.keep(math.Floor(x))
	case LogNormal:
		z := math.Sqrt2 * math.Erfinv(2*max(u, 0x1p-54)-1)
		return c.keep(math.Round(c.Mid * math.Exp(c.Shape*z)))
	case Share:
		return c.keep(math.Round(c.Mid * float64(before)))
	}
	panic(fmt.Sprintf("synth: count of unknown kind %d", c.Kind))
}

func (c *Count) keep(x float64) int64 { return int64(min(max(x, float64(c.Min)), float64(c.Max))) }

// Mean is the mean task length in seconds. A Pareto tail without a mean (index up to 1) counts as ten times its minimum.
func Mean(l workload.Lengths) float64 {
	switch l.Kind {
	case workload.Uniform:
		return (l.A.Seconds() + l.B.Seconds()) / 2
	case workload.Pareto:
		if l.P <= 1 {
			return 10 * l.A.Seconds()
		}
		return l.A.Seconds() * l.P / (l.P - 1)
	case workload.Cost:
		return l.A.Seconds() + float64(l.Work)/l.Rate
	case workload.List:
		sum := 0.0
		for _, v := range l.Values {
			sum += v.Seconds()
		}
		return sum / float64(max(1, len(l.Values)))
	case workload.Quantiles:
		// Linear between the entries: the trapezoid rule.
		n := len(l.Values)
		if n < 2 {
			return Mean(workload.Lengths{Kind: workload.List, Values: l.Values})
		}
		sum := (l.Values[0].Seconds() + l.Values[n-1].Seconds()) / 2
		for _, v := range l.Values[1 : n-1] {
			sum += v.Seconds()
		}
		return sum / float64(n-1)
	}
	return l.A.Seconds()
}

// Stretch returns task lengths that are f times as long.
func Stretch(l workload.Lengths, f float64) workload.Lengths {
	if f == 1 {
		return l
	}
	times := func(t unit.Time) unit.Time { return unit.FromSeconds(t.Seconds() * f) }
	l.A, l.B = times(l.A), times(l.B)
	l.Work = unit.Bytes(float64(l.Work) * f)
	if len(l.Values) > 0 {
		values := make([]unit.Time, len(l.Values))
		for i, v := range l.Values {
			values[i] = times(v)
		}
		l.Values = values
	}
	return l
}
