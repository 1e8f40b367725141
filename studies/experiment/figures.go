package experiment

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/result"
)

// groupFindings are the experiments of a group, which are shown side by side.
type groupFindings struct {
	Name        string
	Experiments []*ExperimentFinding
}

// groups are the groups of a study's experiments, in order of appearance.
func (s *StudyFinding) groups() []groupFindings {
	var out []groupFindings
	for i := range s.Experiments {
		e := &s.Experiments[i]
		at := slices.IndexFunc(out, func(g groupFindings) bool { return g.Name == e.Group })
		if at < 0 {
			at = len(out)
			out = append(out, groupFindings{Name: e.Group})
		}
		out[at].Experiments = append(out[at].Experiments, e)
	}
	return out
}

// abreast is the maximum number of experiments side by side in a readable table.
const abreast = 8

func (g *groupFindings) chunks() []groupFindings {
	var out []groupFindings
	for some := range slices.Chunk(g.Experiments, abreast) {
		out = append(out, groupFindings{Name: g.Name, Experiments: some})
	}
	return out
}

// about are the settings that all experiments share and, where no setting distinguishes them, their titles.
func (g *groupFindings) about() (text []string) {
	shared, names, _ := g.setup()
	var pairs, titles []string
	for _, p := range shared {
		pairs = append(pairs, p.Name+": "+p.Value)
	}
	if len(pairs) > 0 {
		text = append(text, strings.Join(pairs, "; ")+".")
	}
	for _, e := range g.Experiments {
		titles = append(titles, e.ID+" "+e.Title)
	}
	if len(names) == 0 {
		text = append(text, strings.Join(titles, "; ")+".")
	}
	return text
}

// reportedRow is one figure in all experiments of a group; nil where the source prints none.
type reportedRow struct {
	What  string
	Cells []*ReportedFinding
	Notes []string
}

// reported lists the figures that the source prints side by side.
func (g *groupFindings) reported() []reportedRow {
	var rows []reportedRow
	for k, e := range g.Experiments {
		for i := range e.Reported {
			r := &e.Reported[i]
			what := r.What
			if r.Unit != "" {
				what += ", " + r.Unit
			}
			at := slices.IndexFunc(rows, func(row reportedRow) bool { return row.What == what })
			if at < 0 {
				at = len(rows)
				rows = append(rows, reportedRow{What: what, Cells: make([]*ReportedFinding, len(g.Experiments))})
			}
			rows[at].Cells[k] = r
			if r.Note != "" {
				rows[at].Notes = append(rows[at].Notes, e.ID+": "+r.Note)
			}
		}
	}
	return rows
}

// setup are the settings of a group: those that all experiments share, and those that differ, by experiment.
func (g *groupFindings) setup() (shared []Pair, names []string, apart [][]string) {
	var order []string
	values := map[string][]string{}
	for k, e := range g.Experiments {
		for _, p := range e.Setup {
			if values[p.Name] == nil {
				order = append(order, p.Name)
				values[p.Name] = make([]string, len(g.Experiments))
			}
			values[p.Name][k] = p.Value
		}
	}
	for _, name := range order {
		row := values[name]
		if len(g.Experiments) > 1 && slices.ContainsFunc(row, func(v string) bool { return v != row[0] }) {
			names, apart = append(names, name), append(apart, row)
		} else {
			shared = append(shared, Pair{name, row[0]})
		}
	}
	return shared, names, apart
}

// short writes a point with the half-width of its interval: "1190 ± 12". A half-width that rounds to zero is omitted.
func (p Point) short() string {
	if math.IsNaN(p.Mean) {
		return "-"
	}
	half := like((p.Hi-p.Lo)/2, p.Mean)
	if strings.Trim(half, "0.") == "" {
		return Number(p.Mean)
	}
	return Number(p.Mean) + " ± " + half
}

// like writes a half-width with as many decimals as its mean has.
func like(half, mean float64) string {
	switch a := math.Abs(mean); {
	case a >= 99.95:
		return strconv.FormatFloat(half, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(half, 'f', 1, 64)
	case a >= 0.0995:
		return strconv.FormatFloat(half, 'f', 2, 64)
	}
	return Number(half)
}

// printed is a figure of the source as it prints it.
func printed(v Float) string { return strconv.FormatFloat(float64(v), 'f', -1, 64) }

type tally struct{ pass, miss, same, differ, vacuous, unclear, open int }

func tallies(checks []CheckFinding) map[Strength]*tally {
	all := map[Strength]*tally{A: {}, B: {}, R: {}}
	for i := range checks {
		c := &checks[i]
		t := all[c.Strength]
		if t == nil {
			continue // from an edited file
		}
		switch {
		case c.Verdict == NotRun:
			t.open++
		case c.Verdict == Vacuous:
			t.vacuous++
		case c.Verdict == Unclear:
			t.unclear++
		case c.Verdict == Pass:
			t.pass++
		case c.Verdict == Miss:
			t.miss++
		case c.Holds:
			t.same++
		default:
			t.differ++
		}
	}
	return all
}

// Summary counts verdicts by strength: "A: 31 pass, 2 miss. B: 12 pass. R: 4 as reported, 5 differ."
func (s *StudyFinding) Summary() string {
	all := tallies(s.Checks)
	var parts []string
	for _, strength := range []Strength{A, B, R} {
		t := all[strength]
		var counts []string
		for _, c := range []struct {
			n    int
			what string
		}{{t.pass, "pass"}, {t.miss, "miss"}, {t.same, "as reported"}, {t.differ, "differ"}, {t.vacuous, "say nothing"}, {t.unclear, "unclear"}, {t.open, "not judged"}} {
			if c.n > 0 || c.what == "miss" && t.pass > 0 {
				counts = append(counts, fmt.Sprintf("%d %s", c.n, c.what))
			}
		}
		if len(counts) > 0 {
			parts = append(parts, string(strength)+": "+strings.Join(counts, ", "))
		}
	}
	if len(parts) == 0 {
		return "No check looks at these experiments."
	}
	return strings.Join(parts, ". ") + "."
}

// vacuous are the checks that say nothing, and why.
func (s *StudyFinding) vacuous() []string {
	return s.list(func(c *CheckFinding) (string, bool) { return c.Text + ": " + c.Vacuous, c.Vacuous != "" })
}

// revised are the checks whose rule was changed after results were seen.
func (s *StudyFinding) revised() []string {
	return s.list(func(c *CheckFinding) (string, bool) {
		if c.First == nil {
			return "", false
		}
		return c.first(), true
	})
}

// first says what the first rule of a check gives, and why it was changed.
func (c *CheckFinding) first() string {
	s := fmt.Sprintf("first rule, %s: %s", clip(c.First.Rule, 250), c.First.Verdict)
	if c.First.Ours != "" {
		s += " (" + c.First.Ours + ")"
	}
	return s + ". Changed because " + c.Revised
}

// list collects a text for each check that has one.
func (s *StudyFinding) list(of func(*CheckFinding) (text string, ok bool)) []string {
	var out []string
	for i := range s.Checks {
		if text, ok := of(&s.Checks[i]); ok {
			out = append(out, s.Checks[i].ID+": "+text)
		}
	}
	return out
}

// unjudged are the checks that need experiments which were not run, with the missing ones.
func (s *StudyFinding) unjudged() []string {
	var out []string
	for i := range s.Checks {
		if c := &s.Checks[i]; c.Verdict == NotRun {
			lacks := "a seed that all of its experiments have"
			if len(c.Lacks) > 0 {
				lacks = brief(c.Lacks, 4)
			}
			out = append(out, c.ID+" (needs "+lacks+")")
		}
	}
	return out
}

// brief lists some names, and how many more there are.
func brief(names []string, limit int) string {
	if len(names) <= limit+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:limit], ", "), len(names)-limit)
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// seedsText says which seeds: "seed 1", "10 seeds (1 to 10)".
func seedsText(seeds []uint64) string {
	switch len(seeds) {
	case 0:
		return "no seeds"
	case 1:
		return fmt.Sprintf("seed %d", seeds[0])
	}
	return fmt.Sprintf("%d seeds (%d to %d)", len(seeds), seeds[0], seeds[len(seeds)-1])
}

// Number writes a figure with three significant digits, or all digits before the decimal point.
func Number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "-"
	case math.IsInf(v, 0):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 99.95 || a == math.Trunc(a) && a < 1e15:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.9995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Interval writes an estimate with its interval: "12.3 (11.9 to 12.7)". It has none with one seed, or where nothing varies.
func Interval(e result.Estimate) string {
	if e.N == 0 {
		return "-"
	}
	low, high := Number(e.Low), Number(e.High)
	if !e.Known || low == high && low == Number(e.Mean) {
		return Number(e.Mean)
	}
	return fmt.Sprintf("%s (%s to %s)", Number(e.Mean), low, high)
}

// Change writes the estimate of a ratio as a change with its interval: "+61.0 % (+58.2 to +63.9)", or "12.3 times (11.9 to 12.7)" where
// a percentage says little.
func Change(ratio result.Estimate) string {
	if ratio.Mean >= many {
		s := Number(ratio.Mean) + " times"
		if low, high := Number(ratio.Low), Number(ratio.High); ratio.Known && low != high {
			s += fmt.Sprintf(" (%s to %s)", low, high)
		}
		return s
	}
	mean, low, high := percent(ratio.Mean-1), percent(ratio.Low-1), percent(ratio.High-1)
	if !ratio.Known || low == high && low == mean {
		return mean + " %"
	}
	return fmt.Sprintf("%s %% (%s to %s)", mean, low, high)
}

// many is the ratio from which a change is written as a multiple.
const many = 10

// percent is a share with its sign, in percent.
func percent(share float64) string {
	v := 100 * share
	digits := 1
	if math.Abs(v) >= 99.95 {
		digits = 0
	}
	s := strconv.FormatFloat(v, 'f', digits, 64)
	switch s {
	case "0.0", "-0.0":
		return "0"
	}
	if v > 0 {
		s = "+" + s
	}
	return s
}

// signed is a figure with its sign.
func signed(v float64) string {
	if v > 0 {
		return "+" + Number(v)
	}
	return Number(v)
}
