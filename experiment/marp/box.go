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
	Lower, Median, Upper    float64
	LowExtreme, HighExtreme float64
	outliers                []float64
	Mean                    result.Estimate // Student's t, 95 %
}

// IQR is the range between the quartiles.
func (b *box) IQR() float64 { return b.Upper - b.Lower }

// boxOf makes them; NaN is left out. Quartiles are interpolated between the order statistics (as R and numpy do by default).
func boxOf(values []float64) box {
	vs := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(vs)
	b := box{n: len(vs), Mean: result.Mean(vs)}
	if b.n == 0 {
		nan := math.NaN()
		b.Lower, b.Median, b.Upper, b.LowExtreme, b.HighExtreme = nan, nan, nan, nan, nan
		return b
	}
	b.Lower, b.Median, b.Upper = result.Quantile(vs, 0.25), result.Quantile(vs, 0.5), result.Quantile(vs, 0.75)
	from, to := b.Lower-1.5*b.IQR(), b.Upper+1.5*b.IQR()
	b.LowExtreme, b.HighExtreme = math.NaN(), math.NaN()
	for _, v := range vs {
		switch {
		case v < from || v > to:
			b.outliers = append(b.outliers, v)
		case math.IsNaN(b.LowExtreme):
			b.LowExtreme, b.HighExtreme = v, v
		default:
			b.HighExtreme = v
		}
	}
	return b
}

// OutlierText lists the outliers.
func (b *box) OutlierText() string {
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
		g(b.Mean.Mean, base.Mean.Mean), g(b.Median, base.Median), g(b.HighExtreme, base.HighExtreme), g(b.LowExtreme, base.LowExtreme),
		g(b.LowExtreme, base.HighExtreme), g(b.HighExtreme, base.LowExtreme),
	}
}

var gainNames = [6]string{"mean", "median", "worst vs worst", "best vs best", "PRJ worst vs its best", "PRJ best vs its worst"}
