package report

import (
	"math"

	"github.com/yardmaster/yardmaster/result"
)

// compareResults makes the table from the runs' own figures. There is no interval to judge by, so a difference counts from one
// percent on.
func compareResults(runs []Run) []Row {
	metrics := []struct {
		name string
		unit Unit
		more bool // whether more is better
		of   func(*result.Run) float64
	}{
		{"median wait", Seconds, false, func(r *result.Run) float64 { return stat(r.Metrics.Wait, r.Metrics.Wait.Median) }},
		{"p95 wait", Seconds, false, func(r *result.Run) float64 { return stat(r.Metrics.Wait, r.Metrics.Wait.P95) }},
		{"median elapsed", Seconds, false, func(r *result.Run) float64 { return stat(r.Metrics.Elapsed, r.Metrics.Elapsed.Median) }},
		{"p95 elapsed", Seconds, false, func(r *result.Run) float64 { return stat(r.Metrics.Elapsed, r.Metrics.Elapsed.P95) }},
		{"median slowdown", Ratio, false, func(r *result.Run) float64 { return stat(r.Metrics.Slowdown, r.Metrics.Slowdown.Median) }},
		{"p95 slowdown", Ratio, false, func(r *result.Run) float64 { return stat(r.Metrics.Slowdown, r.Metrics.Slowdown.P95) }},
		{"makespan", Seconds, false, func(r *result.Run) float64 { return r.Makespan }},
		{"utilisation", Share, true, func(r *result.Run) float64 { return r.Utilisation }},
	}
	var rows []Row
	for _, m := range metrics {
		row := Row{Metric: m.name, Unit: m.unit}
		for i, r := range runs {
			cell := Cell{Value: math.NaN(), Change: math.NaN(), Half: math.NaN()}
			if r.Result != nil && r.Result.Jobs.Finished > 0 {
				cell.Value = m.of(r.Result)
			}
			if i > 0 {
				base := row.Cells[0].Value
				if base != 0 {
					cell.Change = (cell.Value - base) / math.Abs(base) * 100
				}
				if cell.Verdict = judge(cell.Value-base, base, m.more); apart(runs[0].Result, r.Result) {
					cell.Verdict = None
				}
			}
			row.Cells = append(row.Cells, cell)
		}
		rows = append(rows, row)
	}
	return rows
}

// apart says whether the figures of two runs are of different jobs, or of none.
func apart(a, b *result.Run) bool {
	if a == nil || b == nil || a.Jobs.Finished == 0 || b.Jobs.Finished == 0 {
		return true
	}
	return float64(a.Apart(b)) >= 0.001*float64(a.Jobs.Finished)
}

func judge(diff, base float64, more bool) Verdict {
	if math.IsNaN(diff) || math.Abs(diff) <= math.Abs(base)/100 {
		return Same
	}
	if (diff > 0) == more {
		return Better
	}
	return Worse
}
