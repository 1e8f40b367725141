package marp

import (
	"math"
	"strconv"
)

// Steps are the amounts by which the share is changed. The zero value means: derive them from the sizes of AMs and queue.
type Steps struct {
	Start float64 // lets exactly one job run
	Inc   float64 // just enough for one more
	Dec   float64 // given back for a job that is almost done: a little less than Inc
}

// SourceSteps are the values of the source's experiments (AMs of 2 GiB in a queue of 51 GiB).
func SourceSteps() Steps { return Steps{Start: 0.050, Inc: 0.040, Dec: 0.030} }

// Derive computes the steps for AMs that take the given share of the queue each. They are multiples of the
// resolution: thousandths for shares from 1 % on, and finer where a thousandth would be several AMs.
func Derive(share float64) Steps {
	d := digits(share)
	inc := ceilTo(share, d)
	return Steps{Start: min(roundTo(inc+share/4, d), 1), Inc: inc, Dec: roundTo(0.75*inc, d)}
}

// spareRoom is the slack, as a part of an AM.
const spareRoom = 0.25

// SlotShare is the share that lets exactly k AMs run, with a quarter of an AM as slack.
func SlotShare(share float64, k int64) float64 { return slotShare(share, k, spareRoom) }

func slotShare(share float64, k int64, spare float64) float64 {
	return min(roundTo((float64(k)+spare)*share, digits(share)), 1)
}

// digits is the number of decimals in which shares are written.
func digits(share float64) int {
	if !(share > 0) {
		return 3
	}
	return min(max(3, int(math.Ceil(-math.Log10(share)))+1), 9)
}

// roundTo rounds as printf does.
func roundTo(x float64, digits int) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'f', digits, 64), 64)
	return y
}

func ceilTo(x float64, digits int) float64 {
	p := math.Pow10(digits)
	return roundTo(math.Ceil(x*p-1e-6)/p, digits)
}
