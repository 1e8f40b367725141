package report

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
)

const minus = "\u2212"

var nan = math.NaN()

// figure formats v. NaN is a dash.
func figure(v float64, u Unit) string {
	if !finite(v) {
		return "–"
	}
	var s string
	switch u {
	case Seconds:
		s = unit.FormatSeconds(v)
	case Share:
		s = strconv.FormatFloat(v*100, 'f', 1, 64) + " %"
	case Count:
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
func column(values []float64, u Unit) func(float64) string {
	if u != Seconds {
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
func change(c Cell, base float64, u Unit) (text, half string) {
	if !finite(c.Change) {
		d := c.Value - base
		switch {
		case d == 0:
			return "±0", ""
		case d > 0 && finite(d):
			return "+" + figure(d, u), ""
		}
		return figure(d, u), ""
	}
	p, of := percent(math.Abs(c.Change)), "\u00a0%"
	if u == Share {
		of = "\u00a0points"
	}
	if finite(c.Half) {
		half = percent(math.Abs(c.Half))
		if strings.HasPrefix(p, "99.") && math.Abs(c.Half) < 1 { // as many digits as the change has
			half = strconv.FormatFloat(math.Abs(c.Half), 'f', 2, 64)
		}
	}
	switch {
	case p == "0":
		return "±0" + of, half
	case c.Change > 0:
		return "+" + p + of, half
	}
	return minus + p + of, half
}

// interval formats an asymmetric interval of a change.
func interval(c Cell) string {
	if !finite(c.Change) || !finite(c.Low) || !finite(c.High) || c.Low >= c.High {
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
	return end(c.Low) + " to " + end(c.High)
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
