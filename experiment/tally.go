package experiment

import (
	"fmt"
	"strings"
)

type tally struct{ pass, miss, same, differ, open int }

func tallies(checks []CheckFinding) map[Strength]*tally {
	all := map[Strength]*tally{A: {}, B: {}, R: {}}
	for i := range checks {
		c := &checks[i]
		t := all[c.Strength]
		if t == nil {
			continue // from a file that somebody changed
		}
		switch {
		case c.Verdict == NotRun:
			t.open++
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
		}{{t.pass, "pass"}, {t.miss, "miss"}, {t.same, "as reported"}, {t.differ, "differ"}, {t.open, "not judged"}} {
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

// built are the checks that follow from what the model was set by.
func (s *StudyFinding) built() []string {
	return s.list(func(c *CheckFinding) (string, bool) { return c.Text, c.ByConstruction })
}

// revised are the checks whose rule was changed after results had been seen.
func (s *StudyFinding) revised() []string {
	return s.list(func(c *CheckFinding) (string, bool) {
		if c.First == nil {
			return "", false
		}
		return c.first(), true
	})
}

// first tells what the first rule of a check gives, and why it is another today.
func (c *CheckFinding) first() string {
	s := fmt.Sprintf("first rule, %s: %s", clip(c.First.Rule, 250), c.First.Verdict)
	if c.First.Ours != "" {
		s += " (" + c.First.Ours + ")"
	}
	return s + ". Changed because " + c.Revised
}

// list tells something of the checks that it holds for.
func (s *StudyFinding) list(of func(*CheckFinding) (text string, ok bool)) []string {
	var out []string
	for i := range s.Checks {
		if text, ok := of(&s.Checks[i]); ok {
			out = append(out, s.Checks[i].ID+": "+text)
		}
	}
	return out
}

// unjudged are the checks that need experiments which were not run, with those they lack.
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
func brief(names []string, most int) string {
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
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
