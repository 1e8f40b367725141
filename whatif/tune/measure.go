package tune

import (
	"context"
	"math"

	"github.com/yardmaster/yardmaster/yarn/edit"
)

// Mark is what a set of changes does.
type Mark struct {
	Change float64 `json:"change"` // of the goal, relative
	Kept   bool    `json:"kept"`   // every bound, as the search demands it
	Broken string  `json:"broken,omitempty"`
}

// Measure judges sets of changes as the search does its candidates: on all its days, in all its replays; with confirmation, on
// those of the confirmation.
func Measure(ctx context.Context, p Plan, confirmation bool, sets ...[]edit.Change) ([]Mark, error) {
	p.Runs, p.Time = math.Inf(1), 0
	s, err := start(ctx, &p)
	if err != nil {
		return nil, err
	}
	parts, trials := p.History.Search, make([]*trial, len(sets))
	if confirmation {
		parts = p.History.Confirmation
	}
	for i, changes := range sets {
		trials[i] = &trial{changes: changes}
	}
	outcomes, err := s.try(ctx, trials, parts)
	if err != nil {
		return nil, err
	}
	marks := make([]Mark, len(sets))
	for i := range marks {
		mark := s.judge.score(outcomes[i], errorsKept)
		marks[i] = Mark{Change: min(mark.ratio-1, math.MaxInt32), Kept: mark.kept()}
		if !marks[i].Kept {
			marks[i].Broken = s.judge.broken(outcomes[i])
		}
	}
	return marks, nil
}
