package whatif

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
)

// An answer is what an operator would repeat about one variant. It starts with the harm: a core metric (elapsed time, slowdown or makespan)
// that gets worse for all jobs together. Then come the queues, users or classes that the variant touches, then the cluster as a whole, then who
// loses most among the others. A difference counts if it is clear (its interval, if any, excludes 0) and noticeable: at least one percent
// and, for times, at least a second.
const (
	minShare   = 0.01
	minSeconds = 1.0
)

// Answer is about one variant; of a single run, about that.
type Answer struct {
	Scheduler int // its index
	Text      string
	Worse     bool      // a core metric gets worse
	Touched   []Subject // what the variant is about
}

// Most metrics and subjects in a sentence.
const (
	saidMetrics  = 2
	saidSubjects = 4
)

// asked are the metrics that people ask for first, in order.
var asked = []string{"p95 elapsed", "p95 slowdown", "p95 response ratio", "makespan", "mean elapsed", "mean slowdown"}

// core reports whether a metric measures the service to jobs as a whole. A wait is only a part of it, and a fair share of bad service is
// no gain. Where slowdowns are unknown, the response ratio stands in for them.
func core(metric string) bool {
	_, of, _ := strings.Cut(metric, " ")
	return of == "elapsed" || of == "slowdown" || of == "response ratio" || metric == "makespan"
}

func (out *Comparison) answers() []Answer {
	switch {
	case len(out.Rows) == 0:
		return nil
	case len(out.Schedulers) == 1:
		return []Answer{{Text: out.alone()}}
	case out.empty(0):
		return []Answer{{Text: fmt.Sprintf("No job finished under %s, so there is nothing to compare with.", out.Labels()[0])}}
	}
	var list []Answer
	for s := 1; s < len(out.Schedulers); s++ {
		a := Answer{Scheduler: s}
		if s < len(out.touched) {
			a.Touched = out.touched[s]
		}
		var said []string
		switch {
		case out.empty(s):
			said = []string{"no job finishes, so there is nothing to compare."}
		case out.apart(s):
			said = append([]string{out.apartAnswer(s)}, out.touchedAnswer(s)...)
		default:
			said, a.Worse = out.judgedAnswer(s)
		}
		for i, text := range said[1:] {
			said[i+1] = strings.ToUpper(text[:1]) + text[1:]
		}
		a.Text = out.Labels()[s] + ": " + strings.Join(said, " ")
		list = append(list, a)
	}
	return list
}

// judgedAnswer are the sentences about a variant that can be judged.
func (out *Comparison) judgedAnswer(s int) (said []string, worse bool) {
	touched := out.touchedAnswer(s)
	harm, gain, rest := out.moves(s)
	if len(harm) > 0 {
		said = append(said, "worse for the cluster as a whole: "+says(harm, s)+".")
	}
	said = append(said, touched...)
	switch {
	case len(gain) > 0 && len(harm) > 0:
		said = append(said, "better: "+says(gain, s)+".")
	case len(gain) > 0:
		said = append(said, "better for the cluster as a whole: "+says(gain, s)+".")
	case len(harm) > 0:
	case len(rest) > 0:
		said = append(said, "jobs of the cluster as a whole finish neither sooner nor later, but "+says(rest, s)+".")
	default:
		said = append(said, "the cluster as a whole: "+out.noDifference(s)+".")
	}
	if due := out.row(deadlinesMet); due != nil && due.differs(s) != 0 {
		said = append(said, due.says(s)+".")
	}
	if lose := out.losers(s); lose != "" {
		said = append(said, lose)
	} else if which := out.judgedKinds(); which != "" && len(harm)+len(gain)+len(rest)+len(touched) > 0 {
		said = append(said, "no "+map[bool]string{true: "other "}[len(touched) > 0]+which+" loses noticeably.")
	}
	return said, len(harm) > 0
}

// touchedAnswer has a sentence for each group that the variant is about.
func (out *Comparison) touchedAnswer(s int) (said []string) {
	if s >= len(out.touched) {
		return nil
	}
	more := 0
	for _, t := range out.touched[s] {
		some := false
		for i := range out.Groups {
			g := &out.Groups[i]
			if !t.covers(g.Subject) {
				continue
			}
			if some = true; len(said) == saidSubjects {
				more++
			} else {
				said = append(said, g.says(s))
			}
		}
		if !some && len(said) < saidSubjects {
			said = append(said, t.String()+" has no job in this workload.")
		}
	}
	if more > 0 {
		said = append(said, fmt.Sprintf("%d more that it touches are in the table.", more))
	}
	return said
}

// String is the subject in a sentence.
func (t Subject) String() string { return t.Kind + " " + t.Name }

// says is the sentence about a group that a variant touches.
func (g *Group) says(s int) string {
	row := &g.Rows[0] // or the first that differs
	for i := range g.Rows {
		if g.Rows[i].differs(s) != 0 {
			row = &g.Rows[i]
			break
		}
	}
	jobs := ""
	if g.Jobs[0] != g.Jobs[s] {
		jobs = fmt.Sprintf(", with %s instead of %d", unit.Count(g.Jobs[s], "job"), g.Jobs[0])
	}
	switch {
	case g.Few:
		return fmt.Sprintf("%s has too few jobs to judge (%d): %s%s.", g.Subject, min(g.Jobs[0], g.Jobs[s]), g.Rows[0].says(s), jobs)
	case g.Rows[0].Cells[s].Judgement == Apart:
		return fmt.Sprintf("%s finishes other jobs, too: %s%s.", g.Subject, g.Rows[0].says(s), jobs)
	case row.differs(s) < 0:
		return fmt.Sprintf("%s gets worse: %s%s.", g.Subject, row.says(s), jobs)
	case row.differs(s) > 0:
		return fmt.Sprintf("%s gets better: %s%s.", g.Subject, row.says(s), jobs)
	}
	return fmt.Sprintf("%s does not change noticeably: %s%s.", g.Subject, row.says(s), jobs)
}

// moves are the rows that differ under a scheduler: core metrics that get worse, largest first; core metrics that get better, most asked for first;
// and the others in either direction, largest first.
func (out *Comparison) moves(s int) (harm, gain, rest []*Row) {
	for i := range out.Rows[:out.common] {
		row := &out.Rows[i]
		switch d := row.differs(s); {
		case d == 0 || row.Metric == deadlinesMet:
		case !core(row.Metric):
			rest = append(rest, row)
		case d < 0:
			harm = append(harm, row)
		default:
			gain = append(gain, row)
		}
	}
	place := func(row *Row) int {
		if at := slices.Index(asked, row.Metric); at >= 0 {
			return at
		}
		return len(asked)
	}
	slices.SortStableFunc(harm, func(a, b *Row) int { return cmp.Compare(a.differs(s), b.differs(s)) })
	slices.SortStableFunc(gain, func(a, b *Row) int { return cmp.Compare(place(a), place(b)) })
	slices.SortStableFunc(rest, func(a, b *Row) int { return cmp.Compare(math.Abs(b.differs(s)), math.Abs(a.differs(s))) })
	return harm, gain, rest
}

// says is the first of several rows, as in a sentence.
func says(rows []*Row, s int) string {
	var parts []string
	for _, row := range rows[:min(len(rows), saidMetrics)] {
		parts = append(parts, row.says(s))
	}
	return strings.Join(parts, ", ")
}

// says is a figure and its change: "p95 elapsed 40 min -> 31 min (-22 %, -25 to -19)".
func (row *Row) says(s int) string {
	write, c := row.Format(), &row.Cells[s]
	was, is := write(row.Cells[0].Mean), write(c.Mean)
	if row.Unit == Seconds { // in a sentence each in its own unit
		was, is = Format(row.Cells[0].Mean, Seconds), Format(c.Mean, Seconds)
	}
	change := c.Difference(row.Unit)
	if c.Judgement == Same {
		change = "the same"
	}
	if at, interval, ok := strings.Cut(change, " ("); ok {
		change = at + ", " + strings.TrimSuffix(interval, ")")
	}
	if c.Judgement == Unclear {
		change += ", not clear"
	}
	return fmt.Sprintf("%s %s -> %s (%s)", row.Metric, was, is, change)
}

// noDifference says that nothing differs noticeably, and how sure that is.
func (out *Comparison) noDifference(s int) string {
	same, unclear := true, false
	for i := range out.Rows {
		j := out.Rows[i].Cells[s].Judgement
		same, unclear = same && j == Same, unclear || j == Unclear
	}
	switch {
	case same:
		return "the same figures throughout as " + out.Labels()[0]
	case unclear:
		return fmt.Sprintf("no noticeable difference that %d seeds make clear", len(out.Seeds))
	}
	return "no noticeable difference"
}

// judgedKinds is "queue, user or class", of those that are judged one by one; "": there are none.
func (out *Comparison) judgedKinds() string {
	var names []string
	few := ""
	for _, g := range out.Groups {
		if g.Few {
			few = fmt.Sprintf(" with %d jobs or more", groupJobs)
		} else if !slices.Contains(names, g.Kind) {
			names = append(names, g.Kind)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return or(names) + few
}

// alone describes a single run.
func (out *Comparison) alone() string {
	value := map[string]string{}
	for _, row := range out.Rows {
		value[row.Metric] = Format(row.Cells[0].Mean, row.Unit)
	}
	if out.Runs[0][0].Jobs.Finished == 0 {
		return fmt.Sprintf("No job finished under %s.", out.Labels()[0])
	}
	used := fmt.Sprintf("on average %s of the cluster is in use.", value["utilisation"])
	switch nothing := Format(0, Seconds); {
	case value["p95 wait"] == nothing:
		return "At least 95 % of the jobs start at once; " + used
	case value["median wait"] == nothing:
		return fmt.Sprintf("Half of the jobs start at once, and 95 %% wait at most %s; %s", value["p95 wait"], used)
	}
	return fmt.Sprintf("Half of the jobs wait at most %s for their first container, and 95 %% at most %s; %s",
		value["median wait"], value["p95 wait"], used)
}

// differs says how much better (above 0) or worse (below 0) scheduler s is, relative to the first; 0 unless that is clear and
// noticeable.
func (row *Row) differs(s int) float64 {
	c, base := &row.Cells[s], row.Cells[0].Mean
	switch c.Judgement {
	case First, Same, Unclear, Apart, Missing:
		return 0
	case Better, Worse, Unjudged:
	}
	threshold := minShare * math.Abs(base)
	if row.Unit == Seconds {
		threshold = max(threshold, minSeconds)
		base = max(base, minSeconds) // from nothing to two seconds is not infinitely worse
	}
	if math.Abs(c.Diff) < threshold || c.Diff == 0 {
		return 0
	}
	size := c.Diff / math.Max(math.Abs(base), 1e-9)
	if row.More {
		return size
	}
	return -size
}
