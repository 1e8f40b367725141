package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/result"
)

// Notes of judgements.
const (
	noteUnsure  = "not significant"
	noteOneSeed = "one seed: no interval"
	noteAcross  = "the interval reaches past the bound"
	noteNothing = "no seed has this figure"
)

// Rises holds when the quantity is larger in to than in from.
func Rises(from, to Quantity) Judge { return direction(to.Name+" > "+from.Name, from, to, +1) }

// Falls holds when the quantity is smaller in to than in from.
func Falls(from, to Quantity) Judge { return direction(to.Name+" < "+from.Name, from, to, -1) }

// Less holds when a is smaller than b.
func Less(a, b Quantity) Judge { return Falls(b, a) }

// direction judges the sign of a change.
func direction(rule string, from, to Quantity, sign float64) Judge {
	return Judge{Rule: rule, Of: func(r *Runs) Judgement {
		c := compare(r, from, to)
		if c.n == 0 {
			return nothing()
		}
		j := c.judgement()
		right := sign*c.Diff.Mean > 0
		low, high := c.Diff.Low, c.Diff.High
		if c.relative && c.bothWays { // else a fall to zero would be more significant than the rise from it
			low, high = c.Ratio.Low-1, c.Ratio.High-1
		}
		j.Open = c.n == 1 || math.Max(sign*low, sign*high) > 0
		switch {
		case c.n == 1:
			j.Holds, j.Note = right, noteOneSeed
		case right && !(math.Min(sign*low, sign*high) > 0):
			j.Note = noteUnsure
		default:
			j.Holds = right
		}
		return j
	}}
}

// Changes holds when the relative change from from to to lies between low and high: Changes(a, b, -1, -0.75) is a fall by
// three quarters or more.
func Changes(from, to Quantity, low, high float64) Judge {
	rule := fmt.Sprintf("%s against %s: %s", to.Name, from.Name, bounds(100*low, 100*high, signed, " %"))
	return Judge{Rule: rule, Of: func(r *Runs) Judgement {
		c := compare(r, from, to)
		if c.n == 0 || !c.relative {
			return nothing()
		}
		j := c.judgement()
		j.between(c.n, low, high)
		return j
	}}
}

// AboutEqual holds when b differs from a by at most the given share of a.
func AboutEqual(a, b Quantity, tolerance float64) Judge { return Changes(a, b, -tolerance, tolerance) }

// Within holds when the mean lies between low and high, bounds included.
func Within(q Quantity, low, high float64) Judge {
	return Judge{Rule: q.Name + ": " + bounds(low, high, Number, ""), Of: func(r *Runs) Judgement {
		e := estimate(q.Values(r))
		if e.N == 0 {
			return nothing()
		}
		j := Judgement{Ours: Interval(e), Value: e.Mean, Lo: e.Low, Hi: e.High}
		j.between(e.N, low, high)
		return j
	}}
}

// AtLeast holds when the mean is not smaller than bound.
func AtLeast(q Quantity, bound float64) Judge { return Within(q, bound, math.Inf(1)) }

// AtMost holds when the mean is not larger than bound.
func AtMost(q Quantity, bound float64) Judge { return Within(q, math.Inf(-1), bound) }

// Always holds when every seed's value lies between low and high, bounds included.
func Always(q Quantity, low, high float64) Judge {
	rule := q.Name + ": " + bounds(low, high, Number, "") + " in every seed"
	return Judge{Rule: rule, Of: func(r *Runs) Judgement {
		smallest, largest, n, inside := math.Inf(1), math.Inf(-1), 0, 0
		for _, v := range q.Values(r) {
			if math.IsNaN(v) {
				continue
			}
			n++
			if smallest, largest = math.Min(smallest, v), math.Max(largest, v); v >= low && v <= high {
				inside++
			}
		}
		if n == 0 {
			return nothing()
		}
		j := Judgement{Holds: inside == n, Value: (smallest + largest) / 2, Lo: smallest, Hi: largest}
		if smallest == largest {
			j.Ours = Number(smallest) + " in every seed"
		} else {
			j.Ours = fmt.Sprintf("%s to %s over the seeds", Number(smallest), Number(largest))
		}
		if inside < n {
			j.Note = fmt.Sprintf("in %d of %d seeds", inside, n)
		}
		return j
	}}
}

// Wider holds when a's standard deviation over the seeds is larger than b's.
func Wider(a, b Quantity) Judge {
	return Judge{Rule: "standard deviation over seeds of " + a.Name + " > of " + b.Name, Of: func(r *Runs) Judgement {
		deviation := func(q Quantity) float64 {
			return math.Sqrt(result.Variance(slices.DeleteFunc(slices.Clone(q.Values(r)), math.IsNaN)))
		}
		da, db := deviation(a), deviation(b)
		j := Judgement{Holds: da > db, Ours: fmt.Sprintf("%s against %s", Number(da), Number(db)), Value: da - db, Lo: math.NaN(), Hi: math.NaN()}
		if math.IsNaN(da - db) {
			j.Note = "one seed: no deviation"
		}
		return j
	}}
}

// between judges a mean of n values against bounds.
func (j *Judgement) between(n int, low, high float64) {
	margin := 1e-12 * math.Max(1, math.Abs(j.Value)) // the mean of equal values is not exactly that value
	low, high = low-margin, high+margin
	j.Holds = j.Value >= low && j.Value <= high
	j.Open = n == 1 || j.Hi >= low && j.Lo <= high
	switch {
	case n == 1:
		j.Note = noteOneSeed
	case j.Holds && (j.Lo < low || j.Hi > high), !j.Holds && j.Hi >= low && j.Lo <= high:
		j.Note = noteAcross
	}
}

func bounds(low, high float64, write func(float64) string, unit string) string {
	switch {
	case math.IsInf(low, -1):
		return "at most " + write(high) + unit
	case math.IsInf(high, 1):
		return "at least " + write(low) + unit
	}
	return write(low) + " to " + write(high) + unit
}

// nothing is the judgement on figures that no seed has.
func nothing() Judgement {
	return Judgement{Ours: "-", Note: noteNothing, Value: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
}

// comparison is two quantities side by side, over the n seeds that have both.
type comparison struct {
	result.Difference
	n        int
	relative bool // the change can be expressed relative to the base: no value is negative, and the base is positive
	bothWays bool // the inverse ratio has the inverse interval: each side is positive in more than one seed
}

func compare(r *Runs, from, to Quantity) comparison {
	var a, b []float64
	f, t := from.Values(r), to.Values(r)
	negative := false
	var some, others int // positive values
	for i := range f {
		if math.IsNaN(f[i]) || math.IsNaN(t[i]) {
			continue
		}
		a, b = append(a, f[i]), append(b, t[i])
		negative = negative || f[i] < 0 || t[i] < 0
		if f[i] > 0 {
			some++
		}
		if t[i] > 0 {
			others++
		}
	}
	c := comparison{Difference: result.Paired(a, b), n: len(a)}
	finite := c.Ratio.Low >= 0 && c.Ratio.High <= math.MaxFloat64
	c.relative = !negative && finite && c.Base.Mean > 0 && (c.Ratio.Known || c.n == 1)
	c.bothWays = min(some, others) > 1
	return c
}

// judgement says what changed: "1127 → 1911, +69.6 % (+65.1 to +74.0)", or the absolute change where there is no relative one.
func (c *comparison) judgement() Judgement {
	means := Number(c.Base.Mean) + " → " + Number(c.Other.Mean)
	if c.relative {
		return Judgement{
			Ours:  means + ", " + Change(c.Ratio),
			Value: c.Ratio.Mean - 1, Lo: c.Ratio.Low - 1, Hi: c.Ratio.High - 1,
		}
	}
	d := c.Diff
	text := signed(d.Mean)
	if d.Known && d.Low < d.High {
		text += fmt.Sprintf(" (%s to %s)", signed(d.Low), signed(d.High))
	}
	return Judgement{Ours: means + ", " + text, Value: d.Mean, Lo: d.Low, Hi: d.High}
}

// Labelled gives a judge's part a name, for All and Any: "type 5".
func Labelled(label string, judge Judge) Judge {
	return Judge{Rule: label + ": " + judge.Rule, Of: func(r *Runs) Judgement {
		j := judge.Of(r)
		j.Label = label
		return j
	}}
}

// All holds when all of the judges do.
func All(judges ...Judge) Judge {
	return Judge{Rule: rules(judges, " and "), Of: func(r *Runs) Judgement {
		parts := flat(ask(judges, r))
		j := combine(parts, held(parts) == len(parts))
		j.all = true
		return j
	}}
}

// Any holds when at least one of the judges does.
func Any(judges ...Judge) Judge {
	return Judge{Rule: rules(judges, " or "), Of: func(r *Runs) Judgement {
		parts := ask(judges, r)
		return combine(parts, held(parts) > 0)
	}}
}

func rules(judges []Judge, between string) string {
	texts := make([]string, len(judges))
	for i, judge := range judges {
		texts[i] = judge.Rule
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "[" + strings.Join(texts, between) + "]"
}

func ask(judges []Judge, r *Runs) []Judgement {
	parts := make([]Judgement, len(judges))
	for i, judge := range judges {
		parts[i] = judge.Of(r)
	}
	return parts
}

func held(parts []Judgement) int {
	n := 0
	for i := range parts {
		if parts[i].Holds {
			n++
		}
	}
	return n
}

// flat inlines the parts of a nested All.
func flat(parts []Judgement) []Judgement {
	var out []Judgement
	for _, p := range parts {
		if !p.all {
			out = append(out, p)
			continue
		}
		for _, inner := range p.Parts {
			inner.Label = strings.TrimSpace(p.Label + " " + inner.Label)
			out = append(out, inner)
		}
	}
	return out
}

// listed is the maximum number of parts listed individually; of more, only those that do not hold are.
const listed = 3

func combine(parts []Judgement, holds bool) Judgement {
	j := Judgement{Holds: holds, Parts: parts, Value: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
	if len(parts) == 0 {
		return nothing()
	}
	notes := map[string]int{}
	var texts []string
	for i := range parts {
		if p := &parts[i]; p.Note != "" {
			notes[p.Note]++
		}
	}
	for i := range parts {
		if p := &parts[i]; len(parts) <= listed || !p.Holds {
			texts = append(texts, p.describe(notes[p.Note] < len(parts)))
		}
	}
	switch {
	case len(parts) <= listed:
		j.Ours = strings.Join(texts, "; ")
	case held(parts) == len(parts):
		j.Ours = fmt.Sprintf("all %d: %s", len(parts), span(parts))
	default:
		if more := len(texts) - listed; more > 1 {
			texts = append(texts[:listed], fmt.Sprintf("%d others", more))
		}
		j.Ours = fmt.Sprintf("%d of %d; not %s", held(parts), len(parts), strings.Join(texts, "; not "))
	}
	for note, n := range notes {
		if n == len(parts) {
			j.Note = note
		}
	}
	return j
}

// describe writes a part for a list. A note that all parts share is written once, at the end.
func (j *Judgement) describe(withNote bool) string {
	s := j.Ours
	if j.Label != "" {
		s = j.Label + ": " + s
	}
	if withNote && j.Note != "" {
		s += ", " + j.Note
	}
	return s
}

// span is the range from the smallest part to the largest.
func span(parts []Judgement) string {
	smallest, largest := &parts[0], &parts[0]
	for i := range parts {
		if p := &parts[i]; p.Value < smallest.Value {
			smallest = p
		} else if p.Value > largest.Value {
			largest = p
		}
	}
	if smallest == largest {
		return smallest.describe(false)
	}
	return smallest.describe(false) + " … " + largest.describe(false)
}
