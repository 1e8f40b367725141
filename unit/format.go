package unit

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Count formats a count with its noun: "1 queue", "1,204 jobs".
func Count(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return Number(n) + " " + what
}

// Number formats a whole number with its digits grouped by three: "24,442".
func Number(n int64) string { return group(strconv.FormatInt(n, 10)) }

// group adds thousands separators to an integer.
func group(s string) string {
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Ranges lists ascending numbers with runs as ranges: "0-3,7".
func Ranges[T int32 | uint64](list []T, dash, comma string) string {
	var parts []string
	for i := 0; i < len(list); {
		last := i
		for last+1 < len(list) && list[last+1] == list[last]+1 {
			last++
		}
		part := fmt.Sprint(list[i])
		if last > i {
			part += dash + fmt.Sprint(list[last])
		}
		parts = append(parts, part)
		i = last + 1
	}
	return strings.Join(parts, comma)
}

var withUnit = regexp.MustCompile(`(\d) (ms|s|min|h|d|%|B|[KMGT]i?B)(\W|$)`)

// NoBreak joins each number in s to its unit with a no-break space.
func NoBreak(s string) string { return withUnit.ReplaceAllString(s, "$1\u00a0$2$3") }

// Column is the common unit of times that are compared: those of a table column or of one metric.
type Column struct {
	name string
	size float64 // seconds
}

var columns = []Column{{"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}}

// ColumnOf chooses the natural unit of the shortest time, or a larger one if the longest would need more than five digits.
// Zeros, NaN and infinities are ignored.
func ColumnOf(seconds []float64) Column {
	shortest, longest := math.Inf(1), 0.0
	for _, s := range seconds {
		if a := math.Abs(s); a > 0 && !math.IsInf(a, 0) {
			shortest, longest = min(shortest, a), max(longest, a)
		}
	}
	if longest == 0 {
		return columns[1]
	}
	_, name, _ := strings.Cut(FormatSeconds(shortest), " ")
	for _, c := range columns {
		if (c.name == name || name == "") && longest/c.size < 99999.5 {
			return c
		}
		if c.name == name { // too small for the longest
			name = ""
		}
	}
	return columns[len(columns)-1]
}

// Format formats a time in the column's unit: two decimals below 10, one below 100.
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
