package tune

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// without is a candidate with some of its changes reverted.
func (s *search) without(t *trial, units ...[]int) *trial {
	p := slices.Clone(t.point)
	for _, unit := range units {
		for _, i := range unit {
			p[i] = math.NaN()
		}
	}
	return &trial{point: p, changes: s.Space.Changes(p)}
}

// simplify reverts the changes of a candidate that it does not need, if the rest holds in all replays without them; otherwise
// half of them, those with the least effect, and so on. The candidate stays as it is if the budget is spent.
func (s *search) simplify(ctx context.Context, t *trial) (simple *trial, effects []Effect, err error) {
	days, all := s.History.Days, len(s.History.Search)
	units := s.Space.units()
	type reverted struct {
		*trial
		unit int
	}
	var tries []reverted
	for u, unit := range units {
		effects = append(effects, s.alone(unit))
		if !math.IsNaN(t.point[unit[0]]) {
			tries = append(tries, reverted{s.without(t, unit), u})
		}
	}
	left := func() float64 {
		return s.budget() - s.spent - s.cost(s.History.Validation) - s.cost(s.History.Confirmation)
	}
	if float64(len(tries))*s.cost(s.History.Search[:days]) > left() {
		return t, nil, nil
	}
	trials := make([]*trial, len(tries))
	for i := range tries {
		trials[i] = tries[i].trial
	}
	if err := s.climb(ctx, trials, days); err != nil {
		return nil, nil, err
	}
	with := s.judge.score(t.seen[:days], 0)
	loss := func(r reverted) float64 { return s.judge.score(r.seen, 0).merit() - with.merit() }
	slices.SortStableFunc(tries, func(a, b reverted) int { return cmp.Compare(loss(a), loss(b)) })
	var idle []int
	for _, r := range tries {
		e, mark := &effects[r.unit], s.judge.score(r.seen, 0)
		if e.Needed, e.Without = true, min(mark.ratio-1, math.MaxInt32); !mark.kept() { // no job may have finished
			e.Broken = s.judge.broken(r.seen)
		}
		if loss(r) <= needless {
			idle = append(idle, r.unit)
		}
	}
	for ; len(idle) > 0 && s.cost(s.History.Search) <= left(); idle = idle[:len(idle)/2] {
		var drop [][]int
		for _, u := range idle {
			drop = append(drop, units[u])
		}
		simple := s.without(t, drop...)
		if err := s.climb(ctx, []*trial{simple}, all); err != nil {
			return nil, nil, err
		}
		if mark := s.scoreOn(simple, all); mark.kept() && mark.ratio <= s.scoreOn(t, all).ratio+needless {
			for _, u := range idle {
				effects[u].Needed = false
			}
			return simple, effects, nil
		}
	}
	return t, effects, nil
}

// alone is what the best move of these settings alone did, where one was measured.
func (s *search) alone(unit []int) Effect {
	e := Effect{}
	for _, i := range unit {
		e.Settings = append(e.Settings, s.Space.axes[i].name())
	}
	var best *trial
	for _, t := range s.trials {
		only := len(t.seen) > 0
		for i, u := range t.point {
			only = only && (math.IsNaN(u) || slices.Contains(unit, i))
		}
		if only && (best == nil || s.scoreOn(t, 1).merit() < s.scoreOn(best, 1).merit()) {
			best = t
		}
	}
	if best == nil {
		return e
	}
	mark := s.judge.score(best.seen[:1], 0)
	e.Alone = &Alone{Changes: words(best.changes), Change: min(mark.ratio-1, math.MaxInt32)}
	if !mark.kept() {
		e.Alone.Broken = s.judge.broken(best.seen[:1])
	}
	return e
}

// near reports whether two candidates hardly differ.
func (s *search) near(a, b *trial) bool {
	sum, x, y := 0.0, s.Space.located(a.point), s.Space.located(b.point)
	for i := range x {
		sum += math.Abs(x[i] - y[i])
	}
	return sum < 0.02*float64(len(x))
}
