package conf

import (
	"math"
	"strconv"

	"github.com/yardmaster/yardmaster/unit"
)

// preemption holds the settings of the root queue, which are the defaults of all others.
type preemption struct {
	minShare, fairShare unit.Time
	threshold           float64
	named               bool // defaultFairSharePreemptionTimeout was given: it overrides its older name
}

// preemptionDefaults reads a top-level element that may concern preemption.
func (f *fairReader) preemptionDefaults(e *Element, p *preemption) (err error) {
	switch e.Name {
	case "defaultMinSharePreemptionTimeout":
		p.minShare, err = f.seconds(e)
	case "defaultFairSharePreemptionTimeout":
		p.named = true
		p.fairShare, err = f.seconds(e)
	case "fairSharePreemptionTimeout":
		var t unit.Time
		if t, err = f.seconds(e); !p.named {
			p.fairShare = t
		}
	case "defaultFairSharePreemptionThreshold":
		p.threshold, err = f.part(e)
	default:
		f.other(e, fairTopWords)
	}
	return err
}

// preempts notes an element that has an effect only with preemption.
func (f *fairReader) preempts(e *Element) {
	f.other(e, nil)
	f.Preemption = append(f.Preemption, f.NotModelled[len(f.NotModelled)-1])
}

func (f *fairReader) seconds(e *Element) (unit.Time, error) {
	f.preempts(e)
	v, err := strconv.ParseInt(e.Value(), 10, 64)
	if err != nil {
		return 0, e.Pos().Errorf("<%s> is %q: want a whole number of seconds", e.Name, shorten(e.Value()))
	}
	if v >= math.MaxInt64/int64(unit.Second) {
		return unit.Never, nil
	}
	return unit.Time(max(v, 0)) * unit.Second, nil
}

// part parses a number that Hadoop clamps to 0 to 1.
func (f *fairReader) part(e *Element) (float64, error) {
	f.preempts(e)
	v, err := strconv.ParseFloat(e.Value(), 32)
	if err != nil || math.IsNaN(v) {
		return 0, e.Pos().Errorf("<%s> is %q: want a number between 0 and 1", e.Name, shorten(e.Value()))
	}
	return max(min(v, 1), 0), nil
}
