package result

import (
	"math"

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
	var ss float64
	for _, x := range xs {
		ss += (x - e.Mean) * (x - e.Mean)
	}
	half := tQuantile(len(xs)-1) * math.Sqrt(ss/(n-1)/n)
	e.Low, e.High, e.Known = e.Mean-half, e.Mean+half, true
	return e
}

// Difference compares two settings that were run on the same seeds.
type Difference struct {
	Base, Other Estimate
	Diff        Estimate // of other - base, pair by pair
	// Relative is Diff as a share of the base's mean; all 0 when that mean is 0.
	Relative Estimate
}

// Sure says whether the interval of the difference leaves out 0.
func (d *Difference) Sure() bool { return d.Diff.Known && (d.Diff.Low > 0 || d.Diff.High < 0) }

// Paired compares other with base, whose i-th values come from the same seed. Pairing takes out what the seeds have in
// common. It takes as many pairs as both have.
func Paired(base, other []float64) Difference {
	n := min(len(base), len(other))
	base, other = base[:n], other[:n]
	diffs := make([]float64, n)
	for i := range diffs {
		diffs[i] = other[i] - base[i]
	}
	d := Difference{Base: Mean(base), Other: Mean(other), Diff: Mean(diffs)}
	d.Relative = Estimate{N: n, Known: d.Diff.Known && d.Base.Mean != 0}
	if m := math.Abs(d.Base.Mean); m > 0 {
		d.Relative.Mean, d.Relative.Low, d.Relative.High = d.Diff.Mean/m, d.Diff.Low/m, d.Diff.High/m
	}
	return d
}

// tQuantile is the 0.975 quantile of Student's t distribution.
func tQuantile(degrees int) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(degrees)}.Quantile(0.975)
}
