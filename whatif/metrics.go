package whatif

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/unit"
)

// metric is one row of a comparison.
type metric struct {
	name string
	unit verdict.Unit
	more bool // more is better
	of   func(*result.Run) float64
}

// Metrics that are neither good nor bad: a cluster that is fuller may do more work, or lose more of it.
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
		unit verdict.Unit
		of   func(*result.Run) result.Stats
	}{
		{"wait", verdict.Seconds, func(r *result.Run) result.Stats { return r.Metrics.Wait }},
		{"elapsed", verdict.Seconds, func(r *result.Run) result.Stats { return r.Metrics.Elapsed }},
		{"slowdown", verdict.Ratio, func(r *result.Run) result.Stats { return r.Metrics.Slowdown }},
		{"response ratio", verdict.Ratio, func(r *result.Run) result.Stats { return r.Metrics.ResponseRatio }},
	} {
		ms = append(ms,
			metric{"median " + m.name, m.unit, false, func(r *result.Run) float64 { return m.of(r).Median }},
			metric{"mean " + m.name, m.unit, false, func(r *result.Run) float64 { return m.of(r).Mean }},
			metric{"p95 " + m.name, m.unit, false, func(r *result.Run) float64 { return m.of(r).P95 }},
		)
	}
	return append(ms,
		metric{"makespan", verdict.Seconds, false, func(r *result.Run) float64 { return r.Makespan }},
		metric{utilisation, verdict.Share, true, func(r *result.Run) float64 { return r.Utilisation }},
		metric{"fairness between users", verdict.Ratio, true, func(r *result.Run) float64 { return r.Fairness.JainSlowdownUsers }},
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
		ms = append(ms, metric{levelName(i), verdict.Share, false, func(r *result.Run) float64 { return result.ShareOver(r.Service, i, r.Jobs.Finished) }})
	}
	return ms
}

// Tables divides the rows: the main table, with what the scenario asks for (deadlines, a network, sizes); service levels that some job misses
// or all meet; and the rest.
func (out *Comparison) Tables() (main, levels, rest []verdict.Row) {
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
			if slices.ContainsFunc(row.Cells, func(c verdict.Cell) bool { return c.Mean > 0 && c.Mean < 1 }) {
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

func (out *Comparison) row(metric string) *verdict.Row {
	for i := range out.Rows {
		if out.Rows[i].Metric == metric {
			return &out.Rows[i]
		}
	}
	return nil
}

// moreMetrics are those that not all comparisons have. What they are taken from is in every run.
func (out *Comparison) moreMetrics() (ms []metric) {
	due, sized, networked, circuits, lost, gangs := true, out.bySize, true, false, false, true
	classes := map[float64]int{} // runs with such a class, by its lower bound
	runs := 0
	for _, seeds := range out.Runs {
		for _, r := range seeds {
			due, sized, networked = due && r.Deadlines != nil, sized && r.Spread != nil, networked && r.Traffic != nil
			lost = lost || r.Tasks.Lost > 0
			gangs = gangs && r.Metrics.GangWait.Count > 0
			circuits = circuits || networked && r.Traffic.Reconfigured > 0
			if runs++; sized {
				for _, g := range r.Spread.BySize {
					classes[g.From]++
				}
			}
		}
	}
	if lost {
		ms = append(ms, metric{workDone, verdict.Share, true, func(r *result.Run) float64 { return r.Utilisation * r.WorkHours / max(r.ContainerHours, 1e-9) }})
	}
	if due {
		ms = append(ms,
			metric{deadlinesMet, verdict.Share, true, func(r *result.Run) float64 { return r.Deadlines.MetShare }},
			metric{"mean tardiness", verdict.Seconds, false, func(r *result.Run) float64 { return r.Deadlines.MeanTardiness }},
			metric{"max tardiness", verdict.Seconds, false, func(r *result.Run) float64 { return r.Deadlines.MaxTardiness() }},
		)
	}
	if networked {
		ms = append(ms,
			metric{"jobs per hour", verdict.Ratio, true, (*result.Run).Throughput},
			metric{"GiB between racks", verdict.Ratio, false, func(r *result.Run) float64 { return r.Traffic.CrossRackBytes / (1 << 30) }},
			metric{"congestion events", verdict.Ratio, false, func(r *result.Run) float64 { return float64(r.Traffic.Congested) }},
		)
	}
	if circuits {
		ms = append(ms, metric{"share over circuits", verdict.Share, true, func(r *result.Run) float64 { return r.Traffic.OpticalShare() }})
	}
	if gangs {
		ms = append(ms,
			metric{"median gang wait", verdict.Seconds, false, func(r *result.Run) float64 { return r.Metrics.GangWait.Median }},
			metric{"p95 gang wait", verdict.Seconds, false, func(r *result.Run) float64 { return r.Metrics.GangWait.P95 }},
		)
	}
	for _, n := range out.Runs[0][0].Named {
		ms = append(ms, metric{utilisation + " of " + n.Name, verdict.Share, true, func(r *result.Run) float64 {
			for _, o := range r.Named {
				if o.Name == n.Name {
					return o.Utilisation
				}
			}
			return 0 // a variant without those machines
		}})
	}
	if !sized {
		return ms
	}
	ms = append(ms,
		metric{"V(95) of slowdown", verdict.Ratio, false, func(r *result.Run) float64 { return r.Spread.V95 }},
		metric{"SCV of slowdown", verdict.Ratio, false, func(r *result.Run) float64 { return r.Spread.SCV }},
	)
	for _, g := range out.Runs[0][0].Spread.BySize {
		if classes[g.From] == runs {
			ms = append(ms, metric{"mean slowdown, size " + SizeName(&g), verdict.Ratio, false, func(r *result.Run) float64 {
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
			return verdict.Format(v, verdict.Ratio)
		}
		return unit.Number(int64(math.Round(v)))
	}
	return write(g.From) + " to " + write(g.To) + " s"
}

// row compares the metric's values, by scheduler and seed.
func (m metric) row(schedulers, seeds int, value func(s, seed int) float64) verdict.Row {
	row := verdict.Row{Metric: m.name, Unit: m.unit, More: m.more}
	row.Fill(schedulers, seeds, strings.HasPrefix(m.name, utilisation) || m.name == workDone, value)
	return row
}

// rowOf compares the metric over runs, by scheduler, then seed. It is NaN where no job finished: nobody waited, but nobody was served either.
func (m metric) rowOf(runs [][]*result.Run) verdict.Row {
	return m.row(len(runs), len(runs[0]), func(s, seed int) float64 {
		if runs[s][seed].Jobs.Finished == 0 {
			return math.NaN()
		}
		return m.of(runs[s][seed])
	})
}
