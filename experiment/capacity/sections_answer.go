package capacity

import (
	x "github.com/yardmaster/yardmaster/experiment"
)

// answerSection puts the three settings side by side, each alone, for short and for long jobs.
func answerSection(r *x.Runs) (x.Section, bool) {
	s := texts().Section("answer")
	alone := []struct {
		name string
		row  int
	}{{"defaults", 0}, {"maximum-capacity", 1}, {"ULF 2", 2}, {"MULP 25", 3}, {"maximum-capacity and MULP 25", 5}}
	for _, group := range lengths {
		c := x.Chart{Title: "Elapsed time of " + group + " jobs, mean", Unit: "s", Kind: x.Bars}
		t := x.Table{Caption: c.Title + ", s", Columns: []string{"jobs come"}}
		for _, a := range alone {
			c.Series = append(c.Series, x.Series{Name: a.name})
			t.Columns = append(t.Columns, a.name)
		}
		for _, b := range blocks {
			var needs []string
			for _, a := range alone {
				needs = append(needs, b.id(a.row))
			}
			if !r.Has(needs...) {
				continue
			}
			c.Categories = append(c.Categories, b.name)
			row := []string{b.name}
			for i, a := range alone {
				c.Series[i].Points = append(c.Series[i].Points, r.Point(b.id(a.row), "elapsed/"+group))
				row = append(row, x.Interval(r.Estimate(b.id(a.row), "elapsed/"+group)))
			}
			t.Rows = append(t.Rows, row)
		}
		if len(t.Rows) == 0 {
			return s, false
		}
		// Short jobs are the question: their chart comes first.
		s.Charts = append([]x.Chart{c}, s.Charts...)
		s.Tables = append([]x.Table{t}, s.Tables...)
	}
	return s, true
}
