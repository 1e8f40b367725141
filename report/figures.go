package report

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/unit"
)

const minus = "\u2212"

var nan = math.NaN()

// figure formats v. NaN is a dash.
func figure(v float64, u verdict.Unit) string {
	if !finite(v) {
		return "–"
	}
	var s string
	switch u {
	case verdict.Seconds:
		s = unit.FormatSeconds(v)
	case verdict.Share:
		s = strconv.FormatFloat(v*100, 'f', 1, 64) + " %"
	case verdict.Count:
		s = unit.Number(int64(math.Round(v)))
	default:
		s = ratio(v)
	}
	if rest, negative := strings.CutPrefix(s, "-"); negative {
		s = minus + rest
	}
	return strings.ReplaceAll(s, " ", "\u00a0")
}

// column returns a formatter for figures shown side by side: times all in one unit.
func column(values []float64, u verdict.Unit) func(float64) string {
	if u != verdict.Seconds {
		return func(v float64) string { return figure(v, u) }
	}
	c := unit.ColumnOf(values)
	return func(v float64) string {
		if !finite(v) {
			return "–"
		}
		return strings.ReplaceAll(strings.Replace(c.Format(v), "-", minus, 1), " ", "\u00a0")
	}
}

// ratio keeps three significant digits and never shows an exponent below a million.
func ratio(v float64) string {
	a := math.Abs(v)
	switch {
	case a >= 1e6:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case a >= 100:
		return unit.Number(int64(math.Round(v)))
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// amount is a whole number of something, such as "8573 maps"; what stands in the middle of a name is not one.
var amount = regexp.MustCompile(`(^|[\s(])(\d{4,15}) (\pL+)`)

// groupDigits adds digit separators to the amounts in a sentence.
func groupDigits(sentence string) string {
	return amount.ReplaceAllStringFunc(sentence, func(found string) string {
		m := amount.FindStringSubmatch(found)
		n, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil || m[3] == "on" || strings.HasPrefix(m[2], "0") {
			return found
		}
		return m[1] + unit.Number(n) + " " + m[3]
	})
}

// each applies form to every sentence.
func each(sentences []string, form func(string) string) []string {
	out := make([]string, len(sentences))
	for i, s := range sentences {
		out[i] = form(s)
	}
	return out
}

// change formats the difference of a cell against the first run's value.
func change(c *verdict.Cell, base float64, u verdict.Unit) string {
	points, _, _ := c.Points(u)
	if !finite(points) {
		d := c.Mean - base
		switch {
		case d == 0:
			return "±0"
		case d > 0 && finite(d):
			return "+" + figure(d, u)
		}
		return figure(d, u)
	}
	p, suffix := percent(math.Abs(points)), "\u00a0%"
	if u == verdict.Share {
		suffix = "\u00a0points"
	}
	switch {
	case p == "0":
		return "±0" + suffix
	case points > 0:
		return "+" + p + suffix
	}
	return minus + p + suffix
}

// interval formats the 95 % interval of a change; "": there is none.
func interval(c *verdict.Cell, u verdict.Unit) string {
	points, low, high := c.Points(u)
	if !finite(points) || !finite(low) || !finite(high) || low >= high {
		return ""
	}
	end := func(v float64) string {
		switch p := percent(math.Abs(v)); {
		case p == "0":
			return "0"
		case v > 9999.5:
			return "over +9,999"
		case v > 0:
			return "+" + p
		default:
			return minus + p
		}
	}
	return end(low) + " to " + end(high)
}

// percent formats a percentage with its significant digits, and never rounds up to 100.
func percent(p float64) string {
	switch {
	case p >= 99.5 && p < 100:
		return strconv.FormatFloat(min(p, 99.99), 'f', 2, 64)
	case p >= 1000:
		return unit.Number(int64(math.Round(p)))
	case p >= 9.95 || p < 0.05:
		return strconv.FormatFloat(p, 'f', 0, 64)
	}
	return strings.TrimSuffix(strconv.FormatFloat(p, 'f', 1, 64), ".0")
}

// key formats a sort key: short, and empty for NaN.
func key(v float64) string {
	if !finite(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 5, 64)
}
