package live

import "github.com/yardmaster/yardmaster/result"

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
