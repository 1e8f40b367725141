package whatif

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/unit"
)

// Answer is what an operator would repeat about one variant, or about a single run: the queues, users or classes that the variant touches, then
// who else loses and gains, then the cluster as a whole. It calls a difference better or worse only if that is clear and noticeable: see verdict.
type Answer struct {
	Scheduler int // its index
	Text      string
	Verdict   Verdict           // on the cluster as a whole
	Touched   []verdict.Subject // what the variant is about
	Claims    []Claim           // what the text says gets better or worse
}

// Claim is a difference that an answer calls better or worse.
type Claim struct {
	verdict.Subject        // none: the cluster as a whole
	Metric          string `json:"metric"`
	Better          bool   `json:"better"`
}

// claim records that the first of some rows get better or worse, and returns the words for it.
func (a *Answer) claim(of verdict.Subject, better bool, rows []*verdict.Row) string {
	for _, row := range rows[:min(len(rows), saidMetrics)] {
		a.Claims = append(a.Claims, Claim{of, row.Metric, better})
	}
	return says(rows, a.Scheduler)
}

// Verdict is what the core metrics of all jobs say of a variant.
type Verdict string

// Verdicts.
const (
	IsBetter     Verdict = "better"
	IsWorse      Verdict = "worse"
	IsMixed      Verdict = "mixed"            // some get better, others worse
	NoDifference Verdict = "no difference"    // none that is noticeable
	CannotTell   Verdict = "cannot be told"   // chance may be larger than the difference
	NotJudged    Verdict = "cannot be judged" // one replay, other jobs, or none that finished
)

// Max metrics and subjects in a sentence.
const (
	saidMetrics  = 2
	saidSubjects = 4
)

// asked are the metrics that people ask for first, in order.
var asked = []string{"p95 elapsed", "p95 slowdown", "p95 response ratio", "makespan", "mean elapsed", "mean slowdown"}

// core reports whether a metric measures the service to jobs as a whole. A wait is only a part of it, and a fair share of bad service is
// no gain. Where slowdowns are unknown, the response ratio stands in for them. A makespan says something of a batch only: otherwise it is
// when the last job happens to arrive.
func (out *Comparison) core(metric string) bool {
	_, of, _ := strings.Cut(metric, " ")
	return of == "elapsed" || of == "slowdown" || of == "response ratio" || metric == "makespan" && out.batch
}

func (out *Comparison) answers() []Answer {
	switch {
	case len(out.Rows) == 0:
		return nil
	case len(out.Schedulers) == 1:
		return []Answer{{Text: out.alone(), Verdict: NotJudged}}
	case out.empty(0):
		return []Answer{{Text: fmt.Sprintf("No job finished under %s, so there is nothing to compare with.", out.Labels()[0]), Verdict: NotJudged}}
	}
	var list []Answer
	for s := 1; s < len(out.Schedulers); s++ {
		a := Answer{Scheduler: s, Verdict: NotJudged}
		if s < len(out.touched) {
			a.Touched = out.touched[s]
		}
		var said []string
		switch {
		case out.empty(s):
			said = []string{"no job finishes, so there is nothing to compare."}
		case out.apart(s):
			said = append([]string{out.apartAnswer(s)}, out.touchedAnswer(&a)...)
		case out.same(s):
			said, a.Verdict = []string{"the same figures throughout as " + out.Labels()[0] + "."}, NoDifference
		case len(out.Seeds) == 1 || out.alike:
			said = out.unjudgedAnswer(&a)
		default:
			said = out.judgedAnswer(&a)
		}
		for i, text := range said[1:] {
			said[i+1] = strings.ToUpper(text[:1]) + text[1:]
		}
		a.Text = out.Labels()[s] + ": " + strings.Join(said, " ")
		list = append(list, a)
	}
	return list
}

// same reports whether every figure is that of the first scheduler.
func (out *Comparison) same(s int) bool {
	same := func(row verdict.Row) bool { return row.Cells[s].Judgement == verdict.Same }
	for i := range out.Groups {
		if slices.ContainsFunc(out.Groups[i].Rows, func(row verdict.Row) bool { return !same(row) }) {
			return false
		}
	}
	return !slices.ContainsFunc(out.Rows, func(row verdict.Row) bool { return !same(row) })
}

// unjudgedAnswer gives figures without a verdict.
func (out *Comparison) unjudgedAnswer(a *Answer) []string {
	said := append([]string{"one replay cannot tell a difference from chance."}, out.touchedAnswer(a)...)
	var all []*verdict.Row
	for _, name := range asked[:3] {
		if row := out.row(name); row != nil {
			all = append(all, row)
		}
	}
	return append(said, "the cluster as a whole: "+says(all, a.Scheduler)+".")
}

// judgedAnswer are the sentences about a variant that can be judged.
func (out *Comparison) judgedAnswer(a *Answer) []string {
	s, cluster := a.Scheduler, verdict.Subject{}
	said := out.touchedAnswer(a)
	others, nobody := out.others(a)
	said = append(said, others...)
	harm, gain, rest := out.moves(s)
	switch {
	case len(gain) > 0 && len(harm) > 0:
		a.Verdict = IsMixed
		said = append(said, fmt.Sprintf("mixed for the cluster as a whole: better in %s, worse in %s.", a.claim(cluster, true, gain), a.claim(cluster, false, harm)))
	case len(harm) > 0:
		a.Verdict = IsWorse
		said = append(said, "worse for the cluster as a whole: "+a.claim(cluster, false, harm)+".")
	case len(gain) > 0:
		a.Verdict = IsBetter
		said = append(said, "better for the cluster as a whole: "+a.claim(cluster, true, gain)+".")
	default:
		var unsure []*verdict.Row
		if a.Verdict, unsure = out.nothing(s); a.Verdict == CannotTell {
			said = append(said, "the cluster as a whole: no difference that can be told: "+says(unsure, s)+".")
		} else if len(rest) > 0 {
			said = append(said, "the cluster as a whole: jobs finish neither sooner nor later, but "+says(rest, s)+".")
		} else {
			said = append(said, "the cluster as a whole: no noticeable difference.")
		}
	}
	if due := out.row(deadlinesMet); due != nil && due.Differs(s, 1) != 0 {
		said = append(said, a.claim(cluster, due.Differs(s, 1) > 0, []*verdict.Row{due})+".")
	}
	if nobody != "" {
		said = append(said, nobody)
	}
	return said
}

// nothing tells whether core metrics of which none differs are known not to, or whether chance is larger than what would be noticeable.
func (out *Comparison) nothing(s int) (v Verdict, unsure []*verdict.Row) {
	for _, name := range asked {
		if row := out.row(name); row != nil && out.core(name) && !row.Settled(s) {
			unsure = append(unsure, row)
		}
	}
	if len(unsure) > 0 {
		return CannotTell, unsure
	}
	return NoDifference, nil
}

// touchedAnswer has a sentence for each group that the variant is about.
func (out *Comparison) touchedAnswer(a *Answer) (said []string) {
	var found []*verdict.Group
	absent := map[int]string{} // by the number of groups found before it
	for _, t := range a.Touched {
		some := false
		for i := range out.Groups {
			if g := &out.Groups[i]; t.Covers(g.Subject) {
				if some = true; !slices.Contains(found, g) {
					found = append(found, g)
				}
			}
		}
		if !some {
			absent[len(found)] += t.String() + " has no job in this workload. "
		}
	}
	for i, g := range append(found, nil) {
		if text := absent[i]; text != "" {
			said = append(said, strings.TrimSpace(text))
		}
		if g == nil {
			break
		}
		if len(said) >= saidSubjects {
			return append(said, fmt.Sprintf("%d more that it touches are in the table.", len(found)-i))
		}
		said = append(said, a.about(g, len(found)))
	}
	return said
}

// about is the sentence about a group that the variant touches, one of several.
func (a *Answer) about(g *verdict.Group, several int) string {
	s := a.Scheduler
	var better, worse []*verdict.Row
	several *= len(g.Rows)
	for i := range g.Rows {
		if d := g.Rows[i].Differs(s, several); d > 0 {
			better = append(better, &g.Rows[i])
		} else if d < 0 {
			worse = append(worse, &g.Rows[i])
		}
	}
	jobs := ""
	if g.Jobs[0] != g.Jobs[s] {
		jobs = fmt.Sprintf(", with %s instead of %d", unit.Count(g.Jobs[s], "job"), g.Jobs[0])
	}
	first := &g.Rows[0]
	say := func(what string, rows ...*verdict.Row) string {
		return fmt.Sprintf("%s %s: %s%s.", g.Subject, what, says(rows, s), jobs)
	}
	switch {
	case g.Few:
		return say(fmt.Sprintf("has too few jobs to judge (%d)", min(g.Jobs[0], g.Jobs[s])), first)
	case first.Cells[s].Judgement == verdict.Apart:
		return say("finishes other jobs, too", first)
	case first.Cells[s].Judgement == verdict.Unjudged:
		return say("in this replay", first)
	case len(better) > 0 && len(worse) > 0:
		return fmt.Sprintf("%s gets better in %s, worse in %s%s.", g.Subject, a.claim(g.Subject, true, better), a.claim(g.Subject, false, worse), jobs)
	case len(worse) > 0:
		return fmt.Sprintf("%s gets worse: %s%s.", g.Subject, a.claim(g.Subject, false, worse[:1]), jobs)
	case len(better) > 0:
		return fmt.Sprintf("%s gets better: %s%s.", g.Subject, a.claim(g.Subject, true, better[:1]), jobs)
	case first.Settled(s):
		return say("does not change noticeably", first)
	case first.Cells[s].Judgement == verdict.Better || first.Cells[s].Judgement == verdict.Worse: // by the interval that is shown
		return say(fmt.Sprintf("may get %s, which is not clear among %d differences", first.Cells[s].Judgement, several), first)
	}
	return say("shows no difference that can be told", first)
}

// moves are the rows that differ under a scheduler: core metrics that get worse, largest first; core metrics that get better, most asked for first;
// and the others in either direction, largest first.
func (out *Comparison) moves(s int) (harm, gain, rest []*verdict.Row) {
	several := 0
	for _, row := range out.Rows[:out.common] {
		if out.core(row.Metric) {
			several++
		}
	}
	differs := func(row *verdict.Row) float64 { return row.Differs(s, several) }
	for i := range out.Rows[:out.common] {
		row := &out.Rows[i]
		switch d := differs(row); {
		case d == 0 || row.Metric == deadlinesMet || row.Metric == "makespan" && !out.batch:
		case !out.core(row.Metric):
			rest = append(rest, row)
		case d < 0:
			harm = append(harm, row)
		default:
			gain = append(gain, row)
		}
	}
	place := func(row *verdict.Row) int {
		if at := slices.Index(asked, row.Metric); at >= 0 {
			return at
		}
		return len(asked)
	}
	slices.SortStableFunc(harm, func(a, b *verdict.Row) int { return cmp.Compare(differs(a), differs(b)) })
	slices.SortStableFunc(gain, func(a, b *verdict.Row) int { return cmp.Compare(place(a), place(b)) })
	slices.SortStableFunc(rest, func(a, b *verdict.Row) int { return cmp.Compare(math.Abs(differs(b)), math.Abs(differs(a))) })
	return harm, gain, rest
}

// says is the first of several rows, as in a sentence.
func says(rows []*verdict.Row, s int) string {
	var parts []string
	for _, row := range rows[:min(len(rows), saidMetrics)] {
		parts = append(parts, row.Says(s))
	}
	return strings.Join(parts, ", ")
}

// alone describes a single run.
func (out *Comparison) alone() string {
	value := map[string]string{}
	for _, row := range out.Rows {
		value[row.Metric] = verdict.Format(row.Cells[0].Mean, row.Unit)
	}
	if out.Runs[0][0].Jobs.Finished == 0 {
		return fmt.Sprintf("No job finished under %s.", out.Labels()[0])
	}
	if n := out.Runs[0][0].Jobs; 2*n.Finished < n.Submitted && !out.Runs[0][0].Partial {
		return fmt.Sprintf("Only %s finished under %s, of %d; why is below.", unit.Count(n.Finished, "job"), out.Labels()[0], n.Submitted)
	}
	used := fmt.Sprintf("on average %s of the cluster is in use.", value["utilisation"])
	if named := out.Runs[0][0].Named; len(named) > 0 {
		used = fmt.Sprintf("on average %s of the memory", value[utilisation])
		for _, n := range named {
			used += fmt.Sprintf(" and %s of %s", value[utilisation+" of "+n.Name], n.Name)
		}
		used += " are in use."
	}
	if wait, ok := value["median gang wait"]; ok { // which the first container, of an AM or a driver, says nothing of
		used = fmt.Sprintf("half of the gangs wait at most %s, and 95 %% at most %s; %s", wait, value["p95 gang wait"], used)
	}
	switch nothing := verdict.Format(0, verdict.Seconds); {
	case value["p95 wait"] == nothing:
		return "At least 95 % of the jobs start at once; " + used
	case value["median wait"] == nothing:
		return fmt.Sprintf("Half of the jobs start at once, and 95 %% wait at most %s; %s", value["p95 wait"], used)
	}
	return fmt.Sprintf("Half of the jobs wait at most %s for their first container, and 95 %% at most %s; %s",
		value["median wait"], value["p95 wait"], used)
}
