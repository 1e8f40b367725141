package tune

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif"
	"github.com/yardmaster/yardmaster/whatif/goal"
	"github.com/yardmaster/yardmaster/yarn/edit"
)

// Answer is the result of a plan.
type Answer struct {
	// Warning, if any, comes before the answer: the history cannot be replayed as it was.
	Warning  string    `json:"warning,omitempty"`
	Sentence string    `json:"answer"`
	Found    bool      `json:"found"`   // false: keep the present settings
	Changes  []string  `json:"changes"` // as root.prod.capacity=70
	Settings []Setting `json:"settings"`
	// Expected is the goal, then the bounds, on the days of the confirmation.
	Expected []Figure `json:"expected"`
	// Searched is the goal's relative change in the search, and Best that of the best candidate, before any was rejected.
	Searched float64  `json:"searched_change"`
	Best     float64  `json:"best_searched_change"`
	Rejected []string `json:"rejected,omitempty"` // why better candidates were rejected on the validation
	Refuted  []string `json:"refuted,omitempty"`  // why the candidate that was chosen is not confirmed
	Effects  []Effect `json:"effects,omitempty"`
	With     float64  `json:"change_with"` // the goal's change with all of them, on the days as they were
	Curve    []Trade  `json:"trade_off"`
	CurveOf  string   `json:"trade_off_of"` // the part that the curve, and settings alone, are about
	Trials   int      `json:"trials"`
	Spent    float64  `json:"full_runs"`
	// Days are those searched; then those of the validation and of the confirmation.
	Days         []string      `json:"days"`
	Validation   []string      `json:"validation"`
	Confirmation []string      `json:"confirmation"`
	Replays      int           `json:"replays"` // of each day in the search
	Notes        []string      `json:"notes"`
	Partial      bool          `json:"partial,omitempty"`
	Edits        []edit.Change `json:"-"`
}

// Setting is one that changes.
type Setting struct {
	Name string `json:"name"`
	Old  string `json:"old"` // "": the file does not say
	New  string `json:"new"`
	Unit string `json:"unit,omitempty"`
}

// Figure is what is expected of one figure: means over the days of the confirmation and their replays.
type Figure struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit,omitempty"`
	Bound  string  `json:"bound,omitempty"` // as in "<= +2 %"; "": the goal
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	// Percent is the change, its 95 % interval over days and replays, and the change on the worst day.
	Percent [4]float64 `json:"percent"`
	Known   bool       `json:"interval"` // false: there is no interval
	// Unclear: the mean is above the bound, but not clearly.
	Unclear bool `json:"unclear,omitempty"`
}

// Effect says what a setting contributes.
type Effect struct {
	Settings []string `json:"settings"` // siblings' capacities belong together
	Needed   bool     `json:"needed"`   // false: the answer does without it
	Without  float64  `json:"change_without,omitempty"`
	Broken   string   `json:"broken_without,omitempty"` // the bound that breaks without it
	Alone    *Alone   `json:"alone,omitempty"`
}

// Alone is what a setting does by itself: the best that was measured, on the busiest day as it was.
type Alone struct {
	Changes []string `json:"changes"`
	Change  float64  `json:"change"` // of the goal
	Broken  string   `json:"broken,omitempty"`
}

// Trade is a point of the trade-off: the best change of the goal if no other figure may get worse by more than a limit.
type Trade struct {
	Limit  float64 `json:"limit"`
	Change float64 `json:"change"`
}

// limits of the trade-off curve.
var limits = []float64{0, 0.02, 0.05, 0.1, 0.2, 0.5, 1}

// answer validates the finalists, best first, until one holds, and confirms that one.
func (s *search) answer(ctx context.Context) (*Answer, error) {
	h := s.History
	a := &Answer{Trials: len(s.trials), Changes: []string{}, Notes: s.notes(), Partial: ctx.Err() != nil, Curve: s.curve(), CurveOf: h.Search[0].Name,
		Days: daysOf(h.Search), Validation: daysOf(h.Validation), Confirmation: daysOf(h.Confirmation), Replays: len(h.Search) / h.Days}
	for _, p := range h.Search[:h.Days] {
		a.Warning = cmp.Or(a.Warning, whatif.ReplayError(p.base))
	}
	list := s.finalists()
	if len(list) > 0 {
		a.Best = s.scoreOn(list[0], len(h.Search)).ratio - 1
	}
	var chosen *trial
	var err error
	worse := make([]float64, len(s.judge)) // how much further figures of rejected candidates rose on the validation than in the search
	for k := 0; k < validated && len(list) > 0 && chosen == nil && err == nil && ctx.Err() == nil; k++ {
		if k > 0 && s.spent+s.cost(h.Validation)+s.cost(h.Confirmation) > s.budget() {
			a.Notes = append(a.Notes, "the budget ended before all candidates were validated: a larger one may find more")
			break
		}
		t := list[0]
		var simple *trial
		var effects []Effect
		if simple, effects, err = s.simplify(ctx, t); err == nil {
			if chosen, err = s.validate(ctx, a, simple, worse); chosen != nil {
				a.Effects, a.With = effects, s.judge.score(t.seen[:h.Days], 0).ratio-1
			}
		}
		list = slices.DeleteFunc(list, func(o *trial) bool { return o == t || s.near(o, t) })
		slices.SortStableFunc(list, func(a, b *trial) int { return cmp.Compare(s.after(a, worse), s.after(b, worse)) })
	}
	if chosen != nil && err == nil {
		err = s.confirm(ctx, a, chosen)
	}
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	a.Spent, a.Partial = s.spent, a.Partial || ctx.Err() != nil
	a.Sentence = s.sentence(a)
	return a, nil
}

func daysOf(parts []*Part) (names []string) {
	for _, p := range parts {
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// after orders candidates after others were rejected: first those that keep the bounds if their figures rise as those did, by the goal.
func (s *search) after(t *trial, worse []float64) float64 {
	return s.judge.scoreIf(t.seen, 0, worse).merit()
}

// validate returns the candidate, or nil if it breaks a bound on the validation by more than a standard error, or is no better
// there. It keeps how much further than in the search figures rise.
func (s *search) validate(ctx context.Context, a *Answer, t *trial, worse []float64) (*trial, error) {
	outcomes, err := s.try(ctx, []*trial{t}, s.History.Validation)
	if err != nil {
		return nil, err
	}
	switch mark := s.judge.score(outcomes[0], -1); {
	case !mark.kept():
		a.Rejected = append(a.Rejected, s.judge.broken(outcomes[0]))
		for k := range s.judge {
			there, _ := s.judge.ratio(outcomes[0], k)
			searched, _ := s.judge.ratio(t.seen, k)
			worse[k] = max(worse[k], there-searched)
		}
	case mark.ratio >= 1:
		a.Rejected = append(a.Rejected, fmt.Sprintf("%s: no better", s.judge[0].Goal))
	default:
		return t, nil
	}
	return nil, nil
}

// confirm runs the candidate that was chosen on the days of the confirmation. If it holds there, it becomes the answer.
func (s *search) confirm(ctx context.Context, a *Answer, t *trial) error {
	parts := s.History.Confirmation
	outcomes, err := s.try(ctx, []*trial{t}, parts)
	if err != nil {
		return err
	}
	for k, b := range s.judge {
		f := Figure{Name: b.Goal.String(), Unit: b.Unit()}
		var before, after []float64
		days, worst := map[string][]pair{}, math.Inf(-1)
		for i, o := range outcomes[0] {
			if p := o.pairs[k]; !math.IsNaN(p.before) {
				before, after = append(before, p.before), append(after, p.after)
				days[parts[i].Name] = append(days[parts[i].Name], p)
			}
		}
		if len(before) == 0 {
			continue
		}
		for _, pairs := range days {
			r, _ := ratio(pairs)
			worst = max(worst, r)
		}
		d := result.Paired(before, after)
		f.Before, f.After, f.Known = d.Base.Mean, d.Other.Mean, d.Ratio.Known
		for i, ratio := range [4]float64{d.Ratio.Mean, d.Ratio.Low, d.Ratio.High, worst} {
			if f.Percent[i] = math.Round((ratio-1)*1e5) / 1e3; math.IsNaN(ratio) || math.IsInf(ratio, 0) {
				f.Percent[i] = 0 // JSON has no other number
			}
		}
		if k > 0 {
			f.Bound = strings.TrimPrefix(b.String(), f.Name+" ")
			broken := !b.Kept(f.Before, f.After)
			if f.Unclear = broken && f.Known && f.Percent[1] <= 100*b.Limit; broken && !f.Unclear {
				a.Refuted = append(a.Refuted, fmt.Sprintf("%s: %s", b, f.Words()))
			}
		} else if !(f.Percent[0] < 0) {
			a.Refuted = append(a.Refuted, fmt.Sprintf("%s: %s", f.Name, f.Words()))
		}
		a.Expected = append(a.Expected, f)
	}
	if lost := s.judge.score(outcomes[0], 0).lost; lost > 0 {
		a.Refuted = append(a.Refuted, s.judge.broken(outcomes[0]))
	} else if len(a.Expected) == 0 || a.Expected[0].Bound != "" {
		a.Refuted = append(a.Refuted, fmt.Sprintf("%s: no job finishes there", s.judge[0].Goal))
	}
	a.Searched = s.scoreOn(t, len(s.History.Search)).ratio - 1
	if a.Found = len(a.Refuted) == 0; a.Found {
		a.Edits, a.Changes, a.Settings = t.changes, words(t.changes), s.Space.settings(t.changes)
	}
	return nil
}

// Words is a change with its interval: "-41 % (-45 to -37)".
func (f *Figure) Words() string {
	return verdict.Percent(f.Percent[0], f.Percent[1], f.Percent[2], f.Known)
}

func (s *search) sentence(a *Answer) string {
	h := s.History
	where := fmt.Sprintf("%s that nothing had seen", unit.Count(int64(len(a.Confirmation)), "day"))
	if h.Repeated {
		where = fmt.Sprintf("%d perturbed replays that nothing had seen", len(h.Confirmation))
	} else if strings.HasPrefix(a.Confirmation[0], "third") {
		where = "the last third of the history, which nothing had seen"
	}
	switch {
	case a.Found:
		var unclear []string
		for _, f := range a.Expected {
			if f.Unclear {
				unclear = append(unclear, fmt.Sprintf("%s (%s)", f.Name, f.Words()))
			}
		}
		within := "with every queue within its bound."
		if len(unclear) > 0 {
			within = "but whether these stay within their bounds cannot be told: " + strings.Join(unclear, ", ") + "."
		}
		return fmt.Sprintf("%s: %s on %s, %s", s.judge[0].Goal, a.Expected[0].Words(), where, within)
	case a.Partial:
		return "Keep the present settings: the search was stopped before an answer was confirmed."
	case len(a.Refuted) > 0:
		return fmt.Sprintf("Keep the present settings: the best candidate, %+.1f %% in the search, did not hold on %s.", 100*a.Searched, where)
	case len(a.Rejected) > 0:
		return fmt.Sprintf("Keep the present settings: the best %s of the search did not hold on the validation.", unit.Count(int64(len(a.Rejected)), "candidate"))
	}
	return fmt.Sprintf("Keep the present settings: none of %s was better and kept every bound.", unit.Count(int64(a.Trials), "candidate"))
}

// notes say what a reader must know.
func (s *search) notes() (notes []string) {
	h := s.History
	asked := append(judge{{Goal: s.Goal}}, s.Keep...)
	for k, b := range s.judge {
		if k < len(asked) && asked[k].Statistic != b.Statistic || k >= len(asked) && s.Goal.Statistic != b.Statistic {
			notes = append(notes, fmt.Sprintf("%s has fewer than %d jobs a day: its mean is used, not its 95th percentile", b.Queue, goal.MinJobs))
		}
	}
	notes = append(notes, fmt.Sprintf("goal and bounds are means over %d replays of each day: the history itself, and others in which submissions move by up to two minutes (less if it is short) and jobs of the same user and class change places within the hour",
		len(h.Search)/h.Days))
	switch {
	case h.Repeated:
		notes = append(notes, "the history is too short to keep a part of it from the search: the answer is confirmed on other replays of the same jobs; import a longer history to be surer")
	case strings.HasPrefix(h.Search[0].Name, "third"):
		notes = append(notes, "the history is shorter than three days: it is cut into thirds, and the last one confirms the answer; import a longer one to be surer")
	}
	if s.Time > 0 {
		notes = append(notes, "the budget is a time: another run may find other settings; a budget in runs, such as 200runs, is reproducible")
	}
	return notes
}

// curve is the trade-off over all candidates, on the first part, where all of them ran.
func (s *search) curve() (list []Trade) {
	for _, limit := range limits {
		best := 1.0
		for _, t := range s.trials {
			if len(t.seen) == 0 {
				continue
			}
			if o := s.judge.score(t.seen[:1], 0); o.change <= limit+1e-9 && o.lost == 0 {
				best = min(best, o.ratio)
			}
		}
		list = append(list, Trade{limit, math.Round((best-1)*1e5) / 1e5})
	}
	return list
}
