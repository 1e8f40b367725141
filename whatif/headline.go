package whatif

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// The headline is what an operator would repeat. It judges core metrics before all others: elapsed time, slowdown and makespan. Harm
// comes first: if a scheduler makes a core metric worse, the first sentence says so. Then come the gain and its price elsewhere.
// A difference counts if it is clear (its interval, if any, excludes 0) and noticeable: at least one percent and, for
// times, at least a second.
const (
	minShare   = 0.01
	minSeconds = 1.0
)

// asked are the metrics that people ask for first, in order. Gains are sought there, then in the other core rows, then in the rest.
var asked = []string{"p95 elapsed", "p95 slowdown"}

// core reports whether a metric measures the service to jobs as a whole. A wait is only a part of it, and a fair share of bad service is
// no gain. Where slowdowns are unknown, the response ratio stands in for them.
func core(metric string) bool {
	_, of, _ := strings.Cut(metric, " ")
	return of == "elapsed" || of == "slowdown" || of == "response ratio" || metric == "makespan"
}

func (out *Comparison) headline() string {
	switch {
	case len(out.Rows) == 0:
		return ""
	case len(out.Schedulers) == 1:
		return out.alone()
	}
	names := out.names()
	if out.empty(0) {
		return fmt.Sprintf("No job finished under %s, so there is nothing to compare with.", names[0])
	}
	judged := out.judged()
	if len(judged) == 0 {
		return out.uncompared(names)
	}
	return strings.TrimSpace(out.gained(names, judged) + " " + out.uncompared(names))
}

// gained says who does harm and who gains what, among those that can be judged.
func (out *Comparison) gained(names []string, judged []int) string {
	harm := out.harm(judged)
	row, s := out.gain(harm)
	if row == nil && len(harm) == 0 {
		return out.noGain(names, judged)
	}
	text := harmed(names, harm)
	if row == nil {
		return fmt.Sprintf("%s Nothing shown gets noticeably better than under %s.", text, names[0])
	}
	who := names[s]
	var said *Row // what harm says of s
	for _, l := range harm {
		if l.who == s {
			said = l.row
		}
	}
	if said != nil && len(harm) == 1 {
		who = "It"
	}
	was, is := Format(row.Cells[0].Mean, row.Unit), Format(row.Cells[s].Mean, row.Unit)
	text += fmt.Sprintf(" %s brings the %s from %s to %s%s. ", who, plain(row.Metric), was, is, row.sureness(s))
	return strings.TrimSpace(text + out.price(s, row, said))
}

// harm finds the core metric that each scheduler worsens most, for those that worsen one; the largest harm comes first.
func (out *Comparison) harm(judged []int) []loss {
	var all []loss
	for _, s := range judged {
		var worst *loss
		for i := range out.Rows {
			if row := &out.Rows[i]; core(row.Metric) {
				if size := -row.differs(s); size > 0 && (worst == nil || size > worst.size) {
					worst = &loss{row: row, who: s, size: size}
				}
			}
		}
		if worst != nil {
			all = append(all, *worst)
		}
	}
	slices.SortStableFunc(all, func(a, b loss) int { return cmp.Compare(b.size, a.size) })
	return all
}

// harmNamed is the number of schedulers whose harm is given with figures; the others are only named.
const harmNamed = 2

// harmed describes harm in one sentence: "fifo raises the median elapsed time from 19 s to 27.1 min, and tags the makespan from 2 h to 3 h."
func harmed(names []string, harm []loss) string {
	if len(harm) == 0 {
		return ""
	}
	var parts, others []string
	for i, l := range harm {
		if i >= harmNamed {
			others = append(others, names[l.who])
			continue
		}
		verb := " raises"
		if i > 0 {
			verb = ""
		}
		parts = append(parts, fmt.Sprintf("%s%s the %s from %s to %s%s", names[l.who], verb, plain(l.row.Metric),
			Format(l.row.Cells[0].Mean, l.row.Unit), Format(l.row.Cells[l.who].Mean, l.row.Unit), l.row.sureness(l.who)))
	}
	text := strings.Join(parts, ", and ")
	switch len(others) {
	case 0:
		return text + "."
	case 1:
		return text + "; " + others[0] + " is worse, too."
	}
	return text + "; " + and(others) + " do harm too."
}

// alone describes a single run.
func (out *Comparison) alone() string {
	value := map[string]string{}
	for _, row := range out.Rows {
		value[row.Metric] = Format(row.Cells[0].Mean, row.Unit)
	}
	if out.Runs[0][0].Jobs.Finished == 0 {
		return fmt.Sprintf("No job finished under %s.", out.names()[0])
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

// gain finds the scheduler with the clearest gain, in the metric that people ask for first. One that does harm is chosen only if no other
// gains. Nil: nobody gains.
func (out *Comparison) gain(harm []loss) (*Row, int) {
	var rows, rest []*Row
	for _, name := range asked {
		rows = append(rows, out.row(name)) // nil where unknown
	}
	for i := range out.Rows {
		switch name := out.Rows[i].Metric; {
		case slices.Contains(asked, name):
		case core(name):
			rows = append(rows, &out.Rows[i])
		default:
			rest = append(rest, &out.Rows[i])
		}
	}
	harmful := func(s int) bool { return slices.ContainsFunc(harm, func(l loss) bool { return l.who == s }) }
	for _, wanted := range []bool{false, true} {
		for _, row := range slices.Concat(rows, rest) {
			best := 0
			for s := 1; row != nil && s < len(row.Cells); s++ {
				if harmful(s) == wanted && row.differs(s) > 0 && (best == 0 || row.clearer(s, best)) {
					best = s
				}
			}
			if best > 0 {
				return row, best
			}
		}
	}
	return nil, 0
}

// clearer reports whether scheduler s gains more clearly than best does: even the weak end of its interval is better.
func (row *Row) clearer(s, best int) bool {
	weak := func(s int) float64 {
		c := &row.Cells[s]
		v := c.Mean
		if !math.IsNaN(c.ChangeLow) {
			if v = c.ChangeHigh; row.More {
				v = c.ChangeLow
			}
		}
		if row.More {
			return -v
		}
		return v
	}
	return weak(s) < weak(best)
}

// noGain is the headline when no other scheduler is better than the first in anything, or worse in a core metric.
func (out *Comparison) noGain(names []string, judged []int) string {
	var worst *loss
	same := true
	compared := names[:1:1]
	for _, s := range judged {
		compared = append(compared, names[s])
		if w := out.worst(s, nil); w != nil && (worst == nil || w.size > worst.size) {
			worst = w
		}
		for i := range out.Rows {
			same = same && out.Rows[i].Cells[s].Judgement == Same
		}
	}
	switch {
	case same:
		return fmt.Sprintf("%s give the same figures throughout.", and(compared))
	case worst != nil:
		return fmt.Sprintf("With %s %s. Nothing shown gets noticeably better than under %s.", names[worst.who], worst.said(), names[0])
	}
	text := fmt.Sprintf("There is no noticeable difference between %s", and(compared))
	for i := range out.Rows {
		for _, s := range judged {
			if out.Rows[i].Cells[s].Judgement == Unclear {
				return fmt.Sprintf("%s that %d seeds make clear.", text, len(out.Seeds))
			}
		}
	}
	return text + "."
}

// makespan describes the change of the makespan.
func (out *Comparison) makespan(s int) string {
	row := out.row("makespan")
	c := row.Cells[s]
	switch way := row.differs(s); {
	case way != 0:
		verb := "shrinks"
		if way < 0 {
			verb = "grows"
		}
		return fmt.Sprintf("the makespan %s from %s to %s", verb, Format(row.Cells[0].Mean, Seconds), Format(c.Mean, Seconds))
	case c.Judgement == Unclear && math.Abs(c.Diff) >= minShare*row.Cells[0].Mean:
		return "whether the makespan moves is not clear"
	}
	return "the makespan does not move"
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

// sureness is the interval of a gain, in words.
func (row *Row) sureness(s int) string {
	c := &row.Cells[s]
	if math.IsNaN(c.ChangeLow) || c.ChangeLow >= c.ChangeHigh {
		return ""
	}
	digits := 0
	switch a := math.Abs(c.Change); {
	case c.Change < -99.5:
		digits = 2
	case a < 9.95:
		digits = 1
	}
	from, to, word := percent(c.ChangeHigh, digits), percent(c.ChangeLow, digits), "less"
	if c.Change > 0 {
		from, to, word = to, from, "more"
	}
	from, to = strings.Trim(from, "+-"), strings.Trim(strings.Replace(to, " +", " ", 1), "+-")
	between := from + " to " + to
	if from == to {
		between = from
	}
	return fmt.Sprintf(" (%s %% %s, 95 %% interval over %d seeds)", between, word, len(c.Values))
}

func (out *Comparison) row(metric string) *Row {
	for i := range out.Rows {
		if out.Rows[i].Metric == metric {
			return &out.Rows[i]
		}
	}
	return nil
}

// plain is a metric's name in a sentence.
func plain(metric string) string {
	metric = strings.Replace(metric, "p95 ", "95th-percentile ", 1)
	switch {
	case strings.HasSuffix(metric, "elapsed"):
		metric += " time"
	case strings.HasPrefix(metric, "fairness"):
		metric += " (1 is even)"
	case metric == deadlinesMet:
		metric = "share of " + metric
	}
	return metric
}
