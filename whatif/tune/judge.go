package tune

import (
	"cmp"
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

// newJudge makes the judge of an aim. Every queue of the runs has a bound.
func newJudge(a *Aim, runs []*result.Run) judge {
	j := append(judge{{Goal: a.Goal}}, a.Keep...)
	for _, r := range runs {
		for _, q := range r.ByQueue {
			if q.Elapsed.Count > 0 && !slices.ContainsFunc(j, func(b goal.Bound) bool { return conf.SameQueue(b.Queue, q.Name) }) {
				j = append(j, goal.Bound{Goal: goal.Goal{Statistic: a.Goal.Statistic, Figure: a.Goal.Figure, Queue: q.Name}, Limit: a.Others})
			}
		}
	}
	return j
}

// pair is a figure before and after; NaN: no job finishes.
type pair struct{ before, after float64 }

func (p pair) ratio() float64 {
	switch {
	case p.before == p.after:
		return 1
	case math.IsNaN(p.after):
		return math.Inf(1)
	}
	return p.after / p.before
}

// outcome is what a judge says of one run.
type outcome struct {
	pairs []pair
	lost  int64 // jobs that no longer finish
}

// few reports whether a figure of a run has too few jobs for its 95th percentile.
func few(g goal.Goal, base *result.Run) bool {
	_, jobs := g.Measure(base)
	return jobs > 0 && g.For(jobs) != g
}

func (j judge) compare(p *Part, r *result.Run) outcome {
	base := p.base
	out := outcome{lost: max(0, base.Jobs.Finished-r.Jobs.Finished)}
	for k, b := range j {
		if k == 0 && p.quiet {
			out.pairs = append(out.pairs, pair{math.NaN(), math.NaN()})
			continue
		}
		_, jobs := b.Measure(base)
		g := b.For(jobs)
		before, _ := g.Measure(base)
		after, _ := g.Measure(r)
		out.pairs = append(out.pairs, pair{before, after})
	}
	return out
}

// score is a judge's mark over several runs: the worst of them counts.
type score struct {
	ratio  float64 // of the goal, after over before
	excess float64 // over the bounds; 0 or less: all are kept
	worst  int     // index of the bound with that excess
	change float64 // the largest of a bounded figure, relative
	lost   int64   // jobs that no longer finish
}

func (j judge) score(outcomes []outcome) score {
	s := score{excess: math.Inf(-1), change: math.Inf(-1)}
	for _, o := range outcomes {
		for k, p := range o.pairs {
			if math.IsNaN(p.before) {
				continue
			}
			if k == 0 {
				s.ratio = max(s.ratio, p.ratio())
				continue
			}
			s.change = max(s.change, p.ratio()-1)
			if e := j[k].Excess(p.before, p.after); e > s.excess {
				s.excess, s.worst = e, k
			}
		}
		if s.lost = max(s.lost, o.lost); o.lost > 0 {
			s.excess = math.Inf(1)
		}
	}
	return s
}

// broken says which bound a score breaks.
func (j judge) broken(s score) string {
	if s.lost > 0 {
		return unit.Count(s.lost, "job") + " no longer finished"
	}
	b := j[s.worst]
	return fmt.Sprintf("%s: %+.1f %%", b, 100*(s.excess+b.Limit))
}

func (s score) kept() bool { return !(s.excess > 0) }

// better reports whether the goal improves and every bound is kept.
func (s score) better() bool { return s.kept() && s.ratio < 1 }

// order puts settings that keep the bounds first, by the goal; then the others, by how much they break them.
func (s score) order(t score) int {
	if s.kept() && t.kept() {
		return cmp.Compare(s.ratio, t.ratio)
	}
	return cmp.Compare(max(0, s.excess), max(0, t.excess))
}
