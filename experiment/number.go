package experiment

import (
	"fmt"
	"math"
	"strconv"

	"github.com/yardmaster/yardmaster/result"
)

// Number writes a figure as exactly as a person wants to read it: three digits, or all before the point.
func Number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "-"
	case math.IsInf(v, 0):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 99.95 || a == math.Trunc(a) && a < 1e15:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.9995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Interval writes an estimate with its interval: "12.3 (11.9 to 12.7)". It has none with one seed, or where nothing varies.
func Interval(e result.Estimate) string {
	if e.N == 0 {
		return "-"
	}
	low, high := Number(e.Low), Number(e.High)
	if !e.Known || low == high && low == Number(e.Mean) {
		return Number(e.Mean)
	}
	return fmt.Sprintf("%s (%s to %s)", Number(e.Mean), low, high)
}

// Change writes the estimate of a ratio as a change with its interval: "+61.0 % (+58.2 to +63.9)", or "12.3 times (11.9 to 12.7)" where
// a share says little.
func Change(ratio result.Estimate) string {
	if ratio.Mean >= many {
		s := Number(ratio.Mean) + " times"
		if low, high := Number(ratio.Low), Number(ratio.High); ratio.Known && low != high {
			s += fmt.Sprintf(" (%s to %s)", low, high)
		}
		return s
	}
	mean, low, high := percent(ratio.Mean-1), percent(ratio.Low-1), percent(ratio.High-1)
	if !ratio.Known || low == high && low == mean {
		return mean + " %"
	}
	return fmt.Sprintf("%s %% (%s to %s)", mean, low, high)
}

// many is the ratio from which a change is told as so many times.
const many = 10

// percent is a share with its sign, in percent.
func percent(share float64) string {
	v := 100 * share
	digits := 1
	if math.Abs(v) >= 99.95 {
		digits = 0
	}
	s := strconv.FormatFloat(v, 'f', digits, 64)
	switch s {
	case "0.0", "-0.0":
		return "0"
	}
	if v > 0 {
		s = "+" + s
	}
	return s
}

// signed is a figure with its sign.
func signed(v float64) string {
	if v > 0 {
		return "+" + Number(v)
	}
	return Number(v)
}
