package tune

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/run"
)

// bringForward moves the n trials with the smallest figures to the front, in order.
func bringForward(list []*trial, n int, of func(*trial) float64) {
	for i := range min(n, len(list)) {
		k := i
		for j := i + 1; j < len(list); j++ {
			if of(list[j]) < of(list[k]) {
				k = j
			}
		}
		t := list[k]
		copy(list[i+1:k+1], list[i:k])
		list[i] = t
	}
}

// race runs trials on rung after rung. From each go on, in equal shares, the best with some slack for their bounds, the best
// without, and the most promising, if they reach what their parents did there.
func (s *search) race(ctx context.Context, fresh []*trial, promote [2]int) error {
	parent := s.parents()
	s.trials = append(s.trials, fresh...)
	for i, rung := range s.rungs {
		if err := s.climb(ctx, fresh, rung); err != nil {
			return err
		}
		if i == len(s.rungs)-1 {
			break
		}
		bar, hope := s.bar(parent, rung)
		fresh = slices.DeleteFunc(slices.Clone(fresh), func(t *trial) bool {
			m := s.scoreOn(t, rung)
			return m.merit() > bar && m.promise() > hope || s.known(t, rung)
		})
		n := min(promote[min(i+3-len(s.rungs), 1)], len(fresh))
		third := n / 3
		bringForward(fresh, n-2*third, func(t *trial) float64 { return s.scoreOn(t, rung).merit() })
		bringForward(fresh[n-2*third:], third, func(t *trial) float64 { return s.judge.score(t.seen[:rung], 0).merit() }) // without slack
		bringForward(fresh[n-third:], third, func(t *trial) float64 { return s.scoreOn(t, rung).promise() })
		fresh = fresh[:n]
	}
	return nil
}

// bar is the merit of the worst of the best candidates on a rung, and the promise of the most promising one: what children must
// reach there. While no candidate keeps the bounds in all replays there is none.
func (s *search) bar(of []*trial, rung int) (merit, promise float64) {
	if len(s.finalists()) == 0 {
		return math.Inf(1), math.Inf(1)
	}
	merit, promise = math.Inf(-1), math.Inf(1)
	for k, t := range of {
		m := s.scoreOn(t, min(rung, len(t.seen)))
		if k < parents {
			merit = max(merit, m.merit())
		}
		promise = min(promise, m.promise())
	}
	return merit, promise
}

// climb runs trials on the parts of a rung that they have not seen.
func (s *search) climb(ctx context.Context, trials []*trial, rung int) error {
	if len(trials) == 0 {
		return nil
	}
	outcomes, err := s.try(ctx, trials, s.History.Search[len(trials[0].seen):rung])
	for i, t := range trials {
		t.seen = append(t.seen, outcomes[i]...)
	}
	return err
}

// try runs trials on parts, several at once, and judges each run. What fails has no outcomes.
func (s *search) try(ctx context.Context, trials []*trial, parts []*Part) ([][]outcome, error) {
	out, errs := make([][]outcome, len(trials)), make([]error, len(trials)*len(parts))
	flat := make([]outcome, len(errs))
	run.Each(ctx, len(errs), s.Workers, func(i int) {
		part := parts[i%len(parts)]
		r, err := part.Run(ctx, trials[i/len(parts)].changes)
		if errs[i] = err; err == nil {
			flat[i] = s.judge.compare(part.base, r)
		}
	})
	s.spent += float64(len(trials)) * s.cost(parts)
	if err := cmp.Or(cmp.Or(errs...), ctx.Err()); err != nil {
		return out, err
	}
	for t := range out {
		out[t] = flat[t*len(parts) : (t+1)*len(parts)]
	}
	if s.Progress != nil {
		best := 0.0
		if list := s.finalists(); len(list) > 0 {
			best = s.scoreOn(list[0], len(s.History.Search)).ratio - 1
		}
		s.Progress(min(1, s.spent/s.budget()), best)
	}
	return out, nil
}

// known reports whether a candidate that went further did the same: they differ in what nobody feels.
func (s *search) known(t *trial, rung int) bool {
	return slices.ContainsFunc(s.trials, func(o *trial) bool { return len(o.seen) > rung && s.scoreOn(o, rung) == s.scoreOn(t, rung) })
}

// finalists are the candidates that keep every bound on all days in all replays and improve the goal, best first.
func (s *search) finalists() []*trial {
	all := len(s.History.Search)
	return slices.DeleteFunc(s.best(), func(t *trial) bool { return len(t.seen) < all || !s.scoreOn(t, all).better() })
}
