package conform

import (
	_ "embed"
	"fmt"

	"github.com/yardmaster/yardmaster/lab/evidence"
)

//go:embed conformance.md.tmpl
var pageText string

// Page is docs/conformance.md: what was compared and how, the table, what limits what is missed, and the speed, which is different each time. It is
// written to a file, if one is named.
func Page(rows []Row, file string) (string, error) {
	var x struct {
		Least, Most, Met, Runs               int // runs of a scenario, and of all
		Rows                                 []*Row
		Wall, StartUp, CPU                   float64 // of SLS, in seconds
		Ours                                 cost
		WallRatio, RatioAfterStart, CPURatio float64
	}
	x.Least = len(rows[0].Runs)
	for i := range rows {
		row := &rows[i]
		x.Rows = append(x.Rows, row)
		if row.Met {
			x.Met++
		}
		x.Least, x.Most, x.Runs = min(x.Least, len(row.Runs)), max(x.Most, len(row.Runs)), x.Runs+len(row.Runs)
		for k := range row.Runs {
			r := &row.Runs[k]
			x.Wall, x.StartUp, x.CPU, x.Ours = x.Wall+r.SLS.Wall, x.StartUp+r.SLS.StartUp, x.CPU+r.SLS.CPU, x.Ours.plus(r.cost)
		}
	}
	x.WallRatio, x.RatioAfterStart, x.CPURatio = x.Wall/x.Ours.Wall.Seconds(), (x.Wall-x.StartUp)/x.Ours.Wall.Seconds(), x.CPU/x.Ours.CPU.Seconds()
	return evidence.Page(pageText, file, x, nil)
}

// String is median, p95 and mean error, and how many are within 5 %.
func (d Distance) String() string {
	s := fmt.Sprintf("%.1f %% / %.1f %% / %.1f %%, %.0f %%", 100*d.Median, 100*d.P95, 100*d.MeanAbs, 100*d.Within5)
	if d.Missing > 0 {
		s += fmt.Sprintf(" (%d jobs missing)", d.Missing)
	}
	return s
}

// Orders are how many jobs start at the same place, and Kendall's τ.
func (d Distance) Orders() string { return fmt.Sprintf("%d/%d %.2f", d.Order, d.Jobs, d.Tau) }

// Differs is the first decision that differs.
func (d Distance) Differs() string {
	if d.First < 0 {
		return fmt.Sprintf("none of %d", d.Total)
	}
	return fmt.Sprintf("after %d of %d, %.1f s", d.First, d.Total, d.FirstAt)
}
