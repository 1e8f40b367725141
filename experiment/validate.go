package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Validate says what is wrong with a study's data, all of it.
func (s *Study) Validate() error {
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("study %s: "+format, append([]any{s.Name}, args...)...))
	}
	if s.Name == "" || strings.ContainsAny(s.Name, " /*?.") {
		wrong("%q is not a name", s.Name)
	}
	if len(s.Experiments) == 0 {
		wrong("it has no experiments")
	}
	seen := map[string]bool{} // case does not count where ids are typed
	for _, e := range s.Experiments {
		switch {
		case e.ID == "" || strings.ContainsAny(e.ID, " /*?[]") || strings.Contains(e.ID, ".."):
			wrong("%q is not an id of an experiment", e.ID)
		case seen[strings.ToLower(e.ID)]:
			wrong("experiment %s is there twice", e.ID)
		case e.Run == nil:
			wrong("experiment %s has no Run", e.ID)
		case e.Group == "":
			wrong("experiment %s has no group", e.ID)
		}
		seen[strings.ToLower(e.ID)] = true
	}
	checks := map[string]bool{}
	for i := range s.Checks {
		c := &s.Checks[i]
		switch {
		case c.ID == "":
			wrong("a check has no id: %q", c.Text)
		case checks[strings.ToLower(c.ID)] || seen[strings.ToLower(c.ID)]:
			wrong("the id %s is taken twice", c.ID)
		case c.Strength != A && c.Strength != B && c.Strength != R:
			wrong("check %s: %q is not a strength", c.ID, c.Strength)
		case c.Judge.Of == nil || c.Judge.Rule == "":
			wrong("check %s has no judge with a rule", c.ID)
		default:
			needs := c.needs()
			if len(needs) == 0 {
				wrong("check %s needs no experiment", c.ID)
			}
			if r := c.Revised; r != nil && (r.First.Rule == "" || r.Why == "" || (r.First.Of == nil) == (r.Gave == nil)) {
				wrong("check %s was revised: it needs its first rule, what that gives or gave, and why it was changed", c.ID)
			}
			for _, id := range needs {
				if s.at(id) < 0 {
					wrong("check %s needs the experiment %s, which is not there", c.ID, id)
				}
			}
		}
		checks[strings.ToLower(c.ID)] = true
	}
	for _, id := range s.Probes {
		if s.at(id) < 0 {
			wrong("the probe %s is not there", id)
		}
	}
	return errors.Join(errs...)
}

// needs are the experiments that a check looks at: those it names or, if it names none, those that its judge asks for.
func (c *Check) needs() []string {
	if c.Needs != nil {
		return c.Needs
	}
	return c.Judge.needs()
}

// needs are the experiments that a judge asks for.
func (j Judge) needs() []string {
	trace := &Runs{seeds: []uint64{0}, metrics: map[string][]Metrics{}, asked: &asked{}}
	j.Of(trace)
	return trace.asked.experiments
}

// Groups are the groups of a study's experiments, in order of appearance.
func (s *Study) Groups() []string {
	var groups []string
	for _, e := range s.Experiments {
		if !slices.Contains(groups, e.Group) {
			groups = append(groups, e.Group)
		}
	}
	return groups
}

// Strengths counts, for each experiment, the checks of each strength that look at it.
func (s *Study) Strengths() map[string]map[Strength]int {
	n := map[string]map[Strength]int{}
	for i := range s.Checks {
		for _, id := range s.Checks[i].needs() {
			if n[id] == nil {
				n[id] = map[Strength]int{}
			}
			n[id][s.Checks[i].Strength]++
		}
	}
	return n
}
