package result

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Estimate is a mean over repetitions with its 95 % interval. With a single repetition there is no interval: Low and
// High equal the mean and Known is false.
type Estimate struct {
	N     int     `json:"n"`
	Mean  float64 `json:"mean"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Known bool    `json:"known"`
}

// Half is half the width of the interval.
func (e Estimate) Half() float64 { return (e.High - e.Low) / 2 }

// Mean estimates the mean of xs with Student's t interval, mean +- t(0.975, n-1) s / sqrt(n).
func Mean(xs []float64) Estimate {
	e := Estimate{N: len(xs)}
	if len(xs) == 0 {
		return e
	}
	n := float64(len(xs))
	for _, x := range xs {
		e.Mean += x
	}
	e.Mean /= n
	e.Low, e.High = e.Mean, e.Mean
	if len(xs) < 2 {
		return e
	}
	half := tQuantile(len(xs)-1) * math.Sqrt(variance(xs, e.Mean)/n)
	e.Low, e.High, e.Known = e.Mean-half, e.Mean+half, true
	return e
}

func variance(xs []float64, mean float64) float64 {
	var ss float64
	for _, x := range xs {
		ss += (x - mean) * (x - mean)
	}
	return ss / float64(len(xs)-1)
}

// Variance is that of a sample; NaN for less than two values.
func Variance(xs []float64) float64 {
	if len(xs) < 2 {
		return math.NaN()
	}
	return variance(xs, Mean(xs).Mean)
}

// Quantile is the q-quantile of unsorted values, 0 <= q <= 1, as series computes it; NaN if empty.
func Quantile(xs []float64, q float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	return between(slices.Sorted(slices.Values(xs)), q)
}

// between is the q-quantile of sorted values. With x[0] <= ... <= x[n-1] and h = (n-1)q, it is the line between x[floor h] and x[ceil h]
// at h (type 7 of Hyndman and Fan, the usual one in R, NumPy and spreadsheets).
func between(x []float64, q float64) float64 {
	h := float64(len(x)-1) * q
	i := int(h)
	if i >= len(x)-1 {
		return x[len(x)-1]
	}
	return x[i] + (h-float64(i))*(x[i+1]-x[i])
}

// Difference compares two settings that were run on the same seeds.
type Difference struct {
	Base, Other Estimate
	Diff        Estimate // of other - base, seed by seed
	// Ratio is the ratio of the two means, other over base. Its interval is not symmetric.
	Ratio Estimate
}

// Sure says whether the difference is significant: the interval of the ratio excludes 1 or, if the ratio has none, that of the
// difference excludes 0.
func (d *Difference) Sure() bool {
	if d.Ratio.Known {
		return d.Ratio.Low > 1 || d.Ratio.High < 1
	}
	return d.Diff.Known && (d.Diff.Low > 0 || d.Diff.High < 0)
}

// Paired compares other with base, whose i-th values come from the same seed. Pairing removes the variance the seeds
// share. Extra values without a pair are ignored.
func Paired(base, other []float64) Difference {
	n := min(len(base), len(other))
	base, other = base[:n], other[:n]
	diffs := make([]float64, n)
	for i := range diffs {
		diffs[i] = other[i] - base[i]
	}
	return Difference{Base: Mean(base), Other: Mean(other), Diff: Mean(diffs), Ratio: ratioOfMeans(base, other)}
}

// ratioOfMeans estimates R = E[b] / E[a] by r = mean(b) / mean(a) from pairs, with the jackknife on the logarithm of r: with
// l[i] the logarithm of the ratio without the i-th pair,
//
//	log r +- t(0.975, n-1) sqrt((n-1)/n sum (l[i] - mean(l))^2)
//
// A busy seed that scales both figures equally leaves every l[i] unchanged, so it does not widen the interval. The
// logarithm keeps the interval above 0 and makes it symmetric in the choice of base. Of the intervals tried (see
// docs/comparing-reference.md), its coverage is nearest to 95 %. Sources: Tukey (1958); Miller, "The jackknife: a
// review" (Biometrika, 1974); Cochran, Sampling Techniques, chapter 6, for what it replaces.
//
// Where the logarithm does not exist, because all but one of the b are 0, the jackknife is taken on r itself. There is no
// interval when all but one of the a are 0, and no ratio when all are. Values are not negative.
func ratioOfMeans(a, b []float64) Estimate {
	e := Estimate{N: len(a)}
	var sumA, sumB float64
	for i := range a {
		sumA, sumB = sumA+a[i], sumB+b[i]
	}
	if !(sumA > 0) {
		return e
	}
	e.Mean = sumB / sumA
	e.Low, e.High = e.Mean, e.Mean
	if len(a) < 2 {
		return e
	}
	without := make([]float64, len(a))
	logs := true
	for i := range a {
		restA, restB := others(a, i), others(b, i)
		if restA == 0 {
			return e
		}
		without[i] = restB / restA
		logs = logs && restB > 0
	}
	if logs {
		for i := range without {
			without[i] = math.Log(without[i])
		}
	}
	// Mean's interval has sqrt(ss/((n-1) n)) where the jackknife has sqrt(ss (n-1)/n).
	half := Mean(without).Half() * float64(len(a)-1)
	if e.Known = true; logs {
		e.Low, e.High = e.Mean*math.Exp(-half), e.Mean*math.Exp(half)
	} else {
		e.Low, e.High = max(0, e.Mean-half), e.Mean+half
	}
	return e
}

// others is the sum of all but the i-th value; subtracting from the total would leave a rounding error where it is 0.
func others(xs []float64, i int) float64 {
	var sum float64
	for k, x := range xs {
		if k != i {
			sum += x
		}
	}
	return sum
}

// Wider is by how much 95 % intervals of n repetitions are to be widened so that, of several, all cover at once: Bonferroni's correction.
func Wider(n, several int) float64 {
	if n < 2 || several < 2 {
		return 1
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}
	return t.Quantile(1-0.025/float64(several)) / t.Quantile(0.975)
}

// tQuantile is the 0.975 quantile of Student's t distribution.
func tQuantile(degrees int) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(degrees)}.Quantile(0.975)
}
