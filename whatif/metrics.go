package whatif

import (
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/result"
)

// Unit says how a metric is written.
type Unit uint8

// Units.
const (
	Seconds Unit = iota
	Ratio        // a plain number
	Share        // 0 to 1
)

func (u Unit) String() string { return [...]string{"s", "ratio", "share"}[u] }

// metric is one line of a comparison.
type metric struct {
	name string
	unit Unit
	more bool // more is better
	of   func(*result.Run) float64
}

// metrics are what is compared, most asked for first.
var metrics = func() []metric {
	var ms []metric
	for _, m := range []struct {
		name string
		unit Unit
		of   func(*result.Run) result.Stats
	}{
		{"wait", Seconds, func(r *result.Run) result.Stats { return r.Metrics.Wait }},
		{"elapsed", Seconds, func(r *result.Run) result.Stats { return r.Metrics.Elapsed }},
		{"slowdown", Ratio, func(r *result.Run) result.Stats { return r.Metrics.Slowdown }},
	} {
		ms = append(ms,
			metric{"median " + m.name, m.unit, false, func(r *result.Run) float64 { return m.of(r).Median }},
			metric{"mean " + m.name, m.unit, false, func(r *result.Run) float64 { return m.of(r).Mean }},
			metric{"p95 " + m.name, m.unit, false, func(r *result.Run) float64 { return m.of(r).P95 }},
		)
	}
	return append(ms,
		metric{"makespan", Seconds, false, func(r *result.Run) float64 { return r.Makespan }},
		metric{"utilisation", Share, true, func(r *result.Run) float64 { return r.Utilisation }},
		metric{"fairness between users", Ratio, true, func(r *result.Run) float64 { return r.Fairness.JainSlowdownUsers }},
	)
}()

// Row is one metric under every scheduler.
type Row struct {
	Metric string
	Unit   Unit
	More   bool // more is better
	Cells  []Cell
}

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
)

func (j Judgement) String() string {
	return [...]string{"first", "same", "unclear", "better", "worse", "unjudged"}[j]
}

// Cell is one scheduler's figure and how it differs from the first one's.
type Cell struct {
	Values []float64 // by seed
	Mean   float64
	Diff   float64 // mean difference, in the metric's unit
	Half   float64 // half the width of its 95 % interval; NaN: there is none
	// Change is Diff in percent of the first scheduler's mean, and ChangeHalf half the width of its 95 % interval; NaN
	// where that mean is 0.
	Change, ChangeHalf float64
	Judgement          Judgement
}

// rowOf compares one metric. runs is by scheduler, then seed, all of them there.
func rowOf(m metric, runs [][]*result.Run) Row {
	row := Row{Metric: m.name, Unit: m.unit, More: m.more}
	for s := range runs {
		c := Cell{Half: math.NaN(), Change: math.NaN(), ChangeHalf: math.NaN()}
		for _, r := range runs[s] {
			c.Values = append(c.Values, m.of(r))
		}
		c.Mean = result.Mean(c.Values).Mean
		if s > 0 {
			c.against(row.Cells[0], m.more)
		}
		row.Cells = append(row.Cells, c)
	}
	return row
}

func (c *Cell) against(first Cell, more bool) {
	d := result.Paired(first.Values, c.Values)
	c.Diff = d.Diff.Mean
	if d.Diff.Known {
		c.Half = d.Diff.Half()
	}
	sure := d.Sure()
	if first.Mean != 0 {
		c.Change, c.ChangeHalf = ratio(first.Values, c.Values)
		sure = math.Abs(c.Change) > c.ChangeHalf
	}
	switch {
	case slices.Equal(c.Values, first.Values):
		c.Judgement = Same
	case math.IsNaN(c.Half):
		c.Judgement = Unjudged
	case !sure:
		c.Judgement = Unclear
	case (c.Diff > 0) == more:
		c.Judgement = Better
	default:
		c.Judgement = Worse
	}
}

// ratio is the paired change of b against a in percent, and half the width of its 95 % interval: see the package comment.
func ratio(a, b []float64) (change, half float64) {
	base := result.Mean(a).Mean
	r := result.Mean(b).Mean / base
	rest := make([]float64, len(a))
	for i := range rest {
		rest[i] = b[i] - r*a[i]
	}
	e := result.Mean(rest)
	half = math.NaN()
	if e.Known {
		half = 100 * e.Half() / math.Abs(base)
	}
	return 100 * (r - 1) * sign(base), half
}

func sign(v float64) float64 {
	if v < 0 {
		return -1
	}
	return 1
}
