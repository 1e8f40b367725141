package tune

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/edit"
)

// Answer is the result of a plan.
type Answer struct {
	Sentence string   `json:"answer"`
	Found    bool     `json:"found"`   // false: keep the present settings
	Changes  []string `json:"changes"` // as root.prod.capacity=70
	// Expected is the goal, then the bounds, on the held-out days.
	Expected []Figure `json:"expected"`
	// Searched is the goal's relative change on the worst day of the search.
	Searched float64 `json:"searched_change"`
	// Best is that of the best candidate, before any was rejected.
	Best    float64       `json:"best_searched_change"`
	Refuted []string      `json:"refuted,omitempty"` // why better candidates were rejected on the held-out days
	Effects []Effect      `json:"effects,omitempty"` // on the part that CurveOf names
	With    float64       `json:"change_with"`       // the goal's change there, with all of them
	Curve   []Trade       `json:"trade_off"`
	CurveOf string        `json:"trade_off_of"` // the part that the curve and the effects are about
	Trials  int           `json:"trials"`
	Spent   float64       `json:"full_runs"`
	Days    []string      `json:"days"`
	HeldOut []string      `json:"held_out"`
	Notes   []string      `json:"notes"`
	Partial bool          `json:"partial,omitempty"`
	Edits   []edit.Change `json:"-"`
}

// Figure is what is expected of one figure: means over the held-out days.
type Figure struct {
	Name   string  `json:"name"`
	Bound  string  `json:"bound,omitempty"` // as in "<= +2 %"; "": the goal
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	// Percent is the change, its 95 % interval over the days, and the change on the worst one.
	Percent [4]float64 `json:"percent"`
	Known   bool       `json:"interval"` // false: one day
}

// Effect says what a setting contributes: the goal's change with it reverted and all others kept.
type Effect struct {
	Settings []string `json:"settings"` // siblings' capacities belong together
	Without  float64  `json:"change_without"`
	Broken   string   `json:"broken_without,omitempty"` // the bound that breaks then
	Idle     bool     `json:"reverted"`                 // it does not matter: the answer leaves it as it is
}

// Trade is a point of the trade-off: the best change of the goal if no other figure may get worse by more than a limit.
type Trade struct {
	Limit  float64 `json:"limit"`
	Change float64 `json:"change"`
}

// limits of the trade-off curve.
var limits = []float64{0, 0.02, 0.05, 0.1, 0.2, 0.5, 1}

// answer confirms the finalists on the held-out days, best first, until one keeps its bounds there.
func (s *search) answer(ctx context.Context) (*Answer, error) {
	a := &Answer{Trials: len(s.trials) - 1, Changes: []string{}, Notes: s.notes(), Partial: ctx.Err() != nil, Curve: s.curve(), CurveOf: s.rungs[0][0].Name}
	for _, p := range s.History.Days {
		a.Days = append(a.Days, p.Name)
	}
	for _, p := range s.History.HeldOut {
		a.HeldOut = append(a.HeldOut, p.Name)
	}
	list := s.finalists()
	if len(list) > 0 {
		a.Best = list[0].score.ratio - 1
	}
	for k := 0; k < confirmed && len(list) > 0 && !a.Found && ctx.Err() == nil; k++ {
		t := list[0]
		simple, effects, err := s.simplify(ctx, t)
		if err == nil {
			err = s.confirm(ctx, a, simple)
		}
		if err != nil && ctx.Err() == nil {
			return nil, err
		}
		if a.Found {
			a.Effects, a.With = effects, s.first(t).ratio-1
		}
		list = slices.DeleteFunc(list, func(o *trial) bool { return o == t || s.near(o, t) })
	}
	if a.Found && len(a.Refuted) > 0 {
		a.Notes = append(a.Notes, "the held-out days rejected better candidates, so they have had a say in the choice: the expected change is slightly optimistic")
	}
	a.Spent, a.Partial = s.spent, a.Partial || ctx.Err() != nil
	a.Sentence = s.sentence(a)
	return a, nil
}

// confirm runs a candidate on the held-out days. If it holds there, it becomes the answer.
func (s *search) confirm(ctx context.Context, a *Answer, t *trial) error {
	outcomes, err := s.try(ctx, []*trial{t}, s.History.HeldOut)
	if err != nil {
		return err
	}
	var expected []Figure
	for k, b := range s.judge {
		var before, after []float64
		f, worst := Figure{Name: b.Goal.String()}, math.Inf(-1)
		for _, o := range outcomes[0] {
			if p := o.pairs[k]; !math.IsNaN(p.before) {
				before, after = append(before, p.before), append(after, p.after)
				worst = max(worst, p.ratio())
			}
		}
		if len(before) == 0 {
			continue
		}
		if k > 0 {
			f.Bound = strings.TrimPrefix(b.String(), f.Name+" ")
		}
		if !slices.ContainsFunc(s.History.HeldOut, func(p *Part) bool { return !few(b.Goal, p.base) }) {
			f.Name = b.For(0).String()
		}
		d := result.Paired(before, after)
		f.Before, f.After, f.Known = d.Base.Mean, d.Other.Mean, d.Ratio.Known
		for i, ratio := range [4]float64{d.Ratio.Mean, d.Ratio.Low, d.Ratio.High, worst} {
			if f.Percent[i] = math.Round((ratio-1)*1e5) / 1e3; math.IsNaN(ratio) || math.IsInf(ratio, 0) {
				f.Percent[i] = 0 // JSON has no other number
			}
		}
		expected = append(expected, f)
	}
	mark := s.judge.score(outcomes[0])
	switch {
	case !mark.kept():
		a.Refuted = append(a.Refuted, s.judge.broken(mark)+" on a held-out day")
	case len(expected) == 0 || expected[0].Bound != "" || !(expected[0].Percent[0] < 0):
		a.Refuted = append(a.Refuted, s.Goal.String()+": no better on the held-out days")
	default:
		a.Found, a.Expected, a.Edits, a.Changes, a.Searched = true, expected, t.changes, words(t.changes), t.score.ratio-1
	}
	return nil
}

// Words is a change with its interval: "-41 % (-45 to -37)".
func (f *Figure) Words() string {
	text := fmt.Sprintf("%+.1f %%", f.Percent[0])
	if f.Known {
		text += fmt.Sprintf(" (%+.1f to %+.1f)", f.Percent[1], f.Percent[2])
	}
	return text
}

func (s *search) sentence(a *Answer) string {
	days := unit.Count(int64(len(s.History.HeldOut)), "held-out day")
	if s.History.Whole {
		days = "the held-out third of the history"
	}
	switch {
	case a.Found:
		return fmt.Sprintf("%s: %s expected on %s, with every queue within its bound.", s.Goal, a.Expected[0].Words(), days)
	case a.Partial:
		return "Keep the present settings: the search was stopped before an answer was confirmed."
	case len(a.Refuted) > 0:
		return fmt.Sprintf("Keep the present settings: the best %s of the search did not hold on %s.", unit.Count(int64(len(a.Refuted)), "candidate"), days)
	}
	return fmt.Sprintf("Keep the present settings: none of %s was better and kept every bound.", unit.Count(int64(a.Trials), "candidate"))
}

// notes say what a reader must know.
func (s *search) notes() (notes []string) {
	for _, b := range s.judge {
		if slices.ContainsFunc(s.bases, func(r *result.Run) bool { return few(b.Goal, r) }) {
			notes = append(notes, b.Queue+" has few jobs on some days: its mean is used there, not its 95th percentile")
		}
	}
	if s.History.Whole {
		notes = append(notes, "the history is shorter than three days: it is cut into three parts, and the last one is held out; import a longer one to be surer")
	}
	if s.Time > 0 {
		notes = append(notes, "the budget is a time: another run may find other settings; a budget in runs, such as 60runs, is reproducible")
	}
	if len(s.History.HeldOut) < 2 {
		notes = append(notes, "there is one held-out day: the expected change has no interval")
	}
	return notes
}

// curve is the trade-off over all candidates, on the first rung, where all of them ran.
func (s *search) curve() (list []Trade) {
	for _, limit := range limits {
		best := 1.0
		for _, t := range s.trials {
			if o := s.first(t); len(t.seen) >= len(s.cheap) && o.change <= limit+1e-9 && !math.IsInf(o.excess, 1) {
				best = min(best, o.ratio)
			}
		}
		list = append(list, Trade{limit, math.Round((best-1)*1e5) / 1e5})
	}
	return list
}
