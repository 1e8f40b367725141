package marp

import "math"

// Smoothing says how the progress between two samples is smoothed.
type Smoothing uint8

// Smoothing methods.
const (
	EMA Smoothing = iota // moving average with exponential weights, rounded to a whole number
	SMA                  // none: the last difference is compared with the one before (tried and rejected by the source)
)

// Smooth is one step of the moving average: current x raw + previous x before, each to three decimals, their sum rounded
// half to even to a whole number. The rounding is part of the method: a value rises only if raw exceeds the value before
// by about half a point divided by current (1.25 points at 0.40).
func Smooth(raw, before, current, previous float64) float64 {
	sum := thousandths(current*raw) + thousandths(previous*before)
	whole := math.Floor(sum / 1000)
	switch rest := sum - 1000*whole; {
	case rest > 500, rest == 500 && math.Mod(whole, 2) != 0:
		whole++
	}
	return whole + 0 // no negative zero
}

func thousandths(x float64) float64 { return math.Round(roundTo(x, 3) * 1000) }
