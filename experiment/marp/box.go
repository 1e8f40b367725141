package marp

import (
	"math"
	"slices"
	"strings"

	x "github.com/yardmaster/yardmaster/experiment"
	"github.com/yardmaster/yardmaster/result"
)

// box is the statistics of a box plot. Whiskers reach to the last values within one and a half times the range between the quartiles;
// what lies beyond is an outlier. Extremes are the whiskers' ends.
type box struct {
	n                       int
	lower, median, upper    float64
	lowExtreme, highExtreme float64
	outliers                []float64
	mean                    result.Estimate // Student's t, 95 %
}

func (b *box) iqr() float64 { return b.upper - b.lower }

// boxOf makes them; NaN is left out. Quartiles are interpolated between the order statistics (as R and numpy do by default).
func boxOf(values []float64) box {
	vs := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(vs)
	b := box{n: len(vs), mean: result.Mean(vs)}
	if b.n == 0 {
		nan := math.NaN()
		b.lower, b.median, b.upper, b.lowExtreme, b.highExtreme = nan, nan, nan, nan, nan
		return b
	}
	b.lower, b.median, b.upper = result.Quantile(vs, 0.25), result.Quantile(vs, 0.5), result.Quantile(vs, 0.75)
	from, to := b.lower-1.5*b.iqr(), b.upper+1.5*b.iqr()
	b.lowExtreme, b.highExtreme = math.NaN(), math.NaN()
	for _, v := range vs {
		switch {
		case v < from || v > to:
			b.outliers = append(b.outliers, v)
		case math.IsNaN(b.lowExtreme):
			b.lowExtreme, b.highExtreme = v, v
		default:
			b.highExtreme = v
		}
	}
	return b
}

func (b *box) outlierText() string {
	if len(b.outliers) == 0 {
		return "-"
	}
	texts := make([]string, len(b.outliers))
	for i, v := range b.outliers {
		texts[i] = x.Number(v)
	}
	return strings.Join(texts, "; ")
}

// gains are the improvements over a base that the source tables, as shares: 1 - t/base, of means, medians and extremes.
func gains(base, b *box) [6]float64 {
	g := func(t, of float64) float64 { return 1 - t/of }
	return [6]float64{
		g(b.mean.Mean, base.mean.Mean), g(b.median, base.median), g(b.highExtreme, base.highExtreme), g(b.lowExtreme, base.lowExtreme),
		g(b.lowExtreme, base.highExtreme), g(b.highExtreme, base.lowExtreme),
	}
}

var gainNames = [6]string{"mean", "median", "worst vs worst", "best vs best", "PRJ worst vs its best", "PRJ best vs its worst"}
