package verdict

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
)

// Unit says how a metric is formatted.
type Unit uint8

// Units.
const (
	Seconds Unit = iota
	Ratio        // a plain number
	Share        // 0 to 1
	Count
)

func (u Unit) String() string { return [...]string{"s", "ratio", "share", "count"}[u] }

// Format formats a figure for a person.
func Format(v float64, u Unit) string {
	if math.IsNaN(v) {
		return "–"
	}
	switch u {
	case Seconds:
		return unit.FormatSeconds(v)
	case Share:
		return strconv.FormatFloat(100*v, 'f', 1, 64) + " %"
	}
	if math.Abs(v) >= 1000 {
		return unit.Number(int64(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Format returns how the row's figures are formatted side by side: times all in one unit.
func (row *Row) Format() func(float64) string {
	if row.Unit != Seconds {
		return func(v float64) string { return Format(v, row.Unit) }
	}
	var values []float64
	for _, c := range row.Cells {
		values = append(values, c.Mean)
	}
	return unit.ColumnOf(values).Format
}

// Says is a figure and its change: "p95 elapsed 40 min -> 31 min (-22 %, -25 to -19)". Where times vary with the load, it is the direction alone.
func (row *Row) Says(s int) string {
	write, c := row.Format(), &row.Cells[s]
	if row.Vague && (c.Judgement == Better || c.Judgement == Worse) {
		return row.Metric + map[bool]string{true: " rises", false: " falls"}[c.Diff > 0] + ", by how much cannot be told"
	}
	before, after := write(row.Cells[0].Mean), write(c.Mean)
	if row.Unit == Seconds { // in a sentence each in its own unit
		before, after = Format(row.Cells[0].Mean, Seconds), Format(c.Mean, Seconds)
	}
	change := c.Difference(row.Unit)
	if c.Judgement == Same {
		change = "the same"
	}
	if mean, interval, ok := strings.Cut(change, " ("); ok {
		change = mean + ", " + strings.TrimSuffix(interval, ")")
	}
	return fmt.Sprintf("%s %s -> %s (%s)", row.Metric, before, after, change)
}

// Points is the change in percent with its interval; that of a share is in percentage points.
func (c *Cell) Points(u Unit) (change, low, high float64) {
	if u == Share {
		return 100 * c.Diff, 100 * c.DiffLow, 100 * c.DiffHigh
	}
	return c.Change, c.ChangeLow, c.ChangeHigh
}

// Percent formats a change in percent, and its interval where that is known: "-41.2 % (-45.0 to -37.1)".
func Percent(change, low, high float64, known bool) string {
	text := fmt.Sprintf("%+.1f %%", change)
	if known {
		text += fmt.Sprintf(" (%+.1f to %+.1f)", low, high)
	}
	return text
}

// Difference formats the difference as figures, whatever it means, with its 95 % interval where that has a width.
func (c *Cell) Difference(u Unit) string {
	if math.IsNaN(c.Diff) {
		return "–"
	}
	if c.Judgement == Apart {
		plain := *c
		plain.Judgement = Unjudged
		return plain.Difference(u) + ", other jobs"
	}
	if math.IsNaN(c.Change) || u == Share { // of nothing there is no percentage, and a share changes by points
		write := func(v float64) string { return signed(Format(math.Abs(v), u), v) }
		if u == Share {
			write = func(v float64) string { return percent(math.Round(1000*v)/10+0, 1) } // +0: no minus before 0.0
		}
		s := write(c.Diff)
		if u == Share {
			s += " points"
		}
		if c.DiffHigh > c.DiffLow {
			s += " (" + write(c.DiffLow) + " to " + write(c.DiffHigh) + ")"
		}
		return s
	}
	digits := 0
	if a, width := math.Abs(c.Change), c.ChangeHigh-c.ChangeLow; a < 9.95 || width > 1e-6 && width < 1 {
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

// percent formats a change in percent with its sign, and never shows -100 % when something is left.
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
