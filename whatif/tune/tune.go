// Package tune finds settings of a scheduler that improve a goal and keep every queue within its bound. Sweep runs designs over the same settings.
//
// The search is model-based: a tree-structured Parzen estimator proposes settings, and successive halving spends the budget on the promising
// ones. All are tried on the busiest hours of the history, the best of them on whole days. All runs have the same jobs and random numbers. Settings
// are judged by their worst day, and the answer is confirmed on days that the search has not seen.
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
	batch     = 8   // candidates proposed at once: no number of processors changes it
	startup   = 12  // candidates drawn at random first
	promoted  = 3   // of a batch, from each rung to the next
	confirmed = 8   // candidates tried on the held-out days
	reserve   = 0.1 // of the budget, at least, to simplify the answer
	// idlePoints is what changes may contribute to the goal, alone or together, and still not matter: a tenth of a percentage point.
	idlePoints = 0.001
)

// trial is a candidate with its outcomes.
type trial struct {
	point   Point
	changes []edit.Change
	seen    []outcome // by part, in the order of the rungs
	score   score     // of the days, or of the busiest hours while there are none
}

// search is the state of a plan.
type search struct {
	*Plan
	judge   judge
	rungs   [][]*Part     // the last ones are the days
	bases   []*result.Run // of all parts, the held-out ones included
	full    float64       // events of a full run
	spent   float64
	once    float64 // cost of a run on the first rung
	dearest float64 // round so far
	saved   float64 // of the budget, to simplify the answer
	trials  []*trial
	tried   map[string]bool
	random  *rand.Rand
	until   time.Time
}

// Search answers a plan. If ctx ends, candidates are no longer confirmed, and the answer is partial.
func Search(ctx context.Context, p Plan) (*Answer, error) {
	s := &search{Plan: &p, tried: map[string]bool{"": true}, random: rand.New(rand.NewPCG(p.Seed, 0x74756e65))} //nolint:gosec // reproducible
	s.until = time.Now().Add(time.Duration((1 - reserve) * float64(p.Time)))
	rungs := [][]*Part{p.History.Busy, p.History.Days[:1], p.History.Days[1:]}
	s.rungs = slices.DeleteFunc(rungs, func(r []*Part) bool { return len(r) == 0 })
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	for ctx.Err() == nil && (len(s.trials) == 1 || s.spent+s.dearest <= s.Runs-s.saved) && (p.Time == 0 || time.Now().Before(s.until)) {
		if err := s.round(ctx); err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	return s.answer(ctx)
}

// start runs the present settings on every part.
func (s *search) start(ctx context.Context) error {
	searched := slices.Concat(s.rungs...)
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
	s.once = float64(s.bases[0].Events) / s.full
	s.saved = max(reserve*s.Runs, min(s.Runs/4, s.once*float64(len(s.Space.units()))+2))
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
		present.seen = append(present.seen, s.judge.compare(p.base, p.base))
		s.spent += float64(p.base.Events) / s.full
	}
	s.trials = []*trial{present}
	s.rate(present)
	return nil
}

// rate scores a trial by the days, or by the busiest hours while there are none.
func (s *search) rate(t *trial) {
	t.score = s.judge.score(t.seen[min(len(s.History.Busy), len(t.seen)-1):])
}

// rank sorts trials, best first.
func rank(trials []*trial) {
	slices.SortStableFunc(trials, func(a, b *trial) int { return a.score.order(b.score) })
}

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
			out[t][i%len(parts)] = s.judge.compare(p.base, r)
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
	rank(trials)
	return nil
}

// round proposes a batch and lets the best of it climb.
func (s *search) round(ctx context.Context) error {
	before := s.spent
	defer func() { s.dearest = max(s.dearest, s.spent-before) }()
	fresh := s.propose()
	if len(fresh) == 0 {
		s.spent = s.Runs // everything was tried
		return nil
	}
	climbing := slices.Clone(fresh)
	for _, rung := range s.rungs {
		if err := s.climb(ctx, climbing, rung); err != nil {
			return err
		}
		climbing = slices.DeleteFunc(climbing[:min(promoted, len(climbing))], func(t *trial) bool { return t.score.excess > 0.1 || t.score.ratio >= 1 })
		if len(climbing) == 0 {
			break
		}
	}
	s.trials = append(s.trials, fresh...)
	rank(s.trials)
	if s.Progress != nil {
		best, done := 0.0, s.spent/s.Runs
		if list := s.finalists(); len(list) > 0 {
			best = list[0].score.ratio - 1
		}
		if s.Time > 0 {
			done = 1 - float64(time.Until(s.until))/float64(s.Time)
		}
		s.Progress(min(1, done), best)
	}
	return nil
}

// propose draws a batch of candidates that were not tried; none: there seem to be no more.
func (s *search) propose() (fresh []*trial) {
	var points []Point
	for _, t := range s.trials {
		points = append(points, t.point)
	}
	for draw := 0; draw < 100 && len(fresh) < batch; draw++ {
		p := s.Space.random(s.random)
		if len(s.tried) > startup {
			p = s.Space.propose(s.random, points)
		}
		changes := s.Space.Changes(p)
		if key := edit.Words(changes); !s.tried[key] {
			s.tried[key], draw = true, -1
			fresh = append(fresh, &trial{point: p, changes: changes})
		}
	}
	return fresh
}

// finalists are the candidates that keep every bound on all days and improve the goal, best first.
func (s *search) finalists() []*trial {
	return slices.DeleteFunc(slices.Clone(s.trials), func(t *trial) bool {
		return len(t.seen) < len(s.History.Busy)+len(s.History.Days) || !t.score.kept() || t.score.ratio >= 1
	})
}

// simplify reverts the changes that do not matter, if the rest holds on all days without them; otherwise half of them, those with the least
// effect, and so on.
func (s *search) simplify(ctx context.Context, a *Answer, t *trial) error {
	units := s.Space.units()
	if s.spent+s.once*float64(len(units)) > s.Runs {
		return nil // the budget is spent
	}
	without := func(which ...int) *trial {
		p := slices.Clone(t.point)
		for _, u := range which {
			for _, i := range units[u] {
				p[i] = math.NaN()
			}
		}
		return &trial{point: p, changes: s.Space.Changes(p)}
	}
	var tries []*trial
	for u := range units {
		tries = append(tries, without(u))
	}
	if err := s.climb(ctx, slices.Clone(tries), s.rungs[0]); err != nil {
		return err
	}
	with := s.judge.score(t.seen[:1])
	a.With = with.ratio - 1
	var idle []int
	for u, try := range tries {
		e := Effect{Without: min(try.score.ratio-1, math.MaxInt32)} // no job may have finished
		for _, i := range units[u] {
			e.Settings = append(e.Settings, s.Space.axes[i].name())
		}
		if !try.score.kept() {
			e.Broken = s.judge.broken(try.score)
		} else if try.score.ratio <= with.ratio+idlePoints {
			idle = append(idle, u)
		}
		a.Effects = append(a.Effects, e)
	}
	effect := func(of score) float64 { return math.Abs(of.ratio-with.ratio) + math.Abs(of.change-with.change) }
	slices.SortStableFunc(idle, func(u, v int) int { return cmp.Compare(effect(tries[u].score), effect(tries[v].score)) })
	for ; len(idle) > 0 && s.spent+1 <= s.Runs; idle = idle[:len(idle)/2] {
		simple := without(idle...)
		for _, rung := range s.rungs {
			if err := s.climb(ctx, []*trial{simple}, rung); err != nil {
				return err
			}
		}
		if !simple.score.kept() || simple.score.ratio > t.score.ratio+idlePoints {
			continue
		}
		found, err := s.confirm(ctx, a, simple)
		if err != nil {
			return err
		}
		if found {
			for _, u := range idle {
				a.Effects[u].Idle = true
			}
			return nil
		}
		a.Refuted = a.Refuted[:len(a.Refuted)-1] // the answer stays
	}
	return nil
}

// near reports whether two candidates hardly differ.
func (s *search) near(a, b *trial) bool {
	both := s.Space.located([]Point{a.point, b.point})
	sum := 0.0
	for i := range both[0] {
		sum += math.Abs(both[0][i] - both[1][i])
	}
	return sum < 0.05*float64(len(both[0]))
}
