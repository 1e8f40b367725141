package report

import (
	"math"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
)

// compareResults makes the table from the runs' own figures. There is no interval to judge by, so a difference counts from one
// percent on.
func compareResults(runs []Run) []verdict.Row {
	metrics := []struct {
		name string
		unit verdict.Unit
		more bool // whether more is better
		of   func(*result.Run) float64
	}{
		{"median wait", verdict.Seconds, false, func(r *result.Run) float64 { return stat(r.Metrics.Wait, r.Metrics.Wait.Median) }},
		{"p95 wait", verdict.Seconds, false, func(r *result.Run) float64 { return stat(r.Metrics.Wait, r.Metrics.Wait.P95) }},
		{"median elapsed", verdict.Seconds, false, func(r *result.Run) float64 { return stat(r.Metrics.Elapsed, r.Metrics.Elapsed.Median) }},
		{"p95 elapsed", verdict.Seconds, false, func(r *result.Run) float64 { return stat(r.Metrics.Elapsed, r.Metrics.Elapsed.P95) }},
		{"median slowdown", verdict.Ratio, false, func(r *result.Run) float64 { return stat(r.Metrics.Slowdown, r.Metrics.Slowdown.Median) }},
		{"p95 slowdown", verdict.Ratio, false, func(r *result.Run) float64 { return stat(r.Metrics.Slowdown, r.Metrics.Slowdown.P95) }},
		{"makespan", verdict.Seconds, false, func(r *result.Run) float64 { return r.Makespan }},
		{"utilisation", verdict.Share, true, func(r *result.Run) float64 { return r.Utilisation }},
	}
	var rows []verdict.Row
	for _, m := range metrics {
		row := verdict.Row{Metric: m.name, Unit: m.unit}
		for i, r := range runs {
			cell := verdict.Cell{Mean: math.NaN(), Change: math.NaN()}
			if r.Result != nil && r.Result.Jobs.Finished > 0 {
				cell.Mean = m.of(r.Result)
			}
			if i > 0 {
				base := row.Cells[0].Mean
				if base != 0 {
					cell.Change = (cell.Mean - base) / math.Abs(base) * 100
				}
				cell.Diff = cell.Mean - base
				if cell.Judgement = judge(cell.Diff, base, m.more); apart(runs[0].Result, r.Result) {
					cell.Judgement = verdict.Apart
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

func judge(diff, base float64, more bool) verdict.Judgement {
	if math.IsNaN(diff) || math.Abs(diff) <= math.Abs(base)/100 {
		return verdict.Same
	}
	if (diff > 0) == more {
		return verdict.Better
	}
	return verdict.Worse
}
