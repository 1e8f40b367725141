package capacity

import (
	"fmt"
	"math"
	"slices"
	"strings"

	x "github.com/yardmaster/yardmaster/experiment"
)

// closeSection tells how far our figures are from the source's, table by table.
func closeSection(r *x.Runs) (x.Section, bool) {
	s := texts().Section("close")
	t := x.Table{Caption: "Relative errors", Columns: []string{"figures", "number", "median error", "within 10 %", "within 40 %", "furthest"}}
	recorded := map[string]bool{}
	for _, b := range unequal {
		for _, i := range open {
			recorded[b.id(i)] = true
		}
	}
	all := experiments()
	for _, g := range []struct {
		name, prefix, metric string
		recorded             bool
	}{
		{"makespans, S01 to S16", "S", "makespan/", false},
		{"makespans, E01 to E32", "E", "makespan/", false},
		{"response ratios, E01 to E32", "E", "ratio/", false},
		{"rack-local maps, E01 to E32", "E", "rack-local/", false},
		{"makespans, unequal queues without a maximum", "E", "makespan/", true},
		{"response ratios, unequal queues without a maximum", "E", "ratio/", true},
	} {
		var errs []float64
		furthest, at := -1.0, ""
		for i := range all {
			e := &all[i]
			if !strings.HasPrefix(e.ID, g.prefix) || len(e.ID) != 3 || recorded[e.ID] != g.recorded || !r.Has(e.ID) {
				continue
			}
			for _, cell := range e.Reported {
				if !strings.HasPrefix(cell.Metric, g.metric) {
					continue
				}
				ours := r.Estimate(e.ID, cell.Metric).Mean
				off := math.Abs(ours/cell.Paper - 1)
				if errs = append(errs, off); off > furthest {
					furthest, at = off, fmt.Sprintf("%s %s: %s, here %s", e.ID, cell.What, x.Number(cell.Paper), x.Number(ours))
				}
			}
		}
		if len(errs) == 0 {
			continue
		}
		slices.Sort(errs)
		within := func(bound float64) string {
			n, _ := slices.BinarySearch(errs, bound)
			return fmt.Sprintf("%d %%", 100*n/len(errs))
		}
		t.Rows = append(t.Rows, []string{g.name, fmt.Sprint(len(errs)), fmt.Sprintf("%.0f %%", 100*errs[len(errs)/2]), within(0.1), within(0.4), at})
	}
	s.Tables = []x.Table{t}
	return s, len(t.Rows) > 0
}
