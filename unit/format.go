package unit

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Count writes how many there are of something: "1 queue", "1,204 jobs".
func Count(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return group(strconv.FormatInt(n, 10)) + " " + what
}

// group puts commas between the thousands of a whole number.
func group(s string) string {
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

var withUnit = regexp.MustCompile(`(\d) (ms|s|min|h|d|%|B|[KMGT]i?B)(\W|$)`)

// NoBreak puts a no-break space between each number of a sentence and its unit.
func NoBreak(s string) string { return withUnit.ReplaceAllString(s, "$1\u00a0$2$3") }

// Column is the unit that times to be compared are written in: those of a column, or of one metric.
type Column struct {
	name string
	size float64 // seconds
}

var columns = []Column{{"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}}

// ColumnOf chooses the unit in which a person would write the shortest of the times, or a larger one if the longest would have more than
// five digits in it. Zeros, NaN and infinities have no say.
func ColumnOf(seconds []float64) Column {
	least, most := math.Inf(1), 0.0
	for _, s := range seconds {
		if a := math.Abs(s); a > 0 && !math.IsInf(a, 0) {
			least, most = min(least, a), max(most, a)
		}
	}
	if most == 0 {
		return columns[1]
	}
	_, name, _ := strings.Cut(FormatSeconds(least), " ")
	for _, c := range columns {
		if (c.name == name || name == "") && most/c.size < 99999.5 {
			return c
		}
		if c.name == name { // too small for the longest
			name = ""
		}
	}
	return columns[len(columns)-1]
}

// Format writes a time in the column's unit: two decimals below 10, one below 100.
func (c Column) Format(seconds float64) string {
	v := seconds / c.size
	a := math.Abs(v)
	switch {
	case math.IsNaN(seconds):
		return "–"
	case a > 0 && a < 0.005:
		return "<0.01 " + c.name
	case a < 9.995:
		return trim(v, 2) + " " + c.name
	case a < 99.95:
		return trim(v, 1) + " " + c.name
	}
	return group(trim(v, 0)) + " " + c.name
}
