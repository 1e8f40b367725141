package live

import (
	"math"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/studies/experiment"
)

// judged is whether a prediction holds.
type judged string

const (
	met       judged = "met"
	missed    judged = "**missed**"
	undecided judged = "undecided"
)

// judge says whether a predicted change is within the tolerance of the measured one. That is decided only where the whole interval of the measurement is within
// it, or outside.
func judge(said float64, is result.Estimate) judged {
	switch {
	case is.Low >= said-tolerance && is.High <= said+tolerance:
		return met
	case is.High < said-tolerance || is.Low > said+tolerance:
		return missed
	}
	return undecided
}

// relative is the relative change of a figure from one arm to another, with an interval of 95 % from those of the two means.
func relative(of *experiment.Runs, from, to, metric string) result.Estimate {
	a, b := of.Estimate(from, metric), of.Estimate(to, metric)
	half := b.Mean / a.Mean * math.Hypot(a.Half()/a.Mean, b.Half()/b.Mean)
	if !a.Known || !b.Known { // of a single run
		half = math.Inf(1)
	}
	change := b.Mean/a.Mean - 1
	return result.Estimate{N: min(a.N, b.N), Mean: change, Low: change - half, High: change + half, Known: !math.IsInf(half, 1)}
}
