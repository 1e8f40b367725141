// Package tune finds settings of a scheduler that improve a goal and keep every queue within its bound. Sweep runs designs over
// the same settings.
//
// The search is an evolution with successive halving. It starts from a design: moves of one setting alone, and points at random.
// Candidates run on the busiest day, the best of them on all days, the best of those in perturbed replays of all days, where goal
// and bounds are judged by their means. Children of the best compete with them in the same way. The winner is rid of the changes
// that it does not need, validated on other days or replays, where it may be rejected for the next one, and confirmed once on
// days that nothing has seen. All settings have the same jobs, moves and random numbers.
package tune

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/yarn/edit"
)

// Plan is a question.
type Plan struct {
	Aim
	Space   *Space
	History *History
	// Runs is the budget in runs of all days that are searched; 0: the usual one, which depends on the history alone. Time, if
	// set, replaces it: the answer then depends on the machine.
	Runs    float64
	Time    time.Duration
	Seed    uint64
	Workers int // 0: as many as there are processors
	// Progress, if set, is called with the share of the budget that is spent and the best change of the goal so far.
	Progress func(done, best float64)
}

// The usual budget is as many runs as simulate so many events, which a processor does in about ten seconds, within limits.
const (
	usualEvents = 14e6
	minRuns     = 60
	maxRuns     = 1000
)

const (
	batch     = 8   // children at once: no number of processors changes it
	designed  = 0.4 // of the budget, for candidates of the design on the busiest day
	parents   = 5   // the best candidates, from which children are drawn
	promising = 3   // others from which they are drawn, too
	validated = 8   // candidates that may be rejected
	ablated   = 8   // changes of a candidate for which the budget is kept back to revert them one by one
	// needless is what changes may contribute to the goal, alone or together, and still be left out: a tenth of a percentage point.
	needless = 0.001
)

// promoted is how many go on from each rung, of the design and of a batch of children.
var promoted = [2][2]int{{15, 9}, {4, 3}}

// trial is a candidate with its outcomes.
type trial struct {
	point   Point
	changes []edit.Change
	seen    []outcome // of the first parts of the search
}

// search is the state of a plan.
type search struct {
	*Plan
	judge  judge
	rungs  []int         // how many parts of the search each has
	bases  []*result.Run // of all parts
	full   float64       // events of a run of all days
	spent  float64
	trials []*trial
	tried  map[string]bool
	random *rand.Rand
	began  time.Time
}

// Search answers a plan. If ctx ends, the answer is partial.
func Search(ctx context.Context, p Plan) (*Answer, error) {
	s, err := start(ctx, &p)
	if err == nil {
		err = s.evolve(ctx)
	}
	if err != nil && (s == nil || ctx.Err() == nil) {
		return nil, err
	}
	return s.answer(ctx)
}

// start runs the present settings on every part.
func start(ctx context.Context, p *Plan) (*search, error) {
	h := p.History
	s := &search{Plan: p, began: time.Now(), tried: map[string]bool{"": true}, random: rand.New(rand.NewPCG(p.Seed, 0x74756e65))} //nolint:gosec // reproducible
	s.rungs = slices.Compact([]int{1, h.Days, len(h.Search)})
	parts := slices.Concat(h.Search, h.Validation, h.Confirmation)
	errs := make([]error, len(parts))
	run.Each(ctx, len(parts), s.Workers, func(i int) {
		if parts[i].base == nil { // not of an earlier plan
			parts[i].base, errs[i] = parts[i].Run(ctx, nil)
		}
	})
	if err := cmp.Or(cmp.Or(errs...), ctx.Err()); err != nil {
		return nil, err
	}
	for _, p := range parts {
		s.bases = append(s.bases, p.base)
	}
	for _, p := range h.Search[:h.Days] {
		s.full += float64(p.base.Events)
	}
	s.spent = s.cost(parts)
	if s.Runs == 0 {
		s.Runs = math.Round(min(max(usualEvents/s.full, minRuns), maxRuns))
	}
	s.judge = newJudge(&s.Aim, s.bases)
	for k, b := range s.judge {
		if !slices.ContainsFunc(s.bases, func(r *result.Run) bool { _, n := b.Measure(r); return n > 0 }) {
			return nil, fmt.Errorf("%s %q: no job of such a queue finishes", [2]string{"--goal", "--keep"}[min(k, 1)], b.Goal)
		}
	}
	if _, n := s.Goal.Measure(h.Search[0].base); n == 0 {
		return nil, fmt.Errorf("--goal %q: no job of that queue finishes on %s", s.Goal, h.Search[0].Name)
	}
	if need := s.spent + s.closing() + s.cost(h.Search) + batch*s.cost(h.Search[:1]); need > s.budget() {
		if s.Time > 0 {
			return nil, fmt.Errorf("the budget of %v is too short: the present settings alone took %v; give at least %v", s.Time, time.Since(s.began).Round(time.Second),
				time.Duration(float64(s.Time)*need/s.budget()).Round(time.Second)+time.Second)
		}
		return nil, fmt.Errorf("the budget of %.0f runs is too small: the present settings take %.1f runs in all replays; give at least %.0fruns", s.Runs, s.spent, math.Ceil(need))
	}
	return s, nil
}

// cost is that of a candidate on parts, in runs of all days.
func (s *search) cost(parts []*Part) (sum float64) {
	for _, p := range parts {
		sum += float64(p.base.Events) / s.full
	}
	return sum
}

// budget is the number of runs; a time is worth as many as it allows at the pace so far.
func (s *search) budget() float64 {
	if s.Time == 0 {
		return s.Runs
	}
	return s.spent * float64(s.Time) / float64(max(1, time.Since(s.began)))
}

// closing is what must be left to simplify, validate and confirm an answer.
func (s *search) closing() float64 {
	h := s.History
	return ablated*s.cost(h.Search[:h.Days]) + s.cost(h.Search) + 2*s.cost(h.Validation) + s.cost(h.Confirmation)
}

// evolve spends the budget, except for what the closing needs.
func (s *search) evolve(ctx context.Context) error {
	room := s.budget() - s.spent - s.closing()
	n := int(designed * room / s.cost(s.History.Search[:1]))
	if err := s.race(ctx, s.design(max(n, batch)), promoted[0]); err != nil {
		return err
	}
	dearest := 0.0
	for s.spent+dearest <= s.budget()-s.closing() {
		fresh := s.children(batch)
		if len(fresh) == 0 {
			return nil // everything was tried
		}
		before := s.spent
		if err := s.race(ctx, fresh, promoted[1]); err != nil {
			return err
		}
		dearest = max(dearest, s.spent-before)
	}
	return nil
}

// candidate makes a trial of a point, unless one with the same changes was tried.
func (s *search) candidate(p Point) *trial {
	t := &trial{point: p, changes: s.Space.Changes(p)}
	key := edit.Words(t.changes)
	if s.tried[key] {
		return nil
	}
	s.tried[key] = true
	return t
}

// design is the first generation: by turns a move of one setting and a point at random, of which every fourth one changes all
// settings.
func (s *search) design(n int) (fresh []*trial) {
	moves := s.Space.moves()
	s.random.Shuffle(len(moves), func(i, k int) { moves[i], moves[k] = moves[k], moves[i] })
	for i := 0; len(fresh) < n && i < 20*n; i++ {
		p := s.Space.sparse(s.random)
		switch {
		case i%3 < 2 && i < 3*len(moves)/2:
			p = moves[i-(i+1)/3]
		case i%12 == 2:
			p = s.Space.random(s.random)
		}
		if t := s.candidate(p); t != nil {
			fresh = append(fresh, t)
		}
	}
	return fresh
}

// children draws candidates from the best; none: there seem to be no more.
func (s *search) children(n int) (fresh []*trial) {
	var points []Point
	for _, t := range s.parents() {
		points = append(points, t.point)
	}
	for draw := 0; draw < 100 && len(fresh) < n; draw++ {
		p := s.Space.child(s.random, points)
		if s.random.IntN(2*batch) == 0 {
			p = s.Space.sparse(s.random)
		}
		if t := s.candidate(p); t != nil {
			fresh, draw = append(fresh, t), -1
		}
	}
	return fresh
}

// errorsKept is how many standard errors a bound must be kept by in the search.
const errorsKept = 1

// slack is by how much a bound may be broken in the first runs of a candidate: a single run is off by about as much.
const slack = 0.05

// scoreOn scores a trial by the first parts of the search.
func (s *search) scoreOn(t *trial, parts int) score {
	if parts == len(s.History.Search) {
		return s.judge.score(t.seen[:parts], errorsKept)
	}
	mark := s.judge.score(t.seen[:parts], 0)
	mark.excess -= slack
	return mark
}

// best are all trials, those that went furthest first, by merit.
func (s *search) best() []*trial {
	list := slices.Clone(s.trials)
	slices.SortStableFunc(list, func(a, b *trial) int {
		return cmp.Or(len(b.seen)-len(a.seen), cmp.Compare(s.scoreOn(a, len(a.seen)).merit(), s.scoreOn(b, len(b.seen)).merit()))
	})
	return list
}

// parents are the best trials, and the most promising of the others.
func (s *search) parents() []*trial {
	list := s.best()
	n := min(parents, len(list))
	bringForward(list[n:], promising, func(t *trial) float64 { return s.scoreOn(t, len(t.seen)).promise() })
	return list[:min(n+promising, len(list))]
}
