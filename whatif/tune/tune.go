// Package tune finds settings of a scheduler that improve a goal and keep every queue within its bound. Sweep runs designs over the same settings.
//
// The search is model-based: a tree-structured Parzen estimator proposes settings, and successive halving spends the budget on the promising
// ones. All are tried on the busiest hours of the history, where the bounds must also hold with a quarter of the jobs, the best of them on whole days.
// The best candidate is then rid of the changes that do not matter, and the second half of the budget goes to its neighbours. All runs have the same
// jobs and random numbers. Settings are judged by their worst day, and the answer is confirmed on days that the search has not seen.
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
	// Runs is the budget of the search in runs of all its days. Time, if set, ends it earlier: the answer then depends on the machine.
	Runs    float64
	Time    time.Duration
	Seed    uint64
	Workers int // 0: as many as there are processors
	// Progress, if set, is called with the share of the budget that is spent and the best change of the goal so far.
	Progress func(done, best float64)
}

const (
	batch     = 8     // candidates tried at once: no number of processors changes it
	startup   = 12    // candidates drawn at random first
	spares    = 2     // for each of them, drawn in case it breaks a bound on the quiet part
	promoted  = 2     // of a batch, from each rung to the next
	confirmed = 8     // candidates tried on the held-out days
	equalled  = 1.005 // ratio of goals on the busiest hours: what is near the best one must come up to it there to be tried on days
	refined   = 0.6   // of the budget, for candidates near the best one
	reserve   = 0.05  // of the budget, to simplify the best candidates
	// idlePoints is what changes may contribute to the goal, alone or together, and still not matter: a tenth of a percentage point.
	idlePoints = 0.001
)

// trial is a candidate with its outcomes.
type trial struct {
	point   Point
	changes []edit.Change
	seen    []outcome // by part, in the order of the rungs
	score   score     // of the days, or of the busiest hours while there are none
	near    bool      // it was drawn near the best one
}

// search is the state of a plan.
type search struct {
	*Plan
	judge   judge
	rungs   [][]*Part     // the last ones are the days
	cheap   []*Part       // the quiet one, and the first rung
	bases   []*result.Run // of all parts, the held-out ones included
	full    float64       // events of a full run
	spent   float64
	once    float64  // cost of a run on the cheap parts
	dearest float64  // round so far
	trials  []*trial // best first, by the cheap parts
	tried   map[string]bool
	random  *rand.Rand
	best    *trial // candidates are drawn near it; nil: anywhere
	began   time.Time
}

// Search answers a plan. If ctx ends, candidates are no longer confirmed, and the answer is partial.
func Search(ctx context.Context, p Plan) (*Answer, error) {
	s := &search{Plan: &p, began: time.Now(), tried: map[string]bool{"": true}, random: rand.New(rand.NewPCG(p.Seed, 0x74756e65))} //nolint:gosec // reproducible
	h := p.History
	rungs := [][]*Part{h.Busy, h.Days[:1], h.Days[1:]}
	s.rungs = slices.DeleteFunc(rungs, func(r []*Part) bool { return len(r) == 0 })
	s.cheap = slices.Concat(h.Quiet, s.rungs[0])
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	err := s.rounds(ctx, 1-refined-reserve)
	s.dearest = 0
	if list := s.finalists(); err == nil && len(list) > 0 {
		if s.best, _, err = s.simplify(ctx, list[0]); err == nil {
			err = s.rounds(ctx, 1-reserve)
		}
	}
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	return s.answer(ctx)
}

// rounds spends the budget up to a share of it.
func (s *search) rounds(ctx context.Context, share float64) error {
	late := func() bool { return s.Time > 0 && time.Since(s.began) > time.Duration(share*float64(s.Time)) }
	for len(s.trials) == 1 || s.spent+s.dearest <= share*s.Runs && !late() {
		if err := s.round(ctx); err != nil {
			return err
		}
		for _, t := range s.finalists() {
			if s.best != nil && t.near && t.score.ratio < s.best.score.ratio {
				s.best = t
			}
		}
	}
	return nil
}

// start runs the present settings on every part.
func (s *search) start(ctx context.Context) error {
	searched := slices.Concat(s.History.Quiet, slices.Concat(s.rungs...))
	parts := slices.Concat(searched, s.History.HeldOut)
	errs := make([]error, len(parts))
	run.Each(ctx, len(parts), s.Workers, func(i int) { parts[i].base, errs[i] = parts[i].Run(ctx, nil) })
	if err := cmp.Or(cmp.Or(errs...), ctx.Err()); err != nil {
		return err
	}
	for _, p := range parts {
		s.bases = append(s.bases, p.base)
	}
	for _, day := range s.History.Days {
		s.full += float64(day.base.Events)
	}
	for _, p := range s.cheap {
		s.once += float64(p.base.Events) / s.full
	}
	s.judge = newJudge(&s.Aim, s.bases)
	for k, b := range s.judge {
		if !slices.ContainsFunc(s.bases, func(r *result.Run) bool { _, n := b.Measure(r); return n > 0 }) {
			return fmt.Errorf("%s %q: no job of such a queue finishes", [2]string{"--goal", "--keep"}[min(k, 1)], b.Goal)
		}
	}
	if _, n := s.Goal.Measure(s.History.Days[0].base); n == 0 {
		return fmt.Errorf("--goal %q: no job of that queue finishes on %s", s.Goal, s.History.Days[0].Name)
	}
	present := &trial{point: s.Space.Present()}
	for _, p := range searched {
		present.seen = append(present.seen, s.judge.compare(p, p.base))
		s.spent += float64(p.base.Events) / s.full
	}
	s.trials = []*trial{present}
	s.rate(present)
	return nil
}

// rate scores a trial by the days, or by the busiest hours while there are none.
func (s *search) rate(t *trial) {
	seen := t.seen
	if quiet, busy := len(s.History.Quiet), len(s.History.Busy); len(seen) > quiet+busy {
		seen = slices.Concat(seen[:quiet], seen[quiet+busy:])
	}
	t.score = s.judge.score(seen)
}

// first scores a trial by the cheap parts.
func (s *search) first(t *trial) score { return s.judge.score(t.seen[:min(len(t.seen), len(s.cheap))]) }

// rank sorts trials, best first.
func rank(trials []*trial, by func(t *trial) score) {
	slices.SortStableFunc(trials, func(a, b *trial) int { return by(a).order(by(b)) })
}

func latest(t *trial) score { return t.score }

// try runs trials on parts, several at once, and judges each run.
func (s *search) try(ctx context.Context, trials []*trial, parts []*Part) ([][]outcome, error) {
	out, errs := make([][]outcome, len(trials)), make([]error, len(trials)*len(parts))
	for i := range out {
		out[i] = make([]outcome, len(parts))
	}
	run.Each(ctx, len(errs), s.Workers, func(i int) {
		t, p := i/len(parts), parts[i%len(parts)]
		r, err := p.Run(ctx, trials[t].changes)
		if errs[i] = err; err == nil {
			out[t][i%len(parts)] = s.judge.compare(p, r)
		}
	})
	return out, cmp.Or(cmp.Or(errs...), ctx.Err())
}

// climb runs trials on a rung and ranks them.
func (s *search) climb(ctx context.Context, trials []*trial, rung []*Part) error {
	outcomes, err := s.try(ctx, trials, rung)
	if err != nil {
		return err
	}
	for i, t := range trials {
		for _, p := range rung {
			s.spent += float64(p.base.Events) / s.full // whatever this one took
		}
		t.seen = append(t.seen, outcomes[i]...)
		s.rate(t)
	}
	rank(trials, latest)
	return nil
}

// round proposes a batch and lets the best of it climb.
func (s *search) round(ctx context.Context) error {
	before := s.spent
	defer func() { s.dearest = max(s.dearest, s.spent-before) }()
	size, most := batch, promoted
	if s.best != nil {
		size, most = batch/2, 1
	}
	fresh := s.propose(size * (1 + spares*len(s.History.Quiet)))
	if len(fresh) == 0 {
		s.spent = s.Runs // everything was tried
		return nil
	}
	if err := s.climb(ctx, fresh, s.History.Quiet); err != nil {
		return err
	}
	kept := slices.IndexFunc(append(slices.Clip(fresh), nil), func(t *trial) bool { return t == nil || !t.score.kept() })
	s.trials = append(s.trials, fresh[kept:]...)
	fresh = fresh[:min(kept, size)]
	for i, rung := range s.rungs {
		if err := s.climb(ctx, fresh, rung); err != nil {
			return err
		}
		if i == 0 {
			s.trials = append(s.trials, fresh...)
			rank(s.trials, s.first)
			fresh = slices.DeleteFunc(slices.Clone(fresh), func(t *trial) bool {
				return s.known(t) || s.best != nil && t.score.ratio > equalled*s.first(s.best).ratio
			})
		}
		fresh = slices.DeleteFunc(fresh, func(t *trial) bool { return t.score.excess > 0.1 || t.score.ratio >= 1 })
		fresh = fresh[:min(most, len(fresh))]
	}
	if s.Progress != nil {
		best, done := 0.0, s.spent/s.Runs
		if list := s.finalists(); len(list) > 0 {
			best = list[0].score.ratio - 1
		}
		if s.Time > 0 {
			done = float64(time.Since(s.began)) / float64(s.Time)
		}
		s.Progress(min(1, done), best)
	}
	return nil
}

// known reports whether a candidate that went further did the same on the cheap parts.
func (s *search) known(t *trial) bool {
	return slices.ContainsFunc(s.trials, func(o *trial) bool { return len(o.seen) > len(t.seen) && s.first(o) == s.first(t) })
}

// propose draws a batch of candidates that were not tried; none: there seem to be no more.
func (s *search) propose(size int) (fresh []*trial) {
	points := s.ranked()
	for draw := 0; draw < 100 && len(fresh) < size; draw++ {
		var p Point
		switch {
		case s.best != nil:
			p = s.Space.around(s.random, s.best.point)
		case len(s.tried) > startup:
			p = s.Space.propose(s.random, points)
		default:
			p = s.Space.sparse(s.random)
		}
		changes := s.Space.Changes(p)
		if key := edit.Words(changes); !s.tried[key] {
			s.tried[key], draw = true, -1
			fresh = append(fresh, &trial{point: p, changes: changes, near: s.best != nil})
		}
	}
	return fresh
}

// ranked are the points tried, best first. Scores of hours and of days do not compare: candidates that hold on all days come first.
func (s *search) ranked() (points []Point) {
	days := s.finalists()
	for _, t := range slices.Concat(days, slices.DeleteFunc(slices.Clone(s.trials), func(t *trial) bool { return slices.Contains(days, t) })) {
		points = append(points, t.point)
	}
	return points
}

// finalists are the candidates that keep every bound on all days and improve the goal, best first.
func (s *search) finalists() []*trial {
	list := slices.DeleteFunc(slices.Clone(s.trials), func(t *trial) bool {
		return len(t.seen) < len(s.bases)-len(s.History.HeldOut) || !t.score.better()
	})
	rank(list, latest)
	return list
}

// simplify reverts the changes of a candidate that do not matter, if the rest holds on all days without them; otherwise half of them, those with the
// least effect, and so on. A limit that nobody felt in the search may be the one that binds on another day. The candidate stays as it is if the budget
// is spent.
func (s *search) simplify(ctx context.Context, t *trial) (simple *trial, effects []Effect, err error) {
	units := s.Space.units()
	without := func(which ...int) *trial {
		p := slices.Clone(t.point)
		for _, u := range which {
			for _, i := range units[u] {
				p[i] = math.NaN()
			}
		}
		return &trial{point: p, changes: s.Space.Changes(p)}
	}
	with := s.first(t)
	var tries []*trial
	var idle []int
	at := map[*trial]int{}
	for u, unit := range units {
		e := Effect{Without: with.ratio - 1}
		for _, i := range unit {
			e.Settings = append(e.Settings, s.Space.axes[i].name())
		}
		if e.Idle = math.IsNaN(t.point[unit[0]]); !e.Idle {
			try := without(u)
			tries, at[try] = append(tries, try), u
		}
		effects = append(effects, e)
	}
	if s.spent+s.once*float64(len(tries)) > s.Runs {
		return t, nil, nil
	}
	if err := s.climb(ctx, tries, s.cheap); err != nil {
		return nil, nil, err
	}
	effect := func(t *trial) float64 {
		return math.Abs(t.score.ratio-with.ratio) + math.Abs(t.score.change-with.change)
	}
	slices.SortStableFunc(tries, func(a, b *trial) int {
		return cmp.Or(cmp.Compare(effect(a), effect(b)), cmp.Compare(at[a], at[b]))
	})
	for _, try := range tries {
		e := &effects[at[try]]
		if e.Without = min(try.score.ratio-1, math.MaxInt32); !try.score.kept() { // no job may have finished
			e.Broken = s.judge.broken(try.score)
		} else if try.score.ratio <= with.ratio+idlePoints {
			idle = append(idle, at[try])
		}
	}
	for ; len(idle) > 0 && s.spent+s.once+1 <= s.Runs; idle = idle[:len(idle)/2] {
		simple := without(idle...)
		if err := s.climb(ctx, []*trial{simple}, slices.Concat(s.History.Quiet, slices.Concat(s.rungs...))); err != nil {
			return nil, nil, err
		}
		if simple.score.kept() && simple.score.ratio <= t.score.ratio+idlePoints {
			for _, u := range idle {
				effects[u].Idle = true
			}
			s.trials = append(s.trials, simple)
			rank(s.trials, s.first)
			return simple, effects, nil
		}
	}
	return t, effects, nil
}

// near reports whether two candidates hardly differ.
func (s *search) near(a, b *trial) bool {
	both := s.Space.located([]Point{a.point, b.point})
	sum := 0.0
	for i := range both[0] {
		sum += math.Abs(both[0][i] - both[1][i])
	}
	return sum < 0.02*float64(len(both[0]))
}
