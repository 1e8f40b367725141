package result

import (
	"math"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The sketch is an HdrHistogram: buckets whose width is at most a thousandth of their value. Seconds and ratios share
// one geometry: steps of a ten-thousandth, up to ten years. Larger values are clamped.
const (
	sketchStep   = 1e-4
	sketchMax    = int64(10 * 365 * 86400 / sketchStep)
	sketchDigits = 3
	// sketchWorth is the number of values that take as much memory as a sketch (about 270 KB).
	sketchWorth = 34_000
)

// series accumulates the values of one figure. Count, mean, deviation, min and max are always exact; quantiles
// come from the values themselves or, after toSketch, from a sketch.
type series struct {
	n        int64
	mean, m2 float64 // Welford's running mean and sum of squared deviations
	squares  float64
	sum      float64
	min, max float64
	values   []float64
	sorted   bool
	sketch   *hdrhistogram.Histogram
}

func (s *series) add(v float64) {
	if s.n == 0 || v < s.min {
		s.min = v
	}
	if s.n == 0 || v > s.max {
		s.max = v
	}
	s.n++
	s.sum += v
	s.squares += v * v
	d := v - s.mean
	s.mean += d / float64(s.n)
	s.m2 += d * (v - s.mean)
	if s.sketch != nil {
		record(s.sketch, v)
		return
	}
	s.values = append(s.values, v)
	s.sorted = false
}

// addKnown adds v unless it is undefined.
func (s *series) addKnown(v float64) {
	if !math.IsNaN(v) {
		s.add(v)
	}
}

// toSketch replaces the values by a sketch.
func (s *series) toSketch() {
	if s.sketch != nil {
		return
	}
	s.sketch = hdrhistogram.New(1, sketchMax, sketchDigits)
	for _, v := range s.values {
		record(s.sketch, v)
	}
	s.values = nil
}

// shrink switches to a sketch once that is smaller.
func (s *series) shrink() {
	if len(s.values) > sketchWorth {
		s.toSketch()
	}
}

func record(h *hdrhistogram.Histogram, v float64) {
	k := int64(0)
	if x := math.Round(v / sketchStep); x >= float64(sketchMax) {
		k = sketchMax
	} else if x > 0 {
		k = int64(x)
	}
	if err := h.RecordValue(k); err != nil {
		panic("result: a value within the sketch's range was refused: " + err.Error())
	}
}

func (s *series) sort() {
	if !s.sorted {
		slices.Sort(s.values)
		s.sorted = true
	}
}

// quantile returns the q-quantile, 0 <= q <= 1. Exact: see between. Sketch: the nearest rank's bucket.
func (s *series) quantile(q float64) float64 {
	if s.n == 0 {
		return 0
	}
	if s.sketch != nil {
		v := float64(s.sketch.ValueAtPercentile(100*q)) * sketchStep
		return min(max(v, s.min), s.max)
	}
	s.sort()
	return between(s.values, q)
}

func (s *series) stats() Stats {
	if s.n == 0 {
		return Stats{}
	}
	st := Stats{
		Count: s.n, Mean: round(s.sum / float64(s.n)), Min: round(s.min), Max: round(s.max),
		Median: round(s.quantile(0.5)), P95: round(s.quantile(0.95)), P99: round(s.quantile(0.99)),
	}
	if s.mean > 0 {
		st.CV = round(math.Sqrt(max(0, s.m2)/float64(s.n)) / s.mean)
	}
	return st
}

// jain is Jain's index of the values; 0 when there are none or all are 0.
func (s *series) jain() float64 {
	if s.squares == 0 {
		return 0
	}
	return s.sum * s.sum / (float64(s.n) * s.squares)
}

// round keeps six decimals: microseconds, printed without an exponent. A value that JSON cannot represent becomes 0.
func round(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	if math.Abs(v) >= 1e9 { // too large to have six decimals
		return math.Round(v*1e3) / 1e3
	}
	return math.Round(v*1e6) / 1e6
}
