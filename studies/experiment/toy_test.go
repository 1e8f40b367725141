package experiment

import (
	"context"
	"fmt"
	"math"
)

// toy is a study of a queue whose figures are formulas of the seed, so that every verdict is known beforehand.
func toy() *Study {
	run := func(wait, locality float64) func(context.Context, uint64) (Metrics, error) {
		return func(_ context.Context, seed uint64) (Metrics, error) {
			s := float64(seed%5) - 2 // -2 to 2
			return Metrics{"wait/short": wait + s, "wait/long": 100 + 3*s, "locality": locality, "noise": 50 + 20*s, "nothing": math.NaN()}, nil
		}
	}
	return &Study{
		Name: "toy", Title: "A toy queue", Source: "A. Author, On toys, 2013", About: "Three settings of a queue that is not there.",
		Assumptions: []string{"a seed moves the wait by a second"}, Headline: []string{"cap-helps", "cap-hurts", "locality"},
		Calibrated: []string{"the wait of long jobs, 100 s"},
		Experiments: []Experiment{
			{
				ID: "T01", Group: "plain", Title: "no cap", Setup: []Pair{{"cap", "none"}, {"nodes", "3"}}, Run: run(40, 0.5),
				Reported: []Reported{{Metric: "wait/short", What: "Wait, short jobs", Unit: "s", Paper: 41}, {Metric: "locality", What: "Locality", Paper: math.NaN()}},
			},
			{
				ID: "T02", Group: "plain", Title: "capped", Setup: []Pair{{"cap", "50 %"}, {"nodes", "3"}}, Run: run(20, 0.5),
				Reported: []Reported{{Metric: "wait/short", What: "Wait, short jobs", Unit: "s", Paper: 18, Note: "printed as 81"}},
			},
			{ID: "T03", Group: "other queues/odd", Title: "many queues", Run: run(39.9, 0.5)},
		},
		Checks: []Check{
			{ID: "cap-helps", Text: "A cap makes short jobs wait less", Paper: "41 to 18 s", Strength: A, Judge: Falls(Of("T01", "wait/short"), Of("T02", "wait/short"))},
			{ID: "cap-hurts", Text: "A cap makes long jobs wait longer", Paper: "longer", Strength: A, Judge: Rises(Of("T01", "wait/long"), Of("T02", "wait/long")), Why: "long jobs do not see the cap"},
			{ID: "locality", Text: "Half of the tasks are local", Paper: "50 %", Strength: B, ByConstruction: true, Judge: Within(Of("T01", "locality"), 0.45, 0.55)},
			{ID: "noise", Text: "More queues are noisier", Strength: B, Judge: Rises(Of("T01", "noise"), Quantity{"T03 noise + 1", func(r *Runs) []float64 {
				vs := r.Values("T03", "noise")
				for i := range vs {
					vs[i] += 1 + 5*math.Sin(float64(i)*2)
				}
				return vs
			}})},
			{ID: "odd", Text: "With many queues short jobs starve", Paper: "13 times", Strength: R, Judge: Changes(Of("T01", "wait/short"), Of("T03", "wait/short"), 1, 20), Why: "nothing in the rule makes them"},
			{ID: "long", Text: "Long jobs wait about the same", Strength: R, Judge: AboutEqual(Of("T01", "wait/long"), Of("T03", "wait/long"), 0.1),
				Revised: &Revision{First: AboutEqual(Of("T01", "wait/long"), Of("T03", "wait/long"), 0.01), Why: "the source says 10 %"}},
		},
		Sections: func(r *Runs) []Section {
			if !r.Has("T01", "T02") {
				return nil
			}
			return []Section{{
				Title: "Waits", Text: []string{"Short jobs gain."},
				Tables: []Table{{Caption: "Waits by experiment", Columns: []string{"experiment", "wait"}, Rows: [][]string{{"T01", Interval(r.Estimate("T01", "wait/short"))}, {"T02", Interval(r.Estimate("T02", "wait/short"))}}}},
				Charts: []Chart{{
					Title: "Wait of short jobs", Unit: "s", Kind: Bars, Categories: []string{"T01", "T02"},
					Series: []Series{
						{Name: "ours", Points: []Point{r.Point("T01", "wait/short"), r.Point("T02", "wait/short")}},
						{Name: "source", Paper: true, Points: []Point{{41, 41, 41}, {math.NaN(), math.NaN(), math.NaN()}}},
					},
				}},
			}}
		},
	}
}

// plan is all of a study, or the named experiments of it.
func plan(s *Study, seeds int, experiments ...string) Plan {
	if len(experiments) == 0 {
		experiments = ids(s)
	}
	return Plan{Selected: []Selection{{s, experiments}}, Seeds: Seeds(1, seeds), Version: "test"}
}

// failing is a toy whose T02 fails with one seed.
func failing(seed uint64, how func()) *Study {
	s := toy()
	run := s.Experiments[1].Run
	s.Experiments[1].Run = func(ctx context.Context, n uint64) (Metrics, error) {
		if n == seed {
			if how != nil {
				how()
			}
			return nil, fmt.Errorf("the disk is full")
		}
		return run(ctx, n)
	}
	return s
}
