// Package verdict says whether a figure differs between settings that were run on the same seeds: better, worse, or no difference that can be
// told. Every answer judges with it, and every page and table shows its rows.
//
// A difference is clear if its 95 % interval excludes 0, even when widened for the number of differences that were examined. It is noticeable
// from one percent on and, for times, from one second on.
package verdict

import (
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/result"
)

// Noticeable is the min relative change that is called better or worse.
const Noticeable = 0.01

// minSeconds is the min change of a time that is called better or worse.
const minSeconds = 1.0

// Judgement says what a difference means.
type Judgement uint8

// Judgements.
const (
	First    Judgement = iota // the one that the others are compared with
	Same                      // equal in every seed
	Unclear                   // the interval holds 0
	Better                    //
	Worse                     //
	Unjudged                  // one seed: a difference without an interval
	Differs                   // clear, of a metric that is neither good nor bad
	Apart                     // the two finished different jobs: a difference that says nothing
	Missing                   // one of the two finished nothing: there is no figure
)

func (j Judgement) String() string {
	return [...]string{"first", "same", "unclear", "better", "worse", "unjudged", "differs", "different jobs", "missing"}[j]
}

// clear reports whether the interval excludes 0.
func (j Judgement) clear() bool { return j == Better || j == Worse || j == Differs }

// Of judges a difference by its interval; more: more is better.
func Of(d *result.Difference, more bool) Judgement {
	switch {
	case !d.Diff.Known:
		return Unjudged
	case !d.Sure():
		return Unclear
	case (d.Diff.Mean > 0) == more:
		return Better
	}
	return Worse
}

// Cell is one setting's figure and how it differs from the first one's. Figures that do not exist are NaN.
type Cell struct {
	Values []float64 // by seed
	Mean   float64
	// Diff is the mean difference in the metric's unit, with its 95 % interval.
	Diff, DiffLow, DiffHigh float64
	// Change is the ratio of the two means, less one, in percent, with its 95 % interval, which is not symmetric.
	Change, ChangeLow, ChangeHigh float64
	Judgement                     Judgement
}

// Row is one metric under every setting.
type Row struct {
	Metric string
	Unit   Unit
	More   bool // more is better
	Cells  []Cell
	Vague  bool // a change has a direction, and no known size
}

// Fill adds the cells of a row, with values by setting and seed. Where a metric is neutral, neither more nor less is better.
func (row *Row) Fill(settings, seeds int, neutral bool, value func(s, seed int) float64) {
	for s := range settings {
		c := Cell{Change: math.NaN()}
		c.DropInterval()
		for i := range seeds {
			c.Values = append(c.Values, value(s, i))
		}
		if c.Mean = result.Mean(c.Values).Mean; slices.ContainsFunc(c.Values, math.IsNaN) {
			c.Mean = math.NaN()
		}
		if s > 0 {
			if c.against(&row.Cells[0], row); neutral && c.Judgement.clear() {
				c.Judgement = Differs
			}
		}
		row.Cells = append(row.Cells, c)
	}
}

func (c *Cell) against(first *Cell, row *Row) {
	if math.IsNaN(first.Mean) || math.IsNaN(c.Mean) {
		c.Diff, c.Judgement = math.NaN(), Missing
		return
	}
	d := result.Paired(first.Values, c.Values)
	if row.Unit == Share { // shown in points, and so judged by them
		d.Ratio.Known = false
	}
	c.Diff = d.Diff.Mean
	if d.Diff.Known {
		c.DiffLow, c.DiffHigh = d.Diff.Low, d.Diff.High
	}
	if first.Mean != 0 {
		c.Change = 100 * (d.Ratio.Mean - 1)
	}
	if d.Ratio.Known {
		c.ChangeLow, c.ChangeHigh = 100*(d.Ratio.Low-1), 100*(d.Ratio.High-1)
	}
	if c.Judgement = Of(&d, row.More); slices.Equal(c.Values, first.Values) {
		c.Judgement = Same
	}
}

// DropInterval removes the intervals of a cell.
func (c *Cell) DropInterval() {
	nan := math.NaN()
	c.DiffLow, c.DiffHigh, c.ChangeLow, c.ChangeHigh = nan, nan, nan, nan
}

// SetApart withdraws a judgement: the two finished different jobs, and an interval would suggest a false certainty.
func (c *Cell) SetApart() {
	c.DropInterval()
	c.Judgement = Apart
}

// Unjudge drops the intervals of a row and the judgements that rest on them.
func (row *Row) Unjudge() {
	for i := range row.Cells {
		c := &row.Cells[i]
		if c.DropInterval(); c.Judgement.clear() || c.Judgement == Unclear {
			c.Judgement = Unjudged
		}
	}
}

// Differs says how much better (above 0) or worse (below 0) setting s is, relative to the first, as one of several differences that were
// examined; 0 unless that is clear and noticeable.
func (row *Row) Differs(s, several int) float64 {
	c, base := &row.Cells[s], row.Cells[0].Mean
	if !c.Judgement.clear() || !c.sure(several) || math.Abs(c.Diff) < row.threshold() || c.Diff == 0 {
		return 0
	}
	if row.Unit == Seconds {
		base = max(base, minSeconds) // from nothing to two seconds is not infinitely worse
	}
	size := c.Diff / math.Max(math.Abs(base), 1e-9)
	if row.More {
		return size
	}
	return -size
}

// threshold is the min difference that is noticeable.
func (row *Row) threshold() float64 {
	t := Noticeable * math.Abs(row.Cells[0].Mean)
	switch row.Unit {
	case Seconds:
		return max(t, minSeconds)
	case Share: // a point
		return Noticeable
	case Ratio, Count:
	}
	return t
}

// sure reports whether a difference is clear though it is one of several.
func (c *Cell) sure(several int) bool {
	k := result.Wider(len(c.Values), several)
	if !math.IsNaN(c.ChangeLow) {
		half := math.Log((100+c.ChangeHigh)/(100+c.ChangeLow)) / 2 // the interval is symmetric in logarithms
		return math.Abs(math.Log1p(c.Change/100)) > k*half
	}
	return math.Abs(c.Diff) > k*(c.DiffHigh-c.DiffLow)/2
}

// Settled reports whether it is known that a difference, if there is one, is not noticeable.
func (row *Row) Settled(s int) bool {
	c, t := &row.Cells[s], row.threshold()
	switch c.Judgement {
	case First, Same:
		return true
	case Better, Worse, Differs, Unclear:
		return max(math.Abs(c.DiffLow), math.Abs(c.DiffHigh)) <= t || c.Judgement != Unclear && math.Abs(c.Diff) < t
	case Unjudged, Apart, Missing:
	}
	return false
}
