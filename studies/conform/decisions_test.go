package conform

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
)

// sameDecisions reports where, with the logged instants, the simulator's decisions in a run differ from those of SLS.
func sameDecisions(r *RunResult) error {
	switch d := &r.Instants; {
	case len(r.Lost) > 0:
		return fmt.Errorf("SLS lost %v", r.Lost)
	case d.Missing > 0:
		return fmt.Errorf("%d jobs did not end in both", d.Missing)
	case d.Total == 0:
		return fmt.Errorf("there were no decisions")
	case d.First >= 0:
		return fmt.Errorf("the first decision that differs comes after %d of %d, at %.1f s", d.First, d.Total, d.FirstAt)
	}
	return nil
}

// One decision that differs is a difference, however close the job times are.
func TestSameDecisions(t *testing.T) {
	same := Distance{Jobs: 3, Within5: 1, First: -1, Total: 100}
	for name, c := range map[string]struct {
		change func(*RunResult)
		same   bool
	}{
		"all the same":          {func(*RunResult) {}, true},
		"phases far off":        {func(r *RunResult) { r.Phases.Median = 0.5 }, true},
		"the last one differs":  {func(r *RunResult) { r.Instants.First = 99 }, false},
		"the first one differs": {func(r *RunResult) { r.Instants.First = 0 }, false},
		"a job does not end":    {func(r *RunResult) { r.Instants.Missing = 1 }, false},
		"SLS lost a job":        {func(r *RunResult) { r.Lost = []string{"j001"} }, false},
		"nothing was decided":   {func(r *RunResult) { r.Instants.Total = 0 }, false},
	} {
		r := &RunResult{Phases: same, Instants: same}
		c.change(r)
		if err := sameDecisions(r); (err == nil) != c.same {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The small scenarios that the lab plays: in the stored runs, every decision is the same with the logged instants.
func TestKeptSmallRunsDecideAlike(t *testing.T) {
	scenarios, err := Named("small")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := Compare(context.Background(), scenarios, filepath.Join("..", "..", "docs", "studies", "conformance"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		for k := range rows[i].Runs {
			if err := sameDecisions(&rows[i].Runs[k]); err != nil {
				t.Errorf("%s, run %d: %v", rows[i].Scenario.Name, k+1, err)
			}
		}
	}
}
