package whatif

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/unit"
)

// Unit says how a metric is formatted.
type Unit uint8

// Units.
const (
	Seconds Unit = iota
	Ratio        // a plain number
	Share        // 0 to 1
)

func (u Unit) String() string { return [...]string{"s", "ratio", "share"}[u] }

// metric is one row of a comparison.
type metric struct {
	name string
	unit Unit
	more bool // more is better
	of   func(*result.Run) float64
}

// neutral reports whether a metric is neither good nor bad: a cluster that is fuller may do more work, or lose more of it.
func (m metric) neutral() bool { return m.name == utilisation || m.name == workDone }

const (
	utilisation = "utilisation"
	workDone    = "work done"
)

// ofAlone reports whether a metric needs to know how long jobs take alone.
func (m metric) ofAlone() bool {
	return strings.Contains(m.name, "slowdown") || strings.HasPrefix(m.name, "fairness")
}

// ofWaits reports whether a metric stands in for those.
func (m metric) ofWaits() bool { return strings.HasSuffix(m.name, "response ratio") }

// metrics are what is compared, most requested first.
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
		{"response ratio", Ratio, func(r *result.Run) result.Stats { return r.Metrics.ResponseRatio }},
	} {
		ms = append(ms,
			metric{"median " + m.name, m.unit, false, func(r *result.Run) float64 { return m.of(r).Median }},
			metric{"mean " + m.name, m.unit, false, func(r *result.Run) float64 { return m.of(r).Mean }},
			metric{"p95 " + m.name, m.unit, false, func(r *result.Run) float64 { return m.of(r).P95 }},
		)
	}
	return append(ms,
		metric{"makespan", Seconds, false, func(r *result.Run) float64 { return r.Makespan }},
		metric{utilisation, Share, true, func(r *result.Run) float64 { return r.Utilisation }},
		metric{"fairness between users", Ratio, true, func(r *result.Run) float64 { return r.Fairness.JainSlowdownUsers }},
	)
}()

// mainMetrics are the rows that are always shown, in this order; where slowdowns are unknown, the response ratio stands in for them.
var mainMetrics = []string{
	"p95 elapsed", "median elapsed", "mean elapsed", "p95 slowdown", "p95 response ratio", "mean slowdown", "mean response ratio", "makespan", "utilisation",
}

// deadlinesMet is the row that answers use, besides those that all comparisons have.
const deadlinesMet = "deadlines met"

// levelPrefix begins the names of service levels.
const levelPrefix = "jobs over "

func levelName(i int) string {
	if s := result.Thresholds[i]; s < 3600 {
		return fmt.Sprintf("%s%.0f min", levelPrefix, s/60)
	}
	return levelPrefix + unit.FormatSeconds(result.Thresholds[i])
}

// levelMetrics are the service levels.
func levelMetrics() (ms []metric) {
	for i := range result.Thresholds {
		ms = append(ms, metric{levelName(i), Share, false, func(r *result.Run) float64 { return result.ShareOver(r.Service, i, r.Jobs.Finished) }})
	}
	return ms
}

// Tables divides the rows: the main table, with what the scenario asks for (deadlines, a network, sizes); service levels that some job misses
// or all meet; and the rest.
func (out *Comparison) Tables() (main, levels, rest []Row) {
	always := func(name string) bool { return slices.Contains(mainMetrics, name) && (name != "makespan" || out.batch) }
	for _, name := range mainMetrics {
		if row := out.row(name); row != nil && always(name) {
			main = append(main, *row)
		}
	}
	for i, row := range out.Rows {
		switch {
		case always(row.Metric):
		case strings.HasPrefix(row.Metric, levelPrefix):
			if slices.ContainsFunc(row.Cells, func(c Cell) bool { return c.Mean > 0 && c.Mean < 1 }) {
				levels = append(levels, row)
			}
		case i < out.common && row.Metric != deadlinesMet:
			rest = append(rest, row)
		default:
			main = append(main, row)
		}
	}
	return main, levels, rest
}

func (out *Comparison) row(metric string) *Row {
	for i := range out.Rows {
		if out.Rows[i].Metric == metric {
			return &out.Rows[i]
		}
	}
	return nil
}

// moreMetrics are those that not all comparisons have. What they are taken from is in every run.
func (out *Comparison) moreMetrics() (ms []metric) {
	due, sized, networked, circuits, lost := true, out.bySize, true, false, false
	classes := map[float64]int{} // runs with such a class, by its lower bound
	runs := 0
	for _, seeds := range out.Runs {
		for _, r := range seeds {
			due, sized, networked = due && r.Deadlines != nil, sized && r.Spread != nil, networked && r.Traffic != nil
			lost = lost || r.Tasks.Lost > 0
			circuits = circuits || networked && r.Traffic.Reconfigured > 0
			if runs++; sized {
				for _, g := range r.Spread.BySize {
					classes[g.From]++
				}
			}
		}
	}
	if lost {
		ms = append(ms, metric{workDone, Share, true, func(r *result.Run) float64 { return r.Utilisation * r.WorkHours / max(r.ContainerHours, 1e-9) }})
	}
	if due {
		ms = append(ms,
			metric{deadlinesMet, Share, true, func(r *result.Run) float64 { return r.Deadlines.MetShare }},
			metric{"mean tardiness", Seconds, false, func(r *result.Run) float64 { return r.Deadlines.MeanTardiness }},
			metric{"max tardiness", Seconds, false, func(r *result.Run) float64 { return r.Deadlines.MaxTardiness() }},
		)
	}
	if networked {
		ms = append(ms,
			metric{"jobs per hour", Ratio, true, (*result.Run).Throughput},
			metric{"GiB between racks", Ratio, false, func(r *result.Run) float64 { return r.Traffic.CrossRackBytes / (1 << 30) }},
			metric{"congestion events", Ratio, false, func(r *result.Run) float64 { return float64(r.Traffic.Congested) }},
		)
	}
	if circuits {
		ms = append(ms, metric{"share over circuits", Share, true, func(r *result.Run) float64 { return r.Traffic.OpticalShare() }})
	}
	if !sized {
		return ms
	}
	ms = append(ms,
		metric{"V(95) of slowdown", Ratio, false, func(r *result.Run) float64 { return r.Spread.V95 }},
		metric{"SCV of slowdown", Ratio, false, func(r *result.Run) float64 { return r.Spread.SCV }},
	)
	for _, g := range out.Runs[0][0].Spread.BySize {
		if classes[g.From] == runs {
			ms = append(ms, metric{"mean slowdown, size " + SizeName(&g), Ratio, false, func(r *result.Run) float64 {
				at := slices.IndexFunc(r.Spread.BySize, func(o result.SizeGroup) bool { return o.From == g.From })
				return r.Spread.BySize[at].Slowdown.Mean
			}})
		}
	}
	return ms
}

// SizeName names a class of sizes, in the unit of limits: "316 to 1,000 s".
func SizeName(g *result.SizeGroup) string {
	write := func(v float64) string {
		if v < 100 {
			return Format(v, Ratio)
		}
		return unit.Number(int64(math.Round(v)))
	}
	return write(g.From) + " to " + write(g.To) + " s"
}

// Row is one metric under every scheduler.
type Row struct {
	Metric string
	Unit   Unit
	More   bool // more is better
	Cells  []Cell
	vague  bool // a change has a direction, and no known size
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
	Differs                   // clear, of a metric that is neither good nor bad
	Apart                     // the two finished different jobs: a difference that says nothing
	Missing                   // one of the two finished nothing: there is no figure
)

func (j Judgement) String() string {
	return [...]string{"first", "same", "unclear", "better", "worse", "unjudged", "differs", "different jobs", "missing"}[j]
}

// Cell is one scheduler's figure and how it differs from the first one's. Figures that do not exist are NaN.
type Cell struct {
	Values []float64 // by seed
	Mean   float64
	// Diff is the mean difference in the metric's unit, with its 95 % interval.
	Diff, DiffLow, DiffHigh float64
	// Change is the ratio of the two means, less one, in percent, with its 95 % interval, which is not symmetric.
	Change, ChangeLow, ChangeHigh float64
	Judgement                     Judgement
}

// ofFinished is the metric where jobs finished, and NaN where none did: nobody waited, but nobody was served either.
func (m metric) ofFinished() metric {
	of := m.of
	m.of = func(r *result.Run) float64 {
		if r.Jobs.Finished == 0 {
			return math.NaN()
		}
		return of(r)
	}
	return m
}

// rowOf compares one metric. runs is by scheduler, then seed, and complete.
func rowOf(m metric, runs [][]*result.Run) Row {
	return rowFrom(m, len(runs), len(runs[0]), func(s, seed int) float64 { return m.of(runs[s][seed]) })
}

// rowFrom compares a metric's values, by scheduler and seed.
func rowFrom(m metric, schedulers, seeds int, value func(s, seed int) float64) Row {
	row := Row{Metric: m.name, Unit: m.unit, More: m.more}
	for s := range schedulers {
		c := Cell{Change: math.NaN()}
		c.forget()
		for i := range seeds {
			c.Values = append(c.Values, value(s, i))
		}
		if c.Mean = result.Mean(c.Values).Mean; slices.ContainsFunc(c.Values, math.IsNaN) {
			c.Mean = math.NaN()
		}
		if s > 0 {
			if c.against(row.Cells[0], m); m.neutral() && (c.Judgement == Better || c.Judgement == Worse) {
				c.Judgement = Differs
			}
		}
		row.Cells = append(row.Cells, c)
	}
	return row
}

func (c *Cell) against(first Cell, m metric) {
	if math.IsNaN(first.Mean) || math.IsNaN(c.Mean) {
		c.Diff, c.Judgement = math.NaN(), Missing
		return
	}
	d := result.Paired(first.Values, c.Values)
	if m.unit == Share { // shown in points, and so judged by them
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
	switch {
	case slices.Equal(c.Values, first.Values):
		c.Judgement = Same
	case !d.Diff.Known:
		c.Judgement = Unjudged
	case !d.Sure():
		c.Judgement = Unclear
	case (c.Diff > 0) == m.more:
		c.Judgement = Better
	default:
		c.Judgement = Worse
	}
}

func (c *Cell) forget() {
	nan := math.NaN()
	c.DiffLow, c.DiffHigh, c.ChangeLow, c.ChangeHigh = nan, nan, nan, nan
}
