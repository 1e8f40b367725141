package sizing

import (
	"context"
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/policy/hybrid"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/unit"
)

// mostWork is the share of the work above which the answer says that large jobs have most of it.
const mostWork = 0.8

// choose finds the best row: the one with the smallest value, if it is clearly better than no scale-up rack at all, all jobs finish
// and the data fit.
func (a *Answer) choose(p *Plan) {
	first := &a.Rows[0]
	for i := range a.Rows[1:] {
		r := &a.Rows[i+1]
		d := r.Changes[p.By.Name]
		better := !first.Finished || direction(d) < 0
		if best := &a.Rows[a.Best]; better && r.Finished && r.Fits && (!best.Finished || r.Value(p.By.Name) < best.Value(p.By.Name)) {
			a.Best = i + 1
		}
	}
}

// against runs the best row under the base scheduler, with all jobs on all machines: what remains of the gain is the machines'.
func (p *Plan) against(ctx context.Context, a *Answer, sets []set) error {
	best := &a.Rows[a.Best]
	if a.Best == 0 || a.Partial || !best.Finished {
		return nil
	}
	options := p.Options
	options.Mixed = true
	runs, _, err := p.playAll(ctx, a.Rows[a.Best:a.Best+1], options, sets, nil)
	if err != nil || ctx.Err() != nil || slices.Contains(runs, nil) {
		a.Partial = true
		return err
	}
	var base Row
	base.fill(runs, make([]hybrid.Counts, len(runs)), nil)
	a.Base = map[string]result.Difference{}
	for _, m := range Metrics {
		if values := base.Values[m.Name]; len(values) == len(best.Values[m.Name]) {
			a.Base[m.Name] = result.Paired(values, best.Values[m.Name])
		}
	}
	return nil
}

// phrase puts the answer into words. It says "Buy" only on several seeds, and only where p95 does not clearly rise.
func (a *Answer) phrase(p *Plan) {
	name, first, best := p.By.Name, &a.Rows[0], &a.Rows[a.Best]
	machines := fmt.Sprintf("%s of %s", unit.Count(int64(best.UpRacks), "rack"), unit.Count(int64(p.Up.Machines), "scale-up machine"))
	one := len(a.Seeds) == 1
	switch {
	case a.Partial:
		a.Sentence = fmt.Sprintf("Stopped early: no recommendation. %d of the mixes were simulated.", len(a.Rows))
	case !best.Finished:
		a.Sentence = "No mix finishes all jobs."
	case !first.Finished && one:
		a.Sentence = tooLittle + fmt.Sprintf("Some jobs do not finish without scale-up machines, and all do with %s.", machines)
	case !first.Finished:
		a.Sentence = fmt.Sprintf("Buy %s: without them, some jobs do not finish. %s.%s", machines, values(best, p.By), a.words(best, p.By))
	case a.Best > 0 && one:
		a.Sentence = tooLittle + fmt.Sprintf("With it, %s are best. At the same price, %s.%s", machines, changed(first, best, p.By), a.words(best, p.By))
	case a.Best > 0 && direction(best.Changes["p95"]) > 0:
		a.Sentence = fmt.Sprintf("Mixed: with %s, at the same price, %s.%s", machines, changed(first, best, p.By), a.words(best, p.By))
	case a.Best > 0:
		a.Sentence = fmt.Sprintf("Buy %s: at the same price, %s.%s", machines, changed(first, best, p.By), a.words(best, p.By))
	case one:
		a.Sentence = tooLittle + fmt.Sprintf("With it, none of the mixes has a noticeably shorter %s than %s of scale-out machines alone, %s.",
			p.By.Title, unit.Count(int64(first.OutRacks), "rack"), unit.FormatSeconds(first.Value(name)))
	default:
		a.Sentence = fmt.Sprintf("Buy no scale-up machines: none of the mixes has a clearly shorter %s than %s of scale-out machines alone, %s.",
			p.By.Title, unit.Count(int64(first.OutRacks), "rack"), unit.FormatSeconds(first.Value(name)))
	}
	if a.LargeWork > mostWork && !a.Partial {
		a.Sentence += fmt.Sprintf(" Large jobs have %.0f %% of the work, and scale-up machines in place of scale-out machines cost them capacity, which no scheduler can give back.", 100*a.LargeWork)
	}
	full := 0
	for i := range a.Rows {
		if !a.Rows[i].Fits {
			full++
		}
	}
	if full > 0 {
		a.Sentence += fmt.Sprintf(" In %d of the mixes the scale-up machines have too little storage for their replicas.", full)
	}
}

const tooLittle = "One seed is too little to buy by: give --seeds 5. "

// direction is -1 if a metric falls, noticeably and beyond its interval, 1 if it rises so, and 0 otherwise. Of one seed, which has no interval, it
// may say that a metric falls.
func direction(d result.Difference) int {
	switch j := verdict.Of(&d, false); {
	case d.Ratio.Mean < 1-verdict.Noticeable && (j == verdict.Better || j == verdict.Unjudged):
		return -1
	case d.Ratio.Mean > 1+verdict.Noticeable && j == verdict.Worse:
		return 1
	}
	return 0
}

// words are what belongs to a recommendation: the change of p95, if the metric is another, and what hybrid does against its base
// scheduler on the same machines.
func (a *Answer) words(best *Row, by Metric) (text string) {
	p95, _ := FindMetric("p95")
	if by.Name != p95.Name {
		if first := &a.Rows[0]; first.Finished {
			text = " " + upper(changed(first, best, p95)) + "."
		} else {
			text = " " + values(best, p95) + "."
		}
	}
	d, ok := a.Base[by.Name]
	if !ok {
		return text
	}
	against := [...]string{"shorter", "no shorter", "longer"}[1+direction(d)]
	return text + fmt.Sprintf(" On the same machines the %s is %s under hybrid than under its base scheduler with all jobs on all machines: %s.",
		by.Title, against, change(d))
}

func values(r *Row, m Metric) string {
	return upper(fmt.Sprintf("the %s is %s", m.Title, unit.FormatSeconds(r.Value(m.Name))))
}

// changed says how a metric changes: "the mean elapsed time falls from 4.5 min to 2.9 min (-35.1 %, 95 % interval -38.3 to -31.7 %)".
func changed(first, best *Row, m Metric) string {
	d, verb := best.Changes[m.Name], "falls"
	if d.Ratio.Mean > 1 {
		verb = "rises"
	}
	before, after := unit.FormatSeconds(first.Value(m.Name)), unit.FormatSeconds(best.Value(m.Name))
	return fmt.Sprintf("the %s %s from %s to %s (%s)", m.Title, verb, before, after, change(d))
}

func change(d result.Difference) string {
	text := fmt.Sprintf("%+.1f %%", 100*(d.Ratio.Mean-1))
	if d.Ratio.Known {
		text += fmt.Sprintf(", 95 %% interval %.1f to %.1f %%", 100*(d.Ratio.Low-1), 100*(d.Ratio.High-1))
	}
	return text
}

func upper(s string) string { return "T" + s[1:] }
