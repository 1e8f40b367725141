package whatif

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/unit"
)

// compare makes the comparison from the runs that there are. Only seeds that ran to their end under every scheduler count: half
// a run compared with a whole one says nothing. A single run is shown as far as it got.
func (c *crew) compare() *Comparison {
	out := &Comparison{Seeds: []uint64{}}
	if c.plan.Pictures {
		out.Pictures = c.pictures
	}
	for _, s := range c.plan.Schedulers {
		out.Schedulers = append(out.Schedulers, s.Name)
	}
	out.Runs = make([][]*result.Run, len(c.runs))
	for seed, number := range c.plan.Seeds {
		whole := true
		for s := range c.runs {
			whole = whole && c.runs[s][seed] != nil && (len(c.runs) == 1 || !c.runs[s][seed].Partial)
		}
		if !whole {
			out.Partial = true
			continue
		}
		out.Seeds = append(out.Seeds, number)
		for s := range c.runs {
			out.Runs[s] = append(out.Runs[s], c.runs[s][seed])
			out.Partial = out.Partial || c.runs[s][seed].Partial
		}
	}
	if len(out.Seeds) > 0 {
		out.judge()
	}
	return out
}

// judge makes everything that follows from the runs.
func (out *Comparison) judge() {
	for _, m := range metrics {
		out.Rows = append(out.Rows, rowOf(m, out.Runs))
	}
	out.settle()
	for _, row := range out.Rows {
		if len(out.Schedulers) > 1 {
			out.Verdicts = append(out.Verdicts, row.verdict(out.names()))
		}
	}
	out.Headline = out.headline()
}

// settle looks at all rows together: whether the intervals say anything, and what a reader must know.
func (out *Comparison) settle() {
	if out.Partial {
		out.Notes = append(out.Notes, "partial: the work was stopped before the end, so the figures cover only a part of it")
	}
	for s, runs := range out.Runs {
		if r := runs[0]; r.Jobs.Refused > 0 {
			out.Notes = append(out.Notes, fmt.Sprintf("%s refused %d of %d jobs; its figures are of the others", out.names()[s], r.Jobs.Refused, r.Jobs.Submitted))
		}
		if r := runs[0]; r.Jobs.Failed > 0 {
			out.Notes = append(out.Notes, fmt.Sprintf("under %s %d of %d jobs failed; its figures are of the others", out.names()[s], r.Jobs.Failed, r.Jobs.Submitted))
		}
	}
	switch {
	case len(out.Schedulers) < 2:
	case len(out.Seeds) == 1:
		out.Notes = append(out.Notes, "one seed: differences have no interval; ask for several with --seeds 5")
	case out.constant():
		// An interval without width would claim a certainty that nothing random was there to earn.
		out.Notes = append(out.Notes, fmt.Sprintf(
			"all %d seeds gave the same figures: nothing in this workload and model is random, so differences have no interval and one seed is enough", len(out.Seeds)))
		for r := range out.Rows {
			out.Rows[r].unjudge()
		}
	}
}

// unjudge drops the intervals of a row.
func (row *Row) unjudge() {
	for i := range row.Cells {
		cell := &row.Cells[i]
		cell.forget()
		if cell.Judgement == Better || cell.Judgement == Worse || cell.Judgement == Unclear {
			cell.Judgement = Unjudged
		}
	}
}

// constant says whether every seed gave the same figures under every scheduler.
func (out *Comparison) constant() bool {
	for _, row := range out.Rows {
		for _, cell := range row.Cells {
			for _, v := range cell.Values {
				if v != cell.Values[0] {
					return false
				}
			}
		}
	}
	return true
}

// names are the schedulers' names, paths cut to their last part where that is enough to tell them apart.
func (out *Comparison) names() []string { return ShortNames(out.Schedulers) }

// ShortNames cuts paths to their last part where that is enough to tell them apart.
func ShortNames(full []string) []string {
	short := make([]string, len(full))
	count := map[string]int{}
	for i, s := range full {
		path, params, has := strings.Cut(s, ":")
		if short[i] = path[strings.LastIndexByte(path, '/')+1:]; has {
			short[i] += ":" + params
		}
		count[short[i]]++
	}
	for i := range short {
		if count[short[i]] > 1 {
			short[i] = full[i]
		}
	}
	return short
}

// verdict is one sentence about a metric: "p95 wait: fair -43 % (-48 to -38) against fifo".
func (row *Row) verdict(names []string) string {
	alike, unclear := 0, 0
	for _, c := range row.Cells[1:] {
		switch c.Judgement {
		case Same:
			alike++
		case Unclear:
			unclear++
		case First, Better, Worse, Unjudged:
		}
	}
	switch len(row.Cells) - 1 {
	case alike:
		return fmt.Sprintf("%s: the same under %s (%s)", row.Metric, and(names), Format(row.Cells[0].Mean, row.Unit))
	case unclear:
		return fmt.Sprintf("%s: no clear difference between %s", row.Metric, and(names))
	}
	var parts []string
	for i, c := range row.Cells[1:] {
		parts = append(parts, names[i+1]+" "+c.Words(row.Unit))
	}
	return fmt.Sprintf("%s: %s against %s", row.Metric, strings.Join(parts, ", "), names[0])
}

func and(names []string) string {
	if len(names) == 2 {
		return names[0] + " and " + names[1]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// Words says the difference: "-43 % (-48 to -38)", "no clear difference", "the same".
func (c *Cell) Words(u Unit) string {
	switch c.Judgement {
	case First:
		return ""
	case Same:
		return "the same"
	case Unclear:
		return "no clear difference"
	}
	return c.Difference(u)
}

// Difference writes the difference as figures, whatever it means, with its 95 % interval where that has a width.
func (c *Cell) Difference(u Unit) string {
	if math.IsNaN(c.Change) { // the first one's figure is 0: there is nothing to take a share of
		write := func(v float64) string { return signed(Format(math.Abs(v), u), v) }
		s := write(c.Diff)
		if c.DiffHigh > c.DiffLow {
			s += " (" + write(c.DiffLow) + " to " + write(c.DiffHigh) + ")"
		}
		return s
	}
	digits := 0
	if a := math.Abs(c.Change); a < 9.95 || c.ChangeHigh-c.ChangeLow < 1 {
		digits = 1
		if a < 0.095 {
			digits = 2
		}
	}
	if c.Change > -100 && c.Change < -99.5 { // nearly all is not all
		digits = 2
	}
	s := percent(c.Change, digits) + " %"
	if low, high := percent(c.ChangeLow, digits), percent(c.ChangeHigh, digits); c.ChangeHigh > c.ChangeLow && low != high {
		s += " (" + low + " to " + high + ")"
	}
	return s
}

// percent writes a change in percent with its sign, and does not say that all is gone when something is left.
func percent(v float64, digits int) string {
	if v > 9999.5 {
		return "over +9999"
	}
	s := strconv.FormatFloat(math.Abs(v), 'f', digits, 64)
	if most := strings.TrimSuffix("99."+strings.Repeat("9", digits), "."); v > -100 && v < 0 && strings.HasPrefix(s, "100") {
		s = most
	}
	return signed(s, v)
}

func signed(s string, v float64) string {
	switch {
	case v < 0:
		return "-" + s
	case v > 0:
		return "+" + s
	}
	return s
}

// Format writes a figure for a person.
func Format(v float64, u Unit) string {
	switch u {
	case Seconds:
		return unit.FormatSeconds(v)
	case Share:
		return strconv.FormatFloat(100*v, 'f', 1, 64) + " %"
	}
	if math.Abs(v) >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
