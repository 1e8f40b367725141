package experiment

import (
	"fmt"
	"math"
	"strings"
)

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

// Each is All over a list: one judge for each item, labelled with it.
func Each[T any](items []T, judge func(T) Judge) Judge {
	judges := make([]Judge, len(items))
	for i, item := range items {
		judges[i] = Labelled(fmt.Sprint(item), judge(item))
	}
	return All(judges...)
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

// flat puts the parts of an All in an All among its own.
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

// listed is how many parts are told one by one; of more, only those that do not hold are.
const listed = 3

func combine(parts []Judgement, holds bool) Judgement {
	j := Judgement{Holds: holds, Parts: parts, Value: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
	if len(parts) == 0 {
		return nothing()
	}
	notes := map[string]int{}
	var told []string
	for i := range parts {
		if p := &parts[i]; p.Note != "" {
			notes[p.Note]++
		}
	}
	for i := range parts {
		if p := &parts[i]; len(parts) <= listed || !p.Holds {
			told = append(told, p.tell(notes[p.Note] < len(parts)))
		}
	}
	switch {
	case len(parts) <= listed:
		j.Ours = strings.Join(told, "; ")
	case held(parts) == len(parts):
		j.Ours = fmt.Sprintf("all %d: %s", len(parts), span(parts))
	default:
		if more := len(told) - listed; more > 1 {
			told = append(told[:listed], fmt.Sprintf("%d others", more))
		}
		j.Ours = fmt.Sprintf("%d of %d; not %s", held(parts), len(parts), strings.Join(told, "; not "))
	}
	for note, n := range notes {
		if n == len(parts) {
			j.Note = note
		}
	}
	return j
}

// tell is a part in a list. A note that all parts share stands once, at the end.
func (j *Judgement) tell(withNote bool) string {
	s := j.Ours
	if j.Label != "" {
		s = j.Label + ": " + s
	}
	if withNote && j.Note != "" {
		s += ", " + j.Note
	}
	return s
}

// span is from the smallest part to the largest.
func span(parts []Judgement) string {
	least, most := &parts[0], &parts[0]
	for i := range parts {
		if p := &parts[i]; p.Value < least.Value {
			least = p
		} else if p.Value > most.Value {
			most = p
		}
	}
	if least == most {
		return least.tell(false)
	}
	return least.tell(false) + " … " + most.tell(false)
}
