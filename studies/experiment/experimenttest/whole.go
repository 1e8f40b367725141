// Package experimenttest has a test that every study passes.
package experimenttest

import (
	"context"
	"math"
	"slices"
	"testing"

	x "github.com/yardmaster/yardmaster/studies/experiment"
)

// Whole runs all experiments of a study with some seeds: every figure that a check or a report needs must exist, and tables and charts must be complete. absent
// is what a cell has whose figure is missing; "": such cells are allowed.
func Whole(t *testing.T, s *x.Study, seeds []uint64, sections int, absent string) *x.Findings {
	t.Helper()
	var ids []string
	for _, e := range s.Experiments {
		ids = append(ids, e.ID)
	}
	f, err := x.Run(context.Background(), x.Plan{Selected: []x.Selection{{Study: s, Experiments: ids}}, Seeds: seeds})
	if err != nil {
		t.Fatal(err)
	}
	for _, fail := range f.Failures {
		t.Errorf("%s: %s", fail.Experiment, fail.Error)
	}
	const missing = "no seed has this figure"
	for _, c := range f.Studies[0].Checks {
		if c.Note == missing {
			t.Errorf("%s asks for a figure that no run has", c.ID)
		}
		for _, p := range c.Parts {
			if p.Note == missing {
				t.Errorf("%s, %s: asks for a figure that no run has", c.ID, p.Label)
			}
		}
	}
	for _, e := range f.Studies[0].Experiments {
		for _, r := range e.Reported {
			if math.IsNaN(r.Ours.Mean) {
				t.Errorf("%s has no %s", e.ID, r.Metric)
			}
		}
	}
	if n := len(f.Studies[0].Sections); n != sections {
		t.Errorf("%d sections, want %d", n, sections)
	}
	for _, sec := range f.Studies[0].Sections {
		for _, table := range sec.Tables {
			for _, row := range table.Rows {
				if len(row) != len(table.Columns) || absent != "" && slices.Contains(row, absent) {
					t.Errorf("%s, %s: %v under %v", sec.Title, table.Caption, row, table.Columns)
				}
			}
		}
		for _, c := range sec.Charts {
			for _, series := range c.Series {
				if len(series.Points) != len(c.Categories) || len(c.Categories) == 0 {
					t.Errorf("%s, %s: %d points for %d categories", sec.Title, c.Title, len(series.Points), len(c.Categories))
				}
			}
		}
	}
	return f
}
