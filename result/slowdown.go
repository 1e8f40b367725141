package result

import (
	"math"

	"github.com/yardmaster/yardmaster/unit"
)

// Variability is V(q) of slowdowns, their q-quantile over their median. It is 1 at every q if all jobs are delayed in proportion to their
// sizes.
func Variability(slowdowns []float64, q float64) float64 {
	return Quantile(slowdowns, q) / Quantile(slowdowns, 0.5)
}

// SCV is the squared coefficient of variation of a population, variance over squared mean.
func SCV(xs []float64) float64 {
	mean := Mean(xs).Mean
	return Variance(xs) * float64(len(xs)-1) / float64(len(xs)) / (mean * mean)
}

// Classes beyond these do not occur: from a microsecond to more than unit.Never.
const minClass, maxClass = -14, 24

// SizeClass is the class of a job by its size: i for 10 x 10^(i/2) seconds and more, below 10 x 10^((i+1)/2).
func SizeClass(size unit.Time) int {
	s := size.Seconds()
	i := int(math.Floor(2 * math.Log10(s/10)))
	if s >= classFrom(i+1) { // the logarithm was rounded down
		i++
	}
	return i
}

func classFrom(class int) float64 { return 10 * math.Pow(10, float64(class)/2) }
