package tune

import (
	"fmt"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif/goal"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Aim is what is wanted of settings.
type Aim struct {
	Goal   goal.Goal
	Keep   []goal.Bound
	Others float64 // bound on the goal's figure of queues that Keep does not name, relative
}

// judge compares a run under other settings with that under the present ones: the goal, which has no limit, then the bounds.
type judge []goal.Bound

// newJudge makes the judge of an aim. Every queue of the runs has a bound. A queue with few jobs in a run is judged by means: a
// 95th percentile of theirs would be one job's.
func newJudge(a *Aim, runs []*result.Run) judge {
	j := append(judge{{Goal: a.Goal}}, a.Keep...)
	for _, r := range runs {
		for _, q := range r.ByQueue {
			if q.Elapsed.Count > 0 && !slices.ContainsFunc(j, func(b goal.Bound) bool { return conf.QueueNamesMatch(b.Queue, q.Name) }) {
				j = append(j, goal.Bound{Goal: goal.Goal{Statistic: a.Goal.Statistic, Figure: a.Goal.Figure, Queue: q.Name}, Limit: a.Others})
			}
		}
	}
	for k := range j {
		var jobs, in int64
		for _, r := range runs {
			if _, n := j[k].Measure(r); n > 0 {
				jobs, in = jobs+n, in+1
			}
		}
		j[k].Goal = j[k].For(jobs / max(1, in))
	}
	return j
}

// pair is a figure before and after; NaN: no job finishes.
type pair struct{ before, after float64 }

// outcome is what a judge says of one run.
type outcome struct {
	pairs []pair
	lost  int64 // jobs that no longer finish
}

func (j judge) compare(base, r *result.Run) outcome {
	out := outcome{lost: max(0, base.Jobs.Finished-r.Jobs.Finished)}
	for _, b := range j {
		before, _ := b.Measure(base)
		after, _ := b.Measure(r)
		out.pairs = append(out.pairs, pair{before, after})
	}
	return out
}

// ratio is that of a figure's mean over runs, after over before, with its standard error; 1 if nothing finished before. It is the
// ratio estimator of sampling theory (Cochran, Sampling Techniques, chapter 6).
func ratio(pairs []pair) (r, err float64) {
	var before, after, n float64
	for _, p := range pairs {
		if !math.IsNaN(p.before) {
			before, after, n = before+p.before, after+p.after, n+1
		}
	}
	switch {
	case before == after || n == 0:
		r = 1
	case math.IsNaN(after) || before == 0:
		return math.Inf(1), 0
	default:
		r = after / before
	}
	if n < 2 || before == 0 {
		return r, 0
	}
	sum := 0.0
	for _, p := range pairs {
		if d := p.after - r*p.before; !math.IsNaN(d) {
			sum += d * d
		}
	}
	return r, math.Sqrt(sum/(n*(n-1))) / (before / n)
}

// score is a judge's mark over several runs.
type score struct {
	ratio  float64 // of the goal, after over before
	excess float64 // over the bounds, the largest; 0 or less: all are kept
	worst  int     // index of the bound with that excess
	change float64 // the largest of a bounded figure, relative
	lost   int64   // jobs that no longer finish, in the run with most of them
}

// score marks outcomes. A bound is kept if the change and some of its standard errors stay below the limit: settings that are
// chosen because they just keep it in these runs break it in others.
func (j judge) score(outcomes []outcome, errors float64) score {
	return j.scoreIf(outcomes, errors, nil)
}

// scoreIf is the score if each figure were higher by so much more of what it was before; nil: by nothing.
func (j judge) scoreIf(outcomes []outcome, errors float64, worse []float64) score {
	s := score{excess: math.Inf(-1), change: math.Inf(-1)}
	for _, o := range outcomes {
		s.lost = max(s.lost, o.lost)
	}
	for k, b := range j {
		r, err := j.ratio(outcomes, k)
		if k == 0 {
			s.ratio = r
			continue
		}
		if worse != nil {
			r += worse[k]
		}
		s.change = max(s.change, r-1)
		const rounding = 1e-9
		if e := r - 1 + errors*err - b.Limit - rounding; e > s.excess {
			s.excess, s.worst = e, k
		}
	}
	if s.lost > 0 {
		s.excess = math.Inf(1)
	}
	return s
}

// ratio is that of a figure over several runs, with its standard error.
func (j judge) ratio(outcomes []outcome, k int) (r, err float64) {
	var few [32]pair // no allocation
	pairs := few[:0]
	for _, o := range outcomes {
		pairs = append(pairs, o.pairs[k])
	}
	return ratio(pairs)
}

// broken says which bound outcomes break, in words.
func (j judge) broken(outcomes []outcome) string {
	s := j.score(outcomes, 0)
	if s.lost > 0 {
		return unit.Count(s.lost, "job") + " no longer finished"
	}
	b := j[s.worst]
	return fmt.Sprintf("%s: %+.1f %%", b, 100*(s.excess+b.Limit))
}

func (s score) kept() bool { return !(s.excess > 0) }

// better reports whether the goal improves and every bound is kept.
func (s score) better() bool { return s.kept() && s.ratio < 1 }

// merit orders settings, less is better: those that keep the bounds come first, by the goal; then the others, by how much they
// break them (Deb, "An efficient constraint handling method for genetic algorithms", 2000).
func (s score) merit() float64 {
	if s.kept() {
		return min(s.ratio, worstMerit)
	}
	return worstMerit + s.excess
}

// worstMerit is that of settings that keep the bounds.
const worstMerit = 1e6

// promise orders settings by the goal, with a penalty for what breaks a bound: the best settings that keep it are often near some
// that do not.
func (s score) promise() float64 { return s.ratio + 3*max(0, s.excess) }
