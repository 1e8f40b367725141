package experiment

import (
	"fmt"
	"math"
	"slices"
)

// Rejudge judges figures that were kept by the checks of today: texts, rules and sections may have changed since, figures are taken as they
// are. Experiments that a study no longer has are left out.
func Rejudge(kept *Findings, studies []*Study) (*Findings, error) {
	f := *kept
	f.Studies = nil
	for i := range kept.Studies {
		old := &kept.Studies[i]
		at := slices.IndexFunc(studies, func(s *Study) bool { return s.Name == old.Name })
		if at < 0 {
			return nil, fmt.Errorf("there is no study %s any more: its findings can be shown, not judged again", old.Name)
		}
		s := studies[at]
		if err := s.Validate(); err != nil {
			return nil, err
		}
		runs := &Runs{seeds: kept.Seeds, metrics: map[string][]Metrics{}}
		for k := range old.Experiments {
			if e := &old.Experiments[k]; s.at(e.ID) >= 0 {
				runs.metrics[e.ID] = e.runs(kept.Seeds)
			}
		}
		sel := Selection{Study: s}
		for _, id := range ids(s) {
			if runs.metrics[id] != nil {
				sel.Experiments = append(sel.Experiments, id)
			}
		}
		f.Studies = append(f.Studies, found(sel, runs))
	}
	return &f, nil
}

// Found judges figures that were measured elsewhere; the study needs no experiments of its own.
func (s *Study) Found(runs *Runs) StudyFinding {
	all := Selection{Study: s}
	for id := range runs.metrics {
		all.Experiments = append(all.Experiments, id)
	}
	return found(all, runs)
}

// runs are the figures of an experiment by the place of their seed; nil where it was not run.
func (e *ExperimentFinding) runs(seeds []uint64) []Metrics {
	out := make([]Metrics, len(seeds))
	for k, seed := range e.Seeds {
		at := slices.Index(seeds, seed)
		if at < 0 {
			continue
		}
		out[at] = Metrics{}
		for i := range e.Metrics {
			if m := &e.Metrics[i]; k < len(m.Values) && !math.IsNaN(float64(m.Values[k])) {
				out[at][m.Name] = float64(m.Values[k])
			}
		}
	}
	return out
}
