package experiment

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Rules are the notation for judges in a study's file:
//
//	{falls: [S01 map/q1/Sort, S04 map/q1/Sort]}                  a judge of two quantities
//	{changes: [S01 map/q1/Sort, S04 map/q1/Sort, -1, -0.5]}      some also take numbers
//	{all: [A, B]}, {any: [A, B]}                                 of other judges
//	{label: type 5, falls: [...]}                                with a label
//	{each: q in q1 q2, falls: [S01 makespan/$q, ...]}            all of it for each $q, labelled with it
//	{each: a b in E01 E02 E03 E05, as: $a to $b, falls: [...]}   the same, two words at a time
//	{each: "p in Sort WordCount; w in half double", ...}         the same for every pair, labelled with both
//	{some: q in q1 q2, falls: [...]}                             any of them
//
// A quantity is an experiment and a figure; several experiments, E01+E02, stand for their mean. {max: [...]}, {min: [...]}, {mean: [...]},
// {over: [a, b]} and {minus: [a, b]} combine quantities. A loop's words are separated by commas if they contain spaces. $NAME is a loop
// variable or one of the study's own words.
type Rules struct {
	Words map[string]string
	Own   map[string]func(words []string, q []Quantity) Judge // the study's own judges: words has all arguments, q those that are not numbers
}

// Judge parses one rule. It panics on a bad rule, which is a bug in the study.
func (r *Rules) Judge(rule any) Judge {
	words := map[string]string{}
	maps.Copy(words, r.Words)
	return r.judge(rule.(map[string]any), words)
}

func (r *Rules) judge(rule map[string]any, env map[string]string) Judge {
	rest := maps.Clone(rule)
	take := func(key string) string {
		text, _ := rest[key].(string)
		delete(rest, key)
		return text
	}
	if label := take("label"); label != "" {
		return Labelled(fill(label, env), r.judge(rest, env))
	}
	as := take("as")
	if loops := take("each"); loops != "" {
		return All(r.each(rest, as, strings.Split(loops, "; "), env, nil)...)
	}
	if loops := take("some"); loops != "" {
		return Any(r.each(rest, as, strings.Split(loops, "; "), env, nil)...)
	}
	for name, list := range rest {
		var parts []Judge
		var words []string
		var qs []Quantity
		var numbers []float64
		for _, a := range list.([]any) {
			if name == "all" || name == "any" {
				parts = append(parts, r.judge(a.(map[string]any), env))
				continue
			}
			word := fill(fmt.Sprint(a), env)
			if v, err := strconv.ParseFloat(word, 64); err == nil {
				numbers = append(numbers, v)
			} else {
				qs = append(qs, quantity(a, env))
			}
			words = append(words, word)
		}
		switch own, j := r.Own[name], judgesByName[name]; {
		case name == "all":
			return All(parts...)
		case name == "any":
			return Any(parts...)
		case own != nil:
			return own(words, qs)
		case j.of != nil && len(qs) == j.quantities && len(numbers) == j.numbers:
			return j.of(qs, numbers)
		}
	}
	panic(fmt.Sprintf("experiment: %v is not a rule", rule))
}

// each expands the loops, the first one outermost.
func (r *Rules) each(body map[string]any, as string, loops []string, env map[string]string, now []string) (all []Judge) {
	if len(loops) == 0 {
		if as == "" {
			as = strings.Join(now, " ")
		}
		return []Judge{Labelled(fill(as, env), r.judge(body, env))}
	}
	head, list, _ := strings.Cut(loops[0], " in ")
	names, words := strings.Fields(head), strings.Split(list, ", ")
	if len(words) == 1 {
		words = strings.FieldsFunc(fill(list, env), func(c rune) bool { return c == ' ' || c == '+' })
	}
	for some := range slices.Chunk(words, len(names)) {
		inner := maps.Clone(env)
		for i, name := range names {
			inner[name] = some[i]
		}
		all = append(all, r.each(body, as, loops[1:], inner, append(slices.Clone(now), some...))...)
	}
	return all
}

var variable = regexp.MustCompile(`\$[A-Za-z]+`)

func fill(text string, env map[string]string) string {
	return variable.ReplaceAllStringFunc(text, func(name string) string {
		value, ok := env[name[1:]]
		if !ok {
			panic("experiment: there is no " + name)
		}
		return value
	})
}

func quantity(x any, env map[string]string) Quantity {
	if text, ok := x.(string); ok {
		experiments, metric, _ := strings.Cut(fill(text, env), " ")
		var parts []Quantity
		for e := range strings.SplitSeq(experiments, "+") {
			parts = append(parts, Of(e, metric))
		}
		if len(parts) == 1 {
			return parts[0]
		}
		return MeanOf(parts...)
	}
	for name, list := range x.(map[string]any) {
		var parts []Quantity
		for _, a := range list.([]any) {
			parts = append(parts, quantity(a, env))
		}
		switch name {
		case "max":
			return MaxOf(parts...)
		case "min":
			return MinOf(parts...)
		case "mean":
			return MeanOf(parts...)
		case "over":
			return Quotient(parts[0], parts[1])
		case "minus":
			return Difference(parts[0], parts[1])
		}
	}
	panic(fmt.Sprintf("experiment: %v is not a quantity", x))
}

// judgesByName are the judges of this package, with their numbers of quantities and numbers.
var judgesByName = map[string]struct {
	quantities, numbers int
	of                  func(q []Quantity, n []float64) Judge
}{
	"rises":   {2, 0, func(q []Quantity, _ []float64) Judge { return Rises(q[0], q[1]) }},
	"falls":   {2, 0, func(q []Quantity, _ []float64) Judge { return Falls(q[0], q[1]) }},
	"less":    {2, 0, func(q []Quantity, _ []float64) Judge { return Less(q[0], q[1]) }},
	"wider":   {2, 0, func(q []Quantity, _ []float64) Judge { return Wider(q[0], q[1]) }},
	"changes": {2, 2, func(q []Quantity, n []float64) Judge { return Changes(q[0], q[1], n[0], n[1]) }},
	"equal":   {2, 1, func(q []Quantity, n []float64) Judge { return AboutEqual(q[0], q[1], n[0]) }},
	"within":  {1, 2, func(q []Quantity, n []float64) Judge { return Within(q[0], n[0], n[1]) }},
	"atleast": {1, 1, func(q []Quantity, n []float64) Judge { return AtLeast(q[0], n[0]) }},
	"atmost":  {1, 1, func(q []Quantity, n []float64) Judge { return AtMost(q[0], n[0]) }},
	"always":  {1, 2, func(q []Quantity, n []float64) Judge { return Always(q[0], n[0], n[1]) }},
}

// Texts are the texts of a study, which are in a separate file: its description, the source's statements, and the checks with their rules.
// yamlfile.Decode reads them.
type Texts struct {
	Study `yaml:",inline"`
	Words map[string]string // for use in rules
}

// Heading is the ID of an experiment with its title.
func (t *Texts) Heading(id string) string {
	for _, e := range t.Experiments {
		if e.ID == id {
			return id + ": " + e.Title
		}
	}
	return id
}

// With is the study of these texts with its runs by experiment, its own judges (see Judged) and its sections.
func (t *Texts) With(run map[string]Runner, own map[string]func(words []string, q []Quantity) Judge, sections func(*Runs) []Section) *Study {
	s := t.Study
	s.Experiments, s.Checks, s.Sections = slices.Clone(s.Experiments), t.Judged(own), sections
	for i := range s.Experiments {
		s.Experiments[i].Run = run[s.Experiments[i].ID]
	}
	return &s
}

// Judged are the checks with the judges of their rules; own has the study's own judges.
func (t *Texts) Judged(own map[string]func(words []string, q []Quantity) Judge) []Check {
	rules := Rules{Words: t.Words, Own: own}
	checks := slices.Clone(t.Checks)
	for i := range checks {
		c := &checks[i]
		c.Judge = rules.Judge(c.Written)
		if c.Revised != nil && c.Revised.Written != nil {
			c.Revised = &Revision{First: rules.Judge(c.Revised.Written), Why: c.Revised.Why}
		}
	}
	return checks
}
